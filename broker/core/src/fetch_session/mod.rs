//! Fetch sessions (KIP-227): what a client already asked for and was told, so that neither side repeats it.
//!
//! ```text
//! request           id   epoch          answer
//! full, no session   any  -1             every row, id 0; the session `id` is closed
//! full, open one     any   0             every row, a new id (0 when no slot is free); the session `id` is closed
//! incremental        n    1, 2, …, MAX, 1, …   only rows with news; only changed partitions were sent
//! ```
//! A fetch is served in two halves, because it may wait in between: [`FetchSessions::begin`] says what to read,
//! [`FetchSessions::finish`] takes what was read and says what to send. Time and random ids are arguments.
//!
//! Holds: sessions never exceed their slots, nor their partitions [`PARTITIONS_MAX`]; a session without partitions exists
//! only if it was opened without any.
//!
//! Read next: `sessions` (both halves), `session` (one session's partitions, in order), `slots` (who is evicted).

mod session;
mod sessions;
mod slots;

use std::sync::Arc;

use ballast_wire::{LeaderEpoch, Offset, PartitionIndex, Uuid};

pub use sessions::{Fetch, FetchSessions, Finished, Request};

/// Most partitions that all sessions together may remember: a bound on memory, beyond which no session is opened.
pub const PARTITIONS_MAX: usize = 1 << 20;

/// No session.
pub const NO_SESSION: i32 = 0;
/// Session epoch of a full fetch that opens a session.
pub const OPEN_EPOCH: i32 = 0;
/// Session epoch of a full fetch that wants none.
pub const CLOSE_EPOCH: i32 = -1;

/// How a session names topics: by what its first request used.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum TopicKey {
    /// Up to Fetch v12.
    Name(Arc<str>),
    /// From Fetch v13.
    Id(Uuid),
}

/// A partition of a session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PartitionKey {
    /// Its topic.
    pub topic: TopicKey,
    /// Its number.
    pub index: PartitionIndex,
}

/// What a client wants of one partition, until it says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// First offset wanted.
    pub fetch_offset: Offset,
    /// Bytes that the partition may give.
    pub max_bytes: i32,
    /// Leader epoch that the client knows, -1 for none.
    pub current_leader_epoch: LeaderEpoch,
    /// Epoch of the last record that it has, -1 for none.
    pub last_fetched_epoch: LeaderEpoch,
    /// First offset that a follower has, -1 for consumers.
    pub log_start_offset: Offset,
    /// High watermark that a follower has, `Offset::MAX` if it does not say (KIP-1166).
    pub high_watermark: Offset,
}

/// What was read of one partition, as far as it decides whether there is news.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// The high watermark in the row.
    pub high_watermark: Offset,
    /// The log start in the row.
    pub log_start_offset: Offset,
    /// Are there records?
    pub has_records: bool,
    /// Is it an error?
    pub is_error: bool,
    /// Is there a preferred replica or a diverging epoch?
    pub must_be_sent: bool,
}

/// Why a request does not fit its session. Answered at the top level, without rows and with id 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// There is no such session: FETCH_SESSION_ID_NOT_FOUND (70). The client starts over.
    #[error("fetch session {0} is not known here")]
    UnknownId(i32),
    /// Not the next request of the session: INVALID_FETCH_SESSION_EPOCH (71). The session stays as it was.
    #[error("fetch session {id} expects request {expected}, not {got}")]
    BadEpoch {
        /// The session.
        id: i32,
        /// What would have been next.
        expected: i32,
        /// What came.
        got: i32,
    },
    /// Opened with names and used with ids, or the reverse: FETCH_SESSION_TOPIC_ID_ERROR (106). It stays as it was.
    #[error("fetch session {0} names topics in the other way")]
    OtherNames(i32),
}

#[cfg(test)]
mod random;
#[cfg(test)]
mod tests;
