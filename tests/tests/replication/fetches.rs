//! A replica's fetch: who may, what it is told, and when it need not wait.

use std::time::Duration;

use ballast_tests::raw::messages::produce;
use ballast_tests::raw::rows::{PRODUCE, eventually};
use ballast_tests::raw::{Connection, Reply, batch, name};
use kafka_protocol::messages::delete_records_request::{DeleteRecordsPartition, DeleteRecordsTopic};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::{DeleteRecordsRequest, ListOffsetsRequest};

use crate::peer::{LEADER, Peer, create, leader, row};

const OFFSET_OUT_OF_RANGE: i16 = 1;
const NOT_LEADER_OR_FOLLOWER: i16 = 6;
const FENCED_LEADER_EPOCH: i16 = 74;
const UNKNOWN_LEADER_EPOCH: i16 = 75;

/// How long a fetch waits that the test answers itself.
const LONG_MS: i32 = 15_000;

#[test]
fn a_fetch_that_waits_is_answered_when_another_follower_moves_the_watermark() {
    let cluster = leader(&[]);
    let (mut second, mut third) = (Peer::join(&cluster, 2, ""), Peer::join(&cluster, 3, ""));
    let mut client = Connection::open(cluster.broker(LEADER).bootstrap());
    let topic = create(&mut client, "waits", &[1, 2, 3], &[]);
    client.start(PRODUCE, &produce(1, "waits", 0, Some(batch(&["a"]))));
    eventually("it is written", || (!second.fetch(topic, 0).records?.is_empty()).then_some(()));
    assert_eq!(second.fetch(topic, 1).high_watermark, 0, "broker 3 has nothing");
    let waits = second.request(topic, row(1).with_high_watermark(0)).with_max_wait_ms(LONG_MS);
    let asked = second.ask(&waits);
    assert_eq!(third.fetch(topic, 1).high_watermark, 1, "now every member has it");
    assert_eq!(second.answer(asked).high_watermark, 1);
    let knows = second.request(topic, row(1).with_high_watermark(1)).with_max_wait_ms(1);
    assert_eq!(second.fetched(&knows).high_watermark, 1, "nothing new: it waited");
}

#[test]
fn who_may_not_copy_is_told_why() {
    let cluster = leader(&[]);
    let mut peer = Peer::join(&cluster, 2, "");
    let mut client = Connection::open(cluster.broker(LEADER).bootstrap());
    let topic = create(&mut client, "may", &[1, 2], &[]);
    let epoch = peer.epoch;
    let mut code = |epoch, row| {
        peer.epoch = epoch;
        let request = peer.request(topic, row);
        peer.fetched(&request).error_code
    };
    assert_eq!(code(epoch, row(0)), 0);
    assert_eq!(code(-1, row(0)), 0, "one that does not say");
    assert_eq!(code(epoch - 1, row(0)), NOT_LEADER_OR_FOLLOWER, "a life that is over");
    assert_eq!(code(epoch, row(0).with_current_leader_epoch(1)), UNKNOWN_LEADER_EPOCH);
    assert_eq!(code(epoch, row(1)), OFFSET_OUT_OF_RANGE, "beyond the end");
    assert_eq!(code(epoch, row(0).with_last_fetched_epoch(7)), OFFSET_OUT_OF_RANGE, "an epoch that never was");

    peer.id = 3;
    let mut stranger = |row| {
        let request = peer.request(topic, row);
        peer.fetched(&request).error_code
    };
    assert_eq!(stranger(row(0)), UNKNOWN_LEADER_EPOCH);
    assert_eq!(stranger(row(0).with_current_leader_epoch(-1)), NOT_LEADER_OR_FOLLOWER);
    assert_ne!(stranger(row(0).with_current_leader_epoch(-1)), FENCED_LEADER_EPOCH);
}

#[test]
fn a_replica_that_asks_for_the_end_is_told_the_logs() {
    let cluster = leader(&[]);
    let _peer = Peer::join(&cluster, 2, "");
    let mut client = Connection::open(cluster.broker(LEADER).bootstrap());
    create(&mut client, "ends", &[1, 2], &[]);
    client.produced(PRODUCE, &produce(1, "ends", 0, Some(batch(&["a"]))));
    let mut end = |replica: i32| {
        let asked = ListOffsetsPartition::default().with_timestamp(-1);
        let topic = ListOffsetsTopic::default().with_name(name("ends")).with_partitions(vec![asked]);
        let request = ListOffsetsRequest::default().with_replica_id(replica.into()).with_topics(vec![topic]);
        client.call(7, &request).topics.remove(0).partitions.remove(0).offset
    };
    assert_eq!((end(-1), end(2)), (0, 1));
}

#[test]
fn records_are_deleted_once_every_replica_has_dropped_them() {
    let cluster = leader(&[]);
    let mut peer = Peer::join(&cluster, 2, "");
    let mut client = Connection::open(cluster.broker(LEADER).bootstrap());
    let topic = create(&mut client, "deletes", &[1, 2], &[]);
    client.produced(PRODUCE, &produce(1, "deletes", 0, Some(batch(&["a"]))));
    assert_eq!(peer.fetch(topic, 1).high_watermark, 1);
    let asked = DeleteRecordsPartition::default().with_offset(1);
    let asked = DeleteRecordsTopic::default().with_name(name("deletes")).with_partitions(vec![asked]);
    let request = DeleteRecordsRequest::default().with_timeout_ms(LONG_MS).with_topics(vec![asked]);
    let sent = client.start(2, &request);
    eventually("the leader drops it", || (peer.fetch(topic, 1).log_start_offset == 1).then_some(()));
    assert_eq!(client.reply_within(Duration::from_millis(1)), Reply::Silence, "the follower still has it");
    let dropped = peer.request(topic, row(1).with_log_start_offset(1));
    assert_eq!(peer.fetched(&dropped).error_code, 0);
    let row = client.finish::<DeleteRecordsRequest>(2, sent).topics.remove(0).partitions.remove(0);
    assert_eq!((row.error_code, row.low_watermark), (0, 1));
}
