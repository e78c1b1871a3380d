//! A whole quorum of one.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ballast_broker::quorum::{LOG_DIR, NodeId, Quorum, QuorumConfig, QuorumError, QuorumNode, Timers};
use ballast_core::image::{Record, encode_records};
use ballast_net::{SeededEntropy, SystemClock};
use ballast_tests::disk::{Crash, Repeat, SimDisk, Trouble};
use ballast_wire::Uuid;
use openraft::storage::RaftLogStorage as _;

use crate::life::Life;
use crate::model::Model;
use crate::{CRASHES, DATA, fresh_disk, open};

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
        may_vote: true,
        network: None,
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

#[tokio::test]
async fn a_log_that_lost_committed_entries_is_refused() {
    let disk = fresh_disk(1);
    let mut life = Life::new(open(&disk).unwrap(), Model::default(), 1);
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
