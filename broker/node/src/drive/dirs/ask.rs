//! AssignReplicasToDirs, to the controller of this process or to the node that leads.
//!
//! Holds: what counts as taken was said to be so, row by row, by the controller.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ballast_core::controller::{DirAssignment, Refusal, Request, Response};
use ballast_wire::{PartitionIndex, Uuid};
use kafka_protocol::messages::assign_replicas_to_dirs_request::{DirectoryData, PartitionData, TopicData};
use kafka_protocol::messages::{AssignReplicasToDirsRequest, AssignReplicasToDirsResponse, BrokerId};
use tokio::time::timeout;

use crate::api::view;
use crate::drive::elsewhere;
use crate::node::Node;

const VERSION: i16 = 0;
/// Kafka's code of a row that was taken.
const TAKEN: i16 = 0;

/// Tells the controller where replicas live. Gives those that it has taken.
pub(super) async fn assign(node: &Arc<Node>, assignments: Vec<DirAssignment>) -> Vec<DirAssignment> {
    let patience = Duration::from_millis(node.settings.now().quorum.request_timeout_ms.max(1));
    let request = Request::AssignReplicasToDirs {
        broker: node.id,
        broker_epoch: node.broker_epoch(),
        assignments: assignments.clone(),
    };
    let Ok(answered) = timeout(patience, node.controller.ask(request)).await else { return Vec::new() };
    match answered.response {
        Response::AssignReplicasToDirs(Ok(rows)) => {
            let taken = rows.into_iter().filter_map(|(assignment, result)| match result {
                Ok(()) => Some(assignment),
                Err(error) => {
                    tracing::debug!(?assignment, %error, "a replica's log directory was not taken");
                    None
                }
            });
            taken.collect()
        }
        Response::AssignReplicasToDirs(Err(error)) => {
            tracing::debug!(%error, "the controller takes no log directories from this broker now");
            Vec::new()
        }
        Response::Refused(Refusal::NotController) => elsewhere(node, &assignments, patience).await,
        other => unreachable!("AssignReplicasToDirs was answered with {other:?}"),
    }
}

async fn elsewhere(node: &Node, assignments: &[DirAssignment], patience: Duration) -> Vec<DirAssignment> {
    let request = request(node, assignments);
    let answer = elsewhere::ask(&node.quorum, VERSION, &request, patience).await;
    let Some(answer) = answer.filter(|answer| answer.error_code == TAKEN) else { return Vec::new() };
    taken(&answer)
}

fn request(node: &Node, assignments: &[DirAssignment]) -> AssignReplicasToDirsRequest {
    let mut dirs = BTreeMap::<Uuid, BTreeMap<Uuid, Vec<PartitionIndex>>>::new();
    for DirAssignment { dir, topic, index } in assignments {
        dirs.entry(*dir).or_default().entry(*topic).or_default().push(*index);
    }
    let directories = dirs.into_iter().map(|(dir, topics)| {
        let topics = topics.into_iter().map(|(topic, indexes)| {
            let partitions = indexes.into_iter().map(|index| PartitionData::default().with_partition_index(index));
            TopicData::default().with_topic_id(view::id(topic)).with_partitions(partitions.collect())
        });
        DirectoryData::default().with_id(view::id(dir)).with_topics(topics.collect())
    });
    AssignReplicasToDirsRequest::default()
        .with_broker_id(BrokerId(node.id))
        .with_broker_epoch(node.broker_epoch())
        .with_directories(directories.collect())
}

fn taken(answer: &AssignReplicasToDirsResponse) -> Vec<DirAssignment> {
    let ours = |id: &uuid::Uuid| Uuid(*id.as_bytes());
    let mut taken = Vec::new();
    for dir in &answer.directories {
        for topic in &dir.topics {
            let rows = topic.partitions.iter().filter(|partition| partition.error_code == TAKEN);
            taken.extend(rows.map(|partition| DirAssignment {
                dir: ours(&dir.id),
                topic: ours(&topic.topic_id),
                index: partition.partition_index,
            }));
        }
    }
    taken
}
