//! Many logs synced at once: one by one while they are few, by their file systems when they are many.
//!
//! Holds: a log hears of its sync only after what covers it has returned, so nobody is told too early that records are safe,
//! and no checkpoint says so.
//!
//! ```text
//! begin_sync of each ── run: put off, then one sync of the file system ── finish_sync of each
//! ```

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use ballast_log::{DiskError, SyncPoint};
use ballast_wire::Uuid;

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
        // A replica may move to another directory meanwhile: its point names the files that it had.
        let mut by_dir = BTreeMap::<Uuid, Vec<Unsynced>>::new();
        for one in unsynced {
            by_dir.entry(one.0.directory()).or_default().push(one);
        }
        for (id, here) in by_dir {
            let dir = self.dir(id).expect("a partition lives in one of the log directories");
            for ((partition, point), result) in self.run_in(dir, here) {
                done(&partition, point, result);
            }
        }
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
