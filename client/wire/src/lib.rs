//! Kafka's bytes: ids, frames, headers, record batches, checksums and key hashes.
//!
//! Holds for the whole crate: no I/O, no runtime, and no length or count from the outside ever sizes an allocation.
//! Decoders borrow; what they return points into the frame that they were given.
//!
//! Read next: `batch` (the bytes that a log stores), `frame` (what a connection carries), `chunk` (bytes on their way out).

#![forbid(unsafe_code)]

pub mod batch;
pub mod chunk;
pub mod frame;
pub mod hash;
pub mod ids;

pub use chunk::{Chunk, FileRange};
pub use ids::{
    BrokerId, LeaderEpoch, NO_LEADER, NO_PRODUCER, Offset, PartitionEpoch, PartitionIndex, ProducerEpoch, ProducerId,
    Uuid,
};
