//! From a shard to the log: records become one batch, which is queued and later written like any produce with acks=all.
//!
//! A coordinator's batches have base sequence 0 beside producer id -1, as Apache Kafka's have. That is how its tools, and a
//! reader of the log, tell them from a client's.

use std::sync::Arc;

use ballast_core::group::records::Record;
use ballast_log::validate::{Origin, validate};
use ballast_wire::NO_PRODUCER;
use ballast_wire::batch::build::NO_PRODUCER_EPOCH;
use ballast_wire::batch::{BatchBuilder, Compression};
use bytes::Bytes;

use crate::drive::partition::{Partition, ProduceError, Produced};
use crate::drive::waiters::Until;

/// Base sequence of a coordinator's batches.
const COORDINATOR_SEQUENCE: i32 = 0;

/// Queues records as one batch. Nothing is written yet: see [`Partition::write`].
///
/// # Errors
/// Why the partition does not take them. Nothing is queued then.
pub(super) fn enqueue(
    partition: &Arc<Partition>,
    records: &[Record],
    codec: Compression,
    now_ms: i64,
) -> Result<Produced, ProduceError> {
    let batch = validate(&encode(records, codec, now_ms), &partition.log.config(), Origin::Broker, now_ms)?;
    partition.enqueue(batch, Until::Committed, now_ms)
}

fn encode(records: &[Record], codec: Compression, now_ms: i64) -> Bytes {
    assert!(!records.is_empty(), "a shard never appends nothing");
    let mut builder = BatchBuilder::new(codec).producer(NO_PRODUCER, NO_PRODUCER_EPOCH, COORDINATOR_SEQUENCE);
    for record in records {
        builder.push(now_ms, Some(&record.encode_key()), record.encode_value().as_deref(), &[]);
    }
    builder.finish()
}
