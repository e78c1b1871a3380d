//! Why the quorum does not start, stops, or refuses an entry.
//!
//! Holds: whatever the metadata directory does wrong stops the quorum, and the first cause is the one that is told.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ballast_core::image::DecodeError;
use ballast_log::{AppendError, DiskError, LogError, ReadError};
use ballast_wire::batch::BatchError;
use openraft::{AnyError, ErrorSubject, ErrorVerb, StorageIOError};
use parking_lot::Mutex;

use super::codec::CodecError;
use super::sealed::SealError;
use super::types::{NodeId, StorageError};

/// Why an entry cannot be stored, or a batch is no entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// A leader epoch has 31 bits.
    #[error("term {0} is above {max}, which a leader epoch can hold", max = i32::MAX)]
    TermTooLarge(u64),
    /// An offset has 63 bits.
    #[error("index {0} is above {max}, which an offset can hold", max = i64::MAX)]
    IndexTooLarge(u64),
    /// The batch does not hold one record.
    #[error("a batch of the metadata log must have one plain record: {0}")]
    NotOneRecord(&'static str),
    /// The record's framing is broken.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// Key or value make no sense.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// Written by a newer Ballast.
    #[error("type {0} of an entry is not known: a newer Ballast wrote it")]
    UnknownType(u8),
}

/// Why the quorum does not start, or stops.
#[derive(Clone, Debug, thiserror::Error)]
pub enum QuorumError {
    /// The disk failed.
    #[error("the metadata directory failed: {0}")]
    Disk(#[from] DiskError),
    /// The log could not be opened, cut or synced.
    #[error("the metadata log failed: {0}")]
    Log(#[from] LogError),
    /// An entry could not be written.
    #[error("the metadata log failed: {0}")]
    Append(#[from] AppendError),
    /// An entry could not be read.
    #[error("the metadata log failed: {0}")]
    Read(#[from] ReadError),
    /// An entry cannot be stored, or what is stored is no entry.
    #[error("entry {index} of the metadata log: {cause}")]
    Entry {
        /// Its index.
        index: u64,
        /// What is wrong with it.
        cause: EntryError,
    },
    /// The records of a committed entry are not understood.
    #[error("entry {index} of the metadata log cannot be applied: {cause}")]
    Apply {
        /// Its index.
        index: u64,
        /// What is wrong with it.
        cause: DecodeError,
    },
    /// One of our own files does not open. A crash cannot do that.
    #[error("{}: {cause}", path.display())]
    Damaged {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        cause: SealError,
    },
    /// An image that does not decode, from a file or from the leader.
    #[error("a snapshot of the metadata makes no sense: {0}")]
    Snapshot(#[from] DecodeError),
    /// A snapshot's image and what is said about it differ.
    #[error("a snapshot of the metadata is said to reach {says:?} and holds an image of {holds}")]
    SnapshotIndex {
        /// Index of its last entry, as announced.
        says: Option<u64>,
        /// Index of its image.
        holds: u64,
    },
    /// Entries that were committed are gone. A crash cannot do that.
    #[error(
        "the metadata log ends before {end}, but entry {committed} was committed: the disk lost what it had synced"
    )]
    Lost {
        /// Index of the last entry that was committed.
        committed: u64,
        /// The log's end.
        end: u64,
    },
    /// Entries between what was purged (or a snapshot) and the log's start are missing. A crash cannot do that.
    #[error("the metadata log starts at {start}, but entry {wanted} is needed")]
    Gap {
        /// First index that is needed.
        wanted: u64,
        /// First index of the log.
        start: u64,
    },
    /// An entry that does not continue the log.
    #[error("entry {index} cannot follow the end {end} of the metadata log")]
    NotContinuous {
        /// Its index.
        index: u64,
        /// Index of the next entry.
        end: u64,
    },
    /// The log belongs to another incarnation of this node.
    #[error(
        "the metadata log has the voters {voters}; {me} is none of them: was the directory's id changed, or its folder copied?"
    )]
    NotAVoter {
        /// Who we are.
        me: NodeId,
        /// Who votes.
        voters: String,
    },
    /// The quorum has other voters, and this node was given no way to them.
    #[error(
        "the metadata quorum has the voters {voters}, and this node has no controller listener: give it --controller"
    )]
    NoListener {
        /// Who votes.
        voters: String,
    },
    /// Nobody could lead.
    #[error(
        "this node is the only voter of its metadata quorum and cannot be a broker alone: add other voters and remove it first, or give it process.roles=broker,controller"
    )]
    OnlyVoter,
    /// The quorum does not take this node in.
    #[error("the metadata quorum does not take this node in: {0}")]
    NotTaken(String),
    /// The disk's threads went away with work undone.
    #[error("the disk was closed")]
    Closed,
    /// openraft stopped for a cause of its own.
    #[error("the metadata quorum stopped: {0}")]
    Stopped(String),
}

/// Why an entry was not committed, as far as is known.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ProposeError {
    /// Somebody else leads. Nothing was appended.
    #[error("this node does not lead the metadata quorum ({} does)", leader.map_or("nobody".to_owned(), |leader| leader.to_string()))]
    NotLeader {
        /// The leader, if it is known.
        leader: Option<NodeId>,
    },
    /// Larger than an entry may be. Nothing was appended.
    #[error("an entry of {bytes} bytes is larger than the metadata log takes ({max})")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// Not what `encode_records` gives. Nothing was appended.
    #[error("an entry of the metadata log must be metadata records: {0}")]
    NotRecords(DecodeError),
    /// The quorum stopped. Whether the entry is committed shows after the next start.
    #[error("the metadata quorum stopped: {0}")]
    Stopped(String),
}

/// Adds what was tried and where to an I/O error.
pub(super) trait DiskContext<T> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T, QuorumError>;
}

impl<T> DiskContext<T> for io::Result<T> {
    fn doing(self, doing: &'static str, path: &Path) -> Result<T, QuorumError> {
        self.map_err(|source| DiskError { doing, path: path.to_owned(), source: Arc::new(source) }.into())
    }
}

/// The first cause that stopped the quorum. Shared by all of its parts.
#[derive(Clone, Debug, Default)]
pub struct Fault(Arc<Mutex<Option<QuorumError>>>);

impl Fault {
    /// The cause, if there is one.
    #[must_use]
    pub fn cause(&self) -> Option<QuorumError> {
        self.0.lock().clone()
    }

    /// Keeps the cause, if it is the first, and gives it to openraft, which stops.
    pub(super) fn raise(&self, error: QuorumError) -> StorageError {
        let told = AnyError::new(&error);
        self.keep(error);
        StorageIOError::new(ErrorSubject::Store, ErrorVerb::Write, told).into()
    }

    /// Keeps the cause, if it is the first.
    pub(super) fn keep(&self, error: QuorumError) {
        self.0.lock().get_or_insert(error);
    }
}
