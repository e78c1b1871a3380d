//! OffsetCommit v10, whose topics are ids: read here, because `kafka-protocol` stops at version 9.
//!
//! ```text
//! group, i32 generation, member, instance?, [ uuid topic, [ i32 partition, i64 offset, i32 epoch, text? ] ]   flexible
//! ```

use ballast_wire::frame::{Form, Reader, WireError};
use bytes::Bytes;
use kafka_protocol::messages::OffsetCommitRequest;
use kafka_protocol::messages::offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};

use crate::api::view::{id, text};

/// Smallest partition: index, offset, epoch, null text, no tags.
const PARTITION_BYTES_MIN: usize = 4 + 8 + 4 + 1 + 1;
/// Smallest topic: id, no partitions, no tags.
const TOPIC_BYTES_MIN: usize = 16 + 1 + 1;

/// Reads a body.
pub(super) fn decode(body: &mut Bytes, _version: i16) -> Result<OffsetCommitRequest, WireError> {
    let mut reader = Reader::new(body, Form::Flexible);
    let request = OffsetCommitRequest::default()
        .with_group_id(text(&reader.string()?).into())
        .with_generation_id_or_member_epoch(reader.i32()?)
        .with_member_id(text(&reader.string()?))
        .with_group_instance_id(reader.nullable_string()?.as_deref().map(text))
        .with_topics(reader.array(TOPIC_BYTES_MIN, topic)?);
    reader.skip_tags()?;
    Ok(request)
}

fn topic(reader: &mut Reader<'_>) -> Result<OffsetCommitRequestTopic, WireError> {
    let topic = OffsetCommitRequestTopic::default().with_topic_id(id(reader.uuid()?));
    let topic = topic.with_partitions(reader.array(PARTITION_BYTES_MIN, partition)?);
    reader.skip_tags()?;
    Ok(topic)
}

fn partition(reader: &mut Reader<'_>) -> Result<OffsetCommitRequestPartition, WireError> {
    let partition = OffsetCommitRequestPartition::default()
        .with_partition_index(reader.i32()?)
        .with_committed_offset(reader.i64()?)
        .with_committed_leader_epoch(reader.i32()?)
        .with_committed_metadata(reader.nullable_string()?.as_deref().map(text));
    reader.skip_tags()?;
    Ok(partition)
}
