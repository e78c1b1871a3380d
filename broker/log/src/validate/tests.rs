//! Which batches may be appended, and in which words the others are refused.

use ballast_wire::batch::{BatchBuilder, EndTxnMarker};

use super::*;
use crate::config::CleanupPolicy;
use crate::error::RecordError;
use crate::testing::{NOW_MS, batch, batch_at, sequenced};

const CLIENT: Origin = Origin::Client { produce_version: 12, transactions_v2: false };

fn judged(records: &[u8], config: &LogConfig) -> Result<ValidBatch, AppendError> {
    validate(&Bytes::copy_from_slice(records), config, CLIENT, NOW_MS)
}

/// Changes a batch and puts its checksum right.
fn altered(batch: &Bytes, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = batch.to_vec();
    change(&mut bytes);
    let checksum = ballast_wire::batch::view::checksum_of(&bytes);
    bytes[17..21].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

fn stored(valid: &ValidBatch) -> Vec<u8> {
    match &valid.rewritten {
        Some(header) => [&header[..], &valid.bytes[61..]].concat(),
        None => valid.bytes.to_vec(),
    }
}

/// Trap 11.
#[test]
fn a_partition_takes_exactly_one_batch() {
    let config = LogConfig::default();
    let one = batch(2);
    assert!(judged(&one, &config).is_ok());
    for bad in [&[][..], &one[..one.len() - 1], &one[..10], &[&one[..], &one[..]].concat()] {
        let refused = judged(bad, &config).unwrap_err();
        assert!(matches!(refused, AppendError::NotOneBatch(_)), "{} bytes: {refused}", bad.len());
    }
}

#[test]
fn stray_bytes_are_dropped_when_they_are_too_few_for_a_header() {
    let config = LogConfig::default();
    let one = batch(2);
    let valid = judged(&[&one[..], &[0; 5]].concat(), &config).unwrap();
    assert_eq!(valid.bytes, one);
    let refused = judged(&[&one[..], &[0; 20]].concat(), &config).unwrap_err();
    assert!(matches!(refused, AppendError::Corrupt(BatchError::BadLength(0))), "{refused}");
    let cut_second = [&one[..], &one[..40]].concat();
    assert_eq!(judged(&cut_second, &config).unwrap().bytes, one);
}

#[test]
fn other_formats_and_wrong_checksums_are_corrupt() {
    let config = LogConfig::default();
    for magic in [0, 1, 3] {
        let mut bytes = batch(1).to_vec();
        bytes[16] = magic;
        let refused = judged(&bytes, &config).unwrap_err();
        assert!(matches!(refused, AppendError::Corrupt(BatchError::BadMagic(_))), "{refused}");
    }
    let mut bytes = batch(1).to_vec();
    bytes[70] ^= 1;
    assert!(matches!(judged(&bytes, &config), Err(AppendError::Corrupt(BatchError::Checksum { .. }))));
    let refused = judged(&[0; 80], &config).unwrap_err();
    assert!(matches!(refused, AppendError::Corrupt(BatchError::BadLength(0))), "{refused}");
}

/// Trap 11.
#[test]
fn a_header_that_contradicts_the_rules_is_invalid_without_naming_records() {
    let config = LogConfig::default();
    let cases: [(&str, Vec<u8>); 6] = [
        ("base offset", altered(&batch(2), |bytes| bytes[7] = 5)),
        ("count", altered(&batch(2), |bytes| bytes[60] = 3)),
        ("no records", altered(&batch(2), |bytes| bytes[57..61].fill(0))),
        ("control bit", altered(&batch(1), |bytes| bytes[22] |= 0x20)),
        ("sequence", altered(&sequenced(7, 0, 0, 1), |bytes| bytes[53..57].fill(0xff))),
        ("codec 7", altered(&batch(1), |bytes| bytes[22] |= 7)),
    ];
    for (what, bytes) in cases {
        let refused = judged(&bytes, &config).unwrap_err();
        let AppendError::InvalidRecord { records, .. } = &refused else { panic!("{what}: {refused}") };
        assert!(records.is_empty(), "{what}: {records:?}");
    }
}

/// Trap 12.
#[test]
fn a_null_key_on_a_compacted_topic_is_named_by_its_index_in_every_codec() {
    let config = LogConfig { cleanup: CleanupPolicy { delete: false, compact: true }, ..LogConfig::default() };
    for codec in [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd] {
        let mut builder = BatchBuilder::new(codec);
        builder.push(NOW_MS, Some(b"key"), None, &[]);
        builder.push(NOW_MS, None, Some(b"value"), &[]);
        let refused = judged(&builder.finish(), &config).unwrap_err();
        let AppendError::InvalidRecord { records, .. } = &refused else { panic!("{codec:?}: {refused}") };
        assert_eq!(records.iter().map(|record| record.index).collect::<Vec<_>>(), [1], "{codec:?}");
    }
}

/// Trap 13.
#[test]
fn exactly_the_largest_size_passes_as_received_and_as_rewritten() {
    let sent = batch_at(&[NOW_MS; 50], Compression::None);
    let size = sent.len() as u64;
    let limit = |max_message_bytes| LogConfig { max_message_bytes, ..LogConfig::default() };
    assert!(judged(&sent, &limit(size)).is_ok());
    let refused = judged(&sent, &limit(size - 1)).unwrap_err();
    assert!(matches!(refused, AppendError::MessageTooLarge { bytes, max } if bytes == max + 1), "{refused}");

    let packed = batch_at(&[NOW_MS; 50], Compression::Zstd);
    let compression = TopicCompression::Codec { codec: Compression::None, level: None };
    let unpacking = LogConfig { compression, ..limit(size - 1) };
    assert!((packed.len() as u64) < size - 1);
    let refused = judged(&packed, &unpacking).unwrap_err();
    assert!(matches!(refused, AppendError::MessageTooLarge { bytes, .. } if bytes == size), "{refused}");
    let too_large = LogConfig { segment_bytes: size - 1, ..limit(size) };
    assert!(matches!(judged(&sent, &too_large), Err(AppendError::RecordListTooLarge { .. })));
}

#[test]
fn times_too_far_from_the_clock_are_named_and_minus_one_is_exempt() {
    let config = LogConfig { timestamp_before_max_ms: 1000, timestamp_after_max_ms: 2000, ..LogConfig::default() };
    let times = [NOW_MS - 1001, NOW_MS - 1000, -1, NOW_MS + 2000, NOW_MS + 2001];
    let refused = judged(&batch_at(&times, Compression::None), &config).unwrap_err();
    let AppendError::InvalidTimestamp { records, .. } = &refused else { panic!("{refused}") };
    assert_eq!(records.iter().map(|record| record.index).collect::<Vec<_>>(), [0, 4]);
    let shut = judged(&batch_at(&[NOW_MS + 2001], Compression::Lz4), &config).unwrap_err();
    assert!(matches!(shut, AppendError::InvalidTimestamp { .. }), "a shut batch is judged by its maximum: {shut}");
    assert!(judged(&batch_at(&[NOW_MS + 3_600_001], Compression::None), &LogConfig::default()).is_err());
    assert!(judged(&batch_at(&[0, -2], Compression::None), &LogConfig::default()).is_ok());
}

#[test]
fn a_time_fault_outranks_a_null_key_and_both_are_named() {
    let cleanup = CleanupPolicy { delete: false, compact: true };
    let config = LogConfig { cleanup, timestamp_before_max_ms: 1000, ..LogConfig::default() };
    let mut builder = BatchBuilder::new(Compression::None);
    builder.push(NOW_MS, None, None, &[]);
    builder.push(NOW_MS - 5000, Some(b"key"), None, &[]);
    let refused = judged(&builder.finish(), &config).unwrap_err();
    let AppendError::InvalidTimestamp { records, .. } = &refused else { panic!("{refused}") };
    assert_eq!(records.iter().map(|record| record.index).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn a_wrong_maximum_is_put_right_and_the_checksum_too() {
    for wrong in [5_i64, i64::MAX] {
        let sent = altered(&batch_at(&[10, 30, 20], Compression::None), |bytes| {
            bytes[35..43].copy_from_slice(&wrong.to_be_bytes());
        });
        let valid = judged(&sent, &LogConfig::default()).unwrap();
        let stored = stored(&valid);
        let view = BatchView::parse(&stored).unwrap();
        view.verify_checksum().unwrap();
        assert_eq!((view.max_timestamp(), valid.header.max_timestamp), (30, 30));
    }
}

#[test]
fn broker_time_from_a_producer_is_refused_or_taken_for_its_own() {
    let sent = altered(&batch_at(&[10, 20], Compression::None), |bytes| bytes[22] |= 0x08);
    let config = LogConfig { timestamp_type: TimestampType::LogAppendTime, ..LogConfig::default() };
    let refused = judged(&sent, &config).unwrap_err();
    assert!(matches!(refused, AppendError::InvalidTimestamp { .. }), "{refused}");
    let valid = judged(&sent, &LogConfig::default()).unwrap();
    let stored = stored(&valid);
    let view = BatchView::parse(&stored).unwrap();
    view.verify_checksum().unwrap();
    assert_eq!(view.attributes().timestamp_type(), TimestampType::CreateTime);
}

#[test]
fn another_codec_of_the_topic_packs_the_batch_again() {
    for (from, to) in [
        (Compression::None, Compression::Zstd),
        (Compression::Gzip, Compression::Lz4),
        (Compression::Snappy, Compression::None),
    ] {
        let compression = TopicCompression::Codec { codec: to, level: None };
        let config = LogConfig { compression, ..LogConfig::default() };
        let sent = batch_at(&[NOW_MS; 20], from);
        let valid = judged(&sent, &config).unwrap();
        let view = BatchView::parse(&valid.bytes).unwrap();
        view.verify_checksum().unwrap();
        assert_eq!(view.attributes().compression(), Ok(to));
        let body = view.open(1 << 20).unwrap();
        let sent_view = BatchView::parse(&sent).unwrap();
        let sent_body = sent_view.open(1 << 20).unwrap();
        assert_eq!(&*body, &*sent_body, "{from:?} to {to:?}");
    }
    let compression = TopicCompression::Codec { codec: Compression::Lz4, level: None };
    let config = LogConfig { compression, ..LogConfig::default() };
    let sent = batch_at(&[NOW_MS; 20], Compression::Lz4);
    assert_eq!(judged(&sent, &config).unwrap().bytes, sent, "the same codec is kept as it is");
}

#[test]
fn compressed_bodies_that_lie_are_found_only_where_they_are_opened() {
    let sent = altered(&batch_at(&[NOW_MS; 3], Compression::Gzip), |bytes| bytes[65..75].fill(0x55));
    assert!(judged(&sent, &LogConfig::default()).is_ok());
    let config = LogConfig { validate_compressed: true, ..LogConfig::default() };
    assert!(matches!(judged(&sent, &config), Err(AppendError::InvalidRecord { .. })));
}

#[test]
fn a_body_that_opens_to_too_much_is_too_large() {
    let mut builder = BatchBuilder::new(Compression::Zstd);
    builder.push(NOW_MS, None, Some(&vec![0; 100_000]), &[]);
    let config = LogConfig { validate_compressed: true, max_decompressed_bytes: 50_000, ..LogConfig::default() };
    let refused = judged(&builder.finish(), &config).unwrap_err();
    assert!(matches!(refused, AppendError::MessageTooLarge { .. }), "{refused}");
}

#[test]
fn offset_deltas_are_kept_uncompressed_repaired_when_packed_and_refused_otherwise() {
    // The second record's offset delta becomes 5.
    let deltas = |codec| {
        let mut builder = BatchBuilder::new(Compression::None);
        builder.push(NOW_MS, Some(b"k"), Some(b"v"), &[]);
        builder.push(NOW_MS, Some(b"k"), Some(b"v"), &[]);
        let plain = altered(&builder.finish(), |bytes| {
            let second = 61 + (bytes.len() - 61) / 2;
            assert_eq!(bytes[second + 3], 2, "the offset delta 1, zig-zag");
            bytes[second + 3] = 10;
        });
        if codec == Compression::None {
            return plain;
        }
        let mut packed = plain[..61].to_vec();
        ballast_wire::batch::compress(codec, None, &plain[61..], &mut packed);
        let length = packed.len() as i32 - 12;
        altered(&packed.into(), |bytes| {
            bytes[8..12].copy_from_slice(&length.to_be_bytes());
            bytes[22] |= codec as u8;
        })
    };
    let plain = LogConfig::default();
    assert!(judged(&deltas(Compression::None), &plain).is_ok());
    let strict = LogConfig { validate_compressed: true, ..plain.clone() };
    assert!(matches!(judged(&deltas(Compression::Lz4), &strict), Err(AppendError::InvalidRecord { .. })));
    let compression = TopicCompression::Codec { codec: Compression::Zstd, level: None };
    let packing = LogConfig { compression, ..plain };
    let valid = judged(&deltas(Compression::Lz4), &packing).unwrap();
    let view = BatchView::parse(&valid.bytes).unwrap();
    let body = view.open(1 << 16).unwrap();
    let repaired: Vec<i32> = view.records_in(&body).map(|record| record.unwrap().offset_delta).collect();
    assert_eq!((repaired, view.last_offset_delta()), (vec![0, 1], 1));
}

#[test]
fn zstd_needs_a_client_that_knows_it() {
    let sent = batch_at(&[NOW_MS], Compression::Zstd);
    let old = Origin::Client { produce_version: 6, transactions_v2: false };
    let refused = validate(&sent, &LogConfig::default(), old, NOW_MS).unwrap_err();
    assert!(matches!(refused, AppendError::UnsupportedCompression), "{refused}");
}

#[test]
fn a_malformed_record_is_named_by_its_index() {
    let sent = altered(&batch(3), |bytes| {
        let last = bytes.len() - 1;
        bytes[last] = 0x7f;
    });
    let refused = judged(&sent, &LogConfig::default()).unwrap_err();
    let AppendError::InvalidRecord { records, .. } = &refused else { panic!("{refused}") };
    assert_eq!(records.iter().map(|RecordError { index, .. }| *index).collect::<Vec<_>>(), [2]);
}

#[test]
fn markers_of_the_broker_pass() {
    let marker =
        EndTxnMarker { producer_id: 7, producer_epoch: 1, committed: true, coordinator_epoch: 4, timestamp: NOW_MS };
    let valid = validate(&marker.batch(0, -1), &LogConfig::default(), Origin::Broker, NOW_MS).unwrap();
    assert_eq!(valid.marker, Some(Marker { commit: true, coordinator_epoch: 4 }));
    assert!(judged(&marker.batch(0, -1), &LogConfig::default()).is_err());
}
