//! A log directory from its first start to a clean stop, and every reason to refuse one.

use tempfile::TempDir;

use super::*;
use crate::disk::RealDisk;

const CLUSTER: Uuid = Uuid([7; 16]);
const OWNER: Owner = Owner { node_id: 1, cluster_id: None, new_directory_id: Uuid([9; 16]) };

fn open(path: &Path, owner: Owner) -> Result<LogDir, DirError> {
    LogDir::open(RealDisk::ephemeral(), path, owner)
}

fn refusal(path: &Path, owner: Owner) -> String {
    let text = open(path, owner).unwrap_err().to_string();
    assert!(!text.contains('\n') && text.contains(path.to_str().unwrap()), "{text}");
    text.replace(path.to_str().unwrap(), "DIR")
}

#[test]
fn an_empty_folder_gets_an_identity_and_keeps_it() {
    let temp = TempDir::new().unwrap();
    let path = temp.path().join("deep/data");
    let dir = open(&path, OWNER).unwrap();
    assert!(dir.is_new());
    dir.set_cluster_id(CLUSTER).unwrap();
    dir.set_cluster_id(CLUSTER).unwrap();
    drop(dir);
    let again = open(&path, Owner { new_directory_id: Uuid([1; 16]), ..OWNER }).unwrap();
    let kept = MetaProperties { node_id: 1, directory_id: Uuid([9; 16]), cluster_id: Some(CLUSTER) };
    assert_eq!((again.meta(), again.is_new()), (kept, false));
    let error = again.set_cluster_id(Uuid([8; 16])).unwrap_err();
    assert!(matches!(error, DirError::WrongCluster { .. }), "{error}");
}

#[test]
fn a_folder_in_use_or_of_somebody_else_is_refused_with_the_way_out() {
    let temp = TempDir::new().unwrap();
    let dir = open(temp.path(), OWNER).unwrap();
    assert_eq!(
        refusal(temp.path(), OWNER),
        "DIR is in use by another broker: stop that one, or give this one a folder of its own"
    );
    dir.set_cluster_id(CLUSTER).unwrap();
    drop(dir);
    assert_eq!(
        refusal(temp.path(), Owner { node_id: 2, ..OWNER }),
        "DIR belongs to node 1, this is node 2: start with that node id, or choose another folder"
    );
    assert_eq!(
        refusal(temp.path(), Owner { cluster_id: Some(Uuid([8; 16])), ..OWNER }),
        "DIR belongs to cluster BwcHBwcHBwcHBwcHBwcHBw, this is cluster CAgICAgICAgICAgICAgICA: choose another folder, \
         or empty this one to join anew"
    );
}

#[test]
fn a_folder_of_apache_kafka_or_of_a_newer_ballast_is_refused() {
    let temp = TempDir::new().unwrap();
    let meta = "#\n#Sun Nov 29 21:04:41 UTC 2026\nnode.id=1\ndirectory.id=RWCwaVersc3s4eOvzsMYUg\nversion=1\n";
    std::fs::write(temp.path().join(META_FILE), meta).unwrap();
    assert_eq!(
        refusal(temp.path(), OWNER),
        "DIR was written by Apache Kafka, whose folders cannot be taken over: choose an empty folder and copy the topics"
    );
    std::fs::write(temp.path().join(META_FILE), "version=9\nballast.format=2\n").unwrap();
    assert_eq!(
        refusal(temp.path(), OWNER),
        "DIR is in format 2, this Ballast knows up to 1: use the newer one that wrote it"
    );
    std::fs::write(temp.path().join(META_FILE), "version=1\nballast.format=1\nnode.id=one\n").unwrap();
    assert_eq!(
        refusal(temp.path(), OWNER),
        "DIR/meta.properties, line 3: node.id is \"one\", which cannot be read: restore the file, or remove it \
         (the folder must then be emptied too, because whose it is would be unknown)"
    );
}

#[test]
fn logs_without_an_identity_are_refused() {
    let temp = TempDir::new().unwrap();
    std::fs::create_dir(temp.path().join("lost+found")).unwrap();
    drop(open(temp.path(), OWNER).unwrap());
    std::fs::remove_file(temp.path().join(META_FILE)).unwrap();
    std::fs::create_dir(temp.path().join("orders-0")).unwrap();
    assert_eq!(
        refusal(temp.path(), OWNER),
        "DIR holds orders-0 but no meta.properties: restore that file, or choose an empty folder"
    );
}

#[test]
fn partitions_are_found_by_the_names_of_their_folders() {
    let temp = TempDir::new().unwrap();
    let dir = open(temp.path(), OWNER).unwrap();
    let deleted = PartitionDir::new("gone", 3).with(DirState::Delete(Uuid([5; 16])));
    for name in ["orders-1", "orders-0", "lost+found", &deleted.to_string()] {
        std::fs::create_dir(temp.path().join(name)).unwrap();
    }
    std::fs::write(temp.path().join("file-0"), "").unwrap();
    let expected = [deleted, PartitionDir::new("orders", 0), PartitionDir::new("orders", 1)];
    assert_eq!(dir.partitions().unwrap(), expected);
}

#[test]
fn checkpoints_are_kept_and_a_broken_one_names_its_line() {
    let temp = TempDir::new().unwrap();
    let dir = open(temp.path(), OWNER).unwrap();
    let kind = CheckpointKind::HighWatermark;
    assert_eq!(dir.read_checkpoint(kind).unwrap(), []);
    dir.write_checkpoint(kind, [("orders", 0, 42), ("orders", 1, 0)]).unwrap();
    let entry = |partition, offset| CheckpointEntry { topic: "orders".to_owned(), partition, offset };
    assert_eq!(dir.read_checkpoint(kind).unwrap(), [entry(0, 42), entry(1, 0)]);
    std::fs::write(temp.path().join("replication-offset-checkpoint"), "0\n1\norders 0 x\n").unwrap();
    let error = dir.read_checkpoint(kind).unwrap_err().to_string();
    assert!(
        error.ends_with(
            "replication-offset-checkpoint, line 3: the offset is \"x\", expected a number from 0 up: restore the file, \
             or remove it (followers then ask their leaders what is committed)"
        ),
        "{error}"
    );
}

#[test]
fn a_clean_stop_is_seen_by_the_next_start_and_by_no_later_one() {
    let temp = TempDir::new().unwrap();
    let dir = open(temp.path(), OWNER).unwrap();
    assert_eq!(dir.take_clean_shutdown().unwrap(), None);
    let mark = CleanShutdown { broker_epoch: 12 };
    dir.close_clean(mark).unwrap();
    assert!(!temp.path().join(LOCK_FILE).exists());
    let dir = open(temp.path(), OWNER).unwrap();
    assert_eq!(dir.take_clean_shutdown().unwrap(), Some(mark));
    drop(dir);
    assert!(temp.path().join(LOCK_FILE).exists(), "stays after an unclean stop");
    let dir = open(temp.path(), OWNER).unwrap();
    assert_eq!(dir.take_clean_shutdown().unwrap(), None);
}

#[test]
fn a_partitions_own_small_files_are_read() {
    let temp = TempDir::new().unwrap();
    let disk = RealDisk::ephemeral();
    assert_eq!(read_partition_metadata(&*disk, temp.path()).unwrap(), None);
    write_partition_metadata(&*disk, temp.path(), CLUSTER).unwrap();
    assert_eq!(read_partition_metadata(&*disk, temp.path()).unwrap(), Some(CLUSTER));
    assert_eq!(read_epochs(&*disk, temp.path()).unwrap(), []);
    replace_small(&*disk, &temp.path().join(LEADER_EPOCH_FILE), format_epochs([(0, 0), (2, 35)]).as_bytes()).unwrap();
    assert_eq!(read_epochs(&*disk, temp.path()).unwrap(), [(0, 0), (2, 35)]);
}
