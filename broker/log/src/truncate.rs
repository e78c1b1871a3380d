use ballast_wire::Offset;

use crate::error::LogError;
use crate::log::Log;

impl Log {
    /// Cuts the log so that it ends at `offset`, or at the beginning of the batch that holds it, and drops what is queued.
    /// Returns the end. Readers keep what they hold. If it went below the recovery point, the caller writes the recovery
    /// point checkpoint before it appends again.
    ///
    /// # Errors
    /// Whatever the disk says; the published end has moved all the same.
    pub fn truncate_to(&self, offset: Offset) -> Result<Offset, LogError> {
        todo!()
    }

    /// Drops everything and goes on at `offset`, which becomes start, end and recovery point (a follower whose leader has
    /// moved past it, a snapshot of the metadata log).
    ///
    /// # Errors
    /// Whatever the disk says; the log is then poisoned.
    pub fn truncate_fully_and_start_at(&self, offset: Offset, now_ms: i64) -> Result<(), LogError> {
        todo!()
    }
}
