//! Logs that move while they are used, and copies whose logs change under them.

use std::path::PathBuf;

use super::*;
use crate::config::LogConfig;
use crate::testing::{NOW_MS, Rig, batch, put, put_in, sequenced, spans, valid};

/// A folder beside that of `rig`.
fn beside(rig: &Rig, name: &str) -> PathBuf {
    rig.dir().with_file_name(name)
}

fn copy_of(rig: &Rig, log: &Log) -> Log {
    let other = beside(rig, "other");
    std::fs::create_dir_all(&other).unwrap();
    let dir = other.join("topic-0.x-future");
    let base = log.copy_base().unwrap();
    let config = Arc::new(LogConfig { segment_bytes: 500, ..rig.config.clone() });
    Log::create(Arc::clone(&rig.disk), dir, config, base, NOW_MS).unwrap()
}

fn catch_up(copy: &Log, log: &Log) {
    while copy.copy_from(log, 1, NOW_MS).unwrap() > 0 {}
    let start = copy.start().max(log.start());
    assert_eq!(spans(copy, start, copy.end()), spans(log, start, log.end()));
}

#[test]
fn a_log_that_moved_has_its_records_producers_and_epochs_and_goes_on() {
    let rig = Rig::new(|config| config.segment_bytes = 300);
    let log = rig.create();
    put_in(&log, &sequenced(7, 0, 0, 3), 2).unwrap();
    put_in(&log, &batch(5), 2).unwrap();
    log.assign_epoch(6, log.end()).unwrap();
    let copy = copy_of(&rig, &log);
    catch_up(&copy, &log);
    // Appended behind the copy's back, one of them not even written yet.
    put_in(&log, &sequenced(7, 0, 3, 1), 6).unwrap();
    let queued = log.append(valid(&log, &batch(2)).unwrap(), 6, NOW_MS).unwrap();
    let held = log.read(0, 9, 1, true).unwrap().records.unwrap();
    let before = spans(&log, 0, 9);

    let retired = beside(&rig, "topic-0.x-delete");
    log.give_way_to(&copy, &retired, NOW_MS).unwrap();
    assert_eq!(log.dir(), beside(&rig, "other").join("topic-0"));
    assert!(retired.join("00000000000000000000.log").exists() && !rig.dir().exists());
    assert_eq!((log.end(), log.recovery_point(), spans(&log, 0, 9)), (9, 9, before));
    assert_eq!(log.epoch_starts(), [(2, 0), (6, 8)]);
    assert!(!held.bytes().unwrap().is_empty(), "whoever holds bytes keeps them");

    assert!(matches!(
        log.drain(crate::Budget::Through(queued.last_offset)),
        crate::Drained::Done { end: 11, failed: None, .. }
    ));
    let again = put_in(&log, &sequenced(7, 0, 3, 1), 6).unwrap();
    assert!(again.duplicate && again.base_offset == 8, "{again:?}");
    for _ in 0..6 {
        put_in(&log, &batch(5), 6).unwrap();
    }
    log.sync(NOW_MS).unwrap();
    let (all, dir) = (spans(&log, 0, 41), log.dir());
    drop(log);
    let from = crate::OpenFrom { clean: false, recovery_point: 0, log_start: 0 };
    let (log, report) = Log::open(Arc::clone(&rig.disk), dir, rig.config(), from, NOW_MS, &mut |_| {}).unwrap();
    assert_eq!((report.cut, spans(&log, 0, 41)), (None, all));
    assert_eq!(log.epoch_starts(), [(2, 0), (6, 8)]);
}

/// KIP-101, for a copy on the same broker.
#[test]
fn a_copy_cuts_off_what_its_log_has_cut_off_though_the_log_is_longer_again() {
    let rig = Rig::new(|_| {});
    let log = rig.create();
    put_in(&log, &batch(2), 1).unwrap();
    put_in(&log, &batch(2), 3).unwrap();
    put_in(&log, &batch(2), 3).unwrap();
    let copy = copy_of(&rig, &log);
    catch_up(&copy, &log);
    log.truncate_to(4).unwrap();
    put_in(&log, &batch(9), 5).unwrap();
    catch_up(&copy, &log);
    assert_eq!(copy.epoch_starts(), [(1, 0), (3, 2), (5, 4)]);
    // Nothing is left of the copy's latest two epochs.
    log.truncate_to(2).unwrap();
    put_in(&log, &batch(1), 4).unwrap();
    catch_up(&copy, &log);
    assert_eq!(copy.epoch_starts(), [(1, 0), (4, 2)]);
    log.truncate_to(1).unwrap();
    catch_up(&copy, &log);
    assert_eq!((log.end(), copy.end()), (0, 0));
}

#[test]
fn a_copy_begins_anew_when_its_log_does() {
    let rig = Rig::new(|_| {});
    let log = rig.create();
    put(&log, &batch(5)).unwrap();
    let copy = copy_of(&rig, &log);
    catch_up(&copy, &log);
    log.truncate_fully_and_start_at(50, NOW_MS).unwrap();
    put(&log, &batch(3)).unwrap();
    catch_up(&copy, &log);
    assert_eq!((copy.start(), copy.end()), (50, 53));
}

#[test]
fn a_start_in_the_middle_of_a_batch_moves_along() {
    let rig = Rig::new(|_| {});
    let log = rig.create();
    put(&log, &batch(4)).unwrap();
    put(&log, &batch(4)).unwrap();
    log.advance_start(2).unwrap();
    let copy = copy_of(&rig, &log);
    catch_up(&copy, &log);
    log.advance_start(5).unwrap();
    log.give_way_to(&copy, &beside(&rig, "topic-0.x-delete"), NOW_MS).unwrap();
    assert_eq!((log.start(), log.end(), log.first_segment_base()), (5, 8, 0));
    assert_eq!(spans(&log, 5, 8), [(4, 7)]);
}

#[test]
fn a_log_whose_copy_cannot_take_its_name_goes_on_where_it_was() {
    let rig = Rig::new(|_| {});
    let log = rig.create();
    put(&log, &batch(4)).unwrap();
    let copy = copy_of(&rig, &log);
    // A folder that is not empty is in the way.
    std::fs::create_dir_all(beside(&rig, "other").join("topic-0/full")).unwrap();
    let error = log.give_way_to(&copy, &beside(&rig, "topic-0.x-delete"), NOW_MS).unwrap_err();
    assert!(error.is_of_copy(), "{error}");
    assert_eq!(log.dir(), rig.dir());
    put(&log, &batch(2)).unwrap();
    assert_eq!(spans(&log, 0, 6), [(0, 3), (4, 5)]);
    std::fs::remove_dir_all(beside(&rig, "other").join("topic-0")).unwrap();
    log.give_way_to(&copy, &beside(&rig, "topic-0.x-delete"), NOW_MS).unwrap();
    assert_eq!(spans(&log, 0, 6), [(0, 3), (4, 5)]);
}
