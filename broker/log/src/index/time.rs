//! `.timeindex`: from a time to an offset.
//!
//! An entry holds the largest timestamp so far and the last offset, relative to the segment's base, of the first batch that
//! reached it. One is added with each entry of the offset index, unless the maximum stayed, and once more when the segment
//! is sealed. Timestamps rise strictly.

use ballast_wire::Offset;

use super::Entry;
use crate::names::Part;

/// One entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeEntry {
    /// Largest timestamp so far, in ms since 1970.
    pub(crate) timestamp: i64,
    /// Last offset of the first batch that has it, minus the base of the segment.
    pub(crate) relative: u32,
}

impl TimeEntry {
    /// `None` if the offset lies too far above the base.
    pub(crate) fn new(base: Offset, timestamp: i64, offset: Offset) -> Option<TimeEntry> {
        Some(TimeEntry { timestamp, relative: u32::try_from(offset.checked_sub(base)?).ok()? })
    }

    pub(crate) fn offset(&self, base: Offset) -> Offset {
        base.saturating_add(i64::from(self.relative))
    }
}

impl Entry for TimeEntry {
    const PART: Part = Part::TimeIndex;
    const BYTES: usize = 12;

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.timestamp.to_be_bytes());
        out.extend_from_slice(&self.relative.to_be_bytes());
    }

    fn decode(bytes: &[u8]) -> TimeEntry {
        let (timestamp, relative) = bytes.split_at(8);
        TimeEntry {
            timestamp: i64::from_be_bytes(timestamp.try_into().expect("8 of 12 bytes")),
            relative: u32::from_be_bytes(relative.try_into().expect("4 of 12 bytes")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_the_bytes_that_apache_kafka_writes() {
        let entry = TimeEntry::new(3072, 1_795_986_375_318, 3086).unwrap();
        let mut bytes = Vec::new();
        entry.encode(&mut bytes);
        assert_eq!(bytes, [0, 0, 0x01, 0xa2, 0x29, 0x21, 0x42, 0x96, 0, 0, 0, 0x0e]);
        assert_eq!(TimeEntry::decode(&bytes), entry);
    }
}
