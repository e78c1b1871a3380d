//! DeleteRecords (key 21), versions 0–2.
//!
//! Raises the log start to an offset; -1 stands for the high watermark. Whole segments below it go with the next retention
//! round. A topic whose cleanup.policy lacks `delete`: 44. Above the watermark, or below -1: 1. Below the start: nothing to
//! do, the present start is answered.
//! The new start is on disk before the answer: a crash does not bring the records back (Apache Kafka forgets it for up to a
//! minute).

use kafka_protocol::messages::delete_records_request::DeleteRecordsTopic;
use kafka_protocol::messages::delete_records_response::{DeleteRecordsPartitionResult, DeleteRecordsTopicResult};
use kafka_protocol::messages::{DeleteRecordsRequest, DeleteRecordsResponse};

use super::call::Ctx;
use super::code::{self, Code};
use crate::session::{Operation, Resource};

const HIGH_WATERMARK: i64 = -1;

pub(super) async fn handle(ctx: Ctx, request: DeleteRecordsRequest) -> DeleteRecordsResponse {
    let mut topics = Vec::new();
    for topic in request.topics {
        topics.push(topic_rows(&ctx, topic).await);
    }
    DeleteRecordsResponse::default().with_topics(topics)
}

async fn topic_rows(ctx: &Ctx, topic: DeleteRecordsTopic) -> DeleteRecordsTopicResult {
    let may = ctx.may(Operation::Delete, Resource::Topic(&topic.name));
    let mut rows = Vec::new();
    for partition in &topic.partitions {
        let outcome = if may {
            delete(ctx, &topic.name, partition.partition_index, partition.offset).await
        } else {
            Err(code::TOPIC_AUTHORIZATION_FAILED)
        };
        let row = DeleteRecordsPartitionResult::default().with_partition_index(partition.partition_index);
        rows.push(match outcome {
            Ok(low_watermark) => row.with_low_watermark(low_watermark),
            Err(error) => row.with_low_watermark(-1).with_error_code(error),
        });
    }
    DeleteRecordsTopicResult::default().with_name(topic.name).with_partitions(rows)
}

async fn delete(ctx: &Ctx, topic: &str, index: i32, offset: i64) -> Result<i64, Code> {
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
        ctx.node.store.save_log_starts(partition.directory).await.map_err(|_| code::KAFKA_STORAGE_ERROR)?;
    }
    Ok(partition.log.start())
}
