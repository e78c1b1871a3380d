//! Random messages of each version, with only the fields that the version has.

use std::borrow::Cow;

use ballast_wire::fetch::{
    AbortedTransaction, EpochEnd, FetchPartition, FetchRequest, FetchResponse, FetchTopic, FetchedPartition,
    FetchedTopic, ForgottenTopic, SnapshotId, UNKNOWN_HIGH_WATERMARK,
};
use ballast_wire::produce::{
    ProducePartition, ProduceRequest, ProduceResponse, ProduceTopic, ProducedPartition, ProducedTopic, RecordError,
};
use ballast_wire::shared::{CurrentLeader, NodeEndpoint};
use ballast_wire::{Chunk, Uuid};
use bytes::Bytes;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

pub(crate) type FetchedBytes = FetchResponse<'static, Bytes>;

fn text() -> impl Strategy<Value = Cow<'static, str>> {
    "[a-zé.]{0,12}".prop_map(Cow::Owned)
}

fn uuid() -> impl Strategy<Value = Uuid> {
    any::<[u8; 16]>().prop_map(Uuid)
}

fn blob() -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..60).prop_map(Bytes::from)
}

/// A topic as the version names it.
fn topic(version: i16) -> impl Strategy<Value = (Cow<'static, str>, Uuid)> {
    (text(), uuid()).prop_map(move |(name, id)| if version >= 13 { ("".into(), id) } else { (name, Uuid::ZERO) })
}

/// Something from a version on, and `absent` before.
fn since<T: Clone + std::fmt::Debug + 'static>(
    present: bool,
    absent: T,
    strategy: impl Strategy<Value = T> + 'static,
) -> BoxedStrategy<T> {
    if present { strategy.boxed() } else { Just(absent).boxed() }
}

fn leader(present: bool) -> BoxedStrategy<Option<CurrentLeader>> {
    let leader = (0..9i32, any::<i32>());
    since(
        present,
        None,
        option::of(leader.prop_map(|(leader_id, leader_epoch)| CurrentLeader { leader_id, leader_epoch })),
    )
}

fn endpoints(present: bool) -> BoxedStrategy<Vec<NodeEndpoint<'static>>> {
    let endpoint = (any::<i32>(), text(), any::<i32>(), option::of(text()));
    let endpoint = endpoint.prop_map(|(node_id, host, port, rack)| NodeEndpoint { node_id, host, port, rack });
    since(present, Vec::new(), vec(endpoint, 0..3))
}

pub(crate) fn produce_request(version: i16) -> impl Strategy<Value = ProduceRequest<'static>> {
    let partition = (any::<i32>(), option::of(blob())).prop_map(|(index, records)| ProducePartition { index, records });
    let topic = (topic(version), vec(partition, 0..4)).prop_map(|((name, id), partitions)| ProduceTopic {
        name,
        id,
        partitions,
    });
    (option::of(text()), any::<i16>(), any::<i32>(), vec(topic, 0..4)).prop_map(
        |(transactional_id, acks, timeout_ms, topics)| ProduceRequest { transactional_id, acks, timeout_ms, topics },
    )
}

pub(crate) fn produce_response(version: i16) -> impl Strategy<Value = ProduceResponse<'static>> {
    let error =
        (any::<i32>(), option::of(text())).prop_map(|(batch_index, message)| RecordError { batch_index, message });
    let numbers = (any::<i32>(), any::<i16>(), any::<i64>(), any::<i64>());
    let later = (
        since(version >= 5, -1, any::<i64>()),
        since(version >= 8, Vec::new(), vec(error, 0..3)),
        since(version >= 8, None, option::of(text())),
        leader(version >= 10),
    );
    let partition = (numbers, later).prop_map(|((index, error_code, base_offset, time), later)| {
        let (log_start_offset, record_errors, error_message, current_leader) = later;
        ProducedPartition {
            index,
            error_code,
            base_offset,
            log_append_time_ms: time,
            log_start_offset,
            record_errors,
            error_message,
            current_leader,
        }
    });
    let topic = (topic(version), vec(partition, 0..4)).prop_map(|((name, id), partitions)| ProducedTopic {
        name,
        id,
        partitions,
    });
    (vec(topic, 0..4), any::<i32>(), endpoints(version >= 10)).prop_map(|(topics, throttle_time_ms, node_endpoints)| {
        ProduceResponse { topics, throttle_time_ms, node_endpoints }
    })
}

fn fetch_partition(version: i16) -> impl Strategy<Value = FetchPartition> {
    (
        (any::<i32>(), any::<i64>(), any::<i32>()),
        since(version >= 9, -1, any::<i32>()),
        since(version >= 12, -1, any::<i32>()),
        since(version >= 5, -1, any::<i64>()),
        since(version >= 17, Uuid::ZERO, prop_oneof![Just(Uuid::ZERO), uuid()]),
        since(version >= 18, UNKNOWN_HIGH_WATERMARK, prop_oneof![Just(UNKNOWN_HIGH_WATERMARK), any::<i64>()]),
    )
        .prop_map(|((index, fetch_offset, max_bytes), epoch, last_fetched_epoch, log_start, directory, high)| {
            FetchPartition {
                current_leader_epoch: epoch,
                last_fetched_epoch,
                log_start_offset: log_start,
                replica_directory_id: directory,
                high_watermark: high,
                ..FetchPartition::new(index, fetch_offset, max_bytes)
            }
        })
}

pub(crate) fn fetch_request(version: i16) -> impl Strategy<Value = FetchRequest<'static>> {
    let topics = (topic(version), vec(fetch_partition(version), 0..4))
        .prop_map(|((name, id), partitions)| FetchTopic { name, id, partitions });
    let forgotten = (topic(version), vec(any::<i32>(), 0..4)).prop_map(|((name, id), partitions)| ForgottenTopic {
        name,
        id,
        partitions,
    });
    let limits = (any::<i32>(), any::<i32>(), any::<i32>(), any::<i8>());
    (
        limits,
        (any::<i32>(), since(version >= 15, -1, any::<i64>())),
        since(version >= 12, None, option::of(text())),
        since(version >= 7, (0, -1), (any::<i32>(), any::<i32>())),
        vec(topics, 0..4),
        since(version >= 7, Vec::new(), vec(forgotten, 0..3)),
        since(version >= 11, "".into(), text()),
    )
        .prop_map(|(limits, replica, cluster_id, session, topics, forgotten, rack_id)| FetchRequest {
            cluster_id,
            replica_id: replica.0,
            replica_epoch: replica.1,
            max_wait_ms: limits.0,
            min_bytes: limits.1,
            max_bytes: limits.2,
            isolation_level: limits.3,
            session_id: session.0,
            session_epoch: session.1,
            topics,
            forgotten,
            rack_id,
        })
}

fn fetched_partition(version: i16) -> impl Strategy<Value = FetchedPartition<Bytes>> {
    let aborted = (any::<i64>(), any::<i64>())
        .prop_map(|(producer_id, first_offset)| AbortedTransaction { producer_id, first_offset });
    let diverging = (0..9i32, any::<i64>()).prop_map(|(epoch, end_offset)| EpochEnd { epoch, end_offset });
    let snapshot = (any::<i64>(), 0..9i32).prop_map(|(end_offset, epoch)| SnapshotId { end_offset, epoch });
    (
        (any::<i32>(), any::<i16>(), any::<i64>(), any::<i64>()),
        since(version >= 5, -1, any::<i64>()),
        since(version >= 12, None, option::of(diverging)),
        leader(version >= 12),
        since(version >= 12, None, option::of(snapshot)),
        option::of(vec(aborted, 0..4)),
        since(version >= 11, -1, any::<i32>()),
        blob(),
    )
        .prop_map(
            |(numbers, log_start_offset, diverging_epoch, leader, snapshot_id, aborted, preferred, records)| {
                FetchedPartition {
                    index: numbers.0,
                    error_code: numbers.1,
                    high_watermark: numbers.2,
                    last_stable_offset: numbers.3,
                    log_start_offset,
                    diverging_epoch,
                    current_leader: leader,
                    snapshot_id,
                    aborted_transactions: aborted,
                    preferred_read_replica: preferred,
                    records,
                }
            },
        )
}

pub(crate) fn fetch_response(version: i16) -> impl Strategy<Value = FetchedBytes> {
    let topic = (topic(version), vec(fetched_partition(version), 0..4))
        .prop_map(|((name, id), partitions)| FetchedTopic { name, id, partitions });
    (
        any::<i32>(),
        since(version >= 7, (0, 0), (any::<i16>(), any::<i32>())),
        vec(topic, 0..4),
        endpoints(version >= 16),
    )
        .prop_map(|(throttle_time_ms, (error_code, session_id), topics, node_endpoints)| FetchResponse {
            throttle_time_ms,
            error_code,
            session_id,
            topics,
            node_endpoints,
        })
}

/// The bytes of a message that was built in pieces.
pub(crate) fn joined<'a>(chunks: impl IntoIterator<Item = &'a Chunk>) -> Bytes {
    chunks.into_iter().flat_map(|chunk| chunk.bytes().expect("chunks of these tests are in memory")).collect()
}
