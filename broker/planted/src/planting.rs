//! What is planted at present, thread by thread.

use std::cell::Cell;
use std::marker::PhantomData;

use crate::Bug;

thread_local! {
    static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
}

/// A mistake is made on this thread until this is dropped.
#[must_use]
pub struct Planting {
    before: Option<Bug>,
    /// It belongs to the thread that made it.
    stays: PhantomData<*const ()>,
}

/// Plants `bug`, or for `None` nothing, on this thread.
pub fn plant(bug: Option<Bug>) -> Planting {
    Planting { before: PLANTED.replace(bug), stays: PhantomData }
}

impl Drop for Planting {
    fn drop(&mut self) {
        PLANTED.set(self.before);
    }
}

/// Is this mistake to be made?
#[must_use]
pub fn is_planted(bug: Bug) -> bool {
    // A thread that ends has dropped its own things: nothing is planted there.
    PLANTED.try_with(Cell::get).ok().flatten() == Some(bug)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bug_is_planted_on_one_thread_and_for_one_scope() {
        let planting = plant(Some(Bug::WatermarkByIsr));
        assert!(is_planted(Bug::WatermarkByIsr) && !is_planted(Bug::FetchBeforeSync));
        std::thread::scope(|scope| {
            let elsewhere = scope.spawn(|| is_planted(Bug::WatermarkByIsr));
            assert!(!elsewhere.join().expect("it only asks"), "another thread has it too");
        });
        {
            let _other = plant(None);
            assert!(!is_planted(Bug::WatermarkByIsr));
        }
        assert!(is_planted(Bug::WatermarkByIsr));
        drop(planting);
        assert!(!is_planted(Bug::WatermarkByIsr));
    }
}
