//! Every length of every request, falsified in turn: counts at each depth, strings, bytes, tagged fields.

use ballast_tests::raw::layout::{Kind, Layout, layouts};
use ballast_tests::raw::{Connection, Reply};
use ballast_tests::target::Broker;
use ballast_wire::frame::ApiKey;
use kafka_protocol::messages::ApiVersionsRequest;
use std::time::Duration;

use crate::watch::Watch;

/// An honest wait may be among what comes out of a wrong length, but not a long one.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// What a length may claim. In the flexible form each becomes the varint of one more, so that -1 is null.
fn claims(kind: Kind) -> &'static [i32] {
    match kind {
        Kind::Array => &[i32::MAX, i32::MAX - 1, i32::MIN, -2, -1, 0, 2, 1 << 20, 1 << 28],
        Kind::Text => &[i16::MAX as i32, i16::MIN as i32, -2, -1, 0, 2],
        Kind::Bytes => &[i32::MAX, i32::MIN, -1, 0, 100 << 20],
        Kind::Tags => &[i32::MAX, -1, 1, 2, 1 << 20],
    }
}

/// Requests that the broker offers, in the versions that it offers.
fn offered(broker: &Broker) -> Vec<Layout> {
    let listed = broker.connect().call(0, &ApiVersionsRequest::default()).api_keys;
    let mut layouts = layouts();
    layouts.retain(|layout| {
        let offers = |versions: &kafka_protocol::messages::api_versions_response::ApiVersion| {
            versions.api_key == layout.key.0 && (versions.min_version..=versions.max_version).contains(&layout.version)
        };
        listed.iter().any(offers)
    });
    layouts
}

/// Sends it, and gives the connection for the next one.
fn attack(broker: &Broker, mut connection: Connection, key: ApiKey, version: i16, body: &[u8]) -> Connection {
    if connection.request(key, version, body).is_err() {
        return broker.connect();
    }
    match connection.reply_within(ANSWER_MAX) {
        Reply::Frame(_) => connection,
        Reply::Closed => broker.connect(),
        Reply::Silence => {
            assert!(!broker.is_ballast(), "{key} v{version} is silent about {body:?}");
            // Apache Kafka forgets some requests without an element, such as AddPartitionsToTxn for no topic.
            eprintln!("{key} v{version} is silent about {body:?}");
            broker.connect()
        }
    }
}

#[test]
fn a_length_that_lies_ends_the_connection_or_is_answered() {
    let Some(watch) = Watch::start(&[]) else { return };
    let mut lies = 0;
    watch.during(|broker| {
        let mut connection = broker.connect();
        for layout in offered(broker) {
            let honest = layout.honest();
            for length in &honest.lengths {
                for &claim in claims(length.kind) {
                    let body = honest.falsified(*length, claim);
                    connection = attack(broker, connection, layout.key, layout.version, &body);
                    lies += 1;
                }
            }
        }
    });
    eprintln!("{lies} lies were told");
}

#[test]
fn a_body_that_is_cut_anywhere_ends_the_connection_or_is_answered() {
    let Some(watch) = Watch::start(&[]) else { return };
    watch.during(|broker| {
        let mut connection = broker.connect();
        for layout in offered(broker) {
            let body = layout.honest().body;
            for cut in 0..body.len() {
                connection = attack(broker, connection, layout.key, layout.version, &body[..cut]);
            }
        }
    });
}

#[test]
fn a_header_whose_client_id_or_tags_lie_ends_the_connection() {
    let Some(watch) = Watch::start(&[]) else { return };
    watch.during(|broker| {
        for (what, rest) in [
            ("a client id beyond the frame", &b"\x7f\xffme"[..]),
            ("four milliards of tags", b"\xff\xff\xff\xff\xff\xff\x0f"),
            ("a tag of two milliards of bytes", b"\xff\xff\x01\x07\xff\xff\xff\xff\x07"),
            ("a varint without an end", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
        ] {
            let mut connection = broker.connect();
            connection.send_frame(&[&b"\0\x03\0\x0c\0\0\0\x09"[..], rest].concat()).unwrap();
            assert_eq!(connection.reply(), Reply::Closed, "{what}");
        }
    });
}
