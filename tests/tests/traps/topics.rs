//! DeleteTopics, CreatePartitions and DeleteRecords: what is refused, and what is true afterwards.

use ballast_tests::raw::messages::produce;
use ballast_tests::raw::rows::{FETCH, eventually};
use ballast_tests::raw::{Connection, Fetch, batch, fetch_row, name};
use ballast_tests::target::{Topic, shared, unique};
use kafka_protocol::messages::create_partitions_request::{CreatePartitionsAssignment, CreatePartitionsTopic};
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{CreatePartitionsRequest, DeleteTopicsRequest, MetadataRequest};
use uuid::Uuid;

fn delete_named(connection: &mut Connection, version: i16, topic: &str) -> i16 {
    let request = DeleteTopicsRequest::default().with_topic_names(vec![name(topic)]).with_timeout_ms(10_000);
    let response = connection.call(version, &request);
    assert_eq!(response.responses.len(), 1, "{response:?}");
    response.responses[0].error_code
}

fn delete_states(connection: &mut Connection, states: Vec<DeleteTopicState>) -> Vec<i16> {
    let request = DeleteTopicsRequest::default().with_topics(states).with_timeout_ms(10_000);
    connection.call(6, &request).responses.iter().map(|row| row.error_code).collect()
}

fn state(topic: Option<&str>, id: Uuid) -> DeleteTopicState {
    DeleteTopicState::default().with_name(topic.map(name)).with_topic_id(id)
}

fn code(connection: &mut Connection, topic: &str) -> i16 {
    let row = MetadataRequestTopic::default().with_name(Some(name(topic)));
    let request = MetadataRequest::default().with_topics(Some(vec![row])).with_allow_auto_topic_creation(false);
    connection.call(12, &request).topics[0].error_code
}

#[test]
fn a_deleted_topic_is_gone_and_its_name_is_free_for_another() {
    let broker = shared();
    let mut connection = broker.connect();
    let Topic { name: topic, id: old } = broker.topic("deleted", 1, &[]);
    connection.append(&topic, 0, batch(&["of the old one"]));
    assert_eq!(delete_named(&mut connection, 5, &topic), 0);
    eventually("the topic is gone", || (code(&mut connection, &topic) == 3).then_some(()));
    assert_eq!(connection.produce(12, &topic, 0, batch(&["a"])).error_code, 3);

    let new = connection.create_topic(&topic, 1, &[]);
    assert_ne!(new, old);
    assert_eq!(connection.bounds(&topic, 0), (0, 0), "nothing of the old one shows");
    let mut request = produce(-1, "", 0, Some(batch(&["a"])));
    request.topic_data[0].topic_id = old;
    assert_eq!(connection.produced(13, &request).error_code, 100, "a writer that knew the old one is stopped");
    let row = connection.fetched(13, &Fetch::default().and_id(old, vec![fetch_row(0, 0)]));
    assert_eq!(row.error_code, 100, "and so is a reader");
    assert_eq!(connection.append(&topic, 0, batch(&["b"])), 0);
}

#[test]
fn every_version_deletes() {
    let broker = shared();
    let mut connection = broker.connect();
    for version in 1..=5 {
        let topic = broker.topic("deleted", 1, &[]);
        assert_eq!(delete_named(&mut connection, version, &topic.name), 0, "v{version}");
    }
    let (by_name, by_id) = (broker.topic("deleted", 1, &[]), broker.topic("deleted", 1, &[]));
    let states = vec![state(Some(&by_name.name), Uuid::nil()), state(None, by_id.id)];
    assert_eq!(delete_states(&mut connection, states), [0, 0]);
    eventually("both are gone", || (code(&mut connection, &by_id.name) == 3).then_some(()));
}

#[test]
fn what_cannot_be_deleted_has_a_code() {
    let broker = shared();
    let mut connection = broker.connect();
    let topic = broker.topic("kept", 1, &[]);
    for version in [1, 5] {
        assert_eq!(delete_named(&mut connection, version, &unique("absent")), 3, "v{version}");
    }
    let unknown = Uuid::from_u128(0x1234_5678_9abc_4def_8123_4567_89ab_cdef);
    assert_eq!(delete_states(&mut connection, vec![state(None, unknown)]), [100]);
    assert_eq!(delete_states(&mut connection, vec![state(Some(&topic.name), topic.id)]), [42], "name and id");
    assert_eq!(delete_states(&mut connection, vec![state(None, Uuid::nil())]), [42], "neither");
    let twice = vec![state(Some(&topic.name), Uuid::nil()), state(None, topic.id)];
    assert!(delete_states(&mut connection, twice).iter().all(|code| *code == 42), "the same topic twice");
    assert_eq!(code(&mut connection, &topic.name), 0, "it is still there");
}

fn grown(topic: &str, count: i32) -> CreatePartitionsTopic {
    CreatePartitionsTopic::default().with_name(name(topic)).with_count(count).with_assignments(None)
}

fn placed(topic: &str, count: i32, brokers: &[&[i32]]) -> CreatePartitionsTopic {
    let rows = brokers.iter().map(|brokers| {
        let ids = brokers.iter().map(|&broker| broker.into()).collect();
        CreatePartitionsAssignment::default().with_broker_ids(ids)
    });
    grown(topic, count).with_assignments(Some(rows.collect()))
}

fn grow(connection: &mut Connection, version: i16, rows: Vec<CreatePartitionsTopic>) -> Vec<i16> {
    let request = CreatePartitionsRequest::default().with_topics(rows).with_timeout_ms(10_000);
    connection.call(version, &request).results.iter().map(|row| row.error_code).collect()
}

#[test]
fn partitions_that_cannot_be_added_have_a_code() {
    let broker = shared();
    let topic = broker.topic("grown", 2, &[]);
    let mut connection = broker.connect();
    let node = connection.call(12, &MetadataRequest::default().with_topics(Some(vec![]))).brokers[0].node_id.0;
    let name = topic.name.as_str();
    for (what, row, expected) in [
        ("as many as there are", grown(name, 2), 37),
        ("fewer than there are", grown(name, 1), 37),
        ("none", grown(name, 0), 37),
        ("a negative number", grown(name, -1), 37),
        ("a topic that is not there", grown(&unique("absent"), 3), 3),
        ("a bad name", grown("a b", 3), 3),
        ("an empty placement", placed(name, 3, &[]), 39),
        ("a placement of too many", placed(name, 3, &[&[node], &[node]]), 39),
        ("a placement on an unknown broker", placed(name, 3, &[&[node + 77]]), 39),
        ("a placement on one broker twice", placed(name, 3, &[&[node, node]]), 39),
        ("a placement on none", placed(name, 3, &[&[]]), 39),
    ] {
        for version in [0, 3] {
            assert_eq!(grow(&mut connection, version, vec![row.clone()]), [expected], "v{version}, {what}");
        }
    }
    assert_eq!(grow(&mut connection, 3, vec![grown(name, 3), grown(name, 4)]), [42], "one topic twice");
    assert_eq!(connection.offset_at(name, 2, -1).error_code, 3, "nothing was added");
}

#[test]
fn added_partitions_can_be_used_and_the_old_ones_keep_their_records() {
    let broker = shared();
    let topic = broker.topic("grown", 1, &[]);
    let mut connection = broker.connect();
    let node = connection.call(12, &MetadataRequest::default().with_topics(Some(vec![]))).brokers[0].node_id.0;
    connection.append(&topic.name, 0, batch(&["a"]));
    let rehearsal = CreatePartitionsRequest::default()
        .with_topics(vec![grown(&topic.name, 2)])
        .with_timeout_ms(10_000)
        .with_validate_only(true);
    assert_eq!(connection.call(3, &rehearsal).results[0].error_code, 0);
    assert_eq!(connection.offset_at(&topic.name, 1, -1).error_code, 3, "a rehearsal adds nothing");

    assert_eq!(grow(&mut connection, 3, vec![grown(&topic.name, 2)]), [0]);
    assert_eq!(grow(&mut connection, 3, vec![placed(&topic.name, 3, &[&[node]])]), [0]);
    eventually("the new partitions are led", || {
        [1, 2].iter().all(|&partition| connection.offset_at(&topic.name, partition, -1).error_code == 0).then_some(())
    });
    assert_eq!(connection.append(&topic.name, 2, batch(&["b"])), 0);
    assert_eq!(connection.bounds(&topic.name, 0), (0, 1));
}

#[test]
fn records_are_deleted_up_to_an_offset_and_no_further_than_the_high_watermark() {
    let broker = shared();
    let topic = broker.topic("records", 1, &[]);
    let mut connection = broker.connect();
    connection.append(&topic.name, 0, batch(&["a", "b", "c"]));
    connection.append(&topic.name, 0, batch(&["d"]));
    let mut delete = |offset| {
        let row = connection.delete_records(&topic.name, 0, offset);
        (row.error_code, row.low_watermark)
    };
    assert_eq!(delete(-2), (1, -1));
    assert_eq!(delete(5), (1, -1), "beyond the high watermark");
    assert_eq!(delete(2), (0, 2), "inside a batch");
    assert_eq!(delete(1), (0, 2), "below the start: it stays");
    assert_eq!(connection.bounds(&topic.name, 0), (2, 4));
    assert_eq!(connection.fetched(FETCH, &Fetch::of(&topic.name, vec![fetch_row(0, 1)])).error_code, 1);
    assert_eq!(connection.fetch(&topic.name, 0, 2).log_start_offset, 2);
    assert_eq!(connection.produce(12, &topic.name, 0, batch(&["e"])).log_start_offset, 2);

    let all = connection.delete_records(&topic.name, 0, -1);
    assert_eq!((all.error_code, all.low_watermark), (0, 5), "-1 is the high watermark");
    assert_eq!(connection.bounds(&topic.name, 0), (5, 5));
    assert_eq!(connection.append(&topic.name, 0, batch(&["f"])), 5);
}

#[test]
fn records_of_a_partition_that_is_not_there_cannot_be_deleted() {
    let broker = shared();
    let topic = broker.topic("records", 1, &[]);
    let mut connection = broker.connect();
    for (topic, partition) in [(topic.name.as_str(), 7), (unique("absent").as_str(), 0)] {
        let row = connection.delete_records(topic, partition, 0);
        assert_eq!((row.error_code, row.low_watermark), (3, -1), "{topic}-{partition}");
    }
}
