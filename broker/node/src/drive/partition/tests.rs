//! Leadership that changes while produces wait.

use ballast_core::machine::Tick;
use ballast_core::replica::{LeaderConfig, LeaderState};
use ballast_log::disk::RealDisk;
use ballast_log::{AppendError, LogConfig, Origin, validate};
use ballast_wire::batch::{BatchBuilder, Compression};
use tempfile::TempDir;

use super::*;
use crate::drive::waiters::{ProduceWait, Until};

const NOW: Tick = 1_000;
const NOW_MS: i64 = 1_800_000_000_000;

/// Led by broker 1 with broker 2 in the ISR, which fetches nothing: what is produced is published and not committed.
fn led(folder: &TempDir) -> Arc<Partition> {
    let disk: Arc<dyn Disk> = RealDisk::ephemeral();
    let config = Arc::new(LogConfig::default());
    let log = Log::create(Arc::clone(&disk), folder.path().join("t-0"), config, 0, NOW_MS).unwrap();
    let place = Place { topic: "t".into(), topic_id: Uuid([1; 16]), index: 0, directory: Uuid([2; 16]) };
    let partition = Arc::new(Partition::new(place, log, disk, 0));
    let state = LeaderState { leader_epoch: 3, partition_epoch: 7, replicas: vec![1, 2], isr: vec![1, 2] };
    partition.lead(1, state, LeaderConfig { min_isr: 1, durable: false, lag_max_ms: 10_000 }, NOW).unwrap();
    partition
}

fn produce(partition: &Arc<Partition>, until: Until) -> ProduceWait {
    let mut builder = BatchBuilder::new(Compression::None);
    builder.push(NOW_MS, None, Some(b"value"), &[]);
    let origin = Origin::Client { produce_version: 9, transactions_v2: false };
    let batch = validate(&builder.finish(), &LogConfig::default(), origin, NOW_MS).unwrap();
    partition.produce(batch, until, NOW_MS, NOW).unwrap().wait
}

#[test]
fn who_waits_for_replicas_is_sent_to_the_next_leader_when_this_one_resigns() {
    let folder = tempfile::tempdir().unwrap();
    let partition = led(&folder);
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
