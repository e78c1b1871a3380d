//! DescribeTopicPartitions (key 75), version 0.
//!
//! Topics by name in rising order, page by page: at most `response_partition_limit` partitions (and no more than
//! `max.request.partition.size.limit`), then a cursor that says where to go on. No topics in the request = all of them.
//! A partition without a leader has code 0 and leader -1 here, unlike in Metadata.

use std::collections::BTreeSet;
use std::future::{Ready, ready};
use std::sync::Arc;

use ballast_core::image::{Image, Topic};
use kafka_protocol::messages::describe_topic_partitions_response::{
    Cursor, DescribeTopicPartitionsResponsePartition, DescribeTopicPartitionsResponseTopic,
};
use kafka_protocol::messages::{BrokerId, DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse};

use super::call::Ctx;
use super::code::{self, Code};
use super::view::{self, topic_name};
use crate::session::{Operation, Resource};

pub(super) fn handle(ctx: Ctx, request: DescribeTopicPartitionsRequest) -> Ready<DescribeTopicPartitionsResponse> {
    ready(answer(&ctx, &request))
}

fn answer(ctx: &Ctx, request: &DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse {
    let image = ctx.node.metadata.image();
    let mut response = DescribeTopicPartitionsResponse::default();
    let (from_topic, from_partition) = match &request.cursor {
        Some(cursor) if cursor.partition_index < 0 => {
            let rows = request.topics.iter().map(|topic| refused_row(topic.name.as_str(), code::INVALID_REQUEST));
            return response.with_topics(rows.collect());
        }
        Some(cursor) => (cursor.topic_name.as_str(), cursor.partition_index),
        None => ("", 0),
    };
    let asked = usize::try_from(request.response_partition_limit).unwrap_or(0);
    let mut room = asked.clamp(1, ctx.node.settings.now().network.max_request_partitions.max(1));
    for name in names(ctx, request, &image) {
        if *name < *from_topic {
            continue;
        }
        let Some(topic) = visible(ctx, &image, &name) else {
            if !request.topics.is_empty() {
                response.topics.push(error_row(ctx, &name));
            }
            continue;
        };
        let first = if *name == *from_topic { from_partition } else { 0 };
        if room == 0 {
            let cursor = Cursor::default().with_topic_name(topic_name(&name)).with_partition_index(first);
            response.next_cursor = Some(cursor);
            break;
        }
        let (row, next) = topic_row(ctx, &image, topic, first, room);
        room -= row.partitions.len();
        response.topics.push(row);
        if let Some(next) = next {
            let cursor = Cursor::default().with_topic_name(topic_name(&name)).with_partition_index(next);
            response.next_cursor = Some(cursor);
            break;
        }
    }
    response
}

fn names(ctx: &Ctx, request: &DescribeTopicPartitionsRequest, image: &Image) -> BTreeSet<Arc<str>> {
    if request.topics.is_empty() {
        let may = |topic: &&Arc<Topic>| ctx.may(Operation::Describe, Resource::Topic(&topic.name));
        return image.topics().filter(may).map(|topic| Arc::clone(&topic.name)).collect();
    }
    request.topics.iter().map(|topic| topic.name.as_str().into()).collect()
}

fn visible<'a>(ctx: &Ctx, image: &'a Image, name: &str) -> Option<&'a Arc<Topic>> {
    image.topic(name).filter(|_| ctx.may(Operation::Describe, Resource::Topic(name)))
}

fn error_row(ctx: &Ctx, name: &str) -> DescribeTopicPartitionsResponseTopic {
    if !ctx.may(Operation::Describe, Resource::Topic(name)) {
        return refused_row(name, code::TOPIC_AUTHORIZATION_FAILED);
    }
    let known = view::is_topic_name(name);
    let error = if known { code::UNKNOWN_TOPIC_OR_PARTITION } else { code::INVALID_TOPIC_EXCEPTION };
    // What the sender might do is said of a topic that is not there, too.
    refused_row(name, error).with_topic_authorized_operations(view::topic_operations(ctx, name))
}

fn refused_row(name: &str, error: Code) -> DescribeTopicPartitionsResponseTopic {
    DescribeTopicPartitionsResponseTopic::default()
        .with_error_code(error)
        .with_name(Some(topic_name(name)))
        .with_is_internal(view::is_internal(name))
        .with_topic_authorized_operations(view::OPERATIONS_UNASKED)
}

/// At most `room` partitions from `first` on, and the partition that comes next if there was no room for it.
fn topic_row(
    ctx: &Ctx,
    image: &Image,
    topic: &Topic,
    first: i32,
    room: usize,
) -> (DescribeTopicPartitionsResponseTopic, Option<i32>) {
    let mut partitions = Vec::new();
    let mut next = None;
    for (index, partition) in topic.partitions().filter(|(index, _)| *index >= first) {
        if partitions.len() == room {
            next = Some(index);
            break;
        }
        let seen = view::partition_view(image, partition, &ctx.session.listener);
        let row = DescribeTopicPartitionsResponsePartition::default().with_partition_index(index);
        partitions.push(
            row.with_leader_id(BrokerId(seen.leader))
                .with_leader_epoch(partition.leader_epoch)
                .with_replica_nodes(ids(&partition.replicas))
                .with_isr_nodes(ids(&partition.isr))
                .with_eligible_leader_replicas(Some(ids(&partition.elr)))
                .with_last_known_elr(Some(ids(&partition.last_known_elr)))
                .with_offline_replicas(ids(&seen.offline)),
        );
    }
    let row = DescribeTopicPartitionsResponseTopic::default()
        .with_name(Some(topic_name(&topic.name)))
        .with_topic_id(view::id(topic.id))
        .with_is_internal(view::is_internal(&topic.name))
        .with_topic_authorized_operations(view::topic_operations(ctx, &topic.name))
        .with_partitions(partitions);
    (row, next)
}

fn ids(brokers: &[i32]) -> Vec<BrokerId> {
    brokers.iter().map(|id| BrokerId(*id)).collect()
}
