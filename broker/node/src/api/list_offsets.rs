//! ListOffsets (key 2), versions 1–10.
//!
//! Timestamps: ≥ 0 the first record at or after it; -1 the end (high watermark, last stable offset for read_committed, log
//! end for replicas); -2 the start; -3 the record with the largest timestamp (v7); -4 the local start (v8); -5 the last
//! tiered offset (v9), which does not exist here. A special timestamp before its version, or an unknown one: 35.
//! A debugging replica (-2) is answered by followers too.
//! A partition listed twice: one row, 42. Right after an election, while the end is a guess: 78 (5 before v5).

use std::collections::BTreeMap;
use std::future::{Ready, ready};

use ballast_log::{Found, ReadError};
use ballast_wire::Offset;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::list_offsets_response::{ListOffsetsPartitionResponse, ListOffsetsTopicResponse};
use kafka_protocol::messages::{ListOffsetsRequest, ListOffsetsResponse};

use super::call::Ctx;
use super::code::{self, Code};
use crate::drive::partition::Partition;
use crate::session::{Operation, Resource};

const LATEST: i64 = -1;
const EARLIEST: i64 = -2;
const MAX_TIMESTAMP: i64 = -3;
const EARLIEST_LOCAL: i64 = -4;
const LATEST_TIERED: i64 = -5;

const CONSUMER: i32 = -1;
const DEBUG_REPLICA: i32 = -2;
const READ_COMMITTED: i8 = 1;

/// What a row says when there is no such offset.
const NOTHING: Answer = Answer { offset: -1, timestamp: -1, leader_epoch: -1 };

struct Answer {
    offset: Offset,
    timestamp: i64,
    leader_epoch: i32,
}

/// Who asks, as far as it decides about the end.
struct Asker {
    is_client: bool,
    read_committed: bool,
    is_debug: bool,
}

pub(super) fn handle(ctx: Ctx, request: ListOffsetsRequest) -> Ready<ListOffsetsResponse> {
    let asker = Asker {
        is_client: request.replica_id.0 == CONSUMER,
        read_committed: request.isolation_level == READ_COMMITTED,
        is_debug: request.replica_id.0 == DEBUG_REPLICA,
    };
    let topics = request.topics.iter().map(|topic| topic_rows(&ctx, &asker, topic)).collect();
    ready(ListOffsetsResponse::default().with_topics(topics))
}

fn topic_rows(ctx: &Ctx, asker: &Asker, topic: &ListOffsetsTopic) -> ListOffsetsTopicResponse {
    let mut times_listed = BTreeMap::<i32, u32>::new();
    for partition in &topic.partitions {
        *times_listed.entry(partition.partition_index).or_default() += 1;
    }
    let may = ctx.may(Operation::Describe, Resource::Topic(&topic.name));
    let mut rows = Vec::new();
    for partition in &topic.partitions {
        let result = match times_listed.remove(&partition.partition_index) {
            None => continue,
            Some(_) if !may => Err(code::TOPIC_AUTHORIZATION_FAILED),
            Some(1) => offset(ctx, asker, &topic.name, partition),
            Some(_) => Err(code::INVALID_REQUEST),
        };
        rows.push(row(ctx, partition.partition_index, result));
    }
    ListOffsetsTopicResponse::default().with_name(topic.name.clone()).with_partitions(rows)
}

fn row(ctx: &Ctx, index: i32, result: Result<Answer, Code>) -> ListOffsetsPartitionResponse {
    let (error, answer) = match result {
        Ok(answer) => (code::NONE, answer),
        Err(error) => (error, NOTHING),
    };
    let leader_epoch = if ctx.version >= 4 { answer.leader_epoch } else { -1 };
    ListOffsetsPartitionResponse::default()
        .with_partition_index(index)
        .with_error_code(error)
        .with_offset(answer.offset)
        .with_timestamp(answer.timestamp)
        .with_leader_epoch(leader_epoch)
}

fn offset(ctx: &Ctx, asker: &Asker, topic: &str, asked: &ListOffsetsPartition) -> Result<Answer, Code> {
    let since = match asked.timestamp {
        LATEST | EARLIEST | 0.. => 1,
        MAX_TIMESTAMP => 7,
        EARLIEST_LOCAL => 8,
        LATEST_TIERED => 9,
        _ => i16::MAX,
    };
    if ctx.version < since {
        return Err(code::UNSUPPORTED_VERSION);
    }
    let epoch = if ctx.version >= 4 { asked.current_leader_epoch } else { -1 };
    let index = asked.partition_index;
    let partition = if asker.is_debug { ctx.copied(topic, index, epoch) } else { ctx.led(topic, index, epoch) }?;
    let is_guess = || asker.is_client && !partition.knows_the_end();
    if is_guess() && !matches!(asked.timestamp, EARLIEST | EARLIEST_LOCAL | LATEST_TIERED) {
        return Err(if ctx.version >= 5 { code::OFFSET_NOT_AVAILABLE } else { code::LEADER_NOT_AVAILABLE });
    }
    look_up(&partition, asker, asked.timestamp).map_err(|error| code::of_read(&error))
}

fn look_up(partition: &Partition, asker: &Asker, timestamp: i64) -> Result<Answer, ReadError> {
    let bound = match asker {
        Asker { is_debug: true, .. } | Asker { is_client: false, .. } => partition.log.end(),
        Asker { read_committed: true, .. } => partition.stable(),
        _ => partition.high(),
    };
    let at = |offset: Offset| {
        let leader_epoch = partition.log.epoch_at(offset).or(partition.log.latest_epoch()).unwrap_or(-1);
        Answer { offset, timestamp: -1, leader_epoch }
    };
    let found = |found: Option<Found>| {
        found.map_or(NOTHING, |found| Answer {
            offset: found.offset,
            timestamp: found.timestamp_ms,
            leader_epoch: found.leader_epoch,
        })
    };
    Ok(match timestamp {
        LATEST => at(bound),
        EARLIEST | EARLIEST_LOCAL => at(partition.log.start()),
        LATEST_TIERED => NOTHING,
        MAX_TIMESTAMP => found(partition.log.max_timestamp_offset(bound)?),
        _ => found(partition.log.offset_for_timestamp(timestamp, bound)?),
    })
}
