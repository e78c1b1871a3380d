use ballast_wire::Offset;

use crate::error::LogError;
use crate::log::Log;

/// What retention removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retained {
    /// Segments that went.
    pub segments: usize,
    /// Their bytes.
    pub bytes: u64,
}

impl Log {
    /// Raises the start (DeleteRecords, or a leader's start told to a follower). Segments below it go with the next
    /// [`Log::retain`]. Returns whether it moved; the caller writes the log start checkpoint.
    ///
    /// # Errors
    /// `OutOfRange` above the end; the disk failed.
    pub fn advance_start(&self, offset: Offset) -> Result<bool, LogError> {
        todo!()
    }

    /// Removes the oldest segments that lie below the start, are too old or too many (kafka.md §3.4), but none that reaches
    /// above `high_watermark`. Their files stay as `….deleted` until [`Log::reap`].
    ///
    /// # Errors
    /// Whatever the disk says.
    pub fn retain(&self, now_ms: i64, high_watermark: Offset) -> Result<Retained, LogError> {
        todo!()
    }

    /// Unlinks deleted files whose `file.delete.delay.ms` is over. Returns when the next one is due, in ms since 1970.
    ///
    /// # Errors
    /// The first file that could not be unlinked; it is tried again next time.
    pub fn reap(&self, now_ms: i64) -> Result<Option<i64>, LogError> {
        todo!()
    }
}
