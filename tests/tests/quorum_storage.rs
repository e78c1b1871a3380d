//! The metadata log, the vote and the snapshots on a disk that fails: whatever call fails and whatever a crash takes
//! along, the next start works, and everything that was acknowledged is there.
//!
//! A life is a script drawn from a seed: votes, appends, truncations of what is not committed, commits, snapshots, purges.
//! The model keeps what was acknowledged, and what the last step may have done although it was not.

use std::collections::BTreeMap;
use std::io::IoSlice;
use std::path::Path;
use std::sync::Arc;

use ballast_broker::quorum::{
    Entry, Fault, LOG_DIR, LogId, Machine, NodeId, Payload, Quorum, QuorumConfig, QuorumError, QuorumNode, Store,
    Timers, Vote,
};
use ballast_core::image::{Image, Record, encode_records, encode_snapshot};
use ballast_log::disk::{Disk as _, FileKind, OpenMode};
use ballast_net::{Entropy as _, SeededEntropy, SystemClock, random_below};
use ballast_tests::disk::{Call, Crash, Repeat, SimDisk, Trouble};
use ballast_wire::Uuid;
use bytes::Bytes;
use openraft::storage::{RaftLogStorage as _, RaftLogStorageExt as _, RaftStateMachine as _};
use openraft::{LeaderId, RaftLogReader as _, RaftSnapshotBuilder as _};

const DATA: &str = "/data";
/// Small, so that a life has several.
const SEGMENT_BYTES: u64 = 2048;
const STEPS: u32 = 24;
const CRASHES: [Crash; 3] = [Crash::Process, Crash::LoseUnsynced, Crash::Tear];

/// What the last step may have done.
#[derive(Debug)]
enum Doubt {
    Nothing,
    Vote(Vote),
    Append(Vec<Entry>),
    Truncate(u64),
    Purge(LogId),
}

/// What was acknowledged.
#[derive(Debug, Default)]
struct Model {
    vote: Option<Vote>,
    term: u64,
    purged: Option<LogId>,
    entries: BTreeMap<u64, Entry>,
    applied: Option<LogId>,
    snapshot: Option<LogId>,
    image: Image,
    /// The images that snapshots may hold, by index.
    images: BTreeMap<u64, Vec<u8>>,
}

impl Model {
    fn end(&self) -> u64 {
        self.entries.last_key_value().map_or_else(|| after(self.purged), |(index, _)| index + 1)
    }
}

fn after(last: Option<LogId>) -> u64 {
    last.map_or(0, |last| last.index + 1)
}

struct Life {
    store: Store,
    machine: Machine,
    model: Model,
    doubt: Doubt,
    dice: SeededEntropy,
}

fn open(disk: &SimDisk) -> Result<(Store, Machine), QuorumError> {
    let dir = Path::new(DATA).join(LOG_DIR);
    let clock = Arc::new(SystemClock);
    let store = Store::open_with(disk.shared(), &dir, clock, Fault::default(), SEGMENT_BYTES)?;
    let machine = Machine::open(disk.shared(), &dir, Fault::default())?;
    Ok((store, machine))
}

fn fresh_disk(seed: u64) -> SimDisk {
    let disk = SimDisk::new(seed);
    let shared = disk.shared();
    shared.create_dir(Path::new(DATA)).unwrap();
    shared.sync_dir(Path::new("/")).unwrap();
    disk
}

type Done = Result<(), Box<dyn std::error::Error>>;

impl Life {
    fn below(&self, bound: u64) -> u64 {
        random_below(&self.dice, bound)
    }

    async fn step(&mut self) -> Done {
        match self.below(12) {
            0 => self.vote().await,
            1..=5 => self.append().await,
            6 => self.truncate().await,
            7 | 8 => self.commit().await,
            9 => self.snapshot().await,
            _ => self.purge().await,
        }
    }

    async fn vote(&mut self) -> Done {
        self.model.term += 1;
        let node = NodeId { node: 1 + self.below(3) as i32, directory: Uuid([9; 16]) };
        let vote = Vote { leader_id: LeaderId::new(self.model.term, node), committed: self.below(2) == 0 };
        self.doubt = Doubt::Vote(vote);
        self.store.save_vote(&vote).await?;
        self.model.vote = Some(vote);
        Ok(())
    }

    async fn append(&mut self) -> Done {
        let (first, count) = (self.model.end(), 1 + self.below(4));
        let entries: Vec<Entry> = (first..first + count).map(|index| self.entry(index)).collect();
        self.doubt = Doubt::Append(entries.clone());
        self.store.blocking_append(entries.clone()).await?;
        self.model.entries.extend(entries.into_iter().map(|entry| (entry.log_id.index, entry)));
        Ok(())
    }

    fn entry(&self, index: u64) -> Entry {
        let leader = NodeId { node: 1, directory: Uuid([8; 16]) };
        let log_id = LogId { leader_id: LeaderId::new(self.model.term, leader), index };
        let mut id = [0; 16];
        self.dice.fill(&mut id);
        let name = "n".repeat(self.below(700) as usize);
        let record = Record::Topic { name: format!("{index}{name}"), id: Uuid(id) };
        Entry { log_id, payload: Payload::Records(Bytes::from(encode_records(&[record]))) }
    }

    /// Drops some of what is not committed; a leader of a later term then writes there.
    async fn truncate(&mut self) -> Done {
        let (from, end) = (after(self.model.applied).max(after(self.model.purged)), self.model.end());
        if from == end {
            return Ok(());
        }
        let since = from + self.below(end - from);
        self.doubt = Doubt::Truncate(since);
        self.store.truncate(self.model.entries[&since].log_id).await?;
        self.model.entries.split_off(&since);
        self.model.term += 1;
        Ok(())
    }

    async fn commit(&mut self) -> Done {
        let from = after(self.model.applied);
        if from == self.model.end() {
            return Ok(());
        }
        let upto = from + self.below(self.model.end() - from);
        self.store.save_committed(Some(self.model.entries[&upto].log_id)).await?;
        let entries = self.store.try_get_log_entries(from..=upto).await?;
        assert!(
            entries.iter().eq(self.model.entries.range(from..=upto).map(|(_, entry)| entry)),
            "what was appended is read"
        );
        self.machine.apply(entries).await?;
        self.model.apply_upto(upto);
        assert!(encode_snapshot(&self.machine.image()) == encode_snapshot(&self.model.image));
        Ok(())
    }

    async fn snapshot(&mut self) -> Done {
        let Some(applied) = self.model.applied else { return Ok(()) };
        self.model.images.insert(applied.index, encode_snapshot(&self.model.image));
        self.machine.get_snapshot_builder().await.build_snapshot().await?;
        self.model.snapshot = Some(applied);
        Ok(())
    }

    /// Only what a snapshot has may go.
    async fn purge(&mut self) -> Done {
        let from = after(self.model.purged);
        let Some(snapshot) = self.model.snapshot.filter(|snapshot| snapshot.index >= from) else { return Ok(()) };
        let upto = snapshot.index - self.below(snapshot.index + 1 - from) / 2;
        let upto = self.model.entries[&upto].log_id;
        self.doubt = Doubt::Purge(upto);
        self.store.purge(upto).await?;
        self.model.entries = self.model.entries.split_off(&(upto.index + 1));
        self.model.purged = Some(upto);
        Ok(())
    }

    /// Runs until the script is over or something fails.
    async fn live(&mut self, steps: u32) -> Done {
        for _ in 0..steps {
            self.step().await?;
            self.doubt = Doubt::Nothing;
        }
        Ok(())
    }
}

impl Model {
    fn apply_upto(&mut self, upto: u64) {
        for (index, entry) in self.entries.range(after(self.applied)..=upto) {
            let Payload::Records(records) = &entry.payload else { panic!("only records are appended here") };
            self.image.apply(*index, &ballast_core::image::decode_records(records).unwrap());
            self.applied = Some(entry.log_id);
        }
    }

    /// Compares what a start found with what was acknowledged, and goes on from what was found.
    async fn check(&mut self, store: &mut Store, machine: &mut Machine, doubt: &Doubt, context: &str) {
        let vote = store.read_vote().await.unwrap();
        let doubted_vote = if let Doubt::Vote(vote) = doubt { Some(*vote) } else { None };
        assert!(vote == self.vote || (vote.is_some() && vote == doubted_vote), "{context}: vote {vote:?}");

        let state = store.get_log_state().await.unwrap();
        let doubted_purge = if let Doubt::Purge(upto) = doubt { Some(*upto) } else { None };
        let purged = state.last_purged_log_id;
        assert!(purged == self.purged || (purged.is_some() && purged == doubted_purge), "{context}: purged {purged:?}");

        let found = store.try_get_log_entries(..).await.unwrap();
        let first = after(purged);
        assert!(found.iter().map(|entry| entry.log_id.index).eq(first..first + found.len() as u64), "{context}: holes");
        assert_eq!(state.last_log_id, found.last().map(|entry| entry.log_id).or(purged), "{context}");
        self.check_entries(first, &found, doubt, context);

        let applied = machine.applied_state().await.unwrap().0;
        assert!(applied >= self.snapshot, "{context}: snapshot {applied:?} of {:?}", self.snapshot);
        assert!(after(applied) >= first, "{context}: nothing between {applied:?} and {first}");
        let image = applied.map(|applied| self.images[&applied.index].clone());
        let image = image.unwrap_or_else(|| encode_snapshot(&Image::default()));
        assert!(encode_snapshot(&machine.image()) == image, "{context}: the snapshot's image at {applied:?}");
        let committed = after(store.read_committed().await.unwrap());
        assert!(committed <= after(state.last_log_id).max(after(applied)), "{context}: committed {committed}");

        (self.vote, self.purged, self.snapshot) = (vote, purged, applied);
        self.entries = found.into_iter().map(|entry| (entry.log_id.index, entry)).collect();
        self.image = (*machine.image()).clone();
        // What was committed stays so, whatever the snapshot missed and the hint on disk forgot.
        let upto = committed.max(after(self.applied));
        self.applied = applied;
        if upto > after(applied) {
            machine.apply(store.try_get_log_entries(after(applied)..upto).await.unwrap()).await.unwrap();
            self.apply_upto(upto - 1);
        }
    }

    fn check_entries(&self, first: u64, found: &[Entry], doubt: &Doubt, context: &str) {
        let end = first + found.len() as u64;
        let sure_end = if let Doubt::Truncate(since) = doubt { *since } else { self.end() };
        assert!(end >= sure_end.max(first), "{context}: the log ends at {end}, {sure_end} was acknowledged");
        let appended = if let Doubt::Append(entries) = doubt { entries.as_slice() } else { &[] };
        for entry in found {
            let index = entry.log_id.index;
            let expected = self.entries.get(&index).or_else(|| appended.iter().find(|new| new.log_id.index == index));
            assert_eq!(Some(entry), expected, "{context}: entry {index}");
        }
    }
}

/// A life in which call `n` fails, its end, and two lives after it.
async fn lives(seed: u64, crash: Crash, n: u64, trouble: Trouble, repeat: Repeat) -> bool {
    let disk = fresh_disk(seed);
    disk.fail_call(n, trouble, repeat);
    let context = format!("seed {seed}, {crash:?}, call {n} fails with {trouble:?} {repeat:?}");
    let (mut model, mut doubt) = (Model::default(), Doubt::Nothing);
    if let Ok((store, machine)) = open(&disk) {
        let mut life = Life { store, machine, model, doubt, dice: SeededEntropy::new(seed) };
        let outcome = life.live(STEPS).await;
        assert!(outcome.is_ok() || disk.fault_was_reached(), "{context}: {outcome:?}");
        (model, doubt) = (life.model, life.doubt);
    }
    let reached = disk.fault_was_reached();

    let disk = disk.crash(crash);
    let (mut store, mut machine) = open(&disk).unwrap_or_else(|error| panic!("{context}: {error}"));
    model.check(&mut store, &mut machine, &doubt, &context).await;
    let mut life = Life { store, machine, model, doubt: Doubt::Nothing, dice: SeededEntropy::new(!seed) };
    life.live(STEPS).await.unwrap_or_else(|error| panic!("{context}, second life: {error}"));

    // A file whose sync failed saves nothing until the machine starts again (as on Linux): the process alone is not enough.
    let disk = disk.crash(if crash == Crash::Process { Crash::Process } else { Crash::LoseUnsynced });
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
            let (store, machine) = open(&disk).unwrap();
            let dice = SeededEntropy::new(seed);
            let mut life = Life { store, machine, model: Model::default(), doubt: Doubt::Nothing, dice };
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
    let (store, machine) = open(&donor).unwrap();
    let dice = SeededEntropy::new(1);
    let mut life = Life { store, machine, model: Model::default(), doubt: Doubt::Nothing, dice };
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
async fn appends_and_votes_that_wait_together_share_one_sync_and_keep_their_order() {
    let disk = fresh_disk(1);
    let (_, machine) = open(&fresh_disk(1)).unwrap();
    // With segments of the usual size: none is sealed here.
    let dir = Path::new(DATA).join(LOG_DIR);
    let store = Store::open(disk.shared(), &dir, Arc::new(SystemClock), Fault::default()).unwrap();
    let mut life = Life { store, machine, model: Model::default(), doubt: Doubt::Nothing, dice: SeededEntropy::new(1) };
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
    (a.unwrap(), b.unwrap(), c.unwrap());
    assert_eq!(ran, 1, "one job works off the line");
    assert_eq!(disk.calls_of(Call::Sync) - syncs, 2, "one sync of the log, one of the vote");
}

#[tokio::test]
async fn a_log_that_lost_committed_entries_is_refused() {
    let disk = fresh_disk(1);
    let (store, machine) = open(&disk).unwrap();
    let mut life = Life { store, machine, model: Model::default(), doubt: Doubt::Nothing, dice: SeededEntropy::new(1) };
    for _ in 0..4 {
        life.append().await.unwrap();
    }
    let last = life.model.entries.last_key_value().unwrap().1.log_id;
    life.store.save_committed(Some(last)).await.unwrap();
    let disk = disk.crash(Crash::Process);
    let segments = disk.shared().list(&Path::new(DATA).join(LOG_DIR)).unwrap();
    let newest = segments.iter().rfind(|file| file.name.ends_with(".log")).unwrap();
    disk.rot(Path::new(DATA).join(LOG_DIR).join(&newest.name), 80, &[0xff; 4]).unwrap();

    let refused = start(&disk).await.err().expect("bit rot is no crash");
    assert!(matches!(refused, QuorumError::Lost { .. }), "{refused}");
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

const ME: NodeId = NodeId { node: 1, directory: Uuid([5; 16]) };

async fn start(disk: &SimDisk) -> Result<Quorum, QuorumError> {
    Quorum::start(QuorumConfig {
        me: ME,
        dir: DATA.into(),
        disk: disk.shared(),
        entropy: Arc::new(SeededEntropy::new(1)),
        clock: Arc::new(SystemClock),
        timers: Timers::default(),
        voters: BTreeMap::from([(ME, QuorumNode::default())]),
    })
    .await
}

/// Starts, leads, proposes until something fails. Gives the names that were acknowledged.
async fn propose_until_something_fails(disk: &SimDisk, from: u32) -> Vec<String> {
    let mut acknowledged = Vec::new();
    let Ok(quorum) = start(disk).await else { return acknowledged };
    let mut leads = quorum.leads();
    tokio::select! {
        biased;
        _ = leads.wait_for(|leads| *leads) => {}
        _ = quorum.fatal() => return acknowledged,
    }
    for n in from..from + 5 {
        let name = format!("topic-{n}");
        let mut id = [1; 16];
        id[..4].copy_from_slice(&n.to_be_bytes());
        let entry = encode_records(&[Record::Topic { name: name.clone(), id: Uuid(id) }]);
        match quorum.propose(entry).await {
            Ok(_) => acknowledged.push(name),
            Err(_) => {
                let cause = quorum.fatal().await.to_string();
                assert!(cause.contains("os error 5"), "the cause is told: {cause}");
                break;
            }
        }
    }
    acknowledged
}

#[tokio::test]
async fn a_quorum_whose_disk_fails_tells_the_cause_and_keeps_what_it_acknowledged() {
    for crash in CRASHES {
        for n in 0.. {
            let disk = fresh_disk(n);
            disk.fail_call(n, Trouble::Io, Repeat::Once);
            let mut acknowledged = propose_until_something_fails(&disk, 0).await;
            let reached = disk.fault_was_reached();
            let disk = disk.crash(crash);
            acknowledged.extend(propose_until_something_fails(&disk, 100).await);
            assert!(acknowledged.len() >= 5, "{crash:?}, call {n}: the second life works");
            let disk = disk.crash(crash);
            let quorum = start(&disk).await.unwrap_or_else(|error| panic!("{crash:?}, call {n}: {error}"));
            quorum.leads().wait_for(|leads| *leads).await.unwrap();
            for name in &acknowledged {
                assert!(quorum.image().topic(name).is_some(), "{crash:?}, call {n}: {name} was acknowledged");
            }
            quorum.shutdown().await.unwrap();
            if !reached {
                break;
            }
        }
    }
}
