//! A Produce request and what its answer means for each batch in it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ballast_wire::batch::Compression;
use ballast_wire::frame::{ApiKey, Pieces};
use ballast_wire::produce::{
    ProducePartition, ProduceRequest, ProduceResponse, ProduceTopic, ProducedPartition, VERSION_MAX, VERSION_MIN,
};
use ballast_wire::shared::CurrentLeader;
use ballast_wire::{Chunk, PartitionIndex, Uuid};
use bytes::Bytes;

use super::ProducerConfig;
use super::accumulator::Taken;
use super::queue::Outcome;
use crate::{Broker, ClientError, Connection, ErrorCode};

/// The last version that names topics; from the next one on they go by their ids.
const BY_NAME_LAST: i16 = 12;
/// The first version in which zstd is allowed.
const ZSTD_FIRST: i16 = 7;

/// The version to use on `connection`.
///
/// # Errors
/// `Unsupported` if there is none that can carry these batches.
pub(super) fn version(connection: &Connection, batches: &[Taken], config: &ProducerConfig) -> Result<i16, ClientError> {
    let by_id = batches.iter().all(|taken| !taken.topic_id.is_zero());
    let last = if by_id { VERSION_MAX } else { BY_NAME_LAST };
    let first = if config.compression == Compression::Zstd { ZSTD_FIRST } else { VERSION_MIN };
    connection.version_within(ApiKey::PRODUCE, (first, last))
}

/// The body of the request. Batches are compressed here, if they have not been sent before.
pub(super) fn encode(version: i16, batches: &mut [Taken], acks: i16, timeout: Duration) -> Vec<Chunk> {
    let mut topics: BTreeMap<Arc<str>, (Uuid, Vec<ProducePartition>)> = BTreeMap::new();
    for taken in batches {
        let (_, partitions) = topics.entry(taken.topic.clone()).or_insert_with(|| (taken.topic_id, Vec::new()));
        partitions.push(ProducePartition { index: taken.partition, records: Some(taken.batch.finish()) });
    }
    let by_id = version > BY_NAME_LAST;
    let request = ProduceRequest {
        transactional_id: None,
        acks,
        timeout_ms: i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX),
        topics: topics
            .iter()
            .map(|(name, (id, partitions))| ProduceTopic {
                name: if by_id { "".into() } else { (&**name).into() },
                id: if by_id { *id } else { Uuid::ZERO },
                partitions: partitions.clone(),
            })
            .collect(),
    };
    let mut body = Pieces::body(ApiKey::PRODUCE, version);
    request.encode(version, &mut body);
    body.finish().into()
}

/// What an answer says.
#[derive(Debug, Default)]
pub(super) struct Answered {
    /// One for each batch, in the order of the request.
    pub(super) outcomes: Vec<Outcome>,
    /// Leaders that the broker named: topic, partition, leader.
    pub(super) hints: Vec<(Arc<str>, PartitionIndex, CurrentLeader)>,
    /// Where they listen.
    pub(super) endpoints: Vec<Broker>,
    /// Somebody else leads, and nobody said who.
    pub(super) stale: bool,
    /// How long the broker will not read from the connection.
    pub(super) throttle: Duration,
}

impl Answered {
    /// The same outcome for all of `batches`.
    pub(super) fn all(batches: &[Taken], outcome: &Outcome) -> Answered {
        let stale = matches!(outcome, Outcome::Again { error, .. } if error.means_stale_metadata());
        Answered { outcomes: batches.iter().map(|_| outcome.clone()).collect(), stale, ..Answered::default() }
    }
}

/// Reads the answer to a request of `version` that carried `batches`.
pub(super) fn decode(version: i16, body: &Bytes, batches: &[Taken], address: &str) -> Answered {
    let answer = match ProduceResponse::decode(version, body) {
        Ok(answer) => answer,
        Err(e) => {
            return Answered::all(batches, &Outcome::Again { error: bad(address, &e.to_string()), unknown: true });
        }
    };
    let mut answered = Answered {
        throttle: Duration::from_millis(answer.throttle_time_ms.max(0) as u64),
        endpoints: answer.node_endpoints.iter().filter_map(Broker::from_endpoint).collect(),
        ..Answered::default()
    };
    for taken in batches {
        // Rows keep no order.
        let row = answer
            .topics
            .iter()
            .filter(
                |topic| if version > BY_NAME_LAST { topic.id == taken.topic_id } else { topic.name == *taken.topic },
            )
            .find_map(|topic| topic.partitions.iter().find(|row| row.index == taken.partition));
        let Some(row) = row else {
            let error = bad(address, &format!("no row for {}-{}", taken.topic, taken.partition));
            answered.outcomes.push(Outcome::Again { error, unknown: true });
            continue;
        };
        answered.outcomes.push(outcome(taken, row));
        match row.current_leader {
            Some(hint) => answered.hints.push((taken.topic.clone(), taken.partition, hint)),
            None => answered.stale |= ErrorCode(row.error_code).means_stale_metadata(),
        }
    }
    answered
}

fn outcome(taken: &Taken, row: &ProducedPartition<'_>) -> Outcome {
    let code = ErrorCode(row.error_code);
    let error = || {
        let mut message = row.error_message.as_deref().unwrap_or_default().to_owned();
        for record in row.record_errors.iter().take(1) {
            let said = record.message.as_deref().unwrap_or_default();
            message = format!("{message} (record {} of the batch: {said})", record.batch_index).trim().to_owned();
        }
        ClientError::Refused {
            what: format!("writing to {}-{}", taken.topic, taken.partition),
            code,
            message: Some(message).filter(|message| !message.is_empty()),
        }
    };
    match code {
        ErrorCode::NONE => {
            Outcome::Written { base_offset: row.base_offset, log_append_time_ms: row.log_append_time_ms }
        }
        // Recognised, but the broker no longer knows where it is.
        ErrorCode::DUPLICATE_SEQUENCE_NUMBER => Outcome::Written { base_offset: -1, log_append_time_ms: -1 },
        ErrorCode::MESSAGE_TOO_LARGE | ErrorCode::RECORD_LIST_TOO_LARGE => Outcome::TooLarge { error: error() },
        ErrorCode::OUT_OF_ORDER_SEQUENCE_NUMBER
        | ErrorCode::INVALID_PRODUCER_EPOCH
        | ErrorCode::UNKNOWN_PRODUCER_ID
            if taken.batch.stamp.is_some() =>
        {
            Outcome::OutOfSequence { error: error() }
        }
        code if code.is_retriable() => Outcome::Again { error: error(), unknown: may_be_written(code) },
        _ => Outcome::Refused { error: error() },
    }
}

/// The leader may have written it and then failed, or waited in vain for the others.
fn may_be_written(code: ErrorCode) -> bool {
    matches!(
        code,
        ErrorCode::REQUEST_TIMED_OUT
            | ErrorCode::NETWORK_EXCEPTION
            | ErrorCode::NOT_ENOUGH_REPLICAS_AFTER_APPEND
            | ErrorCode::KAFKA_STORAGE_ERROR
            | ErrorCode::NOT_LEADER_OR_FOLLOWER
    )
}

fn bad(address: &str, reason: &str) -> ClientError {
    ClientError::Disconnected {
        address: address.to_owned(),
        reason: format!("a malformed answer to Produce: {reason}"),
    }
}
