//! All records that are not delivered yet, by topic and partition, and the room that they take.
//!
//! Holds: `buffered` is the sum of the bytes of all batches; a partition is in `active` while it has anything to deliver.
//!
//! A step machine like `queue`: the caller brings time, leaders and outcomes. Read next: `sender`, which does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use ballast_net::{Entropy, random_below};
use ballast_wire::batch::Header;
use ballast_wire::{BrokerId, PartitionIndex, ProducerEpoch, ProducerId, Uuid};
use tokio::time::Instant;

use super::batch::Batch;
use super::delivery::{BatchFate, Delivery, Ledger};
use super::queue::{Outcome, PartitionQueue, Readiness, Terms};
use super::sticky::{Sticky, choose};
use crate::{ClientError, Metadata};

/// A record to send, borrowed: it is copied into its batch.
#[derive(Debug, Clone, Copy, Default)]
pub struct NewRecord<'a> {
    /// What it is about.
    pub key: Option<&'a [u8]>,
    /// What it says; `None` deletes the key on a compacted topic.
    pub value: Option<&'a [u8]>,
    /// Its headers.
    pub headers: &'a [Header<'a>],
    /// In ms since 1970; `None` for now.
    pub timestamp: Option<i64>,
    /// `None` to let the partitioner choose.
    pub partition: Option<PartitionIndex>,
}

/// What became of an attempt to add a record.
pub(super) enum Pushed {
    /// It is in. `notify`: the sender should look.
    In { delivery: Delivery, notify: bool },
    /// The buffer is full.
    NoRoom,
    /// Metadata knows no such topic yet.
    NoTopic,
    /// The topic has no such partition.
    NoPartition { partitions: usize },
}

/// A batch on its way to a leader.
pub(super) struct Taken {
    pub(super) topic: Arc<str>,
    pub(super) topic_id: Uuid,
    pub(super) partition: PartitionIndex,
    pub(super) batch: Batch,
}

/// What the sender should do next.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outlook {
    /// Leaders for whom something is ready.
    pub(super) ready: BTreeSet<BrokerId>,
    /// When something else becomes ready.
    pub(super) wake_at: Option<Instant>,
    /// Something waits for a leader that is not known.
    pub(super) leaderless: bool,
}

struct Topic {
    id: Uuid,
    queues: Vec<PartitionQueue>,
    leaders: Vec<Option<BrokerId>>,
    active: BTreeSet<usize>,
    sticky: Sticky,
}

/// See the head of this file.
#[derive(Default)]
pub(super) struct Accumulator {
    topics: BTreeMap<Arc<str>, Topic>,
    buffered: usize,
    ledger: Arc<Ledger>,
    /// Moves on with each request, so that no partition is always last.
    turn: usize,
}

impl Accumulator {
    pub(super) fn new(ledger: Arc<Ledger>) -> Accumulator {
        Accumulator { ledger, ..Accumulator::default() }
    }

    /// Adds a record, if there is room.
    pub(super) fn push(
        &mut self,
        terms: Terms<'_>,
        topic: &str,
        record: &NewRecord<'_>,
        now_ms: i64,
        entropy: &dyn Entropy,
    ) -> Pushed {
        let config = terms.config;
        let bytes = record.key.map_or(0, <[u8]>::len) + record.value.map_or(0, <[u8]>::len);
        // A record that is larger than all the room there is may go in alone.
        if self.buffered > 0 && self.buffered + bytes > config.buffer_bytes {
            return Pushed::NoRoom;
        }
        let Some(topic) = self.topics.get_mut(topic) else { return Pushed::NoTopic };
        let partitions = topic.queues.len();
        if partitions == 0 {
            return Pushed::NoTopic;
        }
        let by_key = || config.partitioner.partition(record.key, partitions as u32);
        let (at, sticky) = match record.partition.map(|p| usize::try_from(p).unwrap_or(usize::MAX)) {
            Some(at) if at >= partitions => return Pushed::NoPartition { partitions },
            Some(at) => (at, false),
            None => match by_key() {
                Some(at) => (at as usize, false),
                None => (topic.any_partition(config.adaptive, entropy), true),
            },
        };
        let timestamp = record.timestamp.unwrap_or(now_ms);
        let queue = &mut topic.queues[at];
        let (delivery, bytes, notify) = queue.push(terms, timestamp, (record.key, record.value), record.headers);
        if sticky {
            topic.sticky.count(bytes, config.batch_bytes, queue.has_open());
        }
        topic.active.insert(at);
        self.buffered += bytes;
        Pushed::In { delivery, notify }
    }

    /// Looks at everything that waits.
    pub(super) fn outlook(&self, terms: Terms<'_>) -> Outlook {
        let mut outlook = Outlook::default();
        for topic in self.topics.values() {
            for at in &topic.active {
                let Some(leader) = topic.leaders[*at] else {
                    outlook.leaderless |= topic.queues[*at].backlog() > 0;
                    continue;
                };
                match topic.queues[*at].readiness(terms, leader) {
                    Readiness::Now => drop(outlook.ready.insert(leader)),
                    Readiness::At(at) => outlook.wake_at = Some(outlook.wake_at.map_or(at, |wake| wake.min(at))),
                    Readiness::Later => {}
                }
            }
        }
        outlook
    }

    /// Takes one batch of each partition that is ready for `leader`, as many as fit into a request.
    pub(super) fn take_request(
        &mut self,
        terms: Terms<'_>,
        leader: BrokerId,
        identity: Option<(ProducerId, ProducerEpoch)>,
    ) -> Vec<Taken> {
        let mut ready: Vec<(Arc<str>, usize)> = Vec::new();
        for (name, topic) in &self.topics {
            let led = topic.active.iter().filter(|at| topic.leaders[**at] == Some(leader));
            let can = led.filter(|at| topic.queues[**at].readiness(terms, leader) == Readiness::Now);
            ready.extend(can.map(|at| (name.clone(), *at)));
        }
        if ready.is_empty() {
            return Vec::new();
        }
        let first = self.turn % ready.len();
        ready.rotate_left(first);
        self.turn = self.turn.wrapping_add(1);
        let (mut taken, mut bytes) = (Vec::new(), 0);
        for (name, at) in ready {
            let Some(topic) = self.topics.get_mut(&name) else { continue };
            let Some(batch) = topic.queues[at].take(terms, leader, identity) else { continue };
            bytes += batch.bytes;
            taken.push(Taken { topic: name, topic_id: topic.id, partition: at as PartitionIndex, batch });
            if bytes >= terms.config.request_bytes_max {
                break;
            }
        }
        taken
    }

    /// Takes note of what became of a batch.
    pub(super) fn settle(&mut self, terms: Terms<'_>, taken: Taken, outcome: Outcome, pause: Duration) {
        let Some(topic) = self.topics.get_mut(&taken.topic) else { return };
        let at = taken.partition as usize;
        self.buffered -= topic.queues[at].settle(terms, taken.batch, outcome, pause);
        if topic.queues[at].is_idle() {
            topic.active.remove(&at);
        }
    }

    /// Gives up what has waited too long. True if that made room.
    pub(super) fn expire(&mut self, terms: Terms<'_>, last: Option<&ClientError>) -> bool {
        let before = self.buffered;
        for topic in self.topics.values_mut() {
            for at in topic.active.clone() {
                self.buffered -= topic.queues[at].expire(terms, last);
                if topic.queues[at].is_idle() {
                    topic.active.remove(&at);
                }
            }
        }
        self.buffered < before
    }

    /// Gives up everything.
    pub(super) fn abandon(&mut self, error: &ClientError) {
        for topic in self.topics.values_mut() {
            for at in std::mem::take(&mut topic.active) {
                topic.queues[at].abandon(error);
            }
        }
        self.buffered = 0;
    }

    /// Takes over ids, leaders, and partitions that have come since. A topic never shrinks.
    pub(super) fn update(&mut self, metadata: &Metadata, names: &[&str]) {
        for name in names {
            if metadata.topics.contains_key(*name) && !self.topics.contains_key(*name) {
                let topic = Topic {
                    id: Uuid::ZERO,
                    queues: Vec::new(),
                    leaders: Vec::new(),
                    active: BTreeSet::new(),
                    sticky: Sticky::default(),
                };
                self.topics.insert(Arc::from(*name), topic);
            }
        }
        for (name, topic) in &mut self.topics {
            let Some(known) = metadata.topics.get(&**name) else {
                topic.leaders.fill(None);
                continue;
            };
            topic.id = known.id;
            // Partitions are numbered without gaps; one that is out of line is not believed.
            let count = known.partitions.len();
            for at in topic.queues.len()..count {
                topic.queues.push(PartitionQueue::new(at as PartitionIndex, self.ledger.clone()));
            }
            topic.leaders = (0..topic.queues.len())
                .map(|at| metadata.leader(name, at as PartitionIndex).map(|(leader, _)| leader))
                .collect();
        }
    }

    /// Has the producer id run out of epochs somewhere?
    pub(super) fn needs_new_producer(&self, id: ProducerId) -> bool {
        self.topics.values().any(|topic| topic.active.iter().any(|at| topic.queues[*at].has_spent(id)))
    }

    /// Does it know the topic's partitions?
    pub(super) fn knows(&self, topic: &str) -> bool {
        self.topics.get(topic).is_some_and(|topic| !topic.queues.is_empty())
    }

    /// All batches that have no fate yet.
    pub(super) fn undecided(&self) -> Vec<Arc<BatchFate>> {
        let active = self.topics.values().flat_map(|topic| topic.active.iter().map(|at| &topic.queues[*at]));
        active.flat_map(PartitionQueue::undecided).collect()
    }
}

impl Topic {
    fn any_partition(&mut self, adaptive: bool, entropy: &dyn Entropy) -> usize {
        let Topic { queues, leaders, sticky, .. } = self;
        sticky.partition(|| {
            let backlogs: Vec<(usize, usize)> =
                (0..queues.len()).filter(|at| leaders[*at].is_some()).map(|at| (at, queues[at].backlog())).collect();
            // Nobody leads anything: any partition may be the first that somebody leads again.
            choose(&backlogs, adaptive, entropy).unwrap_or_else(|| random_below(entropy, queues.len() as u64) as usize)
        })
    }
}
