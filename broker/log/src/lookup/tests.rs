//! Records found by their time.

use ballast_wire::batch::{Compression, TimestampType};

use super::*;
use crate::testing::{NOW_MS, Rig, batch_at, put};

const CODECS: [Compression; 5] =
    [Compression::None, Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd];

fn offset_at(log: &Log, timestamp_ms: i64) -> Option<(Offset, i64)> {
    let found = log.offset_for_timestamp(timestamp_ms, log.end()).unwrap();
    found.map(|found| (found.offset, found.timestamp_ms))
}

/// B15.
#[test]
fn a_time_between_records_finds_the_later_one() {
    let rig = Rig::new(|_| {});
    let log = rig.create();
    for timestamp in [2, 4, 6, 8] {
        put(&log, &batch_at(&[timestamp], Compression::None)).unwrap();
    }
    let found: Vec<_> = (2..=9).map(|timestamp| offset_at(&log, timestamp).map(|(offset, _)| offset)).collect();
    assert_eq!(found, [Some(0), Some(1), Some(1), Some(2), Some(2), Some(3), Some(3), None]);
}

/// B17.
#[test]
fn the_record_is_found_inside_its_batch_for_every_codec() {
    for codec in CODECS {
        let rig = Rig::new(|_| {});
        let log = rig.create();
        put(&log, &batch_at(&[10, 20, 30, 40], codec)).unwrap();
        put(&log, &batch_at(&[5, 50], codec)).unwrap();
        let found = [25, 35, 45, 51].map(|timestamp| offset_at(&log, timestamp));
        assert_eq!(found, [Some((2, 30)), Some((3, 40)), Some((5, 50)), None], "{codec:?}");
        assert_eq!(log.max_timestamp_offset(6).unwrap().unwrap().offset, 5, "{codec:?}");
    }
}

/// B19.
#[test]
fn broker_time_finds_the_first_record_of_the_batch() {
    let rig = Rig::new(|config| config.timestamp_type = TimestampType::LogAppendTime);
    let log = rig.create();
    put(&log, &batch_at(&[1; 10], Compression::None)).unwrap();
    put(&log, &batch_at(&[1; 10], Compression::Zstd)).unwrap();
    assert_eq!(offset_at(&log, NOW_MS), Some((0, NOW_MS)));
    assert_eq!(offset_at(&log, NOW_MS + 1), None);
    log.advance_start(3).unwrap();
    assert_eq!(offset_at(&log, NOW_MS), Some((3, NOW_MS)), "below the start nothing is found");
    log.advance_start(13).unwrap();
    assert_eq!(offset_at(&log, NOW_MS), Some((13, NOW_MS)));
}

/// B20.
#[test]
fn times_out_of_order_keep_the_maximum_through_rolls_and_restarts() {
    let rig = Rig::new(|config| {
        config.segment_bytes = 600;
        config.index_interval_bytes = 100;
    });
    let log = rig.create();
    let (late, early) = (NOW_MS, NOW_MS - 3_600_000);
    put(&log, &batch_at(&[late], Compression::None)).unwrap();
    for n in 0..20 {
        put(&log, &batch_at(&[early + n], Compression::None)).unwrap();
    }
    assert!(log.segment_count() > 2);
    for _ in 0..2 {
        assert_eq!(log.largest_timestamp().unwrap(), late);
        assert_eq!(offset_at(&log, early), Some((0, late)), "the first in offset order");
        assert_eq!(log.max_timestamp_offset(log.end()).unwrap().unwrap().offset, 0);
    }
    log.close().unwrap();
    let log = rig.open_clean();
    assert_eq!(log.largest_timestamp().unwrap(), late);
    log.truncate_to(10).unwrap();
    assert_eq!(log.largest_timestamp().unwrap(), late);
}

/// Trap 24.
#[test]
fn what_lies_at_or_above_the_bound_is_not_found() {
    let rig = Rig::new(|_| {});
    let log = rig.create();
    put(&log, &batch_at(&[10, 20], Compression::None)).unwrap();
    put(&log, &batch_at(&[30], Compression::None)).unwrap();
    assert_eq!(log.offset_for_timestamp(15, 1).unwrap(), None);
    assert_eq!(log.offset_for_timestamp(15, 2).unwrap().unwrap().offset, 1);
    assert_eq!(log.max_timestamp_offset(2).unwrap(), None);
    assert_eq!(log.max_timestamp_offset(3).unwrap().unwrap().timestamp_ms, 30);
}

#[test]
fn every_time_is_found_across_segments_as_a_walk_over_all_records_finds_it() {
    let rig = Rig::new(|config| {
        config.segment_bytes = 900;
        config.index_interval_bytes = 150;
    });
    let log = rig.create();
    let mut times = Vec::new();
    let mut seed = 12_345_u64;
    for _ in 0..80 {
        let batch: Vec<i64> = (0..3)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (seed >> 33) as i64 % 1000
            })
            .collect();
        put(&log, &batch_at(&batch, Compression::None)).unwrap();
        times.extend(batch);
    }
    for closed in [false, true] {
        let log = if closed {
            log.close().unwrap();
            rig.open_clean()
        } else {
            rig.open_dirty().0
        };
        for target in (0..1010).step_by(7) {
            let expected = times.iter().position(|time| *time >= target).map(|at| (at as i64, times[at]));
            assert_eq!(offset_at(&log, target), expected, "time {target}, after a clean stop: {closed}");
        }
    }
}

#[test]
fn an_empty_log_and_records_without_times_have_no_largest() {
    let rig = Rig::new(|_| {});
    let log = rig.create();
    assert_eq!((log.largest_timestamp().unwrap(), log.max_timestamp_offset(9).unwrap()), (-1, None));
    put(&log, &batch_at(&[-1, -1], Compression::None)).unwrap();
    assert_eq!((log.largest_timestamp().unwrap(), log.max_timestamp_offset(9).unwrap()), (-1, None));
}

#[test]
fn a_body_that_lies_is_answered_by_its_header() {
    let rig = Rig::new(|_| {});
    let log = rig.create();
    put(&log, &batch_at(&[10, 20], Compression::None)).unwrap();
    let mut lying = batch_at(&[30, 40], Compression::Gzip).to_vec();
    lying[65..75].fill(0x55);
    let checksum = ballast_wire::batch::view::checksum_of(&lying);
    lying[17..21].copy_from_slice(&checksum.to_be_bytes());
    put(&log, &lying.into()).unwrap();
    assert_eq!(offset_at(&log, 35), Some((2, 40)));
    assert_eq!(offset_at(&log, 15), Some((1, 20)));
}
