//! Appending: sequences, offsets, the queue, and writes that fail.

use super::*;
use crate::config::LogConfig;
use crate::testing::{NOW_MS, Rig, batch, batch_at, put, put_in, sequenced, spans, valid};
use ballast_wire::batch::{BatchView, Compression, TimestampType};

#[test]
fn offsets_follow_one_another_and_batches_read_back_as_sent_but_for_the_stamp() {
    let rig = Rig::new(|_| {});
    let log = rig.create();
    let sent = batch(3);
    let first = put_in(&log, &sent, 4).unwrap();
    let second = put_in(&log, &batch(2), 4).unwrap();
    assert_eq!((first.base_offset, first.last_offset, first.log_append_time_ms), (0, 2, -1));
    assert_eq!((second.base_offset, second.last_offset, log.end()), (3, 4, 5));

    let read = log.read(0, log.end(), sent.len(), true).unwrap();
    let stored = read.records.unwrap().bytes().unwrap();
    let view = BatchView::parse(&stored).unwrap();
    view.verify_checksum().unwrap();
    assert_eq!((view.base_offset(), view.leader_epoch()), (0, 4));
    assert_eq!(stored[16..], sent[16..]);
    assert_eq!(log.latest_epoch(), Some(4));
    assert_eq!(rig.bytes_of("leader-epoch-checkpoint"), b"0\n1\n4 0\n");
}

#[test]
fn what_is_queued_is_not_readable_until_it_is_drained() {
    let rig = Rig::new(|_| {});
    let log = rig.create();
    let appended = log.append(valid(&log, &batch(2)).unwrap(), 0, NOW_MS).unwrap();
    assert_eq!((appended.base_offset, log.end()), (0, 0));
    assert!(log.read(0, 10, 1000, true).unwrap().is_empty());
    let Drained::Done { end, more, failed } = log.drain(Budget::Rounds(1)) else { panic!("nobody else drains") };
    assert_eq!((end, more, failed.is_none()), (2, false, true));
    assert_eq!(spans(&log, 0, 2), [(0, 1)]);
}

#[test]
fn one_drain_writes_for_everybody_and_a_budget_ends_it() {
    let rig = Rig::new(|_| {});
    let log = rig.create();
    for _ in 0..3 {
        log.append(valid(&log, &batch(1)).unwrap(), 0, NOW_MS).unwrap();
    }
    let Drained::Done { end, more, .. } = log.drain(Budget::Rounds(0)) else { panic!("nobody else drains") };
    assert_eq!((end, more), (0, true), "no rounds, nothing written, and it says so");
    let Drained::Done { end, more, .. } = log.drain(Budget::Through(0)) else { panic!("nobody else drains") };
    assert_eq!((end, more), (3, false), "a round takes all that is queued");
}

/// Traps 14, B38.
#[test]
fn a_resent_batch_is_answered_with_its_original_offsets_and_not_written_again() {
    let rig = Rig::new(|_| {});
    let log = rig.create();
    put(&log, &batch(5)).unwrap();
    let original = put(&log, &sequenced(7, 0, 0, 3)).unwrap();
    let again = log.append(valid(&log, &sequenced(7, 0, 0, 3)).unwrap(), 0, NOW_MS).unwrap();
    assert!(again.duplicate);
    assert_eq!((again.base_offset, again.last_offset), (original.base_offset, original.last_offset));
    assert_eq!(log.end(), 8);
    let gap = put(&log, &sequenced(7, 0, 9, 1)).unwrap_err();
    assert!(matches!(gap, AppendError::OutOfOrderSequence { producer: 7, expected: 3, got: 9 }), "{gap}");
}

#[test]
fn a_duplicate_of_a_queued_batch_waits_for_the_original() {
    let rig = Rig::new(|_| {});
    let log = rig.create();
    log.append(valid(&log, &sequenced(7, 0, 0, 3)).unwrap(), 0, NOW_MS).unwrap();
    let again = log.append(valid(&log, &sequenced(7, 0, 0, 3)).unwrap(), 0, NOW_MS).unwrap();
    assert!(again.duplicate && again.last_offset >= log.end(), "not written yet: {again:?}");
    log.drain(Budget::Through(again.last_offset));
    assert_eq!(log.end(), 3);
}

#[test]
fn a_leader_that_is_behind_may_not_append() {
    let rig = Rig::new(|_| {});
    let log = rig.create();
    put_in(&log, &batch(1), 5).unwrap();
    let stale = put_in(&log, &batch(1), 4).unwrap_err();
    assert!(matches!(stale, AppendError::StaleEpoch { given: 4, ours: 5 }), "{stale}");
}

/// Traps 9 and 10.
#[test]
fn broker_time_rewrites_the_header_and_is_told() {
    let rig = Rig::new(|config| config.timestamp_type = TimestampType::LogAppendTime);
    let log = rig.create();
    let sent = batch_at(&[5, 6], Compression::Lz4);
    let appended = put(&log, &sent).unwrap();
    assert_eq!(appended.log_append_time_ms, NOW_MS);
    let stored = log.read(0, 2, 1 << 20, true).unwrap().records.unwrap().bytes().unwrap();
    let view = BatchView::parse(&stored).unwrap();
    view.verify_checksum().unwrap();
    assert_eq!((view.max_timestamp(), view.base_timestamp()), (NOW_MS, 5));
    assert_eq!(view.attributes().timestamp_type(), TimestampType::LogAppendTime);
    assert_eq!(view.body(), BatchView::parse(&sent).unwrap().body());
}

#[test]
fn many_threads_append_and_every_batch_is_there_once() {
    let rig = Rig::new(|config| config.segment_bytes = 20_000);
    let log = rig.create();
    std::thread::scope(|scope| {
        for producer in 0..4 {
            let log = &log;
            scope.spawn(move || {
                for n in 0..200 {
                    let batch = valid(log, &sequenced(producer, 0, n * 2, 2)).unwrap();
                    let appended = log.append(batch, 0, NOW_MS).unwrap();
                    while log.end() <= appended.last_offset {
                        log.drain(Budget::Through(appended.last_offset));
                    }
                }
            });
        }
        let log = &log;
        scope.spawn(move || {
            while log.end() < 1600 {
                let end = log.end();
                let spans = spans(log, (end - 40).max(0), end);
                assert!(spans.windows(2).all(|pair| pair[0].1 + 1 == pair[1].0), "{spans:?}");
            }
        });
    });
    assert_eq!(log.end(), 1600);
    let spans = spans(&log, 0, 1600);
    assert_eq!(spans.len(), 800);
    assert!(log.segment_count() > 3);
    assert!(log.producers().iter().all(|producer| producer.last_sequence == 399), "{:?}", log.producers());
}

/// kafka-4.4/disk.md §4, the rule by example.
#[test]
fn time_index_entries_are_those_of_apache_kafka() {
    let rig = Rig::new(|config| config.index_interval_bytes = 1);
    let log = rig.create();
    for timestamps in
        [&[100][..], &[300], &[200], &[400], &[400], &[350], &[500], &[700, 900, 800], &[600]].map(<[i64]>::to_vec)
    {
        let batch = valid(&log, &batch_at(&timestamps, Compression::None)).unwrap();
        let appended = log.append(batch, 0, NOW_MS).unwrap();
        log.drain(Budget::Through(appended.last_offset));
    }
    log.close().unwrap();
    let times = rig.bytes_of("00000000000000000000.timeindex");
    let entry = |n: usize| {
        let at = n * 12;
        let timestamp = i64::from_be_bytes(times[at..at + 8].try_into().unwrap());
        (timestamp, i32::from_be_bytes(times[at + 8..at + 12].try_into().unwrap()))
    };
    let entries: Vec<_> = (0..times.len() / 12).map(entry).collect();
    assert_eq!(entries, [(300, 1), (400, 3), (500, 6), (900, 9)]);
    let offsets = rig.bytes_of("00000000000000000000.index");
    let offset = |n: usize| i32::from_be_bytes(offsets[n * 8..n * 8 + 4].try_into().unwrap());
    let offsets: Vec<_> = (0..offsets.len() / 8).map(offset).collect();
    assert_eq!(offsets, [1, 2, 3, 4, 5, 6, 9, 10]);
}

#[test]
fn defaults_are_apache_kafkas() {
    let config = LogConfig::default();
    assert_eq!((config.segment_bytes, config.index_interval_bytes), (1 << 30, 4096));
    assert_eq!((config.max_message_bytes, config.retention_ms), (1_048_588, 604_800_000));
}
