//! What a web console asks in its first second (kafbat's, Redpanda's, AKHQ), replayed frame by frame.
//!
//! Consoles themselves are not packages that a test can install. Their questions are known, and each must be answered: with
//! what is asked for, or with the code by which Apache Kafka says that there is no such thing. A connection that is dropped
//! shows in a console as a cluster that is offline.

use std::collections::BTreeMap;

use ballast_tests::raw::rows::eventually;
use ballast_tests::raw::{Connection, batch, name, text};
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::describe_topic_partitions_request::TopicRequest;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestGroup;
use kafka_protocol::messages::{
    ApiVersionsRequest, DescribeAclsRequest, DescribeClusterRequest, DescribeConfigsRequest, DescribeGroupsRequest,
    DescribeLogDirsRequest, DescribeQuorumRequest, DescribeTopicPartitionsRequest, DescribeUserScramCredentialsRequest,
    FindCoordinatorRequest, GroupId, ListGroupsRequest, ListOffsetsRequest, MetadataRequest, OffsetFetchRequest,
    describe_quorum_request,
};
use kafka_protocol::protocol::Request;

use crate::session::{Session, unique};

/// The questions.
pub(crate) const STEPS: &[&str] = &[
    "versions",
    "metadata",
    "cluster",
    "broker configs",
    "topic configs",
    "log dirs",
    "offsets",
    "groups",
    "acls",
    "quorum",
    "users",
];

const TOPIC_RESOURCE: i8 = 2;
const BROKER_RESOURCE: i8 = 4;
const SECURITY_DISABLED: i16 = 54;
const GROUP_ID_NOT_FOUND: i16 = 69;
const EARLIEST: i64 = -2;
const LATEST: i64 = -1;
const MAX_TIMESTAMP: i64 = -3;

struct Console {
    connection: Connection,
    /// What the broker says of each API: key to highest version.
    versions: BTreeMap<i16, i16>,
    topic: String,
}

/// Asks everything, each question on a connection of its own.
pub(crate) fn replay(session: &mut Session<'_>) {
    let (bootstrap, topic) = (session.bootstrap(), unique("console"));
    Connection::open(&bootstrap).create_topic(&topic, 1, &[("retention.ms", "3600000")]);
    Connection::open(&bootstrap).append(&topic, 0, batch(&["one", "two"]));
    let steps: [fn(&mut Console) -> String; 11] = [
        |console| format!("{} APIs", console.versions.len()),
        Console::metadata,
        Console::cluster,
        Console::broker_configs,
        Console::topic_configs,
        Console::log_dirs,
        Console::offsets,
        Console::groups,
        Console::acls,
        Console::quorum,
        Console::users,
    ];
    session.version("as kafbat asks");
    for (step, ask) in STEPS.iter().zip(steps) {
        session.step(step, || ask(&mut Console::open(&bootstrap, &topic)));
    }
}

impl Console {
    fn open(bootstrap: &str, topic: &str) -> Console {
        let mut connection = Connection::open(bootstrap);
        let request = ApiVersionsRequest::default()
            .with_client_software_name(text("console"))
            .with_client_software_version(text("1"));
        let told = connection.call(3, &request);
        assert_eq!(told.error_code, 0, "of ApiVersions");
        let versions = told.api_keys.iter().map(|api| (api.api_key, api.max_version)).collect();
        Console { connection, versions, topic: topic.to_owned() }
    }

    /// Asks in the highest version that both sides know.
    fn ask<R: Request>(&mut self, request: &R) -> R::Response {
        let offered = self.versions.get(&R::KEY).copied();
        let offered = offered.unwrap_or_else(|| panic!("the broker does not offer {}", std::any::type_name::<R>()));
        self.connection.call(offered.min(R::VERSIONS.max), request)
    }

    fn metadata(&mut self) -> String {
        let told = self.ask(&MetadataRequest::default().with_topics(None));
        assert!(told.topics.iter().any(|topic| topic.name.as_ref().is_some_and(|n| n.0.as_str() == self.topic)));
        let topics = vec![TopicRequest::default().with_name(name(&self.topic))];
        let request = DescribeTopicPartitionsRequest::default().with_topics(topics).with_response_partition_limit(2000);
        let told = self.ask(&request);
        assert_eq!((told.topics[0].error_code, told.topics[0].partitions.len()), (0, 1), "of the topic");
        String::new()
    }

    fn cluster(&mut self) -> String {
        let told = self.ask(&DescribeClusterRequest::default().with_include_cluster_authorized_operations(true));
        assert_eq!((told.error_code, told.brokers.len()), (0, 1), "of the cluster");
        assert!(!told.cluster_id.is_empty(), "a cluster has an id");
        told.cluster_id.to_string()
    }

    /// The value of each setting of a resource; types, synonyms and texts are asked for as well.
    fn configs(&mut self, kind: i8, resource: &str) -> BTreeMap<String, Option<String>> {
        let resource = DescribeConfigsResource::default()
            .with_resource_type(kind)
            .with_resource_name(text(resource))
            .with_configuration_keys(None);
        let request = DescribeConfigsRequest::default()
            .with_resources(vec![resource])
            .with_include_synonyms(true)
            .with_include_documentation(true);
        let told = self.ask(&request);
        assert_eq!(told.results[0].error_code, 0, "{:?}", told.results[0].error_message);
        for config in &told.results[0].configs {
            assert!(config.config_type > 0, "{} has no type", config.name);
        }
        assert!(told.results[0].configs.iter().any(|config| config.documentation.is_some()), "no setting has a text");
        let configs = told.results[0].configs.iter();
        configs.map(|config| (config.name.to_string(), config.value.as_ref().map(ToString::to_string))).collect()
    }

    fn broker_configs(&mut self) -> String {
        let configs = self.configs(BROKER_RESOURCE, "1");
        assert!(configs.contains_key("log.retention.hours"), "{:?}", configs.keys());
        format!("{} settings", configs.len())
    }

    fn topic_configs(&mut self) -> String {
        let topic = self.topic.clone();
        let configs = self.configs(TOPIC_RESOURCE, &topic);
        assert_eq!(configs["retention.ms"].as_deref(), Some("3600000"));
        format!("{} settings", configs.len())
    }

    fn log_dirs(&mut self) -> String {
        let told = self.ask(&DescribeLogDirsRequest::default().with_topics(None));
        let sizes: i64 =
            told.results.iter().flat_map(|d| &d.topics).flat_map(|t| &t.partitions).map(|p| p.partition_size).sum();
        assert!(told.results.iter().all(|dir| dir.error_code == 0 && dir.total_bytes > 0), "of the log directories");
        assert!(sizes > 0, "the topic has bytes");
        format!("{sizes} bytes")
    }

    fn offset(&mut self, timestamp: i64) -> i64 {
        let partition = ListOffsetsPartition::default().with_current_leader_epoch(-1).with_timestamp(timestamp);
        let topic = ListOffsetsTopic::default().with_name(name(&self.topic)).with_partitions(vec![partition]);
        let told = self.ask(&ListOffsetsRequest::default().with_replica_id((-1).into()).with_topics(vec![topic]));
        assert_eq!(told.topics[0].partitions[0].error_code, 0, "of the offset at {timestamp}");
        told.topics[0].partitions[0].offset
    }

    fn offsets(&mut self) -> String {
        assert_eq!((self.offset(EARLIEST), self.offset(LATEST)), (0, 2), "first and last");
        assert!((0..2).contains(&self.offset(MAX_TIMESTAMP)), "the newest record is one of the two");
        String::new()
    }

    fn groups(&mut self) -> String {
        let request = ListGroupsRequest::default()
            .with_states_filter(vec![text("Stable"), text("Empty")])
            .with_types_filter(vec![text("classic"), text("consumer")]);
        let told = self.ask(&request);
        assert_eq!(told.error_code, 0, "of the list");
        let nobody = GroupId(text("nobody"));
        eventually("a coordinator for the group", || {
            let request =
                FindCoordinatorRequest::default().with_key_type(0).with_coordinator_keys(vec![text("nobody")]);
            let told = self.ask(&request);
            (told.coordinators[0].error_code == 0).then_some(())
        });
        let told = self.ask(&DescribeGroupsRequest::default().with_groups(vec![nobody.clone()]));
        assert_eq!(told.groups[0].error_code, GROUP_ID_NOT_FOUND, "of a group that is not there");
        let group = OffsetFetchRequestGroup::default().with_group_id(nobody).with_topics(None);
        // By name: the newest version asks by id, and consoles ask for everything.
        let told = self.connection.call(8, &OffsetFetchRequest::default().with_groups(vec![group]));
        assert_eq!((told.groups[0].error_code, told.groups[0].topics.len()), (0, 0), "of the offsets of nobody");
        String::new()
    }

    fn acls(&mut self) -> String {
        // Everything: any resource, any pattern, any operation, any permission.
        let request = DescribeAclsRequest::default()
            .with_resource_type_filter(1)
            .with_pattern_type_filter(1)
            .with_operation(1)
            .with_permission_type(1);
        assert_eq!(self.ask(&request).error_code, SECURITY_DISABLED, "without an authorizer");
        "SECURITY_DISABLED".to_owned()
    }

    fn quorum(&mut self) -> String {
        let partition = describe_quorum_request::PartitionData::default().with_partition_index(0);
        let topic = describe_quorum_request::TopicData::default()
            .with_topic_name(name("__cluster_metadata"))
            .with_partitions(vec![partition]);
        let told = self.ask(&DescribeQuorumRequest::default().with_topics(vec![topic]));
        let partition = &told.topics[0].partitions[0];
        assert_eq!((told.error_code, partition.error_code), (0, 0), "of the quorum");
        assert_eq!(partition.current_voters.len(), 1, "voters");
        format!("leader {}", partition.leader_id.0)
    }

    fn users(&mut self) -> String {
        let told = self.ask(&DescribeUserScramCredentialsRequest::default().with_users(None));
        assert_eq!((told.error_code, told.results.len()), (0, 0), "nobody has credentials");
        String::new()
    }
}
