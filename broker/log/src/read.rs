use ballast_wire::{Chunk, Offset};

use crate::error::ReadError;
use crate::log::Log;

/// What a read found: whole batches from a batch's beginning; the last one may be cut off.
#[derive(Debug)]
pub struct Read {
    /// The bytes, none when there is nothing to read (or not enough room for the first batch).
    pub records: Option<Chunk>,
    /// Offset of the first batch, at or below the offset asked for.
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
}

impl Log {
    /// Reads batches from the one that holds `from` on (or the next one, if compaction left a hole), at most `max_bytes`
    /// and out of one segment, and no batch that reaches `bound` (high watermark, last stable offset or [`Log::end`]).
    /// With `min_one_batch` the first batch is returned whole even if it is larger; without it, nothing then.
    ///
    /// # Errors
    /// `OutOfRange` below the start or above the end. A `from` between `bound` and the end is an empty success.
    pub fn read(&self, from: Offset, bound: Offset, max_bytes: usize, min_one_batch: bool) -> Result<Read, ReadError> {
        todo!()
    }

    /// Would such a read be served from memory? A guess without I/O; `false` sends the read to the disk's own threads.
    #[must_use]
    pub fn is_resident(&self, from: Offset, max_bytes: usize) -> bool {
        todo!()
    }
}
