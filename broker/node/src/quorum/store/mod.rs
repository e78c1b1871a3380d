//! The metadata log and the vote, as openraft wants them kept.
//!
//! ```text
//! __cluster_metadata-0/   segments of ballast-log, one entry = one batch (batch.rs) · quorum-vote, -purged, -committed (files.rs)
//! ```
//! Holds:
//!   1. What was acknowledged survives every crash: entries after the sync that covers them, votes before `save_vote`
//!      returns, and a truncation before anything appended after it is acknowledged.
//!   2. Writes take effect in the order they were asked for (serial.rs).
//!   3. The log is contiguous. What was purged is written down before the first segment goes.
//!
//! Read next: open (what a start finds), serial, entries.

mod batch;
mod entries;
mod files;
mod open;
mod serial;

use std::fmt::Debug;
use std::io;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use ballast_log::Log;
use ballast_log::disk::Disk;
use ballast_net::Clock;
use bytes::BytesMut;
use openraft::storage::{LogFlushed, RaftLogStorage};
use openraft::{LogState, OptionalSend, RaftLogReader};
use parking_lot::Mutex;

pub(super) use serial::{on_disk, on_readers};

use self::entries::Entries;
use self::files::Files;
use self::serial::Serial;
use super::TOLD;
use super::entry::Entry;
use super::error::{EntryError, Fault, QuorumError};
use super::types::{LogId, StorageError, TypeConfig, Vote};

/// Bytes of entries that one replication request carries at most, unless the first is larger.
const READ_BYTES_MAX: usize = 4 << 20;

/// See the module. A clone is another handle, and each can read.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    disk: Arc<dyn Disk>,
    log: Arc<Log>,
    serial: Arc<Serial>,
    files: Arc<Files>,
    entries: Mutex<Entries>,
    vote: Mutex<Option<Vote>>,
    committed: Mutex<Option<LogId>>,
    clock: Arc<dyn Clock>,
    fault: Fault,
}

impl Store {
    /// Syncs and closes the log. Nothing can be written any more.
    ///
    /// # Errors
    /// Whatever the disk says.
    pub async fn close(&self) -> Result<(), QuorumError> {
        let log = Arc::clone(&self.0.log);
        self.0.serial.run(move || Ok(log.close().map(drop)?)).await
    }

    /// The last entry, or the last that was purged; it may be on its way to the disk.
    pub(super) fn last(&self) -> Option<LogId> {
        self.0.entries.lock().last()
    }

    /// The term of the vote that is kept, 0 if none is.
    pub(super) fn term(&self) -> u64 {
        self.0.vote.lock().map_or(0, |vote| vote.leader_id.term)
    }

    #[expect(clippy::result_large_err, reason = "what openraft's traits return")]
    fn raise<T>(&self, result: Result<T, QuorumError>) -> Result<T, StorageError> {
        result.map_err(|error| self.0.fault.raise(error))
    }

    /// The entries from `from` up to `to` that exist; after the first, no more than `max_bytes` of them.
    async fn entries(&self, from: u64, to: u64, max_bytes: usize) -> Result<Vec<Entry>, QuorumError> {
        loop {
            let (from, recent_from, to) = {
                let entries = self.0.entries.lock();
                (from.max(entries.first()), entries.recent_from(), to.min(entries.end()))
            };
            let mut found = Vec::new();
            if from < to.min(recent_from) {
                let (log, upto) = (Arc::clone(&self.0.log), to.min(recent_from));
                found = on_readers(&*self.0.disk, move || open::read(&log, from, upto, max_bytes)).await?;
                if (found.len() as u64) < upto - from {
                    return Ok(found);
                }
            }
            let next = from.max(recent_from);
            let mut recent = self.0.entries.lock().recent(next, to);
            // While the disk was read, the oldest may have left memory.
            if recent.first().is_none_or(|first| first.log_id.index == next) {
                found.append(&mut recent);
                return Ok(fitting(found, max_bytes));
            }
        }
    }

    /// Takes entries into memory and gives them as batches, and whether the log has to begin at the first of them.
    fn accept(&self, new: impl IntoIterator<Item = Entry>) -> Result<(BytesMut, Option<u64>), QuorumError> {
        let now_ms = self.0.clock.now_ms();
        let written = u64::try_from(self.0.log.end()).expect("a log ends at 0 or above");
        let mut entries = self.0.entries.lock();
        let mut batches = BytesMut::new();
        let mut begins_at = None;
        for entry in new {
            let (index, end) = (entry.log_id.index, entries.end());
            if entries.purged().is_some_and(|purged| index <= purged.index) {
                // A snapshot has it.
                continue;
            }
            if entries.is_untouched() && index != end {
                begins_at = Some(index);
            } else if index != end {
                return Err(QuorumError::NotContinuous { index, end });
            }
            let batch = batch::batch_of(&entry, now_ms).map_err(|cause| QuorumError::Entry { index, cause })?;
            batches.extend_from_slice(&batch);
            tracing::trace!(target: TOLD, index, term = entry.log_id.leader_id.term, "metadata entry");
            entries.push(entry, written);
        }
        Ok((batches, begins_at))
    }

    async fn begin_at(&self, index: u64) -> Result<(), QuorumError> {
        let (log, clock) = (Arc::clone(&self.0.log), Arc::clone(&self.0.clock));
        let restart = move || {
            tell_bounds(0, log.end().max(offset_of(index)?));
            log.truncate_fully_and_start_at(offset_of(index)?, clock.now_ms())?;
            tell_bounds(log.end(), log.end());
            Ok(())
        };
        self.0.serial.run(restart).await
    }

    async fn cut(&self, since: u64) -> Result<(), QuorumError> {
        let this = self.clone();
        self.0.serial.run(move || this.cut_here(since)).await
    }

    /// Cuts the entries from `since` on. Blocks, and is in line with nothing: for a start.
    pub(super) fn cut_here(&self, since: u64) -> Result<(), QuorumError> {
        let Inner { log, entries, clock, .. } = &*self.0;
        tell_bounds(log.recovery_point().min(offset_of(since)?), log.end());
        open::truncate(log, offset_of(since)?, clock.now_ms())?;
        tell_bounds(log.end(), log.end());
        let (is_known, first) = {
            let mut entries = entries.lock();
            entries.truncate(since);
            (entries.end() == since, entries.first())
        };
        if !is_known && since > first {
            let last = open::read(log, since - 1, since, 0)?;
            let last = last.last().ok_or(QuorumError::Gap { wanted: since - 1, start: first })?;
            entries.lock().set_last(last.log_id);
        }
        Ok(())
    }

    async fn drop_upto(&self, upto: LogId) -> Result<(), QuorumError> {
        let this = self.clone();
        let purge = move || {
            let Inner { log, files, entries, clock, .. } = &*this.0;
            if entries.lock().purged() >= Some(upto) {
                return Ok(());
            }
            let start = offset_of(upto.index + 1)?;
            tell_bounds(log.recovery_point(), log.end().max(start));
            files.save_purged(&upto)?;
            entries.lock().purge(upto);
            open::purge(log, start, clock.now_ms())
        };
        self.0.serial.run(purge).await
    }
}

/// The first entries that have `max_bytes` together, but at least one.
fn fitting(mut entries: Vec<Entry>, max_bytes: usize) -> Vec<Entry> {
    let mut bytes = 0;
    let fits = |entry: &&Entry| {
        bytes += entry.size_bytes();
        bytes <= max_bytes
    };
    let count = entries.iter().take_while(fits).count().max(1);
    entries.truncate(count);
    entries
}

/// Tells that a crash leaves a log that ends at `from` or above, at `upto` at most.
fn tell_bounds(from: i64, upto: i64) {
    tracing::trace!(target: TOLD, from, upto, "metadata bounds");
}

/// An index as an offset.
fn offset_of(index: u64) -> Result<i64, QuorumError> {
    i64::try_from(index).map_err(|_| QuorumError::Entry { index, cause: EntryError::IndexTooLarge(index) })
}

impl RaftLogReader<TypeConfig> for Store {
    async fn try_get_log_entries<RB: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: RB,
    ) -> Result<Vec<Entry>, StorageError> {
        let from = match range.start_bound() {
            Bound::Included(from) => *from,
            Bound::Excluded(before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let to = match range.end_bound() {
            Bound::Included(last) => last.saturating_add(1),
            Bound::Excluded(to) => *to,
            Bound::Unbounded => u64::MAX,
        };
        let entries = self.entries(from, to, usize::MAX).await;
        self.raise(entries)
    }

    async fn limited_get_log_entries(&mut self, start: u64, end: u64) -> Result<Vec<Entry>, StorageError> {
        let entries = self.entries(start, end, READ_BYTES_MAX).await;
        self.raise(entries)
    }
}

impl Store {
    /// Lets openraft find the vote as a candidate's, if it was that of `me` as the leader. openraft would begin as the leader
    /// that it was, although others may have elected a newer one since: so it asks for votes like anybody else. What others
    /// hold is not touched by it, and nobody else is given the vote of this term.
    pub(super) fn forget_reign(&self, me: crate::quorum::types::NodeId) {
        if let Some(vote) = &mut *self.0.vote.lock()
            && vote.leader_id.node_id == me
        {
            vote.committed = false;
        }
    }
}

impl RaftLogStorage<TypeConfig> for Store {
    type LogReader = Store;

    async fn get_log_state(&mut self) -> Result<LogState<TypeConfig>, StorageError> {
        let entries = self.0.entries.lock();
        Ok(LogState { last_purged_log_id: entries.purged(), last_log_id: entries.last() })
    }

    async fn get_log_reader(&mut self) -> Store {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote) -> Result<(), StorageError> {
        let (vote, files) = (*vote, Arc::clone(&self.0.files));
        let saved = if vote.leader_id.term > i32::MAX as u64 {
            let cause = EntryError::TermTooLarge(vote.leader_id.term);
            Err(QuorumError::Entry { index: self.0.entries.lock().end(), cause })
        } else {
            self.0.serial.run(move || files.save_vote(&vote)).await
        };
        self.raise(saved)?;
        let (term, candidate) = (vote.leader_id.term, vote.leader_id.node_id.node);
        tracing::trace!(target: TOLD, term, candidate, "votes");
        *self.0.vote.lock() = Some(vote);
        Ok(())
    }

    async fn read_vote(&mut self) -> Result<Option<Vote>, StorageError> {
        Ok(*self.0.vote.lock())
    }

    async fn save_committed(&mut self, committed: Option<LogId>) -> Result<(), StorageError> {
        if let Some(committed) = &committed {
            // One small write without a sync: cheaper here than on another thread.
            self.raise(self.0.files.save_committed(committed))?;
        }
        *self.0.committed.lock() = committed;
        Ok(())
    }

    async fn read_committed(&mut self) -> Result<Option<LogId>, StorageError> {
        Ok(*self.0.committed.lock())
    }

    async fn append<I>(&mut self, entries: I, callback: LogFlushed<TypeConfig>) -> Result<(), StorageError>
    where
        I: IntoIterator<Item = Entry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let accepted = self.accept(entries);
        let (batches, begins_at) = self.raise(accepted)?;
        if let Some(index) = begins_at {
            let begun = self.begin_at(index).await;
            self.raise(begun)?;
        }
        let fault = self.0.fault.clone();
        self.0.serial.append(
            batches.freeze(),
            Box::new(move |synced| {
                callback.log_io_completed(synced.map_err(|error| {
                    fault.keep(error.clone());
                    io::Error::other(error)
                }));
            }),
        );
        Ok(())
    }

    async fn truncate(&mut self, since: LogId) -> Result<(), StorageError> {
        let cut = self.cut(since.index).await;
        self.raise(cut)
    }

    async fn purge(&mut self, upto: LogId) -> Result<(), StorageError> {
        let purged = self.drop_upto(upto).await;
        self.raise(purged)
    }
}
