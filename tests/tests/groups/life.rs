//! What a group's coordinator remembers: over a stop, over kill -9, and when its disk fails.

use std::sync::Arc;

use ballast_broker::session::AllowAll;
use ballast_tests::disk::{Call, Repeat, SimDisk, Trouble};
use ballast_tests::embedded::Embedded;
use ballast_tests::process::Serve;
use ballast_tests::raw::groups::{COMMIT, Member, commit};
use ballast_tests::raw::rows::eventually;
use ballast_tests::raw::{Connection, name};
use kafka_protocol::messages::DeleteTopicsRequest;

const SETTINGS: [&str; 2] = ["group.initial.rebalance.delay.ms=0", "group.min.session.timeout.ms=1000"];

/// Offset, leader epoch and text that a group has committed for partition 0 of `t`.
fn committed(bootstrap: &str, group: &str) -> (i64, i32, Option<String>) {
    let mut connection = Connection::open(bootstrap);
    connection.coordinator(group);
    let row = connection.committed(group, "t", &[0]).remove(0);
    assert_eq!(row.error_code, 0);
    (row.committed_offset, row.committed_leader_epoch, row.metadata.map(|text| text.to_string()))
}

#[test]
fn a_commit_comes_back_whole_after_a_stop_and_after_kill_nine() {
    let mut broker = Serve::start(&SETTINGS);
    let mut connection = Connection::open(&broker.bootstrap);
    connection.create_topic("t", 1, &[]);
    connection.coordinator("g");
    let mut request = commit("g", "", -1, "t", &[(0, 5, Some("m-1"))]);
    request.topics[0].partitions[0].committed_leader_epoch = 0;
    assert_eq!(connection.commit(COMMIT, &request), [0]);
    let whole = (5, 0, Some("m-1".to_owned()));
    assert_eq!(committed(&broker.bootstrap, "g"), whole);
    assert!(broker.stop().success(), "{}", broker.log());
    broker.restart();
    assert_eq!(committed(&broker.bootstrap, "g"), whole, "after a stop");
    broker.kill();
    broker.restart();
    assert_eq!(committed(&broker.bootstrap, "g"), whole, "after kill -9");
}

#[test]
fn no_answered_commit_is_lost_by_kill_nine() {
    let mut broker = Serve::start(&SETTINGS);
    Connection::open(&broker.bootstrap).create_topic("t", 1, &[]);
    let mut next = 0;
    for round in 0..5 {
        let mut connection = Connection::open(&broker.bootstrap);
        connection.coordinator("g");
        for _ in 0..200 {
            next += 1;
            assert_eq!(connection.commit(COMMIT, &commit("g", "", -1, "t", &[(0, next, None)])), [0]);
        }
        // Sent, and nobody waits for the answer.
        connection.start(COMMIT, &commit("g", "", -1, "t", &[(0, next + 1, None)]));
        broker.kill();
        broker.restart();
        let found = committed(&broker.bootstrap, "g").0;
        assert!([next, next + 1].contains(&found), "round {round}: {found} is committed, {next} was answered");
        next = next.max(found);
    }
}

#[test]
fn a_group_goes_on_with_its_generation_after_a_restart() {
    let mut broker = Serve::start(&SETTINGS);
    let mut connection = Connection::open(&broker.bootstrap);
    connection.create_topic("t", 1, &[]);
    connection.coordinator("g");
    let mut member = Member::new(connection, "g");
    member.settle_alone();
    broker.kill();
    broker.restart();
    member.connection = Connection::open(&broker.bootstrap);
    member.connection.coordinator("g");
    // Its partition is found before it is opened.
    let code = eventually("there is a coordinator", || Some(member.heartbeat()).filter(|code| *code != 16));
    assert_eq!(code, 0, "while the group is loaded, and when its session begins anew");
    let synced = eventually("the group is loaded", || Some(member.sync(&[])).filter(|synced| synced.error_code != 14));
    assert_eq!(&synced.assignment[..], b"everything");
    assert_eq!(member.heartbeat(), 0);
    assert_eq!(member.commit("t", 0, 3), 0);
}

#[test]
fn a_partition_is_loaded_read_by_read_in_every_codec() {
    for codec in 0..=4 {
        let codec = format!("offsets.topic.compression.codec={codec}");
        // The smallest buffer: each read gives one batch.
        let mut broker = Serve::start(&[&codec, "offsets.load.buffer.size=1", "offsets.topic.num.partitions=1"]);
        let mut connection = Connection::open(&broker.bootstrap);
        connection.create_topic("t", 1, &[]);
        connection.coordinator("g");
        for offset in 0..50 {
            let group = format!("g-{}", offset % 7);
            assert_eq!(connection.commit(COMMIT, &commit(&group, "", -1, "t", &[(0, offset, None)])), [0]);
        }
        broker.kill();
        broker.restart();
        let found: Vec<i64> = (0..7).map(|group| committed(&broker.bootstrap, &format!("g-{group}")).0).collect();
        assert_eq!(found, [49, 43, 44, 45, 46, 47, 48], "{codec}");
    }
}

#[test]
fn a_deleted_offsets_topic_takes_its_groups_with_it_and_is_made_again() {
    let broker = Serve::start(&["offsets.topic.num.partitions=3"]);
    let mut connection = Connection::open(&broker.bootstrap);
    connection.create_topic("t", 1, &[]);
    connection.coordinator("g");
    assert_eq!(connection.commit(COMMIT, &commit("g", "", -1, "t", &[(0, 5, None)])), [0]);
    let delete = DeleteTopicsRequest::default().with_topic_names(vec![name("__consumer_offsets")]);
    assert_eq!(connection.call(5, &delete.with_timeout_ms(9_000)).responses[0].error_code, 0);
    let refused = connection.call(COMMIT, &commit("g", "", -1, "t", &[(0, 6, None)]));
    assert_eq!(refused.topics[0].partitions[0].error_code, 16);
    assert_eq!(committed(&broker.bootstrap, "g").0, -1);
    assert_eq!(connection.commit(COMMIT, &commit("g", "", -1, "t", &[(0, 7, None)])), [0]);
    assert_eq!(committed(&broker.bootstrap, "g").0, 7);
}

#[test]
fn a_stop_does_not_wait_for_joins_that_wait() {
    let broker = Embedded::start(&["listeners=PLAINTEXT://127.0.0.1:0"], Arc::new(AllowAll));
    let bootstrap = format!("127.0.0.1:{}", broker.broker().listeners()[0].port);
    let mut connection = Connection::open(&bootstrap);
    connection.coordinator("g");
    // The initial delay is three seconds.
    let mut member = Member::new(connection, "g");
    let joining = member.start_join();
    let mut other = Connection::open(&bootstrap);
    eventually("the group waits", || (other.offsets("g", None).error_code == 0).then_some(()));
    broker.stop();
    let answer = member.connection.reply();
    assert_ne!(answer, ballast_tests::raw::Reply::Silence, "request {joining}");
}

#[test]
fn a_commit_that_could_not_be_written_is_refused_and_not_seen() {
    let disk = SimDisk::new(7);
    let broker = Embedded::start_on(disk.shared(), &["listeners=PLAINTEXT://127.0.0.1:0"], Arc::new(AllowAll));
    let bootstrap = format!("127.0.0.1:{}", broker.broker().listeners()[0].port);
    let mut connection = Connection::open(&bootstrap);
    connection.create_topic("t", 1, &[]);
    connection.coordinator("g");
    assert_eq!(connection.commit(COMMIT, &commit("g", "", -1, "t", &[(0, 1, None)])), [0]);
    disk.fail(Call::Write, "__consumer_offsets", Trouble::Full, Repeat::Always);
    let refused = connection.call(COMMIT, &commit("g", "", -1, "t", &[(0, 2, None)]));
    assert_eq!(refused.topics[0].partitions[0].error_code, 16, "the client looks for the coordinator again");
    disk.heal();
    // It is loaded again from what is written.
    assert_eq!(committed(&bootstrap, "g").0, 1);
    assert_eq!(connection.commit(COMMIT, &commit("g", "", -1, "t", &[(0, 3, None)])), [0]);
    assert_eq!(committed(&bootstrap, "g").0, 3);
    broker.stop();
}

#[test]
fn a_topic_deleted_while_nothing_can_be_written_is_forgotten_later() {
    let disk = SimDisk::new(7);
    let broker = Embedded::start_on(disk.shared(), &["listeners=PLAINTEXT://127.0.0.1:0"], Arc::new(AllowAll));
    let bootstrap = format!("127.0.0.1:{}", broker.broker().listeners()[0].port);
    let mut connection = Connection::open(&bootstrap);
    connection.create_topic("t", 1, &[]);
    connection.coordinator("g");
    assert_eq!(connection.commit(COMMIT, &commit("g", "", -1, "t", &[(0, 1, None)])), [0]);
    disk.fail(Call::Write, "__consumer_offsets", Trouble::Full, Repeat::Always);
    let delete = DeleteTopicsRequest::default().with_topic_names(vec![name("t")]).with_timeout_ms(9_000);
    assert_eq!(connection.call(5, &delete).responses[0].error_code, 0);
    disk.heal();
    connection.create_topic("t", 1, &[]);
    eventually("the commits of the old topic are gone", || {
        (connection.committed("g", "t", &[0])[0].committed_offset == -1).then_some(())
    });
    broker.stop();
}
