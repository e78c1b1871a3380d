//! ListOffsets: by time and by special number.

use ballast_tests::raw::rows::PRODUCE;
use ballast_tests::raw::{Connection, batch, name, now_ms, timed};
use ballast_tests::target::{shared, unique};
use ballast_wire::batch::Compression;
use ballast_wire::frame::{ApiKey, Form, WireError, Writer, parse_response_header};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::{ApiVersionsRequest, ListOffsetsRequest};

const UNSUPPORTED_VERSION: i16 = 35;

/// Highest version of ListOffsets that the broker offers.
fn highest(connection: &mut Connection) -> i16 {
    let listed = connection.call(0, &ApiVersionsRequest::default());
    let entry =
        listed.api_keys.iter().find(|entry| entry.api_key == ApiKey::LIST_OFFSETS.0).expect("ListOffsets is served");
    entry.max_version
}

/// Code, timestamp, offset and leader epoch, in any version from 6 on.
fn ask(connection: &mut Connection, version: i16, topic: &str, timestamp: i64) -> (i16, i64, i64, i32) {
    let mut body = Writer::new(Form::Flexible);
    body.i32(-1);
    body.i8(0);
    body.array(&[topic], |body, topic| {
        body.string(topic);
        body.array(&[timestamp], |body, timestamp| {
            body.i32(0);
            body.i32(-1);
            body.i64(*timestamp);
            body.no_tags();
        });
        body.no_tags();
    });
    if version >= 10 {
        body.i32(1000);
    }
    body.no_tags();
    connection.request(ApiKey::LIST_OFFSETS, version, &body.finish()).expect("the connection is open");
    let frame = connection.frame();
    let (_, mut body) = parse_response_header(&frame, ApiKey::LIST_OFFSETS, version).expect("the answer has a header");
    let mut row = || {
        body.i32()?;
        assert_eq!(body.uvarint()?, 2, "one topic");
        assert_eq!(body.string()?, topic);
        assert_eq!(body.uvarint()?, 2, "one partition");
        assert_eq!(body.i32()?, 0);
        Ok::<_, WireError>((body.i16()?, body.i64()?, body.i64()?, body.i32()?))
    };
    row().expect("the answer can be read")
}

#[test]
fn special_numbers_are_unsupported_below_their_version() {
    let broker = shared();
    let topic = broker.topic("special", 1, &[]);
    let mut connection = broker.connect();
    connection.append(&topic.name, 0, batch(&["a"]));
    for timestamp in -7..=-3 {
        for version in [1, 5] {
            let row = connection.list_offset(version, &topic.name, 0, timestamp);
            let seen = (row.error_code, row.offset, row.timestamp);
            assert_eq!(seen, (UNSUPPORTED_VERSION, -1, -1), "v{version}, {timestamp}");
        }
    }
    let highest = highest(&mut connection);
    for (timestamp, since) in [(-3, 7), (-4, 8), (-5, 9), (-6, 11), (-7, i16::MAX)] {
        for version in 6..=highest {
            let (code, ..) = ask(&mut connection, version, &topic.name, timestamp);
            let expected = if version >= since { 0 } else { UNSUPPORTED_VERSION };
            assert_eq!(code, expected, "v{version}, {timestamp}");
        }
    }
}

#[test]
fn special_numbers_name_the_ends_of_the_log_and_its_newest_record() {
    let broker = shared();
    let topic = broker.topic("ends", 1, &[]);
    let mut connection = broker.connect();
    for timestamp in [-1, -2, -4] {
        assert_eq!(ask(&mut connection, 9, &topic.name, timestamp), (0, -1, 0, 0), "{timestamp}, nothing written yet");
    }
    assert_eq!(ask(&mut connection, 9, &topic.name, -3), (0, -1, -1, -1), "no record, no newest one");
    let now = now_ms();
    connection.append(&topic.name, 0, timed(Compression::None, &[(now - 9, "a"), (now, "b"), (now - 5, "c")]));
    connection.append(&topic.name, 0, timed(Compression::None, &[(now - 1, "d")]));
    assert_eq!(connection.delete_records(&topic.name, 0, 1).low_watermark, 1);
    assert_eq!(ask(&mut connection, 9, &topic.name, -1), (0, -1, 4, 0), "latest");
    assert_eq!(ask(&mut connection, 9, &topic.name, -2), (0, -1, 1, 0), "earliest");
    assert_eq!(ask(&mut connection, 9, &topic.name, -3), (0, now, 1, 0), "of the highest time");
    assert_eq!(ask(&mut connection, 9, &topic.name, -4), (0, -1, 1, 0), "earliest on this node");
    assert_eq!(ask(&mut connection, 9, &topic.name, -5), (0, -1, -1, -1), "latest on tiered storage, which is none");
}

#[test]
fn a_time_after_the_last_record_is_no_error() {
    let broker = shared();
    let topic = broker.topic("after", 1, &[]);
    let mut connection = broker.connect();
    connection.append(&topic.name, 0, batch(&["a"]));
    for version in 1..=10 {
        let row = connection.list_offset(version, &topic.name, 0, now_ms() + 60_000);
        assert_eq!((row.error_code, row.timestamp, row.offset), (0, -1, -1), "v{version}");
        let row = connection.list_offset(version, &topic.name, 0, 0);
        assert_eq!((row.error_code, row.offset), (0, 0), "v{version}");
        assert_eq!(row.leader_epoch, if version >= 4 { 0 } else { -1 }, "v{version}");
    }
}

#[test]
fn what_is_not_there_or_asked_wrongly_has_a_code() {
    let broker = shared();
    let topic = broker.topic("wrongly", 1, &[]);
    let mut connection = broker.connect();
    for (topic, partition) in [(topic.name.as_str(), 7), (unique("absent").as_str(), 0), (topic.name.as_str(), -1)] {
        let row = connection.offset_at(topic, partition, -1);
        assert_eq!((row.error_code, row.offset, row.timestamp), (3, -1, -1), "{topic}-{partition}");
    }
    let ahead = ListOffsetsPartition::default().with_timestamp(-1).with_current_leader_epoch(9);
    let twice = ListOffsetsPartition::default().with_timestamp(-1).with_current_leader_epoch(-1);
    for (rows, expected) in [(vec![ahead], &[75][..]), (vec![twice.clone(), twice], &[42])] {
        let row = ListOffsetsTopic::default().with_name(name(&topic.name)).with_partitions(rows);
        let request = ListOffsetsRequest::default().with_replica_id((-1).into()).with_topics(vec![row]);
        let response = connection.call(7, &request);
        let codes: Vec<i16> = response.topics[0].partitions.iter().map(|row| row.error_code).collect();
        assert_eq!(codes, expected);
    }
}

#[test]
fn any_replica_answers_a_debugging_consumer() {
    let broker = shared();
    let topic = broker.topic("debug", 1, &[]);
    let mut connection = broker.connect();
    connection.append(&topic.name, 0, batch(&["a"]));
    let row = ListOffsetsPartition::default().with_timestamp(-1).with_current_leader_epoch(-1);
    let row = ListOffsetsTopic::default().with_name(name(&topic.name)).with_partitions(vec![row]);
    let request = ListOffsetsRequest::default().with_replica_id((-2).into()).with_topics(vec![row]);
    let row = connection.call(PRODUCE.min(10), &request).topics.remove(0).partitions.remove(0);
    assert_eq!((row.error_code, row.offset), (0, 1));
}
