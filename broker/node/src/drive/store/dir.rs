//! One log directory while the broker runs: what it holds, whether it works, whether there is room.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ballast_log::dirs::{CheckpointKind, CleanShutdown, DirError, LogDir};
use ballast_wire::{Offset, PartitionIndex, Uuid};
use parking_lot::Mutex;

use crate::drive::partition::Partition;

/// A log directory.
pub(crate) struct Dir {
    pub(crate) id: Uuid,
    pub(crate) path: PathBuf,
    /// Gone once the directory is closed.
    log_dir: Mutex<Option<LogDir>>,
    offline: AtomicBool,
    /// How many partitions live in it.
    pub(super) partitions: AtomicUsize,
    /// Is there less room than the reserve? Then clients may not add to it.
    pub(crate) low_on_space: AtomicBool,
}

/// A checkpoint's entries by topic and partition.
pub(super) type Offsets = BTreeMap<(String, PartitionIndex), Offset>;

impl Dir {
    pub(super) fn new(log_dir: LogDir) -> Dir {
        Dir {
            id: log_dir.meta().directory_id,
            path: log_dir.path().to_owned(),
            log_dir: Mutex::new(Some(log_dir)),
            offline: AtomicBool::new(false),
            partitions: AtomicUsize::new(0),
            low_on_space: AtomicBool::new(false),
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

    /// Writes a checkpoint of `partitions`, those of this directory.
    pub(super) fn write_offsets(
        &self,
        kind: CheckpointKind,
        partitions: &[Arc<Partition>],
        offset: impl Fn(&Partition) -> Option<Offset>,
    ) -> Result<(), DirError> {
        let entries = partitions.iter().filter(|partition| partition.directory() == self.id);
        let entries = entries.filter_map(|p| Some((&*p.topic, p.index, offset(p)?)));
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
