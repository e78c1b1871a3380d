//! ListPartitionReassignments (key 46), version 0.
//!
//! Partitions whose replicas are being moved. Those that are not, or that do not exist, are left out without an error.

use std::future::{Ready, ready};

use ballast_core::image::{Partition, Topic};
use kafka_protocol::messages::list_partition_reassignments_response::{
    OngoingPartitionReassignment, OngoingTopicReassignment,
};
use kafka_protocol::messages::{BrokerId, ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse};

use super::call::Ctx;
use super::code;
use super::view::{text, topic_name};
use crate::session::{Operation, Resource};

pub(super) fn handle(
    ctx: Ctx,
    request: ListPartitionReassignmentsRequest,
) -> Ready<ListPartitionReassignmentsResponse> {
    let response = ListPartitionReassignmentsResponse::default().with_error_message(None);
    if !ctx.may(Operation::Describe, Resource::Cluster) {
        let response = response.with_error_code(code::CLUSTER_AUTHORIZATION_FAILED);
        return ready(response.with_error_message(Some(text("Authorization failed."))));
    }
    let image = ctx.node.metadata.image();
    let topics: Vec<_> = match &request.topics {
        None => image.topics().map(|topic| moving(topic, |_| true)).collect(),
        Some(asked) => {
            let found = asked.iter().filter_map(|asked| Some((image.topic(&asked.name)?, asked)));
            found.map(|(topic, asked)| moving(topic, |index| asked.partition_indexes.contains(&index))).collect()
        }
    };
    ready(response.with_topics(topics.into_iter().filter(|topic| !topic.partitions.is_empty()).collect()))
}

fn moving(topic: &Topic, wanted: impl Fn(i32) -> bool) -> OngoingTopicReassignment {
    let moves = |partition: &Partition| !partition.adding.is_empty() || !partition.removing.is_empty();
    let moving = topic.partitions().filter(|(index, partition)| wanted(*index) && moves(partition));
    let rows = moving.map(|(index, partition)| {
        OngoingPartitionReassignment::default()
            .with_partition_index(index)
            .with_replicas(ids(&partition.replicas))
            .with_adding_replicas(ids(&partition.adding))
            .with_removing_replicas(ids(&partition.removing))
    });
    OngoingTopicReassignment::default().with_name(topic_name(&topic.name)).with_partitions(rows.collect())
}

fn ids(replicas: &[i32]) -> Vec<BrokerId> {
    replicas.iter().copied().map(BrokerId).collect()
}
