//! Copies are filled, at the rate that is allowed, and take the place of their logs.
//!
//! Holds: of `replica.alter.log.dirs.io.max.bytes.per.second` no more than one step of each copy is ever taken ahead. A step
//! holds the copy's own lock, and appends wait for the last one alone: what came in since the step before, and one sync.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ballast_log::dirs::{CheckpointKind, DirError, DirState};
use ballast_log::{LogError, MoveError};
use tokio::time::{Instant, sleep, sleep_until};

use super::super::{Store, on_disk};
use super::{FutureReplica, folder};

/// What a step copies, in bytes, and more where a batch is larger. A copy that one step brings to where the log was before is
/// close enough for the exchange.
const STEP_BYTES: usize = 1 << 20;
/// How often a rate of nothing is looked at again.
const STANDSTILL: Duration = Duration::from_secs(1);

impl Store {
    /// Moves replicas until the store is closed.
    pub(crate) async fn move_replicas(self: Arc<Store>) {
        let mut not_before = Instant::now();
        while !self.closed.load(Ordering::Acquire) {
            let futures = self.futures();
            if futures.is_empty() {
                self.moves.notified().await;
                continue;
            }
            let settings = self.config.settings.now();
            let rate = settings.replication.alter_log_dirs_bytes_per_second;
            if rate == 0 {
                sleep(STANDSTILL).await;
                continue;
            }
            sleep_until(not_before).await;
            let threads = settings.replication.alter_log_dirs_threads.unwrap_or(self.dirs.len()).max(1);
            let mut bytes = 0;
            for some in futures.chunks(threads) {
                let steps: Vec<_> = some.iter().map(|future| self.step_of(future)).collect();
                for step in steps {
                    bytes += step.await;
                }
            }
            not_before = not_before.max(Instant::now()) + pause(bytes, rate);
        }
    }

    fn step_of(self: &Arc<Self>, future: &Arc<FutureReplica>) -> impl Future<Output = usize> + Send + use<> {
        let (this, future) = (Arc::clone(self), Arc::clone(future));
        on_disk(&self.config.disk, move || this.move_step(&future))
    }

    /// One step of one move. Returns the bytes copied. Blocks.
    fn move_step(&self, future: &FutureReplica) -> usize {
        let mut wanted = future.wanted.lock();
        if !*wanted {
            return 0;
        }
        if future.partition.is_offline() || future.dir.is_offline() {
            // What was copied stays on disk: the next start goes on.
            *wanted = false;
            future.dir.forget(future);
            return 0;
        }
        let end = future.partition.log.end();
        let copied = future.log.copy_from(&future.partition.log, STEP_BYTES, self.now_ms());
        let moved = copied.and_then(|bytes| {
            let is_close = future.log.end() >= end;
            if is_close { self.exchange(future).map(|()| None) } else { Ok(Some(bytes)) }
        });
        match moved {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                *wanted = false;
                0
            }
            Err(error) => {
                *wanted = false;
                self.move_failed(future, &error);
                0
            }
        }
    }

    /// The copy has next to everything: it takes the log's place.
    fn exchange(&self, future: &FutureReplica) -> Result<(), MoveError> {
        let FutureReplica { partition, dir, log, id, .. } = future;
        // Most is synced before appends have to wait.
        log.sync(self.now_ms()).map_err(MoveError::Copy)?;
        self.checkpoint_copy(future)
            .map_err(|error| MoveError::Copy(LogError::Foreign { path: dir.path.clone(), what: error.to_string() }))?;
        let old = partition.directory();
        let Some(old_dir) = self.dir(old) else { return Ok(()) };
        let retired = folder(old_dir, partition, DirState::Delete(*id));
        partition.log.give_way_to(log, &retired, self.now_ms())?;
        partition.moved_to(dir.id);
        dir.forget(future);
        old_dir.partitions.fetch_sub(1, Ordering::Relaxed);
        dir.partitions.fetch_add(1, Ordering::Relaxed);
        let delay_ms = partition.log.config().file_delete_delay_ms;
        self.doomed.lock().push((self.now_ms().saturating_add(delay_ms), retired));
        for directory in [dir.id, old] {
            self.save_recovery(directory);
        }
        self.save_highs();
        self.config.placements.tell(partition.topic_id, partition.index);
        tracing::info!(topic = %partition.topic, partition = partition.index, from = %old_dir.path.display(), to = %dir.path.display(), end = partition.log.end(), "a replica has moved to another log directory");
        Ok(())
    }

    /// The target's checkpoints must know the copy before a crash can make it the replica.
    fn checkpoint_copy(&self, future: &FutureReplica) -> Result<(), DirError> {
        let all = self.hosted.all();
        let dir = &future.dir;
        dir.write_offsets(CheckpointKind::HighWatermark, &all, |partition| Some(partition.high()))?;
        dir.write_offsets(CheckpointKind::LogStart, &all, super::super::dir::log_start)
    }

    /// The replica stays where it is.
    fn move_failed(&self, future: &FutureReplica, error: &MoveError) {
        let FutureReplica { partition, dir, .. } = future;
        if self.closed.load(Ordering::Acquire) {
            // The next start goes on.
            return;
        }
        tracing::error!(topic = %partition.topic, partition = partition.index, to = %dir.path.display(), %error, "a replica cannot be moved to another log directory; it stays where it is");
        match error {
            MoveError::Copy(LogError::SyncFailed(_)) => self.dir_failed(dir, &error.to_string()),
            _ => self.drop_copy(future, "it failed"),
        }
    }
}

/// How long the next steps wait, so that `bytes` are no more than `rate` bytes a second.
fn pause(bytes: usize, rate: u64) -> Duration {
    let micros = (bytes as u128 * 1_000_000).div_ceil(u128::from(rate.max(1)));
    Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX).min(u64::from(u32::MAX) * 1_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_wait_until_their_bytes_are_within_the_rate() {
        assert_eq!(pause(1 << 20, 1 << 20), Duration::from_secs(1));
        assert_eq!(pause(3, 2_000_000), Duration::from_micros(2));
        assert_eq!(pause(1 << 20, i64::MAX as u64), Duration::from_micros(1));
        assert_eq!(pause(0, 5), Duration::ZERO);
        assert!(pause(usize::MAX, 1) < Duration::from_secs(60 * 86_400), "a pause ends");
    }
}
