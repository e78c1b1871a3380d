use ballast_wire::{LeaderEpoch, Offset};

use crate::error::LogError;
use crate::log::Log;

/// Where a leader epoch ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochEnd {
    /// The epoch that the answer is about, -1 when nothing is known.
    pub epoch: LeaderEpoch,
    /// One above its last offset, -1 when nothing is known.
    pub end_offset: Offset,
}

impl Log {
    /// Writes down that `epoch` begins at `start`, usually the end of the log as its leader takes over. An epoch that got
    /// no record is replaced. Does nothing if it is not newer than the latest.
    ///
    /// # Errors
    /// Writing the checkpoint file failed; the epoch is then not assigned.
    pub fn assign_epoch(&self, epoch: LeaderEpoch, start: Offset) -> Result<(), LogError> {
        todo!()
    }

    /// Where `epoch` ends here (kafka.md §5.3): the latest ends at the log's end, a later one is unknown, one below the
    /// first known ends where that begins, and one in between is answered by the largest known one at or below it.
    #[must_use]
    pub fn epoch_end_offset(&self, epoch: LeaderEpoch) -> EpochEnd {
        todo!()
    }

    /// The newest leader epoch known, if any.
    #[must_use]
    pub fn latest_epoch(&self) -> Option<LeaderEpoch> {
        todo!()
    }

    /// The epoch of the record at `offset`, if known.
    #[must_use]
    pub fn epoch_at(&self, offset: Offset) -> Option<LeaderEpoch> {
        todo!()
    }

    /// The largest known epoch at or below `epoch` with its end: what a follower compares a leader's answer with.
    #[must_use]
    pub fn epoch_entries(&self) -> Vec<(LeaderEpoch, Offset)> {
        todo!()
    }
}
