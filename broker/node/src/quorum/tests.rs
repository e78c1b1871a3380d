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
    let within = Duration::from_millis(100);
    let quorum = timeout(within, async {
        let quorum = started(folder.path()).await;
        leads(&quorum).await;
        quorum
    });
    let quorum = quorum.await.expect("a fresh quorum leads within 100 ms");
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
        let quorum = started(folder.path()).await;
        leads(&quorum).await;
        quorum
    });
    let quorum = quorum.await.expect("a restarted quorum leads within 100 ms");
    assert_eq!(quorum.image().index(), last, "a leader that comes back in its term appends nothing");
    assert!(contents(&quorum.image()) == before, "the image is what it was");
    assert!(quorum.propose(topic(1000)).await.unwrap() > last);
}
