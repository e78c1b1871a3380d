//! The workloads: what is asked of a broker, and the limit that it is held against.
//!
//! Holds: every window of Produce has a fresh topic, which goes afterwards; Fetch reads a topic that lies in the page cache.

use std::collections::BTreeMap;
use std::path::Path;

use crate::broker::Node;
use crate::client::{Client, Topic};
use crate::limits::{self, Limit};
use crate::load::{self, Fetch, Outcome, Pace, Produce, Span};
use crate::{Doing as _, Failure, records};

/// Requests in flight of a producer, as many as idempotence allows.
pub const PRODUCE_WINDOW: usize = 5;
/// What a fetched topic holds, in bytes.
const FETCHED_TOPIC_BYTES: u64 = 512 << 20;
/// Batches of a fetched topic: what librdkafka sends by default, at most.
const FETCHED_BATCH_BYTES: usize = 16 << 10;
const LEADERS_SECONDS_MAX: u64 = 60;
/// Kafka keeps deleted files for a minute; the windows that follow would pay for them.
const TOPIC_CONFIGS: [(&str, &str); 1] = [("file.delete.delay.ms", "1000")];
/// A limit needs less time to settle than a broker.
const LIMIT_SPAN: Span = Span { seconds: 3.0, bytes: 1536 << 20 };
const LIMIT_WARM: Span = Span { seconds: 0.3, bytes: 64 << 20 };

/// One workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// What is asked.
    pub kind: Kind,
    /// Connections, all of one thread.
    pub connections: usize,
    /// Partitions of the topic.
    pub partitions: i32,
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Batches of at most this size, one a request, acks=all, five requests in flight a connection.
    Produce {
        /// Largest batch, in bytes.
        batch_bytes: usize,
    },
    /// Warm records, at most so many bytes at once, one request in flight a connection.
    Fetch {
        /// Largest answer, in bytes.
        bytes_max: usize,
    },
}

impl Case {
    /// The standard set. A million bytes is what Kafka lets a batch have by default, and a fetch of a partition.
    pub const ALL: [Case; 8] = [
        Case { kind: Kind::Produce { batch_bytes: 16 << 10 }, connections: 1, partitions: 1 },
        Case { kind: Kind::Produce { batch_bytes: 16 << 10 }, connections: 1, partitions: 12 },
        Case { kind: Kind::Produce { batch_bytes: 16 << 10 }, connections: 16, partitions: 12 },
        Case { kind: Kind::Produce { batch_bytes: 1_000_000 }, connections: 1, partitions: 12 },
        Case { kind: Kind::Fetch { bytes_max: 1 << 20 }, connections: 1, partitions: 1 },
        Case { kind: Kind::Fetch { bytes_max: 1 << 20 }, connections: 8, partitions: 8 },
        Case { kind: Kind::Fetch { bytes_max: 64 << 10 }, connections: 1, partitions: 1 },
        Case { kind: Kind::Produce { batch_bytes: 0 }, connections: 16, partitions: 12 },
    ];

    /// Its name in a table.
    #[must_use]
    pub fn name(&self) -> String {
        let (verb, bytes) = match self.kind {
            Kind::Produce { batch_bytes } => ("produce", batch_bytes.max(records::RECORD_BYTES)),
            Kind::Fetch { bytes_max } => ("fetch", bytes_max),
        };
        let size =
            if bytes.is_multiple_of(1024) { format!("{} KiB", bytes >> 10) } else { format!("{} kB", bytes / 1000) };
        format!("{verb} {size} x{} on {} partition(s)", self.connections, self.partitions)
    }

    /// The program that does the least of it.
    #[must_use]
    pub fn limit(&self) -> Limit {
        match self.kind {
            Kind::Produce { batch_bytes } => Limit::Append { batch_bytes },
            Kind::Fetch { bytes_max } => Limit::Sendfile { chunk_bytes: bytes_max },
        }
    }

    /// Measures the limit now.
    ///
    /// # Errors
    /// As [`limits::run`].
    pub fn measure_limit(&self, folder: &Path) -> Result<Outcome, Failure> {
        limits::run(self.limit(), folder, PRODUCE_WINDOW, LIMIT_WARM, LIMIT_SPAN)
    }

    fn pace(&self, warm: Span, run: Span) -> Pace {
        let window = match self.kind {
            Kind::Produce { .. } => PRODUCE_WINDOW,
            Kind::Fetch { .. } => 1,
        };
        Pace { connections: self.connections, window, rate_per_second: None, warm, run }
    }
}

/// A broker, with the topics that are read from it.
pub struct Bed {
    /// The broker.
    pub node: Node,
    client: Client,
    /// Topics to fetch from, by partitions.
    filled: BTreeMap<i32, Topic>,
}

impl Bed {
    /// Around a broker that runs.
    ///
    /// # Errors
    /// It does not answer.
    pub fn new(node: Node) -> Result<Bed, Failure> {
        let client = Client::connect(&node.bootstrap())?;
        Ok(Bed { node, client, filled: BTreeMap::new() })
    }

    /// Measures one window.
    ///
    /// # Errors
    /// The broker fails.
    pub fn measure(&mut self, case: &Case, warm: Span, run: Span) -> Result<Outcome, Failure> {
        let pace = case.pace(warm, run);
        match case.kind {
            Kind::Produce { batch_bytes } => self.produce(case, batch_bytes, &pace),
            Kind::Fetch { bytes_max } => {
                let topic = self.filled(case.partitions)?;
                load::run(&self.node.target()?, &pace, &mut Fetch::new(&topic, bytes_max as i32, case.connections))
            }
        }
    }

    fn produce(&mut self, case: &Case, batch_bytes: usize, pace: &Pace) -> Result<Outcome, Failure> {
        let topic = self.topic("produced", case.partitions)?;
        let batch = records::batch(batch_bytes, records::wall_ms()).bytes;
        let mut work = Produce::new(&topic, &batch, -1, case.connections);
        let outcome = load::run(&self.node.target()?, pace, &mut work)?;
        self.client.delete_topics(&[topic])?;
        // What this window left dirty is written now, not while the next one is measured.
        rustix::fs::sync();
        Ok(outcome)
    }

    /// A topic with records to fetch, made at its first use.
    fn filled(&mut self, partitions: i32) -> Result<Topic, Failure> {
        if let Some(topic) = self.filled.get(&partitions) {
            return Ok(topic.clone());
        }
        let topic = self.topic("filled", partitions)?;
        let batch = records::batch(FETCHED_BATCH_BYTES, records::wall_ms()).bytes;
        let all = Span { seconds: 300.0, bytes: FETCHED_TOPIC_BYTES };
        let none = Span { seconds: 0.0, bytes: 0 };
        let pace = Pace { connections: 1, window: PRODUCE_WINDOW, rate_per_second: None, warm: none, run: all };
        load::run(&self.node.target()?, &pace, &mut Produce::new(&topic, &batch, -1, 1))
            .doing(format_args!("cannot fill {}", topic.name))?;
        rustix::fs::sync();
        self.filled.insert(partitions, topic.clone());
        Ok(topic)
    }

    fn topic(&mut self, stem: &str, partitions: i32) -> Result<Topic, Failure> {
        let topic = Topic::unique(stem, partitions);
        self.client.create_topics(std::slice::from_ref(&topic), &TOPIC_CONFIGS)?;
        self.client.await_serving(std::slice::from_ref(&topic), LEADERS_SECONDS_MAX)?;
        Ok(topic)
    }
}
