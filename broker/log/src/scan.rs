//! Walking the batches of one segment through a window of bounded size, headers only or with their checksums.
//!
//! Holds: no length that the file claims sizes memory; a batch larger than the window is summed up piece by piece.

use ballast_wire::batch::view::checksum_of;
use ballast_wire::batch::{BatchError, HEADER_BYTES};

use crate::disk::DiskFile;
use crate::error::{DiskContext, DiskError, ReadError};
use crate::header::Header;

/// Window for header walks, in bytes: what lies between two index entries, and a little.
pub(crate) const HEADERS_WINDOW_BYTES: usize = 4096;
/// Window for walks that read everything, in bytes.
pub(crate) const BODIES_WINDOW_BYTES: usize = 1 << 20;

/// Where the covered part of a batch begins: its attributes.
const CHECKED_FROM: u64 = 21;

/// A file seen through a window.
#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    file: &'a dyn DiskFile,
    /// Nothing is read from here on.
    end: u64,
    window: Vec<u8>,
    /// Position of the window's first byte.
    at: u64,
    /// Bytes of the window that are filled.
    filled: usize,
}

/// What stands at a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// A batch that lies below the end as a whole.
    Batch(Header),
    /// Nothing: the position is the end.
    End,
    /// The beginning of a batch that reaches beyond the end, or fewer bytes than a header.
    Torn,
    /// No batch.
    Bad(BatchError),
}

impl<'a> Scanner<'a> {
    /// Looks at the bytes of `file` below `end`.
    pub(crate) fn new(file: &'a dyn DiskFile, end: u64, window_bytes: usize) -> Scanner<'a> {
        let window_bytes = window_bytes.min(usize::try_from(end).unwrap_or(usize::MAX)).max(HEADER_BYTES);
        Scanner { file, end, window: vec![0; window_bytes], at: 0, filled: 0 }
    }

    /// What stands at `position`.
    pub(crate) fn step(&mut self, position: u64) -> Result<Step, DiskError> {
        let left = self.end.saturating_sub(position);
        if left == 0 {
            return Ok(Step::End);
        }
        let have = left.min(HEADER_BYTES as u64) as usize;
        let end = self.end;
        let bytes = self.bytes(position, have)?;
        Ok(match Header::parse(bytes) {
            Ok(header) if position + header.size <= end => Step::Batch(header),
            Ok(_) | Err(BatchError::Truncated { .. }) => Step::Torn,
            Err(error) => Step::Bad(error),
        })
    }

    /// As [`Scanner::step`] for bytes that must be good: `None` at the end, anything else but a batch is damage.
    pub(crate) fn batch(&mut self, position: u64) -> Result<Option<Header>, ReadError> {
        let cause = match self.step(position)? {
            Step::Batch(header) => return Ok(Some(header)),
            Step::End => return Ok(None),
            Step::Torn => {
                BatchError::Truncated { need: HEADER_BYTES, have: self.end.saturating_sub(position) as usize }
            }
            Step::Bad(cause) => cause,
        };
        Err(ReadError::Damaged { path: self.file.path().to_owned(), position, cause })
    }

    /// CRC-32C of the batch at `position`.
    pub(crate) fn checksum(&mut self, position: u64, header: &Header) -> Result<u32, DiskError> {
        if self.fits(header.size) {
            return Ok(checksum_of(self.bytes(position, header.size as usize)?));
        }
        let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32Iscsi);
        let (mut from, end) = (position + CHECKED_FROM, position + header.size);
        while from < end {
            let piece = (end - from).min(self.window.len() as u64) as usize;
            digest.update(self.bytes(from, piece)?);
            from += piece as u64;
        }
        Ok(digest.finalize() as u32)
    }

    /// Are there only zeros from `position` to the end?
    pub(crate) fn only_zeros(&mut self, position: u64) -> Result<bool, DiskError> {
        let mut from = position;
        while from < self.end {
            let piece = (self.end - from).min(self.window.len() as u64) as usize;
            if self.bytes(from, piece)?.iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
            from += piece as u64;
        }
        Ok(true)
    }

    /// Do so many bytes fit the window?
    pub(crate) fn fits(&self, bytes: u64) -> bool {
        bytes <= self.window.len() as u64
    }

    /// `len` bytes from `position`, which fit the window and lie below the end.
    pub(crate) fn bytes(&mut self, position: u64, len: usize) -> Result<&[u8], DiskError> {
        debug_assert!(len <= self.window.len(), "{len} bytes through a window of {}", self.window.len());
        let covered = position >= self.at && position + len as u64 <= self.at + self.filled as u64;
        if !covered {
            let fill = (self.end - position).min(self.window.len() as u64) as usize;
            self.filled = 0;
            self.file.read_at(position, &mut self.window[..fill]).doing("cannot read", self.file.path())?;
            self.at = position;
            self.filled = fill;
        }
        let from = (position - self.at) as usize;
        Ok(&self.window[from..from + len])
    }
}
