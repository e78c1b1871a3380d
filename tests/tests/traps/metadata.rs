//! Metadata: which topics are meant, which are missing, and who creates them.

use ballast_tests::raw::rows::eventually;
use ballast_tests::raw::{Connection, name};
use ballast_tests::target::{shared, unique};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::metadata_response::MetadataResponseTopic;
use kafka_protocol::messages::{MetadataRequest, MetadataResponse};
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid;

const NOT_ASKED_FOR: i32 = i32::MIN;

fn of_names(names: &[&str]) -> MetadataRequest {
    let rows = names.iter().map(|topic| MetadataRequestTopic::default().with_name(Some(name(topic))));
    MetadataRequest::default().with_topics(Some(rows.collect())).with_allow_auto_topic_creation(false)
}

fn of_id(id: Uuid) -> MetadataRequestTopic {
    MetadataRequestTopic::default().with_topic_id(id).with_name(None)
}

fn names(response: &MetadataResponse) -> Vec<&str> {
    response.topics.iter().map(|topic| topic.name.as_ref().map_or("", |name| name.as_str())).collect()
}

fn only(mut response: MetadataResponse) -> MetadataResponseTopic {
    assert_eq!(response.topics.len(), 1, "one topic was asked for: {:?}", response.topics);
    response.topics.remove(0)
}

fn one(connection: &mut Connection, version: i16, topic: &str) -> MetadataResponseTopic {
    only(connection.call(version, &of_names(&[topic])))
}

#[test]
fn an_empty_list_means_all_topics_in_version_zero_and_none_later() {
    let broker = shared();
    let topic = broker.topic("listed", 1, &[]);
    let mut connection = broker.connect();
    let empty = MetadataRequest::default().with_topics(Some(vec![])).with_allow_auto_topic_creation(true);
    let all = MetadataRequest::default().with_topics(None);
    assert!(names(&connection.call(0, &empty)).contains(&topic.name.as_str()), "v0, an empty list");
    for version in 1..=13 {
        assert_eq!(names(&connection.call(version, &empty)), [""; 0], "v{version}, an empty list");
        let listed = connection.call(version, &all);
        assert!(names(&listed).contains(&topic.name.as_str()), "v{version}, a null list");
    }
}

#[test]
fn every_version_describes_brokers_and_partitions() {
    let broker = shared();
    let topic = broker.topic("described", 3, &[]);
    let mut connection = broker.connect();
    for version in 0..=13 {
        let mut request = of_names(&[&topic.name]);
        if version < 4 {
            request.allow_auto_topic_creation = true;
        }
        let response = connection.call(version, &request);
        assert_eq!(response.error_code, 0, "v{version}");
        let [node] = &response.brokers[..] else { panic!("v{version}: {:?}", response.brokers) };
        assert_eq!(format!("{}:{}", node.host, node.port), broker.bootstrap, "v{version}: the listener that was asked");
        if version >= 1 {
            assert_eq!(response.controller_id, node.node_id, "v{version}: any live broker, never a voter elsewhere");
        }
        if version >= 2 {
            assert!(response.cluster_id.as_ref().is_some_and(|id| !id.is_empty()), "v{version}");
        }
        let described = only(response.clone());
        assert_eq!((described.error_code, described.is_internal), (0, false), "v{version}");
        if version >= 10 {
            assert_eq!(described.topic_id, topic.id, "v{version}");
        }
        let mut partitions = described.partitions;
        partitions.sort_by_key(|partition| partition.partition_index);
        assert_eq!(partitions.iter().map(|row| row.partition_index).collect::<Vec<_>>(), [0, 1, 2], "v{version}");
        for row in partitions {
            assert_eq!((row.error_code, row.leader_id), (0, node.node_id), "v{version}: {row:?}");
            assert_eq!((&row.replica_nodes, &row.isr_nodes), (&vec![node.node_id], &vec![node.node_id]), "v{version}");
            assert!(row.offline_replicas.is_empty(), "v{version}: {row:?}");
            assert_eq!(row.leader_epoch, if version >= 7 { 0 } else { -1 }, "v{version}");
        }
    }
}

#[test]
fn a_topic_is_found_by_its_id_from_version_twelve_on() {
    let broker = shared();
    let topic = broker.topic("by-id", 1, &[]);
    let mut connection = broker.connect();
    for version in [12, 13] {
        let found = only(connection.call(version, &of_names(&[]).with_topics(Some(vec![of_id(topic.id)]))));
        assert_eq!((found.error_code, found.topic_id), (0, topic.id), "v{version}");
        assert_eq!(found.name.as_deref().map(StrBytes::as_str), Some(topic.name.as_str()), "v{version}");

        let unknown = Uuid::from_u128(0x1234_5678_9abc_4def_8123_4567_89ab_cdef);
        let missing = only(connection.call(version, &of_names(&[]).with_topics(Some(vec![of_id(unknown)]))));
        assert_eq!((missing.error_code, missing.topic_id), (100, unknown), "v{version}");
        assert_eq!(missing.name, None, "v{version}: the name of an unknown id is null");
        assert!(missing.partitions.is_empty(), "v{version}");
    }
}

#[test]
fn a_row_with_an_id_drives_out_the_rows_without_one() {
    let broker = shared();
    let (by_id, by_name) = (broker.topic("by-id", 1, &[]), broker.topic("by-name", 1, &[]));
    let mut request = of_names(&[&by_name.name]);
    let both = of_id(by_id.id).with_name(Some(name(&by_name.name)));
    request.topics.as_mut().unwrap().push(both);
    assert_eq!(names(&broker.connect().call(12, &request)), [by_id.name.as_str()], "the id wins over the name too");
}

#[test]
fn an_id_before_version_twelve_is_refused_as_a_whole() {
    let broker = shared();
    let topic = broker.topic("too-early", 1, &[]);
    let mut connection = broker.connect();
    for version in [10, 11] {
        let mut request = of_names(&[&topic.name]);
        request.topics.as_mut().unwrap()[0].topic_id = topic.id;
        let response = connection.call(version, &request);
        assert_eq!(response.topics.iter().map(|row| row.error_code).collect::<Vec<_>>(), [42], "v{version}");
        assert!(response.brokers.is_empty(), "v{version}: {:?}", response.brokers);
        assert_eq!(response.controller_id.0, -1, "v{version}");
    }
}

#[test]
fn what_is_not_there_has_a_code_and_no_partitions() {
    let broker = shared();
    let mut connection = broker.connect();
    for version in [4, 9, 12, 13] {
        for (topic, expected) in [(unique("absent").as_str(), 3), ("bad name!", 17), (".", 17), ("..", 17)] {
            let row = one(&mut connection, version, topic);
            assert_eq!(row.error_code, expected, "v{version}, {topic:?}");
            assert!(row.partitions.is_empty(), "v{version}, {topic:?}");
            assert_eq!(row.name.as_deref().map(StrBytes::as_str), Some(topic), "v{version}");
            assert!(row.topic_id.is_nil(), "v{version}, {topic:?}");
        }
    }
    let long = "x".repeat(250);
    assert_eq!(one(&mut connection, 12, &long).error_code, 17);
    let neither = MetadataRequestTopic::default().with_name(None);
    assert_eq!(only(connection.call(12, &of_names(&[]).with_topics(Some(vec![neither])))).error_code, -1);
}

#[test]
fn a_name_asked_for_twice_gives_one_row() {
    let broker = shared();
    let topic = broker.topic("twice", 1, &[]);
    let response = broker.connect().call(12, &of_names(&[&topic.name, &topic.name]));
    assert_eq!(names(&response), [topic.name.as_str()]);
}

#[test]
fn internal_topics_are_marked_before_they_exist() {
    let broker = shared();
    let mut connection = broker.connect();
    assert!(one(&mut connection, 12, "__consumer_offsets").is_internal);
    assert!(one(&mut connection, 12, "__transaction_state").is_internal);
}

#[test]
fn authorized_operations_are_given_when_asked_for_only() {
    let broker = shared();
    let topic = broker.topic("operations", 1, &[]);
    let mut connection = broker.connect();
    let quiet = connection.call(8, &of_names(&[&topic.name]));
    assert_eq!(quiet.cluster_authorized_operations, NOT_ASKED_FOR);
    assert_eq!(only(quiet).topic_authorized_operations, NOT_ASKED_FOR);
    let request = of_names(&[&topic.name]).with_include_topic_authorized_operations(true);
    assert_eq!(only(connection.call(12, &request)).topic_authorized_operations, 3576, "without an authorizer: all");
    let request = request.with_include_cluster_authorized_operations(true);
    assert_eq!(connection.call(10, &request).cluster_authorized_operations, 8096, "without an authorizer: all");
}

#[test]
fn a_missing_topic_is_created_only_if_the_request_allows_it() {
    let broker = shared();
    let mut connection = broker.connect();
    let (kept_out, created) = (unique("not-created"), unique("created"));
    assert_eq!(one(&mut connection, 12, &kept_out).error_code, 3);
    let allowed = of_names(&[&created]).with_allow_auto_topic_creation(true);
    assert_eq!(only(connection.call(12, &allowed)).error_code, 3, "the first answer says that it is not there yet");
    let row = eventually("the topic is created", || {
        let row = one(&mut connection, 12, &created);
        (row.error_code == 0).then_some(row)
    });
    assert_eq!(row.partitions.len(), 1, "num.partitions");
    let bad = of_names(&["bad name!"]).with_allow_auto_topic_creation(true);
    assert_eq!(only(connection.call(12, &bad)).error_code, 17);
    let listed = connection.call(12, &MetadataRequest::default().with_topics(None));
    let listed = names(&listed);
    assert!(!listed.contains(&kept_out.as_str()) && !listed.contains(&"bad name!"), "{listed:?}");
}
