//! Descriptors and maps are scarce in a process: who holds them, and who gives one up when there are too many.
//!
//! The host allows 65,530 maps and often 20,000 descriptors, and all disks of a process share them, so the two lists
//! ([`DESCRIPTORS`], [`MAPS`]) are process-wide. They approximate "least recently used" by giving each holder a second
//! chance: using a resource costs one atomic store and no lock.
//!
//! ```text
//! queue   [ a ][ b* ][ c ][ d* ]        * used since it was last looked at
//!           ▲ looked at first: not used -> gives up; used -> mark taken away, goes to the end
//! ```
//! Always holds:
//!   1. A holder stands in the queue at most once (`State::listed`), and every holder stands in it.
//!   2. `held` counts the holders. The queue may also name files that gave up or are gone; it is swept when these are
//!      more than half of it.
//!   3. Locks are taken in the order file, queue; whoever looks at a victim holds no queue and only *tries* its lock.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

/// How many descriptors and maps the process may spend on sealed segments and indexes.
///
/// Active segments and small files come on top of the descriptors: each holds one for as long as it is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskLimits {
    /// Open descriptors of sealed segments and indexes.
    pub max_open_files: usize,
    /// Maps, of all kinds of files. 0 switches maps off.
    pub max_maps: usize,
}

/// The limits before anybody sets some: they fit under a soft limit of 1,024 descriptors, and far below 65,530 maps.
pub(super) const DEFAULT_LIMITS: DiskLimits = DiskLimits { max_open_files: 512, max_maps: 8192 };

/// Sets the limits of the process. Lower ones are met at once, as far as nothing is in use.
pub fn set_limits(limits: DiskLimits) {
    DESCRIPTORS.set_limit(limits.max_open_files);
    MAPS.set_limit(limits.max_maps);
}

/// Descriptors (of sealed segments and indexes) and maps that the process holds now.
#[must_use]
pub fn held() -> DiskLimits {
    DiskLimits { max_open_files: DESCRIPTORS.held(), max_maps: MAPS.held() }
}

/// What is scarce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resource {
    Descriptor,
    Map,
}

/// What became of a victim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It gave the resource up.
    GaveUp,
    /// It had given it up before.
    HadNone,
    /// It was used lately, is in use, or would have to be synced first.
    Spared,
}

/// Whoever can hold what is scarce.
pub(super) trait Holder: fmt::Debug + Send + Sync {
    /// Gives it up if nobody uses it; if what it holds is not synced, only where it `may_sync`.
    fn give_up(&self, resource: Resource, may_sync: bool) -> Verdict;
}

/// All descriptors of files that may give theirs up.
pub(super) static DESCRIPTORS: Holders = Holders::new(Resource::Descriptor, DEFAULT_LIMITS.max_open_files);
/// All maps.
pub(super) static MAPS: Holders = Holders::new(Resource::Map, DEFAULT_LIMITS.max_maps);

/// The holders of one resource.
#[derive(Debug)]
pub(super) struct Holders {
    resource: Resource,
    limit: AtomicUsize,
    held: AtomicUsize,
    queue: Mutex<VecDeque<Weak<dyn Holder>>>,
}

/// How many victims are looked at for clean ones before one is synced in order to close it.
const CLEAN_TRIES: usize = 32;

impl Holders {
    const fn new(resource: Resource, limit: usize) -> Holders {
        Holders {
            resource,
            limit: AtomicUsize::new(limit),
            held: AtomicUsize::new(0),
            queue: Mutex::new(VecDeque::new()),
        }
    }

    pub(super) fn limit(&self) -> usize {
        self.limit.load(Ordering::Relaxed)
    }

    pub(super) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    fn set_limit(&self, limit: usize) {
        self.limit.store(limit, Ordering::Relaxed);
        self.trim(limit);
    }

    /// Somebody holds one from now on: whoever is to `enlist`, or one who stands in the queue.
    pub(super) fn took(&self, enlist: Option<Weak<dyn Holder>>) {
        let held = self.held.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(holder) = enlist {
            let mut queue = self.queue.lock();
            queue.push_back(holder);
            if queue.len() > 2 * held + 64 {
                queue.retain(|file| file.strong_count() > 0);
            }
        }
        self.trim(self.limit());
    }

    /// A file that held one holds none any more.
    pub(super) fn released(&self) {
        self.held.fetch_sub(1, Ordering::Relaxed);
    }

    /// Takes back what is above `limit`, as far as nobody is using it.
    pub(super) fn trim(&self, limit: usize) {
        let rounds = 2 * self.queue.lock().len() + CLEAN_TRIES;
        for round in 0..rounds {
            if self.held() <= limit {
                return;
            }
            let Some(victim) = self.queue.lock().pop_front() else { return };
            let Some(file) = victim.upgrade() else { continue };
            if file.give_up(self.resource, round >= CLEAN_TRIES) == Verdict::Spared {
                self.queue.lock().push_back(Arc::downgrade(&file));
            }
        }
    }
}
