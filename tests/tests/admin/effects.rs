//! A change is in force when it is answered: each test changes a running broker and sees it act otherwise.
//!
//! Kafka's brokers take a change in a moment after the answer, so these ask until it is so.

use ballast_tests::process::Serve;
use ballast_tests::raw::batches::{batch_of_bytes, idempotent};
use ballast_tests::raw::rows::{PRODUCE, batches_of, eventually};
use ballast_tests::raw::{Connection, batch, name, now_ms, timed};
use ballast_tests::target::{Broker, shared, with};
use ballast_wire::batch::Compression;
use bytes::Bytes;
use kafka_protocol::messages::DescribeProducersRequest;
use kafka_protocol::messages::describe_producers_request::TopicRequest;

use crate::ask::{BROKER, TOPIC, node, set, value};

const MESSAGE_TOO_LARGE: i16 = 10;
const INVALID_TIMESTAMP: i16 = 32;
const INVALID_RECORD: i16 = 87;

const HOUR_MS: i64 = 3_600_000;

/// Produces until the answer has this code.
fn becomes(connection: &mut Connection, topic: &str, records: &Bytes, code: i16, what: &str) {
    eventually(what, || (connection.produce(PRODUCE, topic, 0, records.clone()).error_code == code).then_some(()));
}

#[test]
fn the_largest_batch_is_the_topics_then_the_brokers_then_the_clusters() {
    let broker = with(&[]).expect("no wishes");
    let mut connection = broker.connect();
    let me = node(&mut connection);
    let topic = broker.topic("largest", 1, &[]).name;
    let records = batch_of_bytes(5_000);
    let steps = [
        (BROKER, "", "message.max.bytes", Some("4000"), MESSAGE_TOO_LARGE),
        (BROKER, &me[..], "message.max.bytes", Some("6000"), 0),
        (TOPIC, &topic[..], "max.message.bytes", Some("4000"), MESSAGE_TOO_LARGE),
        (TOPIC, &topic, "max.message.bytes", None, 0),
        (BROKER, &me, "message.max.bytes", None, MESSAGE_TOO_LARGE),
        (BROKER, "", "message.max.bytes", None, 0),
    ];
    for (kind, resource, key, changed, code) in steps {
        set(&mut connection, kind, resource, key, changed);
        becomes(&mut connection, &topic, &records, code, &format!("{key}={changed:?} of {resource:?} is in force"));
    }
}

#[test]
fn records_that_are_too_old_go_once_the_topic_says_so() {
    let broker = shared();
    let mut connection = broker.connect();
    let topic = broker.topic("expiring", 1, &[]).name;
    connection.append(&topic, 0, timed(Compression::None, &[(now_ms() - HOUR_MS, "old")]));
    assert_eq!(connection.bounds(&topic, 0), (0, 1));
    set(&mut connection, TOPIC, &topic, "retention.ms", Some("60000"));
    eventually("the old record is gone", || (connection.bounds(&topic, 0) == (1, 1)).then_some(()));
}

#[test]
fn times_of_records_are_judged_and_written_as_the_topic_says() {
    let broker = shared();
    let mut connection = broker.connect();
    let topic = broker.topic("times", 1, &[]).name;
    let old = timed(Compression::None, &[(now_ms() - HOUR_MS, "old")]);
    let ahead = timed(Compression::None, &[(now_ms() + HOUR_MS / 2, "ahead")]);
    set(&mut connection, TOPIC, &topic, "message.timestamp.before.max.ms", Some("60000"));
    becomes(&mut connection, &topic, &old, INVALID_TIMESTAMP, "message.timestamp.before.max.ms");
    set(&mut connection, TOPIC, &topic, "message.timestamp.before.max.ms", None);
    becomes(&mut connection, &topic, &old, 0, "message.timestamp.before.max.ms is gone");
    set(&mut connection, TOPIC, &topic, "message.timestamp.after.max.ms", Some("60000"));
    becomes(&mut connection, &topic, &ahead, INVALID_TIMESTAMP, "message.timestamp.after.max.ms");
    set(&mut connection, TOPIC, &topic, "message.timestamp.type", Some("LogAppendTime"));
    eventually("the broker's time", || {
        let row = connection.produce(PRODUCE, &topic, 0, old.clone());
        (row.error_code == 0 && row.log_append_time_ms > 0).then_some(())
    });
}

#[test]
fn batches_are_stored_as_the_topic_says_from_now_on() {
    let broker = shared();
    let mut connection = broker.connect();
    let topic = broker.topic("stored", 1, &[]).name;
    set(&mut connection, TOPIC, &topic, "compression.type", Some("gzip"));
    eventually("a batch is compressed", || {
        let offset = connection.append(&topic, 0, batch(&["a", "a", "a"]));
        let row = connection.fetch(&topic, 0, offset);
        let codec = batches_of(&row)[0].attributes().compression();
        (codec == Ok(Compression::Gzip)).then_some(())
    });
    set(&mut connection, TOPIC, &topic, "cleanup.policy", Some("compact"));
    becomes(&mut connection, &topic, &batch(&["no key"]), INVALID_RECORD, "a compacted topic needs keys");
}

#[test]
fn segments_are_sealed_at_the_size_that_the_topic_says() {
    let Some(broker) = with(&[]).filter(Broker::is_ballast) else { return };
    let serve = broker.serve.as_ref().expect("it is ours");
    let mut connection = broker.connect();
    let topic = broker.topic("sealed", 1, &[]).name;
    let segments = || {
        let files = std::fs::read_dir(serve.data().join(format!("{topic}-0"))).expect("the folder is there");
        files.filter(|file| file.as_ref().expect("an entry").path().extension().is_some_and(|end| end == "log")).count()
    };
    let fill = |connection: &mut Connection| {
        for _ in 0..4 {
            connection.append(&topic, 0, batch_of_bytes(600_000));
        }
    };
    fill(&mut connection);
    assert_eq!(segments(), 1);
    set(&mut connection, TOPIC, &topic, "segment.bytes", Some("1048576"));
    fill(&mut connection);
    assert_eq!(segments(), 5, "each of the four begins one");
    set(&mut connection, TOPIC, &topic, "segment.bytes", None);
    set(&mut connection, BROKER, "", "log.segment.bytes", Some("8388608"));
    fill(&mut connection);
    assert_eq!(segments(), 5, "the cluster's default holds again");
}

#[test]
fn producers_are_forgotten_after_the_time_that_the_broker_says() {
    let Some(broker) = with(&["producer.id.expiration.check.interval.ms=200"]) else { return };
    let mut connection = broker.connect();
    let topic = broker.topic("forgotten", 1, &[]).name;
    let producer = connection.producer();
    connection.append(&topic, 0, idempotent(producer, 0, &["a"]));
    let known = |connection: &mut Connection| {
        let asked = TopicRequest::default().with_name(name(&topic)).with_partition_indexes(vec![0]);
        let answer = connection.call(0, &DescribeProducersRequest::default().with_topics(vec![asked]));
        answer.topics[0].partitions[0].active_producers.len()
    };
    assert_eq!(known(&mut connection), 1);
    set(&mut connection, BROKER, "", "producer.id.expiration.ms", Some("1"));
    eventually("it is forgotten", || (known(&mut connection) == 0).then_some(()));
    set(&mut connection, BROKER, "", "producer.id.expiration.ms", None);
}

/// Does the broker answer on a new connection?
fn is_served(broker: &Broker) -> bool {
    let mut connection = broker.connect();
    let asked = connection.request(ballast_wire::frame::ApiKey::API_VERSIONS, 0, &[]);
    asked.is_ok() && matches!(connection.reply(), ballast_tests::raw::Reply::Frame(_))
}

#[test]
fn connections_above_the_limit_are_refused_and_served_again_below_it() {
    let Some(broker) = with(&[]).filter(Broker::is_ballast) else { return };
    let mut connection = broker.connect();
    let me = node(&mut connection);
    for (key, low) in
        [("max.connections", "1"), ("max.connections.per.ip", "1"), ("max.connections.per.ip.overrides", "127.0.0.1:1")]
    {
        assert!(is_served(&broker), "before {key}");
        eventually("the test's own connection is the only one", || {
            set(&mut connection, BROKER, &me, key, Some(low));
            (!is_served(&broker)).then_some(())
        });
        set(&mut connection, BROKER, &me, key, None);
        eventually("it is served again", || is_served(&broker).then_some(()));
    }
}

#[test]
fn changes_are_in_force_after_a_restart() {
    let mut serve = Serve::start(&[]);
    let mut connection = Connection::open(&serve.bootstrap);
    let me = node(&mut connection);
    connection.create_topic("kept", 1, &[]);
    set(&mut connection, BROKER, "", "message.max.bytes", Some("4000"));
    set(&mut connection, BROKER, &me, "max.connections", Some("2"));
    assert!(serve.stop().success(), "{}", serve.log());
    serve.restart();
    let mut connection = Connection::open(&serve.bootstrap);
    assert_eq!(value(&mut connection, BROKER, &me, "max.connections"), Some((Some("2".to_owned()), 2)));
    assert_eq!(connection.produce(PRODUCE, "kept", 0, batch_of_bytes(5_000)).error_code, MESSAGE_TOO_LARGE);
    let broker = Broker { bootstrap: serve.bootstrap.clone(), serve: None };
    let second = broker.connect();
    eventually("the third is refused", || (!is_served(&broker)).then_some(()));
    drop(second);
}
