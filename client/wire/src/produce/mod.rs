//! Produce (key 0), versions 3 to 13, both ways.
//!
//! v5 log start offset · v8 record errors and message · v9 flexible · v10 leader hints (tags) · v13 topic ids.
//! Versions 4, 6, 7, 11 and 12 change meanings, not bytes. A broker advertises 0 and refuses 0 to 2: see its handler.
//!
//! Holds: records are slices of the body that they came in, and are not looked at.

mod request;
mod response;

pub use request::{ProducePartition, ProduceRequest, ProduceTopic};
pub use response::{ProduceResponse, ProducedPartition, ProducedTopic, RecordError};

/// Oldest version with a codec.
pub const VERSION_MIN: i16 = 3;
/// Newest version with a codec.
pub const VERSION_MAX: i16 = 13;
