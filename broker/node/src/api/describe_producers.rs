//! DescribeProducers (key 61), version 0.
//!
//! The producers that a replica remembers, whether or not it leads, with their last sequence and, if one is open, the
//! start of their transaction.

use std::future::{Ready, ready};

use ballast_core::controller::validate_topic_name;
use ballast_log::ProducerInfo;
use ballast_wire::PartitionIndex;
use kafka_protocol::messages::describe_producers_response::{PartitionResponse, ProducerState, TopicResponse};
use kafka_protocol::messages::{DescribeProducersRequest, DescribeProducersResponse};

use super::call::Ctx;
use super::code::{self, Code};
use super::view::text;
use crate::session::{Operation, Resource};

pub(super) fn handle(ctx: Ctx, request: DescribeProducersRequest) -> Ready<DescribeProducersResponse> {
    let topics = request.topics.into_iter().map(|topic| {
        let rows = topic.partition_indexes.iter().map(|index| row(*index, producers(&ctx, &topic.name, *index)));
        let rows = rows.collect();
        TopicResponse::default().with_name(topic.name).with_partitions(rows)
    });
    ready(DescribeProducersResponse::default().with_topics(topics.collect()))
}

fn producers(ctx: &Ctx, topic: &str, index: PartitionIndex) -> Result<Vec<ProducerInfo>, (Code, Option<String>)> {
    if !ctx.may(Operation::Read, Resource::Topic(topic)) {
        return Err((code::TOPIC_AUTHORIZATION_FAILED, Some("Authorization failed.".to_owned())));
    }
    validate_topic_name(topic).map_err(|words| (code::INVALID_TOPIC_EXCEPTION, Some(words)))?;
    if ctx.node.metadata.image().topic(topic).is_none() {
        let words = "This server does not host this topic-partition.";
        return Err((code::UNKNOWN_TOPIC_OR_PARTITION, Some(words.to_owned())));
    }
    let partition = ctx.copied(topic, index, -1).map_err(|error| (error, None))?;
    Ok(partition.log.producers())
}

fn row(index: i32, producers: Result<Vec<ProducerInfo>, (Code, Option<String>)>) -> PartitionResponse {
    let row = PartitionResponse::default().with_partition_index(index);
    match producers {
        Ok(producers) => row.with_error_message(None).with_active_producers(producers.iter().map(state).collect()),
        Err((error, words)) => row.with_error_code(error).with_error_message(words.as_deref().map(text)),
    }
}

fn state(producer: &ProducerInfo) -> ProducerState {
    ProducerState::default()
        .with_producer_id(producer.producer_id.into())
        .with_producer_epoch(i32::from(producer.producer_epoch))
        .with_last_sequence(producer.last_sequence)
        .with_last_timestamp(producer.last_timestamp_ms)
        .with_coordinator_epoch(producer.coordinator_epoch)
        .with_current_txn_start_offset(producer.current_txn_start)
}
