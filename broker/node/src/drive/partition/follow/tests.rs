//! A follower's log, driven as a fetcher drives it.

use std::sync::Arc;

use ballast_core::replica::{LeaderConfig, LeaderState};
use ballast_log::disk::{Disk, RealDisk};
use ballast_log::{Log, LogConfig};
use ballast_wire::Uuid;
use ballast_wire::batch::view::stamp;
use ballast_wire::batch::{BatchBuilder, Compression};
use ballast_wire::fetch::EpochEnd as Parted;
use tempfile::TempDir;

use super::*;
use crate::drive::partition::{Place, Refused};
use crate::drive::proposals::Proposals;

const NOW: Tick = 1_000;
const NOW_MS: i64 = 1_800_000_000_000;
const LEADER: BrokerId = 2;

/// Follows broker 2 in epoch 5.
fn following(folder: &TempDir, durable: bool) -> Arc<Partition> {
    let disk: Arc<dyn Disk> = RealDisk::ephemeral();
    let config = LogConfig { flush_messages: if durable { 1 } else { i64::MAX }, ..LogConfig::default() };
    let log = Log::create(Arc::clone(&disk), folder.path().join("t-0"), Arc::new(config), 0, NOW_MS).unwrap();
    let place = Place { topic: "t".into(), topic_id: Uuid([1; 16]), index: 0, directory: Uuid([2; 16]) };
    let partition = Arc::new(Partition::new(place, log, disk, 0, Proposals::channel().0));
    follow(&partition, 5, durable);
    partition
}

fn follow(partition: &Partition, leader_epoch: LeaderEpoch, durable: bool) {
    let hint = LeaderHint { leader: LEADER, leader_epoch };
    partition.follow(hint, FollowerConfig { durable, backoff_ms: 1_000 }, NOW);
}

fn question(partition: &Partition) -> FetchRequest {
    match partition.next(LEADER, NOW) {
        Next::Fetch(question) => question,
        other => panic!("a fetch is due, not {other:?}"),
    }
}

/// A batch of one record at `offset`, written by a leader in `epoch`.
fn batch(offset: Offset, epoch: LeaderEpoch) -> Vec<u8> {
    let mut builder = BatchBuilder::new(Compression::None);
    builder.push(NOW_MS, None, Some(b"value"), &[]);
    let mut bytes = builder.finish().to_vec();
    stamp(&mut bytes, offset, epoch);
    bytes
}

fn row(batches: &[Vec<u8>], high: Offset) -> FetchedPartition<Bytes> {
    let records = batches.concat().into();
    FetchedPartition { high_watermark: high, log_start_offset: 0, records, ..FetchedPartition::failed(0, 0) }
}

fn answer(partition: &Partition, row: FetchedPartition<Bytes>) -> Next {
    let ticket = question(partition).ticket;
    partition.fetched(ticket, Fetched::Row(row), NOW);
    partition.next(LEADER, NOW)
}

/// Appends offsets `from..to` of `epoch`.
fn take(partition: &Arc<Partition>, from: Offset, to: Offset, epoch: LeaderEpoch, high: Offset) {
    let batches: Vec<Vec<u8>> = (from..to).map(|offset| batch(offset, epoch)).collect();
    assert_eq!(answer(partition, row(&batches, high)), Next::Change(Change::Append));
    assert_eq!(partition.append_fetched(NOW_MS, NOW), batches.concat().len());
}

#[test]
fn a_question_says_which_watermark_the_follower_has() {
    let folder = TempDir::new().unwrap();
    let partition = following(&folder, false);
    assert_eq!(question(&partition).high, 0);
    // Asked again after a leader that had nothing to say.
    follow(&partition, 6, false);
    assert_eq!(answer(&partition, row(&[batch(0, 6)], 0)), Next::Change(Change::Append));
    partition.append_fetched(NOW_MS, NOW);
    let asked = question(&partition);
    assert_eq!((asked.offset, asked.high), (1, 0), "the leader had committed nothing");
    partition.fetched(asked.ticket, Fetched::Row(row(&[], 1)), NOW);
    let asked = question(&partition);
    assert_eq!((asked.offset, asked.high), (1, 1), "an answer without records tells it");
}

#[test]
fn what_the_leader_has_is_appended_as_it_is_and_shown_up_to_its_watermark() {
    let folder = tempfile::tempdir().unwrap();
    let partition = following(&folder, false);
    take(&partition, 0, 3, 4, 2);
    assert_eq!((partition.log.end(), partition.high(), partition.lag()), (3, 2, Some(0)));
    let asked = question(&partition);
    assert_eq!((asked.offset, asked.last_fetched_epoch, asked.leader_epoch), (3, 4, 5));
    partition.fetched(asked.ticket, Fetched::Row(row(&[], 9)), NOW);
    assert_eq!((partition.high(), partition.lag()), (3, Some(6)), "as far as the log goes");
    assert!(matches!(partition.check_leader(5), Err(Refused::NotLeader(hint)) if hint.leader == LEADER));
}

#[test]
fn a_tail_that_has_parted_is_cut_where_the_leader_says_and_not_at_the_watermark() {
    let folder = tempfile::tempdir().unwrap();
    let partition = following(&folder, false);
    take(&partition, 0, 4, 3, 1);
    let mut parted = row(&[], 1);
    parted.diverging_epoch = Some(Parted { epoch: 3, end_offset: 2 });
    assert_eq!(answer(&partition, parted), Next::Change(Change::Cut));
    partition.cut(NOW_MS, NOW).unwrap();
    partition.settle(NOW);
    assert_eq!((partition.log.end(), partition.high()), (2, 1));
    take(&partition, 2, 4, 5, 4);
    assert_eq!(partition.log.epoch_starts(), [(3, 0), (5, 2)]);
}

#[test]
fn a_cut_below_the_recovery_point_owes_the_checkpoint_before_anything_else() {
    let folder = tempfile::tempdir().unwrap();
    let partition = following(&folder, false);
    take(&partition, 0, 4, 3, 1);
    assert_eq!(partition.log.sync(NOW_MS).unwrap(), 4);
    let mut parted = row(&[], 1);
    parted.diverging_epoch = Some(Parted { epoch: 3, end_offset: 2 });
    answer(&partition, parted);
    partition.cut(NOW_MS, NOW).unwrap();
    assert!(partition.owes_checkpoint(), "after a crash, 4 would be believed");
    assert_eq!(partition.next(LEADER, NOW), Next::Wait(None), "nothing is fetched meanwhile");
    partition.checkpoint_begins();
    partition.settle(NOW);
    take(&partition, 2, 3, 5, 3);
}

#[test]
fn an_unclean_leader_takes_the_watermark_back_with_the_records() {
    let folder = tempfile::tempdir().unwrap();
    let partition = following(&folder, false);
    take(&partition, 0, 4, 3, 4);
    let mut parted = row(&[], 1);
    parted.diverging_epoch = Some(Parted { epoch: 3, end_offset: 2 });
    answer(&partition, parted);
    partition.cut(NOW_MS, NOW).unwrap();
    assert!(partition.high() <= partition.log.end(), "readers never see a watermark without records");
    partition.settle(NOW);
    assert_eq!(partition.high(), 2);
}

#[test]
fn at_d2_nothing_is_fetched_before_the_sync() {
    let folder = tempfile::tempdir().unwrap();
    let partition = following(&folder, true);
    take(&partition, 0, 2, 4, 2);
    assert_eq!(partition.next(LEADER, NOW), Next::Change(Change::Sync));
    partition.log.sync(NOW_MS).unwrap();
    partition.synced(NOW);
    assert_eq!(question(&partition).offset, 2);
}

#[test]
fn who_begins_to_lead_does_not_do_what_the_former_leader_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let partition = following(&folder, false);
    let pending = answer(&partition, row(&[batch(0, 5)], 1));
    assert_eq!(pending, Next::Change(Change::Append));
    partition.stop_following();
    let state = LeaderState { leader_epoch: 6, partition_epoch: 7, replicas: vec![1, 2], isr: vec![1] };
    partition.lead(1, state, LeaderConfig { min_isr: 1, durable: false, lag_max_ms: 10_000 }, NOW).unwrap();
    assert_eq!(partition.append_fetched(NOW_MS, NOW), 0);
    assert_eq!((partition.log.end(), partition.next(LEADER, NOW)), (0, Next::Gone));
    follow(&partition, 7, false);
    assert_eq!(question(&partition).offset, 0);
}

#[test]
fn a_batch_with_a_wrong_checksum_is_not_taken_and_what_stands_before_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let partition = following(&folder, false);
    let mut rotten = batch(1, 4);
    *rotten.last_mut().unwrap() ^= 1;
    answer(&partition, row(&[batch(0, 4), rotten], 2));
    partition.append_fetched(NOW_MS, NOW);
    assert_eq!(partition.log.end(), 1);
    assert_eq!(partition.next(LEADER, NOW), Next::Wait(Some(NOW + 1_000)));
    let Next::Fetch(again) = partition.next(LEADER, NOW + 1_000) else { panic!("it asks again") };
    assert_eq!(again.offset, 1);
}
