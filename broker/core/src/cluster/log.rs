//! A log as a plain vector: records of one batch each, epochs, and an end that survives a power loss.

use ballast_planted::{Bug, is_planted};
use ballast_wire::{LeaderEpoch, Offset};

use crate::replica::EpochEnd;
use crate::replica::follower::LogState;

/// One record. Every value is written once, so whoever reads it knows which append it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) epoch: LeaderEpoch,
    pub(super) value: u64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct SimLog {
    start: Offset,
    records: Vec<Record>,
    /// Epochs and where they begin, both rising.
    epochs: Vec<(LeaderEpoch, Offset)>,
    synced: Offset,
}

impl SimLog {
    pub(super) fn start(&self) -> Offset {
        self.start
    }

    pub(super) fn end(&self) -> Offset {
        self.start + self.records.len() as Offset
    }

    pub(super) fn synced(&self) -> Offset {
        self.synced
    }

    pub(super) fn state(&self) -> LogState {
        let last_epoch = self.epochs.last().map_or(-1, |(epoch, _)| *epoch);
        LogState { start: self.start, end: self.end(), synced: self.synced, last_epoch }
    }

    pub(super) fn at(&self, offset: Offset) -> Option<Record> {
        let at = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        self.records.get(at).copied()
    }

    /// Up to `max` records from `offset` on.
    pub(super) fn read(&self, offset: Offset, max: usize) -> Vec<Record> {
        (offset..self.end()).take(max).filter_map(|offset| self.at(offset)).collect()
    }

    /// Begins an epoch, replacing those that got no record.
    pub(super) fn assign_epoch(&mut self, epoch: LeaderEpoch) {
        let end = self.end();
        if self.epochs.last().is_some_and(|(latest, _)| *latest >= epoch) {
            return;
        }
        while self.epochs.last().is_some_and(|(_, start)| *start >= end) {
            self.epochs.pop();
        }
        self.epochs.push((epoch, end));
    }

    pub(super) fn append(&mut self, record: Record) {
        self.assign_epoch(record.epoch);
        self.records.push(record);
    }

    pub(super) fn sync(&mut self) {
        self.synced = self.end();
    }

    pub(super) fn truncate(&mut self, to: Offset) {
        let kept = usize::try_from(to - self.start).expect("nobody cuts below the start");
        self.records.truncate(kept);
        self.synced = self.synced.min(to);
        if !is_planted(Bug::EpochsNotTruncated) {
            self.epochs.retain(|(_, start)| *start < to);
        }
    }

    pub(super) fn start_over(&mut self, at: Offset) {
        *self = SimLog { start: at, synced: at, ..SimLog::default() };
    }

    pub(super) fn move_start(&mut self, to: Offset) {
        let dropped = usize::try_from(to - self.start).expect("the start only rises");
        self.records.drain(..dropped.min(self.records.len()));
        self.start = to;
        self.synced = self.synced.max(to);
        let below = self.epochs.partition_point(|(_, start)| *start <= to);
        if below > 0 {
            self.epochs.drain(..below - 1);
            self.epochs[0].1 = to;
        }
    }

    /// Where `epoch` ends: kafka's rules for OffsetForLeaderEpoch.
    pub(super) fn end_of(&self, epoch: LeaderEpoch) -> EpochEnd {
        let above = self.epochs.partition_point(|(known, _)| *known <= epoch);
        let floor = above.checked_sub(1).map(|at| self.epochs[at].0);
        match (floor, self.epochs.get(above)) {
            (Some(floor), None) if floor == epoch => EpochEnd { epoch, end: self.end() },
            (_, None) => EpochEnd { epoch: -1, end: -1 },
            (floor, Some((_, start))) => EpochEnd { epoch: floor.unwrap_or(epoch), end: *start },
        }
    }
}
