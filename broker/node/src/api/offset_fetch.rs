//! OffsetFetch (key 9), versions 1–10.
//!
//! v2 null topics mean all; v5 leader epochs; v8 many groups, each with an error of its own; v10 topic ids. A partition
//! that was never committed is no error: offset -1, leader epoch -1, empty text. An unknown group has committed nothing.
//! `require_stable` (v7) changes nothing while there are no transactions.

mod by_id;

use ballast_core::group::GroupView;
use ballast_core::group::records::CommittedOffset;
use ballast_core::image::Image;
use ballast_net::BoxFuture;
use bytes::Bytes;
use kafka_protocol::messages::offset_fetch_request::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use kafka_protocol::messages::offset_fetch_response::{
    OffsetFetchResponseGroup, OffsetFetchResponsePartition, OffsetFetchResponsePartitions, OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
};
use kafka_protocol::messages::{OffsetFetchRequest, OffsetFetchResponse, TopicName};
use kafka_protocol::protocol::Decodable as _;

use super::call::{Call, Ctx};
use super::code::{self, Code};
use super::group;
use super::view::{self, text, topic_name};
use crate::net::conn::Answer;
use crate::session::{Operation, Resource};

/// First version with an error for the whole answer; before, each partition has it.
const ERROR_FROM: i16 = 2;
/// First version with many groups.
const MANY_GROUPS_FROM: i16 = 8;
/// First version that names topics by id.
const IDS_FROM: i16 = 10;

const NO_OFFSET: i64 = -1;
const NO_EPOCH: i32 = -1;

pub(super) fn start(call: Call) -> BoxFuture<'static, Answer> {
    call.decoded(decode, handle)
}

/// Reads a request of any version.
pub(crate) fn decode(body: &mut Bytes, version: i16) -> Result<OffsetFetchRequest, String> {
    if version < IDS_FROM {
        OffsetFetchRequest::decode(body, version).map_err(|error| error.to_string())
    } else {
        by_id::decode(body, version).map_err(|error| error.to_string())
    }
}

fn handle(ctx: Ctx, request: OffsetFetchRequest) -> std::future::Ready<OffsetFetchResponse> {
    let response = if ctx.version < MANY_GROUPS_FROM {
        single(&ctx, request)
    } else {
        let groups = request.groups.iter().map(|wanted| of_group(&ctx, wanted)).collect();
        OffsetFetchResponse::default().with_groups(groups)
    };
    std::future::ready(response)
}

/// The older shape: one group, and its error at the top.
fn single(ctx: &Ctx, request: OffsetFetchRequest) -> OffsetFetchResponse {
    let topics = request.topics.map(|topics| {
        let topic = |topic: kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestTopic| {
            OffsetFetchRequestTopics::default().with_name(topic.name).with_partition_indexes(topic.partition_indexes)
        };
        topics.into_iter().map(topic).collect::<Vec<_>>()
    });
    let wanted = OffsetFetchRequestGroup::default().with_group_id(request.group_id).with_topics(topics);
    let mut found = of_group(ctx, &wanted);
    let response = OffsetFetchResponse::default();
    if ctx.version < ERROR_FROM && found.error_code != code::NONE {
        let topics = wanted.topics.iter().flatten();
        found.topics = topics.map(|topic| refused(topic, found.error_code)).collect();
    }
    let topics = found.topics.into_iter().map(|topic| {
        let row = |row: OffsetFetchResponsePartitions| {
            OffsetFetchResponsePartition::default()
                .with_partition_index(row.partition_index)
                .with_committed_offset(row.committed_offset)
                .with_committed_leader_epoch(row.committed_leader_epoch)
                .with_metadata(row.metadata)
                .with_error_code(row.error_code)
        };
        let rows = topic.partitions.into_iter().map(row).collect();
        OffsetFetchResponseTopic::default().with_name(topic.name).with_partitions(rows)
    });
    let response = response.with_topics(topics.collect());
    if ctx.version >= ERROR_FROM { response.with_error_code(found.error_code) } else { response }
}

fn of_group(ctx: &Ctx, wanted: &OffsetFetchRequestGroup) -> OffsetFetchResponseGroup {
    let response = OffsetFetchResponseGroup::default().with_group_id(wanted.group_id.clone());
    let id = wanted.group_id.as_str();
    let read = group::check(ctx, Operation::Describe, id).and_then(|()| group::coordinator(ctx, id)).and_then(|here| {
        let image = ctx.node.metadata.image();
        let read = here.read(|shard| match &wanted.topics {
            Some(topics) => topics.iter().map(|topic| some(ctx, &image, shard.group(id), topic)).collect(),
            None => shard.group(id).map_or_else(Vec::new, |group| all(ctx, &image, group)),
        });
        read.map_err(code::of_unavailable)
    });
    match read {
        Ok(topics) => response.with_topics(topics),
        Err(error) => response.with_error_code(error),
    }
}

/// The partitions that are asked for.
fn some(
    ctx: &Ctx,
    image: &Image,
    group: Option<GroupView<'_>>,
    topic: &OffsetFetchRequestTopics,
) -> OffsetFetchResponseTopics {
    let by_id = (ctx.version >= IDS_FROM).then(|| image.topic_by_id(view::own_id(topic.topic_id)));
    let name = match by_id {
        None => topic.name.as_str(),
        Some(Some(topic)) => &*topic.name,
        Some(None) => return refused(topic, code::UNKNOWN_TOPIC_ID),
    };
    if !ctx.may(Operation::Describe, Resource::Topic(name)) {
        return refused(topic, code::TOPIC_AUTHORIZATION_FAILED);
    }
    let rows = topic.partition_indexes.iter();
    let rows = rows.map(|index| row(*index, group.and_then(|group| group.offset(name, *index)), code::NONE)).collect();
    OffsetFetchResponseTopics::default()
        .with_name(topic.name.clone())
        .with_topic_id(topic.topic_id)
        .with_partitions(rows)
}

/// Everything that a group has committed, of topics that the sender may see.
fn all(ctx: &Ctx, image: &Image, group: GroupView<'_>) -> Vec<OffsetFetchResponseTopics> {
    let mut topics: Vec<OffsetFetchResponseTopics> = Vec::new();
    for (name, index, offset) in group.offsets() {
        let is_new = topics.last().is_none_or(|topic| topic.name.as_str() != &**name);
        if is_new {
            topics.push(OffsetFetchResponseTopics::default().with_name(topic_name(name)));
        }
        let topic = topics.last_mut().expect("one was just added, if there was none");
        topic.partitions.push(row(index, Some(offset), code::NONE));
    }
    topics.retain_mut(|topic| {
        let id = image.topic(&topic.name).map(|topic| view::id(topic.id));
        topic.topic_id = id.unwrap_or_default();
        // By id nothing can be said of a topic that is gone.
        let has_key = ctx.version < IDS_FROM || id.is_some();
        has_key && ctx.may(Operation::Describe, Resource::Topic(&topic.name))
    });
    topics
}

fn refused(topic: &OffsetFetchRequestTopics, error: Code) -> OffsetFetchResponseTopics {
    let rows = topic.partition_indexes.iter().map(|index| row(*index, None, error)).collect();
    let name: TopicName = topic.name.clone();
    OffsetFetchResponseTopics::default().with_name(name).with_topic_id(topic.topic_id).with_partitions(rows)
}

fn row(index: i32, offset: Option<&CommittedOffset>, error: Code) -> OffsetFetchResponsePartitions {
    let row = OffsetFetchResponsePartitions::default().with_partition_index(index).with_error_code(error);
    match offset {
        Some(offset) => row
            .with_committed_offset(offset.offset)
            .with_committed_leader_epoch(offset.leader_epoch)
            .with_metadata(Some(text(&offset.metadata))),
        None => {
            row.with_committed_offset(NO_OFFSET).with_committed_leader_epoch(NO_EPOCH).with_metadata(Some(text("")))
        }
    }
}
