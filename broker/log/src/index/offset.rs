//! `.index`: from an offset to a position in the segment.
//!
//! An entry holds the *last* offset of a batch, relative to the segment's base, and the position where that batch begins.
//! One is added before a batch when more than `index.interval.bytes` lie behind the one before.

use ballast_wire::Offset;

use super::Entry;
use crate::names::Part;

/// One entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OffsetEntry {
    /// Last offset of the batch, minus the base of the segment.
    pub(crate) relative: u32,
    /// Where the batch begins, in bytes from the start of the segment.
    pub(crate) position: u32,
}

impl OffsetEntry {
    /// `None` if the offset lies too far above the base; such a batch begins a segment of its own.
    pub(crate) fn new(base: Offset, last_offset: Offset, position: u64) -> Option<OffsetEntry> {
        let relative = u32::try_from(last_offset.checked_sub(base)?).ok()?;
        Some(OffsetEntry { relative, position: u32::try_from(position).ok()? })
    }

    pub(crate) fn offset(&self, base: Offset) -> Offset {
        base.saturating_add(i64::from(self.relative))
    }
}

impl Entry for OffsetEntry {
    const PART: Part = Part::OffsetIndex;
    const BYTES: usize = 8;

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.relative.to_be_bytes());
        out.extend_from_slice(&self.position.to_be_bytes());
    }

    fn decode(bytes: &[u8]) -> OffsetEntry {
        let (relative, position) = bytes.split_at(4);
        OffsetEntry {
            relative: u32::from_be_bytes(relative.try_into().expect("4 of 8 bytes")),
            position: u32::from_be_bytes(position.try_into().expect("4 of 8 bytes")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_the_bytes_that_apache_kafka_writes() {
        let entry = OffsetEntry::new(3072, 3087, 15_256).unwrap();
        let mut bytes = Vec::new();
        entry.encode(&mut bytes);
        assert_eq!(bytes, [0, 0, 0, 0x0f, 0, 0, 0x3b, 0x98]);
        assert_eq!(OffsetEntry::decode(&bytes), entry);
        assert_eq!(entry.offset(3072), 3087);
    }

    #[test]
    fn an_offset_too_far_above_the_base_has_no_entry() {
        assert_eq!(OffsetEntry::new(0, 1 << 32, 0), None);
        assert_eq!(OffsetEntry::new(10, 9, 0), None);
    }
}
