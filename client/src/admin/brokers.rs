//! What the cluster says of itself: brokers, log directories, the metadata quorum.

use std::collections::BTreeMap;

use ballast_wire::{BrokerId, LeaderEpoch, Offset, PartitionIndex, Uuid};
use kafka_protocol::messages::describe_quorum_request::{PartitionData, TopicData};
use kafka_protocol::messages::describe_quorum_response::ReplicaState;
use kafka_protocol::messages::{
    DescribeClusterRequest, DescribeLogDirsRequest, DescribeQuorumRequest, DescribeQuorumResponse,
    UnregisterBrokerRequest, UnregisterBrokerResponse,
};

use super::{Admin, only, outcome, topic_name};
use crate::{ApiVersions, ClientError, ErrorCode, Target};

const METADATA_TOPIC: &str = "__cluster_metadata";

/// A cluster as one of its brokers sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterDescription {
    /// The cluster's id.
    pub cluster_id: String,
    /// A broker that takes requests for the controller, -1 if none.
    pub controller: BrokerId,
    /// Its brokers, by id.
    pub brokers: Vec<BrokerDescription>,
    /// Versions and features of the broker that answered.
    pub versions: ApiVersions,
}

/// One broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerDescription {
    /// Its id.
    pub id: BrokerId,
    /// Where it listens for us.
    pub host: String,
    /// On which port.
    pub port: i32,
    /// Its rack, if it has one.
    pub rack: Option<String>,
    /// Registered but not serving. Brokers before 4.0 do not list those.
    pub fenced: bool,
}

/// One log directory of a broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogDir {
    /// Where it is.
    pub path: String,
    /// `NONE` if it is online.
    pub error: ErrorCode,
    /// Size of its file system in bytes, -1 if unknown.
    pub total_bytes: i64,
    /// Free bytes of its file system, -1 if unknown.
    pub usable_bytes: i64,
    /// What lies in it.
    pub partitions: Vec<LogDirPartition>,
}

/// One partition's log in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogDirPartition {
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: PartitionIndex,
    /// Bytes of all its segments.
    pub size_bytes: i64,
    /// How many records it lacks to the high watermark, or to the current log when it is the future one.
    pub lag: i64,
    /// It will take the place of the current log when it has caught up.
    pub is_future: bool,
}

/// The quorum that keeps the metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quorum {
    /// Its leader, -1 if it has none.
    pub leader: BrokerId,
    /// How many leaders it has had.
    pub leader_epoch: LeaderEpoch,
    /// Up to here the metadata is committed.
    pub high_watermark: Offset,
    /// Who votes.
    pub voters: Vec<QuorumReplica>,
    /// Who only follows.
    pub observers: Vec<QuorumReplica>,
    /// Where they listen, where that is known.
    pub nodes: Vec<QuorumNode>,
}

/// A member of the quorum, or an observer of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuorumReplica {
    /// Its node id.
    pub id: BrokerId,
    /// Its metadata directory, zero if unknown.
    pub directory: Uuid,
    /// How far its log reaches, -1 if unknown.
    pub log_end_offset: Offset,
    /// When it last fetched, in ms since 1970, -1 if unknown.
    pub last_fetch_ms: i64,
    /// When it last had everything, in ms since 1970, -1 if unknown.
    pub last_caught_up_ms: i64,
}

/// Where a member listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuorumNode {
    /// Its node id.
    pub id: BrokerId,
    /// `NAME://host:port` for each listener.
    pub listeners: Vec<String>,
}

impl Admin {
    /// Describes the cluster.
    ///
    /// # Errors
    /// `Refused`, or that no broker could be reached.
    pub async fn describe_cluster(&self) -> Result<ClusterDescription, ClientError> {
        let what = "describing the cluster";
        let build = |version| DescribeClusterRequest::default().with_include_fenced_brokers(version >= 2);
        let (_, answer) = self
            .cluster
            .call(Target::Any, what, build, |answer| outcome(what, answer.error_code, answer.error_message.as_ref()))
            .await?;
        let mut brokers: Vec<BrokerDescription> = answer
            .brokers
            .into_iter()
            .map(|broker| BrokerDescription {
                id: *broker.broker_id,
                host: broker.host.to_string(),
                port: broker.port,
                rack: broker.rack.map(|rack| rack.to_string()),
                fenced: broker.is_fenced,
            })
            .collect();
        brokers.sort_by_key(|broker| broker.id);
        let versions = self.cluster.any_connection().await?.versions().clone();
        Ok(ClusterDescription {
            cluster_id: answer.cluster_id.to_string(),
            controller: *answer.controller_id,
            brokers,
            versions,
        })
    }

    /// Has the cluster forget a broker that is gone for good. Replicas that are assigned to it stay so.
    ///
    /// # Errors
    /// `Refused`: there is no such broker.
    pub async fn unregister_broker(&self, broker: BrokerId) -> Result<(), ClientError> {
        let what = format!("unregistering broker {broker}");
        let build = |_| UnregisterBrokerRequest::default().with_broker_id(broker.into());
        let check =
            |answer: &UnregisterBrokerResponse| outcome(&what, answer.error_code, answer.error_message.as_ref());
        self.cluster.call(Target::Any, &what, build, check).await.map(drop)
    }

    /// The log directories of one broker.
    ///
    /// # Errors
    /// `Refused`, or that the broker could not be reached.
    pub async fn describe_log_dirs(&self, broker: BrokerId) -> Result<Vec<LogDir>, ClientError> {
        let what = format!("describing the log directories of broker {broker}");
        let build = |_| DescribeLogDirsRequest::default().with_topics(None);
        let (_, answer) = self
            .cluster
            .call(Target::Broker(broker), &what, build, |answer| outcome(&what, answer.error_code, None))
            .await?;
        let dirs = answer.results.into_iter().map(|dir| LogDir {
            path: dir.log_dir.to_string(),
            error: ErrorCode(dir.error_code),
            total_bytes: dir.total_bytes,
            usable_bytes: dir.usable_bytes,
            partitions: dir
                .topics
                .iter()
                .flat_map(|topic| {
                    topic.partitions.iter().map(|row| LogDirPartition {
                        topic: topic.name.to_string(),
                        partition: row.partition_index,
                        size_bytes: row.partition_size,
                        lag: row.offset_lag,
                        is_future: row.is_future_key,
                    })
                })
                .collect(),
        });
        Ok(dirs.collect())
    }

    /// The metadata quorum.
    ///
    /// # Errors
    /// `Refused`; `Unsupported` where there is none.
    pub async fn describe_quorum(&self) -> Result<Quorum, ClientError> {
        let what = "describing the metadata quorum";
        let build = |_| {
            let topic = TopicData::default()
                .with_topic_name(topic_name(METADATA_TOPIC))
                .with_partitions(vec![PartitionData::default()]);
            DescribeQuorumRequest::default().with_topics(vec![topic])
        };
        let check = |answer: &DescribeQuorumResponse| {
            outcome(what, answer.error_code, answer.error_message.as_ref())?;
            let row = only(answer.topics.iter().flat_map(|topic| &topic.partitions), what)?;
            outcome(what, row.error_code, row.error_message.as_ref())
        };
        let answer = self.ask_active(what, build, check).await?;
        let nodes: BTreeMap<BrokerId, Vec<String>> = answer
            .nodes
            .iter()
            .map(|node| {
                let listeners = node.listeners.iter().map(|l| format!("{}://{}:{}", &*l.name, &*l.host, l.port));
                (*node.node_id, listeners.collect())
            })
            .collect();
        let row = only(answer.topics.into_iter().flat_map(|topic| topic.partitions), what)?;
        Ok(Quorum {
            leader: *row.leader_id,
            leader_epoch: row.leader_epoch,
            high_watermark: row.high_watermark,
            voters: replicas(&row.current_voters),
            observers: replicas(&row.observers),
            nodes: nodes.into_iter().map(|(id, listeners)| QuorumNode { id, listeners }).collect(),
        })
    }
}

fn replicas(rows: &[ReplicaState]) -> Vec<QuorumReplica> {
    let mut replicas: Vec<QuorumReplica> = rows
        .iter()
        .map(|row| QuorumReplica {
            id: *row.replica_id,
            directory: Uuid(*row.replica_directory_id.as_bytes()),
            log_end_offset: row.log_end_offset,
            last_fetch_ms: row.last_fetch_timestamp,
            last_caught_up_ms: row.last_caught_up_timestamp,
        })
        .collect();
    replicas.sort_by_key(|replica| replica.id);
    replicas
}
