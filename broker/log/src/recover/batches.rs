//! Scanning one segment: what makes a batch good, and what is learnt from it.

use std::sync::Arc;

use ballast_wire::Offset;
use ballast_wire::batch::BatchError;

use super::replay::{marker_at, replay};
use super::{CutReason, Progress, Recovery};
use crate::disk::FileKind;
use crate::error::{DiskContext, DiskError, disk_error};
use crate::header::Header;
use crate::names::Part;
use crate::roll::fits_offsets;
use crate::scan::{BODIES_WINDOW_BYTES, Scanner, Step};
use crate::segment::{Indexer, Segment};
use crate::validate::Marker;

/// Bytes between two calls of `progress`.
const PROGRESS_BYTES: u64 = 64 << 20;

/// Where the good part of a scanned segment ends.
pub(super) struct Scanned {
    pub(super) bytes: u64,
    pub(super) end: Offset,
    pub(super) indexer: Indexer,
    /// Why it does not go on to the end of the file.
    pub(super) fault: Option<CutReason>,
    /// Length of the file as it was found.
    pub(super) file_bytes: u64,
}

/// What stands behind what was scanned.
enum Next {
    Good(Header, Option<Marker>),
    End,
    Fault(CutReason),
}

impl Recovery<'_> {
    /// Reads every batch of the last of `segments` up to the first that is not good, and makes its indexes anew. `from` is
    /// where the segment before it ends, `boundary` where the next one begins, if that holds anything.
    pub(super) fn scan(
        &mut self,
        segments: &[Arc<Segment>],
        from: Offset,
        boundary: Option<Offset>,
        kind: FileKind,
    ) -> Result<Scanned, DiskError> {
        let (segment, before) = segments.split_last().expect("there is a segment to scan");
        self.make_ready(segment, before, from)?;
        let file = segment.open_file(kind)?;
        let file_bytes = file.len().doing("cannot stat", file.path())?;
        let mut scanner = Scanner::new(&*file, file_bytes, BODIES_WINDOW_BYTES);
        let indexer = Indexer::empty(segment.base);
        let mut scanned = Scanned { bytes: 0, end: from, indexer, fault: None, file_bytes };
        loop {
            match self.judge(&mut scanner, &scanned, segment.base, boundary)? {
                Next::Good(header, marker) => self.take(segment, &header, marker, &mut scanned),
                Next::End => break,
                Next::Fault(fault) => {
                    scanned.fault = Some(fault);
                    break;
                }
            }
        }
        if scanned.fault.is_some() && boundary == Some(scanned.end) {
            // Nothing of the log is missing: room that was not given back, or batches that were truncated before the next
            // segment was begun.
            tracing::warn!(path = %file.path().display(), position = scanned.bytes, "trimming the end of a segment");
            scanned.fault = None;
        }
        self.producers_at = Some(scanned.end);
        self.tell(segment.base, 0);
        Ok(scanned)
    }

    fn make_ready(&mut self, segment: &Segment, before: &[Arc<Segment>], from: Offset) -> Result<(), DiskError> {
        if self.config.producer_state && self.producers_at != Some(from) {
            self.producers = replay(&self.place, before, from).map_err(disk_error)?;
        }
        let should_have_been_right = self.from.clean || from < self.from.recovery_point;
        if should_have_been_right {
            self.report.rebuilt_indexes.push(self.place.path(segment.base, Part::OffsetIndex));
            self.report.rebuilt_indexes.push(self.place.path(segment.base, Part::TimeIndex));
        }
        segment.offsets.clear(&segment.place, segment.base)?;
        segment.times.clear(&segment.place, segment.base)?;
        segment.txns.clear(&segment.place, segment.base)
    }

    /// What stands behind what was scanned.
    fn judge(
        &self,
        scanner: &mut Scanner<'_>,
        scanned: &Scanned,
        base: Offset,
        boundary: Option<Offset>,
    ) -> Result<Next, DiskError> {
        let (position, end) = (scanned.bytes, scanned.end);
        let header = match scanner.step(position)? {
            Step::Batch(header) => header,
            Step::End => return Ok(Next::End),
            Step::Torn | Step::Bad(_) if scanner.only_zeros(position)? => return Ok(Next::Fault(CutReason::Zeros)),
            Step::Torn => return Ok(Next::Fault(CutReason::Torn)),
            Step::Bad(error) => return Ok(Next::Fault(CutReason::Damaged(error))),
        };
        let (stored, computed) = (header.checksum, scanner.checksum(position, &header)?);
        if stored != computed {
            return Ok(Next::Fault(CutReason::Damaged(BatchError::Checksum { stored, computed })));
        }
        let base_offset = header.base_offset;
        if base_offset < end || header.last_offset_delta < 0 || header.end() == Offset::MAX {
            return Ok(Next::Fault(CutReason::OffsetStepsBack { base_offset, end }));
        }
        // No checksum covers a batch's offset. One that has moved up is told by what stands behind it, or by how far it moved.
        if base_offset > end {
            let next = match scanner.step(position + header.size)? {
                Step::Batch(next) => next.base_offset,
                Step::End | Step::Torn | Step::Bad(_) => Offset::MAX,
            };
            if next < header.end() || !fits_offsets(base, header.last_offset()) {
                return Ok(Next::Fault(CutReason::Hole { base_offset, end }));
            }
        }
        if let Some(boundary) = boundary.filter(|boundary| header.end() > *boundary) {
            return Ok(Next::Fault(CutReason::Hole { base_offset: boundary, end }));
        }
        if self.config.contiguous && base_offset > end {
            return Ok(Next::Fault(CutReason::Hole { base_offset, end }));
        }
        if header.leader_epoch < self.epoch {
            let (epoch, after) = (header.leader_epoch, self.epoch);
            return Ok(Next::Fault(CutReason::EpochStepsBack { epoch, after }));
        }
        Ok(match marker_at(scanner, position, &header)? {
            Ok(marker) => Next::Good(header, marker),
            Err(error) => Next::Fault(CutReason::Damaged(error)),
        })
    }

    /// Takes note of a good batch.
    fn take(&mut self, segment: &Segment, header: &Header, marker: Option<Marker>, scanned: &mut Scanned) {
        scanned.indexer.note(segment, header, scanned.bytes, self.config.index_interval_bytes);
        scanned.bytes += header.size;
        scanned.end = header.end();
        self.epoch = header.leader_epoch;
        self.epochs.assign(header.leader_epoch, header.base_offset);
        if self.config.producer_state
            && header.has_producer()
            && let Some(aborted) = self.producers.apply(header, marker).aborted
        {
            segment.txns.push(&segment.place, segment.base, aborted);
        }
        self.report.batches += 1;
        self.report.scanned_bytes += header.size;
        self.tell(segment.base, PROGRESS_BYTES);
    }

    fn tell(&mut self, segment_base: Offset, step_bytes: u64) {
        let scanned_bytes = self.report.scanned_bytes;
        if scanned_bytes - self.told_bytes >= step_bytes {
            self.told_bytes = scanned_bytes;
            (self.progress)(Progress { segment_base, scanned_bytes, total_bytes: self.total_bytes });
        }
    }
}
