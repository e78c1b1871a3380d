//! OffsetDelete (key 47), version 0.
//!
//! Forgets what a group has committed for some partitions. Of topics that its members subscribe to nothing is forgotten (86).

use std::sync::Arc;

use ballast_core::group::{OffsetDeleteRequest as Delete, Request, Response, TopicRow};
use ballast_core::image::Image;
use kafka_protocol::messages::offset_delete_request::OffsetDeleteRequestTopic;
use kafka_protocol::messages::offset_delete_response::{OffsetDeleteResponsePartition, OffsetDeleteResponseTopic};
use kafka_protocol::messages::{OffsetDeleteRequest, OffsetDeleteResponse};

use super::call::Ctx;
use super::code::{self, Code};
use super::group::{self, own};
use crate::session::{Operation, Resource};

/// What is to be forgotten of one topic.
type Asked = (Arc<str>, Vec<i32>);

pub(super) async fn handle(ctx: Ctx, request: OffsetDeleteRequest) -> OffsetDeleteResponse {
    let response = OffsetDeleteResponse::default();
    if let Err(error) = group::check(&ctx, Operation::Delete, &request.group_id) {
        return response.with_error_code(error);
    }
    let image = ctx.node.metadata.image();
    let mut topics = Vec::new();
    let mut asked: Vec<Asked> = Vec::new();
    for topic in &request.topics {
        let (refused, wanted) = judge(&ctx, &image, topic);
        if !refused.is_empty() {
            topics.push(OffsetDeleteResponseTopic::default().with_name(topic.name.clone()).with_partitions(refused));
        }
        asked.extend(wanted);
    }
    // Asked for even if nothing is left: a missing group is told first.
    match delete(&ctx, &request, asked).await {
        Ok(rows) => {
            for topic in rows {
                add(&mut topics, &topic);
            }
            response.with_topics(topics)
        }
        Err(error) => response.with_error_code(error),
    }
}

/// Rows that are refused here, and what the coordinator is asked for.
fn judge(
    ctx: &Ctx,
    image: &Image,
    topic: &OffsetDeleteRequestTopic,
) -> (Vec<OffsetDeleteResponsePartition>, Option<Asked>) {
    let row =
        |index, error| OffsetDeleteResponsePartition::default().with_partition_index(index).with_error_code(error);
    let indexes = topic.partitions.iter().map(|partition| partition.partition_index);
    if !ctx.may(Operation::Read, Resource::Topic(&topic.name)) {
        return (indexes.map(|index| row(index, code::TOPIC_AUTHORIZATION_FAILED)).collect(), None);
    }
    let Some(found) = image.topic(&topic.name) else {
        return (indexes.map(|index| row(index, code::UNKNOWN_TOPIC_OR_PARTITION)).collect(), None);
    };
    let (known, unknown): (Vec<i32>, Vec<i32>) = indexes.partition(|index| found.partition(*index).is_some());
    let refused = unknown.into_iter().map(|index| row(index, code::UNKNOWN_TOPIC_OR_PARTITION)).collect();
    (refused, (!known.is_empty()).then(|| (Arc::clone(&found.name), known)))
}

async fn delete(ctx: &Ctx, request: &OffsetDeleteRequest, topics: Vec<Asked>) -> Result<Vec<TopicRow>, Code> {
    let delete = Delete { group: own(&request.group_id), topics };
    match group::ask(ctx, &request.group_id, Request::OffsetDelete(delete)).await? {
        Response::OffsetDelete(outcome) => outcome.map_err(|error| code::of_group(&error)),
        other => unreachable!("a deletion was answered with {other:?}"),
    }
}

/// Adds the coordinator's rows to those of the same topic.
fn add(topics: &mut Vec<OffsetDeleteResponseTopic>, answer: &TopicRow) {
    let rows = answer.partitions.iter().map(|row| {
        let error = row.error.as_ref().map_or(code::NONE, code::of_group);
        OffsetDeleteResponsePartition::default().with_partition_index(row.index).with_error_code(error)
    });
    match topics.iter_mut().find(|topic| topic.name.as_str() == &*answer.name) {
        Some(topic) => topic.partitions.extend(rows),
        None => {
            let topic = OffsetDeleteResponseTopic::default().with_name(super::view::topic_name(&answer.name));
            topics.push(topic.with_partitions(rows.collect()));
        }
    }
}
