//! One log directory while the broker runs: what it holds, whether it works, whether there is room.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ballast_log::dirs::{CheckpointKind, CleanShutdown, DirError, LogDir};
use ballast_wire::{Offset, PartitionIndex, Uuid};
use parking_lot::Mutex;

use super::FutureReplica;
use crate::drive::partition::Partition;

/// A log directory.
pub(crate) struct Dir {
    pub(crate) id: Uuid,
    pub(crate) path: PathBuf,
    /// The cluster that it belonged to when it was opened, if to any.
    pub(crate) cluster: Option<Uuid>,
    /// Gone once the directory is closed; never there if it could not be opened.
    log_dir: Mutex<Option<LogDir>>,
    offline: AtomicBool,
    /// Copies of replicas that are to live in it.
    pub(super) incoming: Mutex<Incoming>,
    /// How many partitions live in it.
    pub(super) partitions: AtomicUsize,
    /// Is there less room than the reserve? Then clients may not add to it.
    pub(crate) low_on_space: AtomicBool,
    /// Were its names not synced, or its checkpoints not written, for lack of something that comes back?
    pub(super) owes: AtomicBool,
}

/// Copies by topic and partition.
type Incoming = BTreeMap<(Uuid, PartitionIndex), Arc<FutureReplica>>;

/// A checkpoint's entries by topic and partition.
pub(super) type Offsets = BTreeMap<(String, PartitionIndex), Offset>;

impl Dir {
    pub(super) fn new(log_dir: LogDir) -> Dir {
        Dir {
            id: log_dir.meta().directory_id,
            path: log_dir.path().to_owned(),
            cluster: log_dir.meta().cluster_id,
            log_dir: Mutex::new(Some(log_dir)),
            offline: AtomicBool::new(false),
            incoming: Mutex::default(),
            partitions: AtomicUsize::new(0),
            low_on_space: AtomicBool::new(false),
            owes: AtomicBool::new(false),
        }
    }

    /// One that cannot be opened: nobody knows its true id, so `unknown` stands for it.
    pub(super) fn lost(path: &Path, unknown: Uuid) -> Dir {
        Dir {
            id: unknown,
            path: path.to_owned(),
            cluster: None,
            log_dir: Mutex::new(None),
            offline: AtomicBool::new(true),
            incoming: Mutex::default(),
            partitions: AtomicUsize::new(0),
            low_on_space: AtomicBool::new(false),
            owes: AtomicBool::new(false),
        }
    }

    /// Has it failed?
    pub(crate) fn is_offline(&self) -> bool {
        self.offline.load(Ordering::Acquire)
    }

    /// Takes it out of service. True the first time.
    pub(super) fn take_offline(&self) -> bool {
        !self.offline.swap(true, Ordering::AcqRel)
    }

    /// May clients add to it?
    pub(crate) fn has_room(&self) -> bool {
        !self.low_on_space.load(Ordering::Relaxed)
    }

    /// Copies of replicas that are to live in it.
    pub(crate) fn incoming(&self) -> Vec<Arc<FutureReplica>> {
        self.incoming.lock().values().cloned().collect()
    }

    /// This copy is none any more.
    pub(super) fn forget(&self, future: &FutureReplica) {
        self.incoming.lock().remove(&(future.partition.topic_id, future.partition.index));
    }

    /// Runs something on the open directory; nothing once it is closed.
    pub(super) fn with<T>(&self, work: impl FnOnce(&LogDir) -> Result<T, DirError>) -> Result<Option<T>, DirError> {
        self.log_dir.lock().as_ref().map(work).transpose()
    }

    /// Reads a checkpoint. One that is malformed is reported and counts as empty: what it costs stands in the message.
    pub(super) fn read_offsets(&self, kind: CheckpointKind) -> Result<Offsets, DirError> {
        let entries = match self.with(|dir| dir.read_checkpoint(kind)) {
            Ok(entries) => entries.unwrap_or_default(),
            Err(error @ DirError::Malformed { .. }) => {
                tracing::warn!("{error}");
                Vec::new()
            }
            Err(error) => return Err(error),
        };
        Ok(entries.into_iter().map(|entry| ((entry.topic, entry.partition), entry.offset)).collect())
    }

    /// Writes a checkpoint of `partitions`, those of this directory, and of copies that may soon be such: without recovery
    /// points, because nothing of a copy is believed unseen.
    pub(super) fn write_offsets(
        &self,
        kind: CheckpointKind,
        partitions: &[Arc<Partition>],
        offset: impl Fn(&Partition) -> Option<Offset>,
    ) -> Result<(), DirError> {
        let incoming = self.incoming();
        let mut entries = BTreeMap::new();
        for future in &incoming {
            let offset = match kind {
                CheckpointKind::HighWatermark => Some(future.high()),
                CheckpointKind::LogStart => future.log_start(),
                CheckpointKind::RecoveryPoint | CheckpointKind::Cleaner => None,
            };
            let Partition { topic, index, .. } = &*future.partition;
            entries.extend(offset.map(|offset| ((&**topic, *index), offset)));
        }
        for partition in partitions.iter().filter(|partition| partition.directory() == self.id) {
            let key = (&*partition.topic, partition.index);
            match offset(partition) {
                Some(offset) => entries.insert(key, offset),
                None => entries.remove(&key),
            };
        }
        let entries = entries.into_iter().map(|((topic, index), offset)| (topic, index, offset));
        self.with(|dir| dir.write_checkpoint(kind, entries)).map(|_| ())
    }

    /// Ends a clean stop.
    pub(super) fn close(&self, broker_epoch: i64) -> Result<(), DirError> {
        match self.log_dir.lock().take() {
            Some(log_dir) => log_dir.close_clean(CleanShutdown { broker_epoch }),
            None => Ok(()),
        }
    }
}

/// Where reading may begin, for the checkpoint: only logs that start above their first segment's base are listed.
pub(super) fn log_start(partition: &Partition) -> Option<Offset> {
    let start = partition.log.start();
    (start > partition.log.first_segment_base()).then_some(start)
}
