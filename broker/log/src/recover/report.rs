//! What a recovery tells: how far it is, and what it found and did.

use std::path::PathBuf;

use ballast_wire::Offset;
use ballast_wire::batch::BatchError;

/// How far a recovery is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The segment that is being scanned.
    pub segment_base: Offset,
    /// Bytes scanned so far, in all segments.
    pub scanned_bytes: u64,
    /// Bytes to scan, in all segments.
    pub total_bytes: u64,
}

/// Why a log was cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CutReason {
    /// Zeros up to the end of the file: room that was never written, or sectors that a crash took.
    Zeros,
    /// The file ends inside a batch.
    Torn,
    /// The bytes are no batch or do not match their checksum.
    Damaged(BatchError),
    /// A batch that does not lie above the one before it.
    OffsetStepsBack {
        /// Its first offset.
        base_offset: Offset,
        /// Where the batches before it end.
        end: Offset,
    },
    /// A hole where none may be.
    Hole {
        /// First offset after the hole.
        base_offset: Offset,
        /// Where the batches before it end.
        end: Offset,
    },
    /// A batch of an older leader epoch than the one before it.
    EpochStepsBack {
        /// Its epoch.
        epoch: i32,
        /// The epoch before it.
        after: i32,
    },
    /// The log ends below its checkpointed start: everything was dropped.
    BelowLogStart {
        /// The checkpointed start.
        log_start: Offset,
    },
}

/// What was cut from a log, because it was not whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The segment.
    pub path: PathBuf,
    /// Where in it the good bytes end.
    pub position: u64,
    /// The log's end after it.
    pub end: Offset,
    /// Bytes that were given up, those of later segments included.
    pub bytes: u64,
    /// Whole segments that were given up.
    pub segments: usize,
    /// Why.
    pub reason: CutReason,
}

/// What opening a log found and did. Empty after a clean stop.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// A sync had failed in the log's last life: so many bytes were written and synced once more before they were read.
    pub written_again_bytes: Option<u64>,
    /// Bytes that were read and found good.
    pub scanned_bytes: u64,
    /// Batches that were found good.
    pub batches: u64,
    /// What was cut, if anything was.
    pub cut: Option<Cut>,
    /// Index files that were made again although they should have been right: after a clean stop, or below the recovery
    /// point.
    pub rebuilt_indexes: Vec<PathBuf>,
    /// Left-overs of interrupted work that were removed or completed.
    pub leftovers: Vec<PathBuf>,
}
