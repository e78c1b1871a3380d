//! Leader epochs: which leader wrote what (KIP-101), in memory and in `leader-epoch-checkpoint`.
//!
//! ```text
//! file: "0\n" version, "2\n" count, then a line "epoch start_offset" for each
//! ```
//! Holds: epochs and starts both rise. The file is replaced before the first record of an epoch is written and before a
//! truncated log is appended to, so it never claims an epoch for offsets that another one wrote. It is synced with the records
//! that follow; after a truncation at once.

use std::path::Path;

use ballast_wire::{LeaderEpoch, Offset};

use crate::disk::{Disk, read_small, replace_small, replace_unsynced};
use crate::error::{DiskContext, DiskError, LogError};
use crate::log::{Log, Writer};
use crate::names::LEADER_EPOCH_CHECKPOINT;

/// A larger file is damaged: a hundred thousand epochs.
const BYTES_MAX: u64 = 4 << 20;

/// Where a leader epoch ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochEnd {
    /// The epoch that the answer is about, -1 when nothing is known.
    pub epoch: LeaderEpoch,
    /// One above its last offset, -1 when nothing is known.
    pub end_offset: Offset,
}

impl EpochEnd {
    /// Nothing is known.
    pub const UNKNOWN: EpochEnd = EpochEnd { epoch: -1, end_offset: -1 };
}

/// An epoch and its first offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EpochStart {
    pub(crate) epoch: LeaderEpoch,
    pub(crate) start: Offset,
}

/// The epochs of a log.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Epochs {
    entries: Vec<EpochStart>,
    /// Counts changes, so that a saver knows what it saved.
    pub(crate) version: u64,
}

impl Epochs {
    pub(crate) fn latest(&self) -> Option<LeaderEpoch> {
        self.entries.last().map(|entry| entry.epoch)
    }

    /// Begins an epoch, replacing those that got no record. `false` if it is not newer than the latest.
    pub(crate) fn assign(&mut self, epoch: LeaderEpoch, start: Offset) -> bool {
        if epoch < 0 || self.latest().is_some_and(|latest| latest >= epoch) {
            return false;
        }
        while self.entries.last().is_some_and(|last| last.start >= start) {
            self.entries.pop();
        }
        self.entries.push(EpochStart { epoch, start });
        self.version += 1;
        true
    }

    /// Forgets the epochs that begin at or above `end`.
    pub(crate) fn truncate_to(&mut self, end: Offset) {
        let kept = self.entries.partition_point(|entry| entry.start < end);
        if kept < self.entries.len() {
            self.entries.truncate(kept);
            self.version += 1;
        }
    }

    /// Forgets what lies below `start`; the epoch that holds it begins there from now on.
    pub(crate) fn advance_to(&mut self, start: Offset) {
        let below = self.entries.partition_point(|entry| entry.start <= start);
        if below == 0 || (below == 1 && self.entries[0].start == start) {
            return;
        }
        self.entries.drain(..below - 1);
        self.entries[0].start = start;
        self.version += 1;
    }

    /// Would it be written the same?
    pub(crate) fn same_as(&self, other: &Epochs) -> bool {
        self.entries == other.entries
    }

    pub(crate) fn clear(&mut self) {
        self.truncate_to(Offset::MIN);
    }

    /// kafka.md §5.3.
    fn end_offset(&self, epoch: LeaderEpoch, log_end: Offset) -> EpochEnd {
        if epoch < 0 {
            return EpochEnd::UNKNOWN;
        }
        let above = self.entries.partition_point(|entry| entry.epoch <= epoch);
        match (above.checked_sub(1).map(|at| self.entries[at]), self.entries.get(above)) {
            (Some(floor), None) if floor.epoch == epoch => EpochEnd { epoch, end_offset: log_end },
            (_, None) => EpochEnd::UNKNOWN,
            (None, Some(next)) => EpochEnd { epoch, end_offset: next.start },
            (Some(floor), Some(next)) => EpochEnd { epoch: floor.epoch, end_offset: next.start },
        }
    }

    fn at(&self, offset: Offset) -> Option<LeaderEpoch> {
        let above = self.entries.partition_point(|entry| entry.start <= offset);
        above.checked_sub(1).map(|at| self.entries[at].epoch)
    }

    fn encode(&self) -> String {
        use std::fmt::Write as _;
        let mut text = format!("0\n{}\n", self.entries.len());
        for entry in &self.entries {
            writeln!(text, "{} {}", entry.epoch, entry.start).expect("writing to a string cannot fail");
        }
        text
    }

    /// A text that was cut off anywhere is none: what is not synced yet may be.
    fn decode(text: &str) -> Option<Epochs> {
        let mut lines = text.strip_suffix('\n')?.lines();
        if lines.next()? != "0" {
            return None;
        }
        let count: usize = lines.next()?.parse().ok()?;
        let mut epochs = Epochs::default();
        for line in lines {
            let (epoch, start) = line.split_once(' ')?;
            let entry = EpochStart { epoch: epoch.parse().ok()?, start: start.parse().ok()? };
            let rises = epochs.entries.last().is_none_or(|last| last.epoch < entry.epoch && last.start < entry.start);
            if !rises || entry.epoch < 0 || entry.start < 0 {
                return None;
            }
            epochs.entries.push(entry);
        }
        (epochs.entries.len() == count).then_some(epochs)
    }

    /// Reads the checkpoint; `None` if it is missing or damaged, and then the batches have to tell.
    pub(crate) fn load(disk: &dyn Disk, path: &Path) -> Result<Option<Epochs>, DiskError> {
        match read_small(disk, path, BYTES_MAX) {
            Ok(bytes) => Ok(std::str::from_utf8(&bytes).ok().and_then(Epochs::decode)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => Ok(None),
            Err(error) => Err(error).doing("cannot read", path),
        }
    }

    /// Replaces the checkpoint, synced.
    fn store(&self, disk: &dyn Disk, path: &Path) -> Result<(), DiskError> {
        replace_small(disk, path, self.encode().as_bytes()).doing("cannot replace", path)
    }

    /// Replaces the checkpoint, to be synced later: a crash may leave the old one, this one, or something that is none.
    fn store_unsynced(&self, disk: &dyn Disk, path: &Path) -> Result<(), DiskError> {
        replace_unsynced(disk, path, self.encode().as_bytes()).doing("cannot replace", path)
    }
}

impl Log {
    /// Writes down that `epoch` begins at `start`, usually the end of the log as its leader takes over. An epoch that got
    /// no record is replaced. Does nothing if it is not newer than the latest.
    ///
    /// # Errors
    /// Writing the checkpoint file failed; the epoch is then not assigned.
    pub fn assign_epoch(&self, epoch: LeaderEpoch, start: Offset) -> Result<(), LogError> {
        let mut writer = self.writer.lock();
        self.must_be_usable()?;
        let before = self.epochs.read().clone();
        if !self.epochs.write().assign(epoch, start) {
            return Ok(());
        }
        self.save_epochs(&mut writer).inspect_err(|_| *self.epochs.write() = before)?;
        Ok(())
    }

    /// Where `epoch` ends here (kafka.md §5.3): the latest ends at the log's end, a later one is unknown, one below the
    /// first known ends where that begins, and one in between is answered by the largest known one at or below it.
    #[must_use]
    pub fn epoch_end_offset(&self, epoch: LeaderEpoch) -> EpochEnd {
        let log_end = self.end();
        self.epochs.read().end_offset(epoch, log_end)
    }

    /// The newest leader epoch known, if any.
    #[must_use]
    pub fn latest_epoch(&self) -> Option<LeaderEpoch> {
        self.epochs.read().latest()
    }

    /// The epoch of the record at `offset`, if known.
    #[must_use]
    pub fn epoch_at(&self, offset: Offset) -> Option<LeaderEpoch> {
        self.epochs.read().at(offset)
    }

    /// Every known epoch and where it begins, rising.
    #[must_use]
    pub fn epoch_starts(&self) -> Vec<(LeaderEpoch, Offset)> {
        self.epochs.read().entries.iter().map(|entry| (entry.epoch, entry.start)).collect()
    }

    /// Writes the checkpoint, if it is behind. The next sync covers it, and so does every sync of records that follow.
    pub(crate) fn save_epochs(&self, writer: &mut Writer) -> Result<(), DiskError> {
        let epochs = self.epochs.read().clone();
        if epochs.version != writer.saved_epochs {
            epochs.store_unsynced(&*self.place().disk, &self.place().join(LEADER_EPOCH_CHECKPOINT))?;
            self.owe_small(LEADER_EPOCH_CHECKPOINT);
            writer.saved_epochs = epochs.version;
        }
        Ok(())
    }

    /// Writes the checkpoint and syncs it, after epochs were dropped: they must not come back.
    pub(crate) fn save_fewer_epochs(&self, writer: &mut Writer) -> Result<(), DiskError> {
        let epochs = self.epochs.read().clone();
        epochs.store(&*self.place().disk, &self.place().join(LEADER_EPOCH_CHECKPOINT))?;
        writer.saved_epochs = epochs.version;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epochs(entries: &[(LeaderEpoch, Offset)]) -> Epochs {
        let mut epochs = Epochs::default();
        for (epoch, start) in entries {
            assert!(epochs.assign(*epoch, *start));
        }
        epochs
    }

    fn starts(epochs: &Epochs) -> Vec<(LeaderEpoch, Offset)> {
        epochs.entries.iter().map(|entry| (entry.epoch, entry.start)).collect()
    }

    #[test]
    fn the_checkpoint_has_the_bytes_that_apache_kafka_writes() {
        let two = epochs(&[(0, 0), (2, 35)]);
        assert_eq!(two.encode(), "0\n2\n0 0\n2 35\n");
        assert_eq!(starts(&Epochs::decode("0\n2\n0 0\n2 35\n").unwrap()), [(0, 0), (2, 35)]);
    }

    #[test]
    fn a_damaged_checkpoint_is_none() {
        for text in
            ["", "1\n0\n", "0\n", "0\n1\n", "0\n2\n0 0\n", "0\n1\n0\n", "0\n2\n1 0\n0 5\n", "0\n2\n0 5\n1 5\n", "x"]
        {
            assert_eq!(Epochs::decode(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_checkpoint_that_was_cut_off_is_none() {
        let text = epochs(&[(0, 0), (2, 35), (7, 1200)]).encode();
        for len in 0..text.len() {
            assert_eq!(Epochs::decode(&text[..len]), None, "{:?}", &text[..len]);
        }
    }

    #[test]
    fn an_epoch_without_records_is_replaced() {
        let mut some = epochs(&[(0, 0), (2, 0), (3, 7)]);
        assert_eq!(starts(&some), [(2, 0), (3, 7)]);
        assert!(!some.assign(3, 9), "not newer");
        assert!(some.assign(9, 7));
        assert_eq!(starts(&some), [(2, 0), (9, 7)]);
    }

    #[test]
    fn the_end_of_an_epoch_is_where_the_next_known_one_begins() {
        let some = epochs(&[(2, 10), (5, 20), (7, 35)]);
        let end = |epoch| {
            let end = some.end_offset(epoch, 50);
            (end.epoch, end.end_offset)
        };
        assert_eq!(end(7), (7, 50), "the latest ends at the log's end");
        assert_eq!(end(8), (-1, -1), "not known yet");
        assert_eq!(end(1), (1, 10), "before the first known");
        assert_eq!(end(2), (2, 20));
        assert_eq!(end(4), (2, 20), "answered by the epoch before it");
        assert_eq!(end(6), (5, 35));
        assert_eq!(end(-1), (-1, -1));
    }

    #[test]
    fn truncating_forgets_epochs_from_the_end() {
        let mut some = epochs(&[(2, 10), (5, 20), (7, 35)]);
        some.truncate_to(20);
        assert_eq!(starts(&some), [(2, 10)]);
    }

    #[test]
    fn a_moved_start_cuts_the_epochs_to_it() {
        let mut some = epochs(&[(0, 0), (2, 35)]);
        some.advance_to(15);
        assert_eq!(starts(&some), [(0, 15), (2, 35)]);
        some.advance_to(1500);
        assert_eq!(starts(&some), [(2, 1500)]);
        let version = some.version;
        some.advance_to(1500);
        assert_eq!(some.version, version, "nothing to save");
    }

    #[test]
    fn each_offset_knows_its_epoch() {
        let some = epochs(&[(2, 10), (5, 20)]);
        assert_eq!([9, 10, 19, 20, 99].map(|offset| some.at(offset)), [None, Some(2), Some(2), Some(5), Some(5)]);
    }
}
