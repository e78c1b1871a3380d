//! A log on the double, and beside it a model of what must be, and what may be, in it.
//!
//! The model knows for every batch that was ever given an offset in this life of the disk: what it says and which epoch it
//! is of. After a crash the log must begin with the published batches, at least up to what was synced; what follows them
//! may only be batches that once stood at their offsets (truncated since, or failed half-way), because the disk may have
//! kept those instead.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ballast_log::{
    AppendError, Budget, CleanupPolicy, DiskError, Drained, Log, LogConfig, LogError, OpenFrom, Origin, ReadError,
    RecoveryReport, validate,
};
use ballast_tests::disk::{Crash, SimDisk};
use ballast_wire::batch::{BatchBuilder, Compression, batches};
use ballast_wire::{LeaderEpoch, Offset};
use bytes::Bytes;

/// The time at which tests happen, in ms since 1970.
pub(crate) const NOW_MS: i64 = 1_800_000_000_000;

/// One batch as a reader sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Batch {
    pub(crate) base: Offset,
    pub(crate) last: Offset,
    pub(crate) epoch: LeaderEpoch,
    /// Value of its first record, different for every batch that was ever made.
    pub(crate) value: String,
}

/// A log, its disk, and what is known about it.
pub(crate) struct LogRig {
    pub(crate) disk: SimDisk,
    pub(crate) log: Option<Log>,
    pub(crate) config: LogConfig,
    /// Published, by offset.
    pub(crate) published: Vec<Batch>,
    /// Once given an offset, and perhaps on the disk: truncated or failed.
    pub(crate) ghosts: Vec<Batch>,
    /// The checkpoints, as a careful owner writes them.
    pub(crate) recovery_point: Offset,
    pub(crate) log_start: Offset,
    pub(crate) epoch: LeaderEpoch,
    next_value: u64,
    sequences: BTreeMap<i64, i32>,
}

/// How an operation went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Went {
    Well,
    /// Refused, and the log goes on.
    Refused,
    /// The log writes no more.
    Broken,
}

pub(crate) fn small() -> LogConfig {
    LogConfig { segment_bytes: 700, index_interval_bytes: 150, retention_ms: -1, ..LogConfig::default() }
}

impl LogRig {
    pub(crate) fn new(seed: u64, config: LogConfig) -> LogRig {
        LogRig {
            disk: SimDisk::new(seed),
            log: None,
            config,
            published: Vec::new(),
            ghosts: Vec::new(),
            recovery_point: 0,
            log_start: 0,
            epoch: 0,
            next_value: 0,
            sequences: BTreeMap::new(),
        }
    }

    pub(crate) fn dir() -> PathBuf {
        PathBuf::from("/data/topic-0")
    }

    pub(crate) fn log(&self) -> &Log {
        self.log.as_ref().expect("the log is open")
    }

    pub(crate) fn create(&mut self) -> Result<(), LogError> {
        // The log directory, whose owner syncs its name.
        let disk = self.disk.shared();
        let above = Self::dir().parent().expect("a log directory").to_owned();
        disk.create_dir(&above).and_then(|()| disk.sync_dir(Path::new("/"))).expect("nothing fails yet");
        let log = Log::create(self.disk.shared(), Self::dir(), Arc::new(self.config.clone()), 0, NOW_MS)?;
        self.log = Some(log);
        Ok(())
    }

    /// Opens the log and compares it with the model, which then becomes what the log has.
    pub(crate) fn open(&mut self, clean: bool, crash: Option<Crash>) -> Result<RecoveryReport, LogError> {
        let from = OpenFrom { clean, recovery_point: self.recovery_point, log_start: self.log_start };
        let config = Arc::new(self.config.clone());
        // A log that was never synced may have gone with its folder; its owner makes it anew.
        let is_gone = self.disk.peek(Self::dir()).is_err_and(|error| error.kind() == ErrorKind::NotFound);
        let (log, report) = if is_gone {
            assert_eq!(self.recovery_point, 0, "what was synced is gone");
            let log = Log::create(self.disk.shared(), Self::dir(), config, self.log_start, NOW_MS)?;
            (log, RecoveryReport::default())
        } else {
            Log::open(self.disk.shared(), Self::dir(), config, from, NOW_MS, &mut |_| {})?
        };
        let found = read_all(&log).map_err(|error| LogError::Disk(disk_error(error)))?;
        self.compare(&log, &found, crash, &report);
        self.adopt(log, found);
        Ok(report)
    }

    /// Kills the process or the machine. What survived is opened next.
    pub(crate) fn crash(&mut self, crash: Crash) {
        self.log = None;
        self.disk = self.disk.crash(crash);
    }

    fn compare(&self, log: &Log, found: &[Batch], crash: Option<Crash>, report: &RecoveryReport) {
        let context = format!("{report:?}\nfound {found:#?}\nmodel {:#?}", self.published);
        assert!(log.start() >= self.log_start, "start {} fell below {}\n{context}", log.start(), self.log_start);
        let published = self.published.iter().filter(|batch| batch.last >= log.start());
        let same = found.iter().zip(published.clone()).take_while(|(found, model)| found == model).count();
        let must_have = published
            .clone()
            .filter(|batch| match crash {
                Some(Crash::LoseUnsynced | Crash::Tear | Crash::Fray) => batch.last < self.recovery_point,
                Some(Crash::Process) | None => true,
            })
            .count();
        assert!(same >= must_have, "{same} of {must_have} batches are there\n{context}");
        for ghost in &found[same..] {
            assert!(self.ghosts.contains(ghost), "{ghost:?} was never written\n{context}\nghosts {:#?}", self.ghosts);
        }
        assert!(found.windows(2).all(|pair| pair[0].last + 1 == pair[1].base), "a hole\n{context}");
        let end = found.last().map_or(log.start().max(log.first_segment_base()), |batch| batch.last + 1);
        assert_eq!(log.end(), end, "{context}");
        assert!(log.recovery_point() <= log.end(), "{context}");
        check_epochs(log, found);
    }

    /// Goes on with what the log has.
    fn adopt(&mut self, log: Log, found: Vec<Batch>) {
        self.published = found;
        self.recovery_point = self.recovery_point.min(log.recovery_point());
        self.log_start = log.start();
        self.epoch = self.epoch.max(log.latest_epoch().unwrap_or(0)) + 1;
        self.sequences =
            log.producers().iter().map(|producer| (producer.producer_id, producer.last_sequence + 1)).collect();
        self.log = Some(log);
    }

    /// Appends a batch of `count` records, of an idempotent producer if there is one, and drains.
    pub(crate) fn append(&mut self, count: usize, producer: Option<i64>) -> Went {
        self.queue(count, producer).map_or_else(|went| went, |batch| self.drain(vec![batch]))
    }

    /// Appends several batches that one drain writes.
    pub(crate) fn append_many(&mut self, counts: &[usize]) -> Went {
        let mut queued = Vec::new();
        for count in counts {
            match self.queue(*count, Some(1)) {
                Ok(batch) => queued.push(batch),
                Err(went) => return went,
            }
        }
        self.drain(queued)
    }

    fn queue(&mut self, count: usize, producer: Option<i64>) -> Result<Batch, Went> {
        self.next_value += 1;
        let value = format!("batch {}", self.next_value);
        let batch = self.build(&value, count, producer);
        let origin = Origin::Client { produce_version: 12, transactions_v2: false };
        let valid = validate(&batch, &self.log().config(), origin, NOW_MS).expect("a good batch");
        match self.log().append(valid, self.epoch, NOW_MS) {
            Ok(appended) => {
                assert!(!appended.duplicate, "{value} is new");
                if let Some(producer) = producer {
                    *self.sequences.entry(producer).or_default() += count as i32;
                }
                Ok(Batch { base: appended.base_offset, last: appended.last_offset, epoch: self.epoch, value })
            }
            Err(error) => Err(went(&error)),
        }
    }

    fn build(&self, value: &str, count: usize, producer: Option<i64>) -> Bytes {
        let mut builder = BatchBuilder::new(Compression::None);
        if let Some(producer) = producer {
            builder = builder.producer(producer, 0, self.sequences.get(&producer).copied().unwrap_or(0));
        }
        for n in 0..count {
            builder.push(NOW_MS + n as i64, Some(b"key"), Some(value.as_bytes()), &[]);
        }
        builder.finish()
    }

    fn drain(&mut self, queued: Vec<Batch>) -> Went {
        let through = queued.last().expect("something was queued").last;
        let Drained::Done { end, more, failed } = self.log().drain(Budget::Through(through)) else {
            panic!("nobody else drains");
        };
        assert!(!more, "all of it is written or failed");
        for batch in queued {
            if batch.last < end {
                self.published.push(batch);
            } else {
                self.ghosts.push(batch);
            }
        }
        let Some((from, error)) = failed else { return Went::Well };
        assert_eq!((from, self.log().end()), (end, end), "what failed is not readable");
        self.forget_sequences();
        went(&error)
    }

    fn forget_sequences(&mut self) {
        let producers = self.log().producers();
        self.sequences = producers.iter().map(|producer| (producer.producer_id, producer.last_sequence + 1)).collect();
    }

    pub(crate) fn roll(&mut self) -> Went {
        outcome(self.log().roll(NOW_MS).map(drop))
    }

    pub(crate) fn sync(&mut self) -> Went {
        match self.log().sync(NOW_MS) {
            Ok(point) => {
                self.recovery_point = point;
                if point == self.log().end() {
                    self.ghosts.clear();
                }
                Went::Well
            }
            Err(error) => outcome(Err(error)),
        }
    }

    pub(crate) fn truncate(&mut self, offset: Offset) -> Went {
        let result = self.log().truncate_to(offset);
        if let Err(LogError::OutOfRange { .. }) = result {
            return Went::Refused;
        }
        // Even if it failed half-way, the published end has moved or the log is as before.
        let end = self.log().end();
        let kept = self.published.partition_point(|batch| batch.last < end);
        let broken = result.is_err();
        if broken {
            // The published end need not be what is on the disk.
            self.ghosts.extend(self.published[kept..].iter().cloned());
        } else {
            self.ghosts.extend(self.published.drain(kept..));
        }
        if broken {
            self.published.truncate(kept);
        }
        self.recovery_point = self.recovery_point.min(end);
        self.epoch += 1;
        self.forget_sequences();
        outcome(result.map(drop))
    }

    pub(crate) fn start_anew(&mut self, offset: Offset) -> Went {
        let result = self.log().truncate_fully_and_start_at(offset, NOW_MS);
        self.ghosts.append(&mut self.published);
        if result.is_ok() {
            self.recovery_point = offset;
            self.log_start = offset;
            self.ghosts.clear();
        } else {
            self.recovery_point = 0;
        }
        self.epoch += 1;
        self.sequences.clear();
        outcome(result)
    }

    pub(crate) fn assign_epoch(&mut self) -> Went {
        let epoch = self.epoch + 1;
        let result = self.log().assign_epoch(epoch, self.log().end());
        if result.is_ok() {
            self.epoch = epoch;
            assert_eq!(self.log().latest_epoch(), Some(epoch));
        }
        outcome(result)
    }

    pub(crate) fn advance_start(&mut self, offset: Offset) -> Went {
        let result = self.log().advance_start(offset);
        self.keep_from_start();
        outcome(result.map(drop))
    }

    /// By size: all but about two segments.
    pub(crate) fn retain(&mut self) -> Went {
        let cleanup = CleanupPolicy { delete: true, compact: false };
        let config = LogConfig { retention_bytes: 1400, cleanup, ..self.config.clone() };
        self.log().update_config(Arc::new(config));
        let result = self.log().retain(NOW_MS, self.log().end());
        self.recovery_point = self.recovery_point.max(self.log().recovery_point());
        self.keep_from_start();
        outcome(result.map(drop))
    }

    pub(crate) fn reap(&mut self) -> Went {
        outcome(self.log().reap(NOW_MS + 1_000_000).map(drop))
    }

    /// The owner writes the log start checkpoint.
    fn keep_from_start(&mut self) {
        self.log_start = self.log().start();
        self.published.retain(|batch| batch.last >= self.log_start);
    }

    /// Closes the log; opened again as after a clean stop if that went well.
    pub(crate) fn close(&mut self) -> Went {
        let result = self.log().close();
        if let Ok(end) = result {
            self.recovery_point = end;
            self.log_start = self.log().start();
            self.ghosts.clear();
        }
        outcome(result.map(drop))
    }
}

fn outcome(result: Result<(), LogError>) -> Went {
    match result {
        Ok(()) => Went::Well,
        Err(LogError::Poisoned(_) | LogError::SyncFailed(_) | LogError::Closed) => Went::Broken,
        Err(LogError::Disk(_) | LogError::OutOfRange { .. }) => Went::Refused,
        Err(error @ LogError::Foreign { .. }) => panic!("{error}"),
    }
}

fn went(error: &AppendError) -> Went {
    match error {
        AppendError::StorageFull(_) => Went::Refused,
        AppendError::Poisoned(_) | AppendError::SyncFailed(_) | AppendError::Closed => Went::Broken,
        other => panic!("a good batch was refused: {other}"),
    }
}

/// The log knows the epoch of each batch.
pub(crate) fn check_epochs(log: &Log, batches: &[Batch]) {
    for batch in batches {
        // A batch that the start cuts in two is known from there on.
        let offset = batch.base.max(log.start());
        assert_eq!(log.epoch_at(offset), Some(batch.epoch), "at {offset} of {:?}", log.epoch_starts());
    }
}

/// Every batch that can be read.
pub(crate) fn read_all(log: &Log) -> Result<Vec<Batch>, ReadError> {
    read_from(log, log.start())
}

/// Every batch that can be read from an offset on.
pub(crate) fn read_from(log: &Log, mut from: Offset) -> Result<Vec<Batch>, ReadError> {
    let mut found = Vec::new();
    while from < log.end() {
        let read = log.read(from, log.end(), 1 << 20, true)?;
        let Some(records) = read.records else { break };
        let bytes = records.bytes().expect("bytes in memory");
        for batch in batches(&bytes) {
            let batch = batch.expect("only batches are read");
            batch.verify_checksum().expect("damage is never read");
            let first = batch.records().expect("not compressed").next().expect("a record").expect("a good one");
            let value = String::from_utf8_lossy(first.value.expect("a value")).into_owned();
            let (base, last, epoch) = (batch.base_offset(), batch.last_offset(), batch.leader_epoch());
            found.push(Batch { base, last, epoch, value });
            from = last + 1;
        }
    }
    Ok(found)
}

fn disk_error(error: ReadError) -> DiskError {
    match error {
        ReadError::Disk(error) => error,
        other => panic!("what is published can be read: {other}"),
    }
}
