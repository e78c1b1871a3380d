//! DescribeLogDirs (key 35), versions 1–4.
//!
//! Every log directory with its partitions and their sizes in bytes; null topics = all. v4 adds the room of the file system.
//! A directory that has failed has code 56 and no partitions. A copy on its way here (AlterReplicaLogDirs) is marked as
//! future, its `offset_lag` is what it lacks; that of a replica is 0.

use std::collections::BTreeMap;
use std::sync::Arc;

use kafka_protocol::messages::describe_log_dirs_response::{
    DescribeLogDirsPartition, DescribeLogDirsResult, DescribeLogDirsTopic,
};
use kafka_protocol::messages::{DescribeLogDirsRequest, DescribeLogDirsResponse};

use super::call::Ctx;
use super::code;
use super::view::{text, topic_name};
use crate::drive::partition::Partition;
use crate::drive::store::{Dir, on_disk};
use crate::session::{Operation, Resource};

pub(super) async fn handle(ctx: Ctx, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse {
    if !ctx.may(Operation::Describe, Resource::Cluster) {
        let response = DescribeLogDirsResponse::default();
        // Only version 3 has a place for the error; before, there is simply nothing to see.
        return if ctx.version >= 3 { response.with_error_code(code::CLUSTER_AUTHORIZATION_FAILED) } else { response };
    }
    let disk = ctx.node.store.disk();
    on_disk(&disk, move || {
        let dirs = ctx.node.store.dirs.iter().map(|dir| describe(&ctx, dir, &request));
        DescribeLogDirsResponse::default().with_results(dirs.collect())
    })
    .await
}

fn describe(ctx: &Ctx, dir: &Dir, request: &DescribeLogDirsRequest) -> DescribeLogDirsResult {
    let result = DescribeLogDirsResult::default().with_log_dir(text(&dir.path.display().to_string()));
    if dir.is_offline() {
        return result.with_error_code(code::KAFKA_STORAGE_ERROR).with_total_bytes(-1).with_usable_bytes(-1);
    }
    let mut topics = BTreeMap::<Arc<str>, Vec<DescribeLogDirsPartition>>::new();
    for partition in ctx.node.store.hosted.all() {
        if partition.directory() == dir.id && is_wanted(request, &partition) {
            let row = DescribeLogDirsPartition::default().with_partition_index(partition.index);
            let row = row.with_partition_size(i64::try_from(partition.log.size_bytes()).unwrap_or(i64::MAX));
            topics.entry(Arc::clone(&partition.topic)).or_default().push(row);
        }
    }
    for future in dir.incoming().iter().filter(|future| is_wanted(request, &future.partition)) {
        let row = DescribeLogDirsPartition::default().with_partition_index(future.partition.index);
        let row = row.with_partition_size(i64::try_from(future.log.size_bytes()).unwrap_or(i64::MAX));
        let row = row.with_offset_lag(future.lag()).with_is_future_key(true);
        topics.entry(Arc::clone(&future.partition.topic)).or_default().push(row);
    }
    let topics = topics.into_iter().map(|(topic, partitions)| {
        DescribeLogDirsTopic::default().with_name(topic_name(&topic)).with_partitions(partitions)
    });
    let result = result.with_topics(topics.collect());
    match ctx.node.store.disk().space(&dir.path) {
        Ok(space) => result
            .with_total_bytes(i64::try_from(space.total_bytes).unwrap_or(i64::MAX))
            .with_usable_bytes(i64::try_from(space.available_bytes).unwrap_or(i64::MAX)),
        Err(_) => result.with_total_bytes(-1).with_usable_bytes(-1),
    }
}

fn is_wanted(request: &DescribeLogDirsRequest, partition: &Partition) -> bool {
    let Some(topics) = &request.topics else { return true };
    topics.iter().any(|topic| topic.topic.as_str() == &*partition.topic && topic.partitions.contains(&partition.index))
}
