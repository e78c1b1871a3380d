//! Batches that bring their offsets and epochs along.

use ballast_wire::batch::view::stamp;
use ballast_wire::batch::{Compression, EndTxnMarker};

use super::*;
use crate::testing::{NOW_MS, Rig, batch, batch_at, put_in, sequenced, spans, valid};

/// A batch as a leader stored it.
fn stored(batch: &Bytes, base_offset: i64, epoch: i32) -> Bytes {
    let mut bytes = batch.to_vec();
    stamp(&mut bytes, base_offset, epoch);
    bytes.into()
}

fn concat(batches: &[Bytes]) -> Bytes {
    batches.iter().flat_map(|batch| batch.to_vec()).collect::<Vec<u8>>().into()
}

#[test]
fn a_followers_log_has_the_leaders_bytes() {
    let rig = Rig::new(|config| config.segment_bytes = 300);
    let log = rig.create();
    let fetched = concat(&[stored(&batch(2), 0, 1), stored(&sequenced(7, 0, 0, 3), 2, 1), stored(&batch(1), 5, 3)]);
    let appended = log.append_stamped(&fetched, NOW_MS).unwrap();
    assert_eq!((appended.base_offset, appended.last_offset, log.end()), (0, 5, 6));
    let mut read = Vec::new();
    let mut from = 0;
    while from < log.end() {
        let found = log.read(from, log.end(), 1, true).unwrap().records.unwrap().bytes().unwrap();
        from = BatchView::parse(&found).unwrap().last_offset() + 1;
        read.extend_from_slice(&found);
    }
    assert_eq!(read, fetched);
    assert_eq!(log.epoch_starts(), [(1, 0), (3, 5)]);
    assert_eq!(log.producers()[0].last_sequence, 2);
}

#[test]
fn a_batch_cut_off_at_the_end_is_left_for_the_next_fetch() {
    let rig = Rig::new(|_| {});
    let log = rig.create();
    let second = stored(&batch(2), 2, 0);
    let fetched = concat(&[stored(&batch(2), 0, 0), second.slice(..second.len() - 5)]);
    let appended = log.append_stamped(&fetched, NOW_MS).unwrap();
    assert_eq!((appended.last_offset, log.end()), (1, 2));
    let nothing = log.append_stamped(&second.slice(..30), NOW_MS).unwrap();
    assert!(nothing.last_offset < nothing.base_offset, "{nothing:?}");
    log.append_stamped(&second, NOW_MS).unwrap();
    assert_eq!(log.end(), 4);
}

#[test]
fn holes_are_kept_by_a_follower_and_refused_by_a_contiguous_log() {
    for contiguous in [false, true] {
        let rig = Rig::new(|config| config.contiguous = contiguous);
        let log = rig.create();
        let result = log.append_stamped(&concat(&[stored(&batch(1), 0, 0), stored(&batch(1), 9, 0)]), NOW_MS);
        if contiguous {
            let refused = result.unwrap_err();
            assert!(matches!(refused, AppendError::NotContinuous { base_offset: 9, end: 1 }), "{refused}");
            assert_eq!(log.end(), 1, "what came before is kept");
        } else {
            result.unwrap();
            assert_eq!(spans(&log, 0, 10), [(0, 0), (9, 9)]);
            assert_eq!(log.read(4, 10, 1, true).unwrap().base_offset, 9, "the next batch after the hole");
        }
    }
}

#[test]
fn damage_steps_back_in_offset_or_epoch_are_refused() {
    let rig = Rig::new(|_| {});
    let log = rig.create();
    put_in(&log, &batch(3), 4).unwrap();
    let mut rotten = stored(&batch(1), 3, 4).to_vec();
    rotten[70] ^= 1;
    let refused = log.append_stamped(&rotten.into(), NOW_MS).unwrap_err();
    assert!(matches!(refused, AppendError::Corrupt(BatchError::Checksum { .. })), "{refused}");
    let refused = log.append_stamped(&stored(&batch(1), 2, 4), NOW_MS).unwrap_err();
    assert!(matches!(refused, AppendError::NotContinuous { base_offset: 2, end: 3 }), "{refused}");
    let refused = log.append_stamped(&stored(&batch(1), 3, 3), NOW_MS).unwrap_err();
    assert!(matches!(refused, AppendError::StaleEpoch { given: 3, ours: 4 }), "{refused}");
    assert_eq!(log.end(), 3);
}

#[test]
fn what_a_former_leader_left_in_the_queue_is_dropped() {
    let rig = Rig::new(|_| {});
    let log = rig.create();
    log.append(valid(&log, &sequenced(7, 0, 0, 1)).unwrap(), 0, NOW_MS).unwrap();
    log.append_stamped(&stored(&batch(2), 0, 1), NOW_MS).unwrap();
    assert_eq!((log.end(), log.producers().len()), (2, 0));
}

#[test]
fn offsets_too_far_apart_begin_a_segment_of_their_own() {
    let rig = Rig::new(|config| config.cleanup.compact = true);
    let log = rig.create();
    let far = 5_000_000_000;
    log.append_stamped(&concat(&[stored(&batch(2), 0, 0), stored(&batch(2), far, 0)]), NOW_MS).unwrap();
    log.append_stamped(&stored(&batch(2), far + 2, 0), NOW_MS).unwrap();
    let expected = [(0, 1), (far, far + 1), (far + 2, far + 3)];
    assert_eq!(spans(&log, 0, log.end()), expected);
    assert_eq!(log.active_segment_base(), far);
    drop(log);
    let (log, report) = rig.open_dirty();
    assert_eq!((report.cut, spans(&log, 0, log.end())), (None, expected.to_vec()));
}

/// kafka.md §4.5, kafka-4.4/disk.md §4.
#[test]
fn aborted_transactions_are_found_before_and_after_a_crash() {
    let rig = Rig::new(|_| {});
    let log = rig.create();
    let transactional = |producer, base_offset| {
        let mut builder =
            ballast_wire::batch::BatchBuilder::new(Compression::None).producer(producer, 0, 0).transactional();
        builder.push(NOW_MS, None, Some(b"x"), &[]);
        stored(&builder.finish(), base_offset, 0)
    };
    let marker = |producer_id, committed, base_offset| {
        let marker =
            EndTxnMarker { producer_id, producer_epoch: 0, committed, coordinator_epoch: 1, timestamp: NOW_MS };
        marker.batch(base_offset, 0)
    };
    log.append_stamped(&stored(&batch_at(&vec![NOW_MS; 34], Compression::None), 0, 0), NOW_MS).unwrap();
    log.append_stamped(&concat(&[transactional(3, 34), transactional(9, 35)]), NOW_MS).unwrap();
    assert_eq!(log.last_stable_offset(36), 34);
    log.append_stamped(&marker(9, false, 36), NOW_MS).unwrap();
    log.append_stamped(&marker(3, true, 37), NOW_MS).unwrap();
    assert_eq!(log.last_stable_offset(37), 34, "the marker at 37 is not yet below the watermark");
    assert_eq!(log.last_stable_offset(38), 38);
    let aborted = [crate::AbortedTxn { producer_id: 9, first_offset: 35, last_offset: 36, last_stable_offset: 34 }];
    for _ in 0..2 {
        assert_eq!(log.aborted_transactions(0, 38).unwrap(), aborted);
        assert_eq!(log.aborted_transactions(37, 38).unwrap(), []);
        assert_eq!(log.aborted_transactions(0, 35).unwrap(), [], "it begins at the bound");
    }
    drop(log);
    let (log, _) = rig.open_dirty();
    assert_eq!(log.aborted_transactions(0, 38).unwrap(), aborted);
    log.close().unwrap();
    assert_eq!(rig.bytes_of("00000000000000000000.txnindex").len(), 34);
    assert_eq!(rig.open_clean().aborted_transactions(0, 38).unwrap(), aborted);
}
