//! What a fetcher says to a leader and hears from it, in bytes.
//!
//! Versions are fixed: both sides are brokers of this cluster. Fetch v18 (topic ids, the replica's broker epoch, its
//! directory and its watermark); ListOffsets v7, by name and without fencing less than the leader epoch.

use std::collections::BTreeMap;

use ballast_core::replica::follower::FetchRequest as Question;
use ballast_core::settings::ReplicationSettings;
use ballast_wire::fetch::{FetchPartition, FetchRequest};
use ballast_wire::frame::{ApiKey, Form, Writer};
use ballast_wire::{BrokerId, LeaderEpoch, Offset, PartitionIndex};
use bytes::Bytes;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::{ListOffsetsRequest, ListOffsetsResponse, TopicName};
use kafka_protocol::protocol::{Decodable as _, Encodable as _, StrBytes};

use super::session::Asking;
use crate::drive::partition::Partition;

pub(super) const FETCH_VERSION: i16 = 18;
pub(super) const LIST_OFFSETS_VERSION: i16 = 7;

/// ListOffsets: the first offset.
pub(super) const EARLIEST: i64 = -2;
/// ListOffsets: the end.
pub(super) const LATEST: i64 = -1;

/// A partition's row.
pub(super) fn row(partition: &Partition, question: &Question, settings: &ReplicationSettings) -> FetchPartition {
    FetchPartition {
        current_leader_epoch: question.leader_epoch,
        last_fetched_epoch: question.last_fetched_epoch,
        log_start_offset: question.log_start,
        replica_directory_id: partition.directory(),
        high_watermark: question.high,
        ..FetchPartition::new(partition.index, question.offset, settings.fetch_max_bytes_per_partition)
    }
}

/// The body of a fetch.
pub(super) fn fetch(asking: Asking, me: BrokerId, epoch: i64, settings: &ReplicationSettings) -> Bytes {
    let request = FetchRequest {
        replica_id: me,
        replica_epoch: epoch,
        max_wait_ms: settings.fetch_wait_max_ms,
        min_bytes: settings.fetch_min_bytes,
        max_bytes: settings.fetch_response_max_bytes,
        session_id: asking.session_id,
        session_epoch: asking.session_epoch,
        topics: asking.topics,
        forgotten: asking.forgotten,
        ..FetchRequest::default()
    };
    let mut body = Writer::new(Form::of(ApiKey::FETCH.is_flexible(FETCH_VERSION)));
    request.encode(FETCH_VERSION, &mut body);
    body.finish()
}

/// The body of a question for the offsets at `timestamp`, of partitions with their leader epochs.
pub(super) fn list_offsets<'a>(
    me: BrokerId,
    timestamp: i64,
    partitions: impl Iterator<Item = (&'a str, PartitionIndex, LeaderEpoch)>,
) -> Option<Bytes> {
    let mut topics: BTreeMap<&str, Vec<ListOffsetsPartition>> = BTreeMap::new();
    for (topic, index, leader_epoch) in partitions {
        let row = ListOffsetsPartition::default().with_partition_index(index);
        let row = row.with_current_leader_epoch(leader_epoch).with_timestamp(timestamp);
        topics.entry(topic).or_default().push(row);
    }
    let topics = topics.into_iter().map(|(topic, rows)| {
        let name = TopicName(StrBytes::from_string(topic.to_owned()));
        ListOffsetsTopic::default().with_name(name).with_partitions(rows)
    });
    let request = ListOffsetsRequest::default().with_replica_id(me.into()).with_topics(topics.collect());
    let mut body = Vec::new();
    let encoded = request.encode(&mut body, LIST_OFFSETS_VERSION);
    encoded.inspect_err(|error| tracing::error!(%error, "a ListOffsets does not encode")).ok()?;
    Some(body.into())
}

/// The offsets in an answer, by topic and partition; those with an error are left out.
pub(super) fn listed(mut body: Bytes) -> BTreeMap<(String, PartitionIndex), Offset> {
    let response = match ListOffsetsResponse::decode(&mut body, LIST_OFFSETS_VERSION) {
        Ok(response) => response,
        Err(error) => {
            tracing::warn!(%error, "a leader's ListOffsets answer does not decode");
            return BTreeMap::new();
        }
    };
    let rows = response.topics.iter().flat_map(|topic| {
        let good = topic.partitions.iter().filter(|row| row.error_code == 0 && row.offset >= 0);
        good.map(|row| ((topic.name.to_string(), row.partition_index), row.offset))
    });
    rows.collect()
}
