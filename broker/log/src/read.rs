//! How bytes get out: from an offset to a view of whole batches, without the writer's locks.
//!
//! Holds:
//!   1. What is returned begins with a whole batch, the one that holds the offset or the next one after a hole.
//!   2. No byte of a batch that reaches `bound` is returned.
//!   3. A view is made of published bytes only, and those never change while it is held.

use std::io::ErrorKind;

use ballast_wire::{Chunk, Offset};

use crate::error::{DiskContext, ReadError};
use crate::log::{Log, Published};
use crate::segment::Located;

/// What a read found: whole batches from a batch's beginning; the last one may be cut off.
#[derive(Debug)]
pub struct Read {
    /// The bytes, none when there is nothing to read (or not enough room for the first batch).
    pub records: Option<Chunk>,
    /// Offset of the first batch, at or below the offset asked for unless there is a hole; the offset asked for if nothing
    /// was found.
    pub base_offset: Offset,
    /// Does it end where its segment ends, with more behind it? Then reading on gives more at once.
    pub more_segments: bool,
}

impl Read {
    /// Length in bytes of what was found.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.as_ref().map_or(0, Chunk::len)
    }

    /// Was nothing found?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn nothing(from: Offset) -> Read {
        Read { records: None, base_offset: from, more_segments: false }
    }
}

impl Log {
    /// Reads batches from the one that holds `from` on (or the next one, if compaction left a hole), at most `max_bytes`
    /// and out of one segment, and no batch that reaches `bound` (high watermark, last stable offset or [`Log::end`]).
    /// With `min_one_batch` the first batch is returned whole even if it is larger; without it, nothing then.
    ///
    /// # Errors
    /// `OutOfRange` below the start or above the end. A `from` between `bound` and the end is an empty success.
    pub fn read(&self, from: Offset, bound: Offset, max_bytes: usize, min_one_batch: bool) -> Result<Read, ReadError> {
        let _reading = self.cut.read();
        let published = self.published();
        let (start, end) = (published.start, published.end);
        if from < start || from > end {
            return Err(ReadError::OutOfRange { offset: from, start, end });
        }
        let bound = bound.min(end);
        if from >= bound {
            return Ok(Read::nothing(from));
        }
        if let Some(position) = published.tail.position_of(from)
            && bound == end
            && published.tail.bytes() - position <= max_bytes as u64
        {
            let file = published.active().file()?;
            let records = file.view(position..published.tail.bytes()).doing("cannot read", file.path())?;
            return Ok(Read { records: Some(records), base_offset: from, more_segments: false });
        }
        let Some((index, first)) = published.find(from)? else { return Ok(Read::nothing(from)) };
        if first.header.last_offset() >= bound {
            return Ok(Read::nothing(from));
        }
        let limit = published.position_of_bound(index, bound)?;
        let size = first.header.size;
        if (max_bytes as u64) < size && !min_one_batch {
            return Ok(Read { base_offset: first.header.base_offset, ..Read::nothing(from) });
        }
        let to = limit.min(first.position.saturating_add(size.max(max_bytes as u64)));
        let file = published.segments[index].file()?;
        let records = file.view(first.position..to).doing("cannot read", file.path())?;
        let more_segments = to == published.bytes_of(index) && published.end_of(index) < bound;
        Ok(Read { records: Some(records), base_offset: first.header.base_offset, more_segments })
    }

    /// Would such a read be served from memory? A guess without I/O; `false` sends the read to the disk's own threads,
    /// which call [`Log::warm`] first.
    #[must_use]
    pub fn is_resident(&self, from: Offset, max_bytes: usize) -> bool {
        let _reading = self.cut.read();
        let published = self.published();
        if from < published.start || from >= published.end {
            return true;
        }
        if let Some(position) = published.tail.position_of(from) {
            let end = published.tail.bytes().min(position.saturating_add(max_bytes as u64));
            return published.active().file().is_ok_and(|file| file.is_resident(position..end));
        }
        let index = published.segment_at(from);
        let segment = &published.segments[index];
        let index_file = segment.offsets.file(&segment.place, segment.base);
        let index_is_cold =
            index_file.is_ok_and(|file| file.is_some_and(|file| file.len().is_ok_and(|len| !file.is_resident(0..len))));
        if index_is_cold {
            return false;
        }
        let (Ok(file), Ok(position)) = (segment.file(), segment.position_hint(from)) else { return true };
        let end = published.bytes_of(index).min(position.saturating_add(max_bytes as u64));
        file.is_resident(position.min(end)..end)
    }

    /// Brings what such a read needs into memory. Blocks: work for the disk's threads.
    ///
    /// # Errors
    /// As [`Log::read`].
    pub fn warm(&self, from: Offset, max_bytes: usize) -> Result<(), ReadError> {
        let (file, range) = {
            let _reading = self.cut.read();
            let published = self.published();
            let Some((index, first)) = published.find(from)? else { return Ok(()) };
            let wanted = first.header.size.max(max_bytes as u64);
            let end = published.bytes_of(index).min(first.position.saturating_add(wanted));
            (published.segments[index].file()?, first.position..end)
        };
        match file.warm(range) {
            // The file was shortened or renamed meanwhile: there is nothing to warm any more.
            Err(error) if matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::NotFound) => Ok(()),
            other => Ok(other.doing("cannot read", file.path())?),
        }
    }
}

impl Published {
    /// The first batch that holds `from` or lies above it, and its segment.
    pub(crate) fn find(&self, from: Offset) -> Result<Option<(usize, Located)>, ReadError> {
        for index in self.segment_at(from)..self.segments.len() {
            if let Some(found) = self.segments[index].locate(from, self.bytes_of(index))? {
                return Ok(Some((index, found)));
            }
        }
        Ok(None)
    }

    /// Where the batches of a segment end that lie below `bound` as a whole.
    fn position_of_bound(&self, index: usize, bound: Offset) -> Result<u64, ReadError> {
        let bytes = self.bytes_of(index);
        if bound >= self.end_of(index) {
            return Ok(bytes);
        }
        Ok(self.segments[index].locate(bound, bytes)?.map_or(bytes, |found| found.position))
    }
}

#[cfg(test)]
mod tests;
