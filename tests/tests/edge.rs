//! The broker's edge: several listeners, and an authorizer that every API asks.

use std::collections::BTreeSet;
use std::sync::Arc;

use ballast_broker::session::{AllowAll, DenyAll};
use ballast_tests::embedded::Embedded;
use ballast_tests::raw::groups;
use ballast_tests::raw::{Connection, Fetch, batch, fetch_row, name, text};
use kafka_protocol::messages::api_versions_request::ApiVersionsRequest;
use kafka_protocol::messages::create_partitions_request::CreatePartitionsTopic;
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::delete_records_request::{DeleteRecordsPartition, DeleteRecordsTopic};
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::describe_topic_partitions_request::TopicRequest;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::offset_for_leader_epoch_request::{OffsetForLeaderPartition, OffsetForLeaderTopic};
use kafka_protocol::messages::{
    CreatePartitionsRequest, CreateTopicsRequest, DeleteGroupsRequest, DeleteRecordsRequest, DeleteTopicsRequest,
    DescribeClusterRequest, DescribeConfigsRequest, DescribeGroupsRequest, DescribeLogDirsRequest,
    DescribeQuorumRequest, DescribeTopicPartitionsRequest, FindCoordinatorRequest, InitProducerIdRequest,
    LeaveGroupRequest, ListGroupsRequest, ListOffsetsRequest, MetadataRequest, OffsetDeleteRequest,
    OffsetForLeaderEpochRequest, ProduceRequest,
};

const TOPIC_AUTHORIZATION_FAILED: i16 = 29;
const GROUP_AUTHORIZATION_FAILED: i16 = 30;
const CLUSTER_AUTHORIZATION_FAILED: i16 = 31;

fn address(embedded: &Embedded, listener: usize) -> String {
    let endpoint = &embedded.broker().listeners()[listener];
    format!("127.0.0.1:{}", endpoint.port)
}

fn produce() -> ProduceRequest {
    ballast_tests::raw::messages::produce(1, "t", 0, Some(batch(&["a"])))
}

fn metadata(connection: &mut Connection) -> (i16, Vec<(String, i32)>) {
    let topic = MetadataRequestTopic::default().with_name(Some(name("t")));
    let response = connection.call(9, &MetadataRequest::default().with_topics(Some(vec![topic])));
    let brokers = response.brokers.iter().map(|broker| (broker.host.to_string(), broker.port)).collect();
    (response.topics[0].error_code, brokers)
}

/// What each API says to who may do nothing, with its key.
fn answers(connection: &mut Connection) -> Vec<(i16, i16)> {
    let topic = || name("t");
    let listed = ListOffsetsTopic::default().with_name(topic()).with_partitions(vec![ListOffsetsPartition::default()]);
    let removed = DeleteRecordsTopic::default().with_name(topic());
    let removed = removed.with_partitions(vec![DeleteRecordsPartition::default()]);
    let asked = OffsetForLeaderTopic::default().with_topic(topic());
    let asked = asked.with_partitions(vec![OffsetForLeaderPartition::default()]);
    let new = CreatableTopic::default().with_name(topic()).with_num_partitions(1).with_replication_factor(1);
    let more = CreatePartitionsTopic::default().with_name(topic()).with_count(3);
    let config = DescribeConfigsResource::default().with_resource_type(2).with_resource_name(text("t"));
    let wanted = TopicRequest::default().with_name(topic());
    let fetch = Fetch::of("t", vec![fetch_row(0, 0)]);
    let delete = DeleteTopicsRequest::default().with_topic_names(vec![topic()]).with_timeout_ms(9000);
    let create = CreateTopicsRequest::default().with_topics(vec![new]).with_timeout_ms(9000);
    let grow = CreatePartitionsRequest::default().with_topics(vec![more]).with_timeout_ms(9000);
    let describe = DescribeTopicPartitionsRequest::default().with_topics(vec![wanted]).with_response_partition_limit(9);
    vec![
        (0, connection.call(9, &produce()).responses[0].partition_responses[0].error_code),
        (1, connection.call(12, &fetch.0).responses[0].partitions[0].error_code),
        (
            2,
            connection.call(6, &ListOffsetsRequest::default().with_topics(vec![listed])).topics[0].partitions[0]
                .error_code,
        ),
        (3, metadata(connection).0),
        (19, connection.call(5, &create).topics[0].error_code),
        (20, connection.call(5, &delete).responses[0].error_code),
        (
            21,
            connection.call(2, &DeleteRecordsRequest::default().with_topics(vec![removed])).topics[0].partitions[0]
                .error_code,
        ),
        (22, connection.call(4, &InitProducerIdRequest::default().with_transactional_id(None)).error_code),
        (
            23,
            connection.call(4, &OffsetForLeaderEpochRequest::default().with_topics(vec![asked])).topics[0].partitions
                [0]
            .error_code,
        ),
        (32, connection.call(4, &DescribeConfigsRequest::default().with_resources(vec![config])).results[0].error_code),
        (35, connection.call(4, &DescribeLogDirsRequest::default()).error_code),
        (37, connection.call(3, &grow).results[0].error_code),
        (55, connection.call(2, &DescribeQuorumRequest::default()).error_code),
        (75, connection.call(0, &describe).topics[0].error_code),
    ]
}

/// The same of the APIs of groups.
fn group_answers(connection: &mut Connection) -> Vec<(i16, i16)> {
    let find = FindCoordinatorRequest::default().with_coordinator_keys(vec![text("g")]);
    let leave = LeaveGroupRequest::default().with_group_id(groups::group_id("g"));
    let leave = leave.with_members(vec![MemberIdentity::default().with_member_id(text("m"))]);
    let describe = DescribeGroupsRequest::default().with_groups(vec![groups::group_id("g")]);
    let delete = DeleteGroupsRequest::default().with_groups_names(vec![groups::group_id("g")]);
    let forget = OffsetDeleteRequest::default().with_group_id(groups::group_id("g"));
    vec![
        (8, connection.call(9, &groups::commit("g", "", -1, "t", &[(0, 1, None)])).topics[0].partitions[0].error_code),
        (9, connection.offsets("g", None).error_code),
        (10, connection.call(6, &find).coordinators[0].error_code),
        (11, connection.call(9, &groups::join("g", "")).error_code),
        (12, connection.call(4, &groups::heartbeat("g", "m", 1)).error_code),
        (13, connection.call(5, &leave).error_code),
        (14, connection.call(5, &groups::sync("g", "m", 1, &[])).error_code),
        (15, connection.call(5, &describe).groups[0].error_code),
        (42, connection.call(2, &delete).results[0].error_code),
        (47, connection.call(0, &forget).error_code),
    ]
}

#[test]
fn who_may_do_nothing_is_refused_by_every_api_that_is_advertised() {
    let embedded = Embedded::start(&["listeners=PLAINTEXT://127.0.0.1:0"], Arc::new(DenyAll));
    let mut connection = Connection::open(&address(&embedded, 0));
    let refused = answers(&mut connection);
    for (key, code) in &refused {
        let expected =
            if [22, 35, 55].contains(key) { CLUSTER_AUTHORIZATION_FAILED } else { TOPIC_AUTHORIZATION_FAILED };
        assert_eq!(*code, expected, "key {key}");
    }
    let of_groups = group_answers(&mut connection);
    for (key, code) in &of_groups {
        assert_eq!(*code, GROUP_AUTHORIZATION_FAILED, "key {key}");
    }
    // These tell what every client must know, and nothing about topics and groups.
    let open: BTreeSet<i16> = [16, 18, 60].into();
    let asked: BTreeSet<i16> = refused.into_iter().chain(of_groups).map(|(key, _)| key).chain(open).collect();
    let listed = connection.call(5, &ListGroupsRequest::default());
    assert_eq!((listed.error_code, listed.groups.len()), (0, 0), "groups are shown to who may not see them");
    let versions =
        ApiVersionsRequest::default().with_client_software_name(text("edge")).with_client_software_version(text("1"));
    let advertised: BTreeSet<i16> = connection.call(3, &versions).api_keys.iter().map(|api| api.api_key).collect();
    assert_eq!(asked, advertised, "an API that nobody asked here");
    let operations = DescribeClusterRequest::default().with_include_cluster_authorized_operations(true);
    assert_eq!(connection.call(0, &operations).cluster_authorized_operations, 0);
    let everything = connection.call(9, &MetadataRequest::default().with_topics(None));
    assert!(everything.topics.is_empty(), "topics are shown to who may not see them");
}

#[test]
fn who_may_do_everything_is_refused_by_none() {
    let embedded = Embedded::start(&["listeners=PLAINTEXT://127.0.0.1:0"], Arc::new(AllowAll));
    let mut connection = Connection::open(&address(&embedded, 0));
    connection.create_topic("t", 1, &[]);
    connection.coordinator("g");
    for (key, code) in answers(&mut connection).into_iter().chain(group_answers(&mut connection)) {
        assert!(![29, 30, 31].contains(&code), "key {key} answered {code}");
    }
    embedded.stop();
}

#[test]
fn each_listener_is_told_its_own_advertised_address() {
    let settings = [
        "listeners=INSIDE://127.0.0.1:0,OUTSIDE://127.0.0.1:0",
        "advertised.listeners=INSIDE://localhost:0,OUTSIDE://kafka.example.org:19092",
        "listener.security.protocol.map=INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT",
        "inter.broker.listener.name=INSIDE",
    ];
    let embedded = Embedded::start(&settings, Arc::new(AllowAll));
    let inside = embedded.broker().listeners()[0].clone();
    assert_ne!(inside.port, 0, "a bound port 0 is advertised as bound");
    let mut connection = Connection::open(&format!("127.0.0.1:{}", inside.port));
    let told = metadata(&mut connection).1;
    assert_eq!(told, [("localhost".to_owned(), i32::from(inside.port))]);
    embedded.stop();
}
