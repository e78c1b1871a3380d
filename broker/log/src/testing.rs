//! What the tests of the rooms share: a log in a temporary folder on the real disk, and batches to put into it.

use std::path::PathBuf;
use std::sync::Arc;

use ballast_wire::batch::{BatchBuilder, BatchView, Compression};
use ballast_wire::{LeaderEpoch, Offset};
use bytes::Bytes;
use tempfile::TempDir;

use crate::append::{Appended, Budget, Drained};
use crate::config::LogConfig;
use crate::disk::{Disk, RealDisk};
use crate::error::AppendError;
use crate::log::Log;
use crate::recover::OpenFrom;
use crate::recover::RecoveryReport;
use crate::validate::{Origin, ValidBatch, validate};

/// The time at which tests happen, in ms since 1970.
pub(crate) const NOW_MS: i64 = 1_800_000_000_000;

/// A folder, a disk and settings.
pub(crate) struct Rig {
    folder: TempDir,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) config: LogConfig,
}

impl Rig {
    /// Default settings, changed by `change`.
    pub(crate) fn new(change: impl FnOnce(&mut LogConfig)) -> Rig {
        let mut config = LogConfig::default();
        change(&mut config);
        Rig { folder: tempfile::tempdir().unwrap(), disk: RealDisk::ephemeral(), config }
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.folder.path().join("topic-0")
    }

    pub(crate) fn config(&self) -> Arc<LogConfig> {
        Arc::new(self.config.clone())
    }

    pub(crate) fn create(&self) -> Log {
        Log::create(Arc::clone(&self.disk), self.dir(), self.config(), 0, NOW_MS).unwrap()
    }

    pub(crate) fn open(&self, from: OpenFrom) -> (Log, RecoveryReport) {
        Log::open(Arc::clone(&self.disk), self.dir(), self.config(), from, NOW_MS, &mut |_| {}).unwrap()
    }

    /// Opens after a clean stop.
    pub(crate) fn open_clean(&self) -> Log {
        let (log, report) = self.open(OpenFrom { clean: true, recovery_point: 0, log_start: 0 });
        assert_eq!(report, RecoveryReport::default(), "a clean stop leaves nothing to do");
        log
    }

    /// Opens after a crash that nothing was synced before.
    pub(crate) fn open_dirty(&self) -> (Log, RecoveryReport) {
        self.open(OpenFrom { clean: false, recovery_point: 0, log_start: 0 })
    }

    /// The names in the folder.
    pub(crate) fn names(&self) -> Vec<String> {
        self.disk.list(&self.dir()).unwrap().into_iter().map(|entry| entry.name).collect()
    }

    pub(crate) fn bytes_of(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.dir().join(name)).unwrap()
    }
}

/// A batch of one record for each timestamp.
pub(crate) fn batch_at(timestamps: &[i64], compression: Compression) -> Bytes {
    let mut builder = BatchBuilder::new(compression);
    for (n, timestamp) in timestamps.iter().enumerate() {
        builder.push(*timestamp, Some(format!("key {n}").as_bytes()), Some(b"a value of some length"), &[]);
    }
    builder.finish()
}

/// A batch of `count` records at [`NOW_MS`].
pub(crate) fn batch(count: usize) -> Bytes {
    batch_at(&vec![NOW_MS; count], Compression::None)
}

/// A batch of an idempotent producer.
pub(crate) fn sequenced(producer_id: i64, epoch: i16, sequence: i32, count: usize) -> Bytes {
    let mut builder = BatchBuilder::new(Compression::None).producer(producer_id, epoch, sequence);
    for n in 0..count {
        builder.push(NOW_MS, None, Some(format!("value {n}").as_bytes()), &[]);
    }
    builder.finish()
}

/// What a current client's batch becomes.
pub(crate) fn valid(log: &Log, batch: &Bytes) -> Result<ValidBatch, AppendError> {
    let origin = Origin::Client { produce_version: 12, transactions_v2: false };
    validate(batch, &log.config(), origin, NOW_MS)
}

/// Appends a batch in epoch 0 and writes it.
pub(crate) fn put(log: &Log, batch: &Bytes) -> Result<Appended, AppendError> {
    put_in(log, batch, 0)
}

/// Appends a batch in an epoch and writes it.
pub(crate) fn put_in(log: &Log, batch: &Bytes, epoch: LeaderEpoch) -> Result<Appended, AppendError> {
    let appended = log.append(valid(log, batch)?, epoch, NOW_MS)?;
    match log.drain(Budget::Through(appended.last_offset)) {
        Drained::Done { failed: Some((_, error)), .. } => Err(error),
        Drained::Done { end, more, failed: None } => {
            assert!(end > appended.last_offset && !more, "drained to {end}, more: {more}");
            Ok(appended)
        }
        Drained::Busy => panic!("nobody else drains"),
    }
}

/// Base offset and last offset of every batch from `from` to `bound`.
pub(crate) fn spans(log: &Log, mut from: Offset, bound: Offset) -> Vec<(Offset, Offset)> {
    let mut spans = Vec::new();
    while from < bound {
        let read = log.read(from, bound, 1 << 20, true).unwrap();
        let Some(records) = read.records else { break };
        let bytes = records.bytes().unwrap();
        for batch in ballast_wire::batch::batches(&bytes) {
            let batch: BatchView<'_> = batch.unwrap();
            batch.verify_checksum().unwrap();
            spans.push((batch.base_offset(), batch.last_offset()));
            from = batch.last_offset() + 1;
        }
    }
    spans
}
