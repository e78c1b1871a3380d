//! How bytes get in: judged and queued under a lock, written by whoever finds nobody writing, then published.
//!
//! ```text
//!  append (many threads)            drain (one thread at a time)
//!  judge sequence, assign offsets   take the queue ── one pwritev ── publish the end ── index
//!  push to the queue                again, until the budget is used up
//! ```
//! Holds:
//!   1. Offsets are given out in the order of the queue and written in that order, without holes.
//!   2. What is published was written; a batch that failed was never readable, and its offsets are given out again.
//!   3. A failed write fails everything behind it in the queue, takes the producers' state back, and cuts the file back to
//!      the published end. A full disk leaves the log usable; any other error poisons it.
//!   4. The epoch checkpoint is written before the first batch of an epoch.
//!
//! Read next: `roll` (when a new segment begins), `stamped` (followers and the metadata log).

use std::io::IoSlice;
use std::sync::Arc;

use ballast_wire::batch::rewrite::HeaderBytes;
use ballast_wire::batch::view::stamp;
use ballast_wire::{LeaderEpoch, Offset};
use bytes::Bytes;

use crate::error::{AppendError, DiskContext, DiskError, ReadError};
use crate::header::Header;
use crate::index::txn::AbortedTxn;
use crate::log::{Failure, Log, State, Writer};
use crate::producer::snapshot;
use crate::producer::state::{Applied, Undo, Verdict};
use crate::roll::fits_offsets;
use crate::validate::ValidBatch;

/// What one round writes at most, in bytes, unless a single batch is larger.
const ROUND_BYTES_MAX: u64 = 4 << 20;
/// The first reservation of a segment; each one doubles, in bytes.
const RESERVE_BYTES_MIN: u64 = 16 << 10;
/// The largest step.
const RESERVE_BYTES_MAX: u64 = 16 << 20;
/// Base offset, length and leader epoch, which a leader stamps.
const PREFIX_BYTES: usize = 16;

/// What an append was given. It may be read, and be told to the client, once the published end has passed `last_offset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// Offset of the first record; -1 of a duplicate whose place is not known any more.
    pub base_offset: Offset,
    /// Offset of the last record, or of one that is not before it.
    pub last_offset: Offset,
    /// The append time in ms on a LogAppendTime topic, -1 otherwise; of a duplicate the time of the original's newest
    /// record, on any topic.
    pub log_append_time_ms: i64,
    /// First offset of the log.
    pub log_start_offset: Offset,
    /// Was this batch here before? Then nothing is appended and the offsets are those of the original, which may itself
    /// still be queued.
    pub duplicate: bool,
}

/// How long a drainer goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// Until the end has passed this offset, and one round more: for the one whose batch it is.
    Through(Offset),
    /// So many rounds at most: for a task that took over.
    Rounds(u32),
}

/// What a drain did.
#[derive(Debug)]
pub enum Drained {
    /// Somebody else is draining and will write what is queued.
    Busy,
    /// This caller drained.
    Done {
        /// The published end now: waiters below it have what they wait for.
        end: Offset,
        /// Is anything left in the queue, with nobody draining it? Then the caller hands over to a task of its own.
        more: bool,
        /// Everything at and above this offset failed for this reason and was taken back; its waiters must be told.
        failed: Option<(Offset, AppendError)>,
    },
}

/// A batch on its way to the file.
#[derive(Debug)]
pub(crate) struct Queued {
    pub(crate) front: Front,
    pub(crate) bytes: Bytes,
    /// With its final offsets.
    pub(crate) header: Header,
    /// For batches of a producer.
    pub(crate) undo: Option<Undo>,
    pub(crate) aborted: Option<AbortedTxn>,
    pub(crate) now_ms: i64,
}

/// What stands before the received bytes, in the place of their first.
#[derive(Debug)]
pub(crate) enum Front {
    /// Nothing: the batch was stamped by another.
    AsReceived,
    /// What a leader assigns.
    Stamped([u8; PREFIX_BYTES]),
    /// A rewritten header, stamped.
    Rewritten(Box<HeaderBytes>),
}

/// Why a round failed.
pub(crate) enum WriteError {
    Disk(DiskError),
    Read(ReadError),
}

impl From<DiskError> for WriteError {
    fn from(error: DiskError) -> WriteError {
        WriteError::Disk(error)
    }
}

impl From<ReadError> for WriteError {
    fn from(error: ReadError) -> WriteError {
        match error {
            ReadError::Disk(error) => WriteError::Disk(error),
            other => WriteError::Read(other),
        }
    }
}

impl Log {
    /// Takes a batch in: judges the producer's sequence, assigns offsets, queues it. No I/O. The caller calls
    /// [`Log::drain`] next, whatever this returned `Ok` for.
    ///
    /// # Errors
    /// The batch was refused and nothing changed.
    pub fn append(&self, batch: ValidBatch, leader_epoch: LeaderEpoch, now_ms: i64) -> Result<Appended, AppendError> {
        let mut state = self.state.lock();
        if let Some(failure) = &state.failure {
            return Err(failure.clone().into());
        }
        let latest = self.latest_epoch().unwrap_or(-1);
        if leader_epoch < latest {
            return Err(AppendError::StaleEpoch { given: leader_epoch, ours: latest });
        }
        let log_start_offset = self.start();
        let tracked = batch.header.has_producer() && self.config().producer_state;
        if tracked {
            let seen = |base_offset, last_offset, log_append_time_ms| {
                Ok(Appended { base_offset, last_offset, log_append_time_ms, log_start_offset, duplicate: true })
            };
            match state.producers.judge(&batch.header, batch.marker, batch.from_zero)? {
                Verdict::Fresh => {}
                // As Apache Kafka: the time is that of whoever gave the original its own.
                Verdict::Duplicate(original) => {
                    return seen(original.base_offset(), original.last_offset, original.timestamp);
                }
                Verdict::Forgotten { below } => return seen(-1, below - 1, -1),
            }
        }
        let base_offset = state.assigned_end;
        let header = Header { base_offset, leader_epoch, ..batch.header };
        if header.end() == Offset::MAX {
            return Err(AppendError::OffsetsExhausted(base_offset));
        }
        let front = Front::stamped(batch.rewritten, &batch.bytes, base_offset, leader_epoch);
        let applied = tracked.then(|| state.producers.apply(&header, batch.marker));
        if leader_epoch > latest {
            self.epochs.write().assign(leader_epoch, base_offset);
        }
        let log_append_time_ms = batch.log_append_time_ms;
        state.push(front, batch.bytes, header, applied, now_ms);
        let last_offset = header.last_offset();
        Ok(Appended { base_offset, last_offset, log_append_time_ms, log_start_offset, duplicate: false })
    }

    /// Writes what is queued, if nobody does already, and publishes the end.
    pub fn drain(&self, budget: Budget) -> Drained {
        {
            let mut state = self.state.lock();
            if state.draining {
                return Drained::Busy;
            }
            if state.queue.is_empty() {
                drop(state);
                return Drained::Done { end: self.end(), more: false, failed: None };
            }
            state.draining = true;
        }
        let mut writer = self.writer.lock();
        self.drain_rounds(&mut writer, budget)
    }

    /// Rounds of writing, by the one who set `draining`.
    fn drain_rounds(&self, writer: &mut Writer, budget: Budget) -> Drained {
        let (through, mut rounds_left) = match budget {
            Budget::Through(offset) => (offset, u32::MAX),
            Budget::Rounds(rounds) => (Offset::MAX, rounds),
        };
        loop {
            let end = self.end();
            if end > through {
                rounds_left = rounds_left.min(1);
            }
            let run = {
                let mut state = self.state.lock();
                if let Some(failure) = state.failure.clone() {
                    drop(state);
                    self.drop_queued(Vec::new());
                    return Drained::Done { end, more: false, failed: Some((end, failure.into())) };
                }
                let more = !state.queue.is_empty();
                if !more || rounds_left == 0 {
                    state.draining = false;
                    return Drained::Done { end, more, failed: None };
                }
                state.take_round()
            };
            rounds_left -= 1;
            if let Err((rest, error)) = self.write(writer, run) {
                let failed = self.fail_queued(writer, rest, error);
                return Drained::Done { end: self.end(), more: false, failed: Some((self.end(), failed)) };
            }
        }
    }

    /// Writes a run of batches, rolling where it must, and publishes each piece. On an error returns what was not written.
    pub(crate) fn write(&self, writer: &mut Writer, run: Vec<Queued>) -> Result<(), (Vec<Queued>, WriteError)> {
        let mut rest = run;
        while !rest.is_empty() {
            match self.write_piece(writer, &rest) {
                Ok(written) => drop(rest.drain(..written)),
                Err(error) => return Err((rest, error)),
            }
        }
        Ok(())
    }

    /// Writes as many batches of `rest` as go into one segment. Returns how many.
    fn write_piece(&self, writer: &mut Writer, rest: &[Queued]) -> Result<usize, WriteError> {
        let config = self.config();
        self.save_epochs(writer)?;
        let first = &rest[0];
        if writer.must_roll(&first.header, &config, first.now_ms)? {
            let snapshot = self.snapshot_before(rest);
            // The end of what is written: a follower's batch may lie above it, even so far that the base must follow.
            let end = self.end();
            let base = if fits_offsets(end, first.header.last_offset()) { end } else { first.header.base_offset };
            self.roll_to(writer, base, &snapshot, first.now_ms)?;
        }
        let mut count = 1;
        let mut bytes = first.header.size;
        for next in &rest[1..] {
            let goes_on = writer.bytes + bytes + next.header.size <= config.segment_bytes
                && !writer.must_roll(&next.header, &config, next.now_ms)?;
            if !goes_on {
                break;
            }
            bytes += next.header.size;
            count += 1;
        }
        self.write_batches(writer, &rest[..count], bytes, config.segment_bytes)?;
        self.publish_batches(writer, &rest[..count], config.index_interval_bytes);
        Ok(count)
    }

    fn write_batches(
        &self,
        writer: &mut Writer,
        batches: &[Queued],
        bytes: u64,
        segment_bytes: u64,
    ) -> Result<(), DiskError> {
        writer.touched = true;
        let file = writer.active.file()?;
        let end = writer.bytes + bytes;
        if end > writer.reserved && self.place().disk.is_durable() {
            let step = writer.reserved.next_power_of_two().clamp(RESERVE_BYTES_MIN, RESERVE_BYTES_MAX);
            let ahead = (end + step).min(segment_bytes).max(end);
            // Room for a whole step may be wanting where there is room enough for this.
            file.reserve(ahead).or_else(|_| file.reserve(end)).doing("cannot reserve room in", file.path())?;
            writer.reserved = ahead;
        }
        let mut parts = Vec::with_capacity(batches.len() * 2);
        for batch in batches {
            let front: &[u8] = match &batch.front {
                Front::AsReceived => &[],
                Front::Stamped(prefix) => prefix,
                Front::Rewritten(header) => &**header,
            };
            if !front.is_empty() {
                parts.push(IoSlice::new(front));
            }
            parts.push(IoSlice::new(&batch.bytes[front.len()..]));
        }
        file.write_at(writer.bytes, &parts).doing("cannot write", file.path())
    }

    /// Lets readers see batches that were written, then indexes them.
    fn publish_batches(&self, writer: &mut Writer, batches: &[Queued], interval_bytes: u64) {
        let last = batches.last().expect("at least one batch was written");
        let mut position = writer.bytes;
        let (first, begins_at) = (batches[0].header.base_offset, position);
        let bytes = position + batches.iter().map(|batch| batch.header.size).sum::<u64>();
        writer.bytes = bytes;
        writer.active.set_bytes(bytes);
        self.publish(|published| {
            published.end = last.header.end();
            published.tail.grew(first, begins_at, bytes);
        });
        self.became_dirty(last.now_ms);
        if writer.first_timestamp.is_none() && position == 0 {
            writer.first_timestamp = Some(batches[0].header.max_timestamp);
        }
        let active = &writer.active;
        for batch in batches {
            writer.indexer.note(active, &batch.header, position, interval_bytes);
            if let Some(aborted) = batch.aborted {
                active.txns.push(&active.place, active.base, aborted);
            }
            position += batch.header.size;
        }
        active.set_largest(writer.indexer.largest);
    }

    /// The producers before the first batch of `rest`, which is not written yet.
    fn snapshot_before(&self, rest: &[Queued]) -> Vec<u8> {
        let state = self.state.lock();
        let unwritten = state.queue.iter().rev().chain(rest.iter().rev());
        snapshot::encode(&state.producers.before(unwritten.filter_map(|queued| queued.undo.as_ref())))
    }

    /// A write failed: takes back everything that is not published, and cuts the file back. Returns what to tell.
    pub(crate) fn fail_queued(&self, writer: &mut Writer, rest: Vec<Queued>, error: WriteError) -> AppendError {
        let failed = match error {
            WriteError::Disk(error) if error.is_full() => match self.cut_back(writer) {
                Ok(()) => AppendError::StorageFull(error),
                Err(error) => AppendError::Poisoned(error),
            },
            WriteError::Disk(error) => {
                // Best effort: what is left behind the published end is not read, and recovery judges it.
                let _ = self.cut_back(writer);
                AppendError::Poisoned(error)
            }
            WriteError::Read(error) => AppendError::Poisoned(DiskError {
                doing: "cannot read",
                path: writer.active.path(),
                source: Arc::new(std::io::Error::new(std::io::ErrorKind::InvalidData, error.to_string())),
            }),
        };
        if let AppendError::Poisoned(error) = &failed {
            self.fail(Failure::Poisoned(error.clone()));
        }
        self.drop_queued(rest);
        failed
    }

    /// Takes back `rest` and all that is queued behind it.
    pub(crate) fn drop_queued(&self, rest: Vec<Queued>) {
        let end = self.end();
        let mut state = self.state.lock();
        let queued = std::mem::take(&mut state.queue);
        for undo in rest.into_iter().chain(queued).rev().filter_map(|dropped| dropped.undo) {
            state.producers.undo(undo);
        }
        state.assigned_end = end;
        state.draining = false;
        // An epoch whose first batch did not make it may stay: it begins at the end, as if it had just been assigned.
        self.epochs.write().truncate_to(end.saturating_add(1));
    }

    /// Frees the active file of what a failed write left behind the published end.
    fn cut_back(&self, writer: &mut Writer) -> Result<(), DiskError> {
        let file = writer.active.file()?;
        let len = file.len().doing("cannot stat", file.path())?;
        if len <= writer.bytes {
            return Ok(());
        }
        writer.reserved = 0;
        // What failed may have reached the disk, and must not come back after a sync.
        self.owe_sync(vec![Arc::clone(&file)]);
        let _cutting = self.cut.write();
        if !file.is_viewed() {
            return file.set_len(writer.bytes).doing("cannot cut back", file.path());
        }
        // A reader holds the file, so it keeps its length. Zeros read as the end.
        let zeros = [0; 4096];
        let mut position = writer.bytes;
        while position < len {
            let piece = (len - position).min(zeros.len() as u64) as usize;
            file.write_at(position, &[IoSlice::new(&zeros[..piece])]).doing("cannot zero", file.path())?;
            position += piece as u64;
        }
        Ok(())
    }
}

impl State {
    /// Queues a batch that was judged.
    pub(crate) fn push(&mut self, front: Front, bytes: Bytes, header: Header, applied: Option<Applied>, now_ms: i64) {
        let (undo, aborted) = applied.map_or((None, None), |applied| (Some(applied.undo), applied.aborted));
        self.assigned_end = header.end();
        self.queue.push_back(Queued { front, bytes, header, undo, aborted, now_ms });
    }

    /// The batches of one round, at least one.
    fn take_round(&mut self) -> Vec<Queued> {
        let mut bytes = 0;
        let fits = |queued: &&Queued| {
            bytes += queued.header.size;
            bytes <= ROUND_BYTES_MAX
        };
        let count = self.queue.iter().take_while(fits).count().max(1);
        self.queue.drain(..count).collect()
    }
}

impl Front {
    /// What a leader assigns; length, and a rewritten header, as they were.
    fn stamped(
        rewritten: Option<Box<HeaderBytes>>,
        batch: &[u8],
        base_offset: Offset,
        leader_epoch: LeaderEpoch,
    ) -> Front {
        match rewritten {
            Some(mut header) => {
                stamp(&mut header[..], base_offset, leader_epoch);
                Front::Rewritten(header)
            }
            None => {
                let mut prefix: [u8; PREFIX_BYTES] = batch[..PREFIX_BYTES].try_into().expect("a batch has its header");
                stamp(&mut prefix, base_offset, leader_epoch);
                Front::Stamped(prefix)
            }
        }
    }
}

#[cfg(test)]
mod tests;
