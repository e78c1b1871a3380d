//! A log moves to another folder, perhaps on another disk, while it is written and read.
//!
//! ```text
//! copy.copy_from(log) … ── behind by little ──► log.give_way_to(copy):
//!   writer lock { the rest is copied ── epochs ── all synced ── cut lock { log → retired, copy → the log's name } }
//! ```
//! Holds:
//!   1. A copy is a prefix of what its log was at some time; what its log cuts off later is cut off it too, by epochs
//!      (KIP-101).
//!   2. Whoever holds a [`Log`] notices nothing: offsets, producers, what is queued and who may write stay as they are.
//!   3. At every moment one of the folders has everything that was promised. The old name is given up, for good, before the
//!      copy takes it; so a start that finds a copy, its retired log and no log under the plain name may promote the copy.

use std::path::Path;
use std::sync::Arc;

use ballast_wire::Offset;

use crate::disk::FileKind;
use crate::epoch::EpochEnd;
use crate::error::{AppendError, DiskContext, DiskError, LogError, ReadError};
use crate::log::{Log, Writer};

/// How much is copied at once under the writer's lock, in bytes.
const STEP_BYTES: usize = 1 << 20;

/// Why a log was not copied, or not replaced by its copy. It goes on where it is.
#[derive(Debug, Clone, thiserror::Error)]
pub enum MoveError {
    /// The log cannot be read.
    #[error("the log cannot be copied: {0}")]
    Read(#[from] ReadError),
    /// The log cannot give way.
    #[error("the log cannot give way: {0}")]
    Log(LogError),
    /// The copy does not take what was read.
    #[error("the copy does not take it: {0}")]
    Append(#[from] AppendError),
    /// The copy failed otherwise.
    #[error("the copy failed: {0}")]
    Copy(LogError),
}

impl MoveError {
    /// Has the copy's place failed, rather than the log's?
    #[must_use]
    pub fn is_of_copy(&self) -> bool {
        match self {
            MoveError::Append(_) | MoveError::Copy(_) => true,
            MoveError::Read(_) | MoveError::Log(_) => false,
        }
    }
}

impl Log {
    /// Where a copy of this log begins: at the batch that holds the start, which may lie in the middle of it.
    ///
    /// # Errors
    /// Reading failed.
    pub fn copy_base(&self) -> Result<Offset, ReadError> {
        let (start, end) = (self.start(), self.end());
        Ok(self.read(start, end, 0, false)?.base_offset)
    }

    /// One step of this copy behind `log`: cuts off what that has cut off, then appends what comes next, at least one batch
    /// and about `max_bytes`. Returns the bytes; 0 means that it has everything that was published. Blocks.
    ///
    /// # Errors
    /// As [`MoveError`] says. The copy is then as before, or has more.
    pub fn copy_from(&self, log: &Log, max_bytes: usize, now_ms: i64) -> Result<usize, MoveError> {
        self.agree_with(log, now_ms)?;
        // The start may lie in the batch that comes next.
        let from = self.end().max(log.start());
        let read = match log.read(from, log.end(), max_bytes, true) {
            // Cut, or its start moved on, since we agreed: the next step sees it.
            Err(ReadError::OutOfRange { .. }) => return Ok(0),
            read => read?,
        };
        let Some(records) = read.records else { return Ok(0) };
        let bytes = records.bytes().doing("cannot read", &log.dir()).map_err(ReadError::Disk)?;
        self.append_stamped(&bytes, now_ms)?;
        Ok(bytes.len())
    }

    /// Cuts off whatever `log` does not have.
    fn agree_with(&self, log: &Log, now_ms: i64) -> Result<(), MoveError> {
        if self.end() < log.start() || self.start() > log.start() {
            let base = log.copy_base()?;
            if self.start() != base || self.end() != base {
                self.truncate_fully_and_start_at(base, now_ms).map_err(MoveError::Copy)?;
            }
        }
        while let Some(epoch) = self.latest_epoch() {
            let EpochEnd { epoch: known, end_offset } = log.epoch_end_offset(epoch);
            let own_start = self.epoch_starts().last().map_or(0, |(_, start)| *start);
            let agreed = if known == epoch { end_offset } else { own_start.min(end_offset.max(0)) };
            if agreed >= self.end() {
                break;
            }
            self.truncate_to(agreed.max(self.first_segment_base())).map_err(MoveError::Copy)?;
            if self.latest_epoch() == Some(epoch) {
                break;
            }
        }
        if self.end() > log.end() {
            self.truncate_to(log.end()).map_err(MoveError::Copy)?;
        }
        Ok(())
    }

    /// Is replaced by its copy: what the copy lacks is added, all of it is synced, this log's folder gets the name `retired`
    /// and the copy's folder the name that this one had, beside where it was. From then on this log is there; the copy's
    /// value must not be used any more. Appends wait meanwhile: the copy should be close behind. Blocks.
    ///
    /// # Errors
    /// Nothing has changed then, unless the folders cannot be put back: the log is then poisoned.
    pub fn give_way_to(&self, copy: &Log, retired: &Path, now_ms: i64) -> Result<(), MoveError> {
        let mut writer = self.writer.lock();
        self.must_be_usable().map_err(MoveError::Log)?;
        while copy.copy_from(self, STEP_BYTES, now_ms)? > 0 {}
        let (end, copied) = (self.end(), copy.end());
        assert_eq!(copied, end, "a copy has everything when nobody writes");
        let mut of_copy = copy.writer.lock();
        self.hand_over_epochs(copy, &mut of_copy).map_err(|error| MoveError::Copy(error.into()))?;
        let synced = copy.sync(now_ms).map_err(MoveError::Copy)?;
        assert_eq!(synced, end, "a copy is synced as a whole");

        let _cutting = self.cut.write();
        self.swap_folders(copy, retired)?;
        self.adopt(copy, &mut writer, &mut of_copy).map_err(|error| MoveError::Log(self.poison(error)))
    }

    /// The copy knows epochs by its batches; a leader's that wrote none yet is known to the log alone.
    fn hand_over_epochs(&self, copy: &Log, of_copy: &mut Writer) -> Result<(), DiskError> {
        let mut epochs = self.epochs.read().clone();
        epochs.version = copy.epochs.read().version.wrapping_add(1);
        *copy.epochs.write() = epochs;
        copy.save_epochs(of_copy)
    }

    /// Gives both folders their new names. The caller holds the cut lock.
    fn swap_folders(&self, copy: &Log, retired: &Path) -> Result<(), MoveError> {
        let (ours, theirs) = (self.place(), copy.place());
        let (plain, future) = (ours.dir(), theirs.dir());
        let moved = future.with_file_name(plain.file_name().unwrap_or_default());
        let result =
            ours.rename(retired).and_then(|()| ours.sync_parent()).map_err(|error| MoveError::Log(error.into()));
        let result = result.and_then(|()| {
            let renamed = theirs.rename(&moved).and_then(|()| theirs.sync_parent());
            renamed.map_err(|error| MoveError::Copy(error.into()))
        });
        let Err(error) = result else { return Ok(()) };
        for (place, name) in [(&theirs, &future), (&ours, &plain)] {
            if place.dir() == *name {
                continue;
            }
            if let Err(stuck) = place.rename(name).and_then(|()| place.sync_parent()) {
                // Under its present name the folder would be deleted at the next start.
                self.poison(stuck);
            }
        }
        for segment in self.published().segments.iter() {
            segment.forget_files();
        }
        if let Err(stuck) = self.published().active().open_file(FileKind::ActiveLog) {
            self.poison(stuck);
        }
        Err(error)
    }

    /// Goes on with the files of the copy. The caller holds the cut lock and both writers'.
    fn adopt(&self, copy: &Log, writer: &mut Writer, of_copy: &mut Writer) -> Result<(), DiskError> {
        let theirs = copy.published();
        let place = copy.place();
        for segment in theirs.segments.iter() {
            segment.forget_files();
        }
        let opened = theirs.active().open_file(FileKind::ActiveLog);
        writer.active = Arc::clone(&of_copy.active);
        writer.bytes = of_copy.bytes;
        writer.reserved = of_copy.reserved;
        writer.indexer = of_copy.indexer;
        writer.first_timestamp = of_copy.first_timestamp;
        writer.created_ms = of_copy.created_ms;
        writer.saved_epochs = self.epochs.read().version;
        writer.touched = true;
        let dir = place.dir();
        let mut condemned = std::mem::take(&mut *copy.condemned.lock());
        condemned.iter_mut().for_each(|condemned| condemned.moved_to(&dir));
        // What this log had condemned goes with its folder.
        *self.condemned.lock() = condemned;
        *self.place.write() = place;
        self.publish(|now| {
            now.tail = theirs.tail;
            now.segments = theirs.segments;
        });
        let first = self.first_segment_base();
        assert!(first <= self.start(), "the copy begins at {first}, above the log's start {}", self.start());
        self.start_over_synced(copy.recovery_point());
        opened.map(|_| ())
    }
}

#[cfg(test)]
mod tests;
