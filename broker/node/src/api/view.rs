//! What Metadata, DescribeTopicPartitions and DescribeCluster tell about brokers and partitions, as seen from one listener.

use std::borrow::Cow;
use std::collections::BTreeSet;

use ballast_core::controller::validate_topic_name;
use ballast_core::image::{Broker, Image, Partition};
use ballast_wire::shared::NodeEndpoint;
use ballast_wire::{BrokerId, NO_LEADER, Uuid};
use kafka_protocol::messages::TopicName;
use kafka_protocol::protocol::StrBytes;

use super::call::Ctx;
use super::code::{self, Code};
use crate::session::{Operation, Resource};

/// Topics that belong to the cluster itself.
pub(crate) const INTERNAL_TOPICS: &[&str] = &["__consumer_offsets", "__share_group_state", "__transaction_state"];

/// Authorized operations of who did not ask for them.
pub(crate) const OPERATIONS_UNASKED: i32 = i32::MIN;

const TOPIC_OPERATIONS: &[(Operation, u32)] = &[
    (Operation::Read, 3),
    (Operation::Write, 4),
    (Operation::Create, 5),
    (Operation::Delete, 6),
    (Operation::Alter, 7),
    (Operation::Describe, 8),
    (Operation::DescribeConfigs, 10),
    (Operation::AlterConfigs, 11),
];

const CLUSTER_OPERATIONS: &[(Operation, u32)] = &[
    (Operation::Create, 5),
    (Operation::Alter, 7),
    (Operation::Describe, 8),
    (Operation::ClusterAction, 9),
    (Operation::DescribeConfigs, 10),
    (Operation::AlterConfigs, 11),
    (Operation::IdempotentWrite, 12),
];

/// A string of Kafka's from one of ours.
pub(crate) fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

/// A topic name of Kafka's from one of ours.
pub(crate) fn topic_name(name: &str) -> TopicName {
    TopicName(text(name))
}

/// An id of Kafka's from one of ours.
pub(crate) fn id(id: Uuid) -> uuid::Uuid {
    uuid::Uuid::from_bytes(id.0)
}

/// An id of ours from one of Kafka's.
pub(crate) fn own_id(id: uuid::Uuid) -> Uuid {
    Uuid(*id.as_bytes())
}

/// Is it one of the cluster's own topics?
pub(crate) fn is_internal(topic: &str) -> bool {
    INTERNAL_TOPICS.contains(&topic)
}

/// May a topic be called this?
pub(crate) fn is_topic_name(name: &str) -> bool {
    validate_topic_name(name).is_ok()
}

/// The sender's rights on a topic, as a bit for each operation.
pub(crate) fn topic_operations(ctx: &Ctx, topic: &str) -> i32 {
    bits(ctx, TOPIC_OPERATIONS, Resource::Topic(topic))
}

/// The sender's rights on the cluster.
pub(crate) fn cluster_operations(ctx: &Ctx) -> i32 {
    bits(ctx, CLUSTER_OPERATIONS, Resource::Cluster)
}

/// The sender's rights on a resource, as a bit for each of these operations.
pub(super) fn bits(ctx: &Ctx, operations: &[(Operation, u32)], resource: Resource<'_>) -> i32 {
    operations.iter().filter(|(operation, _)| ctx.may(*operation, resource)).fold(0, |bits, (_, bit)| bits | 1 << bit)
}

/// A partition as the clients of one listener see it.
pub(crate) struct PartitionView {
    pub(crate) error: Code,
    pub(crate) leader: BrokerId,
    pub(crate) offline: Vec<BrokerId>,
}

/// Is there somebody to talk to, and which replicas cannot be reached?
pub(crate) fn partition_view(image: &Image, partition: &Partition, listener: &str) -> PartitionView {
    let reachable = |id: &BrokerId| image.broker(*id).is_some_and(|broker| is_reachable(broker, listener));
    let offline = |id: &&BrokerId| {
        let on_failed_dir = || {
            let dir = partition.directory(**id);
            image.broker(**id).zip(dir).is_some_and(|(broker, dir)| !broker.has_online_dir(dir))
        };
        !reachable(id) || on_failed_dir()
    };
    let offline = partition.replicas.iter().filter(offline).copied().collect();
    let leader = partition.leader;
    let (error, leader) = match image.broker(leader) {
        None => (code::LEADER_NOT_AVAILABLE, NO_LEADER),
        Some(broker) if broker.fenced => (code::LEADER_NOT_AVAILABLE, NO_LEADER),
        Some(broker) if broker.endpoint(listener).is_none() => (code::LISTENER_NOT_FOUND, NO_LEADER),
        Some(_) => (code::NONE, leader),
    };
    PartitionView { error, leader, offline }
}

/// Is it alive, and does it have this listener?
pub(crate) fn is_reachable(broker: &Broker, listener: &str) -> bool {
    !broker.fenced && broker.endpoint(listener).is_some()
}

/// Where hinted leaders listen, on the listener that the request came in on.
pub(crate) fn endpoints(ctx: &Ctx, leaders: &BTreeSet<i32>) -> Vec<NodeEndpoint<'static>> {
    let image = ctx.node.metadata.image();
    let endpoint = |id: &i32| {
        let broker = image.broker(*id)?;
        let endpoint = broker.endpoint(&ctx.session.listener)?;
        Some(NodeEndpoint {
            node_id: *id,
            host: Cow::Owned(endpoint.host.clone()),
            port: i32::from(endpoint.port),
            rack: broker.rack.clone().map(Cow::Owned),
        })
    };
    leaders.iter().filter_map(endpoint).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topic_names_are_those_that_kafka_allows() {
        for good in ["a", "a.b_c-D9", &"x".repeat(249)] {
            assert!(is_topic_name(good), "{good}");
        }
        for bad in ["", ".", "..", "a b", "a/b", "ü", &"x".repeat(250)] {
            assert!(!is_topic_name(bad), "{bad}");
        }
    }
}
