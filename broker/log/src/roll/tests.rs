//! When a segment is sealed, and what lies on disk then.

use ballast_wire::batch::Compression;

use crate::config::LogConfig;
use crate::log::Log;
use crate::testing::{NOW_MS, Rig, batch, batch_at, put, sequenced, spans};

fn bases(log: &Log) -> Vec<i64> {
    log.published().segments.iter().map(|segment| segment.base).collect()
}

#[test]
fn a_segment_is_sealed_before_it_would_be_too_large() {
    let size = batch(2).len() as u64;
    let rig = Rig::new(|config| config.segment_bytes = size * 3);
    let log = rig.create();
    for _ in 0..7 {
        put(&log, &batch(2)).unwrap();
    }
    assert_eq!(bases(&log), [0, 6, 12]);
    assert_eq!(log.size_bytes(), size * 7);
}

#[test]
fn a_segment_is_sealed_by_the_age_of_its_records() {
    let rig = Rig::new(|config| config.segment_ms = 1000);
    let log = rig.create();
    for (timestamp, expected) in [(0, 1), (1000, 1), (1001, 2), (1500, 2), (2001, 2), (2002, 3)] {
        put(&log, &batch_at(&[NOW_MS - 5000 + timestamp], Compression::None)).unwrap();
        assert_eq!(log.segment_count(), expected, "after {timestamp}");
    }
}

#[test]
fn the_age_is_known_after_a_restart() {
    let rig = Rig::new(|config| config.segment_ms = 1000);
    let log = rig.create();
    put(&log, &batch_at(&[NOW_MS - 5000], Compression::None)).unwrap();
    log.close().unwrap();
    let log = rig.open_clean();
    put(&log, &batch_at(&[NOW_MS - 3999], Compression::None)).unwrap();
    assert_eq!(log.segment_count(), 2);
}

#[test]
fn records_without_times_are_aged_by_the_clock() {
    let rig = Rig::new(|config| config.segment_ms = 1000);
    let log = rig.create();
    let append = |now_ms| {
        let origin = crate::Origin::Client { produce_version: 12, transactions_v2: false };
        let valid = crate::validate(&batch_at(&[-1], Compression::None), &log.config(), origin, now_ms).unwrap();
        let appended = log.append(valid, 0, now_ms).unwrap();
        log.drain(crate::Budget::Through(appended.last_offset));
    };
    append(NOW_MS);
    append(NOW_MS + 1000);
    assert_eq!(log.segment_count(), 1);
    append(NOW_MS + 1001);
    assert_eq!(log.segment_count(), 2);
}

#[test]
fn jitter_seals_logs_of_one_age_at_different_times() {
    let rolled_at = |jitter: i64| {
        let rig = Rig::new(|config| {
            config.segment_ms = 100_000;
            config.segment_jitter_ms = jitter;
        });
        let log = rig.create();
        (0..=100_001).step_by(500).find(|age| {
            put(&log, &batch_at(&[NOW_MS - 200_000 + age], Compression::None)).unwrap();
            log.segment_count() == 2
        })
    };
    let without: Vec<_> = (0..3).map(|_| rolled_at(0)).collect();
    assert_eq!(without, [None; 3]);
    let with: Vec<_> = (0..4).filter_map(|_| rolled_at(90_000)).collect();
    assert!(with.windows(2).any(|pair| pair[0] != pair[1]), "folders have different names: {with:?}");
}

#[test]
fn a_full_index_seals_the_segment() {
    let rig = Rig::new(|config| {
        config.index_interval_bytes = 1;
        config.segment_index_bytes = 8 * 8;
    });
    let log = rig.create();
    for _ in 0..12 {
        put(&log, &batch(1)).unwrap();
    }
    assert_eq!(bases(&log), [0, 9], "eight entries, and the first batch has none");
}

#[test]
fn rolling_by_hand_seals_what_is_there_and_nothing_else() {
    let rig = Rig::new(|_| {});
    let log = rig.create();
    log.roll(NOW_MS).unwrap();
    assert_eq!(bases(&log), [0], "an empty segment is not sealed");
    put(&log, &batch(3)).unwrap();
    log.roll(NOW_MS).unwrap();
    log.roll(NOW_MS).unwrap();
    assert_eq!(bases(&log), [0, 3]);
    assert_eq!(put(&log, &batch(1)).unwrap().base_offset, 3);
}

#[test]
fn a_rolled_segment_has_its_files_and_the_new_one_its_snapshot() {
    let rig = Rig::new(|_| {});
    let log = rig.create();
    put(&log, &sequenced(7, 0, 0, 3)).unwrap();
    log.roll(NOW_MS).unwrap();
    assert_eq!(
        rig.names(),
        [
            "00000000000000000000.index",
            "00000000000000000000.log",
            "00000000000000000000.timeindex",
            "00000000000000000003.log",
            "00000000000000000003.snapshot",
            "leader-epoch-checkpoint"
        ]
    );
    assert_eq!(rig.bytes_of("00000000000000000003.snapshot").len(), 56);
    assert_eq!(rig.bytes_of("00000000000000000000.timeindex").len(), 12);
}

#[test]
fn a_snapshot_has_only_what_was_written_before_it() {
    let rig = Rig::new(|config| config.segment_bytes = 400);
    let log = rig.create();
    for n in 0..12 {
        let valid = crate::testing::valid(&log, &sequenced(n % 3, 0, (n / 3) as i32, 1)).unwrap();
        log.append(valid, 0, NOW_MS).unwrap();
    }
    // One drain writes all of it, rolling on the way while later batches were judged already.
    log.drain(crate::Budget::Rounds(1));
    let producers = log.producers();
    assert!(log.segment_count() > 2);
    for base in &bases(&log)[1..] {
        let snapshot = crate::producer::snapshot::decode(&rig.bytes_of(&format!("{base:020}.snapshot"))).unwrap();
        let newest =
            snapshot.entries().iter().filter_map(|(_, producer)| producer.last()).map(|last| last.last_offset).max();
        assert_eq!(newest, Some(base - 1), "the snapshot before {base}");
    }
    drop(log);
    let (log, _) = rig.open_dirty();
    assert_eq!(log.producers(), producers);
    assert_eq!(spans(&log, 0, 12).len(), 12);
}

#[test]
fn settings_can_be_changed_while_the_log_is_open() {
    let rig = Rig::new(|_| {});
    let log = rig.create();
    put(&log, &batch(1)).unwrap();
    put(&log, &batch(1)).unwrap();
    let segment_bytes = batch(1).len() as u64 * 3;
    log.update_config(LogConfig { segment_bytes, ..LogConfig::default() }.into());
    put(&log, &batch(1)).unwrap();
    put(&log, &batch(1)).unwrap();
    assert_eq!(bases(&log), [0, 3]);
}
