//! Frames and their headers: what is read, what closes the connection, and in which order answers come.

use ballast_tests::raw::rows::FETCH;
use ballast_tests::raw::{Connection, Fetch, Reply, batch, fetch_row};
use ballast_tests::target::shared;
use ballast_wire::frame::{ApiKey, Form, Writer};
use kafka_protocol::messages::{FetchRequest, MetadataRequest};

use ballast_tests::raw::connection::encoded;
use ballast_tests::raw::now_ms;

/// A Metadata request for no topic, header by hand: `head` is all between the correlation id and the body.
fn metadata(version: i16, head: &[u8], tail: &[u8]) -> Vec<u8> {
    let mut frame = Writer::new(Form::Plain);
    frame.i16(3);
    frame.i16(version);
    frame.i32(77);
    frame.raw(head);
    let request = MetadataRequest::default().with_topics(Some(vec![]));
    frame.raw(&encoded(version, &request));
    frame.raw(tail);
    frame.finish().to_vec()
}

/// Does the broker answer, with the right correlation id?
fn answered(connection: &mut Connection) -> bool {
    match connection.reply() {
        Reply::Frame(frame) => {
            assert_eq!(frame[..4], 77i32.to_be_bytes());
            true
        }
        Reply::Closed => false,
        Reply::Silence => panic!("neither an answer nor an end"),
    }
}

#[test]
fn a_flexible_header_keeps_the_old_form_of_the_client_id() {
    let broker = shared();
    for (what, head) in [
        ("an ordinary one", &b"\0\x02me\0"[..]),
        ("null", b"\xff\xff\0"),
        ("null by another negative length", b"\xff\xfe\0"),
        ("empty", b"\0\0\0"),
        ("of bad UTF-8", b"\0\x02\xff\xfe\0"),
        ("followed by an unknown tag", b"\0\x02me\x01\x63\x02ab"),
        ("followed by unknown tags, one twice and none in order", b"\0\x02me\x03\x63\x01a\x07\x01b\x63\0"),
    ] {
        let mut connection = broker.connect();
        connection.send_frame(&metadata(12, head, b"")).unwrap();
        assert!(answered(&mut connection), "a client id that is {what}");
    }
}

#[test]
fn a_plain_header_reads_a_null_client_id() {
    let broker = shared();
    for head in [&b"\xff\xff"[..], b"\xff\xfe", b"\0\0"] {
        let mut connection = broker.connect();
        connection.send_frame(&metadata(1, head, b"")).unwrap();
        assert!(answered(&mut connection), "{head:?}");
    }
}

#[test]
fn bytes_after_a_body_are_passed_over() {
    let broker = shared();
    for version in [1, 12] {
        let head: &[u8] = if version == 1 { b"\xff\xff" } else { b"\xff\xff\0" };
        let mut connection = broker.connect();
        connection.send_frame(&metadata(version, head, b"nothing that a schema names")).unwrap();
        assert!(answered(&mut connection), "v{version}");
    }
}

#[test]
fn what_cannot_be_understood_closes_the_connection_without_an_answer() {
    let broker = shared();
    let request = |key: i16, version: i16, rest: &[u8]| {
        let mut frame = Writer::new(Form::Plain);
        frame.i16(key);
        frame.i16(version);
        frame.i32(77);
        frame.raw(rest);
        frame.finish().to_vec()
    };
    for (what, frame) in [
        ("an unknown key", request(1000, 0, b"\xff\xff")),
        ("a negative key", request(-1, 0, b"\xff\xff")),
        ("a key that was withdrawn", request(4, 0, b"\xff\xff")),
        ("a key of controllers", request(52, 0, b"\xff\xff\0")),
        ("Metadata v99", request(3, 99, b"\xff\xff\0\0")),
        ("Metadata v-1", request(3, -1, b"\xff\xff\0\0\0\0")),
        ("Produce v2, although v0 is advertised", request(0, 2, b"\xff\xff\0\x01\0\0\0\0\0\0\0\0")),
        ("Fetch v3", request(1, 3, b"\xff\xff")),
        ("Metadata v0 with a null list", request(3, 0, b"\xff\xff\xff\xff\xff\xff")),
        ("a flexible header without its tags", request(3, 12, b"\xff\xff")),
        ("a body that is cut", request(3, 12, b"\xff\xff\0\x02")),
        ("no body", request(18, 3, b"\xff\xff\0")),
        ("a frame shorter than a header", vec![0, 3]),
        ("a client id beyond the frame", request(3, 1, b"\x7f\xffme")),
    ] {
        let mut connection = broker.connect();
        connection.send_frame(&frame).unwrap();
        assert_eq!(connection.reply(), Reply::Closed, "{what}");
    }
}

#[test]
fn answers_come_in_the_order_of_the_requests_even_behind_a_long_poll() {
    let broker = shared();
    let topic = broker.topic("long-poll", 1, &[]);
    let mut connection = broker.connect();
    let started = now_ms();
    let poll = Fetch::of(&topic.name, vec![fetch_row(0, 0)]).wait(1, 400).0;
    let first = connection.start::<FetchRequest>(FETCH, &poll);
    let metadata = MetadataRequest::default().with_topics(Some(vec![]));
    let second = connection.start(12, &metadata);
    let third = connection.start(1, &metadata);
    let fetched = connection.finish::<FetchRequest>(FETCH, first);
    let waited = now_ms() - started;
    assert_eq!(fetched.error_code, 0);
    assert!(waited >= 390, "the poll was answered after {waited} ms");
    connection.finish::<MetadataRequest>(12, second);
    connection.finish::<MetadataRequest>(1, third);
}

#[test]
fn a_frame_may_arrive_byte_by_byte() {
    let broker = shared();
    let mut connection = broker.connect();
    let payload = metadata(12, b"\0\x02me\0", b"");
    let mut frame = (payload.len() as i32).to_be_bytes().to_vec();
    frame.extend(payload);
    for byte in frame {
        connection.send(&[byte]).unwrap();
    }
    assert!(answered(&mut connection));
}

#[test]
fn a_client_that_stopped_sending_still_gets_its_answers() {
    let broker = shared();
    let topic = broker.topic("half-closed", 1, &[]);
    let mut connection = broker.connect();
    let request = ballast_tests::raw::messages::produce(-1, &topic.name, 0, Some(batch(&["a"])));
    let produced = connection.start(9, &request);
    let listed = connection.start(12, &MetadataRequest::default().with_topics(Some(vec![])));
    connection.half_close();
    assert_eq!(connection.finish::<kafka_protocol::messages::ProduceRequest>(9, produced).responses.len(), 1);
    connection.finish::<MetadataRequest>(12, listed);
    assert_eq!(connection.reply(), Reply::Closed);
}

#[test]
fn a_sasl_handshake_without_security_is_refused_and_the_connection_lives() {
    let broker = shared();
    let mut connection = broker.connect();
    let listed = connection.call(0, &kafka_protocol::messages::ApiVersionsRequest::default());
    if listed.api_keys.iter().all(|entry| entry.api_key != ApiKey::SASL_HANDSHAKE.0) {
        return;
    }
    let request =
        kafka_protocol::messages::SaslHandshakeRequest::default().with_mechanism(ballast_tests::raw::text("PLAIN"));
    assert_eq!(connection.call(1, &request).error_code, 34);
    connection.call(12, &MetadataRequest::default().with_topics(Some(vec![])));
}
