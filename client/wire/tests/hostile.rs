//! Bytes that nobody honest sends: cut anywhere, with counts and lengths replaced by extremes at every position, and
//! compressed bodies that claim to be huge. Nothing may panic, and no small input may hold a mebibyte.

#[path = "common/allocator.rs"]
mod allocator;
mod common;

use allocator::peak_bytes;
use ballast_wire::batch::{BatchBuilder, Compression, ControlRecord, Header, batches, decompress};
use ballast_wire::fetch::{self, FetchRequest, FetchResponse};
use ballast_wire::frame::{ApiKey, Form, Pieces, RequestHeader, Writer, parse_response_header};
use ballast_wire::produce::{self, ProduceRequest, ProduceResponse};
use bytes::Bytes;
use common::joined;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

const HELD_BYTES_MAX: usize = 1 << 20;
const OPENED_BYTES_MAX: usize = 256 << 10;

/// Counts and lengths that have broken decoders: 2³¹-1, 2³²-1, -1, 0, in the plain and in the compact form.
const EXTREMES: [&[u8]; 7] = [
    &[0x7f, 0xff, 0xff, 0xff],
    &[0xff, 0xff, 0xff, 0xff],
    &[0x00, 0x00, 0x00, 0x00],
    &[0x7f, 0xff],
    &[0xff, 0xff, 0xff, 0xff, 0x0f],
    &[0x80, 0x80, 0x80, 0x80, 0x80],
    &[0x00],
];

/// Every mutilation of `honest`, one after the other.
fn mutilations(honest: &Bytes) -> impl Iterator<Item = Bytes> + '_ {
    let cut = (0..honest.len()).map(|end| honest.slice(..end));
    let replaced = (0..honest.len()).flat_map(move |at| {
        EXTREMES.iter().map(move |extreme| {
            let mut bytes = honest.to_vec();
            let end = (at + extreme.len()).min(bytes.len());
            bytes[at..end].copy_from_slice(&extreme[..end - at]);
            Bytes::from(bytes)
        })
    });
    let inserted = (0..honest.len()).flat_map(move |at| {
        EXTREMES.iter().map(move |extreme| Bytes::from([&honest[..at], extreme, &honest[at..]].concat()))
    });
    cut.chain(replaced).chain(inserted)
}

fn feed(what: &str, honest: &Bytes, decode: impl Fn(&Bytes)) {
    for bytes in mutilations(honest) {
        let held = peak_bytes(|| decode(&bytes));
        assert!(held < HELD_BYTES_MAX, "{what}: {held} bytes held for {} received: {bytes:?}", bytes.len());
    }
}

fn sample<T: std::fmt::Debug>(strategy: impl Strategy<Value = T>) -> T {
    strategy.new_tree(&mut TestRunner::deterministic()).expect("these strategies reject nothing").current()
}

#[test]
fn produce_survives_every_mutilation() {
    for version in produce::VERSION_MIN..=produce::VERSION_MAX {
        let mut out = Pieces::body(ApiKey::PRODUCE, version);
        sample(common::produce_request(version)).encode(version, &mut out);
        feed("request", &joined(&out.finish()), |bytes| drop(ProduceRequest::decode(version, bytes)));

        let mut out = Writer::new(Form::of(ApiKey::PRODUCE.is_flexible(version)));
        sample(common::produce_response(version)).encode(version, &mut out);
        feed("response", &out.finish(), |bytes| drop(ProduceResponse::decode(version, bytes)));
    }
}

#[test]
fn fetch_survives_every_mutilation() {
    for version in fetch::VERSION_MIN..=fetch::VERSION_MAX {
        let mut out = Writer::new(Form::of(ApiKey::FETCH.is_flexible(version)));
        sample(common::fetch_request(version)).encode(version, &mut out);
        feed("request", &out.finish(), |bytes| drop(FetchRequest::decode(version, bytes)));

        let mut out = Pieces::body(ApiKey::FETCH, version);
        sample(common::fetch_response(version)).encode(version, &mut out);
        feed("response", &joined(&out.finish()), |bytes| drop(FetchResponse::decode(version, bytes)));
    }
}

#[test]
fn headers_survive_every_mutilation() {
    for (key, version) in [(ApiKey::PRODUCE, 8), (ApiKey::FETCH, 12), (ApiKey::API_VERSIONS, 3)] {
        let mut out = Writer::new(Form::Plain);
        RequestHeader { key, version, correlation_id: 7, client_id: Some("client".into()) }.encode(&mut out);
        let bytes = out.finish();
        feed("request header", &bytes, |bytes| drop(RequestHeader::parse(bytes)));
        feed("response header", &bytes, |bytes| drop(parse_response_header(bytes, key, version)));
    }
}

#[test]
fn the_known_killers_are_refused_in_a_few_bytes() {
    // A topic array of 2³¹-1 in a plain request, and of 2³²-2 in a flexible one.
    let plain = Bytes::from_static(&[0xff, 0xff, 0, 1, 0, 0, 0, 1, 0x7f, 0xff, 0xff, 0xff]);
    let flexible = Bytes::from_static(&[0, 0, 1, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0x0f]);
    let held = peak_bytes(|| {
        assert!(ProduceRequest::decode(3, &plain).is_err());
        assert!(ProduceRequest::decode(9, &flexible).is_err());
        assert!(ProduceRequest::decode(13, &flexible).is_err());
    });
    assert_eq!(held, 0);
}

#[test]
fn a_frame_full_of_empty_topics_is_refused_by_its_count() {
    // 12 MB of topics without name and partitions: four million of them, where one body may have a million.
    let mut body = vec![0, 0, 1, 0, 0, 0, 1, 0x80, 0x92, 0xf4, 0x01];
    body.resize(12_000_000, 1);
    let body = Bytes::from(body);
    let held = peak_bytes(|| assert!(ProduceRequest::decode(9, &body).is_err()));
    assert_eq!(held, 0);
}

#[test]
fn a_frame_with_every_topic_that_is_allowed_holds_a_hundred_megabytes() {
    let mut body = vec![0, 0, 1, 0, 0, 0, 1, 0x81, 0x80, 0x40];
    for _ in 0..ballast_wire::frame::ROWS_MAX {
        body.extend([1, 1, 0]);
    }
    body.push(0);
    let body = Bytes::from(body);
    let held = peak_bytes(|| {
        let request = ProduceRequest::decode(9, &body).expect("it is legal, if absurd");
        assert_eq!(request.topics.len(), ballast_wire::frame::ROWS_MAX);
    });
    assert!(held < 128 << 20, "{held} bytes held for {}", body.len());
}

#[test]
fn batches_survive_every_mutilation() {
    for codec in 0..5 {
        let codec = Compression::from_id(codec).expect("a codec");
        let mut builder = BatchBuilder::new(codec).producer(1, 2, 3);
        for value in ["one", "two"] {
            let header = Header { key: "h".into(), value: Some(b"v") };
            builder.push(5, Some(b"\0\0\0\x01"), Some(value.as_bytes()), &[header]);
        }
        feed("batch", &builder.finish(), read_everything);
    }
}

/// Reads all that a buffer of batches offers, whatever its checksums say.
fn read_everything(bytes: &Bytes) {
    for batch in batches(bytes).map_while(Result::ok) {
        let _ = batch.verify_checksum();
        let Ok(body) = batch.open(OPENED_BYTES_MAX) else {
            continue;
        };
        for record in batch.records_in(&body).map_while(Result::ok) {
            let _ = (record.offset(&batch), record.timestamp(&batch), ControlRecord::parse(&record));
            let _ = record.headers().map(|header| header.key.len()).sum::<usize>();
        }
    }
}

#[test]
fn a_body_that_claims_to_be_huge_holds_little() {
    let mut lz4 = vec![0x04, 0x22, 0x4d, 0x18, 0x68, 0x70];
    lz4.extend([0xff; 8]);
    lz4.extend([0, 0xff, 0xff, 0xff, 0x7f, 1, 2, 3]);
    let bodies: [(Compression, Vec<u8>); 6] = [
        (Compression::Snappy, vec![0xff, 0xff, 0xff, 0xff, 0x0f, 0]),
        (Compression::Snappy, b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01\x7f\xff\xff\xff".to_vec()),
        (Compression::Lz4, lz4),
        // A window of 2 GiB, and a content size of 2⁶³.
        (Compression::Zstd, vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 0, 0, 0]),
        (Compression::Zstd, vec![0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x01, 0, 0]),
        (Compression::Gzip, vec![0x1f, 0x8b, 8, 0x04, 0, 0, 0, 0, 0, 0, 0xff, 0xff]),
    ];
    for (codec, body) in bodies {
        let held = peak_bytes(|| assert!(decompress(codec, &body, 100 << 20).is_err(), "{codec:?} {body:?}"));
        assert!(held < HELD_BYTES_MAX, "{codec:?}: {held} bytes held");
    }
}

#[test]
fn a_bomb_holds_no_more_than_its_limit_and_a_little() {
    for codec in 1..5 {
        let codec = Compression::from_id(codec).expect("a codec");
        let mut body = Vec::new();
        ballast_wire::batch::compress(codec, None, &vec![0; 32 << 20], &mut body);
        let held = peak_bytes(|| assert!(decompress(codec, &body, OPENED_BYTES_MAX).is_err()));
        assert!(held < OPENED_BYTES_MAX * 2 + (128 << 10), "{codec:?}: {held} bytes held");
    }
}
