//! Consumer groups of the classic protocol, and the offsets that groups commit: one machine per `__consumer_offsets`
//! partition.
//!
//! ```text
//!             Request, TopicDeleted, Timer             Append { ticket, records }
//!   members  ----------------------------->          ----------------------------->
//!            <-----------------------------   Shard  <-----------------------------  `__consumer_offsets`
//!             Answer (parked until what it             Committed { ticket }, Late { ticket }
//!             rests on is committed), GiveUp
//! ```
//!
//! What a group does in which state (Kafka's names; "—" is refused, see `error`):
//!
//! | | Empty | PreparingRebalance | CompletingRebalance | Stable |
//! |---|---|---|---|---|
//! | is | nobody | members come (back) | the leader assigns | everybody has an assignment |
//! | Join, new | → Preparing, initial delay | parked | → Preparing | → Preparing |
//! | Join, known | — | parked | as it is if unchanged, else → Preparing | follower unchanged: as it is, else → Preparing |
//! | Join, static and back | | parked under a new id | → Preparing | new id, same generation, if the protocol stays |
//! | Sync | — | REBALANCE_IN_PROGRESS | parked; the leader's is written, then → Stable | the assignment |
//! | Heartbeat | — | REBALANCE_IN_PROGRESS | fine | fine |
//! | OffsetCommit by generation | — | fine | REBALANCE_IN_PROGRESS | fine |
//! | OffsetCommit without | fine | — | — | — |
//! | Leave, session over | | may complete the join | → Preparing | → Preparing |
//! | all joined, or time is up | | generation + 1: → Completing, or → Empty if nobody is left | | |
//! | some did not sync in time | | | they go, → Preparing | they go, → Preparing |
//! | the assignment is not committed in time | | | everybody is told, → Preparing | |
//!
//! Holds after every step:
//!   1. Everything that a crash must not undo (offsets, generations, assignments) is in a record. An event applies at once;
//!      an answer that rests on records leaves when they, and all before them, are committed.
//!   2. Offsets are read from what is committed, which is exactly the records replayed in order: a shard that loads again
//!      says the same.
//!   3. A group becomes Stable when its assignment is committed, so no member acts on one that could be lost.
//!   4. A member waits for an answer to Join or Sync, or its session runs. So nobody is forgotten.
//!   5. Wall time stands in records only; deadlines are ticks.
//!
//! After a failed append the driver takes `Shard::into_waiting`, refuses those requests and loads the partition again: what
//! was applied but not written is gone, and members find out by UNKNOWN_MEMBER_ID and join again, as after a move.
//!
//! Read next: request.rs (what can be asked), shard.rs (the machine), classic/ (a group), records/ (bytes on disk).

mod classic;
mod commit;
mod committed;
mod config;
mod error;
mod expiry;
mod flight;
mod groups;
mod load;
pub mod records;
mod request;
mod response;
mod shard;
mod subscription;
#[cfg(test)]
mod tests;
mod timers;
mod turn;
mod view;

pub use classic::GroupState;
pub use config::GroupConfig;
pub use error::GroupError;
pub use load::Loading;
pub use request::{
    CommitPartition, CommitTopic, Event, HeartbeatRequest, Input, JoinRequest, LeaveRequest, LeavingMember,
    OffsetCommitRequest, OffsetDeleteRequest, Protocol, Request, SyncRequest,
};
pub use response::{
    DescribedMember, JoinResponse, JoinedMember, LeftMember, PartitionRow, Response, SyncResponse, TopicRow,
};
pub use shard::Shard;
pub use view::GroupView;

use std::sync::Arc;

use self::records::Record;

/// Names a parked request; chosen by the driver, never twice.
pub type RequestId = u64;
/// Names an append; rises by one with each.
pub type Ticket = u64;
/// `group.id`.
pub type GroupId = Arc<str>;
/// `<instance or client id>-<uuid>`, given by the coordinator; empty in the requests of those that have none yet.
pub type MemberId = Arc<str>;
/// `group.instance.id` of a static member (KIP-345).
pub type InstanceId = Arc<str>;
/// Counts the rebalances of a group; -1 in the requests of those that are no members.
pub type Generation = i32;

/// What a shard asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Append these records as one batch, base sequence 0. Answer with `Committed` when the high watermark has passed it;
    /// if it fails, drop the shard and load it again.
    Append {
        /// Which. Tickets rise, and the batches must reach the log in that order.
        ticket: Ticket,
        /// At least one; together at most `GroupConfig::batch_bytes_max`, unless it is one record alone.
        records: Vec<Record>,
    },
    /// Give this answer.
    Answer {
        /// To which request.
        id: RequestId,
        /// The answer.
        response: Response,
    },
    /// Tell this request COORDINATOR_NOT_AVAILABLE (15): what its answer rests on was not committed in time.
    GiveUp {
        /// Which.
        id: RequestId,
    },
}
