//! What the fuzz targets try: bytes in the place of one file of a log, or in the place of a producer's records. Whatever
//! they are, nothing panics, no batch is lost that the other files hold, and nothing damaged is read.

#![allow(dead_code, reason = "each target uses one of these")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ballast_log::disk::{Disk, RealDisk};
use ballast_log::{
    Budget, CleanupPolicy, Drained, Log, LogConfig, OpenFrom, Origin, RecoveryReport, TopicCompression, validate,
};
use ballast_wire::Offset;
use ballast_wire::batch::{BatchBuilder, Compression, batches};
use bytes::Bytes;
use tempfile::TempDir;

const NOW_MS: i64 = 1_800_000_000_000;
const LOG: &str = "00000000000000000000.log";

fn config() -> LogConfig {
    LogConfig { index_interval_bytes: 200, ..LogConfig::default() }
}

/// A folder in memory where there is one.
fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.expect("a folder")
}

fn open(dir: PathBuf, clean: bool) -> (Log, RecoveryReport) {
    let disk: Arc<dyn Disk> = RealDisk::ephemeral();
    let from = OpenFrom { clean, recovery_point: 0, log_start: 0 };
    Log::open(disk, dir, Arc::new(config()), from, NOW_MS, &mut |_| {}).expect("damage is no error")
}

/// First and last offset of every batch, all of them whole.
fn spans(log: &Log) -> Vec<(Offset, Offset)> {
    let mut spans = Vec::new();
    let mut from = log.start();
    while from < log.end() {
        let read = log.read(from, log.end(), 4096, true).expect("what is published can be read");
        let Some(records) = read.records else { break };
        let bytes = records.bytes().expect("the file is there");
        for batch in batches(&bytes) {
            let batch = batch.expect("only batches are read");
            batch.verify_checksum().expect("nothing damaged is read");
            spans.push((batch.base_offset(), batch.last_offset()));
            from = batch.last_offset() + 1;
        }
    }
    assert!(spans.windows(2).all(|pair| pair[0].1 < pair[1].0), "offsets rise: {spans:?}");
    spans
}

fn append(log: &Log, batch: &Bytes) {
    let origin = Origin::Client { produce_version: 12, transactions_v2: false };
    let valid = validate(batch, &log.config(), origin, NOW_MS).expect("a good batch");
    let epoch = log.latest_epoch().unwrap_or(0);
    let appended = log.append(valid, epoch, NOW_MS).expect("a good batch");
    log.drain(Budget::Through(appended.last_offset));
}

fn batch(timestamp: i64, producer: i64, sequence: i32) -> Bytes {
    let mut builder = BatchBuilder::new(Compression::None).producer(producer, 0, sequence);
    builder.push(timestamp, Some(b"key"), Some(b"some value of some length"), &[]);
    builder.push(timestamp + 1, None, None, &[]);
    builder.finish()
}

/// A closed log of twenty batches, of two producers.
fn closed_log(dir: PathBuf) -> Vec<(Offset, Offset)> {
    let log = Log::create(RealDisk::ephemeral(), dir, Arc::new(config()), 0, NOW_MS).expect("a new log");
    for n in 0..20 {
        append(&log, &batch(NOW_MS + n * 10, n % 2, (n / 2) as i32 * 2));
    }
    log.close().expect("nothing fails");
    spans(&log)
}

/// The bytes are a segment that a crash left.
pub(crate) fn segment(data: &[u8]) {
    let folder = folder();
    let dir = folder.path().join("topic-0");
    std::fs::create_dir(&dir).expect("a folder");
    std::fs::write(dir.join(LOG), data).expect("a file");
    let (log, report) = open(dir.clone(), false);
    let kept = spans(&log);
    assert_eq!(kept.len() as u64, report.batches);
    let _ = log.offset_for_timestamp(NOW_MS, log.end());
    let end = log.end();
    if end < Offset::MAX - 10 {
        append(&log, &batch(NOW_MS, -1, -1));
        assert_eq!(log.end(), end + 2);
    }
    log.close().expect("nothing fails");
    let all = spans(&log);
    let (log, report) = open(dir.clone(), true);
    assert_eq!((spans(&log), report.cut), (all.clone(), None), "a clean stop keeps all");
    drop(log);
    let (log, report) = open(dir, false);
    assert_eq!((spans(&log), report.cut), (all, None), "recovering again keeps the same");
}

/// The first byte says which index, the rest is in its place after a clean stop.
pub(crate) fn index(data: &[u8]) {
    let Some((which, data)) = data.split_first() else { return };
    let name = ["index", "timeindex", "txnindex"][usize::from(which % 3)];
    let folder = folder();
    let dir = folder.path().join("topic-0");
    let written = closed_log(dir.clone());
    std::fs::write(dir.join(format!("00000000000000000000.{name}")), data).expect("a file");
    let (log, _) = open(dir, true);
    assert_eq!(spans(&log), written);
    for (base, last) in &written {
        for from in *base..=*last {
            assert_eq!(log.read(from, log.end(), 1, true).expect("it is there").base_offset, *base);
        }
    }
    let _ = log.aborted_transactions(0, log.end());
    let _ = log.offset_for_timestamp(NOW_MS + 55, log.end()).expect("batches are good");
    append(&log, &batch(NOW_MS, -1, -1));
    log.truncate_to(7).expect("nothing fails");
    assert_eq!(spans(&log), written[..3]);
}

/// The first byte says whether the checksum is put right; the rest are the entries of the snapshot at the end, or the epoch
/// checkpoint.
pub(crate) fn snapshot(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else { return };
    let folder = folder();
    let dir = folder.path().join("topic-0");
    let written = closed_log(dir.clone());
    match kind % 3 {
        0 => {
            let mut bytes = vec![0, 1, 0, 0, 0, 0];
            bytes.extend_from_slice(&((data.len() / 46) as i32).to_be_bytes());
            bytes.extend_from_slice(&data[..data.len() / 46 * 46]);
            let crc = checksum(&bytes[6..]);
            bytes[2..6].copy_from_slice(&crc.to_be_bytes());
            std::fs::write(dir.join("00000000000000000040.snapshot"), bytes).expect("a file");
        }
        1 => std::fs::write(dir.join("00000000000000000040.snapshot"), data).expect("a file"),
        _ => std::fs::write(dir.join("leader-epoch-checkpoint"), data).expect("a file"),
    }
    let (log, _) = open(dir.clone(), true);
    assert_eq!(spans(&log), written);
    let producers = log.producers().len();
    let stable = log.last_stable_offset(log.end());
    assert!(stable <= log.end(), "{stable}");
    append(&log, &batch(NOW_MS, -1, -1));
    log.expire_producers(i64::MAX);
    log.close().expect("nothing fails");
    let (log, report) = open(dir, false);
    assert_eq!(report.cut, None);
    assert!(log.producers().len() <= producers.max(2));
}

/// The first byte chooses the topic's settings, the rest are the records of a Produce request.
pub(crate) fn append_records(data: &[u8]) {
    let Some((settings, data)) = data.split_first() else { return };
    let codecs = [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];
    let compression = match codecs.get(usize::from(settings % 8)) {
        Some(codec) => TopicCompression::Codec { codec: *codec, level: None },
        None => TopicCompression::Producer,
    };
    let config = LogConfig {
        compression,
        cleanup: CleanupPolicy { delete: true, compact: settings & 8 != 0 },
        validate_compressed: settings & 16 != 0,
        timestamp_type: if settings & 32 == 0 {
            ballast_wire::batch::TimestampType::CreateTime
        } else {
            ballast_wire::batch::TimestampType::LogAppendTime
        },
        timestamp_after_max_ms: i64::MAX,
        max_decompressed_bytes: 1 << 20,
        ..config()
    };
    let origin = if settings & 64 == 0 {
        Origin::Client { produce_version: 12, transactions_v2: settings & 128 != 0 }
    } else {
        Origin::Broker
    };
    // The checksum is put right: a fuzzer does not find it by itself.
    let mut records = data.to_vec();
    if records.len() >= 61 {
        let length = u32::from_be_bytes(records[8..12].try_into().expect("four bytes")) as usize;
        let end = length.saturating_add(12).clamp(21, records.len());
        let crc = checksum(&records[21..end]);
        records[17..21].copy_from_slice(&crc.to_be_bytes());
    }
    let Ok(valid) = validate(&records.into(), &config, origin, NOW_MS) else { return };
    let folder = folder();
    let dir = folder.path().join("topic-0");
    let log = Log::create(RealDisk::ephemeral(), dir.clone(), Arc::new(config), 0, NOW_MS).expect("a new log");
    let count = valid.records_count();
    let Ok(appended) = log.append(valid, 0, NOW_MS) else { return };
    let Drained::Done { failed: None, .. } = log.drain(Budget::Through(appended.last_offset)) else {
        panic!("nothing fails");
    };
    assert_eq!(spans(&log), [(0, Offset::from(count) - 1)]);
    let _ = log.offset_for_timestamp(0, log.end());
    drop(log);
    let (log, report) = open(dir, false);
    assert_eq!((log.end(), report.cut), (Offset::from(count), None));
}

/// CRC-32C, bit by bit: a second opinion.
fn checksum(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| if crc & 1 == 0 { crc >> 1 } else { (crc >> 1) ^ 0x82f6_3b78 })
    };
    !bytes.iter().fold(u32::MAX, step)
}
