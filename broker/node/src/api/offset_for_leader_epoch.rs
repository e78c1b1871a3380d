//! OffsetForLeaderEpoch (key 23), versions 2–4.
//!
//! Where a leader epoch ends in the leader's log, so that who has records of that epoch can tell whether they are still
//! part of it (KIP-101, KIP-320). An epoch that is not known: code 0, epoch and offset -1.

use std::future::{Ready, ready};

use kafka_protocol::messages::offset_for_leader_epoch_request::OffsetForLeaderPartition;
use kafka_protocol::messages::offset_for_leader_epoch_response::{EpochEndOffset, OffsetForLeaderTopicResult};
use kafka_protocol::messages::{OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse};

use super::call::Ctx;
use super::code::{self, Code};
use crate::session::{Operation, Resource};

pub(super) fn handle(ctx: Ctx, request: OffsetForLeaderEpochRequest) -> Ready<OffsetForLeaderEpochResponse> {
    let of_cluster = ctx.may(Operation::ClusterAction, Resource::Cluster);
    let topics = request.topics.into_iter().map(|topic| {
        let may = of_cluster || ctx.may(Operation::Describe, Resource::Topic(&topic.topic));
        let rows = topic.partitions.iter().map(|asked| {
            let end = if may { end(&ctx, &topic.topic, asked) } else { Err(code::TOPIC_AUTHORIZATION_FAILED) };
            row(asked.partition, end)
        });
        let rows = rows.collect();
        OffsetForLeaderTopicResult::default().with_topic(topic.topic).with_partitions(rows)
    });
    ready(OffsetForLeaderEpochResponse::default().with_topics(topics.collect()))
}

fn end(ctx: &Ctx, topic: &str, asked: &OffsetForLeaderPartition) -> Result<(i32, i64), Code> {
    let partition = ctx.led(topic, asked.partition, asked.current_leader_epoch)?;
    let end = partition.log.epoch_end_offset(asked.leader_epoch);
    Ok((end.epoch, end.end_offset))
}

fn row(index: i32, end: Result<(i32, i64), Code>) -> EpochEndOffset {
    let (error, (epoch, offset)) = match end {
        Ok(end) => (code::NONE, end),
        Err(error) => (error, (-1, -1)),
    };
    let row = EpochEndOffset::default().with_partition(index).with_error_code(error);
    row.with_leader_epoch(epoch).with_end_offset(offset)
}
