//! The faults of a broker process, over HTTP: what tests in other languages use.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use ballast_tests::process::Serve;
use ballast_tests::raw::connection::ANSWER_MAX;
use ballast_tests::raw::{Connection, Reply, batch};

const ENABLED: &str = "test.faults.enable=true";

/// (status, body) of a request.
fn ask(serve: &Serve, method: &str, path: &str, body: &str) -> (u16, String) {
    let address = serve.http.as_deref().expect("HTTP is served");
    let mut stream = TcpStream::connect(address).expect("HTTP is served");
    stream.set_read_timeout(Some(ANSWER_MAX)).expect("a socket takes its options");
    let head = format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
    let head = format!("{head}content-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).expect("the broker reads");
    stream.write_all(body.as_bytes()).expect("the broker reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the broker answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    let status = head.split(' ').nth(1).expect("a status").parse().expect("a number");
    (status, body.to_owned())
}

#[test]
fn a_fault_is_planted_listed_counted_and_removed() {
    let serve = Serve::start(&[ENABLED]);
    let mut connection = Connection::open(&serve.bootstrap);
    connection.create_topic("orders", 1, &[]);
    let wish =
        r#"{"fault": "fail_next", "api": "Produce", "error": "NOT_LEADER_OR_FOLLOWER", "times": 2, "topic": "orders"}"#;
    let (status, planted) = ask(&serve, "POST", "/api/v1/faults", wish);
    assert_eq!(status, 201, "{planted}");
    assert_eq!(connection.produce(9, "orders", 0, batch(&["a"])).error_code, 6);
    let (status, listed) = ask(&serve, "GET", "/api/v1/faults", "");
    assert_eq!(status, 200);
    let expected = r#"{"faults":[{"id":1,"fault":"fail_next","api":"Produce","error":"NOT_LEADER_OR_FOLLOWER","topic":"orders","fired":1,"left":1}]}"#;
    assert_eq!(listed, expected);
    assert_eq!(ask(&serve, "DELETE", "/api/v1/faults/1", "").0, 200);
    assert_eq!(ask(&serve, "DELETE", "/api/v1/faults/1", "").0, 404);
    assert_eq!(connection.produce(9, "orders", 0, batch(&["a"])).error_code, 0);
    ask(&serve, "POST", "/api/v1/faults", r#"{"fault": "drop_connection", "api": "Produce"}"#);
    assert_eq!(ask(&serve, "DELETE", "/api/v1/faults", ""), (200, r#"{"removed":1}"#.to_owned()));
}

#[test]
fn requests_are_recorded_and_filtered_by_api() {
    let serve = Serve::start(&[ENABLED]);
    let mut connection = Connection::open(&serve.bootstrap);
    connection.create_topic("orders", 1, &[]);
    assert_eq!(ask(&serve, "POST", "/api/v1/requests", "").0, 204);
    connection.append("orders", 0, batch(&["a"]));
    connection.fetch("orders", 0, 0);
    let (status, seen) = ask(&serve, "GET", "/api/v1/requests?api=Produce", "");
    assert_eq!(status, 200, "{seen}");
    assert!(seen.starts_with(r#"{"recording":true,"forgotten":0,"requests":[{"api":"Produce","version":"#), "{seen}");
    assert!(seen.contains(r#""topics":[{"name":"orders","partitions":[0]}]"#), "{seen}");
    assert!(!seen.contains("Fetch"), "{seen}");
    assert_eq!(ask(&serve, "DELETE", "/api/v1/requests", "").0, 204);
    let (_, seen) = ask(&serve, "GET", "/api/v1/requests", "");
    assert_eq!(seen, r#"{"recording":false,"forgotten":0,"requests":[]}"#);
}

#[test]
fn what_is_not_understood_is_refused_and_plants_nothing() {
    let serve = Serve::start(&[ENABLED]);
    for (wish, expected) in [
        ("", "EOF"),
        (r#"{"fault": "delay", "api": "Produce", "milliseconds": 5}"#, "unknown field"),
        (r#"{"fault": "fail_next", "api": "ShareFetch", "error": 6}"#, "ShareFetch is not served"),
        (r#"{"fault": "disk_full", "times": 4294967296}"#, "u32"),
    ] {
        let (status, body) = ask(&serve, "POST", "/api/v1/faults", wish);
        assert_eq!(status, 400, "{wish}: {body}");
        assert!(body.starts_with(r#"{"error":"#) && body.contains(expected), "{wish}: {body}");
    }
    assert_eq!(ask(&serve, "GET", "/api/v1/faults", "").1, r#"{"faults":[]}"#);
}

#[test]
fn without_the_setting_there_are_no_faults_over_http() {
    let serve = Serve::start(&[]);
    for (method, path) in [("GET", "/api/v1/faults"), ("POST", "/api/v1/faults"), ("GET", "/api/v1/requests")] {
        assert_eq!(ask(&serve, method, path, r#"{"fault": "disk_full"}"#).0, 404, "{method} {path}");
    }
    assert_eq!(ask(&serve, "GET", "/health/ready", "").0, 200);
}

#[test]
fn a_fault_of_a_process_closes_connections_as_one_in_a_test_does() {
    let serve = Serve::start(&[ENABLED]);
    let mut connection = Connection::open(&serve.bootstrap);
    ask(&serve, "POST", "/api/v1/faults", r#"{"fault": "drop_connection", "api": "Metadata"}"#);
    connection.start(12, &kafka_protocol::messages::MetadataRequest::default().with_topics(None));
    assert_eq!(connection.reply(), Reply::Closed);
}
