//! `.txnindex`: the transactions whose abort marker lies in the segment, in the order of the markers.
//!
//! The file is there only if it has entries.

use ballast_wire::{Offset, ProducerId};

use super::Entry;
use crate::names::Part;

const VERSION: i16 = 0;

/// An aborted transaction, as a fetch tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AbortedTxn {
    /// Whose.
    pub producer_id: ProducerId,
    /// Offset of its first record.
    pub first_offset: Offset,
    /// Offset of its marker.
    pub last_offset: Offset,
    /// The last stable offset once this transaction was out of the way.
    pub last_stable_offset: Offset,
}

impl Entry for AbortedTxn {
    const PART: Part = Part::TxnIndex;
    const BYTES: usize = 34;

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&VERSION.to_be_bytes());
        for value in [self.producer_id, self.first_offset, self.last_offset, self.last_stable_offset] {
            out.extend_from_slice(&value.to_be_bytes());
        }
    }

    fn decode(bytes: &[u8]) -> AbortedTxn {
        let value = |n: usize| {
            let at = 2 + n * 8;
            i64::from_be_bytes(bytes[at..at + 8].try_into().expect("8 of 34 bytes"))
        };
        AbortedTxn {
            producer_id: value(0),
            first_offset: value(1),
            last_offset: value(2),
            last_stable_offset: value(3),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_the_bytes_that_apache_kafka_writes() {
        let entry = AbortedTxn { producer_id: 9, first_offset: 35, last_offset: 36, last_stable_offset: 34 };
        let mut bytes = Vec::new();
        entry.encode(&mut bytes);
        let mut expected = vec![0, 0];
        for value in [9_u8, 0x23, 0x24, 0x22] {
            expected.extend([0, 0, 0, 0, 0, 0, 0, value]);
        }
        assert_eq!(bytes, expected);
        assert_eq!(AbortedTxn::decode(&bytes), entry);
    }
}
