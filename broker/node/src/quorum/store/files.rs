//! The small files beside the segments: the vote, what was purged, what is committed.
//!
//! ```text
//! quorum-vote        replaced and synced before a vote counts
//! quorum-purged      replaced and synced before segments go        } in the envelope of `sealed`
//! quorum-committed   overwritten in place, never synced: a hint that saves waiting for a leader after a restart
//! ```
//! Holds: vote and purged are whole after every crash, and one that does not open is an error, because a vote that is
//! forgotten may be given twice. A committed position that does not open is none.

use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ballast_log::disk::{Disk, DiskFile, FileKind, OpenMode, read_small, replace_small, replace_unsynced};
use ballast_planted::{Bug, is_planted};

use super::super::codec::{CodecError, log_id_of, put_log_id, put_vote, vote_of};
use super::super::error::{DiskContext, QuorumError};
use super::super::sealed::{Kind, SealError, open, seal};
use super::super::types::{LogId, Vote};

/// None of the files is longer, in bytes.
const BYTES_MAX: u64 = 256;

/// See the module.
#[derive(Debug)]
pub(super) struct Files {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    committed: Arc<dyn DiskFile>,
}

/// What the files say.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Remembered {
    pub(super) vote: Option<Vote>,
    pub(super) purged: Option<LogId>,
    pub(super) committed: Option<LogId>,
}

impl Files {
    /// Opens the files in `dir` and reads them.
    pub(super) fn open(disk: Arc<dyn Disk>, dir: PathBuf) -> Result<(Files, Remembered), QuorumError> {
        let vote = read(&*disk, &vote_path(&dir), Kind::Vote, vote_of)?;
        let purged = read(&*disk, &purged_path(&dir), Kind::Purged, log_id_of)?;
        let path = dir.join("quorum-committed");
        let committed = match read(&*disk, &path, Kind::Committed, log_id_of) {
            Err(QuorumError::Damaged { .. }) => None,
            other => other?,
        };
        let file = disk.open(&path, OpenMode::Create, FileKind::Small).doing("cannot open", &path)?;
        Ok((Files { disk, dir, committed: file }, Remembered { vote, purged, committed }))
    }

    /// The vote survives a crash once this returns.
    pub(super) fn save_vote(&self, vote: &Vote) -> Result<(), QuorumError> {
        let mut payload = Vec::new();
        put_vote(&mut payload, vote);
        let (path, bytes) = (vote_path(&self.dir), seal(Kind::Vote, &[&payload]));
        if is_planted(Bug::RaftVoteNotSynced) {
            return replace_unsynced(&*self.disk, &path, &bytes).doing("cannot replace", &path);
        }
        self.replace(&path, &bytes)
    }

    /// The purged position survives a crash once this returns.
    pub(super) fn save_purged(&self, purged: &LogId) -> Result<(), QuorumError> {
        let mut payload = Vec::new();
        put_log_id(&mut payload, purged);
        self.replace(&purged_path(&self.dir), &seal(Kind::Purged, &[&payload]))
    }

    /// One write, in place: every position takes the same number of bytes.
    pub(super) fn save_committed(&self, committed: &LogId) -> Result<(), QuorumError> {
        let mut payload = Vec::new();
        put_log_id(&mut payload, committed);
        let bytes = seal(Kind::Committed, &[&payload]);
        self.committed.write_at(0, &[IoSlice::new(&bytes)]).doing("cannot write", self.committed.path())
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> Result<(), QuorumError> {
        replace_small(&*self.disk, path, bytes).doing("cannot replace", path)
    }
}

fn vote_path(dir: &Path) -> PathBuf {
    dir.join("quorum-vote")
}

fn purged_path(dir: &Path) -> PathBuf {
    dir.join("quorum-purged")
}

/// What a file says; `None` if there is no such file.
fn read<T>(
    disk: &dyn Disk,
    path: &Path,
    kind: Kind,
    contents: impl FnOnce(&[u8]) -> Result<T, CodecError>,
) -> Result<Option<T>, QuorumError> {
    let damaged = |cause: SealError| QuorumError::Damaged { path: path.to_owned(), cause };
    let bytes = match read_small(disk, path, BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => return Err(damaged(SealError::Foreign)),
        Err(error) => return Err(error).doing("cannot read", path),
    };
    let payload = open(kind, &bytes).map_err(damaged)?;
    contents(payload).map(Some).map_err(|cause| damaged(cause.into()))
}
