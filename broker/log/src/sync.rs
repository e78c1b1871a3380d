//! What survives a crash: the recovery point, and the syncs that move it.
//!
//! ```text
//! begin_sync (under the locks) ──► SyncPoint::run (any thread, blocking) ──► finish_sync
//! ```
//! One sync serves every append that was published before it began: that is the group commit of `flush.messages=1`.
//!
//! Holds:
//!   1. The recovery point only moves over what a sync that said `Ok` covered, names of files included.
//!   2. A truncation in between makes a sync that is under way move nothing.
//!   3. A sync that failed is final: nothing is retried, nothing is written any more, and the next opening believes
//!      nothing that it should have covered (see `suspect`).

use std::collections::BTreeMap;
use std::sync::Arc;

use ballast_planted::{Bug, is_planted};
use ballast_wire::Offset;

use crate::dirs::PARTITION_METADATA_FILE;
use crate::disk::DiskFile;
use crate::error::{DiskContext, DiskError, LogError};
use crate::log::{Failure, Log};
use crate::names::{LEADER_EPOCH_CHECKPOINT, Place};
use crate::suspect;

/// What has to be synced so that everything below `end` survives a crash. Made under the log's locks, run outside of them
/// on any thread.
#[derive(Debug)]
pub struct SyncPoint {
    end: Offset,
    truncations: u64,
    round: u64,
    files: Vec<Arc<dyn DiskFile>>,
    place: Arc<Place>,
    /// Names of small files in the folder.
    small: Vec<&'static str>,
    /// Did names in the folder change, and its own?
    dir: bool,
    parent: bool,
}

impl SyncPoint {
    /// Everything below it survives once the sync is done.
    #[must_use]
    pub fn end(&self) -> Offset {
        self.end
    }

    /// Syncs files and folder. Blocks.
    ///
    /// # Errors
    /// The first that failed. Hand the result to [`Log::finish_sync`] whatever it is.
    pub fn run(&self) -> Result<(), DiskError> {
        for file in &self.files {
            let synced = file.sync().doing("cannot sync", file.path());
            if !is_planted(Bug::FsyncErrorIgnored) {
                synced?;
            }
        }
        for name in &self.small {
            self.place.sync_file(name)?;
        }
        if self.dir && !is_planted(Bug::DirectoryNotSynced) {
            self.place.sync()?;
        }
        if self.parent { self.place.sync_parent() } else { Ok(()) }
    }
}

/// Files that were written, and folders whose names changed, since a sync covered them. What is owed stays so until a sync
/// that began later has succeeded: another one that ends before it covers it as well.
#[derive(Debug, Default)]
struct Owed {
    /// Counts the syncs that began. Each debt knows how many had, when it was made.
    round: u64,
    files: Vec<(u64, Arc<dyn DiskFile>)>,
    /// Small files in the folder, by name: thousands of logs may owe some, so no descriptor is held for them.
    small: BTreeMap<&'static str, u64>,
    dir: Option<u64>,
    parent: Option<u64>,
}

impl Owed {
    fn is_nothing(&self) -> bool {
        self.files.is_empty() && self.small.is_empty() && self.dir.is_none() && self.parent.is_none()
    }

    fn owe(&mut self, files: Vec<Arc<dyn DiskFile>>) {
        self.files.extend(files.into_iter().map(|file| (self.round, file)));
        self.dir = Some(self.round);
    }

    /// A sync that began with this round has covered what was owed then.
    fn paid(&mut self, round: u64) {
        self.files.retain(|(since, _)| *since > round);
        self.small.retain(|_, since| *since > round);
        self.dir = self.dir.filter(|since| *since > round);
        self.parent = self.parent.filter(|since| *since > round);
    }
}

/// What is known about syncs.
#[derive(Debug)]
pub(crate) struct Syncing {
    pub(crate) recovery_point: Offset,
    /// Counts truncations.
    truncations: u64,
    /// When the oldest record that is not synced was published, in ms since 1970.
    dirty_since_ms: Option<i64>,
    owed: Owed,
}

impl Syncing {
    pub(crate) fn new(recovery_point: Offset, end: Offset, now_ms: i64) -> Syncing {
        let dirty_since_ms = (recovery_point < end).then_some(now_ms);
        Syncing { recovery_point, truncations: 0, dirty_since_ms, owed: Owed::default() }
    }

    /// The log is new, or was not stopped cleanly: its names and small files may not be on the disk yet.
    pub(crate) fn owing_names(mut self) -> Syncing {
        let round = self.owed.round;
        self.owed.dir = Some(round);
        self.owed.parent = Some(round);
        for name in [LEADER_EPOCH_CHECKPOINT, PARTITION_METADATA_FILE] {
            self.owed.small.insert(name, round);
        }
        self
    }
}

impl Log {
    /// Is a sync due by `flush.messages` or `flush.ms`?
    #[must_use]
    pub fn needs_sync(&self, now_ms: i64) -> bool {
        let config = self.config();
        let end = self.end();
        let syncing = self.syncing.lock();
        let Some(since_ms) = syncing.dirty_since_ms else { return false };
        end - syncing.recovery_point >= config.flush_messages || now_ms.saturating_sub(since_ms) >= config.flush_ms
    }

    /// Is anything published that is not synced?
    #[must_use]
    pub fn is_dirty(&self) -> bool {
        if matches!(self.state.lock().failure, Some(Failure::Closed)) {
            return false;
        }
        let end = self.end();
        let syncing = self.syncing.lock();
        syncing.recovery_point < end || !syncing.owed.is_nothing()
    }

    /// What has to be synced now; `None` when nothing has, or the log is closed.
    ///
    /// # Errors
    /// `SyncFailed` after a sync that failed; the disk failed.
    pub fn begin_sync(&self) -> Result<Option<SyncPoint>, LogError> {
        match &self.state.lock().failure {
            Some(failure @ Failure::SyncFailed(_)) => return Err(failure.clone().into()),
            // Closing synced what there was; an abandoned folder may be gone.
            Some(Failure::Closed) => return Ok(None),
            Some(Failure::Poisoned(_)) | None => {}
        }
        let _reading = self.cut.read();
        let mut syncing = self.syncing.lock();
        let published = self.published();
        let end = published.end;
        if syncing.recovery_point >= end && syncing.owed.is_nothing() {
            return Ok(None);
        }
        let mut files = Vec::new();
        for index in published.segment_at(syncing.recovery_point)..published.segments.len() {
            if published.end_of(index) <= syncing.recovery_point {
                continue;
            }
            let segment = &published.segments[index];
            files.push(segment.file()?);
            if index + 1 < published.segments.len() {
                files.append(&mut segment.index_files()?);
            }
        }
        let truncations = syncing.truncations;
        let owed = &mut syncing.owed;
        files.extend(owed.files.iter().map(|(_, file)| Arc::clone(file)));
        let small = owed.small.keys().copied().collect();
        let (dir, parent, round) = (owed.dir.is_some(), owed.parent.is_some(), owed.round);
        owed.round += 1;
        let place = self.place();
        Ok(Some(SyncPoint { end, truncations, round, files, place, small, dir, parent }))
    }

    /// Takes the outcome of a sync: moves the recovery point, or takes the log offline for good. Returns the recovery
    /// point, which may stay below the sync's end if the log was cut meanwhile.
    ///
    /// # Errors
    /// `SyncFailed` if this or an earlier sync failed; `Disk` if there was no descriptor to sync with, and it is still owed.
    pub fn finish_sync(
        &self,
        point: SyncPoint,
        result: Result<(), DiskError>,
        now_ms: i64,
    ) -> Result<Offset, LogError> {
        if let Err(error) = result {
            if error.lacks_descriptors() {
                return Err(error.into());
            }
            self.sync_failed(&error);
            return Err(LogError::SyncFailed(error));
        }
        if let Some(failure @ Failure::SyncFailed(_)) = &self.state.lock().failure {
            return Err(failure.clone().into());
        }
        let mut syncing = self.syncing.lock();
        syncing.owed.paid(point.round);
        let end = self.end();
        if point.truncations == syncing.truncations {
            syncing.recovery_point = syncing.recovery_point.max(point.end);
        }
        syncing.dirty_since_ms = (syncing.recovery_point < end).then_some(now_ms);
        assert!(syncing.recovery_point <= end, "recovery point {} passed the log end {end}", syncing.recovery_point);
        Ok(syncing.recovery_point)
    }

    /// All of it at once, blocking. Returns the recovery point.
    ///
    /// # Errors
    /// `SyncFailed` if it fails, or one failed before.
    pub fn sync(&self, now_ms: i64) -> Result<Offset, LogError> {
        match self.begin_sync()? {
            Some(point) => {
                let result = point.run();
                self.finish_sync(point, result, now_ms)
            }
            None => Ok(self.recovery_point()),
        }
    }

    /// Takes the log offline for good, and leaves a mark for the next opening.
    pub(crate) fn sync_failed(&self, error: &DiskError) {
        self.fail(Failure::SyncFailed(error.clone()));
        suspect::mark(&self.place(), error);
    }

    /// Records were published.
    pub(crate) fn became_dirty(&self, now_ms: i64) {
        self.syncing.lock().dirty_since_ms.get_or_insert(now_ms);
    }

    /// Files that were made, or names that changed, go with the next sync.
    pub(crate) fn owe_sync(&self, files: Vec<Arc<dyn DiskFile>>) {
        self.syncing.lock().owed.owe(files);
    }

    /// A small file that was written in the log's folder goes with the next sync.
    pub fn owe_small(&self, name: &'static str) {
        let mut syncing = self.syncing.lock();
        let round = syncing.owed.round;
        syncing.owed.small.insert(name, round);
        syncing.owed.dir = Some(round);
    }

    /// The log was cut to `end`, or begins anew there.
    pub(crate) fn lower_recovery_point(&self, end: Offset) {
        let mut syncing = self.syncing.lock();
        syncing.recovery_point = syncing.recovery_point.min(end);
        syncing.truncations += 1;
        syncing.owed.files.clear();
        syncing.owed.owe(Vec::new());
    }

    /// Another folder's files, synced through `end`, are the log's from now on; a sync of the old ones that is under way moves
    /// nothing.
    pub(crate) fn start_over_synced(&self, end: Offset) {
        let mut syncing = self.syncing.lock();
        assert!(end >= syncing.recovery_point, "synced through {end}, and {} was promised", syncing.recovery_point);
        syncing.recovery_point = end;
        syncing.truncations += 1;
        syncing.owed = Owed { round: syncing.owed.round, ..Owed::default() };
        syncing.dirty_since_ms = None;
    }

    /// Everything below `end` was synced by the caller, names included.
    pub(crate) fn raise_recovery_point(&self, end: Offset) {
        let mut syncing = self.syncing.lock();
        syncing.recovery_point = syncing.recovery_point.max(end);
        syncing.owed = Owed { round: syncing.owed.round, ..Owed::default() };
        syncing.dirty_since_ms = None;
    }
}

#[cfg(test)]
mod tests;
