//! A broker of three whose second log directory fails, or cannot be opened any more: it goes on with the first, what lived
//! in the second is led elsewhere or by nobody, nothing is begun anew beside what may still be there, and what is new is
//! made in the first.

use std::net::TcpListener;
use std::path::Path;

use ballast_tests::process::Serve;
use ballast_tests::raw::messages::produce;
use ballast_tests::raw::rows::{eventually, eventually_within};
use ballast_tests::raw::{Connection, batch, name};
use kafka_protocol::messages::create_topics_request::{CreatableReplicaAssignment, CreatableTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::metadata_response::MetadataResponsePartition as Row;
use kafka_protocol::messages::{CreateTopicsRequest, DescribeLogDirsRequest, MetadataRequest};

const KAFKA_STORAGE_ERROR: i16 = 56;
const LEADER_NOT_AVAILABLE: i16 = 5;
const SHARED: i32 = 4;
const ALONE: i32 = 2;
/// What follows from a failure is waited for so long.
const FOLLOWS_MS: i64 = 60_000;

fn node(folder: &Path, id: usize, controller: u16, voter: u16) -> Serve {
    let own = folder.join(id.to_string());
    let settings = [
        format!("node.id={id}"),
        format!("listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:{controller}"),
        "controller.listener.names=CONTROLLER".to_owned(),
        format!("controller.quorum.voters=1@127.0.0.1:{voter}"),
        format!("log.dirs={},{}", own.join("a").display(), own.join("b").display()),
        "broker.session.timeout.ms=3000".to_owned(),
        "broker.heartbeat.interval.ms=300".to_owned(),
    ];
    let pairs: Vec<String> = settings.into_iter().flat_map(|setting| ["--set".to_owned(), setting]).collect();
    Serve::launch(Vec::new(), &own.join("data"), "127.0.0.1:0", &pairs)
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("it has an address").port()
}

fn create(at: &Serve, topic: &str, partitions: i32, replicas: &[i32]) {
    let row = |index| {
        let row = CreatableReplicaAssignment::default().with_partition_index(index);
        row.with_broker_ids(replicas.iter().map(|id| (*id).into()).collect())
    };
    let wish = CreatableTopic::default()
        .with_name(name(topic))
        .with_num_partitions(-1)
        .with_replication_factor(-1)
        .with_assignments((0..partitions).map(row).collect());
    let request = CreateTopicsRequest::default().with_timeout_ms(30_000).with_topics(vec![wish]);
    let row = Connection::open(&at.bootstrap).call(7, &request).topics.remove(0);
    assert_eq!(row.error_code, 0, "{topic}: {:?}", row.error_message);
}

fn partitions(at: &Serve, topic: &str) -> Vec<Row> {
    let asked = MetadataRequestTopic::default().with_name(Some(name(topic)));
    let request = MetadataRequest::default().with_topics(Some(vec![asked]));
    let mut rows = Connection::open(&at.bootstrap).call(12, &request).topics.remove(0).partitions;
    rows.sort_by_key(|row| row.partition_index);
    rows
}

fn await_all(at: &Serve, topic: &str, what: &str, wanted: impl Fn(&Row) -> bool) -> Vec<Row> {
    eventually_within(FOLLOWS_MS, what, || {
        let rows = partitions(at, topic);
        (!rows.is_empty() && rows.iter().all(&wanted)).then_some(rows)
    })
}

fn ids(of: &[kafka_protocol::messages::BrokerId]) -> Vec<i32> {
    let mut ids: Vec<i32> = of.iter().map(|id| id.0).collect();
    ids.sort_unstable();
    ids
}

/// Partitions of a topic that have a folder in `dir`.
fn in_dir(dir: &Path, topic: &str) -> Vec<i32> {
    let entries = std::fs::read_dir(dir).expect("it can be listed").map(|entry| entry.expect("an entry").file_name());
    let of_topic = |name: &str| name.strip_prefix(topic)?.strip_prefix('-')?.parse().ok();
    let mut found: Vec<i32> = entries.filter_map(|name| of_topic(name.to_str()?)).collect();
    found.sort_unstable();
    found
}

fn append(at: &Serve, topic: &str, partition: i32, value: &str) -> i64 {
    eventually("it is taken", || {
        let request = produce(-1, topic, partition, Some(batch(&[value])));
        let row = Connection::open(&at.bootstrap).call(9, &request).responses.remove(0).partition_responses.remove(0);
        (row.error_code == 0).then_some(row.base_offset)
    })
}

#[test]
fn a_broker_starts_without_a_directory_that_cannot_be_opened_and_gets_it_back_as_it_was() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ports = [free_port(), free_port()];
    let launched = [1, 2].map(|id| node(folder.path(), id, ports[id - 1], ports[0]));
    let [one, mut two] = launched.map(Serve::awaited);
    create(&one, "shared", SHARED, &[2, 1]);
    create(&one, "alone", ALONE, &[2]);
    await_all(&one, "shared", "both are in sync", |row| ids(&row.isr_nodes) == [1, 2] && row.leader_id.0 == 2);
    await_all(&one, "alone", "it is led", |row| row.leader_id.0 == 2);
    (0..SHARED).for_each(|index| assert_eq!(append(&two, "shared", index, "first"), 0));
    (0..ALONE).for_each(|index| assert_eq!(append(&two, "alone", index, "first"), 0));
    let [a, b] = ["a", "b"].map(|dir| folder.path().join("2").join(dir));
    let (lost, kept) = (in_dir(&b, "shared"), in_dir(&a, "shared"));
    let lost_alone = in_dir(&b, "alone");
    assert!(!lost.is_empty() && !kept.is_empty() && lost_alone.len() == 1, "{lost:?} {kept:?} {lost_alone:?}");

    assert!(two.stop().success());
    let away = folder.path().join("away");
    std::fs::rename(&b, &away).expect("it can be taken away");
    std::fs::write(&b, "not a folder").expect("something else takes its place");
    two.restart();
    assert!(two.log().contains("cannot be opened and is offline"), "{}", two.log());
    let dirs = Connection::open(&two.bootstrap).call(4, &DescribeLogDirsRequest::default().with_topics(None)).results;
    let codes: Vec<(bool, i16)> = dirs.iter().map(|row| (row.log_dir.ends_with("/b"), row.error_code)).collect();
    assert_eq!(codes, [(false, 0), (true, KAFKA_STORAGE_ERROR)]);

    let is_lost = |row: &Row| lost.contains(&row.partition_index);
    let follows = |row: &Row| match is_lost(row) {
        true => (row.leader_id.0, ids(&row.isr_nodes), ids(&row.offline_replicas)) == (1, vec![1], vec![2]),
        false => row.leader_id.0 >= 1 && ids(&row.isr_nodes) == [1, 2] && row.offline_replicas.is_empty(),
    };
    await_all(&one, "shared", "what is lost is led by the other, the rest is in sync", follows);
    await_all(&one, "alone", "what is lost has no leader", |row| {
        let is_lost = lost_alone.contains(&row.partition_index);
        (row.error_code, row.leader_id.0) == if is_lost { (LEADER_NOT_AVAILABLE, -1) } else { (0, 2) }
    });
    for index in &lost {
        assert_eq!(append(&one, "shared", *index, "meanwhile"), 1);
    }
    assert_eq!((in_dir(&a, "shared"), in_dir(&a, "alone").len()), (kept, 1), "nothing is begun anew");
    // What is new goes where there is room for it.
    create(&one, "new", 2, &[2]);
    await_all(&one, "new", "it is led", |row| row.leader_id.0 == 2);
    assert_eq!(append(&two, "new", 1, "first"), 0);

    assert!(two.stop().success());
    std::fs::remove_file(&b).expect("it can be removed");
    std::fs::rename(&away, &b).expect("it can be put back");
    two.restart();
    await_all(&one, "shared", "all are in sync again", |row| ids(&row.isr_nodes) == [1, 2]);
    await_all(&one, "alone", "all are led again", |row| row.leader_id.0 == 2);
    for index in 0..ALONE {
        assert_eq!(append(&two, "alone", index, "second"), 1, "the first record is there");
    }
}

#[test]
fn what_is_made_as_a_directory_fails_is_made_in_another_one() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ports = [free_port(), free_port()];
    let launched = [1, 2].map(|id| node(folder.path(), id, ports[id - 1], ports[0]));
    let [one, two] = launched.map(Serve::awaited);
    create(&one, "before", SHARED, &[2, 1]);
    (0..SHARED).for_each(|index| assert_eq!(append(&two, "before", index, "first"), 0));
    let [a, b] = ["a", "b"].map(|dir| folder.path().join("2").join(dir));
    std::fs::rename(&b, folder.path().join("away")).expect("it can be taken away");
    std::fs::write(&b, "not a folder").expect("something else takes its place");

    create(&one, "new", SHARED, &[2, 1]);
    (0..SHARED).for_each(|index| assert_eq!(append(&two, "new", index, "first"), 0));
    assert_eq!(in_dir(&a, "new"), (0..SHARED).collect::<Vec<_>>(), "{}", two.log());
    await_all(&one, "new", "both have all of it", |row| ids(&row.isr_nodes) == [1, 2]);
    await_all(&one, "before", "what was there is led by who has it", |row| row.leader_id.0 >= 1);
}

#[test]
fn a_log_that_cannot_be_opened_is_waited_for_and_no_second_one_is_begun_in_another_directory() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let port = free_port();
    let mut one = node(folder.path(), 1, port, port).awaited();
    create(&one, "alone", SHARED, &[1]);
    (0..SHARED).for_each(|index| assert_eq!(append(&one, "alone", index, "first"), 0));
    assert!(one.stop().success());

    // The other directory then has fewer, and would be chosen for a new partition.
    let [a, b] = ["a", "b"].map(|dir| folder.path().join("1").join(dir));
    let (moved, broken) = (in_dir(&a, "alone")[0], in_dir(&b, "alone")[0]);
    let name = |index| format!("alone-{index}");
    std::fs::rename(a.join(name(moved)), b.join(name(moved))).expect("it can be moved");
    let log = b.join(name(broken)).join("00000000000000000000.log");
    std::fs::rename(&log, folder.path().join("log")).expect("it can be taken away");
    std::fs::create_dir(&log).expect("something else takes its place");
    one.restart();
    assert!(one.log().contains("a partition cannot be opened"), "{}", one.log());
    for index in (0..SHARED).filter(|index| *index != broken) {
        assert_eq!(append(&one, "alone", index, "second"), 1);
    }

    std::fs::remove_dir(&log).expect("it can be removed");
    std::fs::rename(folder.path().join("log"), &log).expect("it can be put back");
    assert_eq!(append(&one, "alone", broken, "second"), 1, "the first record is there: {}", one.log());
    assert!(!in_dir(&a, "alone").contains(&broken), "nothing was begun anew");
}
