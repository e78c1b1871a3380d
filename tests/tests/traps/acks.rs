//! What a producer hears: nothing, a row, or the end of the connection.

use ballast_tests::raw::messages::{produce, produce_rows};
use ballast_tests::raw::rows::{PRODUCE, eventually};
use ballast_tests::raw::{Connection, Reply, at, batch, patched, text};
use ballast_tests::target::{shared, unique};
use bytes::Bytes;
use kafka_protocol::messages::{ApiVersionsRequest, FindCoordinatorRequest, MetadataRequest, ProduceRequest};
use kafka_protocol::protocol::Request as _;

fn no_topics() -> MetadataRequest {
    MetadataRequest::default().with_topics(Some(vec![]))
}

/// Sends a Produce and then a Metadata. Is the first answer that of the Metadata?
fn only_the_next_request_is_answered(connection: &mut Connection, version: i16, request: &ProduceRequest) {
    connection.start(version, request);
    let next = connection.start(12, &no_topics());
    connection.finish::<MetadataRequest>(12, next);
}

#[test]
fn a_producer_that_wants_no_answer_gets_none_and_may_go_on() {
    let broker = shared();
    let topic = broker.topic("acks-0", 1, &[]);
    let mut connection = broker.connect();
    for version in [3, 8, 9, PRODUCE] {
        let before = connection.bounds(&topic.name, 0).1;
        let request = produce(0, &topic.name, 0, Some(batch(&["a"])));
        only_the_next_request_is_answered(&mut connection, version, &request);
        assert_eq!(connection.bounds(&topic.name, 0).1, before + 1, "v{version}");
    }
    only_the_next_request_is_answered(&mut connection, PRODUCE, &ProduceRequest::default().with_acks(0));
}

#[test]
fn a_producer_that_wants_no_answer_learns_of_an_error_by_the_end_of_the_connection() {
    let broker = shared();
    let topic = broker.topic("acks-0-error", 1, &[]);
    let good = batch(&["a"]);
    let mut broken = good.to_vec();
    broken[at::RECORDS] ^= 1;
    for (what, request) in [
        ("a partition that is not there", produce(0, &topic.name, 9, Some(good.clone()))),
        ("a topic that is not there", produce(0, &unique("absent"), 0, Some(good.clone()))),
        ("a wrong checksum", produce(0, &topic.name, 0, Some(broken.into()))),
        ("a control batch", produce(0, &topic.name, 0, Some(patched(&good, at::ATTRIBUTES, &[0, 32])))),
        (
            "one bad partition beside a good one",
            produce_rows(0, &topic.name, vec![(0, Some(good.clone())), (9, Some(good.clone()))]),
        ),
    ] {
        let mut connection = broker.connect();
        connection.start(PRODUCE, &request);
        assert_eq!(connection.reply(), Reply::Closed, "{what}");
    }
    let mut connection = broker.connect();
    assert_eq!(connection.bounds(&topic.name, 0).1, 1, "the good batch beside the bad one is kept");
}

#[test]
fn acks_are_none_one_or_all() {
    let broker = shared();
    let topic = broker.topic("acks", 1, &[]);
    let mut connection = broker.connect();
    for (acks, expected) in [(1, 0), (-1, 0), (2, 21), (-2, 21), (i16::MAX, 21)] {
        let row = connection.produced(PRODUCE, &produce(acks, &topic.name, 0, Some(batch(&["a"]))));
        assert_eq!(row.error_code, expected, "acks={acks}");
    }
    assert_eq!(connection.bounds(&topic.name, 0).1, 2, "what was refused is not written");
    let absent = connection.produced(PRODUCE, &produce(2, &unique("absent"), 0, Some(batch(&["a"]))));
    assert_eq!(absent.error_code, 3, "an unknown topic is named first");
}

#[test]
fn partitions_of_one_request_stand_or_fall_alone() {
    let broker = shared();
    let topic = broker.topic("alone", 3, &[]);
    let mut connection = broker.connect();
    let rows: Vec<(i32, Option<Bytes>)> = [0, 7, 2, -1].map(|partition| (partition, Some(batch(&["a"])))).to_vec();
    let mut response = connection.call(PRODUCE, &produce_rows(-1, &topic.name, rows));
    let mut rows = std::mem::take(&mut response.responses[0].partition_responses);
    rows.sort_by_key(|row| row.index);
    let seen: Vec<_> = rows.iter().map(|row| (row.index, row.error_code, row.base_offset)).collect();
    assert_eq!(seen, [(-1, 3, -1), (0, 0, 0), (2, 0, 0), (7, 3, -1)]);
}

#[test]
fn one_partition_twice_in_a_request_is_written_once() {
    let broker = shared();
    let topic = broker.topic("named-twice", 1, &[]);
    let mut connection = broker.connect();
    let request = produce_rows(-1, &topic.name, vec![(0, Some(batch(&["a"]))), (0, Some(batch(&["b"])))]);
    let row = connection.produced(PRODUCE, &request);
    assert_eq!((row.error_code, row.base_offset), (0, 0));
    assert_eq!(connection.bounds(&topic.name, 0).1, 1);
}

#[test]
fn an_unknown_topic_id_is_called_so() {
    let broker = shared();
    let mut connection = broker.connect();
    let topic = broker.topic("produce-by-id", 1, &[]);
    let mut request = produce(-1, "", 0, Some(batch(&["a"])));
    request.topic_data[0].topic_id = topic.id;
    assert_eq!(connection.produced(13, &request).error_code, 0);
    request.topic_data[0].topic_id = uuid::Uuid::from_u128(0x1234_5678_9abc_4def_8123_4567_89ab_cdef);
    let row = connection.produced(13, &request);
    assert_eq!((row.error_code, row.base_offset), (100, -1));
}

#[test]
fn an_empty_list_of_topics_is_no_error() {
    let broker = shared();
    let mut connection = broker.connect();
    for acks in [1, -1] {
        let response = connection.call(PRODUCE, &ProduceRequest::default().with_acks(acks));
        assert!(response.responses.is_empty(), "acks={acks}");
    }
}

#[test]
fn a_minimum_of_replicas_that_cannot_be_reached_asks_for_those_that_there_are() {
    let broker = shared();
    let topic = broker.topic("min-isr", 1, &[("min.insync.replicas", "2")]);
    let mut connection = broker.connect();
    for acks in [-1, 1] {
        let row = connection.produced(PRODUCE, &produce(acks, &topic.name, 0, Some(batch(&["a"]))));
        assert_eq!(row.error_code, 0, "acks={acks}: one replica of one is enough");
    }
    assert_eq!(connection.fetch(&topic.name, 0, 0).high_watermark, 2);
}

#[test]
fn internal_topics_are_written_by_their_coordinators_alone() {
    let broker = shared();
    let mut connection = broker.connect();
    let listed = connection.call(0, &ApiVersionsRequest::default()).api_keys;
    if listed.iter().all(|entry| entry.api_key != FindCoordinatorRequest::KEY) {
        return;
    }
    let coordinator = FindCoordinatorRequest::default().with_key(text("any group"));
    eventually("the topic of offsets exists", || {
        connection.call(3, &coordinator);
        (connection.offset_at("__consumer_offsets", 0, -1).error_code == 0).then_some(())
    });
    let row = connection.produce(PRODUCE, "__consumer_offsets", 0, batch(&["no key"]));
    assert_eq!((row.error_code, row.base_offset), (17, -1));
    connection.client_id = Some("__admin_client".to_owned());
    let row = connection.produce(PRODUCE, "__consumer_offsets", 0, batch(&["no key"]));
    assert_eq!(row.error_code, 87, "it may, but this topic is compacted");
}
