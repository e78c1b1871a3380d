//! The broker's edge: several listeners, and an authorizer that every API asks.

use std::collections::BTreeSet;
use std::sync::Arc;

use ballast_broker::session::{AllowAll, DenyAll};
use ballast_tests::embedded::Embedded;
use ballast_tests::raw::groups;
use ballast_tests::raw::{Connection, Fetch, batch, fetch_row, name, text};
use kafka_protocol::messages::alter_replica_log_dirs_request::{AlterReplicaLogDir, AlterReplicaLogDirTopic};
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
    AddRaftVoterRequest, AlterConfigsRequest, AlterReplicaLogDirsRequest, CreatePartitionsRequest, CreateTopicsRequest,
    DeleteGroupsRequest, DeleteRecordsRequest, DeleteTopicsRequest, DescribeAclsRequest, DescribeClusterRequest,
    DescribeConfigsRequest, DescribeGroupsRequest, DescribeLogDirsRequest, DescribeProducersRequest,
    DescribeQuorumRequest, DescribeTopicPartitionsRequest, DescribeUserScramCredentialsRequest, ElectLeadersRequest,
    FindCoordinatorRequest, IncrementalAlterConfigsRequest, InitProducerIdRequest, LeaveGroupRequest,
    ListConfigResourcesRequest, ListGroupsRequest, ListOffsetsRequest, ListPartitionReassignmentsRequest,
    MetadataRequest, OffsetDeleteRequest, OffsetForLeaderEpochRequest, ProduceRequest, RemoveRaftVoterRequest,
    UnregisterBrokerRequest, UpdateFeaturesRequest, alter_configs_request, describe_producers_request,
    incremental_alter_configs_request,
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
    [client_answers(connection), admin_answers(connection)].concat()
}

/// The APIs of producers and consumers.
fn client_answers(connection: &mut Connection) -> Vec<(i16, i16)> {
    let topic = || name("t");
    let listed = ListOffsetsTopic::default().with_name(topic()).with_partitions(vec![ListOffsetsPartition::default()]);
    let asked = OffsetForLeaderTopic::default().with_topic(topic());
    let asked = asked.with_partitions(vec![OffsetForLeaderPartition::default()]);
    let list = ListOffsetsRequest::default().with_topics(vec![listed]);
    let epochs = OffsetForLeaderEpochRequest::default().with_topics(vec![asked]);
    let fetch = Fetch::of("t", vec![fetch_row(0, 0)]);
    vec![
        (0, connection.call(9, &produce()).responses[0].partition_responses[0].error_code),
        (1, connection.call(12, &fetch.0).responses[0].partitions[0].error_code),
        (2, connection.call(6, &list).topics[0].partitions[0].error_code),
        (3, metadata(connection).0),
        (22, connection.call(4, &InitProducerIdRequest::default().with_transactional_id(None)).error_code),
        (23, connection.call(4, &epochs).topics[0].partitions[0].error_code),
    ]
}

/// The APIs of administrators.
fn admin_answers(connection: &mut Connection) -> Vec<(i16, i16)> {
    let topic = || name("t");
    let removed = DeleteRecordsTopic::default().with_name(topic());
    let removed = removed.with_partitions(vec![DeleteRecordsPartition::default()]);
    let new = CreatableTopic::default().with_name(topic()).with_num_partitions(1).with_replication_factor(1);
    let more = CreatePartitionsTopic::default().with_name(topic()).with_count(3);
    let wanted = TopicRequest::default().with_name(topic());
    let remembered = describe_producers_request::TopicRequest::default().with_name(topic());
    let remembered = remembered.with_partition_indexes(vec![0]);
    let delete = DeleteTopicsRequest::default().with_topic_names(vec![topic()]).with_timeout_ms(9000);
    let create = CreateTopicsRequest::default().with_topics(vec![new]).with_timeout_ms(9000);
    let grow = CreatePartitionsRequest::default().with_topics(vec![more]).with_timeout_ms(9000);
    let remove = DeleteRecordsRequest::default().with_topics(vec![removed]);
    let producers = DescribeProducersRequest::default().with_topics(vec![remembered]);
    let describe = DescribeTopicPartitionsRequest::default().with_topics(vec![wanted]).with_response_partition_limit(9);
    let moved = AlterReplicaLogDirTopic::default().with_name(topic()).with_partitions(vec![0]);
    let moved = AlterReplicaLogDir::default().with_topics(vec![moved]);
    let moved = AlterReplicaLogDirsRequest::default().with_dirs(vec![moved]);
    let mut rows = vec![
        (19, connection.call(5, &create).topics[0].error_code),
        (20, connection.call(5, &delete).responses[0].error_code),
        (21, connection.call(2, &remove).topics[0].partitions[0].error_code),
        (29, connection.call(3, &DescribeAclsRequest::default()).error_code),
        (34, connection.call(2, &moved).results[0].partitions[0].error_code),
        (35, connection.call(4, &DescribeLogDirsRequest::default()).error_code),
        (37, connection.call(3, &grow).results[0].error_code),
        (43, connection.call(2, &ElectLeadersRequest::default().with_timeout_ms(9000)).error_code),
        (46, connection.call(0, &ListPartitionReassignmentsRequest::default()).error_code),
        (50, connection.call(0, &DescribeUserScramCredentialsRequest::default()).error_code),
        (55, connection.call(2, &DescribeQuorumRequest::default()).error_code),
        (57, connection.call(2, &UpdateFeaturesRequest::default().with_timeout_ms(9000)).error_code),
        (61, connection.call(0, &producers).topics[0].partitions[0].error_code),
        (64, connection.call(0, &UnregisterBrokerRequest::default().with_broker_id(77.into())).error_code),
        (74, connection.call(1, &ListConfigResourcesRequest::default()).error_code),
        (75, connection.call(0, &describe).topics[0].error_code),
        (80, connection.call(0, &AddRaftVoterRequest::default()).error_code),
        (81, connection.call(0, &RemoveRaftVoterRequest::default()).error_code),
    ];
    for (kind, name) in [(2, "t"), (4, "1"), (8, "1"), (16, "m"), (32, "g")] {
        rows.extend(config_answers(connection, kind, name));
    }
    rows
}

/// The APIs of configs, about one type of resource. An answer that is not that type's refusal is told as it is.
fn config_answers(connection: &mut Connection, kind: i8, name: &str) -> [(i16, i16); 3] {
    let described = DescribeConfigsResource::default().with_resource_type(kind).with_resource_name(text(name));
    let replaced = alter_configs_request::AlterConfigsResource::default().with_resource_type(kind);
    let replaced = replaced.with_resource_name(text(name));
    let changed = incremental_alter_configs_request::AlterConfigsResource::default().with_resource_type(kind);
    let changed = changed.with_resource_name(text(name));
    let describe = DescribeConfigsRequest::default().with_resources(vec![described]);
    let replace = AlterConfigsRequest::default().with_resources(vec![replaced]);
    let change = IncrementalAlterConfigsRequest::default().with_resources(vec![changed]);
    let codes = [
        connection.call(4, &describe).results[0].error_code,
        connection.call(2, &replace).responses[0].error_code,
        connection.call(1, &change).responses[0].error_code,
    ];
    let refusal = match kind {
        2 => TOPIC_AUTHORIZATION_FAILED,
        32 => GROUP_AUTHORIZATION_FAILED,
        _ => CLUSTER_AUTHORIZATION_FAILED,
    };
    let of_topic = |code: i16| if code == refusal { TOPIC_AUTHORIZATION_FAILED } else { code };
    [(32, of_topic(codes[0])), (33, of_topic(codes[1])), (44, of_topic(codes[2]))]
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
        let of_cluster = [22, 29, 34, 35, 43, 46, 50, 55, 57, 64, 74, 80, 81];
        let expected = if of_cluster.contains(key) { CLUSTER_AUTHORIZATION_FAILED } else { TOPIC_AUTHORIZATION_FAILED };
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
