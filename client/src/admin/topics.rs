//! Creating, growing and deleting topics.

use std::collections::BTreeMap;

use ballast_wire::{BrokerId, Uuid};
use kafka_protocol::messages::create_partitions_request::CreatePartitionsTopic;
use kafka_protocol::messages::create_topics_request::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig,
};
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::{CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest};

use super::{Admin, only, outcome, settled, text, topic_name};
use crate::{ClientError, Target};

/// A topic to be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewTopic {
    /// Its name.
    pub name: String,
    /// How many partitions; `None` for the cluster's default.
    pub partitions: Option<i32>,
    /// How many replicas each has; `None` for the cluster's default.
    pub replication_factor: Option<i16>,
    /// Replicas of every partition, the preferred leader first; empty to let the controller choose. Takes the place of
    /// the two numbers above.
    pub assignment: Vec<Vec<BrokerId>>,
    /// Settings that differ from the defaults.
    pub configs: BTreeMap<String, String>,
}

/// A topic as it was created. Brokers before 2.4 do not say: then numbers are -1 and the id is zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedTopic {
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: Uuid,
    /// How many partitions it has.
    pub partitions: i32,
    /// How many replicas each has.
    pub replication_factor: i16,
}

impl Admin {
    /// Creates a topic, or only asks whether it could be created.
    ///
    /// # Errors
    /// `Refused`, with the controller's words.
    pub async fn create_topic(&self, topic: &NewTopic, validate_only: bool) -> Result<CreatedTopic, ClientError> {
        let what = format!("creating topic {}", topic.name);
        let build = |_| {
            CreateTopicsRequest::default()
                .with_topics(vec![creatable(topic)])
                .with_timeout_ms(self.timeout_ms())
                .with_validate_only(validate_only)
        };
        let (_, answer) = self
            .cluster
            .call(Target::Controller, &what, build, |answer| {
                let row = only(&answer.topics, &what)?;
                outcome(&what, row.error_code, row.error_message.as_ref())
            })
            .await?;
        let row = only(&answer.topics, &what)?;
        self.cluster.mark_stale();
        Ok(CreatedTopic {
            name: row.name.to_string(),
            id: Uuid(*row.topic_id.as_bytes()),
            partitions: row.num_partitions,
            replication_factor: row.replication_factor,
        })
    }

    /// Gives a topic more partitions, `total` in all.
    ///
    /// # Errors
    /// `Refused`, with the controller's words.
    pub async fn create_partitions(&self, topic: &str, total: i32, validate_only: bool) -> Result<(), ClientError> {
        let what = format!("giving topic {topic} {total} partitions");
        let build = |_| {
            let row =
                CreatePartitionsTopic::default().with_name(topic_name(topic)).with_count(total).with_assignments(None);
            CreatePartitionsRequest::default()
                .with_topics(vec![row])
                .with_timeout_ms(self.timeout_ms())
                .with_validate_only(validate_only)
        };
        let (_, answer) = self
            .cluster
            .call(Target::Controller, &what, build, |answer| {
                let row = only(&answer.results, &what)?;
                settled(&what, row.error_code, row.error_message.as_ref())
            })
            .await?;
        self.cluster.mark_stale();
        let row = only(&answer.results, &what)?;
        outcome(&what, row.error_code, row.error_message.as_ref())
    }

    /// Deletes a topic and all that is in it.
    ///
    /// # Errors
    /// `Refused`, with the controller's words. A topic that is not there is refused at once.
    pub async fn delete_topic(&self, topic: &str) -> Result<(), ClientError> {
        let what = format!("deleting topic {topic}");
        let build = |version| {
            let request = DeleteTopicsRequest::default().with_timeout_ms(self.timeout_ms());
            if version >= 6 {
                let row = DeleteTopicState::default().with_name(Some(topic_name(topic)));
                request.with_topics(vec![row])
            } else {
                request.with_topic_names(vec![topic_name(topic)])
            }
        };
        let (_, answer) = self
            .cluster
            .call(Target::Controller, &what, build, |answer| {
                let row = only(&answer.responses, &what)?;
                settled(&what, row.error_code, row.error_message.as_ref())
            })
            .await?;
        let row = only(&answer.responses, &what)?;
        self.cluster.mark_stale();
        outcome(&what, row.error_code, row.error_message.as_ref())
    }
}

fn creatable(topic: &NewTopic) -> CreatableTopic {
    let configs = topic
        .configs
        .iter()
        .map(|(name, value)| CreatableTopicConfig::default().with_name(text(name)).with_value(Some(text(value))));
    let assignment = topic.assignment.iter().enumerate().map(|(partition, replicas)| {
        CreatableReplicaAssignment::default()
            .with_partition_index(partition as i32)
            .with_broker_ids(replicas.iter().map(|id| (*id).into()).collect())
    });
    let by_hand = !topic.assignment.is_empty();
    CreatableTopic::default()
        .with_name(topic_name(&topic.name))
        // -1 asks for the default, and must be sent when an assignment says it all.
        .with_num_partitions(if by_hand { -1 } else { topic.partitions.unwrap_or(-1) })
        .with_replication_factor(if by_hand { -1 } else { topic.replication_factor.unwrap_or(-1) })
        .with_assignments(assignment.collect())
        .with_configs(configs.collect())
}
