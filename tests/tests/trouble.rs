//! Storage in trouble: a full disk, a folder that cannot be used, one that belongs to somebody else, damaged files.
//!
//! Each ends in one clear line with the way out, nothing is lost, and what can go on goes on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ballast_tests::foreign;
use ballast_tests::process::{Serve, ballast};
use ballast_tests::raw::batches::batch_of_bytes;
use ballast_tests::raw::rows::eventually;
use ballast_tests::raw::{Connection, batch, name};
use kafka_protocol::messages::DeleteTopicsRequest;

/// Kafka's KAFKA_STORAGE_ERROR.
const STORAGE_ERROR: i16 = 56;
const PRODUCE: i16 = 9;

/// What a broker says that cannot start on `data`.
fn refusal(data: &Path, more: &[&str]) -> String {
    let mut command = Command::new(ballast());
    command.arg("serve").arg("--data-dir").arg(data).args(["--listen", "127.0.0.1:0", "--http", "off"]).args(more);
    let Output { status, stdout, stderr } = command.output().expect("it runs");
    let text = format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert_eq!(status.code(), Some(1), "{text}");
    let line = text.lines().last().expect("it says why").to_owned();
    assert!(line.starts_with("ballast: "), "{text}");
    line
}

#[test]
fn a_second_broker_on_a_folder_is_refused_and_the_first_goes_on() {
    let broker = Serve::start(&[]);
    let line = refusal(broker.data(), &[]);
    let folder = broker.data().display().to_string();
    assert!(line.contains(&folder) && line.contains("in use by another broker"), "{line}");
    let mut connection = Connection::open(&broker.bootstrap);
    connection.create_topic("t", 1, &[]);
    assert_eq!(connection.append("t", 0, batch(&["a"])), 0);
}

#[test]
fn a_folder_of_another_node_is_refused() {
    let mut broker = Serve::start(&[]);
    assert!(broker.stop().success());
    let line = refusal(broker.data(), &["--node-id", "7"]);
    assert!(line.contains("belongs to node 1") && line.contains("this is node 7"), "{line}");
    broker.restart();
}

#[test]
fn a_folder_of_apache_kafka_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let meta = "#\n#Sun Nov 29 21:04:41 UTC 2026\nnode.id=1\ndirectory.id=RWCwaVersc3s4eOvzsMYUg\nversion=1\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\n";
    fs::write(folder.path().join("meta.properties"), meta).expect("it can be written");
    let line = refusal(folder.path(), &[]);
    assert!(line.contains("written by Apache Kafka") && line.contains("choose an empty folder"), "{line}");
    assert_eq!(
        fs::read_to_string(folder.path().join("meta.properties")).expect("it is there"),
        meta,
        "nothing is changed"
    );
}

#[test]
fn a_data_path_that_is_no_folder_is_named() {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let line = refusal(&file.path().join("data"), &[]);
    assert!(line.contains(&file.path().display().to_string()), "{line}");
}

#[test]
fn an_address_in_use_is_named() {
    let broker = Serve::start(&[]);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = Command::new(ballast());
    command.arg("serve").arg("--data-dir").arg(folder.path().join("data")).args(["--http", "off"]);
    let output = command.args(["--listen", &broker.bootstrap]).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains(&broker.bootstrap) && text.contains("listen"), "{text}");
}

#[test]
fn a_partition_that_no_topic_knows_is_kept_out_of_the_way() {
    let mut broker = Serve::start(&[]);
    Connection::open(&broker.bootstrap).create_topic("known", 1, &[]);
    assert!(broker.stop().success());
    let foreign = broker.data().join("unknown-3");
    fs::create_dir(&foreign).expect("it can be made");
    fs::write(foreign.join("00000000000000000000.log"), b"").expect("it can be written");
    broker.restart();
    let names: Vec<String> = fs::read_dir(broker.data())
        .expect("it can be listed")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    let stray = |name: &String| name.starts_with("unknown-3.") && name.ends_with("-stray");
    assert!(names.iter().any(stray) && !names.contains(&"unknown-3".to_owned()), "{names:?}");
    assert!(broker.log().contains("unknown-3"), "{}", broker.log());
}

#[test]
fn a_folder_that_does_not_say_whose_it_is_is_taken_only_if_it_is_empty() {
    let mut broker = Serve::start(&[]);
    let mut connection = Connection::open(&broker.bootstrap);
    connection.create_topic("t", 2, &[]);
    assert_eq!(connection.append("t", 0, batch(&["a"])), 0);
    broker.kill();
    // What a power cut leaves before the first sync of a log.
    for folder in ["t-0", "t-1"] {
        fs::write(broker.data().join(folder).join("partition.metadata"), b"").expect("it can be written");
    }
    broker.restart();
    let mut connection = Connection::open(&broker.bootstrap);
    assert_eq!(connection.bounds("t", 0), (0, 0), "the records may be another topic's");
    assert_eq!(connection.append("t", 1, batch(&["b"])), 0);
    let strays = |prefix: &str| {
        let entries = fs::read_dir(broker.data()).expect("it can be listed");
        let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with(prefix) && name.ends_with("-stray")).count()
    };
    assert_eq!((strays("t-0."), strays("t-1.")), (1, 0), "kept, out of the way");
}

/// A file system of its own, unmounted when it is dropped.
struct SmallDisk {
    folder: tempfile::TempDir,
}

impl SmallDisk {
    /// `None`, and said so, where mounting is not allowed.
    fn new(test: &str, mebibytes: u32) -> Option<SmallDisk> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let size = format!("size={mebibytes}m");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder.path()).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(SmallDisk { folder });
        }
        foreign::skip(test, "the right to mount a file system");
        None
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A lazy unmount: a broker that is being killed may still hold it.
        let _ = Command::new("umount").arg("-l").arg(self.folder.path()).output();
    }
}

/// Produces to `topic` until it is refused; how many batches were acknowledged.
fn fill(connection: &mut Connection, topic: &str) -> i64 {
    for count in 0.. {
        let row = connection.produce(PRODUCE, topic, 0, batch_of_bytes(900_000));
        if row.error_code != 0 {
            assert_eq!(row.error_code, STORAGE_ERROR, "a full disk is a storage error");
            return count;
        }
        assert_eq!(row.base_offset, count, "offsets have no hole");
    }
    unreachable!("a small disk fills up")
}

#[test]
fn a_full_disk_refuses_produce_serves_fetch_and_is_used_again_when_there_is_room() {
    let Some(disk) = SmallDisk::new("a full disk", 48) else { return };
    let settings = ["ballast.disk.reserve.bytes=0", "log.segment.delete.delay.ms=0", "log.segment.bytes=4194304"];
    let mut broker = Serve::start_in(&disk.data(), "127.0.0.1:0", &settings);
    let mut connection = Connection::open(&broker.bootstrap);
    connection.create_topic("spare", 1, &[]);
    connection.create_topic("kept", 1, &[]);
    for _ in 0..10 {
        connection.append("spare", 0, batch_of_bytes(900_000));
    }
    let acknowledged = fill(&mut connection, "kept");
    assert!(acknowledged > 10, "{acknowledged} batches fitted");
    assert_eq!(connection.fetch("kept", 0, acknowledged - 1).error_code, 0, "fetches go on");
    assert_eq!(connection.bounds("kept", 0), (0, acknowledged));

    let request = DeleteTopicsRequest::default().with_topic_names(vec![name("spare")]).with_timeout_ms(20_000);
    assert_eq!(connection.call(5, &request).responses[0].error_code, 0, "deleting goes on");
    let more = eventually("there is room again", || {
        let row = connection.produce(PRODUCE, "kept", 0, batch_of_bytes(900_000));
        (row.error_code == 0).then_some(row.base_offset)
    });
    assert_eq!(more, acknowledged, "refused batches took no offset");
    broker.kill();
    broker.restart();
    assert_eq!(Connection::open(&broker.bootstrap).bounds("kept", 0), (0, acknowledged + 1), "{}", broker.log());
}

#[test]
fn a_reserve_is_kept_for_the_broker_itself() {
    let Some(disk) = SmallDisk::new("the disk's reserve", 48) else { return };
    let broker = Serve::start_in(&disk.data(), "127.0.0.1:0", &["ballast.disk.reserve.bytes=60000000"]);
    let mut connection = Connection::open(&broker.bootstrap);
    connection.create_topic("t", 1, &[]);
    let refused = eventually("the reserve is looked at", || {
        let row = connection.produce(PRODUCE, "t", 0, batch(&["a"]));
        (row.error_code != 0).then_some(row)
    });
    assert_eq!(refused.error_code, STORAGE_ERROR);
    let words = refused.error_message.expect("it says why").to_string();
    assert!(words.contains("ballast.disk.reserve.bytes"), "{words}");
    connection.create_topic("another", 1, &[]);
}
