//! The founding voters that this node was told, on disk: `quorum-voters`, in the envelope of `sealed`.
//!
//! Holds: a set is synced before anything is done with it, and is never replaced by another.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ballast_log::disk::{Disk, read_small, replace_small};
use parking_lot::Mutex;

use super::super::codec::{Reader, put_nodes};
use super::super::error::{DiskContext, QuorumError};
use super::super::rpc::Voters;
use super::super::sealed::{Kind, SealError, open, seal};
use super::super::store::on_disk;

const NAME: &str = "quorum-voters";
/// The file is no longer, in bytes: thousands of voters.
const BYTES_MAX: u64 = 1 << 20;

/// See the module.
pub(in super::super) struct Held {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    voters: Mutex<Option<Voters>>,
    /// Held while the file is written.
    writing: tokio::sync::Mutex<()>,
}

impl Held {
    /// Reads the file in `dir`. Blocks.
    pub(in super::super) fn open(disk: Arc<dyn Disk>, dir: &Path) -> Result<Held, QuorumError> {
        let path = dir.join(NAME);
        let damaged = |cause: SealError| QuorumError::Damaged { path: path.clone(), cause };
        let voters = match read_small(&*disk, &path, BYTES_MAX) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).doing("cannot read", &path),
            Ok(bytes) => {
                let mut reader = Reader(open(Kind::Voters, &bytes).map_err(damaged)?);
                let voters = reader.nodes().and_then(|voters| reader.finish().map(|()| voters));
                Some(voters.map_err(|cause| damaged(cause.into()))?)
            }
        };
        Ok(Held { disk, path, voters: Mutex::new(voters), writing: tokio::sync::Mutex::default() })
    }

    /// The set, if there is one.
    pub(in super::super) fn voters(&self) -> Option<Voters> {
        self.voters.lock().clone()
    }

    /// Keeps the set; it survives a crash once this returns. Only while none is held: otherwise nothing is done.
    pub(in super::super) async fn keep(&self, voters: &Voters) -> Result<(), QuorumError> {
        let _writing = self.writing.lock().await;
        if self.voters.lock().is_some() {
            return Ok(());
        }
        let mut payload = Vec::new();
        put_nodes(&mut payload, voters);
        let (disk, path) = (Arc::clone(&self.disk), self.path.clone());
        let bytes = seal(Kind::Voters, &[&payload]);
        on_disk(&*self.disk, move || replace_small(&*disk, &path, &bytes).doing("cannot replace", &path)).await?;
        *self.voters.lock() = Some(voters.clone());
        Ok(())
    }
}
