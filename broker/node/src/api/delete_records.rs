//! DeleteRecords (key 21), versions 0–2.
//!
//! Raises the log start to an offset; -1 stands for the high watermark. Whole segments below it go with the next retention
//! round. A topic whose cleanup.policy lacks `delete`: 44. Above the watermark, or below -1: 1. Below the start: nothing to
//! do, the present start is answered.
//! Answered once every replica that is alive has the new start; after `timeout_ms` 7.
//! The new start is on disk before the answer: a crash does not bring the records back (Apache Kafka forgets it for up to a
//! minute).

use std::sync::Arc;
use std::time::Duration;

use ballast_wire::{Offset, PartitionIndex};
use kafka_protocol::messages::delete_records_request::DeleteRecordsTopic;
use kafka_protocol::messages::delete_records_response::{DeleteRecordsPartitionResult, DeleteRecordsTopicResult};
use kafka_protocol::messages::{DeleteRecordsRequest, DeleteRecordsResponse};
use tokio::time::{Instant, sleep_until};

use super::call::Ctx;
use super::code::{self, Code};
use crate::drive::partition::Partition;
use crate::drive::waiters::{Awaits, Ear};
use crate::session::{Operation, Resource};

const HIGH_WATERMARK: i64 = -1;

pub(super) async fn handle(ctx: Ctx, request: DeleteRecordsRequest) -> DeleteRecordsResponse {
    let patience = Duration::from_millis(u64::try_from(request.timeout_ms).unwrap_or(0));
    let deadline = Instant::now() + patience;
    let mut begun = Vec::new();
    for topic in request.topics {
        begun.push((topic.name.clone(), begin(&ctx, &topic).await));
    }
    let mut topics = Vec::new();
    for (name, rows) in begun {
        let mut answered = Vec::new();
        for (index, outcome) in rows {
            let outcome = match outcome {
                Ok((partition, target)) => replicated(&ctx, &partition, target, deadline).await,
                Err(error) => Err(error),
            };
            let row = DeleteRecordsPartitionResult::default().with_partition_index(index);
            answered.push(match outcome {
                Ok(low_watermark) => row.with_low_watermark(low_watermark),
                Err(error) => row.with_low_watermark(-1).with_error_code(error),
            });
        }
        topics.push(DeleteRecordsTopicResult::default().with_name(name).with_partitions(answered));
    }
    DeleteRecordsResponse::default().with_topics(topics)
}

/// A partition whose start has been raised here, and what every replica's start must reach.
type Begun = Result<(Arc<Partition>, Offset), Code>;

async fn begin(ctx: &Ctx, topic: &DeleteRecordsTopic) -> Vec<(PartitionIndex, Begun)> {
    let may = ctx.may(Operation::Delete, Resource::Topic(&topic.name));
    let mut rows = Vec::new();
    for asked in &topic.partitions {
        let index = asked.partition_index;
        let outcome = match may {
            true => delete(ctx, &topic.name, index, asked.offset).await,
            false => Err(code::TOPIC_AUTHORIZATION_FAILED),
        };
        rows.push((index, outcome));
    }
    rows
}

async fn delete(ctx: &Ctx, topic: &str, index: PartitionIndex, offset: Offset) -> Begun {
    let partition = ctx.led(topic, index, -1)?;
    if !partition.log.config().cleanup.delete {
        return Err(code::POLICY_VIOLATION);
    }
    let high = partition.high();
    let target = if offset == HIGH_WATERMARK { high } else { offset };
    if target < 0 || target > high {
        return Err(code::OFFSET_OUT_OF_RANGE);
    }
    if partition.log.advance_start(target).map_err(|error| code::of_log(&error))? {
        partition.wake_fetches();
        ctx.node.store.save_log_starts(partition.directory()).await.map_err(|_| code::KAFKA_STORAGE_ERROR)?;
    }
    Ok((partition, target))
}

/// Waits until every replica that is alive has dropped what lies below `target`; followers are told by their next fetch.
async fn replicated(ctx: &Ctx, partition: &Arc<Partition>, target: Offset, deadline: Instant) -> Result<Offset, Code> {
    let ear = Arc::new(Ear::default());
    let _place = partition.await_change(Awaits::Committed, &ear, 0, partition.changes());
    let mut stopping = ctx.node.stopping.subscribe();
    loop {
        match partition.low_watermark() {
            None => return Err(code::NOT_LEADER_OR_FOLLOWER),
            Some(low) if low >= target => return Ok(low),
            Some(_) if Instant::now() >= deadline || *stopping.borrow() => return Err(code::REQUEST_TIMED_OUT),
            Some(_) => {}
        }
        tokio::select! {
            biased;
            () = ear.hears() => {}
            () = sleep_until(deadline) => {}
            // A sender that is gone means the same as a stop.
            _ = stopping.changed() => {}
        }
    }
}
