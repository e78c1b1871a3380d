//! What a start finds in the metadata log, and the blocking work on it.
//!
//! ```text
//! quorum-purged ── log opened after it, all of it scanned ── torn tail cut ── synced ── newest entries into memory
//! ```
//! Holds: everything that is found is synced before it counts, and a log that misses entries at its beginning is refused.

use std::path::Path;
use std::sync::Arc;

use ballast_log::disk::Disk;

use ballast_log::{CleanupPolicy, Log, LogConfig, OpenFrom};
use ballast_net::Clock;
use ballast_wire::Offset;
use ballast_wire::batch::batches;
use parking_lot::Mutex;

use super::entries::Entries;
use super::files::{Files, Remembered};
use super::serial::Serial;
use super::{Inner, Store, batch};
use crate::quorum::TOLD;
use crate::quorum::entry::Entry;
use crate::quorum::error::{DiskContext, EntryError, Fault, QuorumError};
use crate::quorum::types::{LogId, next_index};

/// Size in bytes at which a segment is sealed: what one purge can free.
const SEGMENT_BYTES: u64 = 16 << 20;
/// Bytes read at once.
const READ_BYTES: usize = 1 << 20;

impl Store {
    /// Opens the log in `dir`, or makes it. Blocks.
    ///
    /// # Errors
    /// The disk failed; files that no crash can leave behind.
    pub fn open(disk: Arc<dyn Disk>, dir: &Path, clock: Arc<dyn Clock>, fault: Fault) -> Result<Store, QuorumError> {
        Store::open_with(disk, dir, clock, fault, SEGMENT_BYTES)
    }

    /// As [`Store::open`], with segments of another size, which tests need.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_with(
        disk: Arc<dyn Disk>,
        dir: &Path,
        clock: Arc<dyn Clock>,
        fault: Fault,
        segment_bytes: u64,
    ) -> Result<Store, QuorumError> {
        disk.create_dir(dir).doing("cannot make", dir)?;
        if let Some(parent) = dir.parent() {
            disk.sync_dir(parent).doing("cannot sync", parent)?;
        }
        let (files, Remembered { vote, purged, committed }) = Files::open(Arc::clone(&disk), dir.to_owned())?;
        let wanted = next_index(purged.as_ref());
        let log = open_log(&disk, dir, segment_bytes, super::offset_of(wanted)?, clock.now_ms())?;
        let start = index_of(log.start());
        if start != wanted {
            return Err(QuorumError::Gap { wanted, start });
        }
        let mut entries = Entries::after(purged);
        load(&log, &mut entries)?;
        let voted = vote.map_or((0, -1), |vote| (vote.leader_id.term, vote.leader_id.node_id.node));
        let last_term = entries.last().map_or(0, |last| last.leader_id.term);
        let (end, term, candidate) = (log.end(), voted.0, voted.1);
        tracing::trace!(target: TOLD, end, last_term, term, candidate, "metadata opens");
        let log = Arc::new(log);
        let serial = Serial::new(Arc::clone(&disk), Arc::clone(&log), Arc::clone(&clock));
        Ok(Store(Arc::new(Inner {
            disk,
            log,
            serial,
            files: Arc::new(files),
            entries: Mutex::new(entries),
            vote: Mutex::new(vote),
            committed: Mutex::new(committed),
            clock,
            fault,
        })))
    }
}

impl Store {
    /// Index of the first entry, and of the next one.
    #[must_use]
    pub fn bounds(&self) -> (u64, u64) {
        let entries = self.0.entries.lock();
        (entries.first(), entries.end())
    }

    /// The last entry that is known to be committed. It may lie beyond the end, if the disk lost entries.
    #[must_use]
    pub fn committed(&self) -> Option<LogId> {
        *self.0.committed.lock()
    }
}

fn open_log(
    disk: &Arc<dyn Disk>,
    dir: &Path,
    segment_bytes: u64,
    log_start: Offset,
    now_ms: i64,
) -> Result<Log, QuorumError> {
    let config = LogConfig {
        segment_bytes,
        segment_ms: i64::MAX,
        retention_ms: -1,
        retention_bytes: -1,
        cleanup: CleanupPolicy { delete: false, compact: false },
        file_delete_delay_ms: 0,
        producer_state: false,
        contiguous: true,
        ..LogConfig::default()
    };
    // The log is short, because snapshots let it be purged: all of it is checked at every start.
    let from = OpenFrom { clean: false, recovery_point: 0, log_start };
    let (log, report) = Log::open(Arc::clone(disk), dir.to_owned(), Arc::new(config), from, now_ms, &mut |_| ())?;
    if let Some(bytes) = report.written_again_bytes {
        tracing::warn!(
            bytes,
            "a sync of the metadata log failed before the last stop: it was written and synced again"
        );
    }
    if let Some(cut) = report.cut {
        tracing::warn!(?cut, "the metadata log ended in bytes that were never acknowledged; they were cut");
    }
    log.sync(now_ms)?;
    Ok(log)
}

/// Reads all entries, and keeps the newest.
fn load(log: &Log, entries: &mut Entries) -> Result<(), QuorumError> {
    let end = index_of(log.end());
    let mut next = entries.end();
    while next < end {
        let found = read(log, next, end, READ_BYTES)?;
        if found.is_empty() {
            return Err(QuorumError::Gap { wanted: next, start: end });
        }
        for entry in found {
            next += 1;
            entries.push(entry, end);
        }
    }
    Ok(())
}

/// The entries from `from` up to `to`, all of which are in the log; no more than `max_bytes` of them, but at least one.
pub(super) fn read(log: &Log, from: u64, to: u64, max_bytes: usize) -> Result<Vec<Entry>, QuorumError> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut next = from;
    let mut bytes = 0;
    while next < to && (entries.is_empty() || bytes < max_bytes) {
        let found = log.read(super::offset_of(next)?, super::offset_of(to)?, READ_BYTES, true)?;
        let before = next;
        if let Some(chunk) = found.records {
            let chunk = chunk.bytes().doing("cannot read", &log.dir())?;
            for batch in batches(&chunk) {
                let failed = |cause: EntryError| QuorumError::Entry { index: next, cause };
                let entry = batch::entry_of(&batch.map_err(|cause| failed(cause.into()))?).map_err(failed)?;
                if entry.log_id.index != next {
                    return Err(QuorumError::NotContinuous { index: entry.log_id.index, end: next });
                }
                bytes += entry.size_bytes();
                entries.push(entry);
                next += 1;
            }
        }
        if next == before {
            return Err(QuorumError::Gap { wanted: next, start: index_of(log.end()) });
        }
    }
    Ok(entries)
}

/// Cuts the log so that it ends at `end`. Survives a crash once this returns.
pub(super) fn truncate(log: &Log, end: Offset, now_ms: i64) -> Result<(), QuorumError> {
    log.truncate_to(end)?;
    log.reap(now_ms)?;
    Ok(())
}

/// Drops what lies below `start`, in whole segments.
pub(super) fn purge(log: &Log, start: Offset, now_ms: i64) -> Result<(), QuorumError> {
    if start > log.end() {
        log.truncate_fully_and_start_at(start, now_ms)?;
    } else {
        log.advance_start(start)?;
        log.retain(now_ms, log.end())?;
    }
    log.reap(now_ms)?;
    Ok(())
}

fn index_of(offset: Offset) -> u64 {
    u64::try_from(offset).expect("a log starts and ends at 0 or above")
}
