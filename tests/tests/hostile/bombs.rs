//! Small batches that open to very large ones, sent to topics whose broker must open them.

use ballast_tests::raw::rows::PRODUCE;
use ballast_tests::raw::{at, now_ms, patched, timed};
use ballast_wire::batch::{Compression, compress};
use ballast_wire::frame::{Form, Writer};
use bytes::Bytes;

use crate::watch::Watch;

const PIECE_BYTES: usize = 16 << 20;

/// An honest batch may open to 32 MiB whatever its size; the buffer that it is opened into doubles, and is copied as it
/// does. The bombs want five times as much.
const GROWTH_KIB_MAX: u64 = 128 << 10;

/// One record of zeros, in a batch of a few bytes for each megabyte: true in every length, but of this size.
fn bomb(codec: Compression, pieces: usize) -> Bytes {
    let value = pieces * PIECE_BYTES;
    let mut record = Writer::new(Form::Plain);
    record.raw(&[0, 0, 0]); // attributes, both deltas
    record.varint(-1); // no key
    record.varint(i32::try_from(value).expect("a value of less than 2 GiB"));
    let record = record.finish();
    let mut body = Writer::new(Form::Plain);
    body.varint(i32::try_from(record.len() + value + 1).expect("a record of less than 2 GiB"));
    body.raw(&record);
    body.raw(&[0]); // the piece behind ends with this one: no headers
    let mut packed = Vec::new();
    compress(codec, None, &body.finish(), &mut packed);
    let mut piece = Vec::new();
    compress(codec, None, &vec![0; PIECE_BYTES], &mut piece);
    let (head, tail) = wrapping(codec);
    let end = packed.split_off(packed.len() - tail);
    for _ in 0..pieces {
        packed.extend(&piece[head..piece.len() - tail]);
    }
    packed.extend(end);
    in_batch(codec, &packed)
}

/// Bytes before and after the blocks of a stream that must come once: snappy's preamble, lz4's frame header and end mark.
/// Of gzip and zstd one stream follows the other.
fn wrapping(codec: Compression) -> (usize, usize) {
    match codec {
        Compression::Snappy => (16, 0),
        Compression::Lz4 => (7, 4),
        _ => (0, 0),
    }
}

/// A batch of one record with this body.
fn in_batch(codec: Compression, body: &[u8]) -> Bytes {
    let model = timed(Compression::None, &[(now_ms(), "")]);
    let mut batch = model[..at::RECORDS].to_vec();
    batch.extend(body);
    let length = i32::try_from(batch.len() - 12).expect("a batch of less than 2 GiB");
    batch[at::BATCH_LENGTH..at::BATCH_LENGTH + 4].copy_from_slice(&length.to_be_bytes());
    patched(&batch, at::ATTRIBUTES, &(codec as i16).to_be_bytes())
}

/// Topics whose broker opens what it gets, each for another reason.
const OPENING: [&[(&str, &str)]; 3] = [
    &[("max.message.bytes", "33554432"), ("compression.type", "gzip")],
    &[("max.message.bytes", "33554432"), ("cleanup.policy", "compact")],
    &[("max.message.bytes", "33554432"), ("ballast.validate.compressed", "true")],
];

#[test]
fn a_batch_that_opens_to_much_costs_no_memory_and_no_time_of_others() {
    let Some(watch) = Watch::start(&[]) else { return };
    if !watch.broker.is_ballast() {
        return; // Apache Kafka would open up to 2 GiB: max.decompressed.message.bytes.
    }
    // Packed, 640 MiB are about 640 kB of gzip, 60 kB of zstd and 2.6 MB of lz4. Snappy packs 20 to 1 at best.
    let bombs = [(Compression::Gzip, 40), (Compression::Zstd, 40), (Compression::Lz4, 40), (Compression::Snappy, 3)];
    let bombs = bombs.map(|(codec, pieces)| (codec, bomb(codec, pieces)));
    for configs in OPENING {
        let topic = watch.broker.topic("opened", 1, configs);
        watch.during_within(GROWTH_KIB_MAX, |broker| {
            let mut connection = broker.connect();
            for (codec, bomb) in &bombs {
                if *codec == Compression::Gzip && configs[1].0 == "compression.type" {
                    continue; // It stays as it is.
                }
                let row = connection.produce(PRODUCE, &topic.name, 0, bomb.clone());
                eprintln!("{codec:?}, {} bytes, {configs:?}: {}", bomb.len(), row.error_code);
                // Every length in it is true: it may be taken, if the broker does not pay for it.
                assert!([0, 10, 87].contains(&row.error_code), "{codec:?} on {configs:?}: {row:?}");
            }
        });
    }
}

#[test]
fn a_batch_that_opens_to_more_than_the_topic_allows_is_refused() {
    let Some(watch) = Watch::start(&[]) else { return };
    let configs = [("max.decompressed.message.bytes", "1000"), ("compression.type", "lz4")];
    let topic = watch.broker.topic("small", 1, &configs);
    watch.during(|broker| {
        let mut connection = broker.connect();
        let batch = |bytes: usize| timed(Compression::Gzip, &[(now_ms(), &"a".repeat(bytes))]);
        assert_eq!(connection.produce(PRODUCE, &topic.name, 0, batch(900)).error_code, 0);
        let row = connection.produce(PRODUCE, &topic.name, 0, batch(1_100));
        let refused = if broker.is_ballast() { row.error_code == 10 } else { row.error_code != 0 };
        assert!(refused, "{row:?}");
    });
}

#[test]
fn a_bomb_that_stays_shut_is_stored_and_looked_into_without_being_opened_whole() {
    let Some(watch) = Watch::start(&[]) else { return };
    if !watch.broker.is_ballast() {
        return; // Apache Kafka opens it, and has no memory for it.
    }
    let topic = watch.broker.topic("shut", 1, &[("max.message.bytes", "33554432")]);
    let bombs = [Compression::Gzip, Compression::Zstd, Compression::Lz4].map(|codec| bomb(codec, 40));
    watch.during_within(GROWTH_KIB_MAX, |broker| {
        let mut connection = broker.connect();
        for bomb in &bombs {
            let offset = connection.append(&topic.name, 0, bomb.clone());
            let found = connection.offset_at(&topic.name, 0, 1);
            // It is found, or not found, or called broken; the broker does not pay for it.
            assert!(found.offset <= offset, "{found:?}");
        }
    });
}

#[test]
fn compressed_bytes_that_lie_about_their_size_are_refused() {
    let Some(watch) = Watch::start(&[]) else { return };
    let configs: &[(&str, &str)] = if watch.broker.is_ballast() { OPENING[2] } else { &[] };
    let topic = watch.broker.topic("liars", 1, configs);
    let snappy = |len: &[u8]| [&b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01\0\0\0\x08"[..], len, b"\x00\x00\x00"].concat();
    let liars = [
        ("snappy, 4 GiB in a block", Compression::Snappy, snappy(b"\xff\xff\xff\xff\x0f")),
        ("snappy without the framing, 4 GiB", Compression::Snappy, b"\xff\xff\xff\xff\x0f\0\0\0".to_vec()),
        (
            "snappy, a block of -1 bytes",
            Compression::Snappy,
            b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01\xff\xff\xff\xff".to_vec(),
        ),
        // Frame descriptor with a content size of 8 bytes, all ones, and a window of 1.75 TiB.
        (
            "zstd, 16 EiB in a frame",
            Compression::Zstd,
            b"\x28\xb5\x2f\xfd\xc0\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\0\0".to_vec(),
        ),
        ("zstd, a window of 1.75 TiB", Compression::Zstd, b"\x28\xb5\x2f\xfd\x00\xff\x01\0\0".to_vec()),
        (
            "lz4, a content size of 16 EiB",
            Compression::Lz4,
            b"\x04\x22\x4d\x18\x68\x70\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0".to_vec(),
        ),
        ("lz4, a block of 2 GiB", Compression::Lz4, b"\x04\x22\x4d\x18\x60\x40\x82\xff\xff\xff\x7f".to_vec()),
        ("gzip that ends after its header", Compression::Gzip, b"\x1f\x8b\x08\0\0\0\0\0\0\xff".to_vec()),
    ];
    watch.during(|broker| {
        let mut connection = broker.connect();
        for (what, codec, body) in &liars {
            let row = connection.produce(PRODUCE, &topic.name, 0, in_batch(*codec, body));
            let refused = if broker.is_ballast() { [10, 87].contains(&row.error_code) } else { row.error_code != 0 };
            assert!(refused, "{what}: {row:?}");
        }
    });
}
