//! Control records: what brokers tell consumers and each other inside a log.
//!
//! ```text
//! key    version i16 = 0 | type i16
//! value  of a marker: version i16 = 0 | coordinator_epoch i32
//! ```
//! A marker ends a transaction: one control record in a batch of its own, with the transactional bit, the producer's id
//! and epoch, and no sequence number.

use bytes::Bytes;

use super::build::{BatchBuilder, NO_SEQUENCE};
use super::records::Record;
use super::view::Compression;
use crate::{LeaderEpoch, Offset, ProducerEpoch, ProducerId};

const VERSION: i16 = 0;

/// What a control record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlRecord {
    /// Ends a transaction.
    EndTxn {
        /// Did it commit?
        committed: bool,
        /// Epoch of the coordinator that ended it.
        coordinator_epoch: i32,
    },
    /// A type that matters to metadata quorums alone (2 to 6) or that nobody knows. Readers pass over it.
    Other(i16),
}

impl ControlRecord {
    /// Reads a record of a control batch. `None`: it is malformed.
    #[must_use]
    pub fn parse(record: &Record<'_>) -> Option<ControlRecord> {
        let [_, _, high, low, ..] = *record.key? else {
            return None;
        };
        let kind = i16::from_be_bytes([high, low]);
        if !matches!(kind, 0 | 1) {
            return Some(ControlRecord::Other(kind));
        }
        let epoch = record.value?.get(2..6)?.try_into().expect("four bytes");
        Some(ControlRecord::EndTxn { committed: kind == 1, coordinator_epoch: i32::from_be_bytes(epoch) })
    }
}

/// The marker that ends a transaction on one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndTxnMarker {
    /// Whose transaction.
    pub producer_id: ProducerId,
    /// In which of the producer's lives. Under transactions v2 one above that of the data.
    pub producer_epoch: ProducerEpoch,
    /// Did it commit?
    pub committed: bool,
    /// Epoch of the coordinator that ended it.
    pub coordinator_epoch: i32,
    /// When, in ms since 1970.
    pub timestamp: i64,
}

impl EndTxnMarker {
    /// The batch that goes into the log.
    #[must_use]
    pub fn batch(&self, base_offset: Offset, leader_epoch: LeaderEpoch) -> Bytes {
        let kind = i16::from(self.committed);
        let key = [VERSION.to_be_bytes(), kind.to_be_bytes()].concat();
        let mut value = VERSION.to_be_bytes().to_vec();
        value.extend(self.coordinator_epoch.to_be_bytes());
        let mut builder = BatchBuilder::new(Compression::None)
            .base_offset(base_offset)
            .leader_epoch(leader_epoch)
            .producer(self.producer_id, self.producer_epoch, NO_SEQUENCE)
            .transactional()
            .control();
        builder.push(self.timestamp, Some(&key), Some(&value), &[]);
        builder.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::view::BatchView;
    use super::*;

    #[test]
    fn an_abort_marker_has_the_bytes_that_apache_kafka_writes() {
        let marker = EndTxnMarker {
            producer_id: 3,
            producer_epoch: 0,
            committed: false,
            coordinator_epoch: 0,
            timestamp: 0x1a2_2921_456c,
        };
        let batch = marker.batch(7, 0);
        let view = BatchView::parse(&batch).unwrap();
        assert_eq!((view.len(), view.checksum(), view.attributes().0), (78, 0x09b1_1cdb, 0x30));
        assert_eq!(batch[61..], [0x20, 0, 0, 0, 0x08, 0, 0, 0, 0, 0x0c, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn markers_read_back_and_other_types_are_named() {
        let marker =
            EndTxnMarker { producer_id: 3, producer_epoch: 1, committed: true, coordinator_epoch: 12, timestamp: 5 };
        let batch = marker.batch(7, 2);
        let record = BatchView::parse(&batch).unwrap().records().unwrap().next().unwrap().unwrap();
        let read = ControlRecord::parse(&record);
        assert_eq!(read, Some(ControlRecord::EndTxn { committed: true, coordinator_epoch: 12 }));

        for (key, value, expected) in [
            (&[0, 0, 0, 4][..], &[0, 0, 0][..], Some(ControlRecord::Other(4))),
            (&[0, 0, 0x7f, 0xff], &[], Some(ControlRecord::Other(i16::MAX))),
            (&[0, 0, 0], &[0, 0, 0, 0, 0, 0], None),
            (&[0, 0, 0, 1], &[0, 0, 0], None),
        ] {
            let mut builder = BatchBuilder::new(Compression::None).control();
            builder.push(0, Some(key), Some(value), &[]);
            let batch = builder.finish();
            let record = BatchView::parse(&batch).unwrap().records().unwrap().next().unwrap().unwrap();
            assert_eq!(ControlRecord::parse(&record), expected, "key {key:?}");
        }
    }
}
