//! AssignReplicasToDirs (key 73), version 0, on controller listeners.
//!
//! A broker with several log directories says in which one each of its replicas lives (KIP-858). A row for each replica: 100
//! for a topic that does not exist, 3 for a partition that does not, 6 where the broker holds no replica. 77 for a broker
//! epoch that is not the present one, 41 where this node does not lead. A replica told to live in a directory that is
//! offline leaves its ISR.

use std::collections::BTreeMap;

use ballast_core::controller::{AssignedDir, DirAssignment, Request, Response};
use ballast_wire::{PartitionIndex, Uuid};
use kafka_protocol::messages::assign_replicas_to_dirs_response::{DirectoryData, PartitionData, TopicData};
use kafka_protocol::messages::{AssignReplicasToDirsRequest, AssignReplicasToDirsResponse};

use super::call::Ctx;
use super::code::{self, Code};
use super::view;
use crate::session::{Operation, Resource};

type Rows = BTreeMap<Uuid, BTreeMap<Uuid, Vec<(PartitionIndex, Code)>>>;

pub(super) async fn handle(ctx: Ctx, request: AssignReplicasToDirsRequest) -> AssignReplicasToDirsResponse {
    let refused = |error: Code| AssignReplicasToDirsResponse::default().with_error_code(error);
    if !ctx.may(Operation::ClusterAction, Resource::Cluster) {
        return refused(code::CLUSTER_AUTHORIZATION_FAILED);
    }
    let asked = Request::AssignReplicasToDirs {
        broker: request.broker_id.0,
        broker_epoch: request.broker_epoch,
        assignments: assignments(&request),
    };
    match ctx.node.controller.ask_here(asked).await.response {
        Response::AssignReplicasToDirs(Ok(rows)) => response(rows),
        Response::AssignReplicasToDirs(Err(error)) => refused(error.code()),
        Response::Refused(refusal) => refused(refusal.code()),
        other => unreachable!("AssignReplicasToDirs was answered with {other:?}"),
    }
}

fn assignments(request: &AssignReplicasToDirsRequest) -> Vec<DirAssignment> {
    let ours = |id: &uuid::Uuid| Uuid(*id.as_bytes());
    let mut assignments = Vec::new();
    for dir in &request.directories {
        for topic in &dir.topics {
            assignments.extend(topic.partitions.iter().map(|partition| DirAssignment {
                dir: ours(&dir.id),
                topic: ours(&topic.topic_id),
                index: partition.partition_index,
            }));
        }
    }
    assignments
}

fn response(assigned: Vec<AssignedDir>) -> AssignReplicasToDirsResponse {
    let mut rows = Rows::new();
    for (DirAssignment { dir, topic, index }, result) in assigned {
        let error = result.map_or_else(|error| error.code(), |()| code::NONE);
        rows.entry(dir).or_default().entry(topic).or_default().push((index, error));
    }
    let directories = rows.into_iter().map(|(dir, topics)| {
        let topics = topics.into_iter().map(|(topic, partitions)| {
            let partitions = partitions
                .into_iter()
                .map(|(index, error)| PartitionData::default().with_partition_index(index).with_error_code(error));
            TopicData::default().with_topic_id(view::id(topic)).with_partitions(partitions.collect())
        });
        DirectoryData::default().with_id(view::id(dir)).with_topics(topics.collect())
    });
    AssignReplicasToDirsResponse::default().with_directories(directories.collect())
}
