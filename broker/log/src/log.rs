//! A log: its segments, and the locks that let many threads use it at once.
//!
//! ```text
//! writer ──► state ──► published          cut ──► published
//!   who may touch files   what is queued    readers share it while they turn offsets into views;
//!   (one drainer, roll,   and promised      whoever shortens or renames a file holds it alone
//!    truncation, close)
//! ```
//! Holds:
//!   1. Locks are taken in the order of the arrows. Nothing is written under `state` or `published`.
//!   2. Readers see `published` alone: an end, the bytes that belong to it, and the segments. Appends never wait for them.
//!   3. start <= published end <= assigned end; recovery point <= published end.
//!   4. After a sync that failed, or a write that could not be taken back, nothing is written any more.
//!
//! Read next: `open` (how a log comes to life), `append`, `read`.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ballast_wire::Offset;
use parking_lot::{Mutex, RwLock};

use crate::append::Queued;
use crate::config::LogConfig;
use crate::epoch::Epochs;
use crate::error::{AppendError, DiskError, LogError};
use crate::names::Place;
use crate::producer::state::Producers;
use crate::retain::Condemned;
use crate::segment::{Indexer, Segment};
use crate::sync::Syncing;
use crate::tail::Tail;

/// One partition's log. All methods take `&self`; a log is shared by the threads that produce, fetch and clean.
#[derive(Debug)]
pub struct Log {
    /// Its folder. Another one once a copy has taken over (`relocate`).
    pub(crate) place: RwLock<Arc<Place>>,
    config: RwLock<Arc<LogConfig>>,
    pub(crate) writer: Mutex<Writer>,
    pub(crate) state: Mutex<State>,
    pub(crate) cut: RwLock<()>,
    published: RwLock<Published>,
    pub(crate) epochs: RwLock<Epochs>,
    pub(crate) syncing: Mutex<Syncing>,
    pub(crate) condemned: Mutex<Vec<Condemned>>,
}

/// What readers see.
#[derive(Debug, Clone)]
pub(crate) struct Published {
    pub(crate) start: Offset,
    pub(crate) end: Offset,
    /// What there is of the last segment below `end`.
    pub(crate) tail: Tail,
    /// At least one, by base.
    pub(crate) segments: Arc<Vec<Arc<Segment>>>,
}

impl Published {
    /// Index of the segment that holds `offset`, or would.
    pub(crate) fn segment_at(&self, offset: Offset) -> usize {
        self.segments.partition_point(|segment| segment.base <= offset).saturating_sub(1)
    }

    pub(crate) fn active(&self) -> &Arc<Segment> {
        self.segments.last().expect("a log has at least one segment")
    }

    /// Readable bytes of the segment at `index`.
    pub(crate) fn bytes_of(&self, index: usize) -> u64 {
        if index + 1 == self.segments.len() { self.tail.bytes() } else { self.segments[index].bytes() }
    }

    /// One above the last offset of the segment at `index`, holes at its end included.
    pub(crate) fn end_of(&self, index: usize) -> Offset {
        self.segments.get(index + 1).map_or(self.end, |next| next.base)
    }
}

/// What whoever writes files owns.
#[derive(Debug)]
pub(crate) struct Writer {
    /// The last segment.
    pub(crate) active: Arc<Segment>,
    /// Where the next batch goes.
    pub(crate) bytes: u64,
    /// Room reserved in the active file, in bytes from its start.
    pub(crate) reserved: u64,
    pub(crate) indexer: Indexer,
    /// Largest timestamp of the active segment's first batch; `None` until it is needed (or while there is no batch).
    pub(crate) first_timestamp: Option<i64>,
    /// When the active segment was made, in ms since 1970.
    pub(crate) created_ms: i64,
    /// Version of the epochs that the checkpoint file has.
    pub(crate) saved_epochs: u64,
    /// Has anything been written since the log was opened? If not, closing it has nothing to do.
    pub(crate) touched: bool,
}

/// What is queued and promised.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) queue: VecDeque<Queued>,
    /// Somebody writes what is queued.
    pub(crate) draining: bool,
    /// One above the last offset that was given out.
    pub(crate) assigned_end: Offset,
    /// The producers as they will be once everything queued is written.
    pub(crate) producers: Producers,
    pub(crate) failure: Option<Failure>,
}

/// Why nothing is written any more.
#[derive(Debug, Clone)]
pub(crate) enum Failure {
    Poisoned(DiskError),
    SyncFailed(DiskError),
    Closed,
}

impl From<Failure> for LogError {
    fn from(failure: Failure) -> LogError {
        match failure {
            Failure::Poisoned(error) => LogError::Poisoned(error),
            Failure::SyncFailed(error) => LogError::SyncFailed(error),
            Failure::Closed => LogError::Closed,
        }
    }
}

impl From<Failure> for AppendError {
    fn from(failure: Failure) -> AppendError {
        match failure {
            Failure::Poisoned(error) => AppendError::Poisoned(error),
            Failure::SyncFailed(error) => AppendError::SyncFailed(error),
            Failure::Closed => AppendError::Closed,
        }
    }
}

/// The parts that a log is put together from.
pub(crate) struct Parts {
    pub(crate) place: Arc<Place>,
    pub(crate) config: Arc<LogConfig>,
    pub(crate) segments: Vec<Arc<Segment>>,
    pub(crate) start: Offset,
    pub(crate) end: Offset,
    pub(crate) recovery_point: Offset,
    pub(crate) indexer: Indexer,
    pub(crate) producers: Producers,
    pub(crate) epochs: Epochs,
    pub(crate) saved_epochs: u64,
    pub(crate) touched: bool,
    /// Its names, and what its small files say, may not be on the disk yet: it is new, or a life before this one ended
    /// before it synced them.
    pub(crate) owes_names: bool,
    pub(crate) now_ms: i64,
}

impl Log {
    pub(crate) fn assemble(parts: Parts) -> Log {
        let active = Arc::clone(parts.segments.last().expect("a log has at least one segment"));
        let bytes = active.bytes();
        let writer = Writer {
            active,
            bytes,
            reserved: 0,
            indexer: parts.indexer,
            first_timestamp: None,
            created_ms: parts.now_ms,
            saved_epochs: parts.saved_epochs,
            touched: parts.touched,
        };
        let published = Published {
            start: parts.start,
            end: parts.end,
            tail: Tail::new(bytes),
            segments: Arc::new(parts.segments),
        };
        let syncing = Syncing::new(parts.recovery_point, parts.end, parts.now_ms);
        let state = State {
            queue: VecDeque::new(),
            draining: false,
            assigned_end: parts.end,
            producers: parts.producers,
            failure: None,
        };
        Log {
            place: RwLock::new(parts.place),
            config: RwLock::new(parts.config),
            writer: Mutex::new(writer),
            state: Mutex::new(state),
            cut: RwLock::new(()),
            published: RwLock::new(published),
            epochs: RwLock::new(parts.epochs),
            syncing: Mutex::new(if parts.owes_names { syncing.owing_names() } else { syncing }),
            condemned: Mutex::new(Vec::new()),
        }
    }

    pub(crate) fn place(&self) -> Arc<Place> {
        Arc::clone(&self.place.read())
    }

    /// The folder.
    #[must_use]
    pub fn dir(&self) -> PathBuf {
        self.place().dir()
    }

    /// First offset that may be read.
    #[must_use]
    pub fn start(&self) -> Offset {
        self.published.read().start
    }

    /// The published end: one above the last offset that may be read (LEO).
    #[must_use]
    pub fn end(&self) -> Offset {
        self.published.read().end
    }

    /// Everything below it survives a crash of the machine.
    #[must_use]
    pub fn recovery_point(&self) -> Offset {
        self.syncing.lock().recovery_point
    }

    /// First offset of the oldest segment: what the log start checkpoint is compared with (Kafka lists only logs whose
    /// start lies above it).
    #[must_use]
    pub fn first_segment_base(&self) -> Offset {
        self.published.read().segments[0].base
    }

    /// First offset of the active segment: the cleaner stays below it.
    #[must_use]
    pub fn active_segment_base(&self) -> Offset {
        self.published.read().active().base
    }

    /// Bytes of all segments, indexes left out.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        let published = self.published();
        (0..published.segments.len()).map(|index| published.bytes_of(index)).sum()
    }

    /// Number of segments, at least 1.
    #[must_use]
    pub fn segment_count(&self) -> usize {
        self.published.read().segments.len()
    }

    /// Largest record timestamp in ms since 1970, -1 for a log without any.
    ///
    /// # Errors
    /// Reading a time index may fail.
    pub fn largest_timestamp(&self) -> Result<i64, LogError> {
        let _reading = self.cut.read();
        let mut largest = -1;
        for segment in self.published().segments.iter() {
            largest = largest.max(segment.largest()?.timestamp);
        }
        Ok(largest)
    }

    /// The present settings.
    #[must_use]
    pub fn config(&self) -> Arc<LogConfig> {
        Arc::clone(&self.config.read())
    }

    /// Replaces the settings. They count from the next append, retention or validation on.
    pub fn update_config(&self, config: Arc<LogConfig>) {
        *self.config.write() = config;
    }

    /// Why nothing is written any more, if so. Reads of what is published still work.
    #[must_use]
    pub fn failure(&self) -> Option<LogError> {
        self.state.lock().failure.clone().map(LogError::from)
    }

    /// Writes nothing any more, because the folder is about to go, and gives it its last name (`…-delete`), beside the one
    /// that it has. What is queued is dropped; reads still work. The new name is owed until the folder around it is synced:
    /// many logs that go together need one sync.
    ///
    /// # Errors
    /// Whatever the disk says; the folder then keeps its old name.
    pub fn doom(&self, to: &Path) -> Result<(), LogError> {
        let _writer = self.writer.lock();
        self.fail(Failure::Closed);
        self.drop_queued(Vec::new());
        let _cutting = self.cut.write();
        self.place().rename(to)?;
        for segment in self.published().segments.iter() {
            segment.forget_files();
        }
        for condemned in self.condemned.lock().iter_mut() {
            condemned.moved_to(to);
        }
        Ok(())
    }

    /// What readers see now.
    pub(crate) fn published(&self) -> Published {
        self.published.read().clone()
    }

    /// Changes what readers see.
    pub(crate) fn publish(&self, change: impl FnOnce(&mut Published)) {
        let mut published = self.published.write();
        change(&mut published);
        let (start, end) = (published.start, published.end);
        assert!(start <= end, "log start {start} passed the log end {end}");
    }

    /// Refuses to write after a failure.
    pub(crate) fn must_be_usable(&self) -> Result<(), LogError> {
        match &self.state.lock().failure {
            Some(failure) => Err(failure.clone().into()),
            None => Ok(()),
        }
    }

    /// Refuses writes from now on. The first reason stays, except that a failed sync outranks all.
    pub(crate) fn fail(&self, failure: Failure) {
        let mut state = self.state.lock();
        if state.failure.is_none() || matches!(failure, Failure::SyncFailed(_)) {
            state.failure = Some(failure);
        }
    }

    /// After something half done: refuses writes until the log is opened and recovered again, unless the disk was merely full.
    pub(crate) fn poison(&self, error: DiskError) -> LogError {
        self.fail(Failure::Poisoned(error.clone()));
        self.failure().unwrap_or(LogError::Poisoned(error))
    }
}

#[cfg(test)]
mod tests;
