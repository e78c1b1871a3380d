//! The quorum over the real disk: openraft's own storage suite, starts and restarts, snapshots, failures.
//! Crashes at every disk call are in `ballast-tests` (`quorum_storage`), which has the disk for it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ballast_core::image::{Image, Record, encode_records, encode_snapshot};
use ballast_log::disk::{Disk, RealDisk};
use ballast_net::{SeededEntropy, SystemClock};
use ballast_wire::Uuid;
use bytes::Bytes;
use openraft::storage::RaftLogStorage as _;
use openraft::testing::{StoreBuilder, Suite};
use tempfile::TempDir;
use tokio::time::timeout;

use super::*;

const ME: NodeId = NodeId { node: 1, directory: Uuid([7; 16]) };

struct Fresh;

impl StoreBuilder<TypeConfig, Store, Machine, TempDir> for Fresh {
    async fn build(&self) -> Result<(TempDir, Store, Machine), StorageError> {
        let folder = TempDir::new().expect("a temporary folder");
        let disk: Arc<dyn Disk> = RealDisk::ephemeral();
        let dir = folder.path().join(LOG_DIR);
        let store = Store::open(Arc::clone(&disk), &dir, Arc::new(SystemClock), Fault::default()).expect("a store");
        let machine = Machine::open(disk, &dir, Fault::default()).expect("a machine");
        Ok((folder, store, machine))
    }
}

#[test]
fn openrafts_storage_suite_passes_on_the_real_disk() {
    Suite::test_all(Fresh).expect("the suite passes");
}

fn config(dir: &Path, disk: Arc<dyn Disk>) -> QuorumConfig {
    QuorumConfig {
        me: ME,
        dir: dir.to_owned(),
        disk,
        entropy: Arc::new(SeededEntropy::new(1)),
        clock: Arc::new(SystemClock),
        timers: Timers::default(),
        voters: BTreeMap::from([(ME, QuorumNode { host: "localhost".into(), port: 9093 })]),
        may_vote: true,
        network: None,
    }
}

async fn started(dir: &Path) -> Quorum {
    Quorum::start(config(dir, RealDisk::ephemeral())).await.expect("the quorum starts")
}

async fn leads(quorum: &Quorum) {
    quorum.leads().wait_for(|leads| *leads).await.expect("openraft runs");
}

fn topic(n: u64) -> Vec<u8> {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&n.to_be_bytes());
    encode_records(&[Record::Topic { name: format!("topic-{n}"), id: Uuid(id) }])
}

/// All that an image says.
fn contents(image: &Image) -> Vec<u8> {
    encode_snapshot(image)
}

#[tokio::test]
async fn a_quorum_of_one_leads_at_once_and_again_after_a_restart_that_nobody_announced() {
    let folder = TempDir::new().unwrap();
    // Whoever waited for a timer would wait for hours.
    let hours = |hours: u64| Duration::from_secs(3600 * hours);
    let timers = Timers { heartbeat: hours(1), silence: hours(10), election: hours(5), backoff: hours(5) };
    let patient = || QuorumConfig { timers, ..config(folder.path(), RealDisk::ephemeral()) };
    let within = Duration::from_secs(60);
    let quorum = timeout(within, async {
        let quorum = Quorum::start(patient()).await.expect("the quorum starts");
        leads(&quorum).await;
        quorum
    });
    let quorum = quorum.await.expect("a fresh quorum leads at once");
    let mut last = 0;
    for n in 0..1000 {
        let index = quorum.propose(topic(n)).await.unwrap();
        assert!(index > last, "index {index} after {last}");
        last = index;
    }
    let before = contents(&quorum.image());
    assert_eq!(quorum.image().topic_count(), 1000);
    drop(quorum);

    let quorum = timeout(within, async {
        let quorum = Quorum::start(patient()).await.expect("the quorum starts");
        leads(&quorum).await;
        quorum
    });
    let quorum = quorum.await.expect("a restarted quorum leads at once");
    assert_eq!(quorum.image().index(), last, "a leader that comes back in its term appends nothing");
    assert!(contents(&quorum.image()) == before, "the image is what it was");
    assert!(quorum.propose(topic(1000)).await.unwrap() > last);
}

#[tokio::test]
async fn a_listener_gets_the_whole_image_and_then_every_change_once_and_in_order() {
    let folder = TempDir::new().unwrap();
    let quorum = started(folder.path()).await;
    leads(&quorum).await;
    let last = quorum.propose(topic(0)).await.unwrap();
    let mut changes = quorum.listen();
    let (image, whole) = changes.recv().await.unwrap();
    assert_eq!((image.index(), whole.topics_created.len()), (last, 1));
    for n in 1..=20 {
        quorum.propose(topic(n)).await.unwrap();
    }
    for n in 1..=20 {
        let (image, delta) = changes.recv().await.unwrap();
        assert_eq!((image.index(), delta.index), (last + n, last + n));
        assert_eq!((image.topic_count() as u64, delta.topics_created.len()), (n + 1, 1));
    }
    quorum.shutdown().await.unwrap();
    assert!(changes.recv().await.is_none());
}

#[tokio::test]
async fn a_restart_goes_on_from_the_snapshot_when_the_entries_before_it_are_gone() {
    let folder = TempDir::new().unwrap();
    let quorum = started(folder.path()).await;
    leads(&quorum).await;
    for n in 0..50 {
        quorum.propose(topic(n)).await.unwrap();
    }
    let covered = quorum.image().index();
    let wait = Some(Duration::from_secs(10));
    quorum.raft.trigger().snapshot().await.unwrap();
    quorum
        .raft
        .wait(wait)
        .metrics(|seen| seen.snapshot.is_some_and(|at| at.index == covered), "a snapshot")
        .await
        .unwrap();
    quorum.raft.trigger().purge_log(covered - 10).await.unwrap();
    quorum
        .raft
        .wait(wait)
        .metrics(|seen| seen.purged.is_some_and(|at| at.index == covered - 10), "a purge")
        .await
        .unwrap();
    quorum.propose(topic(50)).await.unwrap();
    let before = contents(&quorum.image());
    assert_eq!(quorum.store.bounds().0, covered - 9);
    drop(quorum);

    let quorum = started(folder.path()).await;
    leads(&quorum).await;
    assert!(contents(&quorum.image()) == before, "the image is what it was");
    assert_eq!(quorum.store.bounds().0, covered - 9);
    let view = quorum.describe();
    assert_eq!((view.leader, view.high_watermark), (Some(ME), covered + 2));
    assert_eq!((view.voters.len(), view.voters[0].log_end, view.observers.len()), (1, Some(covered + 2), 0));
}

#[tokio::test]
async fn a_snapshot_that_does_not_open_is_told_when_the_log_cannot_do_without_it() {
    let folder = TempDir::new().unwrap();
    let quorum = started(folder.path()).await;
    leads(&quorum).await;
    quorum.propose(topic(0)).await.unwrap();
    let covered = quorum.image().index();
    let wait = Some(Duration::from_secs(10));
    quorum.raft.trigger().snapshot().await.unwrap();
    quorum
        .raft
        .wait(wait)
        .metrics(|seen| seen.snapshot.is_some_and(|at| at.index == covered), "a snapshot")
        .await
        .unwrap();
    let dir = folder.path().join(LOG_DIR);
    let is_snapshot = |path: &std::path::PathBuf| path.extension().is_some_and(|extension| extension == "checkpoint");
    let file = std::fs::read_dir(&dir).unwrap().map(|file| file.unwrap().path()).find(is_snapshot).unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&file, bytes).unwrap();
    drop(quorum);

    let quorum = started(folder.path()).await;
    leads(&quorum).await;
    assert_eq!(quorum.image().topic_count(), 1, "the log has everything");
    quorum.raft.trigger().snapshot().await.unwrap();
    quorum.raft.wait(wait).metrics(|seen| seen.snapshot.is_some(), "a snapshot").await.unwrap();
    quorum.raft.trigger().purge_log(covered).await.unwrap();
    quorum.raft.wait(wait).metrics(|seen| seen.purged.is_some(), "a purge").await.unwrap();
    std::fs::write(&file, b"no snapshot").unwrap();
    drop(quorum);
    let refused = Quorum::start(config(folder.path(), RealDisk::ephemeral())).await.err().expect("entries are missing");
    assert!(matches!(refused, QuorumError::Damaged { ref path, .. } if *path == file), "{refused}");
}

#[tokio::test]
async fn a_directory_with_another_id_is_not_taken_for_the_voter_it_was() {
    let folder = TempDir::new().unwrap();
    started(folder.path()).await.shutdown().await.unwrap();
    let somebody_else = NodeId { directory: Uuid([8; 16]), ..ME };
    let mut config = config(folder.path(), RealDisk::ephemeral());
    config.me = somebody_else;
    config.voters = BTreeMap::from([(somebody_else, QuorumNode::default())]);
    let refused = Quorum::start(config).await.err().expect("not its log");
    assert!(matches!(refused, QuorumError::NotAVoter { me, .. } if me == somebody_else), "{refused}");
    assert!(refused.to_string().contains(&ME.to_string()), "{refused}");
}

#[tokio::test]
async fn what_is_no_metadata_is_refused_before_it_is_appended() {
    let folder = TempDir::new().unwrap();
    let quorum = started(folder.path()).await;
    leads(&quorum).await;
    let end = quorum.store.bounds().1;
    assert!(matches!(quorum.propose(vec![99]).await, Err(ProposeError::NotRecords(_))));
    let large = vec![0; ENTRY_BYTES_MAX + 1];
    assert!(matches!(quorum.propose(large).await, Err(ProposeError::TooLarge { .. })));
    assert_eq!(quorum.store.bounds().1, end);
}

#[tokio::test]
async fn a_committed_entry_of_a_newer_version_stops_the_quorum_with_its_cause() {
    let folder = TempDir::new().unwrap();
    let quorum = started(folder.path()).await;
    leads(&quorum).await;
    // Past our own check, as a newer leader would do it.
    let written = quorum.raft.client_write(Bytes::from_static(&[99])).await;
    assert!(written.is_err());
    let cause = quorum.fatal().await;
    assert!(matches!(cause, QuorumError::Apply { .. }), "{cause}");
    assert!(cause.to_string().contains("a newer Ballast wrote it"), "{cause}");
    quorum.leads().wait_for(|leads| !*leads).await.expect("it leads no more");
    drop(quorum);

    let again = match Quorum::start(config(folder.path(), RealDisk::ephemeral())).await {
        Ok(quorum) => quorum.fatal().await,
        Err(refused) => refused,
    };
    assert!(matches!(again, QuorumError::Apply { .. }), "{again}");
}

#[tokio::test]
async fn a_dropped_quorum_leaves_no_task_behind() {
    let folder = TempDir::new().unwrap();
    let quorum = started(folder.path()).await;
    leads(&quorum).await;
    quorum.propose(topic(1)).await.unwrap();
    drop(quorum);
    let tasks = tokio::runtime::Handle::current().metrics();
    let gone = async {
        while tasks.num_alive_tasks() > 0 {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(10), gone).await.expect("all of its tasks end");
}

#[tokio::test]
async fn a_quorum_that_was_shut_down_is_done_and_tells_no_failure() {
    let folder = TempDir::new().unwrap();
    let quorum = started(folder.path()).await;
    leads(&quorum).await;
    quorum.propose(topic(1)).await.unwrap();
    quorum.shutdown().await.unwrap();
    assert!(matches!(quorum.propose(topic(2)).await, Err(ProposeError::Stopped(_))));
    assert!(timeout(Duration::from_millis(20), quorum.fatal()).await.is_err(), "a shutdown is no failure");
    let again = started(folder.path()).await;
    leads(&again).await;
    assert_eq!(again.image().topic_count(), 1);
}

#[tokio::test]
async fn a_crash_after_a_snapshot_came_leaves_no_entry_behind_it_that_it_contradicts() {
    let folder = TempDir::new().unwrap();
    let quorum = started(folder.path()).await;
    leads(&quorum).await;
    for n in 0..5 {
        quorum.propose(topic(n)).await.unwrap();
    }
    let image = quorum.image();
    let membership = quorum.membership().await;
    for n in 5..20 {
        quorum.propose(topic(n)).await.unwrap();
    }
    // As if the entries after it were those of a leader that nobody followed, and the snapshot that of the next one.
    let mut last = quorum.store.last().unwrap();
    (last.leader_id.term, last.index) = (last.leader_id.term + 1, image.index());
    let meta = machine::snapshot_meta(Some(last), &StoredMembership::new(Some(LogId::default()), membership));
    quorum.store.clone().save_vote(&Vote { leader_id: last.leader_id, committed: true }).await.unwrap();
    assert!(matches!(quorum.machine.keep(&meta, b"junk".to_vec()).await, Err(QuorumError::Snapshot(_))));
    quorum.machine.keep(&meta, encode_snapshot(&image)).await.unwrap();
    drop(quorum);

    let quorum = started(folder.path()).await;
    leads(&quorum).await;
    assert_eq!(quorum.image().topic_count(), 5);
    quorum.propose(topic(20)).await.unwrap();
    assert_eq!(quorum.image().topic_count(), 6);
    drop(quorum);
    let again = started(folder.path()).await;
    leads(&again).await;
    assert_eq!(again.image().topic_count(), 6, "what came after the snapshot is in the log");
}

#[tokio::test]
async fn in_the_last_term_that_a_log_can_keep_nobody_stands_and_the_node_lives_on() {
    let folder = TempDir::new().unwrap();
    let quorum = started(folder.path()).await;
    leads(&quorum).await;
    quorum.propose(topic(0)).await.unwrap();
    let leader_id = openraft::LeaderId::new(admit::TERM_MAX, NodeId::from(99));
    quorum.store.clone().save_vote(&Vote { leader_id, committed: true }).await.unwrap();
    quorum.shutdown().await.unwrap();
    drop(quorum);
    for life in 0..2 {
        let quorum = started(folder.path()).await;
        assert!(!campaign::stands(&quorum.raft.metrics().borrow()), "life {life}");
        assert_eq!(quorum.image().topic_count(), 1);
        quorum.shutdown().await.expect("nothing had failed");
    }
}
