//! How large a batch may be: as received, and again after the broker has packed it anew.

use ballast_tests::raw::batches::{batch_of_bytes, incompressible};
use ballast_tests::raw::messages::produce_rows;
use ballast_tests::raw::rows::{PRODUCE, batches_of};
use ballast_tests::raw::{batch, now_ms, timed};
use ballast_tests::target::shared;
use ballast_wire::batch::Compression;

const MESSAGE_TOO_LARGE: i16 = 10;
const RECORD_LIST_TOO_LARGE: i16 = 18;

#[test]
fn a_batch_may_have_exactly_as_many_bytes_as_its_topic_allows() {
    let broker = shared();
    let mut connection = broker.connect();
    for limit in [1000, 1_048_588] {
        let topic = broker.topic("limit", 1, &[("max.message.bytes", &limit.to_string())]);
        let row = connection.produce(PRODUCE, &topic.name, 0, batch_of_bytes(limit));
        assert_eq!((row.error_code, row.base_offset), (0, 0), "{limit} bytes");
        let row = connection.produce(PRODUCE, &topic.name, 0, batch_of_bytes(limit + 1));
        assert_eq!((row.error_code, row.base_offset), (MESSAGE_TOO_LARGE, -1), "{} bytes", limit + 1);
        assert_eq!(connection.bounds(&topic.name, 0), (0, 1));
    }
}

#[test]
fn a_compressed_batch_is_measured_as_it_was_sent() {
    let broker = shared();
    let topic = broker.topic("as-sent", 1, &[("max.message.bytes", "1000")]);
    let mut connection = broker.connect();
    let value = "x".repeat(20_000);
    for codec in [Compression::Gzip, Compression::Zstd] {
        let row = connection.produce(PRODUCE, &topic.name, 0, timed(codec, &[(now_ms(), &value)]));
        assert_eq!(row.error_code, 0, "{codec:?}");
    }
}

#[test]
fn a_batch_that_grows_beyond_the_limit_when_it_is_unpacked_is_refused() {
    let broker = shared();
    let configs = [("max.message.bytes", "1000"), ("compression.type", "uncompressed")];
    let topic = broker.topic("grows", 1, &configs);
    let mut connection = broker.connect();
    let packed = |len| timed(Compression::Gzip, &[(now_ms(), &"x".repeat(len))]);
    let row = connection.produce(PRODUCE, &topic.name, 0, packed(2000));
    assert_eq!((row.error_code, row.base_offset), (MESSAGE_TOO_LARGE, -1));
    let row = connection.produce(PRODUCE, &topic.name, 0, packed(500));
    assert_eq!(row.error_code, 0);
    let stored = connection.fetch(&topic.name, 0, 0);
    assert_eq!(batches_of(&stored)[0].attributes().codec_id(), 0, "stored as the topic wants it");
}

#[test]
fn a_batch_beyond_the_limit_as_received_is_refused_even_if_packing_would_shrink_it() {
    let broker = shared();
    let configs = [("max.message.bytes", "1000"), ("compression.type", "gzip")];
    let topic = broker.topic("shrinks", 1, &configs);
    let mut connection = broker.connect();
    let row = connection.produce(PRODUCE, &topic.name, 0, batch(&[&"x".repeat(2000)]));
    assert_eq!((row.error_code, row.base_offset), (MESSAGE_TOO_LARGE, -1));
}

#[test]
fn a_topic_with_a_codec_stores_every_batch_in_it() {
    let broker = shared();
    let mut connection = broker.connect();
    for (codec, id) in [("gzip", 1), ("snappy", 2), ("lz4", 3), ("zstd", 4)] {
        let topic = broker.topic("recompressed", 1, &[("compression.type", codec)]);
        for sent in [Compression::None, Compression::Gzip, Compression::Zstd] {
            connection.append(&topic.name, 0, timed(sent, &[(now_ms(), "a"), (now_ms(), "b")]));
        }
        let row = connection.fetch(&topic.name, 0, 0);
        let stored = batches_of(&row);
        assert_eq!(stored.iter().map(|batch| batch.attributes().codec_id()).collect::<Vec<_>>(), [id; 3], "{codec}");
        let values = ballast_tests::raw::rows::records_of(&row);
        assert_eq!(values.iter().map(|(offset, _)| *offset).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5], "{codec}");
    }
}

#[test]
fn one_batch_too_large_does_not_refuse_its_neighbour() {
    let broker = shared();
    let topic = broker.topic("neighbours", 2, &[("max.message.bytes", "51200")]);
    let mut connection = broker.connect();
    let large = batch(&[&incompressible(10 << 20)]);
    let request = produce_rows(-1, &topic.name, vec![(0, Some(large)), (1, Some(batch(&["small"])))]);
    let mut rows = connection.call(PRODUCE, &request).responses.remove(0).partition_responses;
    rows.sort_by_key(|row| row.index);
    assert_eq!(rows.iter().map(|row| row.error_code).collect::<Vec<_>>(), [MESSAGE_TOO_LARGE, 0]);
}

#[test]
fn a_batch_larger_than_a_segment_is_refused() {
    let broker = shared();
    let configs = [("segment.bytes", "1048576"), ("max.message.bytes", "3000000")];
    let topic = broker.topic("segment", 1, &configs);
    let mut connection = broker.connect();
    let row = connection.produce(PRODUCE, &topic.name, 0, batch_of_bytes(1_048_577));
    assert_eq!((row.error_code, row.base_offset), (RECORD_LIST_TOO_LARGE, -1));
    assert_eq!(connection.append(&topic.name, 0, batch_of_bytes(1_048_576)), 0);
}
