//! Kafka's bytes: ids, frames, headers, record batches, checksums and key hashes.
//!
//! Holds for the whole crate: no I/O, no runtime, and no length or count from the outside ever sizes an allocation.
//! Decoders borrow; what they return points into the frame that they were given.
//!
//! Read next: `batch` (the bytes that a log stores), `frame` (what a connection carries), `produce` and `fetch` (the two
//! messages that carry records), `chunk` (bytes on their way out), `error_code` (Kafka's errors by number and name),
//! `hash` (where clients put a key).

#![forbid(unsafe_code)]

pub mod batch;
pub mod chunk;
pub mod error_code;
pub mod fetch;
pub mod frame;
pub mod hash;
pub mod ids;
pub mod produce;
pub mod properties;
pub mod shared;

pub use chunk::{Chunk, FileRange};
pub use error_code::ErrorCode;
pub use ids::{
    BrokerId, LeaderEpoch, NO_LEADER, NO_PRODUCER, Offset, PartitionEpoch, PartitionIndex, ProducerEpoch, ProducerId,
    Uuid,
};
