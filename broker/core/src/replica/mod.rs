//! One partition's replica, as the broker that holds it sees it.
//!
//! Read next: `leader` (what a leader decides).

mod follower;
mod leader;

pub use follower::Follower;
pub use leader::{AcksAll, Effect, Input, Leader, LeaderConfig, LeaderState};

#[cfg(test)]
mod tests;
