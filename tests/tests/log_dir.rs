//! A log directory on a disk that fails: whatever goes wrong, its next start finds one identity, whole.

use std::path::Path;

use ballast_log::dirs::{CheckpointKind, CleanShutdown, DirError, LogDir, Owner};
use ballast_tests::disk::{Crash, Repeat, SimDisk, Trouble};
use ballast_wire::Uuid;

const CLUSTER: Uuid = Uuid([7; 16]);
const PATH: &str = "/data";

fn open(disk: &SimDisk, directory: u8) -> Result<LogDir, DirError> {
    let owner = Owner { node_id: 1, cluster_id: None, new_directory_id: Uuid([directory; 16]) };
    LogDir::open(disk.shared(), Path::new(PATH), owner)
}

/// One life. What is noted in `done` was acknowledged.
fn live(disk: &SimDisk, done: &mut Vec<&'static str>) -> Result<(), DirError> {
    let dir = open(disk, 9)?;
    done.push("opened");
    dir.take_clean_shutdown()?;
    dir.set_cluster_id(CLUSTER)?;
    done.push("cluster");
    dir.write_checkpoint(CheckpointKind::RecoveryPoint, [("orders", 0, 42)])?;
    done.push("checkpoint");
    dir.close_clean(CleanShutdown { broker_epoch: 3 })?;
    done.push("closed");
    Ok(())
}

#[test]
fn whatever_call_fails_the_next_start_finds_what_was_acknowledged() {
    for (crash, seed) in [(Crash::Process, 0), (Crash::LoseUnsynced, 0), (Crash::Tear, 1), (Crash::Tear, 2)] {
        for n in 0.. {
            let disk = SimDisk::new(seed);
            disk.fail_call(n, Trouble::Io, Repeat::Once);
            let mut done = Vec::new();
            let lived = live(&disk, &mut done);
            let reached = disk.fault_was_reached();
            let context = format!("{crash:?}, seed {seed}, call {n}: {done:?}, {lived:?}");

            let disk = disk.crash(crash);
            let dir = open(&disk, 8).unwrap_or_else(|error| panic!("{context}: {error}"));
            assert!(!done.contains(&"opened") || dir.meta().directory_id == Uuid([9; 16]), "{context}");
            assert!(!done.contains(&"cluster") || dir.meta().cluster_id == Some(CLUSTER), "{context}");
            let checkpoint = dir.read_checkpoint(CheckpointKind::RecoveryPoint).unwrap();
            assert!(!done.contains(&"checkpoint") || checkpoint[0].offset == 42, "{context}");
            let mark = dir.take_clean_shutdown().unwrap();
            assert!(!done.contains(&"closed") || mark == Some(CleanShutdown { broker_epoch: 3 }), "{context}");
            assert!(mark.is_none() || done.contains(&"checkpoint"), "{context}: a mark before its time");
            if !reached {
                break;
            }
        }
    }
}

#[test]
fn a_killed_brokers_folder_opens_for_the_next_life_only() {
    let disk = SimDisk::new(1);
    let dir = open(&disk, 9).unwrap();
    assert!(matches!(open(&disk, 9), Err(DirError::Locked(_))));
    let next = disk.reopen();
    open(&next, 8).unwrap();
    dir.set_cluster_id(CLUSTER).unwrap_err();
}
