//! Leadership that changes while produces wait, and what a leader learns from its followers.

use ballast_core::machine::Tick;
use ballast_core::replica::{Input, LeaderConfig, LeaderState};
use ballast_log::disk::RealDisk;
use ballast_log::{AppendError, LogConfig, Origin, ValidBatch, validate};
use ballast_wire::batch::{BatchBuilder, Compression};
use tempfile::TempDir;

use super::*;
use crate::drive::proposals::Wishes;
use crate::drive::waiters::{Kept, ProduceWait, Until};

const NOW: Tick = 1_000;
const NOW_MS: i64 = 1_800_000_000_000;

/// Led by broker 1 with broker 2 in the ISR, which fetches nothing: what is produced is published and not committed.
fn led(folder: &TempDir) -> (Arc<Partition>, Wishes) {
    let disk: Arc<dyn Disk> = RealDisk::ephemeral();
    let config = Arc::new(LogConfig::default());
    let log = Log::create(Arc::clone(&disk), folder.path().join("t-0"), config, 0, NOW_MS).unwrap();
    let place = Place { topic: "t".into(), topic_id: Uuid([1; 16]), index: 0, directory: Uuid([2; 16]) };
    let (proposals, wishes) = Proposals::channel();
    let partition = Arc::new(Partition::new(place, log, disk, 0, proposals));
    let state = LeaderState { leader_epoch: 3, partition_epoch: 7, replicas: vec![1, 2], isr: vec![1, 2] };
    partition.lead(1, state, LeaderConfig { min_isr: 1, durable: false, lag_max_ms: 10_000 }, NOW).unwrap();
    (partition, wishes)
}

fn batch() -> ValidBatch {
    let mut builder = BatchBuilder::new(Compression::None);
    builder.push(NOW_MS, None, Some(b"value"), &[]);
    let origin = Origin::Client { produce_version: 9, transactions_v2: false };
    validate(&builder.finish(), &LogConfig::default(), origin, NOW_MS).unwrap()
}

fn produce(partition: &Arc<Partition>, until: Until) -> ProduceWait {
    let produced = partition.enqueue(batch(), until, NOW_MS).unwrap();
    partition.write(&produced.appended, NOW_MS, NOW);
    produced.wait
}

#[test]
fn who_waits_for_replicas_is_sent_to_the_next_leader_when_this_one_resigns() {
    let folder = tempfile::tempdir().unwrap();
    let (partition, _wishes) = led(&folder);
    let mut waits = [produce(&partition, Until::Committed), produce(&partition, Until::Committed)];
    assert!(waits.iter_mut().all(|wait| wait.try_recv().is_err()), "broker 2 has fetched nothing");
    let hint = LeaderHint { leader: 2, leader_epoch: 4 };
    partition.resign(hint);
    for wait in &mut waits {
        assert!(matches!(wait.try_recv(), Ok(Err(AppendError::Dropped))));
    }
    // The next leader has none of it: the log is cut, and nobody is waiting for what it loses.
    assert_eq!(partition.log.truncate_to(0).unwrap(), 0);
    assert!(matches!(partition.check_leader(-1), Err(Refused::NotLeader(there)) if there.leader == 2));
}

fn fetched(from: Offset, log_start: Offset) -> FollowerFetch {
    FollowerFetch { by: 2, broker_epoch: 20, from, log_start }
}

#[test]
fn a_produce_with_acks_all_is_answered_by_the_fetch_that_shows_that_the_follower_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let (partition, _wishes) = led(&folder);
    let mut wait = produce(&partition, Until::Committed);
    partition.follower_fetched(3, NOW, fetched(0, 0));
    assert!(wait.try_recv().is_err(), "it asks for the record");
    partition.follower_fetched(2, NOW, fetched(1, 0));
    assert!(wait.try_recv().is_err(), "that was in another leader epoch");
    partition.follower_fetched(3, NOW, fetched(1, 0));
    assert!(matches!(wait.try_recv(), Ok(Ok(Kept::Asked))));
    assert_eq!(partition.high(), 1);
}

#[test]
fn a_produce_whose_batch_is_committed_is_not_judged_again_by_an_isr_that_shrinks_before_its_client_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let (partition, _wishes) = led(&folder);
    let state = LeaderState { leader_epoch: 4, partition_epoch: 8, replicas: vec![1, 2], isr: vec![1, 2] };
    partition.lead(1, state, LeaderConfig { min_isr: 2, durable: false, lag_max_ms: 10_000 }, NOW).unwrap();
    let mut kept = produce(&partition, Until::Committed);
    partition.follower_fetched(4, NOW, fetched(1, 0));
    let mut late = produce(&partition, Until::Committed);
    partition.isr_committed(NOW, 4, vec![1], 9);
    assert!(matches!(kept.try_recv(), Ok(Ok(Kept::Asked))), "both had it");
    partition.follower_fetched(4, NOW, fetched(2, 0));
    assert!(late.try_recv().is_err(), "nothing is committed by too few");
    partition.isr_committed(NOW, 4, vec![1, 2], 10);
    assert!(matches!(late.try_recv(), Ok(Ok(Kept::Asked))));
}

#[test]
fn a_follower_that_falls_silent_is_proposed_out_once_and_the_watermark_waits_for_the_controller() {
    let folder = tempfile::tempdir().unwrap();
    let (partition, mut wishes) = led(&folder);
    let mut wait = produce(&partition, Until::Committed);
    let due = partition.tick(NOW).expect("a follower is watched");
    assert_eq!(due, NOW + 5_000, "half of replica.lag.time.max.ms");
    for now in [due, NOW + 10_001, NOW + 15_002] {
        partition.tick(now);
    }
    let proposal = wishes.try_recv().expect("it is out of sync");
    assert_eq!((proposal.leader_epoch, proposal.partition_epoch), (3, 7));
    assert_eq!((proposal.before, proposal.isr), (vec![1, 2], vec![(1, -1)]));
    assert!(wishes.try_recv().is_err(), "one proposal at a time");
    assert!(wait.try_recv().is_err());
    partition.isr_committed(NOW, 2, vec![1], 8);
    assert!(wait.try_recv().is_err(), "that answers another leader epoch");
    partition.isr_committed(NOW, 3, vec![1], 8);
    assert!(matches!(wait.try_recv(), Ok(Ok(Kept::Asked))));
}

#[test]
fn deleted_records_are_gone_once_every_replica_that_is_alive_has_dropped_them() {
    let folder = tempfile::tempdir().unwrap();
    let (partition, _wishes) = led(&folder);
    drop(produce(&partition, Until::Published));
    partition.step(NOW, Input::Eligible([(1, 10), (2, 20)].into()));
    assert_eq!(partition.low_watermark(), Some(-1), "broker 2 has not said");
    partition.follower_fetched(3, NOW, fetched(1, 0));
    partition.log.advance_start(1).unwrap();
    assert_eq!(partition.low_watermark(), Some(0));
    partition.follower_fetched(3, NOW, fetched(1, 1));
    assert_eq!(partition.low_watermark(), Some(1));
}

#[test]
fn a_leader_that_is_elected_again_keeps_what_is_written_and_drops_what_is_queued_under_the_old_epoch() {
    let folder = tempfile::tempdir().unwrap();
    let (partition, _wishes) = led(&folder);
    let mut written = produce(&partition, Until::Committed);
    let mut queued = partition.enqueue(batch(), Until::Committed, NOW_MS).unwrap().wait;
    let state = LeaderState { leader_epoch: 4, partition_epoch: 8, replicas: vec![1, 2], isr: vec![1, 2] };
    partition.lead(1, state, LeaderConfig { min_isr: 1, durable: false, lag_max_ms: 10_000 }, NOW).unwrap();
    assert!(matches!(queued.try_recv(), Ok(Err(AppendError::Dropped))));
    assert!(written.try_recv().is_err(), "it waits on");
    partition.write_through(1, NOW_MS, NOW);
    assert_eq!((partition.log.end(), partition.log.epoch_at(0)), (1, Some(3)));
    partition.follower_fetched(4, NOW, fetched(1, 0));
    assert!(matches!(written.try_recv(), Ok(Ok(Kept::Asked))));
    drop(produce(&partition, Until::Published));
    assert_eq!((partition.log.end(), partition.log.epoch_at(1)), (2, Some(4)));
}
