//! What the active controller decides can be asked for at any node, and is done there when it is answered.

use ballast_broker::embed::{Broker, Cluster};
use ballast_tests::raw::Connection;
use ballast_tests::raw::connection::encoded;
use ballast_wire::frame::{ApiKey, RequestHeader, Writer, parse_response_header};
use kafka_protocol::messages::create_partitions_request::CreatePartitionsTopic;
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{
    CreatePartitionsRequest, CreateTopicsRequest, CreateTopicsResponse, DefaultPrincipalData, DeleteTopicsRequest,
    DescribeConfigsRequest, DescribeQuorumRequest, EnvelopeRequest, FindCoordinatorRequest,
    IncrementalAlterConfigsRequest, MetadataRequest, TopicName, UnregisterBrokerRequest,
};
use kafka_protocol::protocol::{Decodable as _, Encodable as _, StrBytes};

const TOPIC: i8 = 2;
const BROKER: i8 = 4;
const INVALID_REQUEST: i16 = 42;
const TOPIC_ALREADY_EXISTS: i16 = 36;
const BROKER_ID_NOT_REGISTERED: i16 = 102;

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

fn topic(name: &str) -> TopicName {
    TopicName(text(name))
}

fn create(connection: &mut Connection, name: &str) -> i16 {
    let wanted = CreatableTopic::default().with_name(topic(name)).with_num_partitions(2).with_replication_factor(3);
    let request = CreateTopicsRequest::default().with_topics(vec![wanted]).with_timeout_ms(30_000);
    connection.call(7, &request).topics[0].error_code
}

/// Partitions of a topic, as this node tells it.
fn partitions(connection: &mut Connection, name: &str) -> usize {
    let wanted = MetadataRequestTopic::default().with_name(Some(topic(name)));
    let request = MetadataRequest::default().with_topics(Some(vec![wanted]));
    connection.call(12, &request).topics[0].partitions.len()
}

fn set(connection: &mut Connection, kind: i8, name: &str, (key, value): (&str, &str)) -> i16 {
    let config = AlterableConfig::default().with_name(text(key)).with_value(Some(text(value)));
    let resource = AlterConfigsResource::default().with_resource_type(kind).with_resource_name(text(name));
    let request = IncrementalAlterConfigsRequest::default().with_resources(vec![resource.with_configs(vec![config])]);
    let answer = connection.call(1, &request);
    assert_eq!((answer.responses.len(), &*answer.responses[0].resource_name), (1, name));
    answer.responses[0].error_code
}

fn config(connection: &mut Connection, kind: i8, name: &str, key: &str) -> Option<String> {
    let resource = DescribeConfigsResource::default().with_resource_type(kind).with_resource_name(text(name));
    let resource = resource.with_configuration_keys(Some(vec![text(key)]));
    let answer = connection.call(4, &DescribeConfigsRequest::default().with_resources(vec![resource]));
    let row = answer.results[0].configs.first()?;
    row.value.as_ref().map(ToString::to_string)
}

fn connect(broker: &Broker) -> Connection {
    Connection::open(broker.bootstrap())
}

#[test]
fn any_node_makes_grows_changes_and_deletes_a_topic() {
    let cluster = Cluster::builder().start_blocking().expect("it starts");
    for (id, broker) in (1..).zip(cluster.brokers()) {
        let (mut connection, name) = (connect(broker), format!("made-at-{id}"));
        assert_eq!(create(&mut connection, &name), 0, "at node {id}");
        assert_eq!(partitions(&mut connection, &name), 2, "node {id} knows what it has answered");
        assert_eq!(create(&mut connection, &name), TOPIC_ALREADY_EXISTS);
        let more = CreatePartitionsTopic::default().with_name(topic(&name)).with_count(3).with_assignments(None);
        let request = CreatePartitionsRequest::default().with_topics(vec![more]).with_timeout_ms(30_000);
        assert_eq!(connection.call(3, &request).results[0].error_code, 0);
        assert_eq!(partitions(&mut connection, &name), 3);
        assert_eq!(set(&mut connection, TOPIC, &name, ("retention.ms", "4242")), 0);
        assert_eq!(config(&mut connection, TOPIC, &name, "retention.ms").as_deref(), Some("4242"));
        let gone = DeleteTopicState::default().with_name(Some(topic(&name)));
        let request = DeleteTopicsRequest::default().with_topics(vec![gone]).with_timeout_ms(30_000);
        assert_eq!(connection.call(6, &request).responses[0].error_code, 0);
        assert_eq!(partitions(&mut connection, &name), 0);
        let request = UnregisterBrokerRequest::default().with_broker_id(77.into());
        assert_eq!(connection.call(0, &request).error_code, BROKER_ID_NOT_REGISTERED);
    }
}

#[test]
fn a_broker_takes_configs_of_its_own_and_of_no_other() {
    let cluster = Cluster::builder().start_blocking().expect("it starts");
    for (id, broker) in (1..).zip(cluster.brokers()) {
        let (mut connection, other) = (connect(broker), (id % 3 + 1).to_string());
        let change = ("num.io.threads", "9");
        assert_eq!(set(&mut connection, BROKER, &other, change), INVALID_REQUEST, "node {id} is not {other}");
        assert_eq!(set(&mut connection, BROKER, &id.to_string(), change), 0);
        assert_eq!(config(&mut connection, BROKER, &id.to_string(), change.0).as_deref(), Some("9"));
    }
}

#[test]
fn any_node_makes_a_topic_that_is_asked_for_and_the_groups_topic() {
    let cluster = Cluster::builder().start_blocking().expect("it starts");
    for (id, broker) in (1..).zip(cluster.brokers()) {
        let (mut connection, name) = (connect(broker), format!("asked-for-at-{id}"));
        let wanted = MetadataRequestTopic::default().with_name(Some(topic(&name)));
        let request = MetadataRequest::default().with_topics(Some(vec![wanted])).with_allow_auto_topic_creation(true);
        connection.call(12, &request);
        ballast_tests::raw::rows::eventually("the topic is there", || {
            (partitions(&mut connection, &name) > 0).then_some(())
        });
    }
    let not_leading = (1..=3).find(|id| Some(*id) != cluster.controller_blocking()).expect("two do not lead");
    let request = FindCoordinatorRequest::default().with_coordinator_keys(vec![text("billing")]);
    let answer = connect(cluster.broker(not_leading)).call(4, &request);
    assert_eq!(answer.coordinators[0].error_code, 0, "{answer:?}");
}

/// Creates a topic at the active controller as a broker does in a client's name; `once` is the same in every copy. Code
/// and id.
fn in_an_envelope(controller: &mut Connection, topic_name: &str, once: [u8; 16]) -> (i16, uuid::Uuid) {
    const VERSION: i16 = 7;
    const ONCE_TAG: i32 = 20_001;
    let wanted =
        CreatableTopic::default().with_name(topic(topic_name)).with_num_partitions(1).with_replication_factor(3);
    let request = CreateTopicsRequest::default().with_topics(vec![wanted]).with_timeout_ms(30_000);
    let mut inner = Writer::frame();
    RequestHeader { key: ApiKey::CREATE_TOPICS, version: VERSION, correlation_id: 1, client_id: None }
        .encode(&mut inner);
    inner.raw(&encoded(VERSION, &request));
    let mut principal = vec![0, 0];
    let user = DefaultPrincipalData::default().with_type(text("User")).with_name(text("ANONYMOUS"));
    user.encode(&mut principal, 0).expect("it encodes");
    let envelope = EnvelopeRequest::default()
        .with_request_data(inner.finish_frame(0).slice(4..))
        .with_request_principal(Some(principal.into()))
        .with_client_host_address(vec![127, 0, 0, 1].into())
        .with_unknown_tagged_field(ONCE_TAG, once.to_vec().into());
    let answer = controller.call(0, &envelope);
    assert_eq!(answer.error_code, 0);
    let answer = answer.response_data.expect("there is an answer in it");
    let (_, body) = parse_response_header(&answer, ApiKey::CREATE_TOPICS, VERSION).expect("a header");
    let row = CreateTopicsResponse::decode(&mut answer.slice(body.position()..), VERSION)
        .expect("it decodes")
        .topics
        .remove(0);
    (row.error_code, row.topic_id)
}

#[test]
fn a_topic_that_an_earlier_copy_of_the_request_made_is_not_called_anothers() {
    let cluster = Cluster::builder().start_blocking().expect("it starts");
    let active = cluster.controller_blocking().expect("somebody decides");
    let nodes = connect(cluster.broker(1)).call(2, &DescribeQuorumRequest::default()).nodes;
    let node = nodes.iter().find(|node| node.node_id.0 == active).expect("it is a member");
    let at = &node.listeners[0];
    let mut controller = Connection::open(&format!("{}:{}", at.host, at.port));
    let first = in_an_envelope(&mut controller, "once", [7; 16]);
    assert_eq!(first.0, 0);
    // Its answer was lost; the broker asks again.
    assert_eq!(in_an_envelope(&mut controller, "once", [7; 16]), first);
    assert_eq!(in_an_envelope(&mut controller, "once", [8; 16]).0, TOPIC_ALREADY_EXISTS, "another request");
    assert_eq!(create(&mut connect(cluster.broker(2)), "once"), TOPIC_ALREADY_EXISTS);
}
