//! Which segments go, and when their files do.

use ballast_wire::batch::Compression;

use super::*;
use crate::config::LogConfig;
use crate::testing::{NOW_MS, Rig, batch_at, put, spans};

const HOUR_MS: i64 = 3_600_000;

/// Ten segments of some batches each, one hour apart.
fn ten_segments(change: impl FnOnce(&mut LogConfig)) -> (Rig, Log) {
    let rig = Rig::new(|config| {
        config.timestamp_after_max_ms = i64::MAX;
        change(config);
    });
    let log = rig.create();
    for segment in 0..10 {
        for _ in 0..3 {
            put(&log, &batch_at(&[NOW_MS - (10 - segment) * HOUR_MS], Compression::None)).unwrap();
        }
        if segment < 9 {
            log.roll(NOW_MS).unwrap();
        }
    }
    assert_eq!((log.segment_count(), log.end()), (10, 30));
    (rig, log)
}

#[test]
fn segments_whose_newest_record_is_too_old_are_removed() {
    let (_rig, log) = ten_segments(|config| config.retention_ms = 5 * HOUR_MS + 1);
    let retained = log.retain(NOW_MS, 30).unwrap();
    assert_eq!((retained.segments, log.start(), log.segment_count()), (5, 15, 5));
    assert_eq!(spans(&log, 15, 30).len(), 15);
    assert_eq!(log.retain(NOW_MS, 30).unwrap(), Retained::default());
}

#[test]
fn the_oldest_segments_go_while_the_log_is_too_large() {
    let (_rig, log) = ten_segments(|config| config.retention_ms = -1);
    let segment = log.size_bytes() as i64 / 10;
    log.update_config(LogConfig { retention_ms: -1, retention_bytes: segment * 7 + 1, ..LogConfig::default() }.into());
    assert_eq!(log.retain(NOW_MS, 30).unwrap().segments, 2, "a third would leave too little");
    assert_eq!(log.start(), 6);
}

#[test]
fn nothing_above_the_high_watermark_goes() {
    let (_rig, log) = ten_segments(|config| config.retention_ms = 1);
    assert_eq!(log.retain(NOW_MS, 8).unwrap().segments, 2);
    assert_eq!(log.start(), 6);
}

/// Trap 28.
#[test]
fn an_idle_log_ends_empty_and_goes_on_at_the_same_offset() {
    let (rig, log) = ten_segments(|config| config.retention_ms = 1);
    assert_eq!(log.retain(NOW_MS, 30).unwrap().segments, 10);
    assert_eq!((log.start(), log.end(), log.segment_count(), log.size_bytes()), (30, 30, 1, 0));
    assert_eq!(log.retain(NOW_MS, 30).unwrap().segments, 0, "an empty last segment stays");
    assert_eq!(log.epoch_starts(), [(0, 30)]);
    drop(log);
    let (log, _) = rig.open_dirty();
    assert_eq!((log.start(), log.end()), (30, 30));
    assert_eq!(put(&log, &batch_at(&[NOW_MS], Compression::None)).unwrap().base_offset, 30);
}

/// Trap 28.
#[test]
fn a_record_from_the_future_holds_its_segment_and_all_behind_it() {
    let rig = Rig::new(|config| {
        config.timestamp_after_max_ms = i64::MAX;
        config.retention_ms = 1;
    });
    let log = rig.create();
    for timestamp in [NOW_MS - HOUR_MS, NOW_MS + HOUR_MS, NOW_MS - HOUR_MS] {
        put(&log, &batch_at(&[timestamp], Compression::None)).unwrap();
        log.roll(NOW_MS).unwrap();
    }
    assert_eq!(log.retain(NOW_MS, 3).unwrap().segments, 1);
    assert_eq!((log.start(), log.end()), (1, 3));
}

/// B14.
#[test]
fn deleted_records_are_out_of_reach_at_once_and_their_segments_go_with_the_next_retention() {
    let (rig, log) = ten_segments(|config| config.retention_ms = -1);
    assert!(log.advance_start(17).unwrap());
    assert!(!log.advance_start(3).unwrap(), "it never goes back");
    assert!(log.read(16, 30, 1000, true).is_err());
    assert_eq!(log.read(17, 30, 1, true).unwrap().base_offset, 17);
    assert_eq!(rig.bytes_of("leader-epoch-checkpoint"), b"0\n1\n0 17\n");
    assert_eq!(log.retain(NOW_MS, 30).unwrap().segments, 5);
    assert_eq!((log.start(), log.first_segment_base()), (17, 15));
    let above = log.advance_start(31).unwrap_err();
    assert!(matches!(above, LogError::OutOfRange { offset: 31, start: 17, end: 30 }), "{above}");
}

#[test]
fn a_compacted_log_keeps_its_segments_but_not_below_its_start() {
    let (_rig, log) = ten_segments(|config| {
        config.retention_ms = 1;
        config.cleanup = crate::config::CleanupPolicy { delete: false, compact: true };
    });
    assert_eq!(log.retain(NOW_MS, 30).unwrap().segments, 0);
    log.advance_start(6).unwrap();
    assert_eq!(log.retain(NOW_MS, 30).unwrap().segments, 2);
}

#[test]
fn deleted_files_keep_their_bytes_until_their_delay_is_over() {
    let (rig, log) = ten_segments(|config| config.retention_ms = 5 * HOUR_MS + 1);
    log.retain(NOW_MS, 30).unwrap();
    let deleted = || rig.names().iter().filter(|name| name.ends_with(".deleted")).count();
    assert_eq!(deleted(), 19, "log, two indexes and a snapshot of five segments, but the first has no snapshot");
    assert_eq!(log.reap(NOW_MS + 59_999).unwrap(), Some(NOW_MS + 60_000));
    assert_eq!(deleted(), 19);
    assert_eq!(log.reap(NOW_MS + 60_000).unwrap(), None);
    assert_eq!(deleted(), 0);
}
