//! A gate in front of a runtime: closed, it holds every worker, so that the broker stands still as a stopped process does.
//! Its ports still take connections, because the system does that; nothing is read, answered, timed or written.

use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use tokio::runtime::Handle;

#[derive(Debug, Default)]
pub(super) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_closed: bool,
    /// Workers that stand at the gate.
    held: usize,
    /// Is the broker ending? Nobody is held any more.
    is_over: bool,
}

impl Gate {
    /// Holds all `workers` of `runtime`, and returns once they stand.
    pub(super) fn close(self: &Arc<Gate>, runtime: &Handle, workers: usize) {
        let mut state = self.state.lock();
        if state.is_closed || state.is_over {
            return;
        }
        state.is_closed = true;
        // A worker that stands takes no second task: as many tasks as workers hold them all.
        for _ in 0..workers {
            let gate = Arc::clone(self);
            runtime.spawn(async move { gate.stand() });
        }
        while state.is_closed && !state.is_over && state.held < workers {
            self.changed.wait(&mut state);
        }
    }

    /// Lets them go for good: the runtime is ending, and may drop the tasks that would hold it.
    pub(super) fn finish(&self) {
        self.state.lock().is_over = true;
        self.changed.notify_all();
    }

    /// Lets them go.
    pub(super) fn open(&self) {
        self.state.lock().is_closed = false;
        self.changed.notify_all();
    }

    fn stand(&self) {
        let mut state = self.state.lock();
        state.held += 1;
        self.changed.notify_all();
        while state.is_closed && !state.is_over {
            self.changed.wait(&mut state);
        }
        state.held -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn nothing_runs_behind_a_closed_gate_until_it_is_opened() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        let gate = Arc::new(Gate::default());
        for _ in 0..20 {
            gate.close(runtime.handle(), 2);
            let ran = Arc::new(AtomicBool::new(false));
            let task = runtime.spawn({
                let ran = Arc::clone(&ran);
                async move { ran.store(true, Ordering::SeqCst) }
            });
            assert!(!ran.load(Ordering::SeqCst), "every worker is held");
            gate.open();
            runtime.block_on(task).unwrap();
            assert!(ran.load(Ordering::SeqCst));
        }
    }

    #[test]
    fn a_gate_that_is_finished_holds_nobody_and_makes_nobody_wait() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        let gate = Arc::new(Gate::default());
        gate.close(runtime.handle(), 2);
        gate.finish();
        let handle = runtime.handle().clone();
        // Returns only when both workers have left the gate.
        drop(runtime);
        gate.close(&handle, 2);
        assert_eq!(gate.state.lock().held, 0);
    }
}
