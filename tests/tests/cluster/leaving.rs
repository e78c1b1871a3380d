//! A broker that stops in order: its leaderships leave before it does, and clients notice at most that they have moved.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use ballast_broker::embed::Cluster;
use ballast_tests::raw::connection::encoded;
use ballast_tests::raw::messages::produce;
use ballast_tests::raw::rows::{FETCH, PRODUCE, records_of};
use ballast_tests::raw::{Connection, Fetch, Reply, batch, fetch_row};
use ballast_wire::frame::{ApiKey, parse_response_header};
use bytes::Bytes;
use kafka_protocol::messages::ProduceResponse;
use kafka_protocol::protocol::Decodable as _;

use crate::ask::{await_partitions, ids, partitions};

const TOPIC: &str = "orders";
const PARTITIONS: i32 = 3;
const NOT_LEADER_OR_FOLLOWER: i16 = 6;

/// One produce with acks=all: its code, `None` if the connection ended instead.
fn try_produce(connection: &mut Connection, partition: i32, value: &str) -> Option<i16> {
    let body = encoded(PRODUCE, &produce(-1, TOPIC, partition, Some(batch(&[value]))));
    connection.request(ApiKey::PRODUCE, PRODUCE, &body).ok()?;
    let Reply::Frame(frame) = connection.reply() else { return None };
    let (_, body) = parse_response_header(&frame, ApiKey::PRODUCE, PRODUCE).expect("a header");
    let mut body: Bytes = frame.slice(body.position()..);
    let answer = ProduceResponse::decode(&mut body, PRODUCE).expect("an answer");
    Some(answer.responses[0].partition_responses[0].error_code)
}

/// Produces to one partition until `done`, asking `guide` who leads. What was acknowledged, and the codes of what was not.
fn write(cluster: &Cluster, guide: i32, partition: i32, done: &AtomicBool) -> (Vec<String>, BTreeSet<i16>) {
    let leader = || partitions(cluster.broker(guide), TOPIC)[partition as usize].leader_id.0;
    let connect = || Connection::open(cluster.broker(leader()).bootstrap());
    let (mut acknowledged, mut refused) = (Vec::new(), BTreeSet::new());
    let mut connection = connect();
    for n in 0.. {
        if done.load(Ordering::Relaxed) {
            break;
        }
        let value = format!("{partition}/{n}");
        match try_produce(&mut connection, partition, &value) {
            Some(0) => acknowledged.push(value),
            code => {
                refused.extend(code);
                connection = connect();
            }
        }
    }
    (acknowledged, refused)
}

fn read(cluster: &Cluster, leader: i32, partition: i32) -> Vec<String> {
    let (mut connection, mut values) = (Connection::open(cluster.broker(leader).bootstrap()), Vec::new());
    let mut next = 0;
    loop {
        let row = connection.fetched(FETCH, &Fetch::of(TOPIC, vec![fetch_row(partition, next)]));
        let records = records_of(&row);
        let Some((last, _)) = records.last() else { return values };
        next = last + 1;
        values.extend(records.into_iter().map(|(_, value)| value));
    }
}

#[test]
fn a_broker_that_stops_hands_over_what_it_leads_and_no_partition_is_without_a_leader() {
    let cluster = Cluster::builder()
        .topic_with(TOPIC, PARTITIONS, &[("min.insync.replicas", "2")])
        .start_blocking()
        .expect("it starts");
    let whole = |rows: &[_]| rows.iter().all(|row: &crate::ask::Row| row.isr_nodes.len() == 3);
    let before = await_partitions(&cluster, TOPIC, "all are in sync", whole);
    let leaving = before[0].leader_id.0;
    let guide = (1..=3).find(|id| *id != leaving).expect("there are three");
    let done = AtomicBool::new(false);
    let (written, watched) = std::thread::scope(|scope| {
        let (cluster, done) = (&cluster, &done);
        let writers: Vec<_> =
            (0..PARTITIONS).map(|index| scope.spawn(move || write(cluster, guide, index, done))).collect();
        let watcher = scope.spawn(move || {
            let mut leaderless = 0;
            while !done.load(Ordering::Relaxed) {
                leaderless += partitions(cluster.broker(guide), TOPIC).iter().filter(|row| row.leader_id.0 < 0).count();
            }
            leaderless
        });
        cluster.broker(leaving).stop_blocking();
        done.store(true, Ordering::Relaxed);
        let written: Vec<_> = writers.into_iter().map(|writer| writer.join().expect("it writes")).collect();
        (written, watcher.join().expect("it looks"))
    });
    assert_eq!(watched, 0, "looks at a partition without a leader");
    let left = |rows: &[crate::ask::Row]| rows.iter().all(|row| !ids(&row.isr_nodes).contains(&leaving));
    let after = await_partitions(&cluster, TOPIC, "it is in no ISR", left);
    for (index, (was, is)) in before.iter().zip(&after).enumerate() {
        assert_ne!(is.leader_id.0, leaving);
        let moved = i32::from(was.leader_id.0 == leaving);
        assert_eq!(is.leader_epoch, was.leader_epoch + moved, "partition {index} moved once, or not at all");
        assert_eq!(ids(&is.offline_replicas), [leaving]);
    }
    for (index, (acknowledged, refused)) in (0..).zip(&written) {
        let moved = BTreeSet::from([NOT_LEADER_OR_FOLLOWER]);
        assert!(refused.is_subset(&moved), "a client of partition {index} was told {refused:?}");
        let values = read(&cluster, after[index as usize].leader_id.0, index);
        let there: BTreeSet<&String> = values.iter().collect();
        let lost: Vec<&String> = acknowledged.iter().filter(|value| !there.contains(value)).collect();
        assert!(lost.is_empty() && !acknowledged.is_empty(), "partition {index} lost {lost:?}");
    }
}

#[test]
fn a_broker_that_holds_the_only_replica_stops_all_the_same_and_leads_it_again() {
    let cluster = Cluster::builder()
        .setting("default.replication.factor", "1")
        .topic(TOPIC, PARTITIONS)
        .start_blocking()
        .expect("it starts");
    let before = await_partitions(&cluster, TOPIC, "all are led", |rows| rows.iter().all(|row| row.leader_id.0 > 0));
    let (index, leaving) = (before[0].partition_index, before[0].leader_id.0);
    cluster.broker(leaving).stop_blocking();
    let led_by = |id: i32| move |rows: &[crate::ask::Row]| rows[index as usize].leader_id.0 == id;
    let gone = await_partitions(&cluster, TOPIC, "nobody leads it", led_by(-1));
    let row = &gone[index as usize];
    assert_eq!((row.error_code, ids(&row.replica_nodes)), (LEADER_NOT_AVAILABLE, vec![leaving]));
    assert_eq!(row.leader_epoch, before[0].leader_epoch + 1, "the epoch is told all the same");
    cluster.restart_blocking().expect("it comes back");
    await_partitions(&cluster, TOPIC, "it leads again", led_by(leaving));
}

const LEADER_NOT_AVAILABLE: i16 = 5;
