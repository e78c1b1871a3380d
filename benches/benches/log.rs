//! What one batch costs in a log: judged, appended by one caller, and read again.

use std::hint::black_box;
use std::sync::Arc;

use ballast_benches::records;
use ballast_log::disk::{DiskOptions, RealDisk};
use ballast_log::validate::validate;
use ballast_log::{Budget, Drained, Log, LogConfig, Origin};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tempfile::TempDir;

const NOW_MS: i64 = 1_700_000_000_000;
const SIZES: [usize; 4] = [1 << 10, 16 << 10, 64 << 10, 1 << 20];
const ORIGIN: Origin = Origin::Client { produce_version: 9, transactions_v2: false };
/// What the log to read from holds, in bytes.
const READ_LOG_BYTES: u64 = 64 << 20;

/// A log in a folder of its own, which keeps no more than it must.
fn log() -> (TempDir, Log) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let config = LogConfig { max_message_bytes: 2 << 20, ..LogConfig::default() };
    let disk = RealDisk::new(DiskOptions::default());
    let log = Log::create(disk, folder.path().join("t-0"), Arc::new(config), 0, NOW_MS).expect("the disk is sound");
    (folder, log)
}

fn append(log: &Log, records: &bytes::Bytes) {
    let batch = validate(records, &log.config(), ORIGIN, NOW_MS).expect("it is a good batch");
    let appended = log.append(batch, 0, NOW_MS).expect("the log takes it");
    let drained = log.drain(Budget::Through(appended.last_offset));
    assert!(matches!(drained, Drained::Done { failed: None, .. }), "{drained:?}");
}

fn judge(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("validate");
    let config = LogConfig { max_message_bytes: 2 << 20, ..LogConfig::default() };
    for size in SIZES {
        let batch = records::batch(size, NOW_MS).bytes;
        group.throughput(Throughput::Bytes(batch.len() as u64));
        group.bench_with_input(BenchmarkId::from_parameter(size), &batch, |bencher, batch| {
            bencher.iter(|| validate(black_box(batch), &config, ORIGIN, NOW_MS).expect("it is a good batch"));
        });
    }
}

fn append_and_drain(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("append");
    for size in SIZES {
        let batch = records::batch(size, NOW_MS).bytes;
        let (_folder, log) = log();
        group.throughput(Throughput::Bytes(batch.len() as u64));
        group.bench_with_input(BenchmarkId::from_parameter(size), &batch, |bencher, batch| {
            bencher.iter(|| append(&log, batch));
        });
    }
}

fn read(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("read");
    let (_folder, log) = log();
    let batch = records::batch(16 << 10, NOW_MS);
    while log.size_bytes() < READ_LOG_BYTES {
        append(&log, &batch.bytes);
    }
    for max_bytes in [64 << 10, 1 << 20] {
        let mut from = 0;
        group.bench_with_input(BenchmarkId::from_parameter(max_bytes), &max_bytes, |bencher, max_bytes| {
            bencher.iter(|| {
                let end = log.end();
                let read = log.read(black_box(from), end, *max_bytes, true).expect("the offset is there");
                from = (from + 67 * batch.records as i64) % end;
                read
            });
        });
    }
}

criterion_group!(benches, judge, append_and_drain, read);
criterion_main!(benches);
