//! AlterReplicaLogDirs (key 34), versions 1–2.
//!
//! Moves replicas of this broker to another of its log directories, named by the path that DescribeLogDirs tells (KIP-113).
//! The answer comes when the move has begun. Codes per replica: 57 no such directory, 56 a directory has failed, 17 the
//! topic's name is too long for a copy beside it, 9 the broker holds no such replica yet (one that comes is made there), 3
//! there is no such partition. The directory that a replica lives in ends a move of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use kafka_protocol::messages::alter_replica_log_dirs_response::{
    AlterReplicaLogDirPartitionResult, AlterReplicaLogDirTopicResult,
};
use kafka_protocol::messages::{AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse};

use super::call::Ctx;
use super::code::{self, Code};
use super::view::topic_name;
use crate::drive::store::{MoveRefused, on_disk};
use crate::session::{Operation, Resource};

/// Codes by topic and partition.
type Rows = BTreeMap<String, Vec<(i32, Code)>>;

pub(super) async fn handle(ctx: Ctx, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse {
    if !ctx.may(Operation::Alter, Resource::Cluster) {
        return response(rows(&request, |_, _, _| code::CLUSTER_AUTHORIZATION_FAILED));
    }
    let disk = ctx.node.store.disk();
    on_disk(&disk, move || {
        let store = Arc::clone(&ctx.node.store);
        response(rows(&request, |path, topic, index| match store.move_replica(topic, index, path) {
            Ok(()) => code::NONE,
            Err(error) => {
                tracing::info!(topic, partition = index, to = path, %error, "a replica is not moved to another log directory");
                code_of(&error)
            }
        }))
    })
    .await
}

fn rows(request: &AlterReplicaLogDirsRequest, mut answer: impl FnMut(&str, &str, i32) -> Code) -> Rows {
    let mut rows = Rows::new();
    for dir in &request.dirs {
        for topic in &dir.topics {
            let codes = topic.partitions.iter().map(|index| (*index, answer(&dir.path, &topic.name, *index)));
            rows.entry(topic.name.to_string()).or_default().extend(codes);
        }
    }
    rows
}

fn code_of(error: &MoveRefused) -> Code {
    match error {
        MoveRefused::NameTooLong => code::INVALID_TOPIC_EXCEPTION,
        MoveRefused::NoSuchDir(_) => code::LOG_DIR_NOT_FOUND,
        MoveRefused::Offline | MoveRefused::Log(_) => code::KAFKA_STORAGE_ERROR,
        MoveRefused::NotHere => code::REPLICA_NOT_AVAILABLE,
        MoveRefused::Unknown => code::UNKNOWN_TOPIC_OR_PARTITION,
    }
}

fn response(rows: Rows) -> AlterReplicaLogDirsResponse {
    let results = rows.into_iter().map(|(topic, partitions)| {
        let partitions = partitions.into_iter().map(|(index, error)| {
            AlterReplicaLogDirPartitionResult::default().with_partition_index(index).with_error_code(error)
        });
        AlterReplicaLogDirTopicResult::default()
            .with_topic_name(topic_name(&topic))
            .with_partitions(partitions.collect())
    });
    AlterReplicaLogDirsResponse::default().with_results(results.collect())
}
