//! Builds record batches.
//!
//! Records are encoded as they are pushed, so that a builder always knows its size before compression. Nothing but
//! [`BatchBuilder::finish`] compresses, and it leaves a batch with a true header and a true checksum.

use bytes::Bytes;

use super::compress::compress;
use super::records::{Header, Record};
use super::view::{
    ATTRIBUTES_AT, Attributes, BASE_SEQUENCE_AT, BASE_TIMESTAMP_AT, BATCH_LENGTH_AT, BatchView, CRC_AT, Compression,
    HEADER_BYTES, LAST_OFFSET_DELTA_AT, LEADER_EPOCH_AT, LOG_OVERHEAD_BYTES, MAGIC_AT, MAX_TIMESTAMP_AT,
    PRODUCER_EPOCH_AT, PRODUCER_ID_AT, RECORDS_COUNT_AT, checksum_of,
};
use crate::frame::put_varlong;
use crate::{LeaderEpoch, NO_PRODUCER, Offset, ProducerEpoch, ProducerId};

/// Timestamp of a batch without one.
pub const NO_TIMESTAMP: i64 = -1;
/// Sequence number of a batch without a producer id.
pub const NO_SEQUENCE: i32 = -1;
/// Producer epoch of a batch without a producer id.
pub const NO_PRODUCER_EPOCH: ProducerEpoch = -1;
/// Leader epoch of a batch that no leader has appended.
pub const NO_LEADER_EPOCH: LeaderEpoch = -1;

/// Most bytes of a record around its key, value and headers: length, attributes, two deltas, two lengths, header count.
const RECORD_OVERHEAD_BYTES_MAX: usize = 5 + 1 + 10 + 5 + 5 + 5 + 5;
/// Most bytes of a header around its key and value.
const HEADER_OVERHEAD_BYTES_MAX: usize = 5 + 5;

/// A batch under construction.
#[derive(Debug, Clone)]
pub struct BatchBuilder {
    compression: Compression,
    level: Option<i32>,
    attributes: i16,
    base_offset: Offset,
    leader_epoch: LeaderEpoch,
    producer_id: ProducerId,
    producer_epoch: ProducerEpoch,
    base_sequence: i32,
    base_timestamp: Option<i64>,
    max_timestamp: i64,
    max_timestamp_fixed: bool,
    last_offset_delta: i32,
    count: i32,
    /// Room for the header, then the records.
    bytes: Vec<u8>,
}

impl BatchBuilder {
    /// An empty batch with timestamps of the producer (CreateTime), base offset 0, no leader epoch and no producer id.
    #[must_use]
    pub fn new(compression: Compression) -> BatchBuilder {
        BatchBuilder {
            compression,
            level: None,
            attributes: 0,
            base_offset: 0,
            leader_epoch: NO_LEADER_EPOCH,
            producer_id: NO_PRODUCER,
            producer_epoch: NO_PRODUCER_EPOCH,
            base_sequence: NO_SEQUENCE,
            base_timestamp: None,
            max_timestamp: NO_TIMESTAMP,
            max_timestamp_fixed: false,
            last_offset_delta: -1,
            count: 0,
            bytes: vec![0; HEADER_BYTES],
        }
    }

    /// An empty batch that takes the place of `batch`: same offsets (the last offset delta stays even when the last
    /// records go), leader epoch, producer, sequence, and attributes except for the codec and the delete horizon.
    /// Records keep their offset deltas when they are added by [`BatchBuilder::push_copy`].
    #[must_use]
    pub fn in_place_of(batch: &BatchView<'_>, compression: Compression) -> BatchBuilder {
        let kept = Attributes::LOG_APPEND_TIME | Attributes::TRANSACTIONAL | Attributes::CONTROL;
        let attributes = batch.attributes().0 & kept;
        let broker_time = attributes & Attributes::LOG_APPEND_TIME != 0;
        BatchBuilder {
            attributes,
            base_offset: batch.base_offset(),
            leader_epoch: batch.leader_epoch(),
            producer_id: batch.producer_id(),
            producer_epoch: batch.producer_epoch(),
            base_sequence: batch.base_sequence(),
            max_timestamp: if broker_time { batch.max_timestamp() } else { NO_TIMESTAMP },
            max_timestamp_fixed: broker_time,
            last_offset_delta: batch.last_offset_delta(),
            ..BatchBuilder::new(compression)
        }
    }

    /// Compression level, where the codec has levels (gzip 1 to 9, zstd up to 22). `None`: the codec's default.
    #[must_use]
    pub fn level(mut self, level: Option<i32>) -> BatchBuilder {
        self.level = level;
        self
    }

    /// Offset of the first record.
    #[must_use]
    pub fn base_offset(mut self, base_offset: Offset) -> BatchBuilder {
        self.base_offset = base_offset;
        self
    }

    /// Epoch of the leader that appends it.
    #[must_use]
    pub fn leader_epoch(mut self, leader_epoch: LeaderEpoch) -> BatchBuilder {
        self.leader_epoch = leader_epoch;
        self
    }

    /// Makes it the batch of an idempotent producer.
    #[must_use]
    pub fn producer(mut self, id: ProducerId, epoch: ProducerEpoch, base_sequence: i32) -> BatchBuilder {
        self.set_producer(id, epoch, base_sequence);
        self
    }

    /// As [`BatchBuilder::producer`], for a batch whose sequence is known only when it is sent.
    pub fn set_producer(&mut self, id: ProducerId, epoch: ProducerEpoch, base_sequence: i32) {
        (self.producer_id, self.producer_epoch, self.base_sequence) = (id, epoch, base_sequence);
    }

    /// Makes it part of a transaction.
    #[must_use]
    pub fn transactional(mut self) -> BatchBuilder {
        self.attributes |= Attributes::TRANSACTIONAL;
        self
    }

    /// Makes it a control batch.
    #[must_use]
    pub fn control(mut self) -> BatchBuilder {
        self.attributes |= Attributes::CONTROL;
        self
    }

    /// Sets the base timestamp, in ms, which is otherwise that of the first record. Only while the batch is empty.
    ///
    /// # Panics
    /// If a record was pushed before: its delta would be wrong.
    #[must_use]
    pub fn base_timestamp(mut self, base_timestamp: i64) -> BatchBuilder {
        assert_eq!(self.count, 0, "{} records already count from another base timestamp", self.count);
        self.base_timestamp = Some(base_timestamp);
        self
    }

    /// Stores a delete horizon, in ms, in the place of the base timestamp. Only while the batch is empty.
    ///
    /// # Panics
    /// If a record was pushed before.
    #[must_use]
    pub fn delete_horizon(mut self, horizon: i64) -> BatchBuilder {
        self.attributes |= Attributes::DELETE_HORIZON;
        self.base_timestamp(horizon)
    }

    /// Number of records so far.
    #[must_use]
    pub fn count(&self) -> i32 {
        self.count
    }

    /// Is there no record yet?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes of the batch so far, header included, before compression.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Largest timestamp so far, in ms.
    #[must_use]
    pub fn max_timestamp(&self) -> i64 {
        self.max_timestamp
    }

    /// Most bytes that one record can take in a batch, before compression.
    #[must_use]
    pub fn record_bytes_max(key: Option<&[u8]>, value: Option<&[u8]>, headers: &[Header<'_>]) -> usize {
        let payload = key.map_or(0, <[u8]>::len) + value.map_or(0, <[u8]>::len);
        let headers = headers
            .iter()
            .map(|header| HEADER_OVERHEAD_BYTES_MAX + header.key.len() + header.value.map_or(0, <[u8]>::len));
        RECORD_OVERHEAD_BYTES_MAX + payload + headers.sum::<usize>()
    }

    /// Adds a record at the offset after the last one.
    ///
    /// # Panics
    /// If a part of it is longer than a length can say (2 GiB).
    pub fn push(&mut self, timestamp: i64, key: Option<&[u8]>, value: Option<&[u8]>, headers: &[Header<'_>]) {
        let mut encoded = Vec::new();
        for header in headers {
            put_nullable(&mut encoded, Some(header.key.as_bytes()));
            put_nullable(&mut encoded, header.value);
        }
        self.put(self.last_offset_delta + 1, timestamp, key, value, headers.len(), &encoded);
    }

    /// Adds a record of another batch under its old offset delta, with the timestamp that it had there.
    pub fn push_copy(&mut self, record: &Record<'_>, timestamp: i64) {
        let Record { offset_delta, key, value, .. } = *record;
        self.put(offset_delta, timestamp, key, value, record.header_count(), record.header_bytes());
    }

    fn put(
        &mut self,
        offset_delta: i32,
        timestamp: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        header_count: usize,
        headers: &[u8],
    ) {
        let base_timestamp = *self.base_timestamp.get_or_insert(timestamp);
        // Timestamps are the producer's and may be anything; the reader wraps the same way.
        let timestamp_delta = timestamp.wrapping_sub(base_timestamp);
        let len = 1
            + varlong_bytes(timestamp_delta)
            + varlong_bytes(i64::from(offset_delta))
            + nullable_bytes(key)
            + nullable_bytes(value)
            + varlong_bytes(header_count as i64)
            + headers.len();
        assert!(len <= i32::MAX as usize, "a record of {len} bytes has no length field");
        put_varlong(&mut self.bytes, len as i64);
        let start = self.bytes.len();
        self.bytes.push(0);
        put_varlong(&mut self.bytes, timestamp_delta);
        put_varlong(&mut self.bytes, i64::from(offset_delta));
        put_nullable(&mut self.bytes, key);
        put_nullable(&mut self.bytes, value);
        put_varlong(&mut self.bytes, header_count as i64);
        self.bytes.extend_from_slice(headers);
        debug_assert_eq!(self.bytes.len() - start, len, "the length announced for a record is wrong");

        self.count += 1;
        self.last_offset_delta = self.last_offset_delta.max(offset_delta);
        if !self.max_timestamp_fixed {
            self.max_timestamp = self.max_timestamp.max(timestamp);
        }
    }

    /// The finished batch. Without records it is a header alone, uncompressed, as compaction leaves them.
    ///
    /// # Panics
    /// If the batch is larger than its length field can say (2 GiB).
    #[must_use]
    pub fn finish(mut self) -> Bytes {
        let mut codec = self.compression;
        if self.count == 0 {
            codec = Compression::None;
        }
        let mut bytes = std::mem::take(&mut self.bytes);
        if codec != Compression::None {
            let mut compressed = Vec::with_capacity(bytes.len() / 2);
            compressed.extend([0; HEADER_BYTES]);
            compress(codec, self.level, &bytes[HEADER_BYTES..], &mut compressed);
            bytes = compressed;
        }
        let length = bytes.len() - LOG_OVERHEAD_BYTES;
        let length = i32::try_from(length).unwrap_or_else(|_| panic!("a batch of {length} bytes has no length field"));

        put(&mut bytes, 0, self.base_offset.to_be_bytes());
        put(&mut bytes, BATCH_LENGTH_AT, length.to_be_bytes());
        put(&mut bytes, LEADER_EPOCH_AT, self.leader_epoch.to_be_bytes());
        put(&mut bytes, MAGIC_AT, [2]);
        put(&mut bytes, ATTRIBUTES_AT, (self.attributes | codec as i16).to_be_bytes());
        put(&mut bytes, LAST_OFFSET_DELTA_AT, self.last_offset_delta.max(0).to_be_bytes());
        put(&mut bytes, BASE_TIMESTAMP_AT, self.base_timestamp.unwrap_or(NO_TIMESTAMP).to_be_bytes());
        put(&mut bytes, MAX_TIMESTAMP_AT, self.max_timestamp.to_be_bytes());
        put(&mut bytes, PRODUCER_ID_AT, self.producer_id.to_be_bytes());
        put(&mut bytes, PRODUCER_EPOCH_AT, self.producer_epoch.to_be_bytes());
        put(&mut bytes, BASE_SEQUENCE_AT, self.base_sequence.to_be_bytes());
        put(&mut bytes, RECORDS_COUNT_AT, self.count.to_be_bytes());
        let checksum = checksum_of(&bytes);
        put(&mut bytes, CRC_AT, checksum.to_be_bytes());
        bytes.into()
    }
}

fn put<const N: usize>(bytes: &mut [u8], at: usize, value: [u8; N]) {
    bytes[at..at + N].copy_from_slice(&value);
}

fn put_nullable(out: &mut Vec<u8>, value: Option<&[u8]>) {
    put_varlong(out, value.map_or(-1, |value| value.len() as i64));
    out.extend_from_slice(value.unwrap_or_default());
}

fn nullable_bytes(value: Option<&[u8]>) -> usize {
    let len = value.map_or(0, <[u8]>::len);
    varlong_bytes(value.map_or(-1, |_| len as i64)) + len
}

fn varlong_bytes(value: i64) -> usize {
    let zigzag = ((value << 1) ^ (value >> 63)) as u64;
    (64 - zigzag.leading_zeros() as usize).div_ceil(7).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Three values of an idempotent producer, as Apache Kafka 4.4 stored them.
    const STORED: &str = "00000000000000000000004c000000000272da97710000000000020000\
        01a229213652000001a2292136520000000000000000000000000000000000031000000001046930001000000201046931001000000401046932\
        00";

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u32> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
        digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
    }

    #[test]
    fn a_batch_has_the_bytes_that_apache_kafka_stores() {
        let mut builder = BatchBuilder::new(Compression::None).leader_epoch(0).producer(0, 0, 0);
        for value in ["i0", "i1", "i2"] {
            builder.push(0x1a2_2921_3652, None, Some(value.as_bytes()), &[]);
        }
        assert_eq!(builder.bytes(), 88);
        assert_eq!(builder.finish()[..], hex(STORED)[..]);
    }

    #[test]
    fn record_bytes_max_is_never_too_small() {
        let headers = [Header { key: "k".into(), value: None }, Header { key: "".into(), value: Some(b"vv") }];
        let mut builder = BatchBuilder::new(Compression::None).base_timestamp(i64::MIN);
        let before = builder.bytes();
        builder.push(i64::MAX, Some(b"key"), None, &headers);
        assert!(builder.bytes() - before <= BatchBuilder::record_bytes_max(Some(b"key"), None, &headers));
    }

    #[test]
    fn a_batch_in_place_of_another_keeps_offsets_producer_and_end() {
        let mut original = BatchBuilder::new(Compression::Zstd).base_offset(700).leader_epoch(3).producer(9, 1, 40);
        for (at, value) in ["a", "b", "c"].into_iter().enumerate() {
            original.push(1000 + at as i64, Some(b"k"), Some(value.as_bytes()), &[]);
        }
        let original = original.transactional().finish();
        let view = BatchView::parse(&original).unwrap();
        let body = view.open(1 << 20).unwrap();
        let kept = view.records_in(&body).nth(1).unwrap().unwrap();

        let mut cleaned = BatchBuilder::in_place_of(&view, Compression::None).delete_horizon(9000);
        cleaned.push_copy(&kept, kept.timestamp(&view));
        let cleaned = cleaned.finish();
        let cleaned = BatchView::parse(&cleaned).unwrap();
        cleaned.verify_checksum().unwrap();
        assert_eq!((cleaned.base_offset(), cleaned.last_offset(), cleaned.records_count()), (700, 702, 1));
        assert_eq!((cleaned.producer_id(), cleaned.producer_epoch(), cleaned.base_sequence()), (9, 1, 40));
        assert!(cleaned.attributes().is_transactional() && cleaned.attributes().has_delete_horizon());
        assert_eq!((cleaned.base_timestamp(), cleaned.max_timestamp()), (9000, 1001));
        let record = cleaned.records().unwrap().next().unwrap().unwrap();
        assert_eq!((record.offset(&cleaned), record.timestamp(&cleaned), record.value), (701, 1001, Some(&b"b"[..])));
    }

    #[test]
    fn a_batch_without_records_is_a_bare_header() {
        let empty = BatchBuilder::new(Compression::Gzip).finish();
        let view = BatchView::parse(&empty).unwrap();
        view.verify_checksum().unwrap();
        assert_eq!((view.len(), view.records_count(), view.attributes().0), (HEADER_BYTES, 0, 0));
        assert_eq!((view.base_timestamp(), view.max_timestamp()), (-1, -1));
    }

    type Plain = (i64, Option<Vec<u8>>, Option<Vec<u8>>, Vec<(String, Option<Vec<u8>>)>);

    fn blob() -> impl Strategy<Value = Option<Vec<u8>>> {
        proptest::option::of(proptest::collection::vec(any::<u8>(), 0..300))
    }

    fn record() -> impl Strategy<Value = Plain> {
        (any::<i64>(), blob(), blob(), proptest::collection::vec((".{0,9}", blob()), 0..4))
    }

    proptest! {
        #[test]
        fn records_read_back_whatever_the_codec(
            codec in 0u8..5, records in proptest::collection::vec(record(), 0..20), base_offset in 0..i64::MAX / 2,
        ) {
            let mut builder = BatchBuilder::new(Compression::from_id(codec).unwrap()).base_offset(base_offset);
            for (timestamp, key, value, headers) in &records {
                let headers: Vec<_> = headers
                    .iter()
                    .map(|(key, value)| Header { key: key.as_str().into(), value: value.as_deref() })
                    .collect();
                builder.push(*timestamp, key.as_deref(), value.as_deref(), &headers);
            }
            let batch = builder.finish();
            let view = BatchView::parse(&batch).unwrap();
            view.verify_checksum().unwrap();
            prop_assert_eq!(view.records_count() as usize, records.len());
            let body = view.open(1 << 24).unwrap();
            let mut read: Vec<Plain> = Vec::new();
            for (at, record) in view.records_in(&body).enumerate() {
                let record = record.unwrap();
                prop_assert_eq!(record.offset(&view), base_offset + at as i64);
                let headers = record.headers().map(|header| {
                    (header.key.into_owned(), header.value.map(<[u8]>::to_vec))
                });
                read.push((
                    record.timestamp(&view),
                    record.key.map(<[u8]>::to_vec),
                    record.value.map(<[u8]>::to_vec),
                    headers.collect(),
                ));
            }
            prop_assert_eq!(read, records);
        }
    }
}
