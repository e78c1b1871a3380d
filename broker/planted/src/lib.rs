//! Mistakes put in on purpose, so that tests can show that they would find them.
//!
//! ```text
//! product code   if is_planted(Bug::…) { do it wrong }     one line at each place
//! a test         let _planting = plant(Bug::…);            for as long as it lives, on this thread
//! ```
//! Holds:
//!   1. Without the feature `planted-bugs`, which tests alone ask for, `is_planted` is a constant: nothing of this crate is
//!      in a program that is built for use.
//!   2. With it nothing is planted either, until a test says so, and then on that test's thread alone. Whatever the test runs
//!      must therefore run on one thread, as simulations do.
//!
//! Read next: `bug` (the mistakes).

mod bug;
#[cfg(feature = "planted-bugs")]
mod planting;

pub use bug::Bug;
#[cfg(feature = "planted-bugs")]
pub use planting::{Planting, is_planted, plant};

/// Is this mistake to be made? Never, in a program that is built for use.
#[cfg(not(feature = "planted-bugs"))]
#[must_use]
#[inline(always)]
pub const fn is_planted(_: Bug) -> bool {
    false
}
