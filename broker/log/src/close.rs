//! The clean stop of a log: what makes the next opening read nothing.
//!
//! Holds: when it returns `Ok`, everything published is on disk, the indexes have exactly their entries, and a producer
//! snapshot stands at the end. The caller then writes the checkpoints, and last the clean-shutdown file.
//!
//! Only what cannot be made again is synced (batches, aborted transactions): ten thousand logs stop within a second or so.
//! If power fails right after a clean stop, the next opening finds that an index or snapshot is not what it should be.

use std::sync::Arc;

use ballast_wire::Offset;

use crate::disk::FileKind;
use crate::error::{DiskError, LogError};
use crate::log::{Failure, Log, Writer};
use crate::names::Part;
use crate::producer::snapshot;
use crate::sync::SyncPoint;

impl Log {
    /// Stops the log cleanly: closing time-index entry, files trimmed, data synced, producer snapshot at the end. Appends
    /// that are still queued are dropped; later writes are refused; reads of what is published still work. Returns the end,
    /// which is the new recovery point. A second call does nothing, as does closing a log that was opened after a clean
    /// stop and not written to.
    ///
    /// # Errors
    /// Whatever the disk says; the log directory was then not stopped cleanly.
    pub fn close(&self) -> Result<Offset, LogError> {
        if let Some(point) = self.begin_close()? {
            let result = point.run();
            self.finish_close(point, result)?;
        }
        Ok(self.end())
    }

    /// The first half of [`Log::close`], for whoever closes many: everything but the sync, which the caller runs and tells
    /// [`Log::finish_close`] of. `None` if there is nothing to sync.
    ///
    /// # Errors
    /// As [`Log::close`].
    pub fn begin_close(&self) -> Result<Option<SyncPoint>, LogError> {
        let mut writer = self.writer.lock();
        match self.failure() {
            Some(LogError::Closed) => return Ok(None),
            Some(failure) => return Err(failure),
            None => {}
        }
        self.drop_queued(Vec::new());
        if writer.touched {
            let end = self.end();
            self.write_closing_state(&mut writer, end)?;
            writer.touched = false;
        }
        let point = self.begin_sync()?;
        self.fail(Failure::Closed);
        Ok(point)
    }

    /// The second half: takes the outcome of the sync.
    ///
    /// # Errors
    /// `SyncFailed` if it failed.
    pub fn finish_close(&self, point: SyncPoint, result: Result<(), DiskError>) -> Result<Offset, LogError> {
        let end = self.finish_sync(point, result, 0)?;
        self.published().active().open_file(FileKind::SealedLog)?;
        Ok(end)
    }

    fn write_closing_state(&self, writer: &mut Writer, end: Offset) -> Result<(), LogError> {
        let active = Arc::clone(&writer.active);
        writer.indexer.add_time(&active);
        self.seal(writer)?;
        if self.config().producer_state && end > 0 {
            let snapshot = snapshot::encode(&self.state.lock().producers.entries());
            snapshot::store(&*self.place().disk, &self.place().path(end, Part::Snapshot), &snapshot)?;
        }
        if let Some(txns) = active.txns.file(&active.place, active.base)? {
            self.owe_sync(vec![txns]);
        }
        Ok(self.save_epochs(writer)?)
    }
}
