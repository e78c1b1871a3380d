//! What a crash can leave behind, and what a start makes of it.

use ballast_wire::batch::Compression;

use super::*;
use crate::log::Log;
use crate::testing::{Rig, batch, batch_at, put, put_in, sequenced, spans};

const LOG: &str = "00000000000000000000.log";

fn small_segments() -> Rig {
    Rig::new(|config| {
        config.segment_bytes = 1000;
        config.index_interval_bytes = 200;
    })
}

fn filled(rig: &Rig, batches: usize) -> Log {
    let log = rig.create();
    for n in 0..batches {
        put_in(&log, &batch(2), (n / 10) as i32).unwrap();
    }
    log
}

fn change(rig: &Rig, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = rig.bytes_of(name);
    change(&mut bytes);
    std::fs::write(rig.dir().join(name), bytes).unwrap();
}

#[test]
fn a_log_reads_on_after_a_clean_stop_without_scanning() {
    let rig = small_segments();
    let log = filled(&rig, 30);
    put(&log, &sequenced(7, 2, 0, 3)).unwrap_err();
    put_in(&log, &sequenced(7, 2, 0, 3), 2).unwrap();
    let (spans_before, producers, epochs) = (spans(&log, 0, log.end()), log.producers(), log.epoch_starts());
    assert_eq!(log.close().unwrap(), 63);
    assert_eq!(log.close().unwrap(), 63, "closing twice is fine");
    put_in(&log, &batch(1), 2).unwrap_err();
    let log = rig.open_clean();
    assert_eq!((log.start(), log.end(), log.recovery_point()), (0, 63, 63));
    assert_eq!(spans(&log, 0, log.end()), spans_before);
    assert_eq!((log.producers(), log.epoch_starts()), (producers, epochs));
    assert_eq!(put_in(&log, &sequenced(7, 2, 3, 1), 2).unwrap().base_offset, 63);
}

#[test]
fn closing_what_was_not_written_to_changes_no_file() {
    let rig = small_segments();
    filled(&rig, 5).close().unwrap();
    let before = rig.names();
    rig.open_clean().close().unwrap();
    assert_eq!(rig.names(), before);
    assert_eq!(
        before,
        [
            "00000000000000000000.index",
            LOG,
            "00000000000000000000.timeindex",
            "00000000000000000010.snapshot",
            "leader-epoch-checkpoint"
        ]
    );
}

#[test]
fn a_crash_of_the_process_loses_nothing_and_scans_what_was_not_synced() {
    let rig = small_segments();
    let log = filled(&rig, 30);
    let (before, bases) = (spans(&log, 0, log.end()), log.active_segment_base());
    let epochs = log.epoch_starts();
    drop(log);
    let (log, report) = rig.open_dirty();
    assert_eq!((report.batches, report.cut.clone(), report.rebuilt_indexes.len()), (30, None, 0), "{report:?}");
    assert_eq!(spans(&log, 0, log.end()), before);
    assert_eq!((log.active_segment_base(), log.epoch_starts()), (bases, epochs));
    assert_eq!(log.recovery_point(), 0);
}

#[test]
fn segments_below_the_recovery_point_are_not_scanned() {
    let rig = small_segments();
    let log = filled(&rig, 30);
    let recovery_point = log.sync(0).unwrap();
    assert_eq!(recovery_point, 60);
    let last = log.active_segment_base();
    drop(log);
    let (log, report) = rig.open(OpenFrom { clean: false, recovery_point, log_start: 0 });
    assert_eq!(report.batches as i64, (60 - last) / 2, "the last segment is always read: {report:?}");
    assert_eq!((log.end(), log.recovery_point()), (60, 60));
}

#[test]
fn a_torn_tail_is_cut_and_told() {
    let rig = Rig::new(|_| {});
    let size = batch(2).len();
    drop(filled(&rig, 10));
    change(&rig, LOG, |bytes| bytes.truncate(size * 9 + 30));
    let (log, report) = rig.open_dirty();
    let cut = report.cut.unwrap();
    assert_eq!((cut.position, cut.end, cut.bytes, cut.segments), (size as u64 * 9, 18, 30, 0));
    assert_eq!(cut.reason, CutReason::Torn);
    assert_eq!(rig.bytes_of(LOG).len(), size * 9);
    assert_eq!(put(&log, &batch(1)).unwrap().base_offset, 18);
}

#[test]
fn zeros_behind_the_data_are_the_end() {
    let rig = Rig::new(|_| {});
    drop(filled(&rig, 3));
    change(&rig, LOG, |bytes| bytes.extend([0; 5000]));
    let (log, report) = rig.open_dirty();
    assert_eq!((log.end(), report.cut.unwrap().reason), (6, CutReason::Zeros));
}

/// reliability.md F5.
#[test]
fn a_flipped_bit_ends_the_log_before_it_and_drops_every_later_segment() {
    let rig = small_segments();
    let log = filled(&rig, 30);
    let second = log.published().segments[1].base;
    let later = log.segment_count() - 2;
    drop(log);
    let name = format!("{second:020}.log");
    let size = batch(2).len();
    change(&rig, &name, |bytes| bytes[size + 70] ^= 1);
    let (log, report) = rig.open_dirty();
    let cut = report.cut.unwrap();
    assert_eq!((cut.position, cut.segments, log.end()), (size as u64, later, second + 2));
    assert!(matches!(cut.reason, CutReason::Damaged(_)), "{:?}", cut.reason);
    let logs = rig.names().into_iter().filter(|name| name.ends_with(".log")).count();
    assert_eq!((logs, log.segment_count()), (2, 2));
    assert_eq!(put_in(&log, &batch(1), 9).unwrap().base_offset, second + 2);
    drop(log);
    let (_, report) = rig.open_dirty();
    assert_eq!(report.cut, None, "recovering again keeps the same");
}

#[test]
fn a_lost_tail_of_an_unsynced_segment_drops_what_lies_behind_the_hole() {
    let rig = small_segments();
    let log = filled(&rig, 30);
    let second = log.published().segments[1].base;
    drop(log);
    let size = batch(2).len();
    change(&rig, LOG, |bytes| bytes.truncate(size * 2));
    let (log, report) = rig.open_dirty();
    assert_eq!(log.end(), 4);
    assert_eq!(report.cut.unwrap().reason, CutReason::Hole { base_offset: second, end: 4 });
}

#[test]
fn an_older_epoch_behind_a_newer_one_is_damage() {
    let rig = Rig::new(|_| {});
    let size = batch(2).len();
    drop(filled(&rig, 15));
    change(&rig, LOG, |bytes| bytes[size * 12 + 12..size * 12 + 16].copy_from_slice(&0_i32.to_be_bytes()));
    let (log, report) = rig.open_dirty();
    assert_eq!((log.end(), report.cut.unwrap().reason), (24, CutReason::EpochStepsBack { epoch: 0, after: 1 }));
}

#[test]
fn a_log_that_ends_below_its_start_begins_anew_there() {
    let rig = small_segments();
    drop(filled(&rig, 10));
    let (log, report) = rig.open(OpenFrom { clean: false, recovery_point: 0, log_start: 100 });
    assert_eq!((log.start(), log.end(), log.first_segment_base()), (100, 100, 100));
    assert_eq!(report.cut.unwrap().reason, CutReason::BelowLogStart { log_start: 100 });
    assert_eq!(put_in(&log, &batch(1), 3).unwrap().base_offset, 100);
}

/// B43.
#[test]
fn indexes_that_cannot_be_right_are_made_again_after_a_clean_stop() {
    type Damage = (&'static str, fn(&mut Vec<u8>));
    let damages: [Damage; 7] = [
        ("index", |bytes| bytes.truncate(bytes.len() - 3)),
        ("index", |bytes| bytes.fill(0)),
        ("index", |bytes| bytes.extend([0; 4096])),
        ("timeindex", |bytes| bytes.truncate(bytes.len() - 5)),
        ("timeindex", |bytes| bytes.fill(0)),
        ("timeindex", |bytes| bytes.extend([0; 12 * 100])),
        ("timeindex", Vec::clear),
    ];
    for (extension, damage) in damages {
        let rig = small_segments();
        let log = filled(&rig, 30);
        let bases: Vec<_> = log.published().segments.iter().map(|segment| segment.base).collect();
        log.close().unwrap();
        for base in bases {
            let name = format!("{base:020}.{extension}");
            let good = rig.bytes_of(&name);
            if good.is_empty() {
                // A short segment has no entries, and nothing to damage.
                continue;
            }
            change(&rig, &name, damage);
            let (log, report) = rig.open(OpenFrom { clean: true, recovery_point: 60, log_start: 0 });
            assert_eq!(report.rebuilt_indexes.len(), 2, "{name}");
            assert_eq!((report.cut, log.end()), (None, 60), "{name}");
            assert_eq!(spans(&log, 0, 60).len(), 30);
            log.close().unwrap();
            assert_eq!(rig.bytes_of(&name), good, "{name}");
        }
    }
}

#[test]
fn missing_indexes_are_made_again_after_a_clean_stop() {
    let rig = small_segments();
    filled(&rig, 30).close().unwrap();
    let before: Vec<_> = rig.names().into_iter().filter(|name| name.contains("index")).collect();
    let contents: Vec<_> = before.iter().map(|name| rig.bytes_of(name)).collect();
    for name in &before {
        std::fs::remove_file(rig.dir().join(name)).unwrap();
    }
    let (log, report) = rig.open(OpenFrom { clean: true, recovery_point: 60, log_start: 0 });
    assert_eq!((report.rebuilt_indexes.len(), log.end()), (before.len(), 60));
    log.close().unwrap();
    for (name, contents) in before.iter().zip(contents) {
        assert_eq!(rig.bytes_of(name), contents, "{name}");
    }
}

#[test]
fn a_missing_or_damaged_epoch_checkpoint_is_learnt_from_the_batches() {
    for damage in [None, Some("nonsense")] {
        let rig = small_segments();
        let log = filled(&rig, 30);
        let epochs = log.epoch_starts();
        assert_eq!(epochs, [(0, 0), (1, 20), (2, 40)]);
        log.close().unwrap();
        let path = rig.dir().join("leader-epoch-checkpoint");
        match damage {
            None => std::fs::remove_file(&path).unwrap(),
            Some(text) => std::fs::write(&path, text).unwrap(),
        }
        let log = rig.open_clean();
        assert_eq!(log.epoch_starts(), epochs);
        assert_eq!(rig.bytes_of("leader-epoch-checkpoint"), b"0\n3\n0 0\n1 20\n2 40\n");
    }
}

#[test]
fn producers_come_back_from_the_newest_good_snapshot_and_the_batches_since() {
    let rig = small_segments();
    let log = rig.create();
    for n in 0..40 {
        put(&log, &sequenced(7, 0, n * 2, 2)).unwrap();
        put(&log, &sequenced(8, 0, n, 1)).unwrap();
    }
    let producers = log.producers();
    log.close().unwrap();
    for damaged in 0..3 {
        let snapshots: Vec<_> = rig.names().into_iter().filter(|name| name.ends_with(".snapshot")).collect();
        for name in snapshots.iter().rev().take(damaged) {
            change(&rig, name, |bytes| bytes[12] ^= 1);
        }
        let log = rig.open_clean();
        assert_eq!(log.producers(), producers, "{damaged} newest snapshots damaged");
    }
}

#[test]
fn leftovers_of_interrupted_work_are_removed() {
    let rig = small_segments();
    filled(&rig, 10).close().unwrap();
    let before = rig.names();
    for name in [
        "00000000000000000004.log.deleted",
        "00000000000000000000.index.cleaned",
        "leader-epoch-checkpoint.tmp",
        "00000000000000000777.index",
        "00000000000000000777.timeindex",
        "00000000000000000003.snapshot",
    ] {
        std::fs::write(rig.dir().join(name), b"left over").unwrap();
    }
    let (log, report) = rig.open(OpenFrom { clean: true, recovery_point: 20, log_start: 0 });
    assert_eq!((log.end(), report.leftovers.len(), report.cut), (20, 5, None), "{:?}", report.leftovers);
    assert_eq!(rig.names(), before);
}

#[test]
fn a_swap_that_was_written_whole_takes_the_place_of_what_it_replaces() {
    let rig = small_segments();
    let log = filled(&rig, 30);
    let bases: Vec<_> = log.published().segments.iter().map(|segment| segment.base).collect();
    log.close().unwrap();
    // The first two segments merged into one.
    let merged = [rig.bytes_of(LOG), rig.bytes_of(&format!("{:020}.log", bases[1]))].concat();
    std::fs::write(rig.dir().join(format!("{LOG}.swap")), &merged).unwrap();
    let (log, report) = rig.open(OpenFrom { clean: true, recovery_point: 60, log_start: 0 });
    assert_eq!((log.end(), log.segment_count()), (60, bases.len() - 1), "{report:?}");
    assert_eq!(rig.bytes_of(LOG), merged);
    assert_eq!(spans(&log, 0, 60).len(), 30);
    assert!(!rig.names().iter().any(|name| name.contains("swap") || name.contains(&format!("{:020}", bases[1]))));
}

#[test]
fn a_swap_beside_an_unfinished_file_is_dropped() {
    let rig = small_segments();
    filled(&rig, 10).close().unwrap();
    let before = rig.names();
    std::fs::write(rig.dir().join(format!("{LOG}.swap")), b"part of a set").unwrap();
    std::fs::write(rig.dir().join(format!("{LOG}.cleaned")), b"the rest").unwrap();
    let (log, _) = rig.open(OpenFrom { clean: true, recovery_point: 20, log_start: 0 });
    assert_eq!((log.end(), rig.names()), (20, before));
}

#[test]
fn a_contiguous_log_is_cut_at_a_hole_and_another_is_not() {
    for contiguous in [false, true] {
        let rig = Rig::new(|config| config.contiguous = contiguous);
        drop(filled(&rig, 5));
        let size = batch(2).len();
        change(&rig, LOG, |bytes| bytes[size * 3..size * 3 + 8].copy_from_slice(&9_i64.to_be_bytes()));
        change(&rig, LOG, |bytes| bytes[size * 4..size * 4 + 8].copy_from_slice(&11_i64.to_be_bytes()));
        let (log, report) = rig.open_dirty();
        if contiguous {
            assert_eq!((log.end(), report.cut.unwrap().reason), (6, CutReason::Hole { base_offset: 9, end: 6 }));
        } else {
            assert_eq!((log.end(), report.cut), (13, None));
            assert_eq!(spans(&log, 0, 13), [(0, 1), (2, 3), (4, 5), (9, 10), (11, 12)]);
        }
    }
}

/// No checksum covers a batch's offset: a bit of it that flips leaves a batch that looks whole.
#[test]
fn a_batch_whose_offset_has_moved_up_ends_the_log_before_it() {
    let size = batch(2).len();
    // Behind the second batch stands the third; behind the last one nothing, and so it shows only where it has gone too far.
    for (at, moved) in [(1, 3_i64), (1, 1 << 20), (4, 1 << 40)] {
        let rig = Rig::new(|_| {});
        drop(filled(&rig, 5));
        let (end, base_offset) = (at * 2, at * 2 + moved);
        let position = size * at as usize;
        change(&rig, LOG, |bytes| bytes[position..position + 8].copy_from_slice(&base_offset.to_be_bytes()));
        let (log, report) = rig.open_dirty();
        assert_eq!((log.end(), report.cut.unwrap().reason), (end, CutReason::Hole { base_offset, end }));
        drop(log);
        assert_eq!(rig.open_dirty().1.cut, None, "recovering again keeps the same");
    }
}

#[test]
fn progress_tells_how_far_the_scan_is() {
    let rig = small_segments();
    drop(filled(&rig, 30));
    let mut told = Vec::new();
    let from = OpenFrom { clean: false, recovery_point: 0, log_start: 0 };
    let (log, report) =
        Log::open(Arc::clone(&rig.disk), rig.dir(), rig.config(), from, 0, &mut |at| told.push(at)).unwrap();
    assert_eq!(told.len(), log.segment_count());
    let last = told.last().unwrap();
    assert_eq!((last.scanned_bytes, last.total_bytes), (report.scanned_bytes, log.size_bytes()));
}

#[test]
fn a_batch_larger_than_the_window_is_checked_as_well() {
    let rig = Rig::new(|config| config.max_message_bytes = 8 << 20);
    let log = rig.create();
    put(&log, &batch_at(&vec![5; 60_000], Compression::None)).unwrap();
    put(&log, &batch(1)).unwrap();
    let first_bytes = log.size_bytes() - batch(1).len() as u64;
    assert!(first_bytes > 1 << 20, "{first_bytes}");
    drop(log);
    assert_eq!(rig.open_dirty().1.cut, None);
    change(&rig, LOG, |bytes| bytes[1_200_000] ^= 4);
    let (log, report) = rig.open_dirty();
    assert_eq!((log.end(), report.cut.unwrap().position), (0, 0));
}
