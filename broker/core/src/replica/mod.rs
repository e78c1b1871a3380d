//! One partition's replica, as the broker that holds it sees it.
//!
//! Read next: `leader` (what a leader decides).

mod leader;

pub use leader::{Effect, Input, Leader, LeaderConfig, LeaderState};

#[cfg(test)]
mod tests;
