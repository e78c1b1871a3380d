//! Cutting a log, with readers on it and without.

use super::*;
use crate::testing::{NOW_MS, Rig, batch, put, put_in, sequenced, spans, valid};

fn log_of(rig: &Rig, batches: usize) -> Log {
    let log = rig.create();
    for n in 0..batches {
        put_in(&log, &sequenced(7, 0, n as i32 * 2, 2), (n / 10) as i32).unwrap();
    }
    log
}

fn small_segments() -> Rig {
    Rig::new(|config| {
        config.segment_bytes = 800;
        config.index_interval_bytes = 150;
    })
}

#[test]
fn a_log_can_be_cut_at_every_offset_and_goes_on_there() {
    for offset in 0..=60 {
        let rig = small_segments();
        let log = log_of(&rig, 30);
        let end = log.truncate_to(offset).unwrap();
        assert_eq!(end, offset - offset % 2, "a batch is not cut in two");
        assert_eq!((log.end(), spans(&log, 0, log.end()).len() as i64), (end, end / 2));
        let last_sequence = log.producers().first().map(|producer| producer.last_sequence);
        assert_eq!(last_sequence, (end > 0).then_some(end as i32 - 1));
        assert_eq!(log.latest_epoch(), (end > 0).then_some((end as i32 - 1) / 20));
        let next = put_in(&log, &sequenced(7, 0, end as i32, 3), 5).unwrap();
        assert_eq!(next.base_offset, end);
        let before = (spans(&log, 0, log.end()), log.epoch_starts(), log.producers());
        drop(log);
        let (log, report) = rig.open_dirty();
        assert_eq!(report.cut, None, "cut at {offset}");
        assert_eq!((spans(&log, 0, log.end()), log.epoch_starts(), log.producers()), before);
        log.close().unwrap();
        let log = rig.open_clean();
        assert_eq!((spans(&log, 0, log.end()), log.epoch_starts(), log.producers()), before);
    }
}

#[test]
fn a_log_that_is_cut_behind_a_hole_ends_before_the_hole() {
    let rig = small_segments();
    drop(log_of(&rig, 3));
    let name = rig.dir().join("00000000000000000000.log");
    let mut bytes = std::fs::read(&name).unwrap();
    let last = bytes.len() / 3 * 2;
    bytes[last..last + 8].copy_from_slice(&90_i64.to_be_bytes());
    std::fs::write(&name, bytes).unwrap();
    let (log, _) = rig.open_dirty();
    assert_eq!(log.end(), 92);
    assert_eq!(log.truncate_to(50).unwrap(), 4, "what is missing can be fetched");
    assert_eq!((log.end(), spans(&log, 0, 4)), (4, vec![(0, 1), (2, 3)]));
}

#[test]
fn what_is_queued_is_dropped_with_the_producers_state() {
    let rig = small_segments();
    let log = log_of(&rig, 3);
    log.append(valid(&log, &sequenced(7, 0, 6, 1)).unwrap(), 0, NOW_MS).unwrap();
    assert_eq!(log.truncate_to(100).unwrap(), 6);
    let again = log.append(valid(&log, &sequenced(7, 0, 6, 1)).unwrap(), 0, NOW_MS).unwrap();
    assert_eq!((again.base_offset, again.duplicate), (6, false));
}

#[test]
fn a_held_file_is_swapped_for_a_shorter_copy_sealed_or_not() {
    for offset in [2, 56] {
        let rig = small_segments();
        let log = log_of(&rig, 30);
        let held: Vec<_> =
            (0..60).step_by(6).map(|from| log.read(from, 60, 1 << 20, true).unwrap().records.unwrap()).collect();
        let before: Vec<Vec<u8>> = held.iter().map(|chunk| chunk.bytes().unwrap().to_vec()).collect();
        log.truncate_to(offset).unwrap();
        for n in 0..20 {
            put_in(&log, &sequenced(7, 0, offset as i32 + n, 1), 9).unwrap();
        }
        for (chunk, before) in held.iter().zip(before) {
            assert_eq!(chunk.bytes().unwrap(), before);
        }
        assert_eq!(spans(&log, 0, log.end()).len() as i64, offset / 2 + 20);
    }
}

#[test]
fn the_recovery_point_never_lies_above_the_end() {
    let rig = small_segments();
    let log = log_of(&rig, 30);
    assert_eq!(log.sync(NOW_MS).unwrap(), 60);
    log.truncate_to(20).unwrap();
    assert_eq!(log.recovery_point(), 20);
    assert!(log.is_dirty(), "the cut itself is to be synced");
    assert_eq!(log.sync(NOW_MS).unwrap(), 20);
}

#[test]
fn a_sync_that_began_before_a_truncation_moves_nothing() {
    let rig = small_segments();
    let log = log_of(&rig, 10);
    let point = log.begin_sync().unwrap().unwrap();
    log.truncate_to(10).unwrap();
    put_in(&log, &batch(8), 4).unwrap();
    let result = point.run();
    assert_eq!(log.finish_sync(point, result, NOW_MS).unwrap(), 0);
    assert_eq!(log.sync(NOW_MS).unwrap(), 18);
}

#[test]
fn an_offset_below_the_first_segment_cannot_be_cut_to() {
    let rig = small_segments();
    let log = log_of(&rig, 30);
    log.advance_start(40).unwrap();
    log.retain(NOW_MS, 60).unwrap();
    let refused = log.truncate_to(3).unwrap_err();
    assert!(matches!(refused, LogError::OutOfRange { offset: 3, end: 60, .. }), "{refused}");
}

#[test]
fn a_log_can_be_emptied_and_begin_elsewhere() {
    let rig = small_segments();
    let log = log_of(&rig, 30);
    let held = log.read(0, 60, 1 << 20, true).unwrap().records.unwrap();
    log.truncate_fully_and_start_at(1000, NOW_MS).unwrap();
    assert_eq!((log.start(), log.end(), log.recovery_point(), log.segment_count()), (1000, 1000, 1000, 1));
    assert_eq!((log.latest_epoch(), log.producers().len()), (None, 0));
    assert!(!held.bytes().unwrap().is_empty());
    assert_eq!(put(&log, &batch(2)).unwrap().base_offset, 1000);
    drop(log);
    let (log, report) = rig.open(crate::OpenFrom { clean: false, recovery_point: 1000, log_start: 1000 });
    assert_eq!((report.cut, log.start(), log.end()), (None, 1000, 1002));
}

#[test]
fn readers_see_whole_batches_while_the_log_is_cut_and_written_over() {
    let rig = small_segments();
    let log = log_of(&rig, 20);
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut held = std::collections::VecDeque::new();
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    let (start, end) = (log.start(), log.end());
                    for from in [start, (start + end) / 2, end - 1] {
                        let Ok(read) = log.read(from, i64::MAX, 1 << 20, true) else { continue };
                        let Some(records) = read.records else { continue };
                        let bytes = records.bytes().unwrap();
                        for batch in ballast_wire::batch::batches(&bytes) {
                            batch.unwrap().verify_checksum().unwrap();
                        }
                        held.push_back((records, bytes.to_vec()));
                    }
                    if held.len() > 20 {
                        let (records, bytes) = held.pop_front().unwrap();
                        assert_eq!(records.bytes().unwrap(), bytes, "what is held never changes");
                    }
                }
            });
        }
        for round in 0..150_i64 {
            let end = log.end();
            log.truncate_to(end - 1 - round * 7 % end.min(30)).unwrap();
            for n in 0..10 {
                put_in(&log, &batch(1 + n % 3), 10 + round as i32).unwrap();
            }
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let before = spans(&log, 0, log.end());
    drop(log);
    let (log, report) = rig.open_dirty();
    assert_eq!((report.cut, spans(&log, 0, log.end())), (None, before));
}

#[test]
fn an_epoch_that_wrote_nothing_is_forgotten_when_the_log_is_cut_at_its_end() {
    let rig = small_segments();
    let log = log_of(&rig, 3);
    log.assign_epoch(7, log.end()).unwrap();
    assert_eq!(log.truncate_to(log.end()).unwrap(), 6);
    assert_eq!(log.epoch_starts(), [(0, 0)]);
    drop(log);
    assert_eq!(rig.open_dirty().0.epoch_starts(), [(0, 0)], "and does not come back");
}
