//! Connections, negotiation, metadata and retries, against a scripted peer on paused time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ballast_wire::frame::ApiKey;
use kafka_protocol::messages::api_versions_response::ApiVersion;
use kafka_protocol::messages::{
    ApiVersionsRequest, ApiVersionsResponse, ListOffsetsRequest, ListOffsetsResponse, MetadataRequest,
};

use super::*;
use crate::RawRequest;
use crate::fake::{Asked, Fake, Reply, encoded};

const SECOND: Duration = Duration::from_secs(1);

fn list_offsets() -> ListOffsetsRequest {
    ListOffsetsRequest::default()
}

#[tokio::test(start_paused = true)]
async fn negotiation_falls_back_to_the_version_that_the_broker_names() {
    let fake = Fake::new(|asked| {
        let too_new = asked.key == ApiKey::API_VERSIONS && asked.version > 2;
        let own = ApiVersion::default().with_api_key(18).with_min_version(0).with_max_version(2);
        // Code 35 in the shape of version 0, whatever was asked.
        too_new.then(|| Reply::of(&ApiVersionsResponse::default().with_error_code(35).with_api_keys(vec![own]), 0))
    });
    let connection = fake.cluster(&[1]).any_connection().await.unwrap();
    assert_eq!(connection.versions().range(18), Some((0, 4)));
    let asked = fake.asked_for(ApiKey::API_VERSIONS);
    assert_eq!(asked.iter().map(|a| a.version).collect::<Vec<_>>(), [4, 2]);
    let first: ApiVersionsRequest = asked[0].decode();
    assert_eq!(first.client_software_name.as_str(), "ballast");
    assert_eq!(asked[0].client_id, "ballast");
}

#[tokio::test(start_paused = true)]
async fn answers_reach_their_askers_in_order_while_requests_are_pipelined() {
    let fake = Fake::new(|asked| {
        let delay = Duration::from_millis(10);
        (asked.key == ApiKey::PRODUCE).then(|| Reply::Later(delay, asked.body.clone()))
    });
    let connection = fake.cluster(&[1]).any_connection().await.unwrap();
    let mut pending = Vec::new();
    for n in 0..5u8 {
        let body = vec![vec![n].into()];
        let request = RawRequest { key: ApiKey::PRODUCE, version: 3, body, answered: true };
        pending.push(connection.start(request, SECOND).await.unwrap());
    }
    for (n, pending) in pending.into_iter().enumerate() {
        assert_eq!(pending.wait().await.unwrap()[..], [n as u8]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_wants_no_answer_is_done_when_it_is_sent_and_shifts_nobody() {
    let fake = Fake::new(|asked| match asked.key {
        ApiKey::PRODUCE => Some(Reply::Nothing),
        ApiKey::LIST_OFFSETS => Some(Reply::of(&ListOffsetsResponse::default(), asked.version)),
        _ => None,
    });
    let connection = fake.cluster(&[1]).any_connection().await.unwrap();
    let request = RawRequest { key: ApiKey::PRODUCE, version: 3, body: Vec::new(), answered: false };
    assert_eq!(connection.start(request, SECOND).await.unwrap().wait().await.unwrap().len(), 0);
    connection.call(&list_offsets(), SECOND).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_come_in_time_breaks_the_connection_for_all_that_wait() {
    let fake = Fake::new(|asked| (asked.key == ApiKey::LIST_OFFSETS).then_some(Reply::Silence));
    let connection = fake.cluster(&[1]).any_connection().await.unwrap();
    let (slow, other) = (list_offsets(), list_offsets());
    let (slow, other) = tokio::join!(connection.call(&slow, SECOND), connection.call(&other, 9 * SECOND));
    assert!(matches!(slow, Err(ClientError::TimedOut { .. })), "{slow:?}");
    assert!(matches!(other, Err(ClientError::Disconnected { .. })), "{other:?}");
    assert!(connection.is_broken());
    assert!(connection.call(&list_offsets(), SECOND).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn an_answer_out_of_turn_breaks_the_connection() {
    let fake = Fake::new(|asked| (asked.key == ApiKey::LIST_OFFSETS).then_some(Reply::OutOfTurn));
    let connection = fake.cluster(&[1]).any_connection().await.unwrap();
    let error = connection.call(&list_offsets(), SECOND).await.unwrap_err();
    assert!(error.to_string().contains("where 1 was due"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_broker_without_a_common_version_is_named_with_both_ranges() {
    let fake = Fake::new(|_| None);
    fake.versions.lock().retain(|(key, ..)| *key != 2);
    fake.versions.lock().push((2, 20, 21));
    let connection = fake.cluster(&[1]).any_connection().await.unwrap();
    let error = connection.call(&list_offsets(), SECOND).await.unwrap_err();
    assert_eq!(error.to_string(), "fake:1 does not offer ListOffsets 1 to 10 (it has 20 to 21)");
}

#[tokio::test(start_paused = true)]
async fn the_first_bootstrap_address_that_answers_is_enough() {
    let fake = Fake::new(|_| None);
    *fake.down.lock() = vec![1, 2];
    assert_eq!(fake.cluster(&[1, 2, 3]).any_connection().await.unwrap().address(), "fake:3");
    let error = fake.cluster(&[1, 2]).any_connection().await.err().unwrap();
    assert!(matches!(error, ClientError::NoBroker { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_says_nothing_is_not_waited_for_alone_and_counts_if_nobody_else_answers() {
    let frozen = |frozen: u16| {
        Fake::new(move |asked| (asked.key == ApiKey::API_VERSIONS && asked.port == frozen).then_some(Reply::Silence))
    };
    let started = tokio::time::Instant::now();
    let opened = frozen(1).cluster(&[1, 2]).any_connection().await.unwrap();
    assert_eq!((opened.address(), started.elapsed()), ("fake:2", NEXT_AFTER));
    // The first is slow, not dead: it may still win.
    let slow = Fake::new(|asked| match (asked.key, asked.port) {
        (ApiKey::API_VERSIONS, 1) => {
            let row = ApiVersion::default().with_api_key(3).with_max_version(12);
            let body = encoded(&ApiVersionsResponse::default().with_api_keys(vec![row]), asked.version);
            Some(Reply::Later(3 * SECOND, body))
        }
        (ApiKey::API_VERSIONS, _) => Some(Reply::Silence),
        _ => None,
    });
    assert_eq!(slow.cluster(&[1, 2]).any_connection().await.unwrap().address(), "fake:1");
}

#[tokio::test(start_paused = true)]
async fn what_the_controller_is_asked_goes_elsewhere_when_the_broker_named_for_it_says_nothing() {
    let fake = Fake::new(|asked| match (asked.key, asked.port) {
        (ApiKey::API_VERSIONS, 1) => Some(Reply::Silence),
        (ApiKey::LIST_OFFSETS, _) => Some(Reply::of(&ListOffsetsResponse::default(), asked.version)),
        _ => None,
    });
    fake.set_topology(&[1, 2], "t", &[]);
    let cluster = fake.cluster(&[2]);
    cluster.call(Target::Controller, "asking", |_| list_offsets(), |_| Ok(())).await.unwrap();
    assert_eq!(fake.asked_for(ApiKey::LIST_OFFSETS)[0].port, 2);
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_with_its_time_also_while_a_question_is_open() {
    let fake = Fake::new(|asked| (asked.key == ApiKey::LIST_OFFSETS).then_some(Reply::Silence));
    let cluster = fake.cluster(&[1]);
    let started = tokio::time::Instant::now();
    let error = cluster.call(Target::Any, "asking", |_| list_offsets(), |_| Ok(())).await.unwrap_err();
    assert!(matches!(error, ClientError::TimedOut { .. }), "{error}");
    assert!(started.elapsed() <= cluster.config().api_timeout, "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_controllers_listener_is_told_from_a_broker() {
    let fake = Fake::new(|_| None);
    *fake.versions.lock() = vec![(18, 0, 4), (62, 2, 4)];
    let error = fake.cluster(&[1]).all_topics().await.unwrap_err();
    assert_eq!(error.to_string(), "fake:1 does not offer Metadata: it is a controller's listener, name a broker's");
}

#[tokio::test(start_paused = true)]
async fn when_every_known_broker_is_gone_the_bootstrap_list_is_asked_again() {
    let fake = Fake::new(|_| None);
    fake.set_topology(&[11, 12], "t", &[(11, 0)]);
    let cluster = fake.cluster(&[1]);
    cluster.topics(&["t"], false, Duration::ZERO).await.unwrap();
    *fake.down.lock() = vec![11, 12];
    assert!(cluster.connection(11, Lane::Produce).await.is_err());
    fake.set_topology(&[13], "t", &[(13, 1)]);
    cluster.refresh().await.unwrap();
    assert_eq!(fake.asked_for(ApiKey::METADATA).last().map(|asked| asked.port), Some(1));
    assert_eq!(cluster.leader("t", 0), Ok((13, 1)));
    assert_eq!(cluster.connection(13, Lane::Produce).await.unwrap().address(), "fake:13");
}

#[tokio::test(start_paused = true)]
async fn a_call_is_tried_again_on_retriable_codes_and_broken_connections_only() {
    let attempts = AtomicUsize::new(0);
    let fake = Fake::new(move |asked| {
        if asked.key != ApiKey::LIST_OFFSETS {
            return None;
        }
        Some(match attempts.fetch_add(1, Ordering::Relaxed) {
            0 => Reply::Close,
            n => Reply::Body(encoded(&ListOffsetsResponse::default().with_throttle_time_ms(n as i32), asked.version)),
        })
    });
    let cluster = fake.cluster(&[1]);
    let codes = [(1, ErrorCode::LEADER_NOT_AVAILABLE), (3, ErrorCode::TOPIC_ALREADY_EXISTS)];
    let check = |answer: &ListOffsetsResponse| match codes.iter().find(|(n, _)| *n == answer.throttle_time_ms) {
        Some((_, code)) => Err(ClientError::refused("asking", *code)),
        None => Ok(()),
    };
    let (_, answer) = cluster.call(Target::Any, "asking", |_| list_offsets(), check).await.unwrap();
    assert_eq!(answer.throttle_time_ms, 2, "a broken connection and a retriable code came before");
    let connections: Vec<usize> = fake.asked_for(ApiKey::LIST_OFFSETS).iter().map(|a| a.connection).collect();
    assert_eq!(connections, [0, 1, 1]);
    let error = cluster.call(Target::Any, "asking", |_| list_offsets(), check).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::TOPIC_ALREADY_EXISTS));
}

#[tokio::test(start_paused = true)]
async fn an_unknown_topic_is_waited_for_as_long_as_patience_and_no_longer() {
    let fake = Fake::new(|_| None);
    fake.set_topology(&[1], "t", &[]);
    fake.metadata.lock().topics[0].error_code = 3;
    let cluster = fake.cluster(&[1]);
    let started = tokio::time::Instant::now();
    let error = cluster.topics(&["t"], false, 2 * SECOND).await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION));
    assert!((2 * SECOND..5 * SECOND).contains(&started.elapsed()), "{:?}", started.elapsed());
    let requests: Vec<MetadataRequest> = fake.asked_for(ApiKey::METADATA).iter().map(Asked::decode).collect();
    assert!(requests.iter().all(|r| !r.allow_auto_topic_creation), "nobody asked for the topic to be created");
}

#[tokio::test(start_paused = true)]
async fn callers_that_refresh_at_once_share_one_question() {
    let fake = Fake::new(|_| None);
    fake.set_topology(&[1], "t", &[(1, 0)]);
    let cluster = fake.cluster(&[1]);
    let (a, b, c) = tokio::join!(cluster.refresh(), cluster.refresh(), cluster.refresh());
    assert!(a.is_ok() && b.is_ok() && c.is_ok());
    assert_eq!(fake.asked_for(ApiKey::METADATA).len(), 1);
}
