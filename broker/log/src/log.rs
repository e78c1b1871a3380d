use std::path::{Path, PathBuf};
use std::sync::Arc;

use ballast_wire::Offset;

use crate::config::LogConfig;
use crate::disk::Disk;
use crate::error::LogError;
use crate::recover::{Progress, RecoveryReport};

/// What is known about a log from outside its folder when it is opened: the checkpoints of its log directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFrom {
    /// Did the broker stop cleanly? Then nothing is read but the tail behind the last index entry.
    pub clean: bool,
    /// Everything below it is known to be on disk. 0 when unknown.
    pub recovery_point: Offset,
    /// First offset that may be read. 0 when unknown.
    pub log_start: Offset,
}

/// One partition's log. All methods take `&self`; a log is shared by the threads that produce, fetch and clean.
#[derive(Debug)]
pub struct Log {}

impl Log {
    /// Makes the folder and an empty log in it that starts at `start` (0 for a new partition).
    ///
    /// # Errors
    /// Whatever the disk says; `Foreign` if the folder holds a log already.
    pub fn create(
        disk: Arc<dyn Disk>,
        dir: PathBuf,
        config: Arc<LogConfig>,
        start: Offset,
        now_ms: i64,
    ) -> Result<Log, LogError> {
        todo!()
    }

    /// Opens the log in `dir`, recovering what an unclean stop left. `progress` is called about every 64 MiB of scanning.
    ///
    /// # Errors
    /// Whatever the disk says. Damage is no error: it is cut and told in the report.
    pub fn open(
        disk: Arc<dyn Disk>,
        dir: PathBuf,
        config: Arc<LogConfig>,
        from: OpenFrom,
        now_ms: i64,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(Log, RecoveryReport), LogError> {
        todo!()
    }

    /// The folder.
    #[must_use]
    pub fn dir(&self) -> PathBuf {
        todo!()
    }

    /// First offset that may be read.
    #[must_use]
    pub fn start(&self) -> Offset {
        todo!()
    }

    /// The published end: one above the last offset that may be read (LEO).
    #[must_use]
    pub fn end(&self) -> Offset {
        todo!()
    }

    /// Everything below it survives a crash of the machine.
    #[must_use]
    pub fn recovery_point(&self) -> Offset {
        todo!()
    }

    /// First offset of the oldest segment: what the log start checkpoint is compared with (Kafka lists only logs whose
    /// start lies above it).
    #[must_use]
    pub fn first_segment_base(&self) -> Offset {
        todo!()
    }

    /// First offset of the active segment: the cleaner stays below it.
    #[must_use]
    pub fn active_segment_base(&self) -> Offset {
        todo!()
    }

    /// Bytes of all segments, indexes left out.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        todo!()
    }

    /// Number of segments, at least 1.
    #[must_use]
    pub fn segment_count(&self) -> usize {
        todo!()
    }

    /// Largest record timestamp in ms since 1970, -1 for a log without any.
    ///
    /// # Errors
    /// Reading a time index may fail.
    pub fn largest_timestamp(&self) -> Result<i64, LogError> {
        todo!()
    }

    /// The present settings.
    #[must_use]
    pub fn config(&self) -> Arc<LogConfig> {
        todo!()
    }

    /// Replaces the settings. They count from the next append, retention or validation on.
    pub fn update_config(&self, config: Arc<LogConfig>) {
        todo!()
    }

    /// Seals the active segment, so that the next append starts a new one. Nothing happens when it is empty.
    ///
    /// # Errors
    /// Whatever the disk says; the log is then as before.
    pub fn roll(&self, now_ms: i64) -> Result<(), LogError> {
        todo!()
    }

    /// Stops the log cleanly: closing time-index entry, files trimmed and synced, producer snapshot at the end. Appends
    /// that are still queued are dropped; later writes are refused; reads of what is published still work. Returns the end,
    /// which is the new recovery point. A second call does nothing.
    ///
    /// # Errors
    /// Whatever the disk says; the log directory was then not stopped cleanly.
    pub fn close(&self) -> Result<Offset, LogError> {
        todo!()
    }

    /// Gives the folder another name (`…-delete`, `…-future`, or a future log taking its plain name) and goes on under it.
    ///
    /// # Errors
    /// Whatever the disk says; the log then keeps its old name.
    pub fn rename_dir(&self, to: &Path) -> Result<(), LogError> {
        todo!()
    }
}
