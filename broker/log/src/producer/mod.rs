//! What a log remembers of its idempotent and transactional producers.
//!
//! Holds: the state is a function of the batches below some offset (and of time, which forgets the silent ones). It runs
//! ahead of the published end by what is queued, and goes back if that fails.
//!
//! Read next: `state` (the rules of sequences, kafka.md §4.2), `snapshot` (its file).

pub(crate) mod snapshot;
pub(crate) mod state;

use ballast_wire::{Offset, ProducerEpoch, ProducerId};

use crate::error::ReadError;
use crate::index::txn::AbortedTxn;
use crate::log::Log;

/// What a log knows about one producer (DescribeProducers).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProducerInfo {
    /// Who.
    pub producer_id: ProducerId,
    /// Its epoch.
    pub producer_epoch: ProducerEpoch,
    /// Sequence of its last record, -1 when unknown.
    pub last_sequence: i32,
    /// Time of its last write in ms since 1970.
    pub last_timestamp_ms: i64,
    /// Epoch of the coordinator that wrote its last marker, -1 when none did.
    pub coordinator_epoch: i32,
    /// First offset of its open transaction, -1 when none is open.
    pub current_txn_start: Offset,
}

impl Log {
    /// Every producer that is remembered, by id.
    #[must_use]
    pub fn producers(&self) -> Vec<ProducerInfo> {
        self.state.lock().producers.infos()
    }

    /// Forgets producers that have been silent for `producer.id.expiration.ms`, unless a transaction of theirs is open.
    /// Returns how many.
    pub fn expire_producers(&self, now_ms: i64) -> usize {
        let expiration_ms = self.config().producer_id_expiration_ms;
        self.state.lock().producers.expire(now_ms, expiration_ms)
    }

    /// The last stable offset under this high watermark: the first offset of a transaction that is open, or whose marker
    /// is not yet below it; otherwise the high watermark itself. Forgets what has become stable, so pass true watermarks.
    #[must_use]
    pub fn last_stable_offset(&self, high_watermark: Offset) -> Offset {
        self.state.lock().producers.last_stable_offset(high_watermark)
    }

    /// The aborted transactions that touch `from` up to `bound`, in the order of their markers.
    ///
    /// # Errors
    /// Reading an index failed.
    pub fn aborted_transactions(&self, from: Offset, bound: Offset) -> Result<Vec<AbortedTxn>, ReadError> {
        let _reading = self.cut.read();
        let published = self.published();
        let mut found = Vec::new();
        for segment in &published.segments[published.segment_at(from)..] {
            for txn in segment.txns.all(&segment.place, segment.base)? {
                if txn.last_offset >= from && txn.first_offset < bound {
                    found.push(txn);
                }
                if txn.last_stable_offset >= bound {
                    return Ok(found);
                }
            }
        }
        Ok(found)
    }
}
