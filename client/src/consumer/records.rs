//! Records out of fetched bytes: decompressed, checked, and not copied again.
//!
//! Holds: a fetch may begin inside a batch and end inside one; what lies before the position is skipped, a cut tail is
//! left for the next fetch. The position moves over whole batches, also over those that compaction emptied, over control
//! batches, which nobody sees, and over batches of aborted transactions, for those who read committed records alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ballast_wire::batch::{BatchError, BatchView, Body, ControlRecord, TimestampType, batches};
use ballast_wire::{LeaderEpoch, Offset, PartitionIndex, ProducerId};
use bytes::Bytes;

/// A record as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its offset.
    pub offset: Offset,
    /// In ms since 1970.
    pub timestamp: i64,
    /// Whose clock that is.
    pub timestamp_type: TimestampType,
    /// What it is about.
    pub key: Option<Bytes>,
    /// What it says.
    pub value: Option<Bytes>,
    /// Its headers, in the order sent.
    pub headers: Vec<(String, Option<Bytes>)>,
    /// Epoch of the leader that wrote it.
    pub leader_epoch: LeaderEpoch,
}

/// Records of one partition, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The topic.
    pub topic: Arc<str>,
    /// The partition.
    pub partition: PartitionIndex,
    /// The records.
    pub records: Vec<Record>,
    /// End of what may be read, as of this answer: the high watermark, or the last stable offset for those who read
    /// committed records alone.
    pub readable_end: Offset,
}

/// How bytes are read.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) check_crcs: bool,
    pub(super) opened_bytes_max: usize,
    /// First offset and producer of the aborted transactions in these bytes; `None` to read them like any other.
    pub(super) aborted: Option<Vec<(Offset, ProducerId)>>,
}

/// Which producers are in an aborted transaction at the batch that is being read. A transaction's records begin at its
/// first offset and end with the marker that aborts it.
struct Aborts {
    /// By first offset, which are not reached yet.
    ahead: BTreeMap<Offset, BTreeSet<ProducerId>>,
    open: BTreeSet<ProducerId>,
}

impl Aborts {
    fn new(aborted: Vec<(Offset, ProducerId)>) -> Aborts {
        let mut ahead: BTreeMap<Offset, BTreeSet<ProducerId>> = BTreeMap::new();
        for (first, producer) in aborted {
            ahead.entry(first).or_default().insert(producer);
        }
        Aborts { ahead, open: BTreeSet::new() }
    }

    /// Is this batch part of an aborted transaction?
    fn hide(&mut self, batch: &BatchView<'_>, opened_bytes_max: usize) -> Result<bool, BatchError> {
        while let Some(entry) = self.ahead.first_entry().filter(|entry| *entry.key() <= batch.last_offset()) {
            self.open.append(&mut entry.remove());
        }
        if batch.attributes().is_control() {
            let body = batch.open(opened_bytes_max)?;
            for record in batch.records_in(&body) {
                if let Some(ControlRecord::EndTxn { committed: false, .. }) = ControlRecord::parse(&record?) {
                    self.open.remove(&batch.producer_id());
                }
            }
            return Ok(false);
        }
        Ok(batch.attributes().is_transactional() && self.open.contains(&batch.producer_id()))
    }
}

/// What was found, and where to go on.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Decoded {
    pub(super) records: Vec<Record>,
    /// The offset after the last whole batch, if there was one.
    pub(super) next: Option<Offset>,
    /// Epoch of that batch.
    pub(super) epoch: LeaderEpoch,
}

/// Reads the whole batches of `bytes` from offset `from` on.
///
/// # Errors
/// The first batch that is not what it should be, with its base offset.
pub(super) fn decode(bytes: &Bytes, from: Offset, rules: Rules) -> Result<Decoded, (Offset, BatchError)> {
    let Rules { check_crcs, opened_bytes_max, aborted } = rules;
    let mut aborts = aborted.map(Aborts::new);
    let mut decoded = Decoded { epoch: -1, ..Decoded::default() };
    for batch in batches(bytes) {
        let batch = batch.map_err(|e| (decoded.next.unwrap_or(from), e))?;
        if batch.last_offset() < from {
            continue;
        }
        let fail = |e| (batch.base_offset(), e);
        if check_crcs {
            batch.verify_checksum().map_err(fail)?;
        }
        let hidden = match &mut aborts {
            Some(aborts) => aborts.hide(&batch, opened_bytes_max).map_err(fail)?,
            None => false,
        };
        if !batch.attributes().is_control() && !hidden {
            read(&batch, bytes, from, opened_bytes_max, &mut decoded.records).map_err(fail)?;
        }
        decoded.next = Some(batch.last_offset().saturating_add(1));
        decoded.epoch = batch.leader_epoch();
    }
    Ok(decoded)
}

fn read(
    batch: &BatchView<'_>,
    bytes: &Bytes,
    from: Offset,
    opened_bytes_max: usize,
    out: &mut Vec<Record>,
) -> Result<(), BatchError> {
    let body = batch.open(opened_bytes_max)?;
    let owner = match &body {
        Body::Borrowed(_) => bytes,
        Body::Opened(opened) => opened,
    };
    let timestamp_type = batch.attributes().timestamp_type();
    for record in batch.records_in(&body) {
        let record = record?;
        let offset = record.offset(batch);
        if offset < from {
            continue;
        }
        let own = |slice: Option<&[u8]>| slice.map(|slice| owner.slice_ref(slice));
        out.push(Record {
            offset,
            timestamp: record.timestamp(batch),
            timestamp_type,
            key: own(record.key),
            value: own(record.value),
            headers: record.headers().map(|header| (header.key.into_owned(), own(header.value))).collect(),
            leader_epoch: batch.leader_epoch(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ballast_wire::batch::{BatchBuilder, Compression, EndTxnMarker, Header};

    use super::*;

    fn batch(codec: Compression, base: Offset, values: &[&str]) -> Bytes {
        let mut builder = BatchBuilder::new(codec).base_offset(base).leader_epoch(4);
        for (at, value) in values.iter().enumerate() {
            let headers = [Header { key: "h".into(), value: Some(b"v") }];
            builder.push(1_000 + at as i64, Some(b"k"), Some(value.as_bytes()), &headers);
        }
        builder.finish()
    }

    fn rules(opened_bytes_max: usize) -> Rules {
        Rules { check_crcs: true, opened_bytes_max, aborted: None }
    }

    fn offsets(decoded: &Decoded) -> Vec<Offset> {
        decoded.records.iter().map(|record| record.offset).collect()
    }

    #[test]
    fn every_codec_reads_and_what_lies_before_the_position_is_skipped() {
        for codec in [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd] {
            let bytes = [batch(codec, 0, &["gone"]), batch(codec, 10, &["a", "b", "c"])].concat().into();
            let decoded = decode(&bytes, 11, rules(1 << 20)).unwrap();
            assert_eq!(offsets(&decoded), [11, 12], "{codec:?}");
            assert_eq!((decoded.next, decoded.epoch), (Some(13), 4));
            let record = &decoded.records[0];
            assert_eq!((record.key.as_deref(), record.value.as_deref()), (Some(&b"k"[..]), Some(&b"b"[..])));
            assert_eq!((record.timestamp, &record.headers[0].0), (1_001, &"h".to_owned()));
        }
    }

    #[test]
    fn a_cut_tail_is_left_for_the_next_fetch() {
        let whole = batch(Compression::None, 0, &["a", "b"]);
        let bytes: Bytes = [&whole[..], &batch(Compression::None, 2, &["c"])[..50]].concat().into();
        let decoded = decode(&bytes, 0, rules(1 << 20)).unwrap();
        assert_eq!((offsets(&decoded), decoded.next), (vec![0, 1], Some(2)));
        assert_eq!(decode(&whole.slice(..60), 0, rules(1 << 20)).unwrap().next, None);
    }

    #[test]
    fn control_batches_move_the_position_and_are_not_seen() {
        let mut builder = BatchBuilder::new(Compression::None).base_offset(5).control();
        builder.push(0, Some(b"\0\0\0\x01"), Some(b"\0\0\0\0\0\0"), &[]);
        let decoded = decode(&builder.finish(), 5, rules(1 << 20)).unwrap();
        assert_eq!((decoded.records.len(), decoded.next), (0, Some(6)));
    }

    #[test]
    fn a_rotten_batch_is_named_by_its_offset() {
        let mut bytes = [batch(Compression::None, 0, &["a"]), batch(Compression::None, 1, &["b"])].concat();
        let last = bytes.len() - 3;
        bytes[last] ^= 1;
        let (offset, error) = decode(&bytes.clone().into(), 0, rules(1 << 20)).unwrap_err();
        assert!(matches!((offset, error), (1, BatchError::Checksum { .. })), "{offset} {error}");
        assert!(
            decode(&bytes.into(), 0, Rules { check_crcs: false, ..rules(1 << 20) }).is_ok(),
            "nobody asked for a check"
        );
    }

    #[test]
    fn a_body_that_grows_beyond_the_limit_is_refused() {
        let bytes = batch(Compression::Zstd, 0, &["x".repeat(10_000).as_str()]);
        assert!(matches!(decode(&bytes, 0, rules(1_000)), Err((0, BatchError::TooLarge(1_000)))));
    }

    #[test]
    fn aborted_transactions_are_passed_over_from_their_first_record_to_their_marker() {
        let data = |producer: ProducerId, base: Offset, value: &str| {
            let builder = BatchBuilder::new(Compression::None).base_offset(base).producer(producer, 0, 0);
            let mut builder = builder.transactional();
            builder.push(1, None, Some(value.as_bytes()), &[]);
            builder.finish()
        };
        let marker = |producer_id: ProducerId, offset: Offset, committed: bool| {
            let marker = EndTxnMarker { producer_id, producer_epoch: 0, committed, coordinator_epoch: 0, timestamp: 1 };
            marker.batch(offset, 0)
        };
        let bytes: Bytes = [
            data(7, 0, "aborted"),
            data(8, 1, "committed"),
            data(7, 2, "aborted, too"),
            marker(7, 3, false),
            marker(8, 4, true),
            data(7, 5, "the next transaction of the same producer"),
            batch(Compression::None, 6, &["without one"]),
        ]
        .concat()
        .into();
        let committed = |from| {
            let rules = Rules { aborted: Some(vec![(0, 7)]), ..rules(1 << 20) };
            let decoded = decode(&bytes, from, rules).unwrap();
            assert_eq!(decoded.next, Some(7));
            offsets(&decoded)
        };
        assert_eq!(committed(0), [1, 5, 6]);
        assert_eq!(committed(2), [5, 6], "its first records lie before the position");
        assert_eq!(offsets(&decode(&bytes, 0, rules(1 << 20)).unwrap()), [0, 1, 2, 5, 6]);
    }
}
