//! What goes at the other end: records below the start, too old, or too many (kafka.md §3.4).
//!
//! Holds:
//!   1. Segments go oldest first, whole, and never one that reaches above the high watermark.
//!   2. A segment that is not synced is synced before it goes: so a crash cannot bring an older one back and leave a hole.
//!   3. A deleted file keeps its bytes under the name `….deleted` until `file.delete.delay.ms` is over. Readers keep what
//!      they hold for longer than that.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ballast_planted::{Bug, is_planted};
use ballast_wire::Offset;

use crate::error::{DiskContext, DiskError, LogError};
use crate::log::{Log, Published, Writer};
use crate::names::{Part, Stage, file_name, staged};
use crate::segment::Segment;

/// What retention removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retained {
    /// Segments that went.
    pub segments: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// A file that is to be unlinked.
#[derive(Debug, Clone)]
pub(crate) struct Condemned {
    path: PathBuf,
    /// When it was deleted, in ms since 1970; `None` until the clock is seen.
    since_ms: Option<i64>,
}

impl Condemned {
    /// The folder got another name.
    pub(crate) fn moved_to(&mut self, dir: &Path) {
        if let Some(name) = self.path.file_name() {
            self.path = dir.join(name);
        }
    }
}

impl Log {
    /// Raises the start (DeleteRecords, or a leader's start told to a follower). Segments below it go with the next
    /// [`Log::retain`]. Returns whether it moved; the caller writes the log start checkpoint.
    ///
    /// # Errors
    /// `OutOfRange` above the end; the disk failed.
    pub fn advance_start(&self, offset: Offset) -> Result<bool, LogError> {
        let mut writer = self.writer.lock();
        self.must_be_usable()?;
        let (start, end) = (self.start(), self.end());
        if offset > end {
            return Err(LogError::OutOfRange { offset, start, end });
        }
        if offset <= start {
            return Ok(false);
        }
        self.move_start(&mut writer, offset)?;
        Ok(true)
    }

    fn move_start(&self, writer: &mut Writer, offset: Offset) -> Result<(), DiskError> {
        self.publish(|published| published.start = published.start.max(offset));
        self.epochs.write().advance_to(offset);
        self.save_epochs(writer)
    }

    /// Removes the oldest segments that lie below the start, are too old or too many (kafka.md §3.4), but none that reaches
    /// above `high_watermark`. Their files stay as `….deleted` until [`Log::reap`]. Blocks: it syncs what is to go, if it is
    /// not on disk yet.
    ///
    /// # Errors
    /// Whatever the disk says.
    pub fn retain(&self, now_ms: i64, high_watermark: Offset) -> Result<Retained, LogError> {
        let published = self.published();
        let doomed = self.doomed(&published, now_ms, high_watermark)?;
        if doomed == 0 {
            return Ok(Retained::default());
        }
        let ends_all = doomed == published.segments.len();
        if ends_all {
            self.roll(now_ms)?;
        }
        let doomed_end = published.end_of(doomed - 1);
        if self.place().disk.is_durable() && self.recovery_point() < doomed_end {
            self.sync(now_ms)?;
        }
        self.remove_first(doomed, doomed_end, now_ms)
    }

    /// How many segments at the front are to go.
    fn doomed(&self, published: &Published, now_ms: i64, high_watermark: Offset) -> Result<usize, DiskError> {
        let config = self.config();
        let size: u64 = (0..published.segments.len()).map(|index| published.bytes_of(index)).sum();
        let mut excess = i64::try_from(size).unwrap_or(i64::MAX).saturating_sub(config.retention_bytes);
        let by_size = config.cleanup.delete && config.retention_bytes >= 0;
        let by_time = config.cleanup.delete && config.retention_ms >= 0;
        let last = published.segments.len() - 1;
        for (index, segment) in published.segments.iter().enumerate() {
            let (end, bytes) = (published.end_of(index), published.bytes_of(index));
            let is_empty_last = index == last && bytes == 0;
            if end > high_watermark || is_empty_last {
                return Ok(index);
            }
            let is_below_start = end <= published.start && index < last;
            let is_old = by_time && now_ms.saturating_sub(newest_ms(segment)?) > config.retention_ms;
            let is_too_much = by_size && excess >= bytes as i64;
            if !(is_below_start || is_old || is_too_much) {
                return Ok(index);
            }
            excess = excess.saturating_sub(bytes as i64);
        }
        Ok(published.segments.len())
    }

    /// Removes the first `count` segments, which end at `end`, if they are still the first.
    fn remove_first(&self, count: usize, end: Offset, now_ms: i64) -> Result<Retained, LogError> {
        let mut writer = self.writer.lock();
        self.must_be_usable()?;
        let published = self.published();
        if published.segments.len() <= count || published.end_of(count - 1) != end {
            // Cut meanwhile: the next round looks again.
            return Ok(Retained::default());
        }
        writer.touched = true;
        let mut retained = Retained::default();
        self.publish(|now| {
            now.segments = Arc::new(published.segments[count..].to_vec());
            now.start = now.start.max(end);
        });
        let result = self.condemn_all(&published.segments[..count], &mut retained);
        self.date_condemned(now_ms);
        self.move_start(&mut writer, end)?;
        self.owe_sync(Vec::new());
        result?;
        Ok(retained)
    }

    fn condemn_all(&self, segments: &[Arc<Segment>], retained: &mut Retained) -> Result<(), DiskError> {
        let _cutting = self.cut.write();
        for segment in segments {
            self.condemn(segment.base)?;
            retained.segments += 1;
            retained.bytes += segment.bytes();
        }
        Ok(())
    }

    /// Renames a segment's files to `….deleted`, the log last, so that a crash in between leaves no index that is taken for
    /// another's. The caller holds the cut lock.
    pub(crate) fn condemn(&self, base: Offset) -> Result<(), DiskError> {
        let dir = self.place().dir();
        for part in [Part::OffsetIndex, Part::TimeIndex, Part::TxnIndex, Part::Snapshot, Part::Log] {
            if part == Part::Snapshot && is_planted(Bug::SnapshotKeptOnTruncate) {
                continue;
            }
            let path = dir.join(file_name(base, part));
            let deleted = staged(&path, Stage::Deleted);
            match self.place().disk.rename(&path, &deleted) {
                Ok(()) => self.condemned.lock().push(Condemned { path: deleted, since_ms: None }),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(error).doing("cannot rename", &path),
            }
        }
        Ok(())
    }

    fn date_condemned(&self, now_ms: i64) {
        for condemned in self.condemned.lock().iter_mut() {
            condemned.since_ms.get_or_insert(now_ms);
        }
    }

    /// Unlinks deleted files whose `file.delete.delay.ms` is over. Returns when the next one is due, in ms since 1970.
    ///
    /// # Errors
    /// The first file that could not be unlinked; it is tried again next time.
    pub fn reap(&self, now_ms: i64) -> Result<Option<i64>, LogError> {
        self.date_condemned(now_ms);
        let delay_ms = self.config().file_delete_delay_ms;
        let due = |condemned: &Condemned| condemned.since_ms.unwrap_or(now_ms).saturating_add(delay_ms);
        // Taken out one by one, so that two reapers do not meet.
        loop {
            let next = {
                let mut condemned = self.condemned.lock();
                let Some(at) = condemned.iter().position(|condemned| due(condemned) <= now_ms) else {
                    return Ok(condemned.iter().map(due).min());
                };
                condemned.remove(at)
            };
            if let Err(error) = self.place().disk.remove_file(&next.path)
                && error.kind() != std::io::ErrorKind::NotFound
            {
                let path = next.path.clone();
                self.condemned.lock().push(next);
                return Err(error).doing("cannot remove", &path).map_err(LogError::from);
            }
        }
    }
}

/// Time of a segment's newest record in ms since 1970; of its last change, if its records have no times.
fn newest_ms(segment: &Segment) -> Result<i64, DiskError> {
    let largest = segment.largest()?.timestamp;
    Ok(if largest >= 0 { largest } else { segment.modified_ms })
}

#[cfg(test)]
mod tests;
