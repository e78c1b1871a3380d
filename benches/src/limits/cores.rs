//! Keeps a thread on one core for a while.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The server's, among the cores that the process may use.
pub(super) const SERVER: usize = 0;
/// The client's.
pub(super) const CLIENT: usize = 1;

/// The calling thread stays where it is until this is dropped.
pub(super) struct Pinned {
    before: CpuSet,
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // The thread may run on fewer cores than before: slower, not wrong.
        let _ = sched_setaffinity(None, &self.before);
    }
}

/// Pins the calling thread to the `n`th core that it may use; nothing where there is none.
pub(super) fn pin(n: usize) -> Option<Pinned> {
    let before = sched_getaffinity(None).ok()?;
    let core = (0..CpuSet::MAX_CPU).filter(|core| before.is_set(*core)).nth(n)?;
    let mut only = CpuSet::new();
    only.set(core);
    sched_setaffinity(None, &only).ok()?;
    Some(Pinned { before })
}
