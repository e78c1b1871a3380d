//! A log directory: the folder that a broker is given, with its identity, its lock, and the files that speak of all the
//! partitions in it. Names and bytes are Apache Kafka's; docs/DISK.md shows them.
//!
//! ```text
//! <log dir>/
//!   .lock                              held while the broker lives; gone after a clean stop
//!   meta.properties                    whose folder this is, and in which format (`ballast.format`)
//!   .kafka_cleanshutdown               there between a clean stop and the next start
//!   recovery-point-offset-checkpoint   replication-… (high watermarks)   log-start-…   cleaner-…
//!   <topic>-<partition>/               one log each
//! ```
//! Always holds:
//!   1. At most one process has the folder open.
//!   2. A folder without `ballast.format` is not ours: it is refused, not adopted, because what lies in it was written
//!      under other rules.
//!   3. Every file here is replaced whole (`.tmp`, sync, rename, sync of the folder), so a torn one is an error.
//!
//! Read next: `properties` (identity and format), `checkpoint`, `names` (partition folders).

mod checkpoint;
mod clean;
mod error;
mod names;
mod partition_metadata;
mod properties;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ballast_wire::{BrokerId, LeaderEpoch, Offset, PartitionIndex, Uuid};
use parking_lot::Mutex;

pub use checkpoint::{CheckpointEntry, CheckpointKind, format_epochs, format_offsets, parse_epochs, parse_offsets};
pub use clean::CleanShutdown;
pub use error::{DirError, Malformed};
pub use names::{DIR_NAME_LEN_MAX, DirState, PartitionDir};
pub use partition_metadata::{PARTITION_METADATA_FILE, format_partition_metadata, parse_partition_metadata};
pub use properties::{FORMAT_VERSION, MetaProperties};

use crate::disk::{Disk, read_small, replace_small, replace_unsynced};
use crate::error::{DiskContext as _, DiskError};

/// Name of the file that is locked.
pub const LOCK_FILE: &str = ".lock";
/// Name of the file that says whose folder this is.
pub const META_FILE: &str = "meta.properties";
/// Name of the leader epoch checkpoint in a partition's folder.
pub const LEADER_EPOCH_FILE: &str = "leader-epoch-checkpoint";

/// The largest file that is read whole here, in bytes: a checkpoint of a million partitions fits.
const SMALL_FILE_BYTES_MAX: u64 = 256 << 20;

/// Who opens a log directory.
#[derive(Debug, Clone, Copy)]
pub struct Owner {
    /// `node.id`: a folder of another node is refused.
    pub node_id: BrokerId,
    /// The cluster, if known yet: a folder of another one is refused.
    pub cluster_id: Option<Uuid>,
    /// Becomes the folder's id if it is new. Random.
    pub new_directory_id: Uuid,
}

/// An open log directory. Dropping it frees the lock.
#[derive(Debug)]
pub struct LogDir {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    meta: Mutex<MetaProperties>,
    is_new: bool,
    lock: DirLock,
}

/// The lock, which has nothing to show.
struct DirLock(Option<Box<dyn Send + Sync>>);

impl std::fmt::Debug for DirLock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "locked" } else { "not locked" })
    }
}

impl LogDir {
    /// Opens a log directory, which is made if it is missing, and locks it.
    ///
    /// # Errors
    /// Somebody else has it open, it belongs to another node or cluster, it is not in our format, or the disk failed.
    pub fn open(disk: Arc<dyn Disk>, path: &Path, owner: Owner) -> Result<LogDir, DirError> {
        disk.create_dir(path).doing("cannot make", path)?;
        let lock_path = path.join(LOCK_FILE);
        let lock = match disk.lock(&lock_path) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(DirError::Locked(path.to_owned())),
            locked => locked.doing("cannot lock", &lock_path)?,
        };
        let (meta, is_new) = match read_optional(&*disk, &path.join(META_FILE))? {
            Some(bytes) => (known_owner(path, &bytes, owner)?, false),
            None => (new_owner(&*disk, path, owner)?, true),
        };
        let dir = LogDir { disk, path: path.to_owned(), meta: Mutex::new(meta), is_new, lock: DirLock(Some(lock)) };
        if is_new {
            dir.write_meta(meta)?;
            // The folder itself may be new as well.
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            dir.disk.sync_dir(parent).doing("cannot sync", parent)?;
        }
        Ok(dir)
    }

    /// The disk that it lies on.
    #[must_use]
    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whose it is.
    #[must_use]
    pub fn meta(&self) -> MetaProperties {
        *self.meta.lock()
    }

    /// Was it empty, so that this is its first start?
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Writes down the cluster that this folder belongs to, once it is known. Does nothing if that stands there.
    ///
    /// # Errors
    /// It belongs to another one, or the disk failed.
    pub fn set_cluster_id(&self, cluster_id: Uuid) -> Result<(), DirError> {
        let mut meta = self.meta.lock();
        match meta.cluster_id {
            Some(found) if found == cluster_id => Ok(()),
            Some(found) => Err(DirError::WrongCluster { path: self.path.clone(), found, ours: cluster_id }),
            None => {
                let new = MetaProperties { cluster_id: Some(cluster_id), ..*meta };
                self.write_meta(new)?;
                *meta = new;
                Ok(())
            }
        }
    }

    fn write_meta(&self, meta: MetaProperties) -> Result<(), DiskError> {
        let path = self.path.join(META_FILE);
        replace_small(&*self.disk, &path, meta.to_string().as_bytes()).doing("cannot write", &path)
    }

    /// The folders of partitions in it, in the order of their names. What has another name is none of our business.
    ///
    /// # Errors
    /// Whatever the disk says.
    pub fn partitions(&self) -> Result<Vec<PartitionDir>, DirError> {
        let entries = self.disk.list(&self.path).doing("cannot list", &self.path)?;
        Ok(entries.iter().filter(|entry| entry.is_dir).filter_map(|entry| PartitionDir::parse(&entry.name)).collect())
    }

    /// Gives a partition's folder another name, for good.
    ///
    /// # Errors
    /// Whatever the disk says.
    pub fn rename_partition(&self, from: &PartitionDir, to: &PartitionDir) -> Result<(), DirError> {
        let path = self.path.join(from.to_string());
        self.disk.rename(&path, &self.path.join(to.to_string())).doing("cannot rename", &path)?;
        Ok(self.disk.sync_dir(&self.path).doing("cannot sync", &self.path)?)
    }

    /// Reads one of the four offset checkpoints. A missing or empty file has no entries.
    ///
    /// # Errors
    /// It is malformed, or the disk failed.
    pub fn read_checkpoint(&self, kind: CheckpointKind) -> Result<Vec<CheckpointEntry>, DirError> {
        let path = self.path.join(kind.file_name());
        let Some(bytes) = read_optional(&*self.disk, &path)? else { return Ok(Vec::new()) };
        let text = str::from_utf8(&bytes).map_err(|_| Malformed::not_text());
        text.and_then(parse_offsets).map_err(|why| DirError::Malformed { path, why, without_it: kind.without_it() })
    }

    /// Replaces one of the four offset checkpoints.
    ///
    /// # Errors
    /// Whatever the disk says; the old one, or already the new one, is then there.
    pub fn write_checkpoint<'a>(
        &self,
        kind: CheckpointKind,
        entries: impl IntoIterator<Item = (&'a str, PartitionIndex, Offset)>,
    ) -> Result<(), DirError> {
        let path = self.path.join(kind.file_name());
        let text = format_offsets(entries);
        Ok(replace_small(&*self.disk, &path, text.as_bytes()).doing("cannot write", &path)?)
    }

    /// Takes away the mark of the last clean stop, before anything in the folder changes. Nothing there means that the
    /// last stop was not clean (or that this is the first start): logs are then recovered.
    ///
    /// # Errors
    /// Whatever the disk says.
    pub fn take_clean_shutdown(&self) -> Result<Option<CleanShutdown>, DirError> {
        let path = self.path.join(CleanShutdown::FILE_NAME);
        let Some(bytes) = read_optional(&*self.disk, &path)? else { return Ok(None) };
        self.disk.remove_file(&path).doing("cannot remove", &path)?;
        self.disk.sync_dir(&self.path).doing("cannot sync", &self.path)?;
        let mark = CleanShutdown::parse(&bytes);
        if mark.is_none() {
            tracing::warn!(path = %path.display(), "the mark of the last clean stop is malformed: recovering all logs");
        }
        Ok(mark)
    }

    /// Ends a clean stop: marks it, when everything else in the folder is synced, and frees and removes the lock.
    ///
    /// # Errors
    /// Whatever the disk says; without the mark the next start recovers.
    pub fn close_clean(mut self, mark: CleanShutdown) -> Result<(), DirError> {
        let path = self.path.join(CleanShutdown::FILE_NAME);
        replace_small(&*self.disk, &path, mark.to_string().as_bytes()).doing("cannot write", &path)?;
        let lock_path = self.path.join(LOCK_FILE);
        // Removed while it is held: whoever waits for it afterwards makes a new one.
        self.disk.remove_file(&lock_path).doing("cannot remove", &lock_path)?;
        self.lock.0 = None;
        Ok(())
    }
}

/// Reads a partition's leader epoch checkpoint, `(epoch, first offset)` in rising order. Missing or empty: no entries.
///
/// # Errors
/// It is malformed, or the disk failed.
pub fn read_epochs(disk: &dyn Disk, partition_dir: &Path) -> Result<Vec<(LeaderEpoch, Offset)>, DirError> {
    let path = partition_dir.join(LEADER_EPOCH_FILE);
    let Some(bytes) = read_optional(disk, &path)? else { return Ok(Vec::new()) };
    let text = str::from_utf8(&bytes).map_err(|_| Malformed::not_text());
    let without_it = "the epochs are then read from the batches";
    text.and_then(parse_epochs).map_err(|why| DirError::Malformed { path, why, without_it })
}

/// Reads the topic id in a partition's folder; `None` if the file is missing.
///
/// # Errors
/// It is malformed, or the disk failed.
pub fn read_partition_metadata(disk: &dyn Disk, partition_dir: &Path) -> Result<Option<Uuid>, DirError> {
    let path = partition_dir.join(PARTITION_METADATA_FILE);
    let Some(bytes) = read_optional(disk, &path)? else { return Ok(None) };
    let text = str::from_utf8(&bytes).map_err(|_| Malformed::not_text());
    let without_it =
        "the partition is then taken for the topic of its name if it is empty, and kept out of the way if not";
    text.and_then(parse_partition_metadata).map(Some).map_err(|why| DirError::Malformed { path, why, without_it })
}

/// Writes the topic id into a partition's folder, to be synced with the log's first records (the caller owes it to the
/// log by [`crate::Log::owe_small`] and [`PARTITION_METADATA_FILE`]): records that are on the disk then always have a topic.
///
/// # Errors
/// Whatever the disk says.
pub fn write_partition_metadata(disk: &dyn Disk, partition_dir: &Path, topic_id: Uuid) -> Result<(), DirError> {
    let path = partition_dir.join(PARTITION_METADATA_FILE);
    Ok(replace_unsynced(disk, &path, format_partition_metadata(topic_id).as_bytes()).doing("cannot write", &path)?)
}

/// A small file's bytes, or nothing if there is no such file.
fn read_optional(disk: &dyn Disk, path: &Path) -> Result<Option<Vec<u8>>, DiskError> {
    match read_small(disk, path, SMALL_FILE_BYTES_MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => Ok(Some(read.doing("cannot read", path)?)),
    }
}

/// Judges a `meta.properties` that is there.
fn known_owner(path: &Path, bytes: &[u8], owner: Owner) -> Result<MetaProperties, DirError> {
    let text = str::from_utf8(bytes).map_err(|_| Malformed::not_text());
    let parsed = text.and_then(properties::parse);
    let (meta, format) = parsed.map_err(|why| DirError::Malformed {
        path: path.join(META_FILE),
        why,
        without_it: "the folder must then be emptied too, because whose it is would be unknown",
    })?;
    match format {
        None => return Err(DirError::WrittenByKafka(path.to_owned())),
        Some(found) if found > FORMAT_VERSION => return Err(DirError::NewerFormat { path: path.to_owned(), found }),
        Some(_) => {}
    }
    if meta.node_id != owner.node_id {
        return Err(DirError::WrongNode { path: path.to_owned(), found: meta.node_id, ours: owner.node_id });
    }
    match (meta.cluster_id, owner.cluster_id) {
        (Some(found), Some(ours)) if found != ours => {
            Err(DirError::WrongCluster { path: path.to_owned(), found, ours })
        }
        _ => Ok(meta),
    }
}

/// The identity of a folder that has none: only one without partitions may get one.
fn new_owner(disk: &dyn Disk, path: &Path, owner: Owner) -> Result<MetaProperties, DirError> {
    let entries = disk.list(path).doing("cannot list", path)?;
    let partition = entries.into_iter().find(|entry| entry.is_dir && PartitionDir::parse(&entry.name).is_some());
    if let Some(partition) = partition {
        return Err(DirError::NoIdentity { path: path.to_owned(), partition: partition.name });
    }
    let Owner { node_id, cluster_id, new_directory_id } = owner;
    Ok(MetaProperties { node_id, cluster_id, directory_id: new_directory_id })
}

#[cfg(test)]
mod tests;
