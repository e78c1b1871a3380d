//! CreateTopics: what is refused, with which code, and what a new topic gets where nothing was said.

use ballast_tests::raw::rows::eventually;
use ballast_tests::raw::{Connection, name, text};
use ballast_tests::target::{shared, unique};
use kafka_protocol::messages::create_topics_request::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig,
};
use kafka_protocol::messages::create_topics_response::CreatableTopicResult;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{CreateTopicsRequest, MetadataRequest};

const INVALID_TOPIC: i16 = 17;
const TOPIC_ALREADY_EXISTS: i16 = 36;
const INVALID_PARTITIONS: i16 = 37;
const INVALID_REPLICATION_FACTOR: i16 = 38;
const INVALID_REPLICA_ASSIGNMENT: i16 = 39;
const INVALID_CONFIG: i16 = 40;
const INVALID_REQUEST: i16 = 42;

fn row(topic: &str, partitions: i32, replication: i16) -> CreatableTopic {
    CreatableTopic::default()
        .with_name(name(topic))
        .with_num_partitions(partitions)
        .with_replication_factor(replication)
}

fn with_config(topic: &str, key: &str, value: Option<&str>) -> CreatableTopic {
    let config = CreatableTopicConfig::default().with_name(text(key)).with_value(value.map(text));
    row(topic, 1, 1).with_configs(vec![config])
}

/// A topic whose partitions are placed by hand.
fn placed(topic: &str, partitions: &[(i32, &[i32])]) -> CreatableTopic {
    let assignments = partitions.iter().map(|(partition, brokers)| {
        CreatableReplicaAssignment::default()
            .with_partition_index(*partition)
            .with_broker_ids(brokers.iter().map(|&broker| broker.into()).collect())
    });
    row(topic, -1, -1).with_assignments(assignments.collect())
}

fn create(connection: &mut Connection, version: i16, rows: Vec<CreatableTopic>) -> Vec<CreatableTopicResult> {
    let request = CreateTopicsRequest::default().with_timeout_ms(10_000).with_topics(rows);
    let mut results = connection.call(version, &request).topics;
    // Kafka answers failed and good ones apart, in no order.
    results.sort_by_key(|result| result.name.to_string());
    results
}

/// The partitions of a topic as Metadata shows them, `None` where there is no such topic.
fn partitions(connection: &mut Connection, topic: &str) -> Option<usize> {
    let row = MetadataRequestTopic::default().with_name(Some(name(topic)));
    let request = MetadataRequest::default().with_topics(Some(vec![row])).with_allow_auto_topic_creation(false);
    let topic = connection.call(12, &request).topics.remove(0);
    (topic.error_code == 0).then_some(topic.partitions.len())
}

fn node(connection: &mut Connection) -> i32 {
    connection.call(12, &MetadataRequest::default().with_topics(Some(vec![]))).brokers[0].node_id.0
}

#[test]
fn a_topic_that_cannot_be_is_refused_with_its_reason() {
    let broker = shared();
    let mut connection = broker.connect();
    let node = node(&mut connection);
    let topic = unique("refused");
    let long = "x".repeat(250);
    for (what, row, expected) in [
        ("a slash", row("a/b", 1, 1), INVALID_TOPIC),
        ("a dot", row(".", 1, 1), INVALID_TOPIC),
        ("two dots", row("..", 1, 1), INVALID_TOPIC),
        ("nothing", row("", 1, 1), INVALID_TOPIC),
        ("a blank", row("a b", 1, 1), INVALID_TOPIC),
        ("250 characters", row(&long, 1, 1), INVALID_TOPIC),
        ("0 partitions", row(&topic, 0, 1), INVALID_PARTITIONS),
        ("-2 partitions", row(&topic, -2, 1), INVALID_PARTITIONS),
        ("0 replicas", row(&topic, 1, 0), INVALID_REPLICATION_FACTOR),
        ("-2 replicas", row(&topic, 1, -2), INVALID_REPLICATION_FACTOR),
        ("9 replicas on one node", row(&topic, 1, 9), INVALID_REPLICATION_FACTOR),
        ("an unknown config", with_config(&topic, "no.such.config", Some("1")), INVALID_CONFIG),
        ("a config of another kind", with_config(&topic, "retention.ms", Some("soon")), INVALID_CONFIG),
        ("a config out of its range", with_config(&topic, "segment.bytes", Some("1024")), INVALID_CONFIG),
        ("a config that is none of its words", with_config(&topic, "cleanup.policy", Some("shrink")), INVALID_CONFIG),
        ("a config without a value", with_config(&topic, "retention.ms", None), INVALID_CONFIG),
        ("an unknown broker", placed(&topic, &[(0, &[node + 77])]), INVALID_REPLICA_ASSIGNMENT),
        ("one broker twice", placed(&topic, &[(0, &[node, node])]), INVALID_REPLICA_ASSIGNMENT),
        ("no replica", placed(&topic, &[(0, &[])]), INVALID_REPLICA_ASSIGNMENT),
        ("partitions with a gap", placed(&topic, &[(0, &[node]), (2, &[node])]), INVALID_REPLICA_ASSIGNMENT),
        ("one partition twice", placed(&topic, &[(0, &[node]), (0, &[node])]), INVALID_REPLICA_ASSIGNMENT),
        ("a number beside an assignment", placed(&topic, &[(0, &[node])]).with_num_partitions(1), INVALID_REQUEST),
        ("a factor beside an assignment", placed(&topic, &[(0, &[node])]).with_replication_factor(1), INVALID_REQUEST),
    ] {
        for version in [2, 4, 5, 7] {
            let results = create(&mut connection, version, vec![row.clone()]);
            assert_eq!(results.iter().map(|row| row.error_code).collect::<Vec<_>>(), [expected], "v{version}, {what}");
            assert!(results[0].topic_id.is_nil(), "v{version}, {what}");
        }
    }
    assert_eq!(partitions(&mut connection, &topic), None);
}

#[test]
fn a_name_is_taken_once() {
    let broker = shared();
    let mut connection = broker.connect();
    let topic = unique("c.d");
    assert_eq!(create(&mut connection, 7, vec![row(&topic, 1, 1)])[0].error_code, 0);
    let taken = &create(&mut connection, 7, vec![row(&topic, 1, 1)])[0];
    assert_eq!(taken.error_code, TOPIC_ALREADY_EXISTS);
    assert!(taken.error_message.as_ref().is_some_and(|message| message.contains(&topic)), "{taken:?}");
    // Metrics cannot tell a dot from an underscore.
    let alike = topic.replace('.', "_");
    assert_eq!(create(&mut connection, 7, vec![row(&alike, 1, 1)])[0].error_code, INVALID_TOPIC);
}

#[test]
fn a_name_twice_in_a_request_creates_nothing() {
    let broker = shared();
    let mut connection = broker.connect();
    let (twice, once) = (unique("a-twice"), unique("b-once"));
    let results = create(&mut connection, 7, vec![row(&twice, 1, 1), row(&once, 1, 1), row(&twice, 1, 1)]);
    let seen: Vec<_> = results.iter().map(|row| (row.name.as_str(), row.error_code)).collect();
    assert_eq!(seen, [(twice.as_str(), INVALID_REQUEST), (once.as_str(), 0)]);
    eventually("the other topic is there", || partitions(&mut connection, &once));
    assert_eq!(partitions(&mut connection, &twice), None);
}

#[test]
fn topics_of_one_request_stand_or_fall_alone() {
    let broker = shared();
    let mut connection = broker.connect();
    let (bad, good) = (unique("a-bad"), unique("b-good"));
    let results = create(&mut connection, 7, vec![row(&bad, 0, 1), row(&good, 2, 1)]);
    assert_eq!(results.iter().map(|row| row.error_code).collect::<Vec<_>>(), [INVALID_PARTITIONS, 0]);
    assert_eq!(eventually("the good topic is there", || partitions(&mut connection, &good)), 2);
}

#[test]
fn minus_one_means_the_brokers_default_and_the_answer_says_what_that_is() {
    let broker = shared();
    let mut connection = broker.connect();
    for version in 2..=7 {
        let topic = unique("defaults");
        let result = create(&mut connection, version, vec![row(&topic, -1, -1)]).remove(0);
        assert_eq!(result.error_code, 0, "v{version}: {result:?}");
        let counts = (result.num_partitions, result.replication_factor);
        assert_eq!(counts, if version >= 5 { (1, 1) } else { (-1, -1) }, "v{version}");
        assert_eq!(result.topic_id.is_nil(), version < 7, "v{version}");
        if version >= 5 {
            let configs = result.configs.unwrap();
            let retention = configs.iter().find(|config| &*config.name == "retention.ms").unwrap();
            assert_eq!(retention.value.as_deref(), Some("604800000"), "v{version}");
            assert_eq!((retention.config_source, retention.read_only, retention.is_sensitive), (5, false, false));
        }
        assert_eq!(eventually("the topic is there", || partitions(&mut connection, &topic)), 1, "v{version}");
    }
}

#[test]
fn partitions_go_where_they_were_placed() {
    let broker = shared();
    let mut connection = broker.connect();
    let node = node(&mut connection);
    let topic = unique("placed");
    let result = create(&mut connection, 7, vec![placed(&topic, &[(1, &[node]), (0, &[node])])]).remove(0);
    assert_eq!((result.error_code, result.num_partitions, result.replication_factor), (0, 2, 1));
}

#[test]
fn a_rehearsal_creates_nothing() {
    let broker = shared();
    let mut connection = broker.connect();
    let topic = unique("rehearsed");
    for version in [2, 7] {
        let rows = vec![row(&topic, 3, 1)];
        let request = CreateTopicsRequest::default().with_timeout_ms(10_000).with_topics(rows).with_validate_only(true);
        let result = connection.call(version, &request).topics.remove(0);
        assert_eq!(result.error_code, 0, "v{version}");
        if version >= 5 {
            assert_eq!((result.num_partitions, result.replication_factor), (3, 1));
        }
    }
    let refused = CreateTopicsRequest::default().with_topics(vec![row(&topic, 0, 1)]).with_validate_only(true);
    assert_eq!(connection.call(7, &refused).topics[0].error_code, INVALID_PARTITIONS);
    assert_eq!(partitions(&mut connection, &topic), None);
}

#[test]
fn configs_given_at_creation_are_in_force_and_shown() {
    let broker = shared();
    let mut connection = broker.connect();
    let topic = unique("configured");
    let result = create(&mut connection, 7, vec![with_config(&topic, "retention.ms", Some("1234567"))]).remove(0);
    assert_eq!(result.error_code, 0);
    let configs = result.configs.unwrap();
    let shown = configs.iter().find(|config| &*config.name == "retention.ms").unwrap();
    assert_eq!((shown.value.as_deref(), shown.config_source), (Some("1234567"), 1));
}
