use ballast_wire::{LeaderEpoch, Offset};
use bytes::Bytes;

use crate::error::AppendError;
use crate::log::Log;
use crate::validate::ValidBatch;

/// What an append was given. It may be read, and be told to the client, once the published end has passed `last_offset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// Offset of the first record.
    pub base_offset: Offset,
    /// Offset of the last record.
    pub last_offset: Offset,
    /// The append time in ms on a LogAppendTime topic, -1 otherwise.
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

impl Log {
    /// Takes a batch in: judges the producer's sequence, assigns offsets, queues it. No I/O. The caller calls
    /// [`Log::drain`] next, whatever this returned `Ok` for.
    ///
    /// # Errors
    /// The batch was refused and nothing changed.
    pub fn append(&self, batch: ValidBatch, leader_epoch: LeaderEpoch, now_ms: i64) -> Result<Appended, AppendError> {
        todo!()
    }

    /// Writes what is queued, if nobody does already, and publishes the end.
    pub fn drain(&self, budget: Budget) -> Drained {
        todo!()
    }

    /// Appends batches that carry their offsets and leader epochs (a follower's fetch, the metadata log), writes and
    /// publishes them before it returns. A batch cut off at the end of `batches` is left out, as fetches may end in one.
    /// Each batch must lie at or above the end (exactly there if the log is `contiguous`) and must not step back in epoch.
    ///
    /// # Errors
    /// Batches before the one at fault were appended, unless it is a write that failed.
    pub fn append_stamped(&self, batches: &Bytes, now_ms: i64) -> Result<Appended, AppendError> {
        todo!()
    }
}
