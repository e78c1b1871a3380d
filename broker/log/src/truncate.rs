//! Cutting a log's end off: what a follower does when it and its leader disagree.
//!
//! ```text
//! published end moves ── later segments and snapshots go (last first) ── folder synced
//!   ── the file is cut, or a shorter copy takes its place, and synced ── epoch checkpoint ── producers
//! ```
//! Holds:
//!   1. The published end moves first, and nobody waits for a reader: whoever holds bytes keeps them.
//!   2. A crash at any point leaves a prefix of the old log, at least up to the new end.
//!   3. The epoch checkpoint is right before anything is appended again.

use std::sync::Arc;

use ballast_planted::{Bug, is_planted};
use ballast_wire::Offset;

use crate::disk::FileKind;
use crate::error::{DiskContext, DiskError, LogError, ReadError, disk_error};
use crate::log::{Log, Published, Writer};
use crate::names::Part;
use crate::producer::state::Producers;
use crate::recover::replay::replay;
use crate::scan::{HEADERS_WINDOW_BYTES, Scanner};
use crate::segment::{Indexer, Segment, indexer_of};
use crate::shorten::shorten;
use crate::tail::Tail;

impl Log {
    /// Cuts the log so that it ends at `offset`, or at the beginning of the batch that holds it, or where the batches before
    /// it end if there is a hole behind those (what is missing there may be fetched anew), and drops what is queued (whoever
    /// waits for that was told [`AppendError::Dropped`](crate::AppendError::Dropped) when the leader resigned).
    /// Epochs that begin at the end or above it are forgotten, even where no record goes: one may have begun there and
    /// written nothing. Returns the end. Readers keep what they hold. If it went below the recovery point, the caller
    /// writes the recovery point checkpoint before it appends again.
    ///
    /// # Errors
    /// Whatever the disk says. Unless that came before anything was touched, the log is poisoned.
    pub fn truncate_to(&self, offset: Offset) -> Result<Offset, LogError> {
        let mut writer = self.writer.lock();
        self.must_be_usable()?;
        self.drop_queued(Vec::new());
        let published = self.published();
        if offset >= published.end {
            self.cut_epochs(&mut writer, published.end)?;
            return Ok(published.end);
        }
        if offset < published.segments[0].base {
            let (start, end) = (published.start, published.end);
            return Err(LogError::OutOfRange { offset, start, end });
        }
        let index = published.segment_at(offset);
        let segment = &published.segments[index];
        let found = segment.locate(offset, published.bytes_of(index)).map_err(damaged)?;
        let bytes = found.map_or(published.bytes_of(index), |found| found.position);
        let kept_end = end_of_batches(segment, bytes, offset).map_err(damaged)?;
        // A hole below the log's start is none that anybody would fill.
        let end = kept_end.max(published.start.min(found.map_or(offset, |found| offset.min(found.header.base_offset))));
        self.cut_to(&mut writer, &published, index, bytes, end).map_err(|error| self.poison(error))?;
        Ok(end)
    }

    fn cut_to(
        &self,
        writer: &mut Writer,
        published: &Published,
        index: usize,
        bytes: u64,
        end: Offset,
    ) -> Result<(), DiskError> {
        writer.touched = true;
        let segment = Arc::clone(&published.segments[index]);
        self.publish(|now| {
            now.end = end;
            now.start = now.start.min(end);
            now.segments = Arc::new(published.segments[..=index].to_vec());
            now.tail = Tail::new(bytes);
        });
        self.lower_recovery_point(end);
        self.state.lock().assigned_end = end;
        {
            let _cutting = self.cut.write();
            for later in published.segments[index + 1..].iter().rev() {
                self.condemn(later.base)?;
            }
            if !is_planted(Bug::SnapshotKeptOnTruncate) {
                self.drop_snapshots_above(end)?;
            }
            self.place().sync()?;
            shorten(&segment, bytes, FileKind::ActiveLog)?;
            let keep = |offset: Offset| offset < end;
            segment.offsets.truncate(&segment.place, segment.base, |entry| keep(entry.offset(segment.base)))?;
            segment.times.truncate(&segment.place, segment.base, |entry| keep(entry.offset(segment.base)))?;
            segment.txns.truncate(&segment.place, segment.base, |txn| keep(txn.last_offset))?;
            segment.set_bytes(bytes);
        }
        // What was cut must not come back beside what is written from here on, perhaps in a segment of its own.
        let file = segment.file()?;
        if !(self.config().contiguous && is_planted(Bug::RaftTruncateNotSynced)) {
            let synced = file.sync().doing("cannot sync", file.path());
            synced.inspect_err(|error| self.sync_failed(error))?;
        }
        self.owe_sync(segment.index_files()?);
        self.continue_in(writer, segment, bytes)?;
        if !is_planted(Bug::EpochsNotTruncated) {
            self.epochs.write().truncate_to(end);
            self.save_fewer_epochs(writer)?;
        }
        self.reload_producers(end)
    }

    /// Forgets the epochs from `end` on, if there are any.
    fn cut_epochs(&self, writer: &mut Writer, end: Offset) -> Result<(), DiskError> {
        if is_planted(Bug::EpochsNotTruncated) {
            return Ok(());
        }
        let before = self.latest_epoch();
        self.epochs.write().truncate_to(end);
        if self.latest_epoch() == before { Ok(()) } else { self.save_fewer_epochs(writer) }
    }

    /// Drops what is queued and waits for whoever writes: after that the end moves only by what the caller does. Whoever
    /// waits for an append must have been told.
    pub fn drop_unwritten(&self) {
        let _writer = self.writer.lock();
        self.drop_queued(Vec::new());
    }

    /// Makes a segment the one that is appended to.
    fn continue_in(&self, writer: &mut Writer, segment: Arc<Segment>, bytes: u64) -> Result<(), DiskError> {
        segment.open_file(FileKind::ActiveLog)?;
        writer.indexer = indexer_of(&segment, bytes).map_err(disk_error)?;
        segment.set_largest(writer.indexer.largest);
        writer.active = segment;
        writer.bytes = bytes;
        writer.reserved = 0;
        writer.first_timestamp = None;
        Ok(())
    }

    /// Drops everything and goes on at `offset`, which becomes start, end and recovery point (a follower whose leader has
    /// moved past it, a snapshot of the metadata log).
    ///
    /// # Errors
    /// Whatever the disk says; the log is then poisoned.
    pub fn truncate_fully_and_start_at(&self, offset: Offset, now_ms: i64) -> Result<(), LogError> {
        let mut writer = self.writer.lock();
        self.must_be_usable()?;
        self.drop_queued(Vec::new());
        self.begin_anew(&mut writer, offset, now_ms).map_err(|error| self.poison(error))
    }

    fn begin_anew(&self, writer: &mut Writer, offset: Offset, now_ms: i64) -> Result<(), DiskError> {
        writer.touched = true;
        let published = self.published();
        self.lower_recovery_point(Offset::MIN);
        let new = {
            let _cutting = self.cut.write();
            for segment in published.segments.iter().rev() {
                self.condemn(segment.base)?;
            }
            self.drop_snapshots_above(Offset::MIN)?;
            // What was condemned must not come back beside what is made now.
            self.place().sync()?;
            let new = Arc::new(Segment::create(&self.place(), offset, now_ms)?);
            self.place().sync()?;
            // The log itself may be new: its folder too has to be there at the new recovery point.
            self.place().sync_parent()?;
            self.publish(|now| {
                *now = Published {
                    start: offset,
                    end: offset,
                    tail: Tail::new(0),
                    segments: Arc::new(vec![Arc::clone(&new)]),
                };
            });
            new
        };
        writer.active = new;
        writer.bytes = 0;
        writer.reserved = 0;
        writer.indexer = Indexer::empty(offset);
        writer.first_timestamp = None;
        writer.created_ms = now_ms;
        self.epochs.write().clear();
        self.save_fewer_epochs(writer)?;
        {
            let mut state = self.state.lock();
            state.producers = Producers::default();
            state.assigned_end = offset;
        }
        self.raise_recovery_point(offset);
        Ok(())
    }

    /// Producers as they were at `end`: from the newest snapshot at or below it, and the batches since.
    fn reload_producers(&self, end: Offset) -> Result<(), DiskError> {
        if self.config().producer_state {
            let published = self.published();
            let producers = replay(&self.place(), &published.segments, end).map_err(disk_error)?;
            self.state.lock().producers = producers;
        }
        Ok(())
    }

    fn drop_snapshots_above(&self, end: Offset) -> Result<(), DiskError> {
        for entry in self.place().list()?.iter().rev() {
            let Some(name) = crate::names::parse(&entry.name) else { continue };
            if name.part == Part::Snapshot && name.stage.is_none() && name.base > end {
                let path = self.place().join(&entry.name);
                self.place().disk.remove_file(&path).doing("cannot remove", &path)?;
            }
        }
        Ok(())
    }
}

fn damaged(error: ReadError) -> LogError {
    LogError::Disk(disk_error(error))
}

/// Where the batches in the first `bytes` of a segment end, all of which lie below `offset`.
fn end_of_batches(segment: &Segment, bytes: u64, offset: Offset) -> Result<Offset, ReadError> {
    let file = segment.file()?;
    let mut scanner = Scanner::new(&*file, bytes, HEADERS_WINDOW_BYTES);
    let mut position = segment.hint(offset.saturating_sub(1), &mut scanner)?;
    let mut end = segment.base;
    while let Some(header) = scanner.batch(position)? {
        end = header.end();
        position += header.size;
    }
    Ok(end.min(offset))
}

#[cfg(test)]
mod tests;
