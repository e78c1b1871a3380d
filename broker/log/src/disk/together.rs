//! Syncs of one thread, put off to be done together.
//!
//! Syncing a thousand logs one by one takes milliseconds each, syncing their file system once takes as long as a few of
//! them. Between the two nothing is promised: what is put off is owed until [`super::Disk::together`] has returned.

use std::cell::Cell;

thread_local! {
    static PUT_OFF: Cell<bool> = const { Cell::new(false) };
}

/// Are this thread's syncs put off at the moment?
pub(super) fn are_put_off() -> bool {
    PUT_OFF.get()
}

/// Runs `work` with this thread's syncs put off.
pub(super) fn put_off(work: &mut dyn FnMut()) {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            PUT_OFF.set(self.0);
        }
    }
    let _restore = Restore(PUT_OFF.replace(true));
    work();
}
