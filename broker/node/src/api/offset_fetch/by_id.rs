//! OffsetFetch v10, whose topics are ids: read here, because `kafka-protocol` stops at version 9.
//!
//! ```text
//! [ group, member?, i32 epoch, ?[ uuid topic, [ i32 partition ] ] ], bool require stable                        flexible
//! ```

use ballast_wire::frame::{Form, Reader, WireError};
use bytes::Bytes;
use kafka_protocol::messages::OffsetFetchRequest;
use kafka_protocol::messages::offset_fetch_request::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};

use crate::api::view::{id, text};

/// Smallest group: empty name, null member, epoch, null topics, no tags.
const GROUP_BYTES_MIN: usize = 1 + 1 + 4 + 1 + 1;
/// Smallest topic: id, no partitions, no tags.
const TOPIC_BYTES_MIN: usize = 16 + 1 + 1;

/// Reads a body.
pub(super) fn decode(body: &mut Bytes, _version: i16) -> Result<OffsetFetchRequest, WireError> {
    let mut reader = Reader::new(body, Form::Flexible);
    let request = OffsetFetchRequest::default().with_groups(reader.array(GROUP_BYTES_MIN, group)?);
    let request = request.with_require_stable(reader.bool()?);
    reader.skip_tags()?;
    Ok(request)
}

fn group(reader: &mut Reader<'_>) -> Result<OffsetFetchRequestGroup, WireError> {
    let group = OffsetFetchRequestGroup::default()
        .with_group_id(text(&reader.string()?).into())
        .with_member_id(reader.nullable_string()?.as_deref().map(text))
        .with_member_epoch(reader.i32()?)
        .with_topics(reader.nullable_array(TOPIC_BYTES_MIN, topic)?);
    reader.skip_tags()?;
    Ok(group)
}

fn topic(reader: &mut Reader<'_>) -> Result<OffsetFetchRequestTopics, WireError> {
    let topic = OffsetFetchRequestTopics::default().with_topic_id(id(reader.uuid()?));
    let topic = topic.with_partition_indexes(reader.array(4, Reader::i32)?);
    reader.skip_tags()?;
    Ok(topic)
}
