//! One line for everything that changes the metadata log or the vote: what was asked first is done first.
//!
//! ```text
//! append ─┐                      ┌─ append, append: written one after another, ONE sync, then both are told
//! append ─┼─► line ─► one job ───┤
//! vote   ─┘        on a thread   └─ vote: written and synced
//!                  of the disk
//! ```
//! Holds:
//!   1. At most one job works off the line, and it takes all that is waiting at once.
//!   2. Whoever waits is told after the sync that covers what it asked for, or is told why not.
//!   3. Nothing here runs on an async worker, unless the disk is ephemeral: that one never waits for a device.

use std::collections::VecDeque;
use std::sync::Arc;

use ballast_log::Log;
use ballast_log::disk::Disk;
use ballast_net::Clock;
use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::super::error::QuorumError;

/// Told once an append is synced, or why it is not.
type Done = Box<dyn FnOnce(Result<(), QuorumError>) + Send>;

enum Step {
    Append { batches: Bytes, done: Done },
    Work(Box<dyn FnOnce() + Send>),
}

#[derive(Default)]
struct Line {
    waiting: VecDeque<Step>,
    /// A job works off the line.
    busy: bool,
    /// A job panicked: nothing more is done.
    broken: bool,
}

/// See the module.
pub(super) struct Serial {
    disk: Arc<dyn Disk>,
    log: Arc<Log>,
    clock: Arc<dyn Clock>,
    line: Mutex<Line>,
}

impl Serial {
    pub(super) fn new(disk: Arc<dyn Disk>, log: Arc<Log>, clock: Arc<dyn Clock>) -> Arc<Serial> {
        Arc::new(Serial { disk, log, clock, line: Mutex::default() })
    }

    /// Appends stamped batches and tells `done` once they are synced.
    pub(super) fn append(self: &Arc<Self>, batches: Bytes, done: Done) {
        self.submit(Step::Append { batches, done });
    }

    /// Does `work` in its turn.
    pub(super) async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce() -> Result<T, QuorumError> + Send + 'static,
    ) -> Result<T, QuorumError> {
        let (tell, told) = oneshot::channel();
        self.submit(Step::Work(Box::new(move || drop(tell.send(work())))));
        told.await.unwrap_or(Err(QuorumError::Closed))
    }

    fn submit(self: &Arc<Self>, step: Step) {
        {
            let mut line = self.line.lock();
            if line.broken {
                return;
            }
            line.waiting.push_back(step);
            if std::mem::replace(&mut line.busy, true) {
                return;
            }
        }
        let this = Arc::clone(self);
        start(&*self.disk, move || this.work_off());
    }

    fn work_off(&self) {
        let guard = Guard(self);
        loop {
            let steps = {
                let mut line = self.line.lock();
                if line.waiting.is_empty() {
                    line.busy = false;
                    break;
                }
                std::mem::take(&mut line.waiting)
            };
            let mut unsynced = Vec::new();
            for step in steps {
                match step {
                    Step::Append { batches, done } => match self.log.append_stamped(&batches, self.clock.now_ms()) {
                        Ok(_) => {
                            super::tell_bounds(self.log.recovery_point(), self.log.end());
                            unsynced.push(done);
                        }
                        Err(error) => done(Err(error.into())),
                    },
                    Step::Work(work) => {
                        self.sync(&mut unsynced);
                        work();
                    }
                }
            }
            self.sync(&mut unsynced);
        }
        drop(guard);
    }

    /// One sync for all that was appended.
    fn sync(&self, unsynced: &mut Vec<Done>) {
        if unsynced.is_empty() {
            return;
        }
        let synced = self.log.sync(self.clock.now_ms()).map(drop).map_err(QuorumError::from);
        super::tell_bounds(self.log.recovery_point(), self.log.end());
        for done in unsynced.drain(..) {
            done(synced.clone());
        }
    }
}

/// Closes the line if its job panics, so that nobody waits for ever.
struct Guard<'a>(&'a Serial);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let mut line = self.0.line.lock();
            line.broken = true;
            line.waiting.clear();
        }
    }
}

/// Runs `work` on a thread of the disk; at once and here if the disk is ephemeral.
fn start(disk: &dyn Disk, work: impl FnOnce() + Send + 'static) {
    if disk.is_durable() { disk.spawn(Box::new(work)) } else { work() }
}

/// Runs `work`, in no order with anything else, where it stalls no async worker.
pub(in super::super) async fn on_disk<T: Send + 'static>(
    disk: &dyn Disk,
    work: impl FnOnce() -> Result<T, QuorumError> + Send + 'static,
) -> Result<T, QuorumError> {
    let told = {
        let (tell, told) = oneshot::channel();
        start(disk, move || drop(tell.send(work())));
        told
    };
    told.await.unwrap_or(Err(QuorumError::Closed))
}

/// As [`on_disk`], for work that only reads: it never waits for a sync.
pub(in super::super) async fn on_readers<T: Send + 'static>(
    disk: &dyn Disk,
    work: impl FnOnce() -> Result<T, QuorumError> + Send + 'static,
) -> Result<T, QuorumError> {
    let (tell, told) = oneshot::channel();
    if disk.is_durable() {
        disk.spawn_read(Box::new(move || drop(tell.send(work()))));
    } else {
        drop(tell.send(work()));
    }
    told.await.unwrap_or(Err(QuorumError::Closed))
}
