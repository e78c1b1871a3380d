//! What a crash can leave behind, and what is made of it.
//!
//! Everything past the recovery point is read: checksums, rising offsets, rising epochs. The log ends before the first
//! batch that is not whole, and everything behind it goes. Indexes, producers and epochs of what was read are made anew.
//!
//! Holds:
//!   1. What recovery keeps is a prefix of what was written, at least up to the recovery point; recovering again keeps
//!      the same.
//!   2. A segment ends where the next one begins: what stands behind that in its file was truncated before, and is trimmed.
//!   3. Holes inside a segment are normal (compaction, followers). A hole *between* segments past the recovery point is a
//!      lost tail, unless the topic is compacted: a roll begins where the segment before it ended.
//!   4. What was found may still be in the machine's memory alone, so the recovery point does not move here; and the files
//!      are touched, so that the next sync is a real one.
//!
//! Read next: `batches` (what makes a batch good), `trust` (what is believed without reading), `replay` (producers).

mod batches;
mod opened;
pub(crate) mod replay;
mod report;
mod trust;

use std::collections::BTreeMap;
use std::io::IoSlice;
use std::sync::Arc;

use ballast_wire::{LeaderEpoch, Offset};

use self::batches::Scanned;
use self::replay::replay;
use self::trust::Trust;
use crate::config::LogConfig;
use crate::disk::{DiskFile, FileKind};
use crate::epoch::Epochs;
use crate::error::{DiskContext, DiskError, disk_error};
use crate::names::{Part, Place, remove_if_there};
use crate::producer::snapshot;
use crate::producer::state::Producers;
use crate::segment::{Indexer, Segment, SegmentFiles, indexer_of};
use crate::shorten::shorten;

pub use self::opened::OpenFrom;
pub(crate) use self::opened::Opened;
pub use self::report::{Cut, CutReason, Progress, RecoveryReport};

/// A recovery under way.
pub(crate) struct Recovery<'a> {
    pub(crate) place: Arc<Place>,
    pub(crate) config: Arc<LogConfig>,
    pub(crate) report: RecoveryReport,
    pub(crate) producers: Producers,
    pub(crate) epochs: Epochs,
    /// Files that were changed, for the next sync.
    pub(crate) owed: Vec<Arc<dyn DiskFile>>,
    /// The checkpoint was missing or damaged: every header has to be walked.
    epochs_unknown: bool,
    /// The producers are as of this offset; `None` before they are needed.
    producers_at: Option<Offset>,
    /// Epoch of the last batch that was scanned, -1 before the first.
    epoch: LeaderEpoch,
    from: OpenFrom,
    progress: &'a mut dyn FnMut(Progress),
    total_bytes: u64,
    told_bytes: u64,
}

impl<'a> Recovery<'a> {
    pub(crate) fn new(
        place: Arc<Place>,
        config: Arc<LogConfig>,
        from: OpenFrom,
        epochs: Option<Epochs>,
        report: RecoveryReport,
        progress: &'a mut dyn FnMut(Progress),
    ) -> Recovery<'a> {
        Recovery {
            place,
            config,
            report,
            producers: Producers::default(),
            owed: Vec::new(),
            epochs_unknown: epochs.is_none(),
            epochs: epochs.unwrap_or_default(),
            producers_at: None,
            epoch: -1,
            from,
            progress,
            total_bytes: 0,
            told_bytes: 0,
        }
    }

    /// Goes over the segments, oldest first: believes, scans, cuts. There is at least one.
    pub(crate) fn examine(
        &mut self,
        mut segments: Vec<Arc<Segment>>,
        files: &BTreeMap<Offset, SegmentFiles>,
    ) -> Result<Opened, DiskError> {
        let trust = self.trust(&segments, files)?;
        let to_scan = segments.iter().zip(&trust).filter(|(_, trust)| matches!(trust, Trust::Not));
        self.total_bytes = to_scan.map(|(segment, _)| segment.bytes()).sum();
        let last_trusted = trust.iter().rposition(|trust| !matches!(trust, Trust::Not));
        let is_as_closed = self.from.clean && !trust.iter().any(|trust| matches!(trust, Trust::Not));

        let mut end = segments[0].base;
        let mut indexer = None;
        for (index, trust) in trust.iter().enumerate() {
            let segment = Arc::clone(&segments[index]);
            end = end.max(segment.base);
            match trust {
                Trust::Sealed { end: next } => end = *next,
                Trust::Tail { end: tail, indexer: state } => {
                    end = *tail;
                    indexer = Some(*state);
                }
                Trust::Not => {
                    if last_trusted.is_none_or(|last| last < index) && self.epoch < 0 {
                        // The checkpoint may tell of batches that did not make it to the disk. From here on all are read.
                        self.epochs.truncate_to(segment.base);
                    }
                    let boundary = segments.get(index + 1).filter(|next| next.bytes() > 0).map(|next| next.base);
                    let scanned = self.scan(&segments[..=index], end, boundary, kind_of(&segments, index))?;
                    end = scanned.end;
                    self.put_in_order(&segments, index, &scanned)?;
                    if let Some(fault) = scanned.fault.clone() {
                        self.cut(&mut segments, index, &scanned, fault)?;
                    } else if let Some(gap) = self.gap_behind(&segments, index, end) {
                        self.cut(&mut segments, index, &scanned, gap)?;
                    }
                    if index + 1 == segments.len() {
                        indexer = Some(self.open_again(&segment, &scanned)?);
                        break;
                    }
                }
            }
            if self.epochs_unknown && !matches!(trust, Trust::Not) {
                self.walk_epochs(&segment).map_err(disk_error)?;
            }
        }
        let indexer = indexer.expect("the last segment is either scanned or its tail is walked");
        Ok(Opened { segments, end, indexer, is_as_closed })
    }

    /// Does the segment behind the scanned one at `index` not follow where that ends?
    fn gap_behind(&self, segments: &[Arc<Segment>], index: usize, end: Offset) -> Option<CutReason> {
        let base_offset = segments.get(index + 1)?.base;
        if base_offset < end {
            return Some(CutReason::OffsetStepsBack { base_offset, end });
        }
        let is_unsynced = base_offset > self.from.recovery_point && !self.from.clean;
        let may_have_holes = self.config.cleanup.compact && !self.config.contiguous;
        (base_offset > end && is_unsynced && !may_have_holes).then_some(CutReason::Hole { base_offset, end })
    }

    /// Puts the files of a scanned segment in order.
    fn put_in_order(&mut self, segments: &[Arc<Segment>], index: usize, scanned: &Scanned) -> Result<(), DiskError> {
        let segment = &segments[index];
        segment.set_largest(scanned.indexer.largest);
        // Gives back what was reserved, even if there is nothing to cut.
        shorten(segment, scanned.bytes, kind_of(segments, index))?;
        segment.set_bytes(scanned.bytes);
        if self.place.disk.is_durable() {
            touch(segment, scanned.bytes)?;
        }
        // Even below the recovery point: a cut that is not synced would come back.
        self.owed.push(segment.file()?);
        let Some(next) = segments.get(index + 1).filter(|_| scanned.fault.is_none()) else { return Ok(()) };
        let mut indexer = scanned.indexer;
        indexer.add_time(segment);
        // On a full disk they stay in memory, and are made again next time.
        unless_full(segment.offsets.seal(&segment.place, segment.base, true))?;
        unless_full(segment.times.seal(&segment.place, segment.base, true))?;
        unless_full(segment.txns.seal(&segment.place, segment.base, false))?;
        self.owed.append(&mut segment.index_files()?);
        if self.config.producer_state && next.base == scanned.end {
            let bytes = snapshot::encode(&self.producers.entries());
            let path = self.place.path(next.base, Part::Snapshot);
            unless_full(snapshot::store(&*self.place.disk, &path, &bytes).map(drop))?;
        }
        Ok(())
    }

    /// The index state of a scanned segment that is appended to next.
    fn open_again(&self, segment: &Segment, scanned: &Scanned) -> Result<Indexer, DiskError> {
        if scanned.fault.is_none() {
            // It may have been sealed, when a segment stood behind it.
            return indexer_of(segment, scanned.bytes).map_err(disk_error);
        }
        Ok(scanned.indexer)
    }

    /// The log ends at the end of what was scanned of the segment at `index`: drops the later ones, and tells.
    fn cut(
        &mut self,
        segments: &mut Vec<Arc<Segment>>,
        index: usize,
        scanned: &Scanned,
        reason: CutReason,
    ) -> Result<(), DiskError> {
        let later = segments.split_off(index + 1);
        let later_bytes: u64 = later.iter().map(|segment| segment.bytes()).sum();
        let bytes = scanned.file_bytes - scanned.bytes + later_bytes;
        let count = later.len();
        self.drop_segments(later)?;
        // An empty segment holds nothing to miss: a roll that was interrupted.
        if bytes > 0 {
            let (path, position, end) = (segments[index].path(), scanned.bytes, scanned.end);
            self.report.cut = Some(Cut { path, position, end, bytes, segments: count, reason });
        }
        Ok(())
    }

    /// Removes segments with all their files, the last one first.
    pub(crate) fn drop_segments(&mut self, segments: Vec<Arc<Segment>>) -> Result<(), DiskError> {
        if segments.is_empty() {
            return Ok(());
        }
        for segment in segments.into_iter().rev() {
            for part in [Part::OffsetIndex, Part::TimeIndex, Part::TxnIndex, Part::Snapshot, Part::Log] {
                remove_if_there(&self.place, &self.place.path(segment.base, part))?;
            }
        }
        self.place.sync()
    }

    /// Producers at the end of the log.
    pub(crate) fn bring_producers_to(&mut self, segments: &[Arc<Segment>], end: Offset) -> Result<(), DiskError> {
        if self.producers_at != Some(end) {
            self.producers = replay(&self.place, segments, end).map_err(disk_error)?;
        }
        Ok(())
    }
}

fn kind_of(segments: &[Arc<Segment>], index: usize) -> FileKind {
    if index + 1 == segments.len() { FileKind::ActiveLog } else { FileKind::SealedLog }
}

/// Writes the last byte once more. What the process before us wrote may be nowhere but in the machine's memory, and a disk
/// may skip the sync of a file that this process did not write to.
fn touch(segment: &Segment, bytes: u64) -> Result<(), DiskError> {
    let Some(last) = bytes.checked_sub(1) else { return Ok(()) };
    let file = segment.file()?;
    let mut byte = [0];
    file.read_at(last, &mut byte).doing("cannot read", file.path())?;
    file.write_at(last, &[IoSlice::new(&byte)]).doing("cannot write", file.path())
}

fn unless_full(result: Result<(), DiskError>) -> Result<(), DiskError> {
    match result {
        Err(error) if error.is_full() => {
            tracing::warn!(%error, "recovery goes on without");
            Ok(())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests;
