//! The store and the state machine, without openraft around them.

use std::io::IoSlice;
use std::path::Path;
use std::sync::Arc;

use ballast_broker::quorum::{Entry, Fault, LOG_DIR, LogId, NodeId, Payload, QuorumError, Store, Vote};
use ballast_log::disk::{FileKind, OpenMode};
use ballast_net::SystemClock;
use ballast_tests::disk::{Call, Crash, Repeat, Trouble};
use openraft::storage::{RaftLogStorage as _, RaftLogStorageExt as _};
use openraft::{LeaderId, RaftLogReader as _};

use crate::life::Life;
use crate::model::{Doubt, Model};
use crate::{CRASHES, DATA, fresh_disk, open};

/// Steps of one life.
const STEPS: u32 = 24;

/// A life in which call `n` fails, its end, and two lives after it.
async fn lives(seed: u64, crash: Crash, n: u64, trouble: Trouble, repeat: Repeat) -> bool {
    let disk = fresh_disk(seed);
    disk.fail_call(n, trouble, repeat);
    let context = format!("seed {seed}, {crash:?}, call {n} fails with {trouble:?} {repeat:?}");
    let (mut model, mut doubt) = (Model::default(), Doubt::Nothing);
    if let Ok(opened) = open(&disk) {
        let mut life = Life::new(opened, model, seed);
        let outcome = life.live(STEPS).await;
        assert!(outcome.is_ok() || disk.fault_was_reached(), "{context}: {outcome:?}");
        (model, doubt) = (life.model, life.doubt);
    }
    let reached = disk.fault_was_reached();

    let disk = disk.crash(crash);
    let (mut store, mut machine) = open(&disk).unwrap_or_else(|error| panic!("{context}: {error}"));
    model.check(&mut store, &mut machine, &doubt, &context).await;
    let mut life = Life::new((store, machine), model, !seed);
    life.live(STEPS).await.unwrap_or_else(|error| panic!("{context}, second life: {error}"));

    // Also what a failed sync of the first life had left in memory alone is safe by now.
    let disk = disk.crash(Crash::LoseUnsynced);
    let (mut store, mut machine) = open(&disk).unwrap_or_else(|error| panic!("{context}, third life: {error}"));
    life.model.check(&mut store, &mut machine, &Doubt::Nothing, &format!("{context}, third life")).await;
    reached
}

#[tokio::test]
async fn whatever_call_fails_the_next_start_finds_what_was_acknowledged() {
    let once = CRASHES.map(|crash| (crash, Trouble::Io, Repeat::Once));
    let worse = [(Crash::Tear, Trouble::Io, Repeat::Always), (Crash::Tear, Trouble::Full, Repeat::Once)];
    for seed in 0..3 {
        for (crash, trouble, repeat) in once.into_iter().chain(worse) {
            for n in 0.. {
                if !lives(seed, crash, n, trouble, repeat).await {
                    break;
                }
            }
        }
    }
}

#[tokio::test]
async fn whatever_call_fails_while_a_start_recovers_the_next_start_finds_everything() {
    for seed in 0..4 {
        for n in 0.. {
            let disk = fresh_disk(seed);
            let mut life = Life::new(open(&disk).unwrap(), Model::default(), seed);
            life.live(2 * STEPS).await.unwrap();
            let disk = disk.crash(Crash::Tear);

            disk.fail_call(n, Trouble::Io, Repeat::Once);
            let recovered = open(&disk);
            let reached = disk.fault_was_reached();
            assert!(recovered.is_ok() || reached, "seed {seed}, call {n}: {:?}", recovered.err());
            let disk = disk.crash(Crash::Tear);
            let context = format!("seed {seed}, call {n} of a recovery fails");
            let (mut store, mut machine) = open(&disk).unwrap_or_else(|error| panic!("{context}: {error}"));
            life.model.check(&mut store, &mut machine, &Doubt::Nothing, &context).await;
            if !reached {
                break;
            }
        }
    }
}

#[tokio::test]
async fn entries_that_a_start_finds_unsynced_survive_the_next_crash() {
    let (log, segment) = (Path::new(DATA).join(LOG_DIR), "00000000000000000000.log");
    let donor = fresh_disk(1);
    let mut life = Life::new(open(&donor).unwrap(), Model::default(), 1);
    life.append().await.unwrap();
    let bytes = donor.peek(log.join(segment)).unwrap();

    // As a process that was killed between the write and the sync leaves it.
    let disk = fresh_disk(2);
    let shared = disk.shared();
    shared.create_dir(&log).unwrap();
    shared.sync_dir(Path::new(DATA)).unwrap();
    let file = shared.open(&log.join(segment), OpenMode::Create, FileKind::ActiveLog).unwrap();
    file.write_at(0, &[IoSlice::new(&bytes)]).unwrap();

    let disk = disk.crash(Crash::Process);
    let (mut store, mut machine) = open(&disk).unwrap();
    life.model.check(&mut store, &mut machine, &Doubt::Nothing, "found").await;
    let disk = disk.crash(Crash::LoseUnsynced);
    let (mut store, mut machine) = open(&disk).unwrap();
    life.model.check(&mut store, &mut machine, &Doubt::Nothing, "after the crash").await;
}

#[tokio::test]
async fn a_truncated_tail_does_not_come_back_beside_a_new_segment() {
    let disk = fresh_disk(1);
    let (mut store, machine) = open(&disk).unwrap();
    let entry = |term, index, bytes| {
        let log_id = LogId { leader_id: LeaderId::new(term, NodeId::from(1)), index };
        Entry { log_id, payload: Payload::Records(vec![0; bytes].into()) }
    };
    store.blocking_append([entry(1, 0, 600), entry(1, 1, 600), entry(1, 2, 600)]).await.unwrap();
    store.truncate(entry(1, 2, 0).log_id).await.unwrap();
    let too_large_for_the_rest = entry(2, 2, 1500);
    store.blocking_append([too_large_for_the_rest.clone()]).await.unwrap();
    drop(machine);

    let disk = disk.crash(Crash::LoseUnsynced);
    let (mut store, _) = open(&disk).unwrap();
    assert_eq!(store.try_get_log_entries(2..).await.unwrap(), [too_large_for_the_rest]);
}

#[tokio::test]
async fn whatever_call_fails_while_a_snapshot_replaces_the_log_it_goes_on_behind_one_of_them() {
    for crash in CRASHES {
        for n in 0.. {
            let disk = fresh_disk(n);
            let mut life = Life::new(open(&disk).unwrap(), Model::default(), n);
            life.append().await.unwrap();
            let leaders = LogId { leader_id: LeaderId::new(7, NodeId::from(2)), index: 20 };
            disk.fail_call(n, Trouble::Io, Repeat::Once);
            let replaced = life.store.purge(leaders).await;
            let reached = disk.fault_was_reached();

            let disk = disk.crash(crash);
            let context = format!("{crash:?}, call {n}, {replaced:?}");
            let (mut store, _) = open(&disk).unwrap_or_else(|error| panic!("{context}: {error}"));
            let state = store.get_log_state().await.unwrap();
            if state.last_purged_log_id.is_none() {
                assert!(replaced.is_err(), "{context}: acknowledged and lost");
                assert_eq!(state.last_log_id.map(|last| last.index + 1), Some(life.model.end()), "{context}");
            } else {
                assert_eq!((state.last_purged_log_id, state.last_log_id), (Some(leaders), Some(leaders)), "{context}");
                let next = Entry { log_id: LogId { index: 21, ..leaders }, payload: Payload::Blank };
                store.blocking_append([next.clone()]).await.unwrap();
                assert_eq!(store.try_get_log_entries(..).await.unwrap(), [next], "{context}");
            }
            if !reached {
                break;
            }
        }
    }
}

#[tokio::test]
async fn appends_and_votes_that_wait_together_share_one_sync_and_keep_their_order() {
    let disk = fresh_disk(1);
    let (_, machine) = open(&fresh_disk(1)).unwrap();
    // With segments of the usual size: none is sealed here.
    let dir = Path::new(DATA).join(LOG_DIR);
    let store = Store::open(disk.shared(), &dir, Arc::new(SystemClock), Fault::default()).unwrap();
    let mut life = Life::new((store, machine), Model::default(), 1);
    life.append().await.unwrap();
    let first = life.model.end();
    let (mut one, mut two, mut three) = (life.store.clone(), life.store.clone(), life.store.clone());
    let vote = Vote::new(5, NodeId::from(1));

    disk.hold_jobs();
    let syncs = disk.calls_of(Call::Sync);
    let (a, b, c, ran) = tokio::join!(
        biased;
        one.blocking_append([life.entry(first)]),
        two.blocking_append([life.entry(first + 1)]),
        three.save_vote(&vote),
        async {
            let read = life.store.clone().try_get_log_entries(first..).await.unwrap();
            assert_eq!(read.len(), 2, "readable before it is synced");
            disk.run_jobs()
        }
    );
    a.and(b).and(c).unwrap();
    assert_eq!(ran, 1, "one job works off the line");
    assert_eq!(disk.calls_of(Call::Sync) - syncs, 2, "one sync of the log, one of the vote");
}

#[tokio::test]
async fn a_vote_that_does_not_open_is_refused() {
    let disk = fresh_disk(1);
    let (mut store, _) = open(&disk).unwrap();
    store.save_vote(&Vote::new(3, NodeId::from(1))).await.unwrap();
    let disk = disk.crash(Crash::LoseUnsynced);
    disk.rot(Path::new(DATA).join(LOG_DIR).join("quorum-vote"), 20, &[0xff]).unwrap();
    let refused = open(&disk).err().expect("a forgotten vote may be given twice");
    assert!(matches!(refused, QuorumError::Damaged { .. }), "{refused}");
}

#[tokio::test]
async fn entries_of_a_failed_sync_are_written_again_before_a_restart_counts_them() {
    let disk = fresh_disk(1);
    let mut life = Life::new(open(&disk).unwrap(), Model::default(), 1);
    life.append().await.unwrap();
    disk.fail(Call::Sync, ".log", Trouble::Io, Repeat::Once);
    life.append().await.unwrap_err();
    // The process starts again, the machine does not: memory shows more than the disk has.
    let disk = disk.reopen();
    let (store, _) = open(&disk).unwrap();
    let bounds = store.bounds();
    assert!(bounds.1 > life.model.end(), "what was written is read: {bounds:?}");
    let (store, _) = open(&disk.crash(Crash::LoseUnsynced)).unwrap();
    assert_eq!(store.bounds(), bounds, "what counted after the restart survives a power cut");
}
