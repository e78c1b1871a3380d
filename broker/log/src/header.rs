//! The header of a batch by value, read from its first 61 bytes alone: what scans, look-ups and appends judge by.
//!
//! Holds: `size >= 61` and the magic is 2. Offsets may lie, so `last_offset` saturates.

use ballast_wire::batch::{Attributes, BatchError, BatchView, HEADER_BYTES};
use ballast_wire::{LeaderEpoch, NO_PRODUCER, Offset, ProducerEpoch, ProducerId};

/// A batch's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) base_offset: Offset,
    pub(crate) last_offset_delta: i32,
    /// Bytes of the whole batch.
    pub(crate) size: u64,
    pub(crate) leader_epoch: LeaderEpoch,
    pub(crate) checksum: u32,
    pub(crate) attributes: Attributes,
    pub(crate) max_timestamp: i64,
    pub(crate) producer_id: ProducerId,
    pub(crate) producer_epoch: ProducerEpoch,
    pub(crate) base_sequence: i32,
    pub(crate) records_count: i32,
}

impl Header {
    /// Reads the header at the start of `bytes`, of which 61 suffice.
    ///
    /// # Errors
    /// As `BatchView::parse`, but a body that is cut off is no error.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Header, BatchError> {
        let size = BatchView::total_bytes(bytes)? as u64;
        let Some(bytes) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Err(BatchError::Truncated { need: HEADER_BYTES, have: bytes.len() });
        };
        Ok(Header {
            base_offset: i64::from_be_bytes(take(bytes, 0)),
            last_offset_delta: i32::from_be_bytes(take(bytes, 23)),
            size,
            leader_epoch: i32::from_be_bytes(take(bytes, 12)),
            checksum: u32::from_be_bytes(take(bytes, 17)),
            attributes: Attributes(i16::from_be_bytes(take(bytes, 21))),
            max_timestamp: i64::from_be_bytes(take(bytes, 35)),
            producer_id: i64::from_be_bytes(take(bytes, 43)),
            producer_epoch: i16::from_be_bytes(take(bytes, 51)),
            base_sequence: i32::from_be_bytes(take(bytes, 53)),
            records_count: i32::from_be_bytes(take(bytes, 57)),
        })
    }

    /// The header of a whole batch.
    pub(crate) fn of(batch: &BatchView<'_>) -> Header {
        Header::parse(batch.bytes()).expect("a batch has its header")
    }

    pub(crate) fn last_offset(&self) -> Offset {
        self.base_offset.saturating_add(i64::from(self.last_offset_delta))
    }

    /// One above the last offset.
    pub(crate) fn end(&self) -> Offset {
        self.last_offset().saturating_add(1)
    }

    pub(crate) fn has_producer(&self) -> bool {
        self.producer_id > NO_PRODUCER
    }

    /// Sequence of the last record; the successor of `i32::MAX` is 0.
    pub(crate) fn last_sequence(&self) -> i32 {
        sequence_after(self.base_sequence, self.last_offset_delta)
    }
}

/// The sequence that lies `steps` (at least 0) behind `sequence`, which has no sign: after `i32::MAX` comes 0.
pub(crate) fn sequence_after(sequence: i32, steps: i32) -> i32 {
    sequence.wrapping_add(steps) & i32::MAX
}

/// The sequence that lies `steps` (at least 0) before `sequence`.
pub(crate) fn sequence_before(sequence: i32, steps: i32) -> i32 {
    sequence.wrapping_sub(steps) & i32::MAX
}

fn take<const N: usize>(bytes: &[u8; HEADER_BYTES], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("a slice of N bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_wrap_from_the_largest_to_zero() {
        assert_eq!(sequence_after(i32::MAX, 1), 0);
        assert_eq!(sequence_after(i32::MAX - 1, 3), 1);
        assert_eq!(sequence_before(1, 3), i32::MAX - 1);
        assert_eq!(sequence_after(5, 0), 5);
    }
}
