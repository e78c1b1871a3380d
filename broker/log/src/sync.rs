use ballast_wire::Offset;

use crate::error::{DiskError, LogError};
use crate::log::Log;

/// What has to be synced so that everything below `end` survives a crash. Made under the log's locks, run outside of them
/// on any thread.
#[derive(Debug)]
pub struct SyncPoint {
    end: Offset,
}

impl SyncPoint {
    /// Everything below it survives once the sync is done.
    #[must_use]
    pub fn end(&self) -> Offset {
        self.end
    }

    /// Syncs files and folder. Blocks.
    ///
    /// # Errors
    /// The first that failed. Hand the result to [`Log::finish_sync`] whatever it is.
    pub fn run(&self) -> Result<(), DiskError> {
        todo!()
    }
}

impl Log {
    /// Is a sync due by `flush.messages` or `flush.ms`?
    #[must_use]
    pub fn needs_sync(&self, now_ms: i64) -> bool {
        todo!()
    }

    /// Is anything published that is not synced?
    #[must_use]
    pub fn is_dirty(&self) -> bool {
        todo!()
    }

    /// What has to be synced now; `None` when nothing has.
    ///
    /// # Errors
    /// `SyncFailed` after a sync that failed, `Closed`.
    pub fn begin_sync(&self) -> Result<Option<SyncPoint>, LogError> {
        todo!()
    }

    /// Takes the outcome of a sync: moves the recovery point, or takes the log offline for good. Returns the recovery
    /// point, which may stay below the sync's end if the log was cut meanwhile.
    ///
    /// # Errors
    /// `SyncFailed` if this or an earlier sync failed.
    pub fn finish_sync(
        &self,
        point: SyncPoint,
        result: Result<(), DiskError>,
        now_ms: i64,
    ) -> Result<Offset, LogError> {
        todo!()
    }

    /// All of it at once, blocking. Returns the recovery point.
    ///
    /// # Errors
    /// `SyncFailed` if it fails, or one failed before.
    pub fn sync(&self, now_ms: i64) -> Result<Offset, LogError> {
        todo!()
    }
}
