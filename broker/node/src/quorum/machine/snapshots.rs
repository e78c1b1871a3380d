//! Snapshots on disk: one file, whole or not there.
//!
//! ```text
//! 00000000000000012000-0000000003.checkpoint      index after its last entry, and that entry's term
//! envelope (sealed.rs) | meta length u32 | last log id (option) | membership with its log id (option) | image
//! ```
//! Holds: a snapshot is synced, with its name, before it counts, and older ones go only then. A start takes the newest
//! that opens; whether the log reaches back to it is for others to check.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ballast_core::image::{Image, decode_snapshot, encode_snapshot};
use ballast_log::disk::{Disk, read_small, replace_small};
use parking_lot::Mutex;

use super::super::codec::{Reader, put_log_id, put_option, put_stored_membership};
use super::super::error::{DiskContext, QuorumError};
use super::super::sealed::{Kind, SealError, open, seal};
use super::super::types::{LogId, SnapshotMeta, StoredMembership, next_index};

const SUFFIX: &str = ".checkpoint";
/// The largest snapshot that is read, in bytes.
const BYTES_MAX: u64 = 4 << 30;

/// A snapshot in memory.
#[derive(Clone, Debug)]
pub(super) struct Taken {
    pub(super) meta: SnapshotMeta,
    /// The image, encoded.
    pub(super) image: Vec<u8>,
}

/// The snapshots of one metadata log.
#[derive(Debug)]
pub(super) struct Snapshots {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    /// Held while files change.
    newest: Mutex<Option<SnapshotMeta>>,
    /// Why the newest file did not open at the start, if it did not.
    pub(super) unreadable: Option<QuorumError>,
}

impl Snapshots {
    /// Finds the newest snapshot that opens. Blocks.
    pub(super) fn open(
        disk: Arc<dyn Disk>,
        dir: PathBuf,
    ) -> Result<(Snapshots, Option<(SnapshotMeta, Image)>), QuorumError> {
        let (mut found, mut unreadable) = (None, None);
        for name in names(&*disk, &dir)?.into_iter().rev() {
            let path = dir.join(&name);
            match read(&*disk, &path).and_then(|taken| Ok((decode_snapshot(&taken.image)?, taken.meta))) {
                Ok((image, meta)) => {
                    found = Some((meta, image));
                    break;
                }
                Err(error @ QuorumError::Disk(_)) => return Err(error),
                Err(error) => {
                    tracing::error!(%error, "a snapshot of the metadata does not open; an older one is tried");
                    unreadable.get_or_insert(error);
                }
            }
        }
        let newest = Mutex::new(found.as_ref().map(|(meta, _)| meta.clone()));
        Ok((Snapshots { disk, dir, newest, unreadable }, found))
    }

    /// Stores a snapshot, unless a newer one is there, and removes older ones. Blocks.
    pub(super) fn save(&self, taken: &Taken) -> Result<(), QuorumError> {
        let mut newest = self.newest.lock();
        if newest.as_ref().is_some_and(|newest| newest.last_log_id >= taken.meta.last_log_id) {
            return Ok(());
        }
        let name = file_name(taken.meta.last_log_id.as_ref());
        let path = self.dir.join(&name);
        let meta = encode_meta(&taken.meta);
        let length = u32::try_from(meta.len()).expect("a membership takes less than 4 GiB").to_be_bytes();
        let bytes = seal(Kind::Snapshot, &[&length, &meta, &taken.image]);
        replace_small(&*self.disk, &path, &bytes).doing("cannot write", &path)?;
        *newest = Some(taken.meta.clone());
        for older in names(&*self.disk, &self.dir)?.into_iter().filter(|older| *older < name) {
            let path = self.dir.join(older);
            self.disk.remove_file(&path).doing("cannot remove", &path)?;
        }
        Ok(())
    }

    /// The newest snapshot. Blocks.
    pub(super) fn load(&self) -> Result<Option<Taken>, QuorumError> {
        let newest = self.newest.lock();
        let Some(meta) = &*newest else { return Ok(None) };
        read(&*self.disk, &self.dir.join(file_name(meta.last_log_id.as_ref()))).map(Some)
    }
}

/// What a snapshot of `image` is called, and where it stands. The name is the content's: equal positions, equal bytes.
pub(in super::super) fn describe(last: Option<LogId>, membership: &StoredMembership) -> SnapshotMeta {
    let snapshot_id = match &last {
        Some(last) => last.to_string(),
        None => "empty".to_owned(),
    };
    SnapshotMeta { last_log_id: last, last_membership: membership.clone(), snapshot_id }
}

/// Encodes an image.
pub(super) fn take(image: &Image, last: Option<LogId>, membership: &StoredMembership) -> Taken {
    Taken { meta: describe(last, membership), image: encode_snapshot(image) }
}

fn file_name(last: Option<&LogId>) -> String {
    let term = last.map_or(0, |last| last.leader_id.term);
    format!("{:020}-{term:010}{SUFFIX}", next_index(last))
}

/// Names of the snapshots in `dir`, oldest first.
fn names(disk: &dyn Disk, dir: &Path) -> Result<Vec<String>, QuorumError> {
    let entries = disk.list(dir).doing("cannot list", dir)?;
    let names = entries.into_iter().filter(|entry| !entry.is_dir).map(|entry| entry.name);
    Ok(names.filter(|name| name.ends_with(SUFFIX)).collect())
}

fn read(disk: &dyn Disk, path: &Path) -> Result<Taken, QuorumError> {
    let damaged = |cause: SealError| QuorumError::Damaged { path: path.to_owned(), cause };
    let bytes = read_small(disk, path, BYTES_MAX).doing("cannot read", path)?;
    let mut payload = Reader(open(Kind::Snapshot, &bytes).map_err(damaged)?);
    let split = |payload: &mut Reader<'_>| {
        let length = payload.u32()?;
        let mut meta = Reader(payload.take(length as usize)?);
        let (last, membership) = (meta.option(Reader::log_id)?, meta.stored_membership()?);
        meta.finish()?;
        Ok((last, membership))
    };
    let (last, membership) = split(&mut payload).map_err(|cause| damaged(SealError::Contents(cause)))?;
    Ok(Taken { meta: describe(last, &membership), image: payload.0.to_vec() })
}

fn encode_meta(meta: &SnapshotMeta) -> Vec<u8> {
    let mut out = Vec::new();
    put_option(&mut out, meta.last_log_id.as_ref(), put_log_id);
    put_stored_membership(&mut out, &meta.last_membership);
    out
}
