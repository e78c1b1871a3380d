//! What a test holds one life of a broker by: its faults, the versions that it may not speak, whether it was killed.
//!
//! The faults outlive it; everything else goes with the life.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ballast_wire::frame::ApiKey;
use parking_lot::{Condvar, Mutex};

use super::faults::Faults;

/// See the module.
#[derive(Debug)]
pub struct Harness {
    faults: Arc<Faults>,
    /// Newest version that may be spoken, by API.
    max_versions: BTreeMap<ApiKey, i16>,
    dead: AtomicBool,
    jobs: Arc<Jobs>,
}

/// Jobs of the disk that are queued or running.
#[derive(Debug, Default)]
struct Jobs {
    count: Mutex<usize>,
    fewer: Condvar,
}

/// One of them. Dropped when it is over.
#[derive(Debug)]
pub(crate) struct JobPlace(Arc<Jobs>);

impl Drop for JobPlace {
    fn drop(&mut self) {
        *self.0.count.lock() -= 1;
        self.0.fewer.notify_all();
    }
}

impl Harness {
    /// A life with these faults.
    #[must_use]
    pub fn new(faults: Arc<Faults>) -> Arc<Harness> {
        Harness::with_versions(faults, BTreeMap::new())
    }

    /// One that speaks no newer versions than these.
    pub(crate) fn with_versions(faults: Arc<Faults>, max_versions: BTreeMap<ApiKey, i16>) -> Arc<Harness> {
        Arc::new(Harness { faults, max_versions, dead: AtomicBool::new(false), jobs: Arc::default() })
    }

    /// The broker's faults.
    #[must_use]
    pub fn faults(&self) -> &Arc<Faults> {
        &self.faults
    }

    /// The newest version of `api` that may be spoken, where that was limited.
    pub(crate) fn max_version(&self, api: ApiKey) -> Option<i16> {
        self.max_versions.get(&api).copied()
    }

    /// From now on nothing is written and nothing is answered.
    pub(crate) fn die(&self) {
        self.dead.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.dead.load(Ordering::SeqCst)
    }

    /// Counts a job of the disk.
    pub(crate) fn job(&self) -> JobPlace {
        *self.jobs.count.lock() += 1;
        JobPlace(Arc::clone(&self.jobs))
    }

    /// Blocks until every job of the disk is over.
    pub(crate) fn await_jobs(&self) {
        let mut count = self.jobs.count.lock();
        while *count > 0 {
            self.jobs.fewer.wait(&mut count);
        }
    }
}
