//! The batches of a file, one after the other, without reading the whole file at once.
//!
//! Holds: a batch's announced length is checked against the file before memory is taken for it.

use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::Path;

use ballast_wire::batch::{BatchError, BatchView};

use crate::error::Failure;

const READ_BYTES: usize = 1 << 20;
/// What is needed to know how long a batch is.
const LENGTH_KNOWN_BYTES: usize = 17;

/// One step through a file.
pub(super) enum Step {
    /// A whole batch; not yet checked.
    Batch,
    /// Nothing but zeros from here to the end: space that was reserved and not written.
    Zeros {
        bytes: u64,
    },
    /// The rest is no batch.
    Bad(BatchError),
    End,
}

/// Walks through a file.
pub(super) struct BatchFile {
    reader: BufReader<File>,
    size: u64,
    /// Where the batch in `bytes` begins.
    pub(super) position: u64,
    next: u64,
    pub(super) bytes: Vec<u8>,
}

impl BatchFile {
    pub(super) fn open(path: &Path) -> Result<BatchFile, Failure> {
        let file = File::open(path).map_err(|e| Failure::at(path, e))?;
        let size = file.metadata().map_err(|e| Failure::at(path, e))?.len();
        let reader = BufReader::with_capacity(READ_BYTES, file);
        Ok(BatchFile { reader, size, position: 0, next: 0, bytes: Vec::new() })
    }

    /// Reads the next batch into `bytes`.
    pub(super) fn step(&mut self) -> std::io::Result<Step> {
        self.position = self.next;
        let left = self.size.saturating_sub(self.position);
        if left == 0 {
            return Ok(Step::End);
        }
        self.bytes.clear();
        self.fill(LENGTH_KNOWN_BYTES.min(left as usize))?;
        if self.bytes.iter().all(|byte| *byte == 0) && self.rest_is_zero()? {
            return Ok(Step::Zeros { bytes: left });
        }
        let total = match BatchView::total_bytes(&self.bytes) {
            Ok(total) => total,
            Err(error) => return Ok(Step::Bad(error)),
        };
        if total as u64 > left {
            return Ok(Step::Bad(BatchError::Truncated { need: total, have: left as usize }));
        }
        self.fill(total)?;
        self.next = self.position + total as u64;
        Ok(Step::Batch)
    }

    /// Reads until `bytes` has `len` bytes.
    fn fill(&mut self, len: usize) -> std::io::Result<()> {
        let have = self.bytes.len();
        self.bytes.resize(len, 0);
        self.reader.read_exact(&mut self.bytes[have..])
    }

    fn rest_is_zero(&mut self) -> std::io::Result<bool> {
        let mut buffer = vec![0; READ_BYTES];
        loop {
            let read = self.reader.read(&mut buffer)?;
            if read == 0 {
                return Ok(true);
            }
            if buffer[..read].iter().any(|byte| *byte != 0) {
                // The position is lost, and of no use any more: what is here is no batch.
                return Ok(false);
            }
        }
    }
}
