//! What happens by the clock: syncing what is dirty, checkpoints, retention, unlinking, and watching the room that is left.
//!
//! One round each second, off the acknowledgement path, on the disk's threads. The background sync bounds what a power cut
//! can take from acks=all without `flush.messages` (docs/decisions, durability levels); an ephemeral disk has none.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ballast_core::replica::Input;
use ballast_log::LogError;
use ballast_log::dirs::{CheckpointKind, DirError};
use ballast_wire::Uuid;
use tokio::time::{Duration, Instant, MissedTickBehavior, interval_at};

use super::{Dir, Store, dir, on_disk};
use crate::drive::partition::Partition;

const ROUND: Duration = Duration::from_secs(1);
/// How often deleted files are looked for.
const REAP_MS: u64 = 5_000;

/// Default reserve: a twentieth of the file system, at most 1 GiB.
const RESERVE_BYTES_MAX: u64 = 1 << 30;
const RESERVE_SHARE: u64 = 20;

/// When each kind of work is due next, in ticks.
struct Due {
    highs: u64,
    recovery: u64,
    retention: u64,
    reap: u64,
    producers: u64,
}

impl Store {
    /// Keeps house until the store is closed.
    pub(crate) async fn keep_house(self: Arc<Store>) {
        let settings = self.config.settings.now();
        let highs_interval_ms = settings.replication.high_watermark_checkpoint_interval_ms;
        let settings = &settings.log;
        let first_retention = settings.initial_task_delay_ms.min(settings.retention_check_interval_ms);
        let mut due = Due {
            highs: highs_interval_ms,
            recovery: settings.flush_offset_checkpoint_interval_ms,
            retention: first_retention,
            reap: REAP_MS,
            producers: settings.producer_id_expiration_check_interval_ms,
        };
        let mut rounds = interval_at(Instant::now() + ROUND, ROUND);
        rounds.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !self.closed.load(Ordering::Acquire) {
            rounds.tick().await;
            let this = Arc::clone(&self);
            due = on_disk(&self.config.disk, move || this.round(due)).await;
        }
    }

    fn round(&self, mut due: Due) -> Due {
        if self.closed.load(Ordering::Acquire) {
            return due;
        }
        let settings = self.config.settings.now();
        let highs_interval_ms = settings.replication.high_watermark_checkpoint_interval_ms;
        let settings = &settings.log;
        let now = self.config.ticks.now();
        let is_due = |at: &mut u64, every: u64| {
            let is_due = now >= *at;
            if is_due {
                *at = now + every.max(1);
            }
            is_due
        };
        self.watch_space();
        self.retry_broken();
        self.pay_dirs();
        if self.config.disk.is_durable() {
            self.sync_dirty();
        }
        if is_due(&mut due.highs, highs_interval_ms) {
            self.save_highs();
        }
        if is_due(&mut due.retention, settings.retention_check_interval_ms) {
            self.retain();
        }
        if is_due(&mut due.recovery, settings.flush_offset_checkpoint_interval_ms) {
            for dir in &self.dirs {
                self.save_recovery(dir.id);
            }
        }
        if is_due(&mut due.reap, REAP_MS.min(settings.retention_check_interval_ms)) {
            self.reap();
        }
        if is_due(&mut due.producers, settings.producer_id_expiration_check_interval_ms) {
            let now_ms = self.now_ms();
            for partition in self.hosted.all() {
                partition.log.expire_producers(now_ms);
            }
        }
        due
    }

    /// A log directory's own files, or the logs in it, cannot be kept any more: everything in it goes offline.
    pub(super) fn dir_failed(&self, dir: &Dir, cause: &str) {
        if !dir.take_offline() {
            return;
        }
        tracing::error!(log_dir = %dir.path.display(), cause, "a log directory has failed and goes offline");
        for partition in self.hosted.all().iter().filter(|partition| partition.directory() == dir.id) {
            partition.take_offline();
        }
        self.forget_incoming(dir);
        self.failed.send_modify(|failed| {
            failed.insert(dir.id);
        });
        if self.dirs.iter().all(|dir| dir.is_offline()) {
            let cause = format!("every log directory has failed, the last one {}: {cause}", dir.path.display());
            self.fatal.send_replace(Some(cause));
        }
    }

    fn watch_space(&self) {
        if !self.config.disk.is_durable() {
            return;
        }
        for dir in &self.dirs {
            let Ok(space) = self.config.disk.space(&dir.path) else { continue };
            let default = (space.total_bytes / RESERVE_SHARE).min(RESERVE_BYTES_MAX);
            let reserve = self.config.settings.now().log.disk_reserve_bytes.unwrap_or(default);
            let is_low = space.available_bytes < reserve;
            let was_low = dir.low_on_space.swap(is_low, Ordering::Relaxed);
            let (log_dir, available_bytes) = (dir.path.display(), space.available_bytes);
            if is_low && !was_low {
                tracing::warn!(%log_dir, available_bytes, reserve_bytes = reserve, "too little room: produce is refused until there is more; delete topics or records, or lower ballast.disk.reserve.bytes");
            } else if was_low && !is_low {
                tracing::info!(%log_dir, available_bytes, "there is room again: produce goes on");
            }
        }
    }

    /// Names and checkpoints that could not be written for lack of room, say, may be now.
    fn pay_dirs(&self) {
        for dir in self.dirs.iter().filter(|dir| dir.owes.load(Ordering::Relaxed)) {
            if self.sync_names(dir.id) && self.save_recovery(dir.id) {
                dir.owes.store(false, Ordering::Relaxed);
            }
        }
    }

    /// Partitions that could not be made for lack of room, say, may work now.
    fn retry_broken(&self) {
        if self.broken.lock().is_empty() {
            return;
        }
        let image = Arc::clone(&self.image.lock());
        let broken: BTreeSet<_> = self.broken.lock().keys().copied().collect();
        self.apply_partitions(&image, &broken);
        if broken.iter().any(|(topic, index)| self.hosted.by_id(*topic, *index).is_some()) {
            self.late.send_modify(|times| *times += 1);
        }
    }

    fn sync_dirty(&self) {
        let now_ms = self.now_ms();
        let mut unsynced = Vec::new();
        for partition in self.hosted.all().into_iter().filter(|partition| partition.log.is_dirty()) {
            match partition.log.begin_sync() {
                Ok(Some(point)) => unsynced.push((partition, point)),
                Ok(None) => {}
                Err(error) => self.log_failed(&partition, &error),
            }
        }
        self.run_syncs(unsynced, |partition, point, result| {
            match partition.log.finish_sync(point, result, now_ms) {
                Ok(end) => {
                    // After a crash nothing else tells a leader that what was recovered counts.
                    partition.step(self.config.ticks.now(), Input::Synced { end });
                    partition.wake();
                }
                Err(error) => self.log_failed(partition, &error),
            }
        });
    }

    /// A failed sync may have lost data: the whole directory is given up.
    pub(super) fn log_failed(&self, partition: &Partition, error: &LogError) {
        match (error, self.dir(partition.directory())) {
            (LogError::SyncFailed(_), Some(dir)) => self.dir_failed(dir, &error.to_string()),
            (LogError::Closed, _) => {}
            _ => {
                tracing::warn!(topic = %partition.topic, partition = partition.index, %error, "upkeep of a log failed");
            }
        }
    }

    pub(super) fn save_highs(&self) {
        let all = self.hosted.all();
        for dir in self.dirs.iter().filter(|dir| !dir.is_offline()) {
            let saved = dir.write_offsets(CheckpointKind::HighWatermark, &all, |partition| Some(partition.high()));
            if let Err(error) = saved {
                self.checkpoint_failed(dir, &error);
            }
        }
    }

    /// A full disk is no failed one, nor is one whose files nobody has a descriptor for: the old checkpoint is still there,
    /// and the next round tries again.
    pub(super) fn checkpoint_failed(&self, dir: &Dir, error: &DirError) {
        if matches!(error, DirError::Disk(cause) if cause.is_passing()) {
            if !dir.owes.swap(true, Ordering::Relaxed) {
                tracing::warn!(log_dir = %dir.path.display(), %error, "a log directory's own files wait for what is missing");
            }
        } else {
            self.dir_failed(dir, &error.to_string());
        }
    }

    /// Did a directory keep what it was given? If not, that is told.
    pub(super) fn is_kept(&self, dir: &Dir, result: Result<(), DirError>) -> bool {
        result.inspect_err(|error| self.checkpoint_failed(dir, error)).is_ok()
    }

    fn retain(&self) {
        let now_ms = self.now_ms();
        for partition in self.hosted.all().iter().filter(|partition| !partition.is_offline()) {
            let start = partition.log.start();
            match partition.log.retain(now_ms, partition.high()) {
                Ok(retained) if retained.segments > 0 => {
                    let (segments, bytes) = (retained.segments, retained.bytes);
                    tracing::info!(topic = %partition.topic, partition = partition.index, segments, bytes, "retention deleted segments");
                }
                Ok(_) => {}
                Err(error) => self.log_failed(partition, &error),
            }
            if partition.log.start() != start {
                partition.log_moved(self.config.ticks.now());
                partition.wake_fetches();
            }
        }
    }

    fn reap(&self) {
        let now_ms = self.now_ms();
        for partition in self.hosted.all() {
            if let Err(error) = partition.log.reap(now_ms) {
                tracing::warn!(topic = %partition.topic, partition = partition.index, %error, "a deleted file cannot be unlinked");
            }
        }
        self.doomed.lock().retain(|(due_ms, folder)| {
            let is_gone = *due_ms <= now_ms && self.remove(folder);
            !is_gone
        });
    }

    fn remove(&self, folder: &std::path::Path) -> bool {
        match self.config.disk.remove_dir(folder) {
            Ok(()) => true,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
            Err(error) => {
                tracing::warn!(folder = %folder.display(), %error, "a deleted partition cannot be removed");
                false
            }
        }
    }

    /// Writes the log starts of a directory at once: deleted records must not come back after a crash.
    pub(crate) async fn save_log_starts(self: &Arc<Store>, directory: Uuid) -> Result<(), DirError> {
        let this = Arc::clone(self);
        on_disk(&self.config.disk, move || {
            let Some(dir) = this.dir(directory) else { return Ok(()) };
            dir.write_offsets(CheckpointKind::LogStart, &this.hosted.all(), dir::log_start)
        })
        .await
    }
}
