//! Levels of a broker's loggers (BROKER_LOGGER).

use ballast_tests::target::{Broker, shared, with};

use crate::ask::{
    APPEND, BROKER_LOGGER, Change, DELETE, DYNAMIC_BROKER_LOGGER, SET, change, change_all, describe, node, row,
};

const INVALID_CONFIG: i16 = 40;
const INVALID_REQUEST: i16 = 42;

/// A logger that both have.
fn some_logger(broker: &Broker) -> &'static str {
    if broker.is_ballast() { "ballast_broker.http" } else { "org.apache.kafka.server.logger.LoggingController" }
}

#[test]
fn a_level_is_set_and_falls_back_when_it_is_deleted() {
    let broker = with(&[]).expect("no wishes");
    let mut connection = broker.connect();
    let (me, logger) = (node(&mut connection), some_logger(&broker));
    let mut step = |changed: Change<'_>, expected: &str| {
        assert_eq!(change(&mut connection, BROKER_LOGGER, &me, &[changed]), (0, None), "{changed:?}");
        let shown = row(&mut connection, BROKER_LOGGER, &me, logger);
        assert_eq!(shown.value.as_deref(), Some(expected), "{changed:?}");
        let flags = (shown.source, shown.read_only, shown.sensitive, shown.kind, shown.synonyms.len());
        assert_eq!(flags, (DYNAMIC_BROKER_LOGGER, false, false, 0, 0));
    };
    step((logger, SET, Some("DEBUG")), "DEBUG");
    step(("root", SET, Some("WARN")), "DEBUG");
    step((logger, DELETE, None), "WARN");
    for level in ["TRACE", "INFO", "ERROR", "FATAL"] {
        step((logger, SET, Some(level)), level);
    }
    step((logger, DELETE, None), "WARN");
    assert_eq!(change_all(&mut connection, &[(BROKER_LOGGER, &me, &[("root", SET, Some("TRACE"))])], true)[0].2.0, 0);
    assert_eq!(row(&mut connection, BROKER_LOGGER, &me, "root").value.as_deref(), Some("WARN"), "a rehearsal");
}

#[test]
fn a_level_that_cannot_be_is_refused_with_its_reason() {
    let broker = shared();
    let mut connection = broker.connect();
    let me = node(&mut connection);
    for (name, change, code, words) in [
        (
            &me[..],
            ("no.such.logger", SET, Some("DEBUG")),
            INVALID_CONFIG,
            "Logger no.such.logger does not exist!".to_owned(),
        ),
        (&me, ("no.such.logger", DELETE, None), INVALID_CONFIG, "Logger no.such.logger does not exist!".to_owned()),
        (
            &me,
            ("root", SET, Some("LOUD")),
            INVALID_CONFIG,
            "Cannot set the log level of root to LOUD as it is not a supported log level. Valid log levels are "
                .to_owned(),
        ),
        (
            &me,
            ("root", SET, Some("debug")),
            INVALID_CONFIG,
            "Cannot set the log level of root to debug as it is not a supported log level.".to_owned(),
        ),
        (&me, ("root", SET, Some("OFF")), INVALID_CONFIG, "Cannot set the log level of root to OFF".to_owned()),
        (&me, ("root", SET, None), INVALID_REQUEST, "Null value not supported for : root".to_owned()),
        (
            &me,
            ("root", DELETE, None),
            INVALID_REQUEST,
            "Removing the log level of the root logger is not allowed".to_owned(),
        ),
        (
            &me,
            ("root", APPEND, Some("INFO")),
            INVALID_REQUEST,
            "APPEND operation is not allowed for the BROKER_LOGGER resource".to_owned(),
        ),
        (
            "77",
            ("root", SET, Some("INFO")),
            INVALID_REQUEST,
            format!("Unexpected node id. Expected {me}, but received 77"),
        ),
        ("", ("root", SET, Some("INFO")), INVALID_REQUEST, "Node id must be an integer, but it is: ".to_owned()),
    ] {
        let told = change_all(&mut connection, &[(BROKER_LOGGER, name, &[change])], false).remove(0).2;
        assert_eq!(told.0, code, "{change:?}: {told:?}");
        assert!(told.1.as_deref().is_some_and(|told| told.starts_with(&words)), "{change:?}: {told:?}");
    }
    let listed = describe(&mut connection, BROKER_LOGGER, &me, &[]).expect("it is this broker");
    assert!(listed.iter().any(|(name, _)| name == "root"), "{listed:?}");
}

#[test]
fn a_level_decides_what_is_in_the_log() {
    let Some(broker) = with(&[]).filter(Broker::is_ballast) else { return };
    let mut connection = broker.connect();
    let me = node(&mut connection);
    let log = || broker.serve.as_ref().expect("it is ours").log();
    // A connection's end is told at debug.
    let close_one = || drop(broker.connect());
    close_one();
    assert!(!log().contains("connection closed"), "{}", log());
    let (net, level) = ("ballast_broker.net", Some("DEBUG"));
    assert_eq!(change(&mut connection, BROKER_LOGGER, &me, &[(net, SET, level)]), (0, None));
    close_one();
    ballast_tests::raw::rows::eventually("it is told", || log().contains("connection closed").then_some(()));
}
