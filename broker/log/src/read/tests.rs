//! What a read gives: whole batches, bounds, sizes.

use super::*;
use crate::testing::{Rig, batch, put, spans};
use ballast_wire::batch::BatchView;

fn log_of(batches: usize, records: usize) -> (Rig, Log, usize) {
    let rig = Rig::new(|config| {
        config.segment_bytes = 2000;
        config.index_interval_bytes = 300;
    });
    let log = rig.create();
    for _ in 0..batches {
        put(&log, &batch(records)).unwrap();
    }
    (rig, log, batch(records).len())
}

/// B12, trap 19.
#[test]
fn an_offset_inside_a_batch_gives_the_whole_batch() {
    let (_rig, log, _) = log_of(2, 2);
    for (from, base) in [(0, 0), (1, 0), (2, 2), (3, 2)] {
        let read = log.read(from, log.end(), 1 << 20, true).unwrap();
        assert_eq!(read.base_offset, base, "from {from}");
        assert_eq!(BatchView::parse(&read.records.unwrap().bytes().unwrap()).unwrap().base_offset(), base);
    }
}

/// Trap 18.
#[test]
fn a_limit_below_the_first_batch_gives_that_batch_alone_or_nothing() {
    let (_rig, log, size) = log_of(5, 2);
    assert_eq!(log.read(0, log.end(), 1, true).unwrap().len(), size);
    assert_eq!(log.read(0, log.end(), 0, true).unwrap().len(), size);
    let nothing = log.read(0, log.end(), size - 1, false).unwrap();
    assert!(nothing.is_empty(), "never a fragment");
    assert_eq!(log.read(0, log.end(), size, false).unwrap().len(), size);
}

#[test]
fn the_limit_may_cut_a_later_batch() {
    let (_rig, log, size) = log_of(5, 2);
    assert_eq!(log.read(0, log.end(), size * 2 + 7, true).unwrap().len(), size * 2 + 7);
}

#[test]
fn no_batch_that_reaches_the_bound_is_read() {
    let (_rig, log, size) = log_of(5, 2);
    assert_eq!(log.read(0, 4, 1 << 20, true).unwrap().len(), size * 2);
    assert_eq!(log.read(0, 5, 1 << 20, true).unwrap().len(), size * 2, "the bound lies inside the third batch");
    assert!(log.read(0, 1, 1 << 20, true).unwrap().is_empty(), "and here inside the first");
    assert!(log.read(4, 4, 1 << 20, true).unwrap().is_empty());
    assert!(log.read(8, 4, 1 << 20, true).unwrap().is_empty(), "between the bound and the end");
}

#[test]
fn offsets_outside_of_the_log_are_refused_with_its_range() {
    let (_rig, log, _) = log_of(5, 2);
    log.advance_start(4).unwrap();
    for from in [3, 11, -1, i64::MAX] {
        let refused = log.read(from, log.end(), 1000, true).unwrap_err();
        assert!(matches!(refused, ReadError::OutOfRange { offset, start: 4, end: 10 } if offset == from), "{refused}");
    }
    assert!(log.read(10, log.end(), 1000, true).unwrap().is_empty(), "the end itself is fine");
}

#[test]
fn every_offset_is_found_in_every_segment() {
    let (_rig, log, _) = log_of(60, 3);
    assert!(log.segment_count() > 4);
    for from in 0..log.end() {
        let read = log.read(from, log.end(), 1, true).unwrap();
        assert_eq!(read.base_offset, from - from % 3);
    }
    assert_eq!(spans(&log, 0, log.end()).len(), 60);
}

#[test]
fn a_read_ends_with_its_segment_and_says_that_more_follows() {
    let (_rig, log, _) = log_of(60, 3);
    let read = log.read(0, log.end(), 1 << 20, true).unwrap();
    let segment = log.published().segments[0].bytes();
    assert_eq!((read.len() as u64, read.more_segments), (segment, true));
    let last = log.read(log.active_segment_base(), log.end(), 1 << 20, true).unwrap();
    assert!(!last.more_segments);
}

#[test]
fn what_was_read_stays_readable_when_the_log_is_cut_and_written_over() {
    let (_rig, log, size) = log_of(5, 2);
    let held = log.read(0, log.end(), 1 << 20, true).unwrap().records.unwrap();
    let before = held.bytes().unwrap().to_vec();
    assert_eq!(log.truncate_to(4).unwrap(), 4);
    put(&log, &batch(7)).unwrap();
    assert_eq!(held.bytes().unwrap(), before);
    assert_eq!(spans(&log, 0, log.end()), [(0, 1), (2, 3), (4, 10)]);
    assert_eq!(before.len(), size * 5);
}

#[test]
fn a_wrong_index_entry_costs_time_but_no_batch() {
    let (rig, log, _) = log_of(60, 3);
    log.close().unwrap();
    let log = rig.open_clean();
    let name = format!("{:020}.index", log.published().segments[1].base);
    let mut index = rig.bytes_of(&name);
    assert!(index.len() >= 24);
    // Not the last entry: that one is looked at when the log is opened.
    index[5..8].copy_from_slice(&[0, 1, 1]);
    std::fs::write(rig.dir().join(&name), &index).unwrap();
    let log = rig.open_clean();
    for from in 0..log.end() {
        assert_eq!(log.read(from, log.end(), 1, true).unwrap().base_offset, from - from % 3);
    }
}

#[test]
fn a_read_can_be_warmed_and_asked_for() {
    let (_rig, log, _) = log_of(60, 3);
    log.warm(10, 1000).unwrap();
    assert!(log.is_resident(10, 1000));
    assert!(log.is_resident(log.end(), 1000));
}

/// What the log remembers of its last writes is what a walk through the segment finds.
#[test]
fn a_read_at_the_end_gives_what_a_log_gives_that_was_just_opened() {
    let (rig, log, _) = log_of(23, 3);
    let read = |log: &Log, from, bound, room| {
        let read = log.read(from, bound, room, true).unwrap();
        (read.base_offset, read.more_segments, read.records.map(|records| records.bytes().unwrap()))
    };
    let places: Vec<_> = (log.start()..log.end())
        .flat_map(|from| [log.end(), log.end() - 3].map(|bound| (from, bound)))
        .flat_map(|(from, bound)| [1, 250, 1 << 20].map(|room| (from, bound, room)))
        .collect();
    let written: Vec<_> = places.iter().map(|(from, bound, room)| read(&log, *from, *bound, *room)).collect();
    drop(log);
    let (opened, _) = rig.open_dirty();
    for ((from, bound, room), written) in places.into_iter().zip(written) {
        assert_eq!(read(&opened, from, bound, room), written, "from {from}, bound {bound}, room {room}");
    }
}
