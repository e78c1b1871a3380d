//! DescribeCluster (key 60), AlterReplicaLogDirs (key 34), DescribeLogDirs (key 35), DescribeQuorum (key 55),
//! AddRaftVoter (key 80) and RemoveRaftVoter (key 81).

use ballast_tests::raw::{name, text};
use ballast_wire::frame::ApiKey;
use kafka_protocol::messages::alter_replica_log_dirs_request::{AlterReplicaLogDir, AlterReplicaLogDirTopic};
use kafka_protocol::messages::describe_log_dirs_request::DescribableLogDirTopic;
use kafka_protocol::messages::describe_quorum_request::{PartitionData, TopicData};
use kafka_protocol::messages::{
    AddRaftVoterRequest, AlterReplicaLogDirsRequest, DescribeClusterRequest, DescribeLogDirsRequest,
    DescribeQuorumRequest, RemoveRaftVoterRequest,
};

use crate::case::{Case, Meets, accepted, refused};
use crate::side::Side;

const CLUSTER: ApiKey = ApiKey::DESCRIBE_CLUSTER;
const MOVES: ApiKey = ApiKey::ALTER_REPLICA_LOG_DIRS;
const DIRS: ApiKey = ApiKey::DESCRIBE_LOG_DIRS;
const QUORUM: ApiKey = ApiKey::DESCRIBE_QUORUM;
const ADD_VOTER: ApiKey = ApiKey::ADD_RAFT_VOTER;
const REMOVE_VOTER: ApiKey = ApiKey::REMOVE_RAFT_VOTER;

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
    refused(MOVES, 57, "to a directory that is none", |side, v| moves(side, v, "/nowhere", vec![0, 1])),
    accepted(MOVES, "to where they are", |side, v| {
        let dirs = side.connection.call(1, &DescribeLogDirsRequest::default().with_topics(None));
        moves(side, v, &dirs.results[0].log_dir, vec![0, 1]);
    }),
    accepted(MOVES, "nothing", |side, v| {
        side.ask(v, &AlterReplicaLogDirsRequest::default());
    })
    .meets(Meets::Anything),
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
    // The voters of one node are not to be changed here: another cluster's are named.
    accepted(ADD_VOTER, "a voter of another cluster", |side, v| {
        side.ask(v, &AddRaftVoterRequest::default().with_cluster_id(Some(text("elsewhere"))).with_timeout_ms(1000));
    })
    .meets(Meets::Code(104)),
    accepted(REMOVE_VOTER, "a voter of another cluster", |side, v| {
        side.ask(v, &RemoveRaftVoterRequest::default().with_cluster_id(Some(text("elsewhere"))));
    })
    .meets(Meets::Code(104)),
];

fn endpoints(side: &mut Side, v: i16, kind: i8) {
    side.ask(v, &DescribeClusterRequest::default().with_endpoint_type(kind));
}

fn moves(side: &mut Side, v: i16, to: &str, partitions: Vec<i32>) {
    side.letters();
    let topic = AlterReplicaLogDirTopic::default().with_name(name("letters")).with_partitions(partitions);
    let dir = AlterReplicaLogDir::default().with_path(text(to)).with_topics(vec![topic]);
    side.ask(v, &AlterReplicaLogDirsRequest::default().with_dirs(vec![dir]));
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
