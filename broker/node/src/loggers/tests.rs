//! Loggers without a subscriber: what is set, what is in force, what is refused.

use ConfigOp::{Append, Delete, Set};

use super::*;

/// A filter that remembers.
#[derive(Clone, Default)]
struct Remembers(Arc<Mutex<Vec<String>>>);

impl LogFilter for Remembers {
    fn replace(&self, directives: &str) -> Result<(), String> {
        if directives.contains("ballast_net=trace") {
            return Err("too much".to_owned());
        }
        self.0.lock().push(directives.to_owned());
        Ok(())
    }
}

impl Remembers {
    fn last(&self) -> String {
        self.0.lock().last().cloned().unwrap_or_default()
    }
}

fn loggers(directives: &str) -> (Remembers, Loggers) {
    let filter = Remembers::default();
    (filter.clone(), Loggers::new(Box::new(filter), directives))
}

fn change(
    loggers: &Loggers,
    logger: &'static str,
    op: ConfigOp,
    level: Option<&'static str>,
) -> Result<(), LoggerError> {
    loggers.change(&[LevelChange { logger, op, level }], false)
}

fn level(loggers: &Loggers, name: &str) -> &'static str {
    let levels = loggers.levels();
    levels.iter().find(|(logger, _)| logger == name).unwrap_or_else(|| panic!("no {name}: {levels:?}")).1.name()
}

#[test]
fn a_logger_without_a_level_has_that_of_the_one_it_lies_in() {
    let (filter, loggers) = loggers("info,openraft=off");
    assert_eq!((level(&loggers, "root"), level(&loggers, "openraft")), ("INFO", "FATAL"));
    assert_eq!(change(&loggers, "ballast_broker", Set, Some("DEBUG")), Ok(()));
    assert_eq!(change(&loggers, "ballast_broker.net", Set, Some("WARN")), Ok(()));
    assert_eq!(filter.last(), "info,ballast_broker=debug,ballast_broker::net=warn,openraft=off");
    assert_eq!((level(&loggers, "ballast_broker.net"), level(&loggers, "ballast_broker.api")), ("WARN", "DEBUG"));
    assert_eq!(level(&loggers, "ballast_log"), "INFO", "it lies in root only");
    assert_eq!(change(&loggers, "ballast_broker.net", Delete, None), Ok(()));
    assert_eq!(change(&loggers, "openraft", Delete, None), Ok(()));
    assert_eq!((level(&loggers, "ballast_broker.net"), level(&loggers, "openraft")), ("DEBUG", "INFO"));
    assert_eq!(change(&loggers, "root", Set, Some("ERROR")), Ok(()));
    assert_eq!(filter.last(), "error,ballast_broker=debug");
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let (filter, loggers) = loggers("warn");
    assert_eq!(change(&loggers, "kafka.server", Set, Some("DEBUG")), Err(LoggerError::Unknown("kafka.server".into())));
    assert_eq!(change(&loggers, "root", Delete, None), Err(LoggerError::RootDeleted));
    assert_eq!(change(&loggers, "root", Append, Some("DEBUG")), Err(LoggerError::NotAllowed("APPEND")));
    assert_eq!(change(&loggers, "root", Set, None), Err(LoggerError::Null("root".into())));
    assert!(matches!(change(&loggers, "root", Set, Some("LOUD")), Err(LoggerError::UnknownLevel { .. })));
    assert_eq!(change(&loggers, "ballast_net", Set, Some("TRACE")), Err(LoggerError::Filter("too much".into())));
    let good = LevelChange { logger: "root", op: Set, level: Some("TRACE") };
    assert_eq!(loggers.change(&[good, good], false), Err(LoggerError::Twice));
    assert_eq!(loggers.change(&[good], true), Ok(()), "a rehearsal");
    assert_eq!((level(&loggers, "root"), filter.last().as_str()), ("WARN", ""));
}

#[test]
fn directives_that_are_no_level_of_a_logger_stay() {
    let (filter, loggers) = loggers("debug,[span{field=1}]=trace,hyper=info");
    assert_eq!((level(&loggers, "root"), level(&loggers, "hyper")), ("DEBUG", "INFO"));
    assert_eq!(change(&loggers, "hyper", Set, Some("WARN")), Ok(()), "one that was named at start can be changed");
    assert_eq!(filter.last(), "debug,hyper=warn,[span{field=1}]=trace");
}

#[test]
fn a_broker_inside_another_program_has_no_loggers() {
    let loggers = Loggers::none();
    assert_eq!(loggers.levels(), []);
    assert!(change(&loggers, "root", Set, Some("INFO")).is_err());
}

#[test]
fn every_room_that_logs_is_a_logger() {
    let rooms = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src")).expect("the sources are there");
    for room in rooms {
        let path = room.expect("an entry").path();
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name in UTF-8").to_owned();
        let own = std::fs::read_to_string(&path).unwrap_or_default();
        let logs = path.is_dir() || own.contains("tracing::");
        let is_root = matches!(name.as_str(), "lib" | "config");
        assert!(!logs || is_root || NAMES.contains(&format!("ballast_broker.{name}").as_str()), "{name}");
    }
}
