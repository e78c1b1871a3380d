//! IncrementalAlterConfigs and AlterConfigs: what is changed, what is refused, and with which words.

use ballast_tests::raw::Connection;
use ballast_tests::raw::rows::eventually;
use ballast_tests::target::{shared, unique};

use crate::ask::{
    APPEND, BROKER, CLIENT_METRICS, Change, DELETE, DYNAMIC_BROKER, DYNAMIC_CLIENT_METRICS, DYNAMIC_GROUP,
    DYNAMIC_TOPIC, GROUP, SET, SUBTRACT, TOPIC, change, change_all, describe, node, replace, row, set, value,
};

const INVALID_TOPIC: i16 = 17;
const UNKNOWN_TOPIC: i16 = 3;
const INVALID_CONFIG: i16 = 40;
const INVALID_REQUEST: i16 = 42;

#[test]
fn single_configs_are_set_deleted_appended_and_subtracted() {
    let broker = shared();
    let mut connection = broker.connect();
    let topic = broker.topic("changed", 1, &[("segment.ms", "5000")]).name;
    let mut steps: Vec<(Change<'_>, &str, Option<&str>)> = vec![
        (("retention.ms", SET, Some("1000")), "retention.ms", Some("1000")),
        (("retention.ms", SET, Some(" 2000 ")), "retention.ms", Some("2000")),
        (("retention.ms", DELETE, None), "retention.ms", None),
        (("no.such.config", DELETE, None), "segment.ms", Some("5000")),
        (("cleanup.policy", APPEND, Some("compact")), "cleanup.policy", Some("delete,compact")),
        (("cleanup.policy", APPEND, Some("compact")), "cleanup.policy", Some("delete,compact")),
        (("cleanup.policy", SUBTRACT, Some("delete")), "cleanup.policy", Some("compact")),
        (("cleanup.policy", SUBTRACT, Some("compact")), "cleanup.policy", Some("")),
    ];
    for (step, key, expected) in steps.drain(..) {
        assert_eq!(change(&mut connection, TOPIC, &topic, &[step]), (0, None), "{step:?}");
        eventually("the change is shown", || {
            let (shown, source) = value(&mut connection, TOPIC, &topic, key).expect("it is a topic's key");
            let own = (source == DYNAMIC_TOPIC).then_some(shown).flatten();
            (own.as_deref() == expected).then_some(())
        });
    }
}

/// Whose configs, what to change, and how it is refused.
type Case<'a> = (&'a str, Vec<Change<'a>>, i16, &'a str);

/// Each is refused with its code, in words that have these in them: Kafka wraps some of its words in others.
fn are_refused(connection: &mut Connection, kind: i8, cases: &[Case<'_>]) {
    for (name, changes, code, words) in cases {
        let told = change(connection, kind, name, changes);
        assert_eq!(told.0, *code, "{name:?} {changes:?}: {told:?}");
        assert!(told.1.as_deref().is_some_and(|told| told.contains(words)), "{name:?} {changes:?}: {told:?}");
    }
}

#[test]
fn a_change_of_a_topic_that_cannot_be_is_refused_with_its_reason() {
    let broker = shared();
    let mut connection = broker.connect();
    let topic = broker.topic("refused", 1, &[]).name;
    let one = |key, op, value| vec![(key, op, value)];
    let retention = || one("retention.ms", SET, Some("1"));
    let twice = vec![("retention.ms", SET, Some("1")), ("retention.ms", DELETE, None)];
    let lags = vec![("min.compaction.lag.ms", SET, Some("10")), ("max.compaction.lag.ms", SET, Some("5"))];
    are_refused(
        &mut connection,
        TOPIC,
        &[
            (&topic, one("no.such", SET, Some("1")), INVALID_CONFIG, "Unknown topic config name: no.such"),
            (
                &topic,
                one("retention.ms", SET, Some("x")),
                INVALID_CONFIG,
                "Invalid value x for configuration retention.ms: Not a number of type LONG",
            ),
            (
                &topic,
                one("segment.bytes", SET, Some("1024")),
                INVALID_CONFIG,
                "Invalid value 1024 for configuration segment.bytes: Value must be at least 1048576",
            ),
            (&topic, one("retention.ms", SET, None), INVALID_REQUEST, "Null value not supported for : retention.ms"),
            (
                &topic,
                one("retention.ms", APPEND, Some("1")),
                INVALID_CONFIG,
                "Can't APPEND to key retention.ms because its type is not LIST.",
            ),
            (
                &topic,
                one("retention.ms", SUBTRACT, Some("1")),
                INVALID_CONFIG,
                "Can't SUBTRACT to key retention.ms because its type is not LIST.",
            ),
            (&topic, twice, INVALID_REQUEST, "Error due to duplicate config keys"),
            (
                &topic,
                lags,
                INVALID_CONFIG,
                "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)",
            ),
            (
                &topic,
                one("remote.storage.enable", SET, Some("true")),
                INVALID_CONFIG,
                "Tiered Storage functionality is disabled in the broker.",
            ),
            ("no-such-topic", retention(), UNKNOWN_TOPIC, "The topic 'no-such-topic' does not exist."),
            (
                "a b",
                retention(),
                INVALID_TOPIC,
                "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics",
            ),
            ("", retention(), INVALID_REQUEST, "Default topic resources are not allowed."),
        ],
    );
    assert_eq!(change(&mut connection, TOPIC, &topic, &[("retention.ms", 9, Some("1"))]), (-1, None), "no such verb");
    let own: Vec<_> = describe(&mut connection, TOPIC, &topic, &[]).expect("it exists");
    assert!(own.iter().all(|(_, row)| row.source != DYNAMIC_TOPIC), "something was changed");
}

#[test]
fn resources_stand_or_fall_alone_and_come_once() {
    let broker = shared();
    let mut connection = broker.connect();
    let topic = broker.topic("alone", 1, &[]).name;
    let good: &[Change<'_>] = &[("retention.ms", SET, Some("1234"))];
    let other: &[Change<'_>] = &[("log.retention.ms", SET, Some("1"))];
    let mut rows = change_all(&mut connection, &[(BROKER, "77", other), (TOPIC, &topic, good)], false);
    rows.sort();
    let words = format!("Unexpected broker id, expected {}, but received 77", node(&mut connection));
    let expected = [(TOPIC, topic.clone(), (0, None)), (BROKER, "77".to_owned(), (INVALID_REQUEST, Some(words)))];
    assert_eq!(rows, expected);
    let twice = change_all(&mut connection, &[(TOPIC, &topic, good), (TOPIC, &topic, &[])], false);
    for (_, _, told) in &twice {
        assert_eq!(*told, (INVALID_REQUEST, Some("Each resource must appear at most once.".to_owned())));
    }
    assert_eq!(twice.len(), 2);
    for unknown in [0, 3, 99] {
        let told = change(&mut connection, unknown, &topic, good);
        assert_eq!(told, (INVALID_REQUEST, Some(format!("Unknown resource type {unknown}"))));
    }
}

#[test]
fn a_change_of_a_broker_that_cannot_be_is_refused_with_its_reason() {
    let broker = shared();
    let mut connection = broker.connect();
    let me = node(&mut connection);
    let conflict = INVALID_REQUEST;
    let one = |key, value| vec![(key, SET, Some(value))];
    let threads = |why: &str| {
        format!("Dynamic thread count update validation failed for num.io.threads={why} the current value 8")
    };
    let (many, few) =
        (threads("99, value should not be greater than double"), threads("1, value should be at least half"));
    are_refused(
        &mut connection,
        BROKER,
        &[
            ("x", one("log.retention.ms", "1"), conflict, "Node id must be an integer, but it is: x"),
            (&me, one("num.partitions", "1"), conflict, "Cannot update these configs dynamically: [num.partitions]"),
            ("", one("num.partitions", "1"), conflict, "Cannot update these configs dynamically: [num.partitions]"),
            (
                "",
                one("sasl.kerberos.kinit.cmd", "x"),
                conflict,
                "Cannot update these configs at default cluster level, broker id must be specified: [sasl.kerberos.kinit.cmd]",
            ),
            (
                &me,
                one("log.retention.ms", "x"),
                conflict,
                "Invalid value x for configuration log.retention.ms: Not a number of type LONG",
            ),
            (
                &me,
                one("log.segment.bytes", "1"),
                conflict,
                "Invalid value 1 for configuration log.segment.bytes: Value must be at least 1048576",
            ),
            (&me, one("num.io.threads", "99"), conflict, &many),
            (&me, one("num.io.threads", "1"), conflict, &few),
            (
                &me,
                one("log.cleaner.dedupe.buffer.size", "1"),
                conflict,
                "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.",
            ),
            (
                &me,
                one("max.connections", "-1"),
                conflict,
                "Invalid value -1 for configuration max.connections: Value must be at least 0",
            ),
            (&me, one("max.connections.per.ip.overrides", "a:b"), conflict, ""),
            (
                &me,
                vec![("log.segment.bytes", APPEND, Some("5"))],
                INVALID_CONFIG,
                "Config value append is not allowed for config key: log.segment.bytes",
            ),
        ],
    );
}

#[test]
fn a_broker_takes_names_that_nobody_knows_and_keeps_them_from_view() {
    let broker = shared();
    let mut connection = broker.connect();
    let me = node(&mut connection);
    let key = unique("some.plug.in");
    set(&mut connection, BROKER, &me, &key, Some("secret"));
    let shown = eventually("it is listed", || {
        describe(&mut connection, BROKER, &me, &[&key]).expect("it is this broker").pop()
    });
    assert_eq!((shown.1.value, shown.1.source, shown.1.sensitive, shown.1.kind), (None, DYNAMIC_BROKER, true, 0));
    set(&mut connection, BROKER, &me, &key, None);
}

#[test]
fn groups_and_client_metrics_have_configs_of_their_own() {
    let broker = shared();
    let mut connection = broker.connect();
    let (group, metrics) = (unique("group"), unique("metrics"));
    set(&mut connection, GROUP, &group, "consumer.session.timeout.ms", Some("46000"));
    set(&mut connection, CLIENT_METRICS, &metrics, "interval.ms", Some("1000"));
    set(&mut connection, CLIENT_METRICS, &metrics, "match", Some("client_id=a.*"));
    eventually("the group's is shown", || {
        let row = row(&mut connection, GROUP, &group, "consumer.session.timeout.ms");
        (row.value.as_deref() == Some("46000") && row.source == DYNAMIC_GROUP).then_some(())
    });
    eventually("the subscription's are shown", || {
        let row = row(&mut connection, CLIENT_METRICS, &metrics, "interval.ms");
        (row.value.as_deref() == Some("1000") && row.source == DYNAMIC_CLIENT_METRICS).then_some(())
    });
    for (kind, name, change, code, words) in [
        (GROUP, &group[..], ("no.such", SET, Some("1")), INVALID_CONFIG, "Unknown group config name: no.such"),
        (
            GROUP,
            &group,
            ("consumer.session.timeout.ms", SET, Some("1")),
            INVALID_CONFIG,
            "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive.",
        ),
        (
            GROUP,
            "",
            ("consumer.session.timeout.ms", SET, Some("46000")),
            INVALID_REQUEST,
            "Default group resources are not allowed.",
        ),
        (
            CLIENT_METRICS,
            &metrics,
            ("no.such", SET, Some("1")),
            INVALID_REQUEST,
            "Unknown client metrics configuration: no.such",
        ),
        (
            CLIENT_METRICS,
            &metrics,
            ("interval.ms", SET, Some("1")),
            INVALID_REQUEST,
            "Invalid value 1 for interval.ms, interval must be between 100 and 3600000 (1 hour)",
        ),
        (
            CLIENT_METRICS,
            &metrics,
            ("match", SET, Some("colour=red")),
            INVALID_CONFIG,
            "Illegal client matching pattern: colour=red",
        ),
        (
            CLIENT_METRICS,
            &metrics,
            ("metrics", APPEND, Some("x.")),
            INVALID_CONFIG,
            "Can't APPEND to key metrics because its type is not LIST.",
        ),
        (CLIENT_METRICS, "", ("interval.ms", SET, Some("1000")), INVALID_REQUEST, "Subscription name can't be empty"),
    ] {
        let told = change_all(&mut connection, &[(kind, name, &[change])], false).remove(0).2;
        assert_eq!(told, (code, Some(words.to_owned())), "{kind} {change:?}");
    }
}

#[test]
fn a_rehearsal_checks_everything_and_changes_nothing() {
    let broker = shared();
    let mut connection = broker.connect();
    let topic = broker.topic("rehearsed", 1, &[]).name;
    let rehearse = |connection: &mut _, change: Change<'_>| {
        change_all(connection, &[(TOPIC, &topic, &[change])], true).remove(0).2.0
    };
    assert_eq!(rehearse(&mut connection, ("retention.ms", SET, Some("1"))), 0);
    assert_eq!(rehearse(&mut connection, ("retention.ms", SET, Some("x"))), INVALID_CONFIG);
    assert_ne!(row(&mut connection, TOPIC, &topic, "retention.ms").source, DYNAMIC_TOPIC);
}

#[test]
fn the_older_request_replaces_everything() {
    let broker = shared();
    let mut connection = broker.connect();
    let topic = broker.topic("replaced", 1, &[("retention.ms", "1000"), ("segment.ms", "5000")]).name;
    assert_eq!(replace(&mut connection, TOPIC, &topic, &[("segment.ms", Some("6000"))]), (0, None));
    eventually("one is left", || {
        let own = describe(&mut connection, TOPIC, &topic, &[]).expect("it exists").into_iter();
        let own: Vec<_> =
            own.filter(|(_, row)| row.source == DYNAMIC_TOPIC).map(|(key, row)| (key, row.value)).collect();
        (own == [("segment.ms".to_owned(), Some("6000".to_owned()))]).then_some(())
    });
    let none: &[(&str, Option<&str>)] = &[];
    for (kind, name, configs, code, words) in [
        (TOPIC, &topic[..], &[("no.such", Some("1"))][..], INVALID_CONFIG, "Unknown topic config name: no.such"),
        (TOPIC, &topic, &[("retention.ms", None)], INVALID_REQUEST, "Null value not supported for : retention.ms"),
        (
            TOPIC,
            &topic,
            &[("retention.ms", Some("1")), ("retention.ms", Some("2"))],
            INVALID_REQUEST,
            "Error due to duplicate config keys",
        ),
        (TOPIC, "no-such-topic", none, UNKNOWN_TOPIC, "The topic 'no-such-topic' does not exist."),
        (8, "1", &[("root", Some("INFO"))], INVALID_REQUEST, "Unknown resource type 8"),
        (3, "1", none, INVALID_REQUEST, "Unknown resource type 3"),
    ] {
        let told = replace(&mut connection, kind, name, configs);
        assert_eq!(told.0, code, "{configs:?}: {told:?}");
        assert!(told.1.as_deref().is_some_and(|told| told.starts_with(words)), "{configs:?}: {told:?}");
    }
}

/// B08: a client that reads all configs, changes one and writes them back the old way loses none.
#[test]
fn what_is_described_can_be_written_back_the_old_way() {
    let broker = shared();
    let mut connection = broker.connect();
    let topic = broker.topic("written-back", 1, &[("retention.ms", "1")]).name;
    let rows = describe(&mut connection, TOPIC, &topic, &[]).expect("it exists");
    let own: Vec<_> = rows.iter().filter(|(_, row)| row.source == DYNAMIC_TOPIC).collect();
    let mut back: Vec<(&str, Option<&str>)> =
        own.iter().map(|(key, row)| (key.as_str(), row.value.as_deref())).collect();
    back.push(("segment.ms", Some("7000")));
    assert_eq!(replace(&mut connection, TOPIC, &topic, &back), (0, None));
    for (key, expected) in [("retention.ms", "1"), ("segment.ms", "7000")] {
        eventually("both are there", || {
            let (shown, _) = value(&mut connection, TOPIC, &topic, key)?;
            (shown.as_deref() == Some(expected)).then_some(())
        });
    }
}
