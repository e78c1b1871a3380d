//! DescribeCluster (key 60), DescribeLogDirs (key 35) and DescribeQuorum (key 55).

use ballast_tests::raw::name;
use ballast_wire::frame::ApiKey;
use kafka_protocol::messages::describe_log_dirs_request::DescribableLogDirTopic;
use kafka_protocol::messages::describe_quorum_request::{PartitionData, TopicData};
use kafka_protocol::messages::{DescribeClusterRequest, DescribeLogDirsRequest, DescribeQuorumRequest};

use crate::case::{Case, Meets, accepted, refused};
use crate::side::Side;

const CLUSTER: ApiKey = ApiKey::DESCRIBE_CLUSTER;
const DIRS: ApiKey = ApiKey::DESCRIBE_LOG_DIRS;
const QUORUM: ApiKey = ApiKey::DESCRIBE_QUORUM;

const OWN_LOG: &[(&str, &str)] = &[
    ("*.leader_epoch", "the log of a quorum is each broker's own"),
    ("*.high_watermark", "the log of a quorum is each broker's own"),
    ("*.log_end_offset", "the log of a quorum is each broker's own"),
    ("*.last_fetch_timestamp", "the broker's clock"),
    ("*.last_caught_up_timestamp", "the broker's clock"),
    ("nodes[*", "the address of a controller's listener is each broker's own"),
];

pub(crate) const CASES: &[Case] = &[
    accepted(CLUSTER, "the brokers", |side, v| {
        side.ask(v, &DescribeClusterRequest::default());
    }),
    accepted(CLUSTER, "what one may do", |side, v| {
        side.ask(v, &DescribeClusterRequest::default().with_include_cluster_authorized_operations(true));
    }),
    accepted(CLUSTER, "fenced brokers too", |side, v| {
        side.ask(v, &DescribeClusterRequest::default().with_include_fenced_brokers(true));
    })
    .from(2),
    refused(CLUSTER, 114, "the controllers, asked of a broker", |side, v| endpoints(side, v, 2)).from(1),
    refused(CLUSTER, 115, "endpoints of a kind that there is not", |side, v| endpoints(side, v, 3)).from(1),
    accepted(DIRS, "a topic", |side, v| dirs(side, v, "letters", vec![0, 1])),
    accepted(DIRS, "a topic that is not there", |side, v| dirs(side, v, "absent", vec![0])),
    accepted(DIRS, "no topic", |side, v| {
        side.ask(v, &DescribeLogDirsRequest::default().with_topics(Some(vec![])));
    })
    .meets(Meets::Anything),
    accepted(QUORUM, "the quorum of one", |side, v| quorum(side, v, "__cluster_metadata", 0)).aside(OWN_LOG),
    refused(QUORUM, 3, "a topic that is no quorum", |side, v| quorum(side, v, "letters", 0)).meets(Meets::Anything),
    refused(QUORUM, 3, "a partition that is no quorum", |side, v| quorum(side, v, "__cluster_metadata", 1))
        .meets(Meets::Anything),
];

fn endpoints(side: &mut Side, v: i16, kind: i8) {
    side.ask(v, &DescribeClusterRequest::default().with_endpoint_type(kind));
}

fn dirs(side: &mut Side, v: i16, topic: &str, partitions: Vec<i32>) {
    side.letters();
    let topic = DescribableLogDirTopic::default().with_topic(name(topic)).with_partitions(partitions);
    side.ask(v, &DescribeLogDirsRequest::default().with_topics(Some(vec![topic])));
}

fn quorum(side: &mut Side, v: i16, topic: &str, partition: i32) {
    let partition = PartitionData::default().with_partition_index(partition);
    let topic = TopicData::default().with_topic_name(name(topic)).with_partitions(vec![partition]);
    side.ask(v, &DescribeQuorumRequest::default().with_topics(vec![topic]));
}
