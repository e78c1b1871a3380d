//! What one batch costs before it meets a log: checksum, header, records, the request around it.

use ballast_benches::client::{PRODUCE_VERSION, Topic};
use ballast_benches::load::{Produce, Work as _};
use ballast_benches::records;
use ballast_wire::batch::BatchView;
use ballast_wire::batch::view::checksum_of;
use ballast_wire::frame::RequestHeader;
use ballast_wire::produce::ProduceRequest;
use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

/// The timestamp of every record, in ms since 1970.
const TIMESTAMP_MS: i64 = 1_700_000_000_000;
const SIZES: [usize; 3] = [16 << 10, 64 << 10, 1 << 20];

fn checksum(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("checksum");
    for size in SIZES {
        let batch = records::batch(size, TIMESTAMP_MS).bytes;
        group.throughput(Throughput::Bytes(batch.len() as u64));
        group.bench_with_input(BenchmarkId::from_parameter(size), &batch, |bencher, batch| {
            bencher.iter(|| checksum_of(black_box(batch)));
        });
    }
}

fn header(criterion: &mut Criterion) {
    let batch = records::batch(16 << 10, TIMESTAMP_MS).bytes;
    criterion.bench_function("header", |bencher| {
        bencher.iter(|| {
            let view = BatchView::parse(black_box(&batch)).expect("it is a batch");
            (view.last_offset(), view.producer_id(), view.max_timestamp(), view.records_count())
        });
    });
}

fn walk_records(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("records");
    for size in SIZES {
        let batch = records::batch(size, TIMESTAMP_MS);
        let view = BatchView::parse(&batch.bytes).expect("it is a batch");
        group.throughput(Throughput::Elements(batch.records as u64));
        group.bench_with_input(BenchmarkId::from_parameter(size), &view, |bencher, view| {
            bencher.iter(|| {
                let records = black_box(view).records().expect("it is not compressed");
                records.map(|record| record.expect("it is a record").timestamp_delta).max()
            });
        });
    }
}

fn decode_produce(criterion: &mut Criterion) {
    let batch = records::batch(16 << 10, TIMESTAMP_MS).bytes;
    let request = Produce::new(&Topic::new("a-topic-of-some-length", 1), &batch, -1, 1).request(0);
    let frame = Bytes::from([&request.front[4..], &request.records, &request.back].concat());
    criterion.bench_function("decode produce", |bencher| {
        bencher.iter(|| {
            let (header, body) = RequestHeader::parse(black_box(&frame)).expect("it is a request");
            let body = frame.slice(body.position()..);
            let request = ProduceRequest::decode(PRODUCE_VERSION, &body).expect("it is a Produce");
            (header.correlation_id, request.topics[0].partitions[0].index)
        });
    });
}

criterion_group!(wire, checksum, header, walk_records, decode_produce);
criterion_main!(wire);
