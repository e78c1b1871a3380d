//! From a time to an offset.
//!
//! ```text
//! segment: the first whose largest timestamp reaches the target
//! time index ── offset index ── walk headers ── open the batch whose maximum reaches it ── the record
//! ```
//! Holds: the answer is the first record in *offset* order that reaches the target, whatever the order of timestamps, and
//! the same for every codec. In a batch with broker time every record has the batch's `max_timestamp`.

use ballast_wire::batch::{BatchError, BatchView, TimestampType};
use ballast_wire::{LeaderEpoch, Offset};

use crate::error::{DiskContext, ReadError};
use crate::header::Header;
use crate::log::Log;
use crate::scan::{HEADERS_WINDOW_BYTES, Scanner, Step};
use crate::segment::Segment;

/// A record found by its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Its offset.
    pub offset: Offset,
    /// Its timestamp in ms since 1970.
    pub timestamp_ms: i64,
    /// Epoch of its batch.
    pub leader_epoch: LeaderEpoch,
}

impl Log {
    /// The first record, in offset order, whose timestamp is at least `timestamp_ms`; `None` if there is none or it lies at
    /// or above `bound`.
    ///
    /// # Errors
    /// The disk failed or a batch does not open.
    pub fn offset_for_timestamp(&self, timestamp_ms: i64, bound: Offset) -> Result<Option<Found>, ReadError> {
        let _reading = self.cut.read();
        let published = self.published();
        let from = published.start;
        for index in published.segment_at(from)..published.segments.len() {
            let segment = &published.segments[index];
            // The writer tells the largest of the active segment after it publishes, so that one is always looked at.
            let is_active = index + 1 == published.segments.len();
            if !is_active && segment.largest()?.timestamp < timestamp_ms {
                continue;
            }
            let found = self.find_in(segment, published.bytes_of(index), timestamp_ms, from)?;
            if let Some(found) = found {
                return Ok(Some(found).filter(|found| found.offset < bound));
            }
        }
        Ok(None)
    }

    /// The first record that has the largest timestamp of the log; `None` for an empty log, or if it lies at or above
    /// `bound`.
    ///
    /// # Errors
    /// The disk failed or a batch does not open.
    pub fn max_timestamp_offset(&self, bound: Offset) -> Result<Option<Found>, ReadError> {
        let largest = {
            let _reading = self.cut.read();
            let mut largest = -1;
            for segment in self.published().segments.iter() {
                largest = largest.max(segment.largest()?.timestamp);
            }
            largest
        };
        if largest < 0 { Ok(None) } else { self.offset_for_timestamp(largest, bound) }
    }

    fn find_in(
        &self,
        segment: &Segment,
        bytes: u64,
        timestamp_ms: i64,
        from: Offset,
    ) -> Result<Option<Found>, ReadError> {
        let file = segment.file()?;
        let mut scanner = Scanner::new(&*file, bytes, HEADERS_WINDOW_BYTES);
        let mut position = time_hint(segment, timestamp_ms, from, &mut scanner)?;
        while let Some(header) = scanner.batch(position)? {
            if header.max_timestamp >= timestamp_ms && header.last_offset() >= from {
                let batch = file.view(position..position + header.size).doing("cannot read", file.path())?;
                let batch = batch.bytes().doing("cannot read", file.path())?;
                let found = self.find_record(&batch, timestamp_ms, from);
                let found = found.map_err(|cause| ReadError::Damaged { path: segment.path(), position, cause })?;
                if found.is_some() {
                    return Ok(found);
                }
            }
            position += header.size;
        }
        Ok(None)
    }

    fn find_record(&self, batch: &[u8], timestamp_ms: i64, from: Offset) -> Result<Option<Found>, BatchError> {
        let batch = BatchView::parse(batch)?;
        let leader_epoch = batch.leader_epoch();
        if batch.attributes().timestamp_type() == TimestampType::LogAppendTime && batch.base_offset() >= from {
            // Every record has this time, so the first one is it; unless compaction took it.
            let whole = batch.records_count() == batch.last_offset_delta().saturating_add(1);
            if whole {
                let (offset, timestamp_ms) = (batch.base_offset(), batch.max_timestamp());
                return Ok(Some(Found { offset, timestamp_ms, leader_epoch }));
            }
        }
        // A body that was never opened may be anything, or too much to open for a look-up. If its checksum is right, the batch
        // as a whole is the answer, as far as its header goes.
        let as_a_whole = || {
            let (offset, timestamp_ms) = (batch.base_offset().max(from), batch.max_timestamp());
            batch.verify_checksum().map(|()| Some(Found { offset, timestamp_ms, leader_epoch }))
        };
        let Ok(body) = batch.open(self.config().opened_bytes_max(batch.len())) else { return as_a_whole() };
        for record in batch.records_in(&body) {
            let Ok(record) = record else { return as_a_whole() };
            // Offset deltas are the producer's.
            let offset = record.offset(&batch).clamp(batch.base_offset(), batch.last_offset().max(batch.base_offset()));
            let timestamp = record.timestamp(&batch);
            if timestamp >= timestamp_ms && offset >= from {
                return Ok(Some(Found { offset, timestamp_ms: timestamp, leader_epoch }));
            }
        }
        Ok(None)
    }
}

/// Where to begin a walk that looks for a time: every batch before it has a smaller maximum. The time index says so, and is
/// believed only if the batch it names has the timestamp that it names.
fn time_hint(segment: &Segment, timestamp_ms: i64, from: Offset, scanner: &mut Scanner<'_>) -> Result<u64, ReadError> {
    let by_offset = segment.hint(from, scanner)?;
    let entry = segment.times.floor(&segment.place, segment.base, |entry| entry.timestamp <= timestamp_ms)?;
    let Some(entry) = entry else { return Ok(by_offset) };
    let offset = entry.offset(segment.base);
    let mut position = segment.hint(offset, scanner)?;
    let named = loop {
        match scanner.step(position)? {
            Step::Batch(header) if header.last_offset() < offset => position += header.size,
            Step::Batch(header) => break Some(header),
            _ => break None,
        }
    };
    let is_true = |header: Header| header.last_offset() == offset && header.max_timestamp == entry.timestamp;
    if named.is_some_and(is_true) {
        return Ok(position.max(by_offset));
    }
    if named.is_some() {
        tracing::warn!(segment = %segment.path().display(), ?entry, ?named, "a time index entry is wrong, walking instead");
    }
    Ok(by_offset)
}

#[cfg(test)]
mod tests;
