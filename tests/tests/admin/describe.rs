//! DescribeConfigs: values, sources, synonyms, types and flags of each type of resource.

use ballast_tests::raw::rows::eventually;
use ballast_tests::raw::text;
use ballast_tests::target::{shared, unique};
use kafka_protocol::messages::DescribeConfigsRequest;
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;

use crate::ask::{
    BROKER, BROKER_LOGGER, CLIENT_METRICS, DEFAULT, DYNAMIC_BROKER, DYNAMIC_DEFAULT_BROKER, DYNAMIC_GROUP,
    DYNAMIC_TOPIC, GROUP, STATIC_BROKER, TOPIC, describe, node, row, set,
};

const INVALID_REQUEST: i16 = 42;

fn places(row: &crate::ask::Row) -> Vec<(&str, Option<&str>, i8)> {
    row.synonyms.iter().map(|(name, value, source)| (name.as_str(), value.as_deref(), *source)).collect()
}

#[test]
fn a_topics_value_comes_with_every_place_that_has_one() {
    let broker = shared();
    let mut connection = broker.connect();
    let me = node(&mut connection);
    let topic = broker.topic("places", 1, &[("index.interval.bytes", "1111")]).name;
    set(&mut connection, BROKER, &me, "log.index.interval.bytes", Some("2222"));
    set(&mut connection, BROKER, "", "log.index.interval.bytes", Some("3333"));
    let shown = eventually("all places are shown", || {
        let shown = row(&mut connection, TOPIC, &topic, "index.interval.bytes");
        (shown.synonyms.len() == 4).then_some(shown)
    });
    let broker_setting = "log.index.interval.bytes";
    assert_eq!(
        places(&shown),
        [
            ("index.interval.bytes", Some("1111"), DYNAMIC_TOPIC),
            (broker_setting, Some("2222"), DYNAMIC_BROKER),
            (broker_setting, Some("3333"), DYNAMIC_DEFAULT_BROKER),
            (broker_setting, Some("4096"), DEFAULT),
        ]
    );
    assert_eq!((shown.value.as_deref(), shown.source, shown.kind), (Some("1111"), DYNAMIC_TOPIC, 3));
    assert!(!shown.read_only && !shown.sensitive);
    assert!(shown.documentation.is_some_and(|words| !words.is_empty()), "what it does");
    for key in [me.as_str(), ""] {
        set(&mut connection, BROKER, key, "log.index.interval.bytes", None);
    }
}

#[test]
fn hours_are_shown_as_milliseconds_and_as_a_default() {
    let broker = shared();
    let mut connection = broker.connect();
    let topic = broker.topic("hours", 1, &[]).name;
    let shown = row(&mut connection, TOPIC, &topic, "retention.ms");
    assert_eq!((shown.value.as_deref(), shown.source, places(&shown)), (Some("604800000"), DEFAULT, vec![]));
}

#[test]
fn a_broker_shows_what_it_was_started_with_and_what_can_be_changed() {
    let broker = shared();
    let mut connection = broker.connect();
    let me = node(&mut connection);
    let started = row(&mut connection, BROKER, &me, "log.retention.check.interval.ms");
    assert_eq!((started.value.as_deref(), started.source, started.kind), (Some("200"), STATIC_BROKER, 5));
    assert!(started.read_only, "it is read at start");
    let places_of = [
        ("log.retention.check.interval.ms", Some("200"), STATIC_BROKER),
        ("log.retention.check.interval.ms", Some("300000"), DEFAULT),
    ];
    assert_eq!(places(&started), places_of);
    let changeable = row(&mut connection, BROKER, &me, "log.cleaner.backoff.ms");
    assert_eq!((changeable.read_only, changeable.source), (false, DEFAULT));
    let secret = row(&mut connection, BROKER, &me, "ssl.keystore.password");
    assert_eq!((secret.value, secret.sensitive, secret.kind), (None, true, 9));
}

#[test]
fn the_clusters_defaults_are_only_those_that_are_set() {
    let broker = shared();
    let mut connection = broker.connect();
    set(&mut connection, BROKER, "", "log.cleaner.io.buffer.size", Some("600000"));
    let shown = eventually("the default is shown", || {
        describe(&mut connection, BROKER, "", &["log.cleaner.io.buffer.size"]).expect("it exists").pop()
    });
    assert_eq!((shown.1.value.as_deref(), shown.1.source), (Some("600000"), DYNAMIC_DEFAULT_BROKER));
    assert_eq!(places(&shown.1), [("log.cleaner.io.buffer.size", Some("600000"), DYNAMIC_DEFAULT_BROKER)]);
    let other = describe(&mut connection, BROKER, "", &["log.cleaner.threads"]).expect("it exists");
    assert_eq!(other, [], "what is not set is not listed");
    set(&mut connection, BROKER, "", "log.cleaner.io.buffer.size", None);
}

#[test]
fn groups_and_subscriptions_that_nobody_made_have_defaults() {
    let broker = shared();
    let mut connection = broker.connect();
    let shown = row(&mut connection, GROUP, &unique("none"), "consumer.heartbeat.interval.ms");
    assert_eq!((shown.value.as_deref(), shown.source, shown.kind), (Some("5000"), DEFAULT, 3));
    assert_eq!(places(&shown), [("group.consumer.heartbeat.interval.ms", Some("5000"), DEFAULT)]);
    let mut rows = describe(&mut connection, CLIENT_METRICS, &unique("none"), &[]).expect("they always exist");
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    let rows: Vec<_> =
        rows.iter().map(|(key, row)| (key.as_str(), row.value.as_deref(), row.source, row.kind)).collect();
    let defaults = [
        ("interval.ms", Some("300000"), DEFAULT, 3),
        ("match", Some(""), DEFAULT, 7),
        ("metrics", Some(""), DEFAULT, 7),
    ];
    assert_eq!(rows, defaults);
    let group = unique("own");
    set(&mut connection, GROUP, &group, "consumer.heartbeat.interval.ms", Some("6000"));
    eventually("the group's own is shown", || {
        let shown = row(&mut connection, GROUP, &group, "consumer.heartbeat.interval.ms");
        (shown.source == DYNAMIC_GROUP).then_some(())
    });
}

#[test]
fn what_cannot_be_described_is_refused_with_its_reason() {
    let broker = shared();
    let mut connection = broker.connect();
    let me = node(&mut connection);
    for (kind, name, code, words) in [
        (TOPIC, "no-such-topic", 3, String::new()),
        (TOPIC, "a b", 17, "Topic name is invalid: 'a b' contains one or more characters".to_owned()),
        (TOPIC, "", 17, "Topic name is invalid: the empty string is not allowed".to_owned()),
        (
            BROKER,
            "77",
            INVALID_REQUEST,
            format!("Unexpected broker id, expected {me} or empty string, but received 77"),
        ),
        (BROKER, "x", INVALID_REQUEST, "Broker id must be an integer, but it is: x".to_owned()),
        (BROKER_LOGGER, "77", INVALID_REQUEST, format!("Unexpected broker id, expected {me} but received 77")),
        (BROKER_LOGGER, "x", INVALID_REQUEST, "Broker id must be an integer, but it is: x".to_owned()),
        (BROKER_LOGGER, "", INVALID_REQUEST, "Broker id must not be empty".to_owned()),
        (GROUP, "", INVALID_REQUEST, "Group name must not be empty".to_owned()),
        (CLIENT_METRICS, "", INVALID_REQUEST, "Client metrics subscription name must not be empty".to_owned()),
        (3, "x", INVALID_REQUEST, String::new()),
    ] {
        let told = describe(&mut connection, kind, name, &[]).expect_err(name);
        assert_eq!(told.0, code, "{kind} {name:?}: {told:?}");
        assert!(told.1.as_deref().is_some_and(|told| told.starts_with(&words)), "{kind} {name:?}: {told:?}");
    }
}

#[test]
fn keys_that_nobody_knows_are_left_out_and_old_versions_have_fewer_fields() {
    let broker = shared();
    let mut connection = broker.connect();
    let topic = broker.topic("fields", 1, &[]).name;
    let two = describe(&mut connection, TOPIC, &topic, &["no.such", "retention.ms"]).expect("it exists");
    assert_eq!(two.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["retention.ms"]);
    let resource = DescribeConfigsResource::default().with_resource_type(TOPIC).with_resource_name(text(&topic));
    for version in 1..=4 {
        let request = DescribeConfigsRequest::default().with_resources(vec![resource.clone()]);
        let rows = connection.call(version, &request).results.remove(0).configs;
        assert!(rows.len() > 30, "v{version}: all of them");
        let undocumented = |words: Option<&str>| words.unwrap_or_default().is_empty();
        let bare = rows.iter().all(|row| row.synonyms.is_empty() && undocumented(row.documentation.as_deref()));
        assert!(bare, "v{version}: nobody asked for more");
        let typed = rows.iter().find(|row| &*row.name == "retention.ms").expect("it is listed").config_type;
        assert_eq!(typed, if version >= 3 { 5 } else { 0 }, "v{version}");
    }
}
