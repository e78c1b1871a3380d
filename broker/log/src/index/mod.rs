//! A sparse index: a file of entries of one size that only grows, with its newest entries still in memory.
//!
//! ```text
//!  on disk (count × size bytes)          | tail (at most 64, not yet written)
//!  rising in every column ──────────────────────────────────────────────────►
//! ```
//! Holds:
//!   1. Entries rise; a reader sees the file's part without a lock and the tail under a short one.
//!   2. The file has no more entries than `written`; it is made with the first ones, or when the segment is sealed.
//!   3. Nothing here is trusted after a crash: recovery makes the index of every segment again that was not synced. A look-up
//!      is a hint, and whoever follows it compares what it finds (`segment`).
//!
//! Read next: `offset`, `time`, `txn` (the entries).

pub(crate) mod offset;
pub(crate) mod time;
pub(crate) mod txn;

use std::io::IoSlice;
use std::path::Path;
use std::sync::Arc;

use ballast_wire::{Chunk, Offset};
use bytes::Bytes;
use parking_lot::Mutex;

use crate::disk::{DiskFile, FileKind, OpenMode};
use crate::error::{DiskContext, DiskError};
use crate::names::{Part, Place, remove_if_there};

/// Entries that wait in memory before they are written together.
const TAIL_ENTRIES_MAX: usize = 64;

/// What an index is made of.
pub(crate) trait Entry: Copy + std::fmt::Debug {
    /// Which file.
    const PART: Part;
    /// Bytes of one entry.
    const BYTES: usize;

    fn encode(&self, out: &mut Vec<u8>);

    /// `bytes` has `BYTES` bytes.
    fn decode(bytes: &[u8]) -> Self;
}

/// One index of one segment.
#[derive(Debug)]
pub(crate) struct Index<E> {
    inner: Mutex<Inner<E>>,
}

#[derive(Debug)]
struct Inner<E> {
    file: Option<Arc<dyn DiskFile>>,
    /// Entries in the file.
    written: usize,
    tail: Vec<E>,
}

/// The part of an index that is in its file, to be read without a lock.
struct Written<E> {
    source: Source,
    count: usize,
    entry: std::marker::PhantomData<E>,
}

enum Source {
    Nothing,
    Memory(Bytes),
    File(Arc<dyn DiskFile>),
}

impl<E: Entry> Index<E> {
    /// An index whose file holds so many bytes (0 also if there is no file yet).
    pub(crate) fn new(file_bytes: u64) -> Index<E> {
        let written = (file_bytes / E::BYTES as u64) as usize;
        Index { inner: Mutex::new(Inner { file: None, written, tail: Vec::new() }) }
    }

    /// Can a file of so many bytes be an index?
    pub(crate) fn is_whole(file_bytes: u64) -> bool {
        file_bytes.is_multiple_of(E::BYTES as u64)
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        let inner = self.inner.lock();
        inner.written + inner.tail.len()
    }

    /// Adds an entry. One that cannot be written now stays in memory and is tried again; only sealing insists.
    pub(crate) fn push(&self, place: &Place, base: Offset, entry: E) {
        let mut inner = self.inner.lock();
        inner.tail.push(entry);
        if inner.tail.len().is_multiple_of(TAIL_ENTRIES_MAX)
            && let Err(error) = inner.write_tail(place, base)
        {
            tracing::warn!(%error, "an index stays in memory");
        }
    }

    /// The last entry.
    pub(crate) fn last(&self, place: &Place, base: Offset) -> Result<Option<E>, DiskError> {
        let written = {
            let mut inner = self.inner.lock();
            match inner.tail.last() {
                Some(last) => return Ok(Some(*last)),
                None => inner.written(place, base)?,
            }
        };
        if written.count == 0 { Ok(None) } else { written.at(written.count - 1).map(Some) }
    }

    /// The last entry of those at the front for which `keep` holds; `keep` must be true up to some entry and false behind.
    pub(crate) fn floor(&self, place: &Place, base: Offset, keep: impl Fn(&E) -> bool) -> Result<Option<E>, DiskError> {
        let written = {
            let mut inner = self.inner.lock();
            if inner.tail.first().is_some_and(&keep) {
                let kept = inner.tail.partition_point(&keep);
                return Ok(Some(inner.tail[kept - 1]));
            }
            inner.written(place, base)?
        };
        let kept = written.partition_point(keep)?;
        if kept == 0 { Ok(None) } else { written.at(kept - 1).map(Some) }
    }

    /// Every entry, for indexes that are small and read in full.
    pub(crate) fn all(&self, place: &Place, base: Offset) -> Result<Vec<E>, DiskError> {
        let (written, tail) = {
            let mut inner = self.inner.lock();
            (inner.written(place, base)?, inner.tail.clone())
        };
        let mut entries = (0..written.count).map(|n| written.at(n)).collect::<Result<Vec<E>, DiskError>>()?;
        entries.extend(tail);
        Ok(entries)
    }

    /// Drops every entry from the first one on for which `keep` does not hold. Nobody may be reading.
    pub(crate) fn truncate(&self, place: &Place, base: Offset, keep: impl Fn(&E) -> bool) -> Result<(), DiskError> {
        let mut inner = self.inner.lock();
        let kept = inner.tail.partition_point(&keep);
        inner.tail.truncate(kept);
        if kept > 0 || inner.written == 0 {
            return Ok(());
        }
        let kept = inner.written(place, base)?.partition_point(keep)?;
        if kept < inner.written {
            inner.file = None;
            let path = place.path(base, E::PART);
            let file = open_index(place, &path, OpenMode::Write)?;
            file.set_len((kept * E::BYTES) as u64).doing("cannot shorten", &path)?;
            inner.file = Some(file);
            inner.written = kept;
        }
        Ok(())
    }

    /// Drops every entry, whatever the file holds, and the file. Nobody may be reading.
    pub(crate) fn clear(&self, place: &Place, base: Offset) -> Result<(), DiskError> {
        let mut inner = self.inner.lock();
        inner.tail = Vec::new();
        inner.written = 0;
        inner.file = None;
        remove_if_there(place, &place.path(base, E::PART)).map(drop)
    }

    /// Writes what is in memory and cuts the file to its entries. Makes the file even for no entries, if `always`.
    pub(crate) fn seal(&self, place: &Place, base: Offset, always: bool) -> Result<(), DiskError> {
        let mut inner = self.inner.lock();
        if inner.written + inner.tail.len() == 0 && !always {
            return Ok(());
        }
        inner.write_tail(place, base)?;
        let len = (inner.written * E::BYTES) as u64;
        let file = inner.file(place, base)?;
        file.set_len(len).doing("cannot trim", file.path())?;
        inner.tail = Vec::new();
        Ok(())
    }

    /// The open file, for a sync; `None` if there is none yet.
    pub(crate) fn file(&self, place: &Place, base: Offset) -> Result<Option<Arc<dyn DiskFile>>, DiskError> {
        let mut inner = self.inner.lock();
        if inner.written == 0 && inner.file.is_none() { Ok(None) } else { inner.file(place, base).map(Some) }
    }

    /// Forgets the open file, because its name changes.
    pub(crate) fn forget_file(&self) {
        self.inner.lock().file = None;
    }
}

impl<E: Entry> Inner<E> {
    fn file(&mut self, place: &Place, base: Offset) -> Result<Arc<dyn DiskFile>, DiskError> {
        if let Some(file) = &self.file {
            return Ok(Arc::clone(file));
        }
        let path = place.path(base, E::PART);
        let file = open_index(place, &path, OpenMode::Create)?;
        self.file = Some(Arc::clone(&file));
        Ok(file)
    }

    fn write_tail(&mut self, place: &Place, base: Offset) -> Result<(), DiskError> {
        let file = self.file(place, base)?;
        if self.tail.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(self.tail.len() * E::BYTES);
        for entry in &self.tail {
            entry.encode(&mut bytes);
        }
        let position = (self.written * E::BYTES) as u64;
        file.write_at(position, &[IoSlice::new(&bytes)]).doing("cannot write", file.path())?;
        self.written += self.tail.len();
        self.tail.clear();
        Ok(())
    }

    /// What the file holds, mapped if the disk maps it.
    fn written(&mut self, place: &Place, base: Offset) -> Result<Written<E>, DiskError> {
        let count = self.written;
        if count == 0 {
            return Ok(Written { source: Source::Nothing, count, entry: std::marker::PhantomData });
        }
        let file = self.file(place, base)?;
        let view = file.view(0..(count * E::BYTES) as u64).doing("cannot read", file.path())?;
        let source = match view {
            Chunk::Owned(bytes) | Chunk::File { mapped: Some(bytes), .. } => Source::Memory(bytes),
            Chunk::File { mapped: None, .. } => Source::File(file),
        };
        Ok(Written { source, count, entry: std::marker::PhantomData })
    }
}

impl<E: Entry> Written<E> {
    fn at(&self, n: usize) -> Result<E, DiskError> {
        debug_assert!(n < self.count, "entry {n} of {}", self.count);
        let at = n * E::BYTES;
        match &self.source {
            Source::Nothing => unreachable!("entry {n} of an empty index"),
            Source::Memory(bytes) => Ok(E::decode(&bytes[at..at + E::BYTES])),
            Source::File(file) => {
                let mut buffer = [0; 64];
                let buffer = &mut buffer[..E::BYTES];
                file.read_at(at as u64, buffer).doing("cannot read", file.path())?;
                Ok(E::decode(buffer))
            }
        }
    }

    fn partition_point(&self, keep: impl Fn(&E) -> bool) -> Result<usize, DiskError> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if keep(&self.at(middle)?) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }
}

fn open_index(place: &Place, path: &Path, mode: OpenMode) -> Result<Arc<dyn DiskFile>, DiskError> {
    place.disk.open(path, mode, FileKind::Index).doing("cannot open", path)
}
