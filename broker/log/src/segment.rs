//! One segment: a file of record batches and the sparse indexes that find them.
//!
//! ```text
//! base                                 published            reserved
//!  |------------------------------------|- - - - - - - - - - -|
//!  may be read, never changes            being written          (active segment only)
//! ```
//! Holds after every call:
//!   1. Batches rise in offset, index entries rise in both columns, and both indexes point below what is written.
//!   2. A sealed segment never changes in place: truncating into one swaps in a shorter copy. Only the last segment of a
//!      log is unsealed.
//!   3. An index entry is a hint. Whoever follows it compares the batch it finds with the entry, and walks from the
//!      beginning if they differ.
//!
//! Read next: `roll` (when a segment is sealed), `scan` (how batches are walked), `recover` (what a crash can leave behind).

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ballast_wire::Offset;
use parking_lot::{Mutex, RwLock};

use crate::disk::{DiskFile, FileKind, OpenMode};
use crate::error::{DiskContext, DiskError, ReadError};
use crate::header::Header;
use crate::index::Index;
use crate::index::offset::OffsetEntry;
use crate::index::time::TimeEntry;
use crate::index::txn::AbortedTxn;
use crate::names::{Part, Place, remove_if_there};
use crate::scan::{HEADERS_WINDOW_BYTES, Scanner};

/// The largest timestamp of a segment and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Largest {
    /// In ms since 1970, -1 when no record has a timestamp.
    pub(crate) timestamp: i64,
    /// Last offset of the first batch that has it.
    pub(crate) offset: Offset,
}

/// A batch that was looked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Located {
    pub(crate) position: u64,
    pub(crate) header: Header,
}

/// One segment of a log.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) place: Arc<Place>,
    pub(crate) base: Offset,
    /// Opened on first use, and again when its name changed.
    file: RwLock<Option<Arc<dyn DiskFile>>>,
    /// Published bytes; final once the segment is sealed.
    bytes: AtomicU64,
    pub(crate) offsets: Index<OffsetEntry>,
    pub(crate) times: Index<TimeEntry>,
    pub(crate) txns: Index<AbortedTxn>,
    /// `None` until somebody asks, for a segment that was found on disk.
    largest: Mutex<Option<Largest>>,
    /// Last change of the file in ms since 1970, for segments whose records have no timestamps.
    pub(crate) modified_ms: i64,
}

/// What the folder says about the files of a segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SegmentFiles {
    pub(crate) log_bytes: u64,
    pub(crate) modified_ms: i64,
    pub(crate) offset_index_bytes: Option<u64>,
    pub(crate) time_index_bytes: Option<u64>,
    pub(crate) txn_index_bytes: Option<u64>,
}

impl Segment {
    /// A segment that is on disk. Nothing is opened.
    pub(crate) fn found(place: Arc<Place>, base: Offset, files: SegmentFiles) -> Segment {
        Segment {
            place,
            base,
            file: RwLock::new(None),
            bytes: AtomicU64::new(files.log_bytes),
            offsets: Index::new(files.offset_index_bytes.unwrap_or(0)),
            times: Index::new(files.time_index_bytes.unwrap_or(0)),
            txns: Index::new(files.txn_index_bytes.unwrap_or(0)),
            largest: Mutex::new(None),
            modified_ms: files.modified_ms,
        }
    }

    /// Makes the file of a new, empty segment. What an earlier attempt left under its names is emptied.
    pub(crate) fn create(place: &Arc<Place>, base: Offset, now_ms: i64) -> Result<Segment, DiskError> {
        let path = place.path(base, Part::Log);
        let file = place.disk.open(&path, OpenMode::Create, FileKind::ActiveLog).doing("cannot make", &path)?;
        if file.len().doing("cannot stat", &path)? > 0 {
            file.set_len(0).doing("cannot empty", &path)?;
            for part in [Part::OffsetIndex, Part::TimeIndex, Part::TxnIndex] {
                remove_if_there(place, &place.path(base, part))?;
            }
        }
        let segment =
            Segment::found(Arc::clone(place), base, SegmentFiles { modified_ms: now_ms, ..Default::default() });
        *segment.file.write() = Some(file);
        *segment.largest.lock() = Some(Largest { timestamp: -1, offset: base });
        Ok(segment)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.place.path(self.base, Part::Log)
    }

    /// The open file, opened if need be.
    pub(crate) fn file(&self) -> Result<Arc<dyn DiskFile>, DiskError> {
        if let Some(file) = &*self.file.read() {
            return Ok(Arc::clone(file));
        }
        self.open_file(FileKind::SealedLog)
    }

    /// Opens the file for a purpose, if it is not open yet.
    pub(crate) fn open_file(&self, kind: FileKind) -> Result<Arc<dyn DiskFile>, DiskError> {
        let mut slot = self.file.write();
        if let Some(file) = &*slot {
            file.set_kind(kind);
            return Ok(Arc::clone(file));
        }
        let path = self.path();
        let file = self.place.disk.open(&path, OpenMode::Write, kind).doing("cannot open", &path)?;
        *slot = Some(Arc::clone(&file));
        Ok(file)
    }

    /// Goes on with another file under the same name, or opens it again when asked next.
    pub(crate) fn replace_file(&self, file: Option<Arc<dyn DiskFile>>) {
        *self.file.write() = file;
    }

    /// The folder got another name: everything is opened again.
    pub(crate) fn forget_files(&self) {
        self.replace_file(None);
        self.offsets.forget_file();
        self.times.forget_file();
        self.txns.forget_file();
    }

    /// The index files that there are.
    pub(crate) fn index_files(&self) -> Result<Vec<Arc<dyn DiskFile>>, DiskError> {
        let (place, base) = (&self.place, self.base);
        let files = [self.offsets.file(place, base)?, self.times.file(place, base)?, self.txns.file(place, base)?];
        Ok(files.into_iter().flatten().collect())
    }

    /// Published bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Acquire)
    }

    pub(crate) fn set_bytes(&self, bytes: u64) {
        self.bytes.store(bytes, Ordering::Release);
    }

    /// The largest timestamp: as told by the writer, or the last entry of the time index.
    pub(crate) fn largest(&self) -> Result<Largest, DiskError> {
        if let Some(largest) = *self.largest.lock() {
            return Ok(largest);
        }
        let largest = self.indexed_largest()?;
        Ok(*self.largest.lock().get_or_insert(largest))
    }

    /// The last entry of the time index.
    pub(crate) fn indexed_largest(&self) -> Result<Largest, DiskError> {
        let last = self.times.last(&self.place, self.base)?;
        Ok(last.map_or(Largest { timestamp: -1, offset: self.base }, |entry| Largest {
            timestamp: entry.timestamp,
            offset: entry.offset(self.base),
        }))
    }

    pub(crate) fn set_largest(&self, largest: Largest) {
        *self.largest.lock() = Some(largest);
    }

    /// The first batch below `limit_bytes` that holds `offset` or lies above it.
    pub(crate) fn locate(&self, offset: Offset, limit_bytes: u64) -> Result<Option<Located>, ReadError> {
        let file = self.file()?;
        let mut scanner = Scanner::new(&*file, limit_bytes, HEADERS_WINDOW_BYTES);
        let mut position = self.hint(offset, &mut scanner)?;
        while let Some(header) = scanner.batch(position)? {
            if header.last_offset() >= offset {
                return Ok(Some(Located { position, header }));
            }
            position += header.size;
        }
        Ok(None)
    }

    /// Where to begin a walk that looks for `offset`: the batch of the index entry at or below it, if it is what the entry
    /// says; the beginning of the segment otherwise.
    pub(crate) fn hint(&self, offset: Offset, scanner: &mut Scanner<'_>) -> Result<u64, DiskError> {
        let entry = self.offsets.floor(&self.place, self.base, |entry| entry.offset(self.base) <= offset)?;
        let Some(entry) = entry else { return Ok(0) };
        let position = u64::from(entry.position);
        match scanner.step(position)? {
            crate::scan::Step::Batch(header) if header.last_offset() == entry.offset(self.base) => Ok(position),
            // The entry's batch was published after the caller looked at the end.
            crate::scan::Step::End => Ok(0),
            found => {
                tracing::warn!(segment = %self.path().display(), ?entry, ?found, "an index entry is wrong, walking instead");
                Ok(0)
            }
        }
    }
}

impl Segment {
    /// Where a walk that looks for `offset` would begin, unchecked and without touching the segment.
    pub(crate) fn position_hint(&self, offset: Offset) -> Result<u64, DiskError> {
        let entry = self.offsets.floor(&self.place, self.base, |entry| entry.offset(self.base) <= offset)?;
        Ok(entry.map_or(0, |entry| entry.position.into()))
    }
}

/// Adds index entries as batches come by: the same rule for appends and for recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Indexer {
    bytes_since_entry: u64,
    pub(crate) largest: Largest,
    /// Timestamp of the last entry of the time index, -1 if there is none.
    indexed_timestamp: i64,
}

impl Indexer {
    /// For an empty segment.
    pub(crate) fn empty(base: Offset) -> Indexer {
        Indexer { bytes_since_entry: 0, largest: Largest { timestamp: -1, offset: base }, indexed_timestamp: -1 }
    }

    /// For a segment whose last time index entry is `indexed`. The batches from its last offset index entry on are told by
    /// [`Indexer::recall`].
    pub(crate) fn behind(indexed: Largest) -> Indexer {
        Indexer { bytes_since_entry: 0, largest: indexed, indexed_timestamp: indexed.timestamp }
    }

    /// Takes note of a batch that is behind the last index entry already.
    pub(crate) fn recall(&mut self, header: &Header) {
        if header.max_timestamp > self.largest.timestamp {
            self.largest = Largest { timestamp: header.max_timestamp, offset: header.last_offset() };
        }
        self.bytes_since_entry += header.size;
    }

    /// Takes note of the batch at `position`.
    pub(crate) fn note(&mut self, segment: &Segment, header: &Header, position: u64, interval_bytes: u64) {
        if header.max_timestamp > self.largest.timestamp {
            self.largest = Largest { timestamp: header.max_timestamp, offset: header.last_offset() };
        }
        if self.bytes_since_entry > interval_bytes
            && let Some(entry) = OffsetEntry::new(segment.base, header.last_offset(), position)
        {
            segment.offsets.push(&segment.place, segment.base, entry);
            self.add_time(segment);
            self.bytes_since_entry = 0;
        }
        self.bytes_since_entry += header.size;
    }

    /// Adds the largest timestamp to the time index, unless it is there.
    pub(crate) fn add_time(&mut self, segment: &Segment) {
        if self.largest.timestamp > self.indexed_timestamp
            && let Some(entry) = TimeEntry::new(segment.base, self.largest.timestamp, self.largest.offset)
        {
            segment.times.push(&segment.place, segment.base, entry);
            self.indexed_timestamp = self.largest.timestamp;
        }
    }
}

/// The index state at the end of a segment: its last entries, and what follows them.
pub(crate) fn indexer_of(segment: &Segment, bytes: u64) -> Result<Indexer, ReadError> {
    let mut indexer = Indexer::behind(segment.indexed_largest()?);
    let file = segment.file()?;
    let mut scanner = crate::scan::Scanner::new(&*file, bytes, crate::scan::HEADERS_WINDOW_BYTES);
    let mut position = segment.hint(Offset::MAX, &mut scanner)?;
    while let Some(header) = scanner.batch(position)? {
        indexer.recall(&header);
        position += header.size;
    }
    Ok(indexer)
}
