//! What is believed without being read: segments that were synced and closed, if their last index entries name batches that
//! are there, and the batches behind those end where the file ends.
//!
//! Holds: this reads a few headers of a segment, whatever its size. A zeroed, torn or missing index fails it (the first
//! thing that a pre-sized index shows after a crash is a tail of zeros), and then the segment is scanned.

use std::collections::BTreeMap;
use std::sync::Arc;

use ballast_planted::{Bug, is_planted};
use ballast_wire::Offset;

use super::Recovery;
use crate::disk::FileKind;
use crate::error::DiskError;
use crate::index::Index;
use crate::index::offset::OffsetEntry;
use crate::index::time::TimeEntry;
use crate::index::txn::AbortedTxn;
use crate::scan::{HEADERS_WINDOW_BYTES, Scanner, Step};
use crate::segment::{Indexer, Segment, SegmentFiles};

/// How far a segment is believed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Trust {
    /// Not at all.
    Not,
    /// It ends where the next one begins.
    Sealed {
        /// First offset of the next one.
        end: Offset,
    },
    /// It is the last one, and its tail was walked.
    Tail {
        /// One above its last offset.
        end: Offset,
        /// What its indexes go on with.
        indexer: Indexer,
    },
}

impl Recovery<'_> {
    /// How far each segment is believed.
    pub(super) fn trust(
        &self,
        segments: &[Arc<Segment>],
        files: &BTreeMap<Offset, SegmentFiles>,
    ) -> Result<Vec<Trust>, DiskError> {
        let mut trust = Vec::with_capacity(segments.len());
        for (index, segment) in segments.iter().enumerate() {
            let next = segments.get(index + 1).map(|next| next.base);
            let was_synced = self.from.clean
                || next.is_some_and(|end| end <= self.from.recovery_point)
                || is_planted(Bug::IndexTrustedAfterCrash);
            let files = files.get(&segment.base).copied().unwrap_or_default();
            let trusted = if was_synced && is_sane(segment, &files)? { tail(segment)? } else { Trust::Not };
            trust.push(match (trusted, next) {
                // Batches that reach into the next one: a truncation that was lost.
                (Trust::Tail { end, .. }, Some(next)) if end <= next => Trust::Sealed { end: next },
                (trusted, None) => trusted,
                _ => Trust::Not,
            });
        }
        Ok(trust)
    }
}

/// Walks from the last index entry to the end of the file.
fn tail(segment: &Segment) -> Result<Trust, DiskError> {
    let mut indexer = Indexer::behind(segment.indexed_largest()?);
    let mut end = segment.base;
    if segment.bytes() == 0 {
        return Ok(Trust::Tail { end, indexer });
    }
    let file = segment.file()?;
    let mut scanner = Scanner::new(&*file, segment.bytes(), HEADERS_WINDOW_BYTES);
    let mut position = segment.hint(Offset::MAX, &mut scanner)?;
    loop {
        match scanner.step(position)? {
            Step::Batch(header) if header.base_offset >= end => {
                indexer.recall(&header);
                position += header.size;
                end = header.end();
            }
            Step::End => return Ok(Trust::Tail { end, indexer }),
            Step::Batch(_) | Step::Torn | Step::Bad(_) => return Ok(Trust::Not),
        }
    }
}

/// Do the index files of a segment agree with it as far as a look at their last entries tells?
fn is_sane(segment: &Segment, files: &SegmentFiles) -> Result<bool, DiskError> {
    let whole = Index::<AbortedTxn>::is_whole(files.txn_index_bytes.unwrap_or(0));
    if files.log_bytes == 0 {
        return Ok(whole && files.offset_index_bytes.unwrap_or(0) == 0 && files.time_index_bytes.unwrap_or(0) == 0);
    }
    let (Some(offsets), Some(times)) = (files.offset_index_bytes, files.time_index_bytes) else { return Ok(false) };
    if !whole || !Index::<OffsetEntry>::is_whole(offsets) || !Index::<TimeEntry>::is_whole(times) {
        return Ok(false);
    }
    let file = segment.open_file(FileKind::SealedLog)?;
    let mut scanner = Scanner::new(&*file, segment.bytes(), HEADERS_WINDOW_BYTES);
    Ok(is_offset_entry_true(segment, &mut scanner)? && is_time_entry_true(segment, &mut scanner)?)
}

fn is_offset_entry_true(segment: &Segment, scanner: &mut Scanner<'_>) -> Result<bool, DiskError> {
    let Some(entry) = segment.offsets.last(&segment.place, segment.base)? else { return Ok(true) };
    let offset = entry.offset(segment.base);
    Ok(matches!(scanner.step(entry.position.into())?, Step::Batch(header) if header.last_offset() == offset))
}

fn is_time_entry_true(segment: &Segment, scanner: &mut Scanner<'_>) -> Result<bool, DiskError> {
    let Some(entry) = segment.times.last(&segment.place, segment.base)? else {
        // Right only if no record has a time. The first batch tells, nearly always.
        return Ok(matches!(scanner.step(0)?, Step::Batch(header) if header.max_timestamp < 0));
    };
    let offset = entry.offset(segment.base);
    let mut position = segment.hint(offset, scanner)?;
    loop {
        match scanner.step(position)? {
            Step::Batch(header) if header.last_offset() < offset => position += header.size,
            Step::Batch(header) => {
                return Ok(header.last_offset() == offset && header.max_timestamp == entry.timestamp);
            }
            Step::End | Step::Torn | Step::Bad(_) => return Ok(false),
        }
    }
}
