//! Fetch (key 1), versions 4 to 18, both ways.
//!
//! v5 log start offsets · v7 sessions · v9 leader epoch · v11 rack and preferred replica · v12 flexible, last fetched epoch,
//! divergence, leader and snapshot (tags) · v13 topic ids · v15 replica in a tag · v16 endpoints (tag) · v17 directory id
//! (tag) · v18 high watermark (tag). Versions 6, 8, 10 and 14 change meanings, not bytes.
//!
//! Holds: records go out as the log's own chunks and come in as slices of the body; they are not looked at.

mod request;
mod response;

pub use request::{FetchPartition, FetchRequest, FetchTopic, ForgottenTopic, NO_EPOCH, UNKNOWN_HIGH_WATERMARK};
pub use response::{
    AbortedTransaction, EpochEnd, FetchResponse, FetchedPartition, FetchedRecords, FetchedTopic, SnapshotId,
};

/// Oldest version with a codec.
pub const VERSION_MIN: i16 = 4;
/// Newest version with a codec.
pub const VERSION_MAX: i16 = 18;

const LOG_START_FROM: i16 = 5;
const SESSIONS_FROM: i16 = 7;
const RACK_FROM: i16 = 11;
