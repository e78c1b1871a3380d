//! ApiVersions: the answer that every client must be able to read before it knows the broker.

use ballast_tests::raw::Connection;
use ballast_tests::target::shared;
use ballast_wire::frame::{ApiKey, Form, Reader, Writer};
use bytes::Bytes;
use kafka_protocol::messages::{ApiVersionsRequest, ApiVersionsResponse};

use ballast_tests::raw::text;

const UNSUPPORTED_VERSION: i16 = 35;
const INVALID_REQUEST: i16 = 42;
const REBOOTSTRAP_REQUIRED: i16 = 129;

fn ask(connection: &mut Connection, version: i16) -> ApiVersionsResponse {
    let request = ApiVersionsRequest::default();
    let named = request.clone().with_client_software_name(text("tests")).with_client_software_version(text("1.0"));
    connection.call(version, if version >= 3 { &named } else { &request })
}

/// Lowest and highest version of a key, as advertised.
fn range(answer: &ApiVersionsResponse, key: ApiKey) -> Option<(i16, i16)> {
    answer.api_keys.iter().find(|entry| entry.api_key == key.0).map(|entry| (entry.min_version, entry.max_version))
}

#[test]
fn an_unknown_version_is_answered_in_the_oldest_form_with_one_entry_and_the_connection_lives() {
    let broker = shared();
    let mut connection = broker.connect();
    let (min, max) = range(&ask(&mut connection, 0), ApiKey::API_VERSIONS).unwrap();
    for version in [max + 1, 99, i16::MAX, -1] {
        let correlation_id = connection.request(ApiKey::API_VERSIONS, version, b"what no broker can know").unwrap();
        let frame = connection.frame();
        let mut body = Reader::new(&frame, Form::Plain);
        assert_eq!(body.i32().unwrap(), correlation_id, "v{version}");
        assert_eq!(body.i16().unwrap(), UNSUPPORTED_VERSION, "v{version}");
        let entries = body.array(6, |entry| Ok((entry.i16()?, entry.i16()?, entry.i16()?))).unwrap();
        assert_eq!(entries, [(18, min, max)], "v{version}");
        assert_eq!(body.remaining(), 0, "v{version}: bytes after the oldest form");
        assert_eq!(ask(&mut connection, 3).error_code, 0, "the same connection goes on after v{version}");
    }
}

#[test]
fn a_flexible_answer_begins_with_a_bare_correlation_id() {
    let broker = shared();
    let mut connection = broker.connect();
    let entries = ask(&mut connection, 0).api_keys.len();
    for version in [3, 4] {
        let mut body = Writer::new(Form::Flexible);
        body.string("tests");
        body.string("1.0");
        body.no_tags();
        let correlation_id = connection.request(ApiKey::API_VERSIONS, version, &body.finish()).unwrap();
        let frame = connection.frame();
        // No byte for tagged fields between the two: it would be read as half of the error code.
        assert_eq!(frame[..4], correlation_id.to_be_bytes(), "v{version}");
        assert_eq!(frame[4..6], [0, 0], "v{version}: the error code follows at once");
        let mut rest = Reader::new(&frame[6..], Form::Flexible);
        let read = rest.array(7, |entry| {
            let entry_key = entry.i16()?;
            entry.take(4)?;
            entry.skip_tags()?;
            Ok(entry_key)
        });
        assert_eq!(read.unwrap().len(), entries, "v{version}");
    }
}

#[test]
fn what_is_advertised_is_what_clients_look_for() {
    let broker = shared();
    let answer = ask(&mut broker.connect(), 3);
    // librdkafka up to 2.8 compresses only if it sees Produce v0, although nobody may send one (KAFKA-18659).
    assert_eq!(range(&answer, ApiKey::PRODUCE).map(|(min, _)| min), Some(0));
    let (_, produce) = range(&answer, ApiKey::PRODUCE).unwrap();
    assert!(produce >= 12, "Produce up to v{produce}");
    let (fetch_min, fetch) = range(&answer, ApiKey::FETCH).unwrap();
    assert!(fetch_min == 4 && fetch >= 16, "Fetch v{fetch_min} to v{fetch}");
    // Its v0 means something else, and nobody serves it any more.
    assert_eq!(range(&answer, ApiKey::LIST_OFFSETS).map(|(min, _)| min), Some(1));
    assert_eq!(range(&answer, ApiKey::METADATA).map(|(min, _)| min), Some(0));
    assert!(range(&answer, ApiKey::INIT_PRODUCER_ID).is_some(), "a default Java producer asks for an id first");
    for withdrawn in [4, 5, 6, 7, 71, 72] {
        assert_eq!(range(&answer, ApiKey(withdrawn)), None, "key {withdrawn}");
    }
    let mut keys: Vec<i16> = answer.api_keys.iter().map(|entry| entry.api_key).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), answer.api_keys.len(), "a key is listed twice");
}

#[test]
fn client_software_must_have_a_proper_name_and_version() {
    let broker = shared();
    let mut connection = broker.connect();
    for (software, version, expected) in [
        ("apache-kafka-java", "4.4.0", 0),
        ("x", "1", 0),
        ("", "1", INVALID_REQUEST),
        ("x", "", INVALID_REQUEST),
        ("two words", "1", INVALID_REQUEST),
        ("-x", "1", INVALID_REQUEST),
        ("x", "1.", INVALID_REQUEST),
        ("ü", "1", INVALID_REQUEST),
    ] {
        let request = ApiVersionsRequest::default()
            .with_client_software_name(text(software))
            .with_client_software_version(text(version));
        assert_eq!(connection.call(3, &request).error_code, expected, "name {software:?}, version {version:?}");
    }
}

#[test]
fn features_whose_minimum_is_zero_are_shown_from_version_four_on_only() {
    let broker = shared();
    let mut connection = broker.connect();
    let old = ask(&mut connection, 3);
    // Old Java clients throw when they read a minimum of 0.
    assert!(old.supported_features.iter().all(|feature| feature.min_version > 0), "{:?}", old.supported_features);
    let new = ask(&mut connection, 4);
    assert!(new.supported_features.iter().any(|feature| feature.min_version == 0), "{:?}", new.supported_features);
    for answer in [&old, &new] {
        assert!(answer.finalized_features.iter().all(|feature| feature.max_version_level > 0));
        assert!(answer.finalized_features.iter().any(|feature| &*feature.name == "metadata.version"));
        assert!(answer.finalized_features_epoch >= 0, "{}", answer.finalized_features_epoch);
    }
}

#[test]
fn a_client_that_looks_for_another_cluster_or_node_is_told_to_start_over() {
    let broker = shared();
    let mut connection = broker.connect();
    if range(&ask(&mut connection, 3), ApiKey::API_VERSIONS).unwrap().1 < 5 {
        return;
    }
    let metadata = connection.call(12, &kafka_protocol::messages::MetadataRequest::default().with_topics(None));
    let (cluster, node) = (metadata.cluster_id.unwrap().to_string(), metadata.brokers[0].node_id.0);
    for (cluster, node, expected) in [
        (None, -1, 0),
        (Some(cluster.as_str()), node, 0),
        (Some("another"), node, REBOOTSTRAP_REQUIRED),
        (Some(cluster.as_str()), node + 1, REBOOTSTRAP_REQUIRED),
        (Some(cluster.as_str()), -1, INVALID_REQUEST),
        (None, node, INVALID_REQUEST),
    ] {
        let mut body = Writer::new(Form::Flexible);
        body.string("tests");
        body.string("1.0");
        body.nullable_string(cluster);
        body.i32(node);
        body.no_tags();
        connection.request(ApiKey::API_VERSIONS, 5, &body.finish()).unwrap();
        let frame: Bytes = connection.frame();
        assert_eq!(frame[4..6], i16::to_be_bytes(expected), "cluster {cluster:?}, node {node}");
    }
}
