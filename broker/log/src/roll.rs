//! When and how the active segment is sealed.
//!
//! ```text
//! old: closing time-index entry, indexes written and cut, reservation given back
//! snapshot of the producers before the new base ── new .log ── published
//! ```
//! Holds: nothing is synced here, which would hold up appends; the files are owed to the next sync. Each step leaves a
//! folder that can be opened: a snapshot without a segment is dropped, an empty segment is a good one.

use std::sync::Arc;

use ballast_wire::Offset;

use crate::config::LogConfig;
use crate::disk::FileKind;
use crate::error::{DiskContext, DiskError, LogError, ReadError};
use crate::header::Header;
use crate::index::Entry;
use crate::index::offset::OffsetEntry;
use crate::index::time::TimeEntry;
use crate::log::{Log, Writer};
use crate::names::{Part, remove_if_there};
use crate::producer::snapshot;
use crate::producer::state::Undo;
use crate::scan::{HEADERS_WINDOW_BYTES, Scanner};
use crate::segment::{Indexer, Segment};
use crate::shorten::shorten;
use crate::tail::Tail;

impl Writer {
    /// Does this batch begin a new segment? (kafka.md §3.3)
    pub(crate) fn must_roll(&mut self, header: &Header, config: &LogConfig, now_ms: i64) -> Result<bool, ReadError> {
        if self.bytes == 0 {
            // An offset that cannot be told relative to the base needs another base, even for an empty segment.
            return Ok(!fits_offsets(self.active.base, header.last_offset()));
        }
        if self.bytes + header.size > config.segment_bytes || !fits_offsets(self.active.base, header.last_offset()) {
            return Ok(true);
        }
        if self.active.offsets.len() as u64 >= config.segment_index_bytes / OffsetEntry::BYTES as u64
            || self.active.times.len() as u64 + 1 >= config.segment_index_bytes / TimeEntry::BYTES as u64
        {
            return Ok(true);
        }
        let first = self.first_timestamp()?;
        let age_ms = if first >= 0 && header.max_timestamp >= 0 {
            header.max_timestamp.saturating_sub(first)
        } else {
            now_ms.saturating_sub(self.created_ms)
        };
        Ok(age_ms > config.segment_ms.saturating_sub(jitter_ms(&self.active, config)))
    }

    /// Largest timestamp of the active segment's first batch, -1 if it has none.
    fn first_timestamp(&mut self) -> Result<i64, ReadError> {
        if let Some(first) = self.first_timestamp {
            return Ok(first);
        }
        let file = self.active.file()?;
        let first = Scanner::new(&*file, self.bytes, HEADERS_WINDOW_BYTES).batch(0)?;
        let first = first.map_or(-1, |header| header.max_timestamp);
        self.first_timestamp = Some(first);
        Ok(first)
    }
}

pub(crate) fn fits_offsets(base: Offset, last_offset: Offset) -> bool {
    last_offset.checked_sub(base).is_some_and(|distance| distance <= i64::from(i32::MAX))
}

/// A part of `segment.jitter.ms` that differs from segment to segment, so that logs made together do not roll together.
fn jitter_ms(segment: &Segment, config: &LogConfig) -> i64 {
    let most = config.segment_jitter_ms.min(config.segment_ms);
    if most <= 0 {
        return 0;
    }
    let name = segment.path();
    i64::from(crc32fast::hash(name.as_os_str().as_encoded_bytes())) % most
}

impl Log {
    /// Seals the active segment, so that the next append starts a new one. Nothing happens when it is empty.
    ///
    /// # Errors
    /// Whatever the disk says; the log is then as before.
    pub fn roll(&self, now_ms: i64) -> Result<(), LogError> {
        let mut writer = self.writer.lock();
        self.must_be_usable()?;
        if writer.bytes > 0 {
            let end = self.end();
            let state = self.state.lock();
            let queued: Vec<&Undo> = state.queue.iter().rev().filter_map(|queued| queued.undo.as_ref()).collect();
            let snapshot = snapshot::encode(&state.producers.before(queued.into_iter()));
            drop(state);
            self.roll_to(&mut writer, end, &snapshot, now_ms)?;
        }
        Ok(())
    }

    /// Seals the active segment and begins another at `base`, the end of what is written. `snapshot` has the producers
    /// before it. On an error the old segment stays the active one.
    pub(crate) fn roll_to(
        &self,
        writer: &mut Writer,
        base: Offset,
        snapshot: &[u8],
        now_ms: i64,
    ) -> Result<(), DiskError> {
        let old = Arc::clone(&writer.active);
        assert!(base > old.base || writer.bytes == 0, "a segment at {base} cannot follow {}", old.base);
        writer.touched = true;
        if base == old.base {
            return Ok(());
        }
        writer.indexer.add_time(&old);
        self.seal(writer)?;
        let mut owed = old.index_files()?;
        if self.config().producer_state {
            owed.push(snapshot::store(&*self.place().disk, &self.place().path(base, Part::Snapshot), snapshot)?);
        }
        self.owe_sync(owed);
        let new = match Segment::create(&self.place(), base, now_ms) {
            Ok(new) => Arc::new(new),
            Err(error) => {
                // An empty segment in the middle of what the old one goes on to hold would hide it from the next opening.
                remove_if_there(&self.place(), &self.place().path(base, Part::Log))?;
                return Err(error);
            }
        };
        old.open_file(FileKind::SealedLog)?;

        writer.active = Arc::clone(&new);
        writer.bytes = 0;
        writer.reserved = 0;
        writer.indexer = Indexer::empty(base);
        writer.first_timestamp = None;
        writer.created_ms = now_ms;
        self.publish(|published| {
            let mut segments = Vec::clone(&published.segments);
            segments.push(new);
            published.segments = Arc::new(segments);
            published.tail = Tail::new(0);
        });
        Ok(())
    }

    /// Writes the indexes of the active segment and gives back what was reserved behind its data.
    pub(crate) fn seal(&self, writer: &mut Writer) -> Result<(), DiskError> {
        let active = &writer.active;
        active.offsets.seal(&active.place, active.base, true)?;
        active.times.seal(&active.place, active.base, true)?;
        active.txns.seal(&active.place, active.base, false)?;
        active.set_largest(writer.indexer.largest);
        let file = active.file()?;
        if file.len().doing("cannot stat", file.path())? == writer.bytes {
            file.set_len(writer.bytes).doing("cannot trim", file.path())?;
        } else {
            let _cutting = self.cut.write();
            shorten(active, writer.bytes, FileKind::ActiveLog)?;
        }
        writer.reserved = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
