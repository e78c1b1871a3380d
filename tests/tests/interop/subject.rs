//! What the clients talk to: a `ballast serve` of their own, three of them that come and go, Apache Kafka in the same two
//! forms, or a broker that is there.
//!
//! Holds: after a restart it answers at the addresses that it had.
//!
//! Read next: `bounce` (nodes that come and go).

use std::process::Command;

use ballast_tests::foreign::peers::Peers;
use ballast_tests::nodes::Nodes;
use ballast_tests::process::Serve;

use crate::bounce::Bounce;
use crate::session::last_lines;

/// What every broker here is started with: errors are asked for, and nobody waits for members that are not coming.
const SETTINGS: [&str; 2] = ["auto.create.topics.enable=false", "group.initial.rebalance.delay.ms=0"];
/// What nodes that come and go are started with beside that: a record that is acknowledged is on two of them, and one that
/// is gone is soon missed.
const NODES: u8 = 3;
const NODES_SETTINGS: [&str; 6] = [
    "default.replication.factor=3",
    "min.insync.replicas=2",
    "broker.session.timeout.ms=3000",
    "broker.heartbeat.interval.ms=500",
    "replica.lag.time.max.ms=3000",
    // A committed offset must outlive a node as records do.
    "offsets.topic.num.partitions=3",
];

/// Which broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Ballast,
    Kafka,
    /// `HOST:PORT`.
    Given(String),
}

impl Kind {
    pub(crate) fn from_env() -> Kind {
        std::env::var("BALLAST_TEST_BOOTSTRAP").map_or(Kind::Ballast, Kind::Given)
    }
}

/// A running broker, or several.
pub(crate) enum Subject {
    Ballast(Serve),
    Kafka(Peers),
    Given(String),
    Bounced(Bounce),
}

impl Subject {
    /// Starts a broker with the usual settings and these (`key=value`); with `bounces`, three, of which one after another
    /// goes down and comes back.
    pub(crate) fn start(kind: &Kind, bounces: bool, settings: &[&str]) -> Result<Subject, String> {
        let own = if bounces { &NODES_SETTINGS[..] } else { &[] };
        let settings = [&SETTINGS[..], own, settings].concat();
        let kafka = |count| {
            let pairs: Vec<_> = settings.iter().filter_map(|setting| setting.split_once('=')).collect();
            Peers::start("interop", count, &pairs).ok_or("java (17 or later) or mvn is missing".to_owned())
        };
        Ok(match (kind, bounces) {
            (Kind::Ballast, false) => Subject::Ballast(Serve::start(&settings)),
            (Kind::Kafka, false) => Subject::Kafka(kafka(1)?),
            (Kind::Ballast, true) => Subject::Bounced(Bounce::start(Nodes::start(NODES, None, &settings))),
            (Kind::Kafka, true) => Subject::Bounced(Bounce::start(kafka(NODES)?)),
            (Kind::Given(bootstrap), _) => Subject::Given(bootstrap.clone()),
        })
    }

    /// `HOST:PORT`, or several of them with commas between.
    pub(crate) fn bootstrap(&self) -> String {
        match self {
            Subject::Ballast(serve) => serve.bootstrap.clone(),
            Subject::Kafka(peers) => peers.bootstrap(),
            Subject::Given(bootstrap) => bootstrap.clone(),
            Subject::Bounced(bounce) => bounce.bootstrap().to_owned(),
        }
    }

    /// How many replicas a topic shall have. More than one also says that nodes come and go.
    pub(crate) fn replicas(&self) -> u8 {
        if matches!(self, Subject::Bounced(_)) { NODES } else { 1 }
    }

    /// Stops it in order and starts it again; of several that come and go, waits until each has been down once more.
    pub(crate) fn restart(&mut self) {
        match self {
            Subject::Ballast(serve) => {
                let status = serve.stop();
                assert!(status.success(), "the broker stopped with {status}:\n{}", serve.log());
                serve.restart();
            }
            Subject::Kafka(peers) => {
                peers.stop(1);
                peers.restart(1);
            }
            Subject::Given(_) => {
                let command =
                    std::env::var("BALLAST_TEST_RESTART").expect("BALLAST_TEST_RESTART says how to restart it");
                let status = Command::new("sh").args(["-c", &command]).status().expect("sh runs");
                assert!(status.success(), "{command}: {status}");
            }
            Subject::Bounced(bounce) => bounce.await_round(),
        }
    }

    /// Ends what comes and goes; says how often nodes were down, or what failed.
    pub(crate) fn settle(&mut self) -> Result<Option<String>, String> {
        match self {
            Subject::Bounced(bounce) => bounce.end().map(Some),
            _ => Ok(None),
        }
    }

    pub(crate) fn log_tail(&self) -> String {
        match self {
            Subject::Ballast(serve) => last_lines(&serve.log()),
            Subject::Kafka(peers) => last_lines(&peers.logs()),
            Subject::Given(_) => "kept elsewhere".to_owned(),
            Subject::Bounced(bounce) => bounce.log_tail(),
        }
    }
}
