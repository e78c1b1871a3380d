//! Levels of loggers, changed while the broker runs (Kafka's BROKER_LOGGER resource).
//!
//! A logger is a module of the code, written with dots (`ballast_broker.quorum`), because Kafka's tools take no colons;
//! `root` stands for all. The level in force for a module is that of the longest logger that it lies in and that has one.
//! Nothing of it is kept across a restart, as in Kafka.
//!
//! Holds: what [`Loggers`] says is what the filter was last given; a change that the filter refuses changes nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ballast_core::controller::ConfigOp;
use parking_lot::Mutex;

/// The logger that all others lie in.
const ROOT: &str = "root";

/// Loggers whose levels can be set. What lies deeper has the level of the one that it lies in.
const NAMES: &[&str] = &[
    // The program. `ballast` alone would be the beginning of every crate's name, and filters go by that.
    "ballast.serve",
    "ballast_broker",
    "ballast_broker.api",
    "ballast_broker.broker",
    "ballast_broker.drive",
    "ballast_broker.embed",
    "ballast_broker.http",
    "ballast_broker.loggers",
    "ballast_broker.net",
    "ballast_broker.quorum",
    "ballast_log",
    "ballast_net",
    "openraft",
];

/// How much a logger says. The words are Kafka's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Nothing: nothing of ours is fatal to the process without being its last words.
    Fatal,
    /// What went wrong.
    Error,
    /// And what may go wrong.
    Warn,
    /// And what happens.
    Info,
    /// And how.
    Debug,
    /// And every step of it.
    Trace,
}

impl Level {
    const ALL: [Level; 6] = [Level::Fatal, Level::Error, Level::Warn, Level::Info, Level::Debug, Level::Trace];

    /// Kafka's word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Level::Fatal => "FATAL",
            Level::Error => "ERROR",
            Level::Warn => "WARN",
            Level::Info => "INFO",
            Level::Debug => "DEBUG",
            Level::Trace => "TRACE",
        }
    }

    /// The word of filters.
    fn directive(self) -> &'static str {
        match self {
            Level::Fatal => "off",
            Level::Error => "error",
            Level::Warn => "warn",
            Level::Info => "info",
            Level::Debug => "debug",
            Level::Trace => "trace",
        }
    }

    fn from_name(name: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.name() == name)
    }

    fn from_directive(word: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.directive().eq_ignore_ascii_case(word))
    }
}

/// Where the levels come into force: the filter of the process's subscriber.
pub trait LogFilter: Send + Sync {
    /// Puts `directives` (`info,ballast_log=debug,…`) in force instead of those before.
    ///
    /// # Errors
    /// Why it could not.
    fn replace(&self, directives: &str) -> Result<(), String>;
}

/// The loggers of a process.
#[derive(Clone)]
pub struct Loggers {
    inner: Option<Arc<Inner>>,
}

struct Inner {
    filter: Box<dyn LogFilter>,
    levels: Mutex<Levels>,
}

#[derive(Clone)]
struct Levels {
    root: Level,
    set: BTreeMap<String, Level>,
    /// Directives that are no plain level of a logger, kept as they were given.
    others: Vec<String>,
}

/// A change of one logger's level.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LevelChange<'a> {
    pub(crate) logger: &'a str,
    pub(crate) op: ConfigOp,
    pub(crate) level: Option<&'a str>,
}

/// Why no level was changed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LoggerError {
    /// There is no such logger.
    #[error("Logger {0} does not exist!")]
    Unknown(String),
    /// There is no such level.
    #[error(
        "Cannot set the log level of {logger} to {level} as it is not a supported log level. Valid log levels are {}",
        Names
    )]
    UnknownLevel { logger: String, level: String },
    /// A logger without a level above it.
    #[error("Removing the log level of the root logger is not allowed")]
    RootDeleted,
    /// A level is no list.
    #[error("{0} operation is not allowed for the BROKER_LOGGER resource")]
    NotAllowed(&'static str),
    /// A level is missing.
    #[error("Null value not supported for : {0}")]
    Null(String),
    /// One logger twice.
    #[error("Error due to duplicate config keys")]
    Twice,
    /// The filter did not take it.
    #[error("the levels could not be changed: {0}")]
    Filter(String),
}

/// The words for the message above.
struct Names;

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Level::ALL.map(Level::name).join(", "))
    }
}

impl Loggers {
    /// Loggers behind `filter`, which has `directives` in force.
    #[must_use]
    pub fn new(filter: Box<dyn LogFilter>, directives: &str) -> Loggers {
        let levels = Mutex::new(Levels::parse(directives));
        Loggers { inner: Some(Arc::new(Inner { filter, levels })) }
    }

    /// No loggers: the program that the broker is part of logs as it likes.
    #[must_use]
    pub fn none() -> Loggers {
        Loggers { inner: None }
    }

    /// Every logger with the level in force for it, `root` first.
    pub(crate) fn levels(&self) -> Vec<(String, Level)> {
        let Some(inner) = &self.inner else { return Vec::new() };
        let levels = inner.levels.lock();
        let mut names: Vec<&str> = NAMES.to_vec();
        names.extend(levels.set.keys().map(String::as_str));
        names.sort_unstable();
        names.dedup();
        let root = (ROOT.to_owned(), levels.root);
        let others = names.into_iter().map(|name| (name.to_owned(), levels.in_force(name)));
        std::iter::once(root).chain(others).collect()
    }

    /// Changes levels, all or none.
    pub(crate) fn change(&self, changes: &[LevelChange<'_>], validate_only: bool) -> Result<(), LoggerError> {
        let unknown = |change: &LevelChange<'_>| LoggerError::Unknown(change.logger.to_owned());
        let Some(inner) = &self.inner else { return changes.first().map_or(Ok(()), |change| Err(unknown(change))) };
        let mut levels = inner.levels.lock();
        let mut next = levels.clone();
        for (at, change) in changes.iter().enumerate() {
            if changes[..at].iter().any(|other| other.logger == change.logger) {
                return Err(LoggerError::Twice);
            }
            next.apply(change)?;
        }
        if validate_only {
            return Ok(());
        }
        inner.filter.replace(&next.directives()).map_err(LoggerError::Filter)?;
        tracing::info!(levels = next.directives(), "log levels were changed");
        *levels = next;
        Ok(())
    }
}

impl Levels {
    fn parse(directives: &str) -> Levels {
        let mut levels = Levels { root: Level::Fatal, set: BTreeMap::new(), others: Vec::new() };
        for directive in directives.split(',').map(str::trim).filter(|directive| !directive.is_empty()) {
            let is_module = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_:".contains(&byte));
            match directive.split_once('=') {
                None => match Level::from_directive(directive) {
                    Some(level) => levels.root = level,
                    None => levels.others.push(directive.to_owned()),
                },
                Some((name, word)) => match Level::from_directive(word) {
                    Some(level) if is_module(name) => {
                        levels.set.insert(name.replace("::", "."), level);
                    }
                    _ => levels.others.push(directive.to_owned()),
                },
            }
        }
        levels
    }

    fn directives(&self) -> String {
        let set = self.set.iter().map(|(name, level)| format!("{}={}", name.replace('.', "::"), level.directive()));
        let all = std::iter::once(self.root.directive().to_owned()).chain(set).chain(self.others.iter().cloned());
        all.collect::<Vec<_>>().join(",")
    }

    fn in_force(&self, name: &str) -> Level {
        let holds = |outer: &str| name.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        let own = self.set.iter().filter(|(outer, _)| holds(outer)).max_by_key(|(outer, _)| outer.len());
        own.map_or(self.root, |(_, level)| *level)
    }

    fn apply(&mut self, change: &LevelChange<'_>) -> Result<(), LoggerError> {
        let LevelChange { logger, op, level } = *change;
        match op {
            ConfigOp::Append => return Err(LoggerError::NotAllowed("APPEND")),
            ConfigOp::Subtract => return Err(LoggerError::NotAllowed("SUBTRACT")),
            ConfigOp::Set | ConfigOp::Delete => {}
        }
        if logger != ROOT && !NAMES.contains(&logger) && !self.set.contains_key(logger) {
            return Err(LoggerError::Unknown(logger.to_owned()));
        }
        if op == ConfigOp::Delete {
            if logger == ROOT {
                return Err(LoggerError::RootDeleted);
            }
            self.set.remove(logger);
            return Ok(());
        }
        let word = level.ok_or_else(|| LoggerError::Null(logger.to_owned()))?;
        let unknown = || LoggerError::UnknownLevel { logger: logger.to_owned(), level: word.to_owned() };
        let level = Level::from_name(word).ok_or_else(unknown)?;
        if logger == ROOT {
            self.root = level;
        } else {
            self.set.insert(logger.to_owned(), level);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
