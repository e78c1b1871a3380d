//! Each fault meets what it says, and nothing else.

use std::time::Duration;

use ballast_broker::embed::{Api, Broker, ErrorCode, Fault, FaultError};
use ballast_tests::raw::rows::{eventually, rows_of};
use ballast_tests::raw::{Connection, Fetch, Reply, batch, fetch_row, name};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{FetchRequest, MetadataRequest, ProduceRequest};

const TOPIC: &str = "orders";
const OTHER: &str = "payments";
const NOT_LEADER: i16 = 6;
const TIMED_OUT: i16 = 7;
const STORAGE: i16 = 56;

fn broker() -> (Broker, Connection) {
    let broker = Broker::builder().topic(TOPIC, 2).topic(OTHER, 1).start_blocking().expect("a broker starts");
    let connection = Connection::open(broker.bootstrap());
    (broker, connection)
}

fn produce(rows: &[i32]) -> ProduceRequest {
    let rows = rows.iter().map(|partition| (*partition, Some(batch(&["a"])))).collect();
    ballast_tests::raw::messages::produce_rows(-1, TOPIC, rows)
}

fn produced(connection: &mut Connection, rows: &[i32]) -> Vec<(i32, i16)> {
    let answer = connection.call(9, &produce(rows));
    answer.responses[0].partition_responses.iter().map(|row| (row.index, row.error_code)).collect()
}

#[test]
fn scripted_errors_come_in_their_order_and_nothing_is_written() {
    let (broker, mut connection) = broker();
    broker.fault(Fault::fail_next(Api::PRODUCE, ErrorCode::NOT_LEADER_OR_FOLLOWER, 1)).unwrap();
    broker.fault(Fault::fail_next(Api::PRODUCE, ErrorCode::REQUEST_TIMED_OUT, 1)).unwrap();
    assert_eq!(produced(&mut connection, &[0, 1]), [(0, NOT_LEADER), (1, NOT_LEADER)]);
    assert_eq!(produced(&mut connection, &[0]), [(0, TIMED_OUT)]);
    assert_eq!(connection.bounds(TOPIC, 0), (0, 0), "a refused request writes nothing");
    assert_eq!(produced(&mut connection, &[0]), [(0, 0)]);
}

#[test]
fn an_error_on_a_partition_leaves_the_others_of_its_request_alone() {
    let (broker, mut connection) = broker();
    broker.fault(Fault::fail_next(Api::PRODUCE, ErrorCode::NOT_LEADER_OR_FOLLOWER, 1).on_partition(TOPIC, 1)).unwrap();
    assert_eq!(produced(&mut connection, &[0, 1]), [(0, 0), (1, NOT_LEADER)]);
    assert_eq!((connection.bounds(TOPIC, 0), connection.bounds(TOPIC, 1)), ((0, 1), (0, 0)));
    assert_eq!(produced(&mut connection, &[0, 1]), [(0, 0), (1, 0)]);
}

#[test]
fn an_error_on_a_partition_is_told_within_a_fetch_session_and_at_once() {
    let (broker, mut connection) = broker();
    let fetch = Fetch::of(TOPIC, vec![fetch_row(0, 0), fetch_row(1, 0)]).session(0, 0);
    let session = connection.call::<FetchRequest>(12, &fetch.0).session_id;
    assert_ne!(session, 0);
    broker.fault(Fault::fail_next(Api::FETCH, ErrorCode::KAFKA_STORAGE_ERROR, 1).on_partition(TOPIC, 1)).unwrap();
    let next = |epoch| Fetch::default().session(session, epoch).wait(1, 600_000).0;
    let told = rows_of(&connection.call::<FetchRequest>(12, &next(1)));
    let told: Vec<_> = told.iter().map(|(_, row)| (row.partition_index, row.error_code)).collect();
    assert_eq!(told, [(1, STORAGE)], "the request names no partition; its session does");
}

#[test]
fn a_fault_on_a_topic_finds_it_in_a_fetch_session() {
    let (broker, mut connection) = broker();
    let fetch = Fetch::of(TOPIC, vec![fetch_row(0, 0)]).session(0, 0);
    let session = connection.call::<FetchRequest>(12, &fetch.0).session_id;
    broker.fault(Fault::drop_connection(Api::FETCH).on_topic(OTHER)).unwrap();
    connection.call::<FetchRequest>(12, &Fetch::default().session(session, 1).0);
    broker.fault(Fault::drop_connection(Api::FETCH).on_topic(TOPIC)).unwrap();
    connection.start(12, &Fetch::default().session(session, 2).0);
    assert_eq!(connection.reply(), Reply::Closed);
}

#[test]
fn metadata_can_hide_the_leaders_of_one_topic() {
    let (broker, mut connection) = broker();
    broker.fault(Fault::fail_next(Api::METADATA, ErrorCode::LEADER_NOT_AVAILABLE, 1).on_topic(TOPIC)).unwrap();
    let topics = [TOPIC, OTHER].map(|topic| MetadataRequestTopic::default().with_name(Some(name(topic))));
    let request = MetadataRequest::default().with_topics(Some(topics.to_vec()));
    let codes = |connection: &mut Connection| -> Vec<i16> {
        connection.call(12, &request).topics.iter().map(|topic| topic.error_code).collect()
    };
    assert_eq!(codes(&mut connection), [5, 0]);
    assert_eq!(codes(&mut connection), [0, 0]);
}

#[test]
fn a_dropped_request_is_not_served_and_a_lost_answer_was() {
    let (broker, mut connection) = broker();
    broker.fault(Fault::drop_connection(Api::PRODUCE)).unwrap();
    connection.start(9, &produce(&[0]));
    assert_eq!(connection.reply(), Reply::Closed);
    let mut connection = Connection::open(broker.bootstrap());
    assert_eq!(connection.bounds(TOPIC, 0), (0, 0));
    broker.fault(Fault::lose_answer(Api::PRODUCE)).unwrap();
    connection.start(9, &produce(&[0]));
    assert_eq!(connection.reply(), Reply::Closed);
    assert_eq!(Connection::open(broker.bootstrap()).bounds(TOPIC, 0), (0, 1));
}

#[test]
fn a_delayed_answer_comes_late_and_what_it_answers_is_done() {
    let (broker, mut connection) = broker();
    let id = broker.fault(Fault::delay(Api::PRODUCE, Duration::from_secs(600))).unwrap();
    connection.start(9, &produce(&[0]));
    let mut other = Connection::open(broker.bootstrap());
    eventually("the records are there", || (other.bounds(TOPIC, 0) == (0, 1)).then_some(()));
    assert_eq!(connection.reply_within(Duration::from_millis(20)), Reply::Silence);
    assert_eq!(broker.fired(id), 1);
    // Ten minutes are not waited for.
    broker.stop_blocking();
}

#[test]
fn a_full_disk_refuses_records_keeps_metadata_and_empties_again() {
    let (broker, mut connection) = broker();
    assert_eq!(produced(&mut connection, &[0]), [(0, 0)]);
    let id = broker.fault(Fault::disk_full().on_partition(TOPIC, 0)).unwrap();
    assert_eq!(produced(&mut connection, &[0, 1]), [(0, STORAGE), (1, 0)]);
    assert!(broker.fired(id) >= 1);
    connection.create_topic("made-while-full", 1, &[]);
    broker.remove_fault(id).unwrap();
    assert_eq!(produced(&mut connection, &[0]), [(0, 0)]);
    assert_eq!(connection.bounds(TOPIC, 0), (0, 2));
}

#[test]
fn a_slow_disk_slows_and_breaks_nothing() {
    let (broker, mut connection) = broker();
    let id = broker.fault(Fault::slow_disk(Duration::from_millis(2))).unwrap();
    for _ in 0..5 {
        assert_eq!(produced(&mut connection, &[0]), [(0, 0)]);
    }
    connection.fetch(TOPIC, 0, 0);
    assert!(broker.fired(id) >= 5, "{:?}", broker.faults());
}

#[test]
fn faults_and_records_of_one_broker_are_nothing_to_another() {
    let ((one, mut at_one), (two, mut at_two)) = (broker(), broker());
    one.fault(Fault::fail_next(Api::PRODUCE, ErrorCode::REQUEST_TIMED_OUT, 1)).unwrap();
    two.record();
    assert_eq!(produced(&mut at_two, &[0]), [(0, 0)]);
    assert_eq!(produced(&mut at_one, &[0]), [(0, TIMED_OUT)]);
    assert_eq!((one.requests().len(), two.requests().len()), (0, 1));
}

#[test]
fn faults_survive_a_restart_until_they_are_cleared() {
    let (broker, _) = broker();
    broker.fault(Fault::drop_connection(Api::PRODUCE).always()).unwrap();
    broker.restart_blocking().unwrap();
    let mut connection = Connection::open(broker.bootstrap());
    connection.start(9, &produce(&[0]));
    assert_eq!(connection.reply(), Reply::Closed);
    broker.clear_faults();
    assert_eq!(produced(&mut Connection::open(broker.bootstrap()), &[0]), [(0, 0)]);
}

#[test]
fn what_could_never_happen_cannot_be_planted() {
    let (broker, _) = broker();
    let code = ErrorCode::REQUEST_TIMED_OUT;
    let refused = [
        (Fault::fail_next(Api::SHARE_FETCH, code, 1), FaultError::NotServed(Api::SHARE_FETCH)),
        (Fault::fail_next(Api::CREATE_TOPICS, code, 1).on_topic(TOPIC), FaultError::NoTargets(Api::CREATE_TOPICS)),
        (Fault::fail_next(Api::METADATA, code, 1).on_partition(TOPIC, 0), FaultError::TopicOnly),
        (Fault::slow_disk(Duration::ZERO).on_topic(TOPIC), FaultError::WholeDisk),
        (Fault::fail_next_sync(), FaultError::NothingSyncs),
    ];
    for (fault, error) in refused {
        assert_eq!(broker.fault(fault), Err(error));
    }
    assert!(broker.faults().is_empty());
}

#[test]
fn requests_are_recorded_with_what_a_test_asks_about() {
    let (broker, mut connection) = broker();
    connection.client_id = Some("the-app".to_owned());
    broker.record();
    produced(&mut connection, &[0, 1]);
    let fetch = Fetch::of(TOPIC, vec![fetch_row(0, 0)]).session(0, 0);
    let session = connection.call::<FetchRequest>(12, &fetch.0).session_id;
    connection.call::<FetchRequest>(12, &Fetch::default().session(session, 1).0);
    let seen: Vec<_> = broker
        .requests()
        .into_iter()
        .map(|request| (request.api, request.version, request.client_id, request.topics))
        .collect();
    let about = |partitions: &[i32]| vec![(TOPIC.to_owned(), partitions.to_vec())];
    let app = || "the-app".to_owned();
    let expected = [
        (Api::PRODUCE, 9, app(), about(&[0, 1])),
        (Api::FETCH, 12, app(), about(&[0])),
        (Api::FETCH, 12, app(), about(&[0])),
    ];
    assert_eq!(seen, expected);
}
