use bytes::Bytes;

use crate::config::LogConfig;
use crate::error::AppendError;

/// Who made a batch, which decides what it may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A producer.
    Client {
        /// Version of its Produce request: zstd needs 7.
        produce_version: i16,
        /// Does it use transactions v2? Then a producer that is not known must begin at sequence 0.
        transactions_v2: bool,
    },
    /// The broker itself: coordinators and transaction markers. Control batches and any sequence are allowed.
    Broker,
}

/// One batch that may be appended: whole, of format 2, its checksum right, its records judged, rewritten if the topic asks
/// for it. Offsets and epoch are not yet assigned.
#[derive(Debug, Clone)]
pub struct ValidBatch {
    bytes: Bytes,
}

/// Judges the records of one partition in a Produce request (kafka.md §2.2, §2.3). Needs no lock.
///
/// # Errors
/// Why it may not be appended; Kafka's order of tests decides which cause is named when there are several.
pub fn validate(records: &Bytes, config: &LogConfig, origin: Origin, now_ms: i64) -> Result<ValidBatch, AppendError> {
    todo!()
}
