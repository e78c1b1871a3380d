//! What the client believes about the cluster: brokers, topics, and who leads each partition.
//!
//! Holds: the leader of a partition is replaced by one of a newer epoch only (KIP-320), unless the topic's id changed:
//! a broker that lags behind cannot send us back to a deposed leader.

use std::collections::BTreeMap;

use ballast_wire::shared::NodeEndpoint;
use ballast_wire::{BrokerId, LeaderEpoch, PartitionIndex, Uuid};
use kafka_protocol::messages::MetadataResponse;
use kafka_protocol::messages::metadata_response::{MetadataResponsePartition, MetadataResponseTopic};

use crate::ErrorCode;

/// One broker as clients reach it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broker {
    /// Its id.
    pub id: BrokerId,
    /// Where it listens for us.
    pub host: String,
    /// On which port.
    pub port: u16,
    /// Its rack, if it has one.
    pub rack: Option<String>,
}

impl Broker {
    /// The broker of a leader hint; `None` if its port cannot be one.
    pub(crate) fn from_endpoint(endpoint: &NodeEndpoint<'_>) -> Option<Broker> {
        Some(Broker {
            id: endpoint.node_id,
            host: endpoint.host.to_string(),
            port: u16::try_from(endpoint.port).ok()?,
            rack: endpoint.rack.as_ref().map(ToString::to_string),
        })
    }
}

/// One partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionMetadata {
    /// Why it cannot be used now; `NONE` if it can.
    pub error: ErrorCode,
    /// Its leader, -1 if it has none.
    pub leader: BrokerId,
    /// How many leaders it has had, -1 if the broker is too old to say.
    pub leader_epoch: LeaderEpoch,
    /// All replicas, the preferred leader first.
    pub replicas: Vec<BrokerId>,
    /// Those in sync.
    pub isr: Vec<BrokerId>,
    /// Those that are not alive.
    pub offline: Vec<BrokerId>,
}

/// One topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicMetadata {
    /// Its name.
    pub name: String,
    /// Its id, zero if the broker is too old to have any.
    pub id: Uuid,
    /// One of Kafka's own topics.
    pub is_internal: bool,
    /// By number.
    pub partitions: BTreeMap<PartitionIndex, PartitionMetadata>,
}

/// A cluster as one broker described it, with what we knew better.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metadata {
    /// The cluster's id.
    pub cluster_id: Option<String>,
    /// A broker that takes requests for the controller, -1 if none is known.
    pub controller: BrokerId,
    /// Brokers that are alive.
    pub brokers: BTreeMap<BrokerId, Broker>,
    /// Topics that were asked for and are there.
    pub topics: BTreeMap<String, TopicMetadata>,
}

impl Metadata {
    /// The leader of a partition, and its epoch.
    #[must_use]
    pub fn leader(&self, topic: &str, partition: PartitionIndex) -> Option<(BrokerId, LeaderEpoch)> {
        let partition = self.topics.get(topic)?.partitions.get(&partition)?;
        (partition.leader >= 0).then_some((partition.leader, partition.leader_epoch))
    }

    /// Takes over an answer. Topics it does not speak of stay as they were; those it says are gone go. Gives the codes
    /// of the topics that have one.
    pub(crate) fn merge(&mut self, answer: &MetadataResponse) -> BTreeMap<String, ErrorCode> {
        self.cluster_id = answer.cluster_id.as_ref().map(ToString::to_string);
        self.controller = *answer.controller_id;
        self.brokers = answer
            .brokers
            .iter()
            .filter_map(|b| {
                let port = u16::try_from(b.port).ok()?;
                let rack = b.rack.as_ref().map(ToString::to_string);
                Some((*b.node_id, Broker { id: *b.node_id, host: b.host.to_string(), port, rack }))
            })
            .collect();
        let mut errors = BTreeMap::new();
        for topic in &answer.topics {
            let Some(name) = topic.name.as_ref().map(|n| n.to_string()) else { continue };
            match ErrorCode(topic.error_code) {
                ErrorCode::NONE => self.merge_topic(name, topic),
                code => {
                    if code == ErrorCode::UNKNOWN_TOPIC_OR_PARTITION {
                        self.topics.remove(&name);
                    }
                    errors.insert(name, code);
                }
            }
        }
        errors
    }

    fn merge_topic(&mut self, name: String, topic: &MetadataResponseTopic) {
        let id = Uuid(*topic.topic_id.as_bytes());
        let known = self.topics.remove(&name).filter(|known| known.id == id);
        let partitions = topic
            .partitions
            .iter()
            .map(|row| {
                let fresh = partition_of(row);
                let newer = known
                    .as_ref()
                    .and_then(|known| known.partitions.get(&row.partition_index))
                    .filter(|old| old.leader_epoch > fresh.leader_epoch && fresh.leader_epoch >= 0);
                (row.partition_index, newer.cloned().unwrap_or(fresh))
            })
            .collect();
        self.topics.insert(name.clone(), TopicMetadata { name, id, is_internal: topic.is_internal, partitions });
    }

    /// Takes a leader that a broker named in an error (KIP-951), if its epoch is news. True if it was.
    pub(crate) fn take_hint(
        &mut self,
        topic: &str,
        partition: PartitionIndex,
        leader: BrokerId,
        epoch: LeaderEpoch,
        endpoints: &[Broker],
    ) -> bool {
        let Some(known) = self.topics.get_mut(topic).and_then(|t| t.partitions.get_mut(&partition)) else {
            return false;
        };
        if epoch <= known.leader_epoch {
            return false;
        }
        known.leader = leader;
        known.leader_epoch = epoch;
        for broker in endpoints {
            self.brokers.insert(broker.id, broker.clone());
        }
        true
    }
}

fn partition_of(row: &MetadataResponsePartition) -> PartitionMetadata {
    let ids = |ids: &[kafka_protocol::messages::BrokerId]| ids.iter().map(|id| id.0).collect();
    PartitionMetadata {
        error: ErrorCode(row.error_code),
        leader: *row.leader_id,
        leader_epoch: row.leader_epoch,
        replicas: ids(&row.replica_nodes),
        isr: ids(&row.isr_nodes),
        offline: ids(&row.offline_replicas),
    }
}

#[cfg(test)]
mod tests {
    use kafka_protocol::messages::TopicName;
    use kafka_protocol::protocol::StrBytes;

    use super::*;

    fn answer(id: u128, leader: i32, epoch: i32) -> MetadataResponse {
        let row = MetadataResponsePartition::default().with_leader_id(leader.into()).with_leader_epoch(epoch);
        let topic = MetadataResponseTopic::default()
            .with_name(Some(TopicName(StrBytes::from_static_str("t"))))
            .with_topic_id(uuid::Uuid::from_u128(id))
            .with_partitions(vec![row]);
        MetadataResponse::default().with_topics(vec![topic])
    }

    #[test]
    fn an_older_leader_epoch_never_replaces_a_newer_one_of_the_same_topic() {
        let mut metadata = Metadata::default();
        metadata.merge(&answer(1, 5, 7));
        metadata.merge(&answer(1, 4, 6));
        assert_eq!(metadata.leader("t", 0), Some((5, 7)));
        metadata.merge(&answer(2, 4, 0));
        assert_eq!(metadata.leader("t", 0), Some((4, 0)), "the topic was deleted and made anew");
    }

    #[test]
    fn a_leader_hint_counts_only_if_its_epoch_is_news() {
        let mut metadata = Metadata::default();
        metadata.merge(&answer(1, 5, 7));
        let there = Broker { id: 6, host: "h".into(), port: 1, rack: None };
        assert!(!metadata.take_hint("t", 0, 6, 7, std::slice::from_ref(&there)));
        assert!(!metadata.take_hint("t", 1, 6, 8, std::slice::from_ref(&there)));
        assert!(metadata.take_hint("t", 0, 6, 8, std::slice::from_ref(&there)));
        assert_eq!(metadata.leader("t", 0), Some((6, 8)));
        assert_eq!(metadata.brokers[&6], there);
    }

    #[test]
    fn a_deleted_topic_is_forgotten_and_its_code_reported() {
        let mut metadata = Metadata::default();
        metadata.merge(&answer(1, 5, 7));
        let mut gone = answer(0, -1, -1);
        gone.topics[0].error_code = 3;
        let errors = metadata.merge(&gone);
        assert_eq!(errors, [("t".to_owned(), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)].into());
        assert!(metadata.topics.is_empty());
    }
}
