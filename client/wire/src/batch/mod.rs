//! Record batches, format v2: the bytes that producers send, logs store and consumers read.
//!
//! A batch is judged by its 61-byte header (`view`) and its checksum; its records are walked (`records`) where they lie,
//! or after the body was opened (`compress`). New batches come from `build`, markers from `control`, and what a broker
//! changes in a received one is in `rewrite`.
//!
//! Read next: `view`.

pub mod build;
pub mod compress;
pub mod control;
pub mod records;
pub mod rewrite;
pub mod view;

pub use build::BatchBuilder;
pub use compress::{compress, decompress};
pub use control::{ControlRecord, EndTxnMarker};
pub use records::{Body, Header, Record, Records};
pub use view::{Attributes, BatchError, BatchView, Compression, HEADER_BYTES, LOG_OVERHEAD_BYTES, TimestampType};

/// The whole batches at the start of `bytes`, one after the other.
#[must_use]
pub fn batches(bytes: &[u8]) -> Batches<'_> {
    Batches { rest: bytes, failed: false }
}

/// Iterator over the whole batches of a buffer.
///
/// Ends quietly at a batch that is cut off: a fetch may end inside one. Bytes that are no batch give one error, and then
/// nothing more.
#[derive(Debug, Clone)]
pub struct Batches<'a> {
    rest: &'a [u8],
    failed: bool,
}

impl<'a> Batches<'a> {
    /// The bytes not yet given out: after the end of the iteration, a cut batch or what is no batch.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for Batches<'a> {
    type Item = Result<BatchView<'a>, BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        match BatchView::parse(self.rest) {
            Ok(batch) => {
                self.rest = &self.rest[batch.len()..];
                Some(Ok(batch))
            }
            Err(BatchError::Truncated { .. }) => None,
            Err(error) => {
                self.failed = true;
                Some(Err(error))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_batches() -> Vec<u8> {
        let mut bytes = Vec::new();
        for base_offset in [0, 1] {
            let mut builder = BatchBuilder::new(Compression::None).base_offset(base_offset);
            builder.push(7, None, Some(b"value"), &[]);
            bytes.extend_from_slice(&builder.finish());
        }
        bytes
    }

    #[test]
    fn a_cut_tail_ends_the_batches_without_an_error() {
        let bytes = two_batches();
        for cut in 0..bytes.len() {
            let mut found = batches(&bytes[..cut]);
            let whole = found.by_ref().map(Result::unwrap).count();
            assert_eq!(whole, cut / (bytes.len() / 2), "cut at {cut}");
            assert_eq!(found.rest().len(), cut - whole * bytes.len() / 2);
        }
        assert_eq!(batches(&bytes).map(|batch| batch.unwrap().base_offset()).collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn bytes_that_are_no_batch_give_one_error() {
        let mut bytes = two_batches();
        bytes.extend([0; 20]);
        let found: Vec<_> = batches(&bytes).collect();
        assert_eq!(found.len(), 3);
        assert_eq!(found[2].as_ref().unwrap_err(), &BatchError::BadLength(0));
    }
}
