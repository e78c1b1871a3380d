//! A simulated host's disk: [`SimDisk`] with threads that take their time.
//!
//! The double runs a job at once, inside the call that asks for it. Here a job becomes a task of the host's runtime, which
//! begins after the time that a disk would take: between asking and doing, others run, and the process may die.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ballast_log::disk::{DirEntry, Disk, DiskFile, FileKind, Job, OpenMode, Space};

use super::dice::Dice;
use crate::disk::SimDisk;

/// Most that a job waits on a disk that is well, in ms.
const USUAL_WAIT_MS_MAX: u64 = 2;

/// How slow a host's disk is. Clones share it, over all lives of the process.
#[derive(Debug, Clone, Default)]
pub struct Pace(Arc<AtomicU64>);

impl Pace {
    /// From now on each job waits up to `ms` longer.
    pub fn set_extra_ms(&self, ms: u64) {
        self.0.store(ms, Ordering::Relaxed);
    }
}

/// See the module.
#[derive(Debug)]
pub struct HostDisk {
    disk: SimDisk,
    pace: Pace,
    dice: Dice,
}

impl HostDisk {
    /// The disk of one life of a process.
    #[must_use]
    pub fn new(disk: SimDisk, pace: Pace, dice: Dice) -> HostDisk {
        HostDisk { disk, pace, dice }
    }

    fn later(&self, job: Job) {
        // A process that ends drops its tasks outside of any runtime, and some ask for one thing more: nobody will do it.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let extra = self.pace.0.load(Ordering::Relaxed);
        let wait = Duration::from_millis(self.dice.between(0, USUAL_WAIT_MS_MAX) + self.dice.between(extra / 2, extra));
        runtime.spawn(async move {
            if !wait.is_zero() {
                tokio::time::sleep(wait).await;
            }
            job();
        });
    }
}

impl Disk for HostDisk {
    fn open(&self, path: &Path, mode: OpenMode, kind: FileKind) -> io::Result<Arc<dyn DiskFile>> {
        self.disk.open(path, mode, kind)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.disk.create_dir(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        self.disk.list(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.disk.remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.disk.remove_dir(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.disk.sync_dir(path)
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        self.disk.sync_file(path)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        self.disk.lock(path)
    }

    fn space(&self, path: &Path) -> io::Result<Space> {
        self.disk.space(path)
    }

    fn spawn(&self, job: Job) {
        self.later(job);
    }

    fn spawn_read(&self, job: Job) {
        self.later(job);
    }

    fn is_durable(&self) -> bool {
        true
    }
}
