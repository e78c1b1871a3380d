//! Batches that a broker must refuse, each with its code, and that it is then as if they had never come.

use ballast_tests::raw::messages::{produce, produce_rows};
use ballast_tests::raw::rows::{PRODUCE, records_of};
use ballast_tests::raw::{Connection, at, batch, now_ms, patched, timed};
use ballast_tests::target::{Broker, shared};
use ballast_wire::batch::{BatchBuilder, Compression};
use bytes::Bytes;
use kafka_protocol::messages::produce_response::PartitionProduceResponse;

const CORRUPT_MESSAGE: i16 = 2;
const INVALID_TIMESTAMP: i16 = 32;
const INVALID_RECORD: i16 = 87;

/// Produces to a new topic what is refused; then what is not, which must find the log empty.
fn refused(broker: &Broker, configs: &[(&str, &str)], what: &str, records: Bytes) -> PartitionProduceResponse {
    let topic = broker.topic("refused", 1, configs);
    let mut connection = broker.connect();
    let row = connection.produce(8, &topic.name, 0, records);
    assert_ne!(row.error_code, 0, "{what} was accepted");
    assert_eq!((row.base_offset, row.log_append_time_ms), (-1, -1), "{what}: {row:?}");
    assert_eq!(connection.append(&topic.name, 0, keyed(&["good"])), 0, "{what}: something was written");
    row
}

fn keyed(values: &[&str]) -> Bytes {
    let mut builder = BatchBuilder::new(Compression::None);
    for value in values {
        builder.push(now_ms(), Some(b"key"), Some(value.as_bytes()), &[]);
    }
    builder.finish()
}

fn i32_at(batch: &[u8], position: usize, value: i32) -> Bytes {
    patched(batch, position, &value.to_be_bytes())
}

#[test]
fn a_header_that_contradicts_its_records_is_an_invalid_record() {
    let broker = shared();
    let two = batch(&["a", "b"]);
    let producer = patched(&two, at::PRODUCER_ID, &5i64.to_be_bytes());
    let producer = patched(&producer, at::PRODUCER_EPOCH, &0i16.to_be_bytes());
    for (what, records) in [
        ("base offset 5", patched(&two, at::BASE_OFFSET, &5i64.to_be_bytes())),
        ("a count above the records", i32_at(&two, at::RECORDS_COUNT, 3)),
        ("a count below the records", i32_at(&two, at::RECORDS_COUNT, 1)),
        ("a count of 0", i32_at(&two, at::RECORDS_COUNT, 0)),
        ("a negative count", i32_at(&two, at::RECORDS_COUNT, -1)),
        ("the greatest count", i32_at(&two, at::RECORDS_COUNT, i32::MAX)),
        ("a last offset delta beyond the records", i32_at(&two, at::LAST_OFFSET_DELTA, 2)),
        ("a last offset delta below the records", i32_at(&two, at::LAST_OFFSET_DELTA, 0)),
        (
            "count and delta that agree on too many",
            i32_at(&i32_at(&two, at::RECORDS_COUNT, 3), at::LAST_OFFSET_DELTA, 2),
        ),
        ("a control batch", patched(&two, at::ATTRIBUTES, &[0, 32])),
        ("a producer id without a sequence", producer),
    ] {
        let row = refused(&broker, &[], what, records);
        assert_eq!(row.error_code, INVALID_RECORD, "{what}: {row:?}");
        assert_eq!(row.log_start_offset, 0, "{what}: {row:?}");
    }
}

#[test]
fn anything_but_exactly_one_batch_is_an_invalid_record() {
    let broker = shared();
    let one = batch(&["a"]);
    for (what, records) in [
        ("two batches", [&one[..], &one[..]].concat()),
        ("no batch", vec![]),
        ("a batch that is cut", one[..one.len() - 1].to_vec()),
        ("half a header", one[..30].to_vec()),
    ] {
        let row = refused(&broker, &[], what, records.into());
        assert_eq!((row.error_code, row.log_start_offset), (INVALID_RECORD, -1), "{what}: {row:?}");
    }
}

#[test]
fn bytes_that_are_no_batch_are_a_corrupt_message() {
    let broker = shared();
    let good = batch(&["a"]);
    let mut flipped = good.to_vec();
    *flipped.last_mut().unwrap() ^= 1;
    let with = |position: usize, bytes: &[u8]| {
        let mut batch = good.to_vec();
        batch[position..position + bytes.len()].copy_from_slice(bytes);
        batch
    };
    for (what, records) in [
        ("zeros", vec![0; 80]),
        ("a batch and then zeros", [&good[..], &[0; 20]].concat()),
        ("magic 3", with(at::MAGIC, &[3])),
        ("a wrong checksum", with(at::CRC, &[0; 4])),
        ("a record with a flipped bit", flipped),
        ("a length of -1", with(at::BATCH_LENGTH, &(-1i32).to_be_bytes())),
        ("a length of 10", with(at::BATCH_LENGTH, &10i32.to_be_bytes())),
    ] {
        let row = refused(&broker, &[], what, records.into());
        assert_eq!(row.error_code, CORRUPT_MESSAGE, "{what}: {row:?}");
    }
}

#[test]
fn the_formats_before_version_two_are_refused() {
    let broker = shared();
    for magic in [0, 1] {
        let mut old = batch(&["a"]).to_vec();
        old[at::MAGIC] = magic;
        let row = refused(&broker, &[], "an old format", old.into());
        // Apache Kafka says one or the other, by what it makes of the bytes.
        assert!([CORRUPT_MESSAGE, INVALID_RECORD].contains(&row.error_code), "magic {magic}: {row:?}");
    }
}

#[test]
fn a_few_bytes_after_a_batch_are_dropped() {
    let broker = shared();
    let topic = broker.topic("stray", 1, &[]);
    let mut connection = broker.connect();
    let records = [&batch(&["a"])[..], b"stray"].concat();
    assert_eq!(connection.produce(PRODUCE, &topic.name, 0, records.into()).error_code, 0);
    connection.append(&topic.name, 0, batch(&["b"]));
    let row = connection.fetch(&topic.name, 0, 0);
    assert_eq!(records_of(&row), [(0, "a".to_owned()), (1, "b".to_owned())]);
}

#[test]
fn records_whose_offsets_are_not_in_a_row_are_stored_as_sent() {
    let broker = shared();
    let topic = broker.topic("odd-deltas", 1, &[]);
    let mut connection = broker.connect();
    let mut odd = batch(&["a", "b"]).to_vec();
    // Length, attributes, timestamp delta and offset delta of the second record are one byte each: its delta 1 becomes 0.
    let second = at::RECORDS + 1 + usize::from(odd[at::RECORDS] / 2);
    assert_eq!(odd[second + 3], 2, "the second record's offset delta, zig-zag");
    odd[second + 3] = 0;
    let odd = patched(&odd, at::ATTRIBUTES, &[0, 0]);
    assert_eq!(connection.append(&topic.name, 0, odd), 0);
    assert_eq!(connection.append(&topic.name, 0, batch(&["c"])), 2);
}

#[test]
fn a_transactional_batch_without_a_transactional_id_refuses_the_whole_request() {
    let broker = shared();
    let topic = broker.topic("transactional", 2, &[]);
    let mut connection = broker.connect();
    let transactional = {
        let mut builder = BatchBuilder::new(Compression::None).producer(5, 0, 0).transactional();
        builder.push(now_ms(), None, Some(b"a"), &[]);
        builder.finish()
    };
    let rows = vec![(0, Some(transactional)), (1, Some(batch(&["b"])))];
    let response = connection.call(PRODUCE, &produce_rows(-1, &topic.name, rows));
    for row in &response.responses[0].partition_responses {
        assert_eq!((row.error_code, row.base_offset), (53, -1), "partition {}", row.index);
    }
    assert_eq!(connection.bounds(&topic.name, 1), (0, 0), "the plain batch beside it");
}

#[test]
fn a_codec_that_does_not_exist_is_an_invalid_record() {
    let broker = shared();
    if !broker.is_ballast() {
        return; // Apache Kafka answers -1 (unknown server error), which says nothing to a client.
    }
    for codec in [5, 6, 7] {
        let row = refused(&broker, &[], "a codec", patched(&batch(&["a"]), at::ATTRIBUTES, &[0, codec]));
        assert_eq!(row.error_code, INVALID_RECORD, "codec {codec}");
    }
}

#[test]
fn records_that_are_null_are_an_invalid_record_at_once() {
    let broker = shared();
    if !broker.is_ballast() {
        return; // Apache Kafka never answers.
    }
    let topic = broker.topic("null-records", 1, &[]);
    let mut connection = broker.connect();
    for version in [3, 8, PRODUCE] {
        let row = connection.produced(version, &produce(-1, &topic.name, 0, None));
        assert_eq!((row.error_code, row.base_offset), (INVALID_RECORD, -1), "v{version}");
    }
}

#[test]
fn a_body_that_its_codec_cannot_open_is_refused_where_bodies_are_opened() {
    let broker = shared();
    let liar = patched(&batch(&["not gzip"]), at::ATTRIBUTES, &[0, 1]);
    if broker.is_ballast() {
        let opened = [("ballast.validate.compressed", "true")];
        assert_eq!(refused(&broker, &opened, "a lie", liar.clone()).error_code, INVALID_RECORD);
        let topic = broker.topic("shut", 1, &[]);
        assert_eq!(broker.connect().append(&topic.name, 0, liar), 0, "compressed batches stay shut by default");
    } else {
        assert_eq!(refused(&broker, &[], "a lie", liar).error_code, -1);
    }
}

#[test]
fn old_versions_may_not_carry_zstd() {
    let broker = shared();
    let topic = broker.topic("zstd", 1, &[]);
    let mut connection = broker.connect();
    let records = timed(Compression::Zstd, &[(now_ms(), "a")]);
    for (version, expected) in [(3, 76), (6, 76), (7, 0), (PRODUCE, 0)] {
        assert_eq!(connection.produce(version, &topic.name, 0, records.clone()).error_code, expected, "v{version}");
    }
}

#[test]
fn timestamps_must_lie_within_the_topics_bounds() {
    let broker = shared();
    let row = refused(&broker, &[], "two hours ahead", timed(Compression::None, &[(now_ms() + 7_200_000, "a")]));
    assert_eq!(row.error_code, INVALID_TIMESTAMP);
    assert_eq!(row.record_errors.iter().map(|error| error.batch_index).collect::<Vec<_>>(), [0]);
    assert!(row.record_errors[0].batch_index_error_message.is_some() && row.error_message.is_some(), "{row:?}");

    let past = [("message.timestamp.before.max.ms", "60000")];
    let records = [(now_ms(), "a"), (now_ms() - 120_000, "b"), (now_ms() + 7_200_000, "c")];
    let row = refused(&broker, &past, "two minutes ago", timed(Compression::None, &records));
    assert_eq!(row.error_code, INVALID_TIMESTAMP);
    assert_eq!(row.record_errors.iter().map(|error| error.batch_index).collect::<Vec<_>>(), [1, 2]);

    let topic = broker.topic("odd-times", 1, &[("retention.ms", "-1")]);
    let mut connection = broker.connect();
    for timestamp in [-2, -1, 0] {
        let row = connection.produce(PRODUCE, &topic.name, 0, timed(Compression::None, &[(timestamp, "a")]));
        assert_eq!(row.error_code, 0, "timestamp {timestamp}");
    }
}

#[test]
fn a_record_without_a_key_is_refused_on_a_compacted_topic_and_named() {
    let broker = shared();
    let topic = broker.topic("compacted", 1, &[("cleanup.policy", "compact")]);
    let mut connection = broker.connect();
    let (producer, epoch) = connection.producer();
    let build = |keys: [Option<&[u8]>; 2]| {
        let mut builder = BatchBuilder::new(Compression::None).producer(producer, epoch, 0);
        for key in keys {
            builder.push(now_ms(), key, Some(b"value"), &[]);
        }
        builder.finish()
    };
    let row = connection.produce(PRODUCE, &topic.name, 0, build([Some(b"key"), None]));
    assert_eq!((row.error_code, row.base_offset), (INVALID_RECORD, -1));
    let errors: Vec<_> = row.record_errors.iter().map(|error| error.batch_index).collect();
    assert_eq!(errors, [1], "{row:?}");
    assert!(row.record_errors[0].batch_index_error_message.is_some(), "{row:?}");
    assert_eq!(connection.bounds(&topic.name, 0), (0, 0), "nothing was appended");
    let again = connection.produce(PRODUCE, &topic.name, 0, build([Some(b"key"), Some(b"other")]));
    assert_eq!((again.error_code, again.base_offset), (0, 0), "the same sequence, put right");
}

#[test]
fn a_compressed_record_without_a_key_is_refused_on_a_compacted_topic_too() {
    let broker = shared();
    for codec in [Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd] {
        let records = timed(codec, &[(now_ms(), "no key")]);
        let row = refused(&broker, &[("cleanup.policy", "compact")], "no key", records);
        assert_eq!((row.error_code, row.record_errors.len()), (INVALID_RECORD, 1), "{codec:?}");
    }
}

#[test]
fn a_bad_time_speaks_louder_than_a_missing_key() {
    let broker = shared();
    let mut builder = BatchBuilder::new(Compression::None);
    builder.push(now_ms(), None, Some(b"no key"), &[]);
    builder.push(now_ms() + 7_200_000, Some(b"key"), Some(b"ahead"), &[]);
    let records = builder.finish();
    let row = refused(&broker, &[("cleanup.policy", "compact")], "both", records);
    assert_eq!(row.error_code, INVALID_TIMESTAMP);
    let mut errors: Vec<_> = row.record_errors.iter().map(|error| error.batch_index).collect();
    errors.dedup();
    assert_eq!(errors, [0, 1], "{row:?}");
}

#[test]
fn errors_of_single_records_are_told_from_version_eight_on() {
    let broker = shared();
    let topic = broker.topic("told", 1, &[("cleanup.policy", "compact")]);
    let mut connection: Connection = broker.connect();
    for version in [3, 7, 8, 9, PRODUCE] {
        let row = connection.produce(version, &topic.name, 0, batch(&["no key"]));
        assert_eq!(
            (row.error_code, row.record_errors.len()),
            (INVALID_RECORD, usize::from(version >= 8)),
            "v{version}"
        );
    }
}
