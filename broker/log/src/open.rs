//! How a log comes to life: its folder is tidied, what cannot be trusted is scanned, the rest is believed.
//!
//! ```text
//! leftovers ── [a sync had failed] tail written again ── segments ── [clean] last index entries compared, tail walked ┬─ producers ── epochs ── Log
//!                          [not]   everything past the recovery point scanned ┘
//! ```
//! Holds: after a clean stop no body is read. What a crash can have damaged is cut and told, never an error.
//!
//! Read next: `leftovers`, `recover`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use ballast_wire::Offset;

use crate::config::LogConfig;
use crate::disk::{Disk, FileKind};
use crate::epoch::Epochs;
use crate::error::{DiskContext, DiskError, LogError};
use crate::leftovers::{Found, tidy};
use crate::log::{Log, Parts};
use crate::names::{LEADER_EPOCH_CHECKPOINT, Part, Place, remove_if_there};
use crate::recover::{Cut, CutReason, OpenFrom, Opened, Progress, Recovery, RecoveryReport};
use crate::segment::{Indexer, Segment, SegmentFiles};
use crate::suspect;

impl Log {
    /// Makes the folder and an empty log in it that starts at `start` (0 for a new partition). Nothing of it is synced: the
    /// first sync of the log covers the names as well, and until then a crash may take an empty log along.
    ///
    /// # Errors
    /// Whatever the disk says; `Foreign` if the folder holds a log already.
    pub fn create(
        disk: Arc<dyn Disk>,
        dir: PathBuf,
        config: Arc<LogConfig>,
        start: Offset,
        now_ms: i64,
    ) -> Result<Log, LogError> {
        disk.create_dir(&dir).doing("cannot make", &dir)?;
        let place = Arc::new(Place::new(disk, dir.clone()));
        let entries = place.list()?;
        if let Some(entry) = entries.iter().find(|entry| crate::names::parse(&entry.name).is_some()) {
            return Err(LogError::Foreign { path: dir.join(&entry.name), what: "a log is here already".to_owned() });
        }
        let active = Arc::new(Segment::create(&place, start, now_ms)?);
        Ok(Log::assemble(Parts {
            place,
            config,
            segments: vec![active],
            start,
            end: start,
            recovery_point: start,
            indexer: Indexer::empty(start),
            producers: Default::default(),
            epochs: Epochs::default(),
            saved_epochs: 0,
            touched: false,
            owes_names: true,
            now_ms,
        }))
    }

    /// Opens the log in `dir`, recovering what an unclean stop left. `progress` is called about every 64 MiB of scanning.
    ///
    /// # Errors
    /// Whatever the disk says. Damage that a scan meets is no error: it is cut and told in the report, whose `cut.end` lies
    /// below the recovery point if synced records were lost. Damage that is met outside of a scan is one.
    pub fn open(
        disk: Arc<dyn Disk>,
        dir: PathBuf,
        config: Arc<LogConfig>,
        from: OpenFrom,
        now_ms: i64,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(Log, RecoveryReport), LogError> {
        let place = Arc::new(Place::new(disk, dir));
        let mut report = RecoveryReport::default();
        let found = tidy(&place, &mut report)?;
        report.written_again_bytes = suspect::write_again(&place, &found, from.recovery_point)?;
        let saved = Epochs::load(&*place.disk, &place.join(LEADER_EPOCH_CHECKPOINT))?;
        let mut recovery =
            Recovery::new(Arc::clone(&place), Arc::clone(&config), from, saved.clone(), report, progress);
        let mut segments = segments_of(&place, &found.segments);
        if segments.is_empty() {
            segments.push(begin(&place, from.log_start.max(0), now_ms)?);
        }
        let mut opened = recovery.run(segments, &found.segments)?;
        if opened.end < from.log_start {
            opened = recovery.start_over(opened, from.log_start, now_ms)?;
        }
        let Recovery { mut producers, mut epochs, report, owed, .. } = recovery;
        drop_snapshots(&place, &found, opened.end)?;
        producers.expire(now_ms, config.producer_id_expiration_ms);

        let start = from.log_start.max(opened.segments[0].base);
        epochs.truncate_to(opened.end);
        epochs.advance_to(start);
        let is_saved = saved.is_some_and(|saved| saved.same_as(&epochs));
        let active = opened.segments.last().expect("a log has at least one segment");
        active.open_file(FileKind::ActiveLog)?;
        active.set_largest(opened.indexer.largest);
        let recovery_point = if opened.is_as_closed { opened.end } else { from.recovery_point.clamp(0, opened.end) };
        let log = Log::assemble(Parts {
            place,
            config,
            segments: opened.segments,
            start,
            end: opened.end,
            recovery_point,
            indexer: opened.indexer,
            producers,
            saved_epochs: if is_saved { epochs.version } else { epochs.version.wrapping_sub(1) },
            epochs,
            touched: !opened.is_as_closed,
            owes_names: !opened.is_as_closed,
            now_ms,
        });
        log.save_epochs(&mut log.writer.lock())?;
        if !opened.is_as_closed {
            log.owe_sync(owed);
        }
        Ok((log, report))
    }
}

/// A new, empty segment whose name survives a crash.
fn begin(place: &Arc<Place>, base: Offset, now_ms: i64) -> Result<Arc<Segment>, DiskError> {
    let segment = Arc::new(Segment::create(place, base, now_ms)?);
    place.sync()?;
    Ok(segment)
}

fn segments_of(place: &Arc<Place>, found: &BTreeMap<Offset, SegmentFiles>) -> Vec<Arc<Segment>> {
    found.iter().map(|(base, files)| Arc::new(Segment::found(Arc::clone(place), *base, *files))).collect()
}

/// Snapshots above the end tell of batches that are gone.
fn drop_snapshots(place: &Place, found: &Found, end: Offset) -> Result<(), DiskError> {
    for base in found.snapshots.iter().filter(|base| **base > end) {
        remove_if_there(place, &place.path(*base, Part::Snapshot))?;
    }
    Ok(())
}

impl Recovery<'_> {
    /// The log ends below its checkpointed start: what is left was deleted, and it begins anew.
    fn start_over(&mut self, opened: Opened, log_start: Offset, now_ms: i64) -> Result<Opened, DiskError> {
        let bytes = opened.segments.iter().map(|segment| segment.bytes()).sum();
        let path = opened.segments[0].path();
        let segments = opened.segments.len();
        self.drop_segments(opened.segments)?;
        let reason = CutReason::BelowLogStart { log_start };
        self.report.cut = Some(Cut { path, position: 0, end: log_start, bytes, segments, reason });
        self.producers = Default::default();
        self.epochs.clear();
        Ok(Opened {
            segments: vec![begin(&self.place, log_start, now_ms)?],
            end: log_start,
            indexer: Indexer::empty(log_start),
            is_as_closed: false,
        })
    }

    fn run(
        &mut self,
        segments: Vec<Arc<Segment>>,
        files: &BTreeMap<Offset, SegmentFiles>,
    ) -> Result<Opened, DiskError> {
        let opened = self.examine(segments, files)?;
        if self.config.producer_state {
            self.bring_producers_to(&opened.segments, opened.end)?;
        }
        Ok(opened)
    }
}
