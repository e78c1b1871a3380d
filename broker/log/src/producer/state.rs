//! The state of producers and the rules of their sequences (kafka.md §4.2, §4.5).
//!
//! Holds:
//!   1. A producer's remembered batches (at most five, oldest first) all have its present epoch.
//!   2. `open` has exactly the producers whose entry has a transaction, by its first offset.
//!   3. `judge` changes nothing; `apply` cannot fail; `undo` of the last `apply` brings the state before it back.

use std::collections::BTreeMap;

use ballast_wire::{Offset, ProducerEpoch, ProducerId};

use super::ProducerInfo;
use crate::error::AppendError;
use crate::header::{Header, sequence_after, sequence_before};
use crate::index::txn::AbortedTxn;
use crate::validate::Marker;

/// Batches that are remembered of one producer, to recognise their resends.
pub(crate) const BATCHES_REMEMBERED: usize = 5;

const NO_EPOCH: ProducerEpoch = -1;

/// A batch that was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BatchMeta {
    pub(crate) last_sequence: i32,
    pub(crate) last_offset: Offset,
    pub(crate) offset_delta: i32,
    pub(crate) timestamp: i64,
}

impl BatchMeta {
    fn first_sequence(&self) -> i32 {
        sequence_before(self.last_sequence, self.offset_delta)
    }

    pub(crate) fn base_offset(&self) -> Offset {
        self.last_offset - i64::from(self.offset_delta)
    }
}

/// One producer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Producer {
    pub(crate) epoch: ProducerEpoch,
    pub(crate) coordinator_epoch: i32,
    pub(crate) last_timestamp: i64,
    /// First offset of its open transaction.
    pub(crate) txn_start: Option<Offset>,
    batches: [Option<BatchMeta>; BATCHES_REMEMBERED],
    /// It comes from a snapshot, which has the newest batch alone: others of its epoch are known to be written, though not
    /// where.
    restored: bool,
}

impl Producer {
    pub(crate) fn new() -> Producer {
        Producer {
            epoch: NO_EPOCH,
            coordinator_epoch: -1,
            last_timestamp: -1,
            txn_start: None,
            batches: [None; BATCHES_REMEMBERED],
            restored: false,
        }
    }

    /// The newest batch.
    pub(crate) fn last(&self) -> Option<BatchMeta> {
        self.batches.iter().rev().flatten().next().copied()
    }

    fn last_sequence(&self) -> i32 {
        self.last().map_or(-1, |batch| batch.last_sequence)
    }

    pub(crate) fn remember(&mut self, batch: BatchMeta) {
        if let Some(free) = self.batches.iter_mut().find(|slot| slot.is_none()) {
            *free = Some(batch);
        } else {
            self.batches.rotate_left(1);
            self.batches[BATCHES_REMEMBERED - 1] = Some(batch);
        }
    }

    fn enter_epoch(&mut self, epoch: ProducerEpoch) {
        if self.epoch != epoch {
            self.epoch = epoch;
            self.batches = [None; BATCHES_REMEMBERED];
            self.restored = false;
        }
    }
}

/// What a batch may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Be appended.
    Fresh,
    /// Be answered with the offsets of the original.
    Duplicate(BatchMeta),
    /// Be answered as written, somewhere below this offset: the snapshot that we know the producer from says no more.
    Forgotten { below: Offset },
}

/// What brings the state before an `apply` back.
#[derive(Debug, Clone)]
pub(crate) struct Undo {
    producer_id: ProducerId,
    before: Option<Box<Producer>>,
    /// First offset of the transaction that the batch, a marker, ended.
    ended: Option<Offset>,
}

/// What came of an `apply`.
#[derive(Debug)]
pub(crate) struct Applied {
    pub(crate) undo: Undo,
    /// The transaction that it aborted, for the index.
    pub(crate) aborted: Option<AbortedTxn>,
}

/// All producers of a log.
#[derive(Debug, Clone, Default)]
pub(crate) struct Producers {
    by_id: BTreeMap<ProducerId, Box<Producer>>,
    /// Open transactions: first offset, producer.
    open: BTreeMap<Offset, ProducerId>,
    /// Ended transactions whose marker may lie above the high watermark: first offset, marker.
    ended: BTreeMap<Offset, Offset>,
}

impl Producers {
    /// May this batch of a producer be appended? `from_zero` asks a producer that is not known to begin at sequence 0
    /// (transactions v2).
    pub(crate) fn judge(
        &self,
        header: &Header,
        marker: Option<Marker>,
        from_zero: bool,
    ) -> Result<Verdict, AppendError> {
        let producer = header.producer_id;
        let Some(entry) = self.by_id.get(&producer) else {
            if from_zero && marker.is_none() && header.base_sequence != 0 {
                return Err(AppendError::OutOfOrderSequence { producer, expected: 0, got: header.base_sequence });
            }
            return Ok(Verdict::Fresh);
        };
        if header.producer_epoch < entry.epoch {
            let (current, got) = (entry.epoch, header.producer_epoch);
            return Err(AppendError::InvalidProducerEpoch { producer, current, got });
        }
        if let Some(marker) = marker {
            if marker.coordinator_epoch < entry.coordinator_epoch {
                let (current, got) = (entry.coordinator_epoch, marker.coordinator_epoch);
                return Err(AppendError::CoordinatorFenced { current, got });
            }
            return Ok(Verdict::Fresh);
        }
        if let Some(original) = entry.duplicate_of(header) {
            return Ok(Verdict::Duplicate(original));
        }
        if let Some(below) = entry.forgotten(header) {
            return Ok(Verdict::Forgotten { below });
        }
        entry.check_sequence(header)?;
        if let Some(since) = entry.txn_start
            && !header.attributes.is_transactional()
        {
            return Err(AppendError::InvalidTxnState { producer, since });
        }
        Ok(Verdict::Fresh)
    }

    /// Takes in a batch of a producer, whose header has its final offsets.
    pub(crate) fn apply(&mut self, header: &Header, marker: Option<Marker>) -> Applied {
        let before = self.by_id.get(&header.producer_id).cloned();
        let mut undo = Undo { producer_id: header.producer_id, before, ended: None };
        let entry = self.by_id.entry(header.producer_id).or_insert_with(|| Box::new(Producer::new()));
        entry.enter_epoch(header.producer_epoch);
        entry.last_timestamp = header.max_timestamp;
        let mut aborted = None;
        if let Some(marker) = marker {
            entry.coordinator_epoch = marker.coordinator_epoch;
            if let Some(first) = entry.txn_start.take() {
                undo.ended = Some(first);
                aborted = self.end_transaction(header, first, marker);
            }
        } else {
            entry.remember(BatchMeta {
                last_sequence: header.last_sequence(),
                last_offset: header.last_offset(),
                offset_delta: header.last_offset_delta,
                timestamp: header.max_timestamp,
            });
            if header.attributes.is_transactional() && entry.txn_start.is_none() {
                entry.txn_start = Some(header.base_offset);
                self.open.insert(header.base_offset, header.producer_id);
            }
        }
        Applied { undo, aborted }
    }

    /// Moves a transaction from the open to the ended ones; tells it if it was aborted.
    fn end_transaction(&mut self, header: &Header, first: Offset, marker: Marker) -> Option<AbortedTxn> {
        let last_offset = header.last_offset();
        self.open.remove(&first);
        self.ended.insert(first, last_offset);
        (!marker.commit).then(|| AbortedTxn {
            producer_id: header.producer_id,
            first_offset: first,
            last_offset,
            last_stable_offset: self.open.first_key_value().map_or(last_offset + 1, |(other, _)| *other),
        })
    }

    /// Takes back the last `apply`.
    pub(crate) fn undo(&mut self, undo: Undo) {
        if let Some(first) = undo.ended {
            self.ended.remove(&first);
        }
        let now = match &undo.before {
            Some(before) => self.by_id.insert(undo.producer_id, before.clone()),
            None => self.by_id.remove(&undo.producer_id),
        };
        if let Some(first) = now.and_then(|now| now.txn_start) {
            self.open.remove(&first);
        }
        if let Some(first) = undo.before.and_then(|before| before.txn_start) {
            self.open.insert(first, undo.producer_id);
        }
    }

    /// The state before the given applies, newest first, as `snapshot` writes it.
    pub(crate) fn before<'a>(&'a self, undos: impl Iterator<Item = &'a Undo>) -> Vec<(ProducerId, &'a Producer)> {
        let mut changed: BTreeMap<ProducerId, Option<&Producer>> = BTreeMap::new();
        for undo in undos {
            changed.insert(undo.producer_id, undo.before.as_deref());
        }
        let mut entries: Vec<(ProducerId, &Producer)> = Vec::with_capacity(self.by_id.len());
        for (id, now) in &self.by_id {
            match changed.get(id) {
                Some(Some(before)) => entries.push((*id, before)),
                Some(None) => {}
                None => entries.push((*id, now)),
            }
        }
        entries
    }

    /// Every producer, by id.
    pub(crate) fn entries(&self) -> Vec<(ProducerId, &Producer)> {
        self.before(std::iter::empty())
    }

    /// Puts a producer from a snapshot back.
    pub(crate) fn restore(&mut self, id: ProducerId, mut producer: Producer) {
        producer.restored = true;
        if let Some(first) = producer.txn_start {
            self.open.insert(first, id);
        }
        self.by_id.insert(id, Box::new(producer));
    }

    pub(crate) fn infos(&self) -> Vec<ProducerInfo> {
        let info = |(producer_id, producer): (ProducerId, &Producer)| ProducerInfo {
            producer_id,
            producer_epoch: producer.epoch,
            last_sequence: producer.last_sequence(),
            last_timestamp_ms: producer.last_timestamp,
            coordinator_epoch: producer.coordinator_epoch,
            current_txn_start: producer.txn_start.unwrap_or(-1),
        };
        self.entries().into_iter().map(info).collect()
    }

    pub(crate) fn expire(&mut self, now_ms: i64, expiration_ms: i64) -> usize {
        let before = self.by_id.len();
        self.by_id.retain(|_, producer| {
            producer.txn_start.is_some() || now_ms.saturating_sub(producer.last_timestamp) < expiration_ms
        });
        before - self.by_id.len()
    }

    pub(crate) fn last_stable_offset(&mut self, high_watermark: Offset) -> Offset {
        self.ended.retain(|_, marker| *marker >= high_watermark);
        let open = self.open.first_key_value().map_or(i64::MAX, |(first, _)| *first);
        let ended = self.ended.first_key_value().map_or(i64::MAX, |(first, _)| *first);
        high_watermark.min(open).min(ended)
    }

    /// Panics if the state contradicts itself.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        let with_txn: BTreeMap<Offset, ProducerId> =
            self.by_id.iter().filter_map(|(id, producer)| Some((producer.txn_start?, *id))).collect();
        assert_eq!(with_txn, self.open, "open transactions and producers disagree");
    }
}

impl Producer {
    fn duplicate_of(&self, header: &Header) -> Option<BatchMeta> {
        if header.producer_epoch != self.epoch {
            return None;
        }
        let (first, last) = (header.base_sequence, header.last_sequence());
        let same = |batch: &&BatchMeta| batch.first_sequence() == first && batch.last_sequence == last;
        self.batches.iter().flatten().find(same).copied()
    }

    /// Was this batch written before the snapshot that we know the producer from? A resend of it may come when several were
    /// in flight as the broker stopped. Kafka calls it out of order, and clients then write
    /// it again in a new epoch. Where it is, only that it is below the oldest that is known.
    fn forgotten(&self, header: &Header) -> Option<Offset> {
        let has_room = self.batches.iter().any(Option::is_none);
        if !self.restored || !has_room || header.producer_epoch != self.epoch {
            return None;
        }
        let oldest = self.batches.iter().flatten().next()?;
        is_before(header.last_sequence(), oldest.first_sequence()).then(|| oldest.base_offset())
    }

    fn check_sequence(&self, header: &Header) -> Result<(), AppendError> {
        let known = self.epoch != NO_EPOCH;
        let expected = if header.producer_epoch == self.epoch && self.last().is_some() {
            sequence_after(self.last_sequence(), 1)
        } else {
            0
        };
        if !known || header.base_sequence == expected {
            return Ok(());
        }
        let (producer, got) = (header.producer_id, header.base_sequence);
        Err(AppendError::OutOfOrderSequence { producer, expected, got })
    }
}

/// Does sequence `one` come before `other`? They wrap from `i32::MAX` to 0: the shorter way round decides.
fn is_before(one: i32, other: i32) -> bool {
    let ahead = (i64::from(other) - i64::from(one)) & i64::from(i32::MAX);
    ahead != 0 && ahead < 1 << 30
}

#[cfg(test)]
mod tests {
    use ballast_wire::batch::Attributes;

    use super::*;

    fn batch(producer_id: ProducerId, epoch: i16, sequence: i32, count: i32, base_offset: Offset) -> Header {
        Header {
            base_offset,
            last_offset_delta: count - 1,
            size: 61,
            leader_epoch: 0,
            checksum: 0,
            attributes: Attributes(0),
            max_timestamp: 1000,
            producer_id,
            producer_epoch: epoch,
            base_sequence: sequence,
            records_count: count,
        }
    }

    fn transactional(header: Header) -> Header {
        Header { attributes: Attributes(Attributes::TRANSACTIONAL), ..header }
    }

    fn marker(commit: bool) -> Option<Marker> {
        Some(Marker { commit, coordinator_epoch: 0 })
    }

    fn take(producers: &mut Producers, header: Header) -> Applied {
        assert_eq!(producers.judge(&header, None, false).unwrap(), Verdict::Fresh);
        let applied = producers.apply(&header, None);
        producers.check();
        applied
    }

    /// Trap 14.
    #[test]
    fn a_resend_of_the_last_five_batches_is_a_duplicate_and_of_the_sixth_is_out_of_order() {
        let mut producers = Producers::default();
        for n in 0..6 {
            take(&mut producers, batch(7, 0, n * 10, 10, 100 + i64::from(n) * 10));
        }
        for n in 1..6 {
            let Verdict::Duplicate(original) = producers.judge(&batch(7, 0, n * 10, 10, 0), None, false).unwrap()
            else {
                panic!("batch {n} is not recognised");
            };
            assert_eq!(original.base_offset(), 100 + i64::from(n) * 10);
        }
        let sixth = producers.judge(&batch(7, 0, 0, 10, 0), None, false);
        assert!(matches!(sixth, Err(AppendError::OutOfOrderSequence { expected: 60, got: 0, .. })), "{sixth:?}");
    }

    #[test]
    fn of_a_restored_producer_older_batches_are_known_to_be_written() {
        let mut before = Producers::default();
        for n in 0..3 {
            before.apply(&batch(7, 0, n * 10, 10, i64::from(n) * 10), None);
        }
        let mut last = Producer::new();
        last.epoch = 0;
        last.remember(before.by_id[&7].last().unwrap());
        let mut restored = Producers::default();
        restored.restore(7, last);
        assert!(matches!(restored.judge(&batch(7, 0, 20, 10, 0), None, false), Ok(Verdict::Duplicate(_))));
        for n in [0, 10] {
            let judged = restored.judge(&batch(7, 0, n, 10, 0), None, false).unwrap();
            assert_eq!(judged, Verdict::Forgotten { below: 20 });
        }
        assert!(matches!(
            restored.judge(&batch(7, 0, 40, 10, 0), None, false),
            Err(AppendError::OutOfOrderSequence { expected: 30, .. })
        ));
        assert_eq!(restored.judge(&batch(7, 0, 30, 10, 0), None, false).unwrap(), Verdict::Fresh);
    }

    #[test]
    fn a_partial_overlap_is_no_duplicate() {
        let mut producers = Producers::default();
        take(&mut producers, batch(7, 0, 0, 10, 0));
        let overlap = producers.judge(&batch(7, 0, 5, 5, 0), None, false);
        assert!(matches!(overlap, Err(AppendError::OutOfOrderSequence { expected: 10, got: 5, .. })), "{overlap:?}");
    }

    /// Trap 14.
    #[test]
    fn sequence_zero_follows_the_largest() {
        let mut producers = Producers::default();
        take(&mut producers, batch(7, 0, i32::MAX - 1, 2, 0));
        take(&mut producers, batch(7, 0, 0, 1, 2));
        take(&mut producers, batch(7, 0, 1, 1, 3));
    }

    #[test]
    fn a_batch_that_straddles_the_wrap_is_recognised_again() {
        let mut producers = Producers::default();
        let straddling = batch(7, 0, i32::MAX, 3, 40);
        take(&mut producers, straddling);
        assert!(matches!(producers.judge(&straddling, None, false), Ok(Verdict::Duplicate(_))));
        take(&mut producers, batch(7, 0, 2, 1, 43));
    }

    /// Trap 15.
    #[test]
    fn an_unknown_producer_may_begin_anywhere_but_under_transactions_v2() {
        let producers = Producers::default();
        assert_eq!(producers.judge(&batch(7, 0, 5, 1, 0), None, false).unwrap(), Verdict::Fresh);
        let refused = producers.judge(&batch(7, 0, 5, 1, 0), None, true);
        assert!(matches!(refused, Err(AppendError::OutOfOrderSequence { expected: 0, got: 5, .. })), "{refused:?}");
    }

    #[test]
    fn a_new_epoch_begins_at_zero_and_fences_the_old_one() {
        let mut producers = Producers::default();
        take(&mut producers, batch(7, 0, 0, 3, 0));
        let late = producers.judge(&batch(7, 1, 3, 1, 0), None, false);
        assert!(matches!(late, Err(AppendError::OutOfOrderSequence { expected: 0, got: 3, .. })), "{late:?}");
        take(&mut producers, batch(7, 1, 0, 1, 3));
        let old = producers.judge(&batch(7, 0, 3, 1, 0), None, false);
        assert!(matches!(old, Err(AppendError::InvalidProducerEpoch { current: 1, got: 0, .. })), "{old:?}");
    }

    #[test]
    fn an_aborted_transaction_is_told_with_the_offset_that_became_stable() {
        let mut producers = Producers::default();
        take(&mut producers, transactional(batch(7, 0, 0, 1, 34)));
        take(&mut producers, transactional(batch(9, 0, 0, 1, 35)));
        assert_eq!(producers.last_stable_offset(36), 34);
        let aborted = producers.apply(&batch(9, 0, -1, 1, 36), marker(false)).aborted;
        let expected = AbortedTxn { producer_id: 9, first_offset: 35, last_offset: 36, last_stable_offset: 34 };
        assert_eq!(aborted, Some(expected));
        let committed = producers.apply(&batch(7, 0, -1, 1, 37), marker(true)).aborted;
        assert_eq!(committed, None);
        producers.check();
    }

    #[test]
    fn a_transaction_stays_unstable_until_its_marker_is_below_the_high_watermark() {
        let mut producers = Producers::default();
        take(&mut producers, transactional(batch(7, 0, 0, 2, 10)));
        producers.apply(&batch(7, 0, -1, 1, 12), marker(true));
        assert_eq!(producers.last_stable_offset(12), 10);
        assert_eq!(producers.last_stable_offset(13), 13);
    }

    #[test]
    fn a_write_outside_of_an_open_transaction_is_refused() {
        let mut producers = Producers::default();
        take(&mut producers, transactional(batch(7, 0, 0, 2, 10)));
        let plain = producers.judge(&batch(7, 0, 2, 1, 0), None, false);
        assert!(matches!(plain, Err(AppendError::InvalidTxnState { producer: 7, since: 10 })), "{plain:?}");
    }

    #[test]
    fn a_marker_of_a_replaced_coordinator_is_fenced() {
        let mut producers = Producers::default();
        producers.apply(&batch(7, 0, -1, 1, 0), Some(Marker { commit: true, coordinator_epoch: 3 }));
        let late = producers.judge(&batch(7, 0, -1, 1, 0), marker(true), false);
        assert!(matches!(late, Err(AppendError::CoordinatorFenced { current: 3, got: 0 })), "{late:?}");
    }

    #[test]
    fn a_marker_that_raises_the_epoch_empties_the_memory_of_batches() {
        let mut producers = Producers::default();
        take(&mut producers, transactional(batch(7, 0, 0, 2, 10)));
        producers.apply(&batch(7, 1, -1, 1, 12), marker(true));
        assert_eq!(producers.infos()[0].last_sequence, -1);
        take(&mut producers, transactional(batch(7, 1, 0, 1, 13)));
    }

    #[test]
    fn undoing_every_step_backwards_gives_the_state_before_each() {
        let mut producers = Producers::default();
        let steps = [
            (transactional(batch(7, 0, 0, 2, 0)), None),
            (batch(8, 0, 0, 1, 2), None),
            (transactional(batch(7, 0, 2, 1, 3)), None),
            (batch(7, 0, -1, 1, 4), marker(false)),
            (transactional(batch(7, 0, 3, 1, 5)), None),
            (batch(7, 1, -1, 1, 6), marker(true)),
        ];
        let mut before = Vec::new();
        let mut undos = Vec::new();
        for (header, marker) in steps {
            before.push(format!("{producers:?}"));
            undos.push(producers.apply(&header, marker).undo);
            producers.check();
        }
        for (undo, before) in undos.into_iter().zip(before).rev() {
            producers.undo(undo);
            producers.check();
            assert_eq!(format!("{producers:?}"), before);
        }
    }

    #[test]
    fn silent_producers_are_forgotten_but_not_with_a_transaction_open() {
        let mut producers = Producers::default();
        take(&mut producers, batch(7, 0, 0, 1, 0));
        take(&mut producers, transactional(batch(8, 0, 0, 1, 1)));
        assert_eq!(producers.expire(1999, 1000), 0);
        assert_eq!(producers.expire(2000, 1000), 1);
        assert_eq!(producers.infos().len(), 1);
    }
}
