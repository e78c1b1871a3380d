//! Claims about a shard, by stepping it.
//!
//! Read next: rig.rs (how), then one file per subject; random.rs lets a hundred members do what they want.

mod loading;
mod membership;
mod offsets;
mod random;
mod rebalance;
mod retention;
mod rig;
mod static_members;
mod syncing;
