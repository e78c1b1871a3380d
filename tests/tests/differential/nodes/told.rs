//! What a cluster says of itself: Metadata (key 3), DescribeTopicPartitions (75), DescribeCluster (60), DescribeQuorum (55),
//! DescribeLogDirs (35); ElectLeaders (43), CreateTopics (19) and CreatePartitions (37) with replicas.

use ballast_tests::raw::name;
use ballast_wire::frame::ApiKey;
use kafka_protocol::messages::create_partitions_request::CreatePartitionsTopic;
use kafka_protocol::messages::create_topics_request::{CreatableReplicaAssignment, CreatableTopic};
use kafka_protocol::messages::describe_log_dirs_request::DescribableLogDirTopic;
use kafka_protocol::messages::describe_quorum_request::{PartitionData, TopicData};
use kafka_protocol::messages::describe_topic_partitions_request::TopicRequest;
use kafka_protocol::messages::elect_leaders_request::TopicPartitions;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{
    CreatePartitionsRequest, CreateTopicsRequest, DescribeClusterRequest, DescribeLogDirsRequest,
    DescribeQuorumRequest, DescribeTopicPartitionsRequest, ElectLeadersRequest, MetadataRequest,
};

use super::{led, spread};
use crate::case::{Case, accepted, refused};
use crate::side::Side;

const META: ApiKey = ApiKey::METADATA;
const PAGES: ApiKey = ApiKey::DESCRIBE_TOPIC_PARTITIONS;
const CLUSTER: ApiKey = ApiKey::DESCRIBE_CLUSTER;
pub(super) const QUORUM: ApiKey = ApiKey::DESCRIBE_QUORUM;
const DIRS: ApiKey = ApiKey::DESCRIBE_LOG_DIRS;
const ELECT: ApiKey = ApiKey::ELECT_LEADERS;
const CREATE: ApiKey = ApiKey::CREATE_TOPICS;
const GROW: ApiKey = ApiKey::CREATE_PARTITIONS;
const TIMEOUT_MS: i32 = 10_000;
const PREFERRED: i8 = 0;
const UNCLEAN: i8 = 1;

/// Whom a broker names as the controller is chance: any of them takes what is asked of it.
pub(super) const ANY_CONTROLLER: &[(&str, &str)] = &[("*controller_id", "any node takes requests for the controller")];

/// Of a quorum that elects its leader itself.
pub(super) const OWN_LOG: &[(&str, &str)] = &[
    ("*.leader_id", "each quorum elects its own"),
    ("*.leader_epoch", "the log of a quorum is each cluster's own"),
    ("*.high_watermark", "the log of a quorum is each cluster's own"),
    ("*.log_end_offset", "the log of a quorum is each cluster's own"),
    ("*.last_fetch_timestamp", "the leader's clock"),
    ("*.last_caught_up_timestamp", "the leader's clock"),
    ("nodes[*", "the address of a controller's listener is each node's own"),
];

pub(super) const CASES: &[Case] = &[
    accepted(META, "three brokers", |side, v| metadata(side, v, 1, &[])).aside(ANY_CONTROLLER),
    accepted(META, "replicas on three brokers", |side, v| metadata(side, v, 1, &["spread"])).aside(ANY_CONTROLLER),
    accepted(META, "a topic of another node", |side, v| metadata(side, v, 3, &["single"])).aside(ANY_CONTROLLER),
    accepted(PAGES, "replicas on three brokers", |side, v| pages(side, v, 2)),
    accepted(CLUSTER, "three brokers", |side, v| {
        side.ask(v, &DescribeClusterRequest::default());
    })
    .aside(ANY_CONTROLLER),
    accepted(CLUSTER, "three brokers, fenced ones too", |side, v| {
        side.ask(v, &DescribeClusterRequest::default().with_include_fenced_brokers(true));
    })
    .from(2)
    .aside(ANY_CONTROLLER),
    accepted(QUORUM, "a quorum of three", quorum).aside(OWN_LOG),
    accepted(DIRS, "of a node that has no replica", |side, v| {
        side.at(2);
        let topic = DescribableLogDirTopic::default().with_topic(name("single")).with_partitions(vec![0]);
        side.ask(v, &DescribeLogDirsRequest::default().with_topics(Some(vec![topic])));
    }),
    refused(ELECT, 84, "the preferred leader leads", |side, v| elect(side, v, PREFERRED, "spread", &[0, 1])),
    refused(ELECT, 84, "somebody in sync leads", |side, v| elect(side, v, UNCLEAN, "spread", &[0])).from(1),
    refused(ELECT, 3, "a partition that is not there", |side, v| elect(side, v, PREFERRED, "spread", &[7])),
    accepted(ELECT, "nothing is to be done anywhere", |side, v| {
        side.ask(v, &ElectLeadersRequest::default().with_topic_partitions(None).with_timeout_ms(TIMEOUT_MS));
    }),
    accepted(CREATE, "three replicas", |side, v| {
        let topic = side.unique("topic");
        create(side, v, counted(&topic, 2, 3));
        // Whoever lists topics later finds them led.
        led_somewhere(side, &topic);
    }),
    accepted(CREATE, "placed on two brokers", |side, v| {
        let topic = side.unique("topic");
        create(side, v, placed(&topic, &[&[2, 3], &[3, 2]]));
        led_somewhere(side, &topic);
    }),
    refused(CREATE, 38, "four replicas", |side, v| create(side, v, counted("four", 1, 4))),
    refused(CREATE, 39, "one broker twice", |side, v| create(side, v, placed("twice", &[&[1, 1]]))),
    refused(CREATE, 39, "a broker that there is not", |side, v| create(side, v, placed("absent", &[&[1, 9]]))),
    refused(CREATE, 39, "partitions of different factors", |side, v| {
        create(side, v, placed("uneven", &[&[1, 2], &[1]]));
    }),
    accepted(GROW, "with replicas", |side, v| {
        let topic = side.unique("topic");
        side.placed(&topic, &[&[1, 2]], |side, topic| led(&mut side.connection, &topic.name, 1));
        let row = CreatePartitionsTopic::default().with_name(name(&topic)).with_count(3).with_assignments(None);
        side.ask(v, &CreatePartitionsRequest::default().with_timeout_ms(TIMEOUT_MS).with_topics(vec![row]));
        led_somewhere(side, &topic);
    }),
];

/// When node 1 has been away.
pub(super) const AFTERWARDS: &[Case] = &[
    accepted(META, "led by another", |side, v| metadata(side, v, 1, &["spread"])).aside(ANY_CONTROLLER),
    accepted(PAGES, "led by another", |side, v| pages(side, v, 2)),
    accepted(QUORUM, "a voter was away", quorum).aside(OWN_LOG),
    accepted(ELECT, "the preferred leader is back", |side, v| {
        let topic = format!("elected-{v}");
        elect(side, v, PREFERRED, &topic, &[0]);
        led(&mut side.connection, &topic, 1);
        side.ask(12, &MetadataRequest::default().with_topics(Some(vec![named(&topic)])));
    })
    .aside(ANY_CONTROLLER),
    refused(ELECT, 84, "the preferred leader leads again", |side, v| {
        elect(side, v, PREFERRED, &format!("elected-{v}"), &[0]);
    }),
];

/// A topic for each version of an election.
pub(super) fn make_elected(side: &mut Side) {
    for version in 0..=2 {
        side.placed(&format!("elected-{version}"), &[&[1, 2, 3]], |side, topic| {
            led(&mut side.connection, &topic.name, 1);
        });
    }
}

fn named(topic: &str) -> MetadataRequestTopic {
    MetadataRequestTopic::default().with_name(Some(name(topic)))
}

/// Asks a node. Before version 1 no list of topics means all of them.
fn metadata(side: &mut Side, v: i16, node: u8, topics: &[&str]) {
    side.at(node);
    let topics = if v == 0 && topics.is_empty() { &["spread"] } else { topics };
    let topics = topics.iter().map(|topic| named(topic)).collect();
    side.ask(v, &MetadataRequest::default().with_topics(Some(topics)).with_allow_auto_topic_creation(v < 4));
}

fn pages(side: &mut Side, v: i16, node: u8) {
    side.at(node);
    let topics = ["spread", "single"].map(|topic| TopicRequest::default().with_name(name(topic)));
    let request = DescribeTopicPartitionsRequest::default();
    side.ask(v, &request.with_topics(topics.to_vec()).with_response_partition_limit(2000));
}

pub(super) fn quorum(side: &mut Side, v: i16) {
    let topic = TopicData::default().with_topic_name(name("__cluster_metadata"));
    let topic = topic.with_partitions(vec![PartitionData::default().with_partition_index(0)]);
    side.ask(v, &DescribeQuorumRequest::default().with_topics(vec![topic]));
}

fn elect(side: &mut Side, v: i16, kind: i8, topic: &str, partitions: &[i32]) {
    spread(side);
    let row = TopicPartitions::default().with_topic(name(topic)).with_partitions(partitions.to_vec());
    let request = ElectLeadersRequest::default().with_topic_partitions(Some(vec![row])).with_timeout_ms(TIMEOUT_MS);
    side.ask(v, &if v >= 1 { request.with_election_type(kind) } else { request });
}

pub(super) fn create(side: &mut Side, v: i16, row: CreatableTopic) {
    let created = side.ask(v, &CreateTopicsRequest::default().with_timeout_ms(TIMEOUT_MS).with_topics(vec![row]));
    for topic in created.iter().flat_map(|created| &created.topics) {
        side.learn(topic.topic_id, "<id of a new topic>".to_owned());
    }
}

pub(super) fn counted(topic: &str, partitions: i32, replicas: i16) -> CreatableTopic {
    CreatableTopic::default().with_name(name(topic)).with_num_partitions(partitions).with_replication_factor(replicas)
}

fn placed(topic: &str, rows: &[&[i32]]) -> CreatableTopic {
    let place = |(partition, nodes): (i32, &&[i32])| {
        let nodes = nodes.iter().map(|id| (*id).into()).collect();
        CreatableReplicaAssignment::default().with_partition_index(partition).with_broker_ids(nodes)
    };
    let assignments = (0..).zip(rows).map(place).collect();
    counted(topic, -1, -1).with_assignments(assignments)
}

fn led_somewhere(side: &mut Side, topic: &str) {
    ballast_tests::raw::rows::eventually("a new topic has leaders", || {
        let told = side.call(12, &MetadataRequest::default().with_topics(Some(vec![named(topic)])));
        let partitions = &told.topics[0].partitions;
        (!partitions.is_empty() && partitions.iter().all(|row| row.leader_id.0 > 0)).then_some(())
    });
}
