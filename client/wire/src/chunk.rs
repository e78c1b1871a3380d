//! Bytes on their way from a log to a socket.
//!
//! A chunk is either owned (a header, a copy) or a range of a file. A file's chunk holds the open file, so that it stays
//! readable whatever happens to the name, and it may hold the mapped bytes as well. Whoever sends it chooses: a plain
//! socket takes the file (`sendfile`), everybody else takes [`Chunk::bytes`].

use std::fs::File;
use std::io;
use std::sync::Arc;

use bytes::Bytes;

/// A range of an open file.
#[derive(Clone, Debug)]
pub struct FileRange {
    /// The open file. While a clone lives, the file may not be shortened below the end of the range.
    pub file: Arc<File>,
    /// Where the range begins, in bytes from the start of the file.
    pub position: u64,
    /// Length in bytes.
    pub len: usize,
}

/// Bytes that may still be in a file.
#[derive(Clone, Debug)]
pub enum Chunk {
    /// Bytes in memory that belong to nobody else.
    Owned(Bytes),
    /// Bytes of a file; `mapped` holds the same bytes where a map is at hand.
    File {
        /// Where they are.
        range: FileRange,
        /// The same bytes, through a map.
        mapped: Option<Bytes>,
    },
}

impl Chunk {
    /// Length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Chunk::Owned(bytes) => bytes.len(),
            Chunk::File { range, .. } => range.len,
        }
    }

    /// Is there nothing in it?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes: as they are, through the map, or read from the file.
    ///
    /// # Errors
    /// Whatever reading the file gives; a file that ends early is `UnexpectedEof`.
    pub fn bytes(&self) -> io::Result<Bytes> {
        match self {
            Chunk::Owned(bytes) | Chunk::File { mapped: Some(bytes), .. } => Ok(bytes.clone()),
            Chunk::File { range, mapped: None } => {
                let mut buffer = vec![0; range.len];
                std::os::unix::fs::FileExt::read_exact_at(&*range.file, &mut buffer, range.position)?;
                Ok(buffer.into())
            }
        }
    }

    /// The first `len` bytes of this chunk, or all of them if it is shorter.
    #[must_use]
    pub fn truncated(mut self, len: usize) -> Chunk {
        match &mut self {
            Chunk::Owned(bytes) => bytes.truncate(len),
            Chunk::File { range, mapped } => {
                range.len = range.len.min(len);
                if let Some(bytes) = mapped {
                    bytes.truncate(len);
                }
            }
        }
        self
    }
}

impl From<Bytes> for Chunk {
    fn from(bytes: Bytes) -> Chunk {
        Chunk::Owned(bytes)
    }
}

impl From<Vec<u8>> for Chunk {
    fn from(bytes: Vec<u8>) -> Chunk {
        Chunk::Owned(bytes.into())
    }
}
