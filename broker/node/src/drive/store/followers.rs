//! What followers want done to their logs, for many at once: cuts with the checkpoints that go with them, and syncs together.
//!
//! Holds: a log that was cut is not appended to before the recovery point checkpoint knows of the cut. A crash after
//! the append would otherwise believe records that the cut took away and others have replaced.

use std::collections::BTreeSet;
use std::sync::Arc;

use ballast_wire::Uuid;

use super::Store;
use crate::drive::partition::Partition;

impl Store {
    /// Cuts the logs as their machines want. Blocks.
    pub(crate) fn cut_followers(&self, partitions: &[Arc<Partition>]) {
        let (now_ms, now) = (self.now_ms(), self.config.ticks.now());
        for partition in partitions {
            if let Err(error) = partition.cut(now_ms, now) {
                self.log_failed(partition, &error);
            }
        }
        let owing = partitions.iter().filter(|partition| partition.owes_checkpoint());
        let dirs: BTreeSet<Uuid> = owing.map(|partition| partition.directory()).collect();
        for dir in dirs {
            self.save_recovery(dir);
        }
        let now = self.config.ticks.now();
        partitions.iter().for_each(|partition| partition.settle(now));
    }

    /// Syncs the logs, and tells their machines. Blocks.
    pub(crate) fn sync_followers(&self, partitions: &[Arc<Partition>]) {
        let now_ms = self.now_ms();
        let mut unsynced = Vec::new();
        for partition in partitions {
            match partition.log.begin_sync() {
                Ok(Some(point)) => unsynced.push((Arc::clone(partition), point)),
                Ok(None) => partition.synced(self.config.ticks.now()),
                Err(error) => {
                    partition.failed(self.config.ticks.now());
                    self.log_failed(partition, &error);
                }
            }
        }
        self.run_syncs(unsynced, |partition, point, result| {
            let synced = partition.log.finish_sync(point, result, now_ms);
            let now = self.config.ticks.now();
            match synced {
                Ok(_) => partition.synced(now),
                Err(error) => {
                    partition.failed(now);
                    self.log_failed(partition, &error);
                }
            }
        });
    }
}
