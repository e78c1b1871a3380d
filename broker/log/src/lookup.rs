use ballast_wire::{LeaderEpoch, Offset};

use crate::error::ReadError;
use crate::log::Log;

/// A record found by its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// Its offset.
    pub offset: Offset,
    /// Its timestamp in ms since 1970.
    pub timestamp_ms: i64,
    /// Epoch of its batch.
    pub leader_epoch: LeaderEpoch,
}

impl Log {
    /// The first record, in offset order, whose timestamp is at least `timestamp_ms`; `None` if there is none or it lies at
    /// or above `bound`.
    ///
    /// # Errors
    /// The disk failed or a batch does not open.
    pub fn offset_for_timestamp(&self, timestamp_ms: i64, bound: Offset) -> Result<Option<Found>, ReadError> {
        todo!()
    }

    /// The first record that has the largest timestamp of the log; `None` for an empty log, or if it lies at or above
    /// `bound`.
    ///
    /// # Errors
    /// The disk failed or a batch does not open.
    pub fn max_timestamp_offset(&self, bound: Offset) -> Result<Option<Found>, ReadError> {
        todo!()
    }
}
