//! Why the log refused something. Each cause says whose fault it is; the broker's edge maps causes to Kafka's codes.
//!
//! Holds: a refused append wrote nothing and left the log as it was. Operating errors never panic.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ballast_wire::batch::BatchError;
use ballast_wire::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};

/// A disk call that failed: what was tried, where, and what the disk said. Cheap to clone, because one failed write fails
/// every append that was queued behind it.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{doing} {}: {source}", path.display())]
pub struct DiskError {
    /// What was tried, as "cannot write".
    pub doing: &'static str,
    /// To which file or folder.
    pub path: PathBuf,
    /// What the disk said.
    pub source: Arc<io::Error>,
}

impl DiskError {
    /// Is the disk full?
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(self.source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }

    /// Was there no descriptor left to open a file with? Then nothing was done to the file.
    #[must_use]
    pub fn lacks_descriptors(&self) -> bool {
        /// ENFILE and EMFILE, the same on every Unix.
        const CODES: [i32; 2] = [23, 24];
        self.source.raw_os_error().is_some_and(|code| cfg!(unix) && CODES.contains(&code))
    }

    /// Was something missing that comes back, room or descriptors? Then the disk itself is well.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        self.is_full() || self.lacks_descriptors()
    }
}

/// Adds what was tried and where to an I/O error.
pub(crate) trait DiskContext<T> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T, DiskError>;
}

impl<T> DiskContext<T> for io::Result<T> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T, DiskError> {
        self.map_err(|source| DiskError { doing, path: path.to_owned(), source: Arc::new(source) })
    }
}

/// Why an operation on the log as a whole failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LogError {
    /// The disk failed. The log can be used on unless it says [`LogError::Poisoned`] next.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// An fsync failed, now or before. Final: what was written may be gone, so its log directory goes offline.
    #[error("a sync failed earlier, nothing more is written: {0}")]
    SyncFailed(DiskError),
    /// A write failed and could not be taken back. The log refuses writes until it is opened and recovered again.
    #[error("a write failed earlier, the log must be opened again: {0}")]
    Poisoned(DiskError),
    /// The log was closed.
    #[error("the log is closed")]
    Closed,
    /// The offset lies outside of the log.
    #[error("offset {offset} is outside of the log ({start} to {end})")]
    OutOfRange {
        /// What was asked for.
        offset: Offset,
        /// First offset of the log.
        start: Offset,
        /// Its end.
        end: Offset,
    },
    /// Our folder holds something that is not ours to repair.
    #[error("{}: {what}", path.display())]
    Foreign {
        /// Where.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
}

/// One record that made its batch be refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordError {
    /// Index of the record in its batch.
    pub index: i32,
    /// What is wrong with it.
    pub message: String,
}

/// Why an append was refused. Nothing was written and the log is as before.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AppendError {
    /// Client's fault: these bytes are no batch, or more than one. Nothing of the log's state is told with it.
    #[error("{0}")]
    NotOneBatch(&'static str),
    /// Client's fault: an old or unknown record format, or bytes that do not match their checksum.
    #[error(transparent)]
    Corrupt(BatchError),
    /// Client's fault: header or records contradict the rules.
    #[error("{message}")]
    InvalidRecord {
        /// What is wrong.
        message: String,
        /// The records at fault, if it is about records.
        records: Vec<RecordError>,
    },
    /// Client's fault: a timestamp is too far away from the broker's clock, or of the broker's type.
    #[error("{message}")]
    InvalidTimestamp {
        /// What is wrong.
        message: String,
        /// The records at fault (null keys too, if there are any).
        records: Vec<RecordError>,
    },
    /// Client's fault: larger than `max.message.bytes`, as sent or as rewritten.
    #[error("the batch has {bytes} bytes, at most {max} are allowed")]
    MessageTooLarge {
        /// Size of the batch.
        bytes: u64,
        /// The limit.
        max: u64,
    },
    /// Client's fault: larger than a segment.
    #[error("the batch has {bytes} bytes, a segment only {max}")]
    RecordListTooLarge {
        /// Size of the batch.
        bytes: u64,
        /// `segment.bytes`.
        max: u64,
    },
    /// Client's fault: zstd from a client that asks with a version older than zstd.
    #[error("zstd needs Produce version 7 or above")]
    UnsupportedCompression,
    /// Client may resend from `expected`.
    #[error("producer {producer} sent sequence {got}, expected {expected}")]
    OutOfOrderSequence {
        /// Who.
        producer: ProducerId,
        /// The sequence that comes next.
        expected: i32,
        /// What came.
        got: i32,
    },
    /// The producer has been replaced by a newer one.
    #[error("producer {producer} sent epoch {got}, it has been fenced by {current}")]
    InvalidProducerEpoch {
        /// Who.
        producer: ProducerId,
        /// The newest epoch.
        current: ProducerEpoch,
        /// What came.
        got: ProducerEpoch,
    },
    /// The producer has a transaction open and wrote outside of it.
    #[error("producer {producer} has a transaction open since offset {since} and wrote outside of it")]
    InvalidTxnState {
        /// Who.
        producer: ProducerId,
        /// First offset of its transaction.
        since: Offset,
    },
    /// A marker from a coordinator that has been replaced.
    #[error("coordinator epoch {got} of a marker is below {current}")]
    CoordinatorFenced {
        /// The newest epoch.
        current: i32,
        /// What came.
        got: i32,
    },
    /// The sender is behind: a newer leader has written.
    #[error("leader epoch {given} is below {ours}")]
    StaleEpoch {
        /// What came.
        given: LeaderEpoch,
        /// The newest in the log.
        ours: LeaderEpoch,
    },
    /// Stamped batches that do not continue the log.
    #[error("a batch at {base_offset} cannot follow the log's end {end}")]
    NotContinuous {
        /// First offset of the batch.
        base_offset: Offset,
        /// Where the log ends.
        end: Offset,
    },
    /// Offsets are used up.
    #[error("no offsets are left after {0}")]
    OffsetsExhausted(Offset),
    /// Our fault: no room. The partition goes on by itself once there is.
    #[error("no room: {0}")]
    StorageFull(DiskError),
    /// Our fault: the queue before this append was dropped, because the log was cut or closed.
    #[error("dropped before it was written, because the log was cut or closed")]
    Dropped,
    /// Our fault: a write failed. Refuses until reopened and recovered.
    #[error("a write failed: {0}")]
    Poisoned(DiskError),
    /// Our fault: an fsync failed, the log directory is offline.
    #[error("a sync failed: {0}")]
    SyncFailed(DiskError),
    /// The log was closed.
    #[error("the log is closed")]
    Closed,
}

/// Why a read was refused.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReadError {
    /// The offset lies below the start or above the end.
    #[error("offset {offset} is outside of the log ({start} to {end})")]
    OutOfRange {
        /// What was asked for.
        offset: Offset,
        /// First offset of the log.
        start: Offset,
        /// Its end.
        end: Offset,
    },
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The bytes on disk are not batches any more.
    #[error("{} is damaged at byte {position}: {cause}", path.display())]
    Damaged {
        /// The segment.
        path: PathBuf,
        /// Where in it.
        position: u64,
        /// What is wrong there.
        cause: BatchError,
    },
}

/// Damage that was met where only disk errors are told.
pub(crate) fn disk_error(error: ReadError) -> DiskError {
    match error {
        ReadError::Disk(error) => error,
        ReadError::Damaged { ref path, .. } => {
            let source = Arc::new(std::io::Error::new(std::io::ErrorKind::InvalidData, error.to_string()));
            DiskError { doing: "cannot read", path: path.clone(), source }
        }
        ReadError::OutOfRange { .. } => unreachable!("nothing was asked for by offset"),
    }
}
