//! Who coordinates: FindCoordinator in its two shapes.

use ballast_tests::raw::groups::{heartbeat, join};
use ballast_tests::raw::text;
use ballast_tests::target::shared;
use kafka_protocol::messages::FindCoordinatorRequest;

use crate::group;

const GROUP: i8 = 0;
const TRANSACTION: i8 = 1;
const SHARE: i8 = 2;

#[test]
fn every_version_finds_the_coordinator_of_a_group() {
    let Some((broker, group)) = group("found") else { return };
    let mut connection = broker.connect();
    let port: i32 = broker.bootstrap.rsplit_once(':').unwrap().1.parse().unwrap();
    for version in 0..=3 {
        let found = connection.call(version, &FindCoordinatorRequest::default().with_key(text(&group)));
        assert_eq!((found.error_code, found.port), (0, port), "v{version}");
        if version > 0 {
            assert_eq!(found.error_message.as_deref(), Some("NONE"), "v{version}");
        }
    }
    for version in 4..=6 {
        let keys = vec![text(&group), text(""), text("another")];
        let mut found =
            connection.call(version, &FindCoordinatorRequest::default().with_coordinator_keys(keys)).coordinators;
        found.sort_by(|a, b| a.key.cmp(&b.key));
        let rows: Vec<_> = found.iter().map(|row| (row.key.as_str(), row.error_code, row.port)).collect();
        assert_eq!(rows, [("", 0, port), ("another", 0, port), (&*group, 0, port)], "v{version}");
        assert_eq!(found[0].error_message.as_deref(), Some(""), "v{version}");
    }
}

#[test]
fn keys_of_another_kind_than_a_group_are_told_apart() {
    let Some((broker, _)) = group("kinds") else { return };
    let mut connection = broker.connect();
    let mut ask = |version, kind, key: &str| {
        let request = FindCoordinatorRequest::default().with_key_type(kind).with_coordinator_keys(vec![text(key)]);
        connection.call(version, &request).coordinators.remove(0).error_code
    };
    assert_eq!(ask(4, 7, "x"), 42, "there is no kind 7");
    assert_eq!(ask(5, SHARE, "g:AAAAAAAAAAAAAAAAAAAAAA:0"), 42, "share groups came with version 6");
    assert_eq!(ask(6, SHARE, "malformed"), 42);
    assert_eq!(ask(6, GROUP, "x"), 0);
    let transaction = ask(6, TRANSACTION, "x");
    if broker.is_ballast() {
        assert_eq!(transaction, 53, "a retriable answer would leave the client waiting for ever");
    }
    let old = FindCoordinatorRequest::default().with_key(text("x")).with_key_type(7);
    assert_eq!(connection.call(3, &old).error_code, 42);
}

#[test]
fn a_group_may_be_asked_for_before_anybody_asked_for_its_coordinator() {
    let broker = shared();
    let mut connection = broker.connect();
    // Either nobody coordinates yet (16), or another test has had the topic made.
    assert!([16, 25].contains(&connection.call(4, &heartbeat("early", "x", 1)).error_code));
    let joined = connection.call(4, &join("early", ""));
    assert!([14, 16, 79].contains(&joined.error_code), "{joined:?}");
}
