//! Elections: giving partitions back to their preferred leaders, or to any replica that is left.

use std::collections::BTreeMap;

use ballast_wire::PartitionIndex;
use kafka_protocol::messages::elect_leaders_request::TopicPartitions;
use kafka_protocol::messages::{ElectLeadersRequest, ElectLeadersResponse};

use super::{Admin, outcome, topic_name};
use crate::{ClientError, ErrorCode, Target};

/// From this version on the request says which kind of election.
const KINDS_FIRST: i16 = 1;

/// Which replica shall lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Election {
    /// The first of the list, if it is in sync.
    Preferred,
    /// Any that is alive, in sync or not: records may be lost.
    Unclean,
}

/// What became of one partition's election: `Ok(true)` if it has another leader, `Ok(false)` if none was needed.
pub type Elected = Result<bool, ClientError>;

impl Admin {
    /// Elects leaders of these partitions, or of all (`None`) that need it.
    ///
    /// # Errors
    /// `Refused` for the request as a whole; what a partition said is in its own row.
    pub async fn elect_leaders(
        &self,
        election: Election,
        partitions: Option<&[(String, PartitionIndex)]>,
    ) -> Result<BTreeMap<(String, PartitionIndex), Elected>, ClientError> {
        let what = "electing leaders";
        let build = |version| {
            let topics = partitions.map(|partitions| {
                let mut topics: BTreeMap<&str, Vec<PartitionIndex>> = BTreeMap::new();
                for (topic, partition) in partitions {
                    topics.entry(topic).or_default().push(*partition);
                }
                let row =
                    |(topic, rows)| TopicPartitions::default().with_topic(topic_name(topic)).with_partitions(rows);
                topics.into_iter().map(row).collect()
            });
            let kind = i8::from(election == Election::Unclean);
            ElectLeadersRequest::default()
                .with_election_type(if version >= KINDS_FIRST { kind } else { 0 })
                .with_topic_partitions(topics)
                .with_timeout_ms(self.timeout_ms())
        };
        let check = |answer: &ElectLeadersResponse| outcome(what, answer.error_code, None);
        let (_, answer) = self.cluster.call(Target::Controller, what, build, check).await?;
        let mut elected = BTreeMap::new();
        for topic in answer.replica_election_results {
            for row in topic.partition_result {
                let key = (topic.topic.to_string(), row.partition_id);
                let what = format!("electing a leader of {}-{}", key.0, key.1);
                let result = match ErrorCode(row.error_code) {
                    ErrorCode::NONE => Ok(true),
                    ErrorCode::ELECTION_NOT_NEEDED => Ok(false),
                    code => outcome(what, code.0, row.error_message.as_ref()).map(|()| false),
                };
                elected.insert(key, result);
            }
        }
        self.cluster.mark_stale();
        Ok(elected)
    }
}
