//! Commits and look-ups by topic id (version 10 of both), written byte by byte: no name stands in them.

use ballast_tests::raw::groups::group_id;
use ballast_tests::raw::{Connection, text};
use ballast_wire::frame::{ApiKey, Form, Writer, parse_response_header};
use kafka_protocol::messages::{OffsetCommitResponse, OffsetFetchResponse};
use kafka_protocol::protocol::Decodable;
use uuid::Uuid;

use crate::group;

const VERSION: i16 = 10;

fn ask<R: Decodable>(connection: &mut Connection, key: ApiKey, body: Writer) -> R {
    let sent = connection.request(key, VERSION, &body.finish()).expect("the connection is open");
    let frame = connection.frame();
    let (answered, body) = parse_response_header(&frame, key, VERSION).expect("an answer has a header");
    assert_eq!(answered, sent);
    R::decode(&mut frame.slice(body.position()..), VERSION).expect("an answer in the version that was asked")
}

/// Commits one offset for each topic; id and code of each row.
fn commit(connection: &mut Connection, group: &str, topics: &[(Uuid, i64)]) -> Vec<(Uuid, i16)> {
    let mut body = Writer::new(Form::Flexible);
    body.string(group);
    body.i32(-1);
    body.string("");
    body.nullable_string(None);
    body.count(Some(topics.len()));
    for (id, offset) in topics {
        body.raw(id.as_bytes());
        body.count(Some(1));
        body.i32(0);
        body.i64(*offset);
        body.i32(-1);
        body.nullable_string(Some("by id"));
        body.no_tags();
        body.no_tags();
    }
    body.no_tags();
    let response: OffsetCommitResponse = ask(connection, ApiKey::OFFSET_COMMIT, body);
    let mut rows: Vec<_> =
        response.topics.iter().map(|topic| (topic.topic_id, topic.partitions[0].error_code)).collect();
    rows.sort();
    rows
}

/// What a group has committed, of these topics or of all: id, offset, code.
fn fetch(connection: &mut Connection, group: &str, topics: Option<&[Uuid]>) -> Vec<(Uuid, i64, i16)> {
    let mut body = Writer::new(Form::Flexible);
    body.count(Some(1));
    body.string(group);
    body.nullable_string(None);
    body.i32(-1);
    body.count(topics.map(<[Uuid]>::len));
    for id in topics.into_iter().flatten() {
        body.raw(id.as_bytes());
        body.count(Some(1));
        body.i32(0);
        body.no_tags();
    }
    body.no_tags();
    body.bool(false);
    body.no_tags();
    let response: OffsetFetchResponse = ask(connection, ApiKey::OFFSET_FETCH, body);
    let [found] = &response.groups[..] else { panic!("one group was asked for: {response:?}") };
    assert_eq!((found.group_id.clone(), found.error_code), (group_id(group), 0));
    let row = |topic: &kafka_protocol::messages::offset_fetch_response::OffsetFetchResponseTopics| {
        let row = &topic.partitions[0];
        if row.committed_offset >= 0 {
            assert_eq!(row.metadata, Some(text("by id")));
        }
        (topic.topic_id, row.committed_offset, row.error_code)
    };
    let mut rows: Vec<_> = found.topics.iter().map(row).collect();
    rows.sort();
    rows
}

#[test]
fn a_commit_by_id_is_found_by_id_and_by_name() {
    let Some((broker, group)) = group("ids") else { return };
    let (topic, unknown) = (broker.topic("ids", 1, &[]), Uuid::from_u128(0x1234_5678));
    let mut connection = broker.connect();
    let mut expected = vec![(topic.id, 0), (unknown, 100)];
    expected.sort();
    assert_eq!(commit(&mut connection, &group, &[(topic.id, 7), (unknown, 8)]), expected);
    let mut expected = vec![(topic.id, 7, 0), (unknown, -1, 100)];
    expected.sort();
    assert_eq!(fetch(&mut connection, &group, Some(&[topic.id, unknown])), expected);
    assert_eq!(fetch(&mut connection, &group, None), [(topic.id, 7, 0)]);
    assert_eq!(connection.committed(&group, &topic.name, &[0])[0].committed_offset, 7);
}

#[test]
fn a_topic_made_again_under_the_name_has_no_commits() {
    let Some((broker, group)) = group("again") else { return };
    let topic = broker.topic("again", 1, &[]);
    let mut connection = broker.connect();
    assert_eq!(commit(&mut connection, &group, &[(topic.id, 7)]), [(topic.id, 0)]);
    let delete = kafka_protocol::messages::DeleteTopicsRequest::default()
        .with_topic_names(vec![ballast_tests::raw::name(&topic.name)])
        .with_timeout_ms(9000);
    assert_eq!(connection.call(5, &delete).responses[0].error_code, 0);
    let id = connection.create_topic(&topic.name, 1, &[]);
    ballast_tests::raw::rows::eventually("the old commits are gone", || {
        (connection.committed(&group, &topic.name, &[0])[0].committed_offset == -1).then_some(())
    });
    assert_eq!(commit(&mut connection, &group, &[(topic.id, 8)]), [(topic.id, 100)]);
    assert_eq!(fetch(&mut connection, &group, Some(&[id])), [(id, -1, 0)]);
}
