//! Many logs synced at once: one by one while they are few, by their file systems when they are many.
//!
//! Holds: a log hears of its sync only after what covers it has returned, so nobody is told too early that records are safe,
//! and no checkpoint says so.
//!
//! ```text
//! begin_sync of each ── run: put off, then one sync of the file system ── finish_sync of each
//! ```

use std::io;
use std::sync::Arc;

use ballast_log::{DiskError, SyncPoint};

use super::{Dir, Store};
use crate::drive::partition::Partition;

/// From so many logs of a directory on, one sync of the file system is cheaper than one for each of their files.
const SYNC_TOGETHER_FROM: usize = 16;

/// A log and what of it has to be synced.
pub(super) type Unsynced = (Arc<Partition>, SyncPoint);

impl Store {
    /// Runs the syncs and tells `done` how each went. Blocks.
    pub(super) fn run_syncs(
        &self,
        unsynced: Vec<Unsynced>,
        mut done: impl FnMut(&Partition, SyncPoint, Result<(), DiskError>),
    ) {
        let mut rest = unsynced;
        for dir in &self.dirs {
            let (here, elsewhere) = rest.into_iter().partition(|(partition, _)| partition.directory() == dir.id);
            rest = elsewhere;
            for ((partition, point), result) in self.run_in(dir, here) {
                done(&partition, point, result);
            }
        }
        assert!(rest.is_empty(), "{} partitions lie in no log directory", rest.len());
    }

    fn run_in(&self, dir: &Dir, unsynced: Vec<Unsynced>) -> Vec<(Unsynced, Result<(), DiskError>)> {
        if unsynced.len() < SYNC_TOGETHER_FROM {
            return unsynced
                .into_iter()
                .map(|one| {
                    let result = one.1.run();
                    (one, result)
                })
                .collect();
        }
        let mut results = Vec::with_capacity(unsynced.len());
        let together = self.disk().together(&dir.path, &mut || {
            results = unsynced.iter().map(|(_, point)| point.run()).collect();
        });
        let together = together.map_err(|error: io::Error| DiskError {
            doing: "cannot sync the file system of",
            path: dir.path.clone(),
            source: Arc::new(error),
        });
        let results = results.into_iter().map(|result| result.and_then(|()| together.clone()));
        unsynced.into_iter().zip(results).collect()
    }
}
