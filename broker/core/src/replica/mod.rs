//! One partition's replica, as the broker that holds it sees it: it leads, or it follows.
//!
//! ```text
//!             Fetch { offset, last_fetched_epoch }
//!  Follower  -------------------------------------->  Leader  --- ProposeIsr --->  controller
//!            <--------------------------------------          <-- IsrCommitted ---
//!             batches, watermark, or where to cut
//! ```
//! The log belongs to neither: both are told where it ends, and say what shall be done to it.
//!
//! Read next: `leader` (watermark and ISR), `follower` (what to fetch, where to cut), `read` (who may read what).

pub mod follower;
mod leader;
mod read;
mod remote;

pub use leader::{AcksAll, Effect, Input, IsrRefusal, Leader, LeaderConfig, LeaderState, StrangerFetch};
pub use read::{
    Candidate, Divergence, EpochEnd, EpochMismatch, FetchPosition, FollowerRead, check_leader_epoch, divergence,
    follower_read, preferred_read_replica,
};
pub use remote::RemoteReplica;
