//! One partition's records on their way: gathered into batches, sent in order, resent in order.
//!
//! ```text
//! push ──> open ──close──> waiting ──take──> in flight ──settle──> delivered or given up
//!                             ▲                  │
//!                             └────── failed for a while: back to its place
//! ```
//! Holds:
//!   1. Batches are in `waiting` in the order of their numbers, and those that were sent before stand first.
//!   2. All batches in flight went to one leader, on one connection. After a failure nothing more is taken until every
//!      batch in flight has come back, so resent batches overtake nobody. A batch that may be written already is resent
//!      alone: a broker remembers five, and with others behind it the batch could be forgotten before it is recognised.
//!   3. Sequence numbers of one epoch are given without gap. When one is lost for good (`broken`), the others are resent
//!      under their old stamps until each is known to be written or not; then the epoch grows, counts from 0, and what
//!      is left is stamped anew (KIP-360). A batch that may be written is never stamped anew: it would be written twice.
//!   4. The first batch of an epoch, and the first after a failure, is alone in flight until it is written: a leader that
//!      knows nothing of a producer (yet, or any more) takes any sequence number, so a second batch could be written where
//!      the first was refused.
//!
//! A step machine: time and outcomes come in, batches go out. Nothing here waits.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use ballast_wire::batch::{BatchBuilder, Header};
use ballast_wire::{BrokerId, Offset, PartitionIndex, ProducerEpoch, ProducerId};
use tokio::time::Instant;

use super::ProducerConfig;
use super::batch::{Batch, Payload, Stamp};
use super::delivery::{BatchFate, Delivery, Fate, Ledger};
use crate::ClientError;

/// Distance between the numbers of batches: room for the parts of one that is cut in two, and its parts again.
const SPAN: u64 = 1 << 32;

/// What a broker said to a batch, or that it said nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Written {
        base_offset: Offset,
        log_append_time_ms: i64,
    },
    /// Failed for a while. `unknown`: it may be written all the same.
    Again {
        error: ClientError,
        unknown: bool,
    },
    /// Failed for good.
    Refused {
        error: ClientError,
    },
    /// A batch before it is missing, or the producer is forgotten: it is not written.
    OutOfSequence {
        error: ClientError,
    },
    /// Larger than the topic allows.
    TooLarge {
        error: ClientError,
    },
}

/// A batch that still takes records.
struct Open {
    builder: BatchBuilder,
    fate: Arc<BatchFate>,
    created: Instant,
}

/// Whether something can be taken now, and if not, when to look again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Readiness {
    Now,
    At(Instant),
    /// Not before something happens.
    Later,
}

/// How a queue is allowed to gather and to send.
#[derive(Clone, Copy)]
pub(super) struct Terms<'a> {
    pub(super) config: &'a ProducerConfig,
    pub(super) now: Instant,
    /// Nobody waits for company: a flush, or no room left.
    pub(super) hurry: bool,
}

/// The queue of one partition.
pub(super) struct PartitionQueue {
    partition: PartitionIndex,
    ledger: Arc<Ledger>,
    open: Option<Open>,
    waiting: VecDeque<Batch>,
    /// Numbers of the batches in flight, rising, and their fates.
    in_flight: Vec<(u64, Arc<BatchFate>)>,
    leader: BrokerId,
    next_number: u64,
    /// Producer id, epoch, and the sequence number that the next batch gets.
    identity: Option<(ProducerId, ProducerEpoch, i32)>,
    /// The identity under which a batch is known to be written, since the last failure.
    proven: Option<(ProducerId, ProducerEpoch)>,
    /// A producer id that has no epoch left here.
    spent: Option<ProducerId>,
    broken: bool,
    /// A batch failed: wait until all in flight are back.
    recalling: bool,
    /// A batch in flight that may be written already.
    probing: Option<u64>,
    not_before: Option<Instant>,
}

impl PartitionQueue {
    pub(super) fn new(partition: PartitionIndex, ledger: Arc<Ledger>) -> PartitionQueue {
        PartitionQueue {
            partition,
            ledger,
            open: None,
            waiting: VecDeque::new(),
            in_flight: Vec::new(),
            leader: -1,
            next_number: 0,
            identity: None,
            proven: None,
            spent: None,
            broken: false,
            recalling: false,
            probing: None,
            not_before: None,
        }
    }

    /// Batches that are not in flight.
    pub(super) fn backlog(&self) -> usize {
        self.waiting.len() + usize::from(self.open.is_some())
    }

    /// Is there nothing left to deliver?
    pub(super) fn is_idle(&self) -> bool {
        self.backlog() == 0 && self.in_flight.is_empty()
    }

    /// Does a batch still take records?
    pub(super) fn has_open(&self) -> bool {
        self.open.is_some()
    }

    /// Adds a record. Gives its delivery, how many bytes it takes, and whether the sender should look: a batch was
    /// begun or is full.
    pub(super) fn push(
        &mut self,
        terms: Terms<'_>,
        timestamp: i64,
        (key, value): (Option<&[u8]>, Option<&[u8]>),
        headers: &[Header<'_>],
    ) -> (Delivery, usize, bool) {
        let config = terms.config;
        let mut notify = false;
        let most = BatchBuilder::record_bytes_max(key, value, headers);
        if self.open.as_ref().is_some_and(|open| open.builder.bytes() + most > config.batch_bytes) {
            self.close();
            notify = true;
        }
        let partition = self.partition;
        let open = self.open.get_or_insert_with(|| {
            notify = true;
            Open {
                builder: BatchBuilder::new(config.compression).level(config.compression_level),
                fate: BatchFate::new(partition),
                created: terms.now,
            }
        });
        let (index, before) = (open.builder.count(), open.builder.bytes());
        open.builder.push(timestamp, key, value, headers);
        let bytes = open.builder.bytes() - if index == 0 { 0 } else { before };
        (Delivery::new(open.fate.clone(), index as u32), bytes, notify)
    }

    fn close(&mut self) {
        let Some(Open { builder, fate, created }) = self.open.take() else { return };
        let number = self.next_number;
        self.next_number += SPAN;
        self.waiting.push_back(Batch {
            number,
            span: SPAN,
            records: builder.count(),
            bytes: builder.bytes(),
            created,
            stamp: None,
            unknown: false,
            payload: Payload::Open(Box::new(builder)),
            fate,
        });
    }

    /// May a batch be taken for `leader`?
    pub(super) fn readiness(&self, terms: Terms<'_>, leader: BrokerId) -> Readiness {
        if self.backlog() == 0 {
            return Readiness::Later;
        }
        let is_new = self.identity.is_some_and(|(id, epoch, _)| self.proven != Some((id, epoch)));
        let alone = self.recalling || self.broken || is_new || self.probing.is_some() || self.leader != leader;
        if alone && !self.in_flight.is_empty() {
            return Readiness::Later;
        }
        if !self.in_flight.is_empty() && self.waiting.front().is_some_and(|batch| batch.unknown) {
            return Readiness::Later;
        }
        if let Some(at) = self.not_before.filter(|at| *at > terms.now) {
            return Readiness::At(at);
        }
        match &self.open {
            Some(open)
                if self.waiting.is_empty() && !terms.hurry && open.builder.bytes() < terms.config.batch_bytes =>
            {
                let at = open.created + terms.config.linger;
                if at <= terms.now { Readiness::Now } else { Readiness::At(at) }
            }
            _ => Readiness::Now,
        }
    }

    /// Has this producer id run out of epochs here? Then another is needed.
    pub(super) fn has_spent(&self, id: ProducerId) -> bool {
        self.spent == Some(id)
    }

    /// Takes the next batch for `leader`; it is then in flight. `identity` is the producer's, with idempotence.
    pub(super) fn take(
        &mut self,
        terms: Terms<'_>,
        leader: BrokerId,
        identity: Option<(ProducerId, ProducerEpoch)>,
    ) -> Option<Batch> {
        if self.readiness(terms, leader) != Readiness::Now {
            return None;
        }
        if self.waiting.is_empty() {
            self.close();
        }
        let mut at = 0;
        if self.broken {
            match self.waiting.iter().position(|batch| batch.unknown) {
                Some(unknown) => at = unknown,
                None => self.mend(),
            }
        }
        if identity.is_some_and(|(id, _)| self.identity.is_none() && self.has_spent(id)) {
            return None;
        }
        let mut batch = self.waiting.remove(at)?;
        if let Some((producer_id, epoch)) = identity
            && batch.stamp.is_none()
        {
            let next = self.identity.get_or_insert((producer_id, epoch, 0));
            batch.stamp = Some(Stamp { producer_id: next.0, epoch: next.1, base_sequence: next.2 });
            next.2 = sequence_after(next.2, batch.records);
        }
        self.leader = leader;
        self.not_before = None;
        self.in_flight.push((batch.number, batch.fate.clone()));
        self.probing = batch.unknown.then_some(batch.number);
        self.check();
        Some(batch)
    }

    /// Begins a new epoch. Everything in `waiting` is known not to be written.
    fn mend(&mut self) {
        for batch in &mut self.waiting {
            if batch.stamp.is_some() {
                batch.unstamp();
            }
        }
        self.identity = self.identity.and_then(|(id, epoch, _)| {
            let next = epoch.checked_add(1);
            self.spent = if next.is_none() { Some(id) } else { self.spent };
            Some((id, next?, 0))
        });
        self.broken = false;
        self.recalling = false;
        tracing::debug!(partition = self.partition, identity = ?self.identity, "sequence numbers begin anew");
    }

    /// Takes note of what became of a batch in flight. Gives the bytes of the buffer that are free again.
    pub(super) fn settle(&mut self, terms: Terms<'_>, mut batch: Batch, outcome: Outcome, pause: Duration) -> usize {
        let place = self.in_flight.iter().position(|(number, _)| *number == batch.number);
        let place = place.unwrap_or_else(|| panic!("batch {} is settled but not in flight", batch.number));
        self.in_flight.remove(place);
        self.probing = self.probing.filter(|number| *number != batch.number);
        let bytes = batch.bytes;
        let freed = match outcome {
            Outcome::Written { base_offset, log_append_time_ms } => {
                self.proven = batch.stamp.map_or(self.proven, |stamp| Some((stamp.producer_id, stamp.epoch)));
                // Counted first: whoever waits for the fate may ask for the count next.
                self.ledger.written(batch.records);
                batch.fate.decide(Fate::Written { base_offset, log_append_time_ms });
                bytes
            }
            Outcome::Refused { error } => self.give_up(&batch, error),
            Outcome::TooLarge { error } => match batch.clone().split() {
                Some(parts) => self.put_parts_back(&batch, parts),
                None => self.give_up(&batch, error),
            },
            Outcome::Again { error, unknown } => {
                batch.unknown |= unknown;
                self.put_back(terms, batch, error, pause)
            }
            Outcome::OutOfSequence { error } => {
                batch.unknown = false;
                // With one before it still open this is a mere consequence of its failure.
                let first = self.in_flight.first().is_none_or(|(number, _)| *number > batch.number)
                    && self.waiting.iter().take_while(|b| b.number < batch.number).all(|b| b.stamp.is_none());
                self.broken |= first && batch.stamp.is_some();
                self.put_back(terms, batch, error, pause)
            }
        };
        if self.in_flight.is_empty() {
            self.recalling = false;
        }
        self.check();
        freed
    }

    /// Puts a batch back to its place, unless its time is up.
    fn put_back(&mut self, terms: Terms<'_>, batch: Batch, error: ClientError, pause: Duration) -> usize {
        if batch.created + terms.config.delivery_timeout <= terms.now {
            return self.give_up(&batch, late(terms.config.delivery_timeout, Some(&error)));
        }
        self.recalling = true;
        self.proven = None;
        self.not_before = Some(terms.now + pause);
        let at = self.waiting.partition_point(|b| b.number < batch.number);
        self.waiting.insert(at, batch);
        0
    }

    /// Puts the halves of a batch back to its place.
    fn put_parts_back(&mut self, whole: &Batch, parts: [Batch; 2]) -> usize {
        // Its sequence numbers are free again, but those behind it are taken: as after a loss, all begin anew.
        self.broken |= whole.stamp.is_some();
        self.recalling = true;
        let at = self.waiting.partition_point(|b| b.number < whole.number);
        for part in parts.into_iter().rev() {
            self.waiting.insert(at, part);
        }
        0
    }

    fn give_up(&mut self, batch: &Batch, error: ClientError) -> usize {
        self.broken |= batch.stamp.is_some();
        self.ledger.failed(batch.records, &error);
        batch.fate.decide(Fate::Failed(error));
        batch.bytes
    }

    /// Gives up what has waited longer than `delivery.timeout.ms`. Gives the bytes that are free again.
    pub(super) fn expire(&mut self, terms: Terms<'_>, last: Option<&ClientError>) -> usize {
        let limit = terms.config.delivery_timeout;
        if self.open.as_ref().is_some_and(|open| open.created + limit <= terms.now) {
            self.close();
        }
        let mut freed = 0;
        while self.waiting.front().is_some_and(|batch| batch.created + limit <= terms.now) {
            let Some(batch) = self.waiting.pop_front() else { break };
            freed += self.give_up(&batch, late(limit, last));
        }
        freed
    }

    /// Gives up everything, also what is in flight: nobody will settle it.
    pub(super) fn abandon(&mut self, error: &ClientError) {
        self.close();
        for batch in std::mem::take(&mut self.waiting) {
            self.give_up(&batch, error.clone());
        }
        for (_, fate) in std::mem::take(&mut self.in_flight) {
            fate.decide(Fate::Failed(error.clone()));
        }
    }

    /// Everything that has no fate yet.
    pub(super) fn undecided(&self) -> impl Iterator<Item = Arc<BatchFate>> {
        let open = self.open.iter().map(|open| &open.fate);
        let waiting = self.waiting.iter().map(|batch| &batch.fate);
        let in_flight = self.in_flight.iter().map(|(_, fate)| fate);
        in_flight.chain(waiting).chain(open).cloned()
    }

    /// Panics if the queue contradicts itself.
    pub(super) fn check(&self) {
        debug_assert!(self.in_flight.is_sorted_by_key(|(number, _)| *number), "in flight {:?}", self.in_flight);
        debug_assert!(
            self.waiting.iter().map(|b| b.number).is_sorted_by(|a, b| a < b),
            "waiting {:?}",
            self.waiting.iter().map(|b| b.number).collect::<Vec<_>>()
        );
        let mut stamps = self.waiting.iter().map(|b| b.stamp.is_some());
        debug_assert!(
            self.broken || !stamps.by_ref().skip_while(|stamped| *stamped).any(|stamped| stamped),
            "a batch that was sent stands behind one that was not"
        );
    }
}

fn late(limit: Duration, last: Option<&ClientError>) -> ClientError {
    let last = last.cloned().map(Box::new);
    ClientError::TimedOut { what: "delivering a batch".to_owned(), after: limit, last }
}

/// Sequence numbers wrap from `i32::MAX` to 0.
fn sequence_after(sequence: i32, records: i32) -> i32 {
    ((i64::from(sequence) + i64::from(records)) & i64::from(i32::MAX)) as i32
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
