//! A clean stop: every log is closed, all are synced (together, if they are many), the checkpoints say where they end, and
//! only then is the directory marked clean.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ballast_log::LogError;
use ballast_log::dirs::{CheckpointKind, DirError};
use parking_lot::Mutex;

use super::together::Unsynced;
use super::{Dir, Store, dir, on_disk};
use crate::drive::partition::Partition;

/// Logs that are closed at the same time: closing writes indexes and snapshots.
const CLOSERS: usize = 4;

impl Store {
    /// Closes every log and writes where it ends. A directory in which anything fails goes offline and is left unmarked, so
    /// that the next start recovers it.
    pub(crate) async fn close(self: &Arc<Store>) {
        if self.closed.swap(true, Ordering::AcqRel) {
            return;
        }
        let this = Arc::clone(self);
        on_disk(&self.config.disk, move || this.stop_moves()).await;
        let partitions = self.hosted.all();
        let queue = Arc::new(Mutex::new(partitions.clone()));
        let closers: Vec<_> = (0..CLOSERS)
            .map(|_| {
                let (this, queue) = (Arc::clone(self), Arc::clone(&queue));
                on_disk(&self.config.disk, move || this.close_logs(&queue))
            })
            .collect();
        let mut unsynced = Vec::new();
        for closer in closers {
            unsynced.append(&mut closer.await);
        }
        let this = Arc::clone(self);
        on_disk(&self.config.disk, move || {
            this.run_syncs(unsynced, |partition, point, result| {
                if let Err(error) = partition.log.finish_close(point, result) {
                    this.close_failed(partition, &error);
                }
            });
            for dir in this.dirs.iter().filter(|dir| !dir.is_offline()) {
                this.checkpoint_last(dir, &partitions);
            }
        })
        .await;
    }

    /// Marks the directories clean and frees their locks, when the metadata in them is closed as well.
    pub(crate) async fn mark_clean(self: &Arc<Store>, broker_epoch: i64) {
        let this = Arc::clone(self);
        on_disk(&self.config.disk, move || {
            for dir in this.dirs.iter().filter(|dir| !dir.is_offline()) {
                if let Err(error) = dir.close(broker_epoch) {
                    this.not_clean(dir, &error);
                }
            }
        })
        .await;
    }

    /// Closes logs until none is left; what has to be synced is handed back.
    fn close_logs(&self, queue: &Mutex<Vec<Arc<Partition>>>) -> Vec<Unsynced> {
        let mut unsynced = Vec::new();
        loop {
            let next = queue.lock().pop();
            let Some(partition) = next else { return unsynced };
            match partition.log.begin_close() {
                Ok(Some(point)) => unsynced.push((partition, point)),
                Ok(None) => {}
                Err(error) => self.close_failed(&partition, &error),
            }
        }
    }

    fn close_failed(&self, partition: &Partition, error: &LogError) {
        if let Some(dir) = self.dir(partition.directory()) {
            self.dir_failed(dir, &error.to_string());
        }
    }

    fn checkpoint_last(&self, dir: &Dir, partitions: &[Arc<Partition>]) {
        let saved = dir
            .write_offsets(CheckpointKind::HighWatermark, partitions, |partition| Some(partition.high()))
            .and_then(|()| {
                dir.write_offsets(CheckpointKind::RecoveryPoint, partitions, |partition| {
                    Some(partition.log.recovery_point())
                })
            })
            .and_then(|()| dir.write_offsets(CheckpointKind::LogStart, partitions, dir::log_start));
        if let Err(error) = saved {
            self.not_clean(dir, &error);
        }
    }

    fn not_clean(&self, dir: &Dir, error: &DirError) {
        tracing::error!(log_dir = %dir.path.display(), %error, "not stopped cleanly: the next start recovers it");
        self.dir_failed(dir, &error.to_string());
    }
}
