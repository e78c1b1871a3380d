//! Replicas on their way from one log directory of this broker to another (AlterReplicaLogDirs, KIP-113).
//!
//! ```text
//! move_replica ─► FutureReplica: `topic-N.<id>-future` in the target, entered there as incoming
//! copy         ─► steps behind the log … caught up ─► the log gives way: old folder `topic-N.<id>-delete`, copy `topic-N`
//! resume       ─► at start: copies go on; an exchange of names that a crash cut short is finished
//! ```
//! Holds:
//!   1. A replica has at most one copy, and never one in the directory that it lives in.
//!   2. The replica serves from where it is until the copy has everything; a copy that fails leaves it as it was.
//!   3. Copy and retired folder share their id: together, and without a folder under the plain name, they tell a start that
//!      the copy is whole.
//!   4. Checkpoints of the target name the copy's watermark and log start before the names are exchanged.
//!
//! Read next: `copy`, `resume`, `ballast_log::relocate`.

mod copy;
mod resume;

pub(super) use self::resume::Found;

use std::path::PathBuf;
use std::sync::Arc;

use ballast_log::dirs::{DIR_NAME_LEN_MAX, DirState, PARTITION_METADATA_FILE, PartitionDir, write_partition_metadata};
use ballast_log::{Log, LogError};
use ballast_wire::{Offset, PartitionIndex, Uuid};
use parking_lot::Mutex;

use super::{Dir, Store};
use crate::drive::partition::Partition;

/// Wishes for replicas that are not here yet are remembered up to so many.
const PREFERRED_MAX: usize = 100_000;

/// A replica and its copy in another directory.
pub(crate) struct FutureReplica {
    pub(crate) partition: Arc<Partition>,
    /// The target.
    dir: Arc<Dir>,
    pub(crate) log: Log,
    /// In the names of its folder and of the one that it will replace.
    id: Uuid,
    /// Is it still wanted? Whoever works on the copy holds the lock.
    wanted: Mutex<bool>,
}

impl FutureReplica {
    /// Records that the copy lacks.
    pub(crate) fn lag(&self) -> Offset {
        (self.partition.log.end() - self.log.end()).max(0)
    }

    /// The copy's watermark, should it take over now.
    pub(super) fn high(&self) -> Offset {
        self.partition.high().min(self.log.end())
    }

    /// Where reading may begin in the copy, for the checkpoint (as `dir::log_start`).
    pub(super) fn log_start(&self) -> Option<Offset> {
        let start = self.partition.log.start();
        (start > self.log.first_segment_base()).then_some(start)
    }
}

/// Why a replica is not moved.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MoveRefused {
    /// The copy's folder would need a longer name than file systems take.
    #[error("the topic name is too long for a replica to be moved between log directories")]
    NameTooLong,
    /// `log.dirs` does not have it.
    #[error("{0} is no log directory of this broker")]
    NoSuchDir(String),
    /// The target, or where the replica lives, has failed.
    #[error("the log directory is offline")]
    Offline,
    /// The broker holds no such replica. If it comes to hold one, that is made in the target.
    #[error("this broker holds no such replica yet")]
    NotHere,
    /// There is no such partition. If there comes to be one, its replica here is made in the target.
    #[error("there is no such partition")]
    Unknown,
    /// The copy could not be begun.
    #[error(transparent)]
    Log(#[from] LogError),
}

impl Store {
    /// Begins to move a replica to the log directory with this path, as DescribeLogDirs tells it; a move to somewhere else
    /// ends. Where it lives already there is nothing left to do. Blocks.
    ///
    /// # Errors
    /// As [`MoveRefused`] says; nothing has begun then.
    pub(crate) fn move_replica(&self, topic: &str, index: PartitionIndex, path: &str) -> Result<(), MoveRefused> {
        let future_name = PartitionDir::new(topic, index).to_string().len() + FUTURE_LEN;
        if future_name > DIR_NAME_LEN_MAX {
            return Err(MoveRefused::NameTooLong);
        }
        let dir = self.dirs.iter().find(|dir| dir.path.display().to_string() == path);
        let dir = dir.ok_or_else(|| MoveRefused::NoSuchDir(path.to_owned()))?;
        if dir.is_offline() {
            return Err(MoveRefused::Offline);
        }
        let _one_at_a_time = self.beginning.lock();
        let Some(partition) = self.hosted.by_name(topic, index) else { return Err(self.prefer(topic, index, dir)) };
        if partition.is_offline() {
            return Err(MoveRefused::Offline);
        }
        match self.future_of(&partition) {
            Some(future) if future.dir.id == dir.id => return Ok(()),
            Some(future) => self.cancel(&future, "it is to go elsewhere"),
            None => {}
        }
        if partition.directory() != dir.id {
            self.begin(partition, dir)?;
        }
        Ok(())
    }

    /// Remembers where a replica is to be made that is not here.
    fn prefer(&self, topic: &str, index: PartitionIndex, dir: &Dir) -> MoveRefused {
        let image = self.image();
        let known = image.topic(topic).map(|found| (found.id, found.partition(index).is_some()));
        if known.is_some_and(|(id, _)| self.is_broken(id, index)) {
            return MoveRefused::Offline;
        }
        let mut preferred = self.preferred.lock();
        if preferred.len() < PREFERRED_MAX {
            preferred.insert((topic.to_owned(), index), dir.id);
        }
        if known.is_some_and(|(_, has_partition)| has_partition) { MoveRefused::NotHere } else { MoveRefused::Unknown }
    }

    /// Where a new replica is to be made, if somebody said so and that directory works.
    pub(super) fn preferred_dir(&self, topic: &str, index: PartitionIndex) -> Option<Arc<Dir>> {
        let wished = self.preferred.lock().remove(&(topic.to_owned(), index))?;
        self.dir(wished).filter(|dir| !dir.is_offline()).cloned()
    }

    fn begin(&self, partition: Arc<Partition>, dir: &Arc<Dir>) -> Result<(), LogError> {
        let (id, disk) = (self.random_id(), self.disk());
        let path = folder(dir, &partition, DirState::Future(id));
        let base = partition
            .log
            .copy_base()
            .map_err(|error| LogError::Foreign { path: partition.log.dir(), what: error.to_string() })?;
        let log = Log::create(disk, path.clone(), partition.log.config(), base, self.now_ms())?;
        write_partition_metadata(&*self.config.disk, &path, partition.topic_id)
            .map_err(|error| LogError::Foreign { path, what: error.to_string() })?;
        log.owe_small(PARTITION_METADATA_FILE);
        tracing::info!(topic = %partition.topic, partition = partition.index, to = %dir.path.display(), bytes = partition.log.size_bytes(), "a replica moves to another log directory");
        self.enter(partition, dir, log, id);
        Ok(())
    }

    /// From now on the copy is worked on.
    fn enter(&self, partition: Arc<Partition>, dir: &Arc<Dir>, log: Log, id: Uuid) {
        let (topic, index) = (partition.topic_id, partition.index);
        let future = FutureReplica { partition, dir: Arc::clone(dir), log, id, wanted: Mutex::new(true) };
        let future = Arc::new(future);
        dir.incoming.lock().insert((topic, index), Arc::clone(&future));
        if self.hosted.by_id(topic, index).is_none() {
            // It was deleted meanwhile, by somebody who saw no copy.
            self.cancel(&future, "the replica is deleted");
        }
        self.moves.notify_one();
    }

    /// The copies that there are.
    pub(crate) fn futures(&self) -> Vec<Arc<FutureReplica>> {
        self.dirs.iter().flat_map(|dir| dir.incoming()).collect()
    }

    fn future_of(&self, partition: &Partition) -> Option<Arc<FutureReplica>> {
        let key = (partition.topic_id, partition.index);
        self.dirs.iter().find_map(|dir| dir.incoming.lock().get(&key).cloned())
    }

    /// Ends the move of a replica that goes, if there is one. Waits while its last step is done.
    pub(super) fn cancel_move_of(&self, partition: &Partition) {
        if let Some(future) = self.future_of(partition) {
            self.cancel(&future, "the replica is deleted");
        }
    }

    /// Ends a move; the copy is deleted.
    fn cancel(&self, future: &FutureReplica, why: &str) {
        let mut wanted = future.wanted.lock();
        if std::mem::take(&mut *wanted) {
            self.drop_copy(future, why);
        }
    }

    /// Forgets a copy and deletes its folder. The caller holds the lock of its work.
    fn drop_copy(&self, future: &FutureReplica, why: &str) {
        let FutureReplica { partition, dir, log, .. } = future;
        tracing::info!(topic = %partition.topic, partition = partition.index, to = %dir.path.display(), why, "a replica's move to another log directory ends");
        dir.forget(future);
        let doomed = folder(dir, partition, DirState::Delete(self.random_id()));
        match log.doom(&doomed) {
            Ok(()) => {
                self.doomed.lock().push((self.now_ms(), doomed));
                self.sync_names(dir.id);
            }
            Err(error) => {
                tracing::warn!(folder = %log.dir().display(), %error, "an unfinished copy cannot be renamed");
            }
        }
    }

    /// Forgets the copies in a directory that has failed. What is there stays there.
    pub(super) fn forget_incoming(&self, dir: &Dir) {
        for future in dir.incoming() {
            // Not under its lock: the directory may have failed in the hands of the one who holds it. It finds out by itself.
            dir.forget(&future);
        }
    }

    /// Waits until nobody works on a copy, and nobody will: the logs are about to be closed. The next start goes on.
    pub(super) fn stop_moves(&self) {
        for future in self.futures() {
            *future.wanted.lock() = false;
        }
    }
}

/// Bytes that a future folder's name is longer than the plain one: `.`, 32 digits, `-future`.
const FUTURE_LEN: usize = 1 + 32 + 7;

fn folder(dir: &Dir, partition: &Partition, state: DirState) -> PathBuf {
    dir.path.join(PartitionDir::new(&partition.topic, partition.index).with(state).to_string())
}
