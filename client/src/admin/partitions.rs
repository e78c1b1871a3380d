//! Partitions as the controller knows them: eligible leaders besides leader, replicas and ISR (KIP-966).

use std::collections::BTreeMap;

use ballast_wire::{BrokerId, PartitionIndex};
use kafka_protocol::messages::DescribeTopicPartitionsRequest;
use kafka_protocol::messages::describe_topic_partitions_request::{Cursor, TopicRequest};
use kafka_protocol::messages::describe_topic_partitions_response::DescribeTopicPartitionsResponsePartition as Row;

use super::{Admin, topic_name};
use crate::{ClientError, ErrorCode, Target};

/// Partitions that one answer may have; the rest comes in further ones.
const PAGE: i32 = 2_000;

/// Who could lead a partition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EligibleLeaders {
    /// Replicas that left the ISR below the minimum, and lack nothing.
    pub elr: Vec<BrokerId>,
    /// Whom to wait for when ISR and ELR are empty.
    pub last_known: Vec<BrokerId>,
}

impl Admin {
    /// Who could lead each partition of `topics`. Topics that are gone have no row.
    ///
    /// # Errors
    /// `Unsupported` by brokers before 3.7; else that no broker could be reached.
    pub async fn eligible_leaders(
        &self,
        topics: &[&str],
    ) -> Result<BTreeMap<(String, PartitionIndex), EligibleLeaders>, ClientError> {
        let mut all = BTreeMap::new();
        let mut cursor: Option<Cursor> = None;
        if topics.is_empty() {
            return Ok(all);
        }
        loop {
            let build = |_| {
                let rows = topics.iter().map(|topic| TopicRequest::default().with_name(topic_name(topic)));
                DescribeTopicPartitionsRequest::default()
                    .with_topics(rows.collect())
                    .with_response_partition_limit(PAGE)
                    .with_cursor(cursor.clone())
            };
            let what = "asking for eligible leaders";
            let (_, answer) = self.cluster.call(Target::Any, what, build, |_| Ok(())).await?;
            for topic in answer.topics.iter().filter(|topic| ErrorCode(topic.error_code) == ErrorCode::NONE) {
                let name = topic.name.as_ref().map(|name| name.to_string()).unwrap_or_default();
                all.extend(topic.partitions.iter().map(|row| ((name.clone(), row.partition_index), eligible(row))));
            }
            let next = answer.next_cursor.map(|next| {
                Cursor::default().with_topic_name(next.topic_name).with_partition_index(next.partition_index)
            });
            match next {
                // A broker that does not get on would be asked for ever.
                Some(next) if cursor.as_ref() != Some(&next) => cursor = Some(next),
                Some(_) | None => return Ok(all),
            }
        }
    }
}

fn eligible(row: &Row) -> EligibleLeaders {
    let ids = |ids: &Option<Vec<kafka_protocol::messages::BrokerId>>| {
        ids.as_ref().map(|ids| ids.iter().map(|id| **id).collect()).unwrap_or_default()
    };
    EligibleLeaders { elr: ids(&row.eligible_leader_replicas), last_known: ids(&row.last_known_elr) }
}
