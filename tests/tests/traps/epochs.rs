//! Leader epochs: who is behind, who is ahead, and where two histories part.

use ballast_tests::process::Serve;
use ballast_tests::raw::rows::{FETCH, eventually};
use ballast_tests::raw::{Connection, Fetch, batch, fetch_row, name};
use ballast_tests::target::shared;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::offset_for_leader_epoch_request::{OffsetForLeaderPartition, OffsetForLeaderTopic};
use kafka_protocol::messages::offset_for_leader_epoch_response::EpochEndOffset;
use kafka_protocol::messages::{MetadataRequest, OffsetForLeaderEpochRequest};

const FENCED_LEADER_EPOCH: i16 = 74;
const UNKNOWN_LEADER_EPOCH: i16 = 75;

fn end_of(
    connection: &mut Connection,
    version: i16,
    topic: &str,
    partition: i32,
    current: i32,
    epoch: i32,
) -> EpochEndOffset {
    let row = OffsetForLeaderPartition::default()
        .with_partition(partition)
        .with_current_leader_epoch(current)
        .with_leader_epoch(epoch);
    let topic = OffsetForLeaderTopic::default().with_topic(name(topic)).with_partitions(vec![row]);
    let mut request = OffsetForLeaderEpochRequest::default().with_topics(vec![topic]);
    if version >= 3 {
        request.replica_id = (-1).into();
    }
    connection.call(version, &request).topics.remove(0).partitions.remove(0)
}

/// The leader epoch of partition 0 of a topic, once it has a leader.
fn leader_epoch(connection: &mut Connection, topic: &str) -> i32 {
    let row = MetadataRequestTopic::default().with_name(Some(name(topic)));
    let request = MetadataRequest::default().with_topics(Some(vec![row])).with_allow_auto_topic_creation(false);
    eventually("the partition has a leader", || {
        let response = connection.call(12, &request);
        let partition = response.topics.first()?.partitions.first()?;
        (partition.error_code == 0 && partition.leader_id.0 >= 0).then_some(partition.leader_epoch)
    })
}

#[test]
fn a_client_ahead_of_the_leader_is_told_so_and_one_without_an_epoch_is_served() {
    let broker = shared();
    let topic = broker.topic("ahead", 1, &[]);
    let mut connection = broker.connect();
    connection.append(&topic.name, 0, batch(&["a"]));
    for (epoch, expected) in [(-1, 0), (-2, 0), (0, 0), (1, UNKNOWN_LEADER_EPOCH), (i32::MAX, UNKNOWN_LEADER_EPOCH)] {
        let row = fetch_row(0, 0).with_current_leader_epoch(epoch);
        for version in [9, FETCH] {
            let fetched = connection.fetched(version, &Fetch::of(&topic.name, vec![row.clone()]));
            assert_eq!(fetched.error_code, expected, "Fetch v{version}, epoch {epoch}");
        }
        if epoch != -2 {
            let row = end_of(&mut connection, 4, &topic.name, 0, epoch, 0);
            assert_eq!(row.error_code, expected, "OffsetForLeaderEpoch, epoch {epoch}");
        }
    }
}

#[test]
fn the_end_of_an_epoch_is_told_in_every_version() {
    let broker = shared();
    let topic = broker.topic("ends", 1, &[]);
    let mut connection = broker.connect();
    connection.append(&topic.name, 0, batch(&["a", "b", "c"]));
    for version in 2..=4 {
        for (epoch, expected) in [(0, (0, 0, 3)), (1, (0, -1, -1)), (-1, (0, -1, -1))] {
            let row = end_of(&mut connection, version, &topic.name, 0, -1, epoch);
            assert_eq!((row.error_code, row.leader_epoch, row.end_offset), expected, "v{version}, epoch {epoch}");
        }
        let missing = end_of(&mut connection, version, &topic.name, 7, -1, 0);
        assert_eq!((missing.error_code, missing.leader_epoch, missing.end_offset), (3, -1, -1), "v{version}");
    }
}

#[test]
fn a_reader_beyond_the_end_of_its_epoch_learns_where_to_cut() {
    let broker = shared();
    let topic = broker.topic("diverged", 1, &[]);
    let mut connection = broker.connect();
    connection.append(&topic.name, 0, batch(&["a", "b", "c"]));
    let mut fetch = |offset, last_fetched| {
        let row = fetch_row(0, offset).with_last_fetched_epoch(last_fetched);
        connection.fetched(FETCH, &Fetch::of(&topic.name, vec![row]).wait(1, 15_000))
    };
    let same = fetch(0, 0);
    assert_eq!((same.error_code, same.diverging_epoch.epoch), (0, -1), "the histories agree");
    let diverged = fetch(5, 0);
    assert_eq!(diverged.error_code, 0);
    assert_eq!((diverged.diverging_epoch.epoch, diverged.diverging_epoch.end_offset), (0, 3));
    assert_eq!(diverged.records.map_or(0, |records| records.len()), 0);
    assert_eq!((diverged.high_watermark, diverged.log_start_offset), (3, 0));
    let unknown = fetch(0, 1);
    assert_eq!(unknown.error_code, 1, "an epoch that never was");
}

#[test]
fn a_leader_that_comes_back_fences_those_who_knew_it_before() {
    if !shared().is_ballast() {
        return; // Somebody else's broker is not ours to restart.
    }
    let mut serve = Serve::start(&[]);
    let topic = "fenced";
    let mut connection = Connection::open(&serve.bootstrap);
    connection.create_topic(topic, 1, &[]);
    connection.append(topic, 0, batch(&["a", "b", "c"]));
    let old = leader_epoch(&mut connection, topic);
    serve.kill();
    serve.restart();

    let mut connection = Connection::open(&serve.bootstrap);
    let new = leader_epoch(&mut connection, topic);
    assert!(new > old, "leader epoch {new} after {old}: the records it may have lost must be told apart");
    connection.append(topic, 0, batch(&["d"]));
    for (epoch, expected) in [(old, FENCED_LEADER_EPOCH), (new, 0), (new + 1, UNKNOWN_LEADER_EPOCH)] {
        let row = fetch_row(0, 0).with_current_leader_epoch(epoch);
        let row = connection.fetched(FETCH, &Fetch::of(topic, vec![row]));
        assert_eq!(row.error_code, expected, "epoch {epoch} where {new} is current");
        assert_eq!(end_of(&mut connection, 4, topic, 0, epoch, new).error_code, expected, "epoch {epoch}");
    }
    assert_eq!(end_of(&mut connection, 4, topic, 0, -1, old).end_offset, 3, "where the old epoch ended");
    assert_eq!(end_of(&mut connection, 4, topic, 0, -1, new).end_offset, 4);

    let row = fetch_row(0, 4).with_last_fetched_epoch(old);
    let diverged = connection.fetched(FETCH, &Fetch::of(topic, vec![row]));
    assert_eq!((diverged.diverging_epoch.epoch, diverged.diverging_epoch.end_offset), (old, 3));
    assert_eq!(diverged.records.map_or(0, |records| records.len()), 0);
}

#[test]
fn a_replica_that_is_not_one_is_turned_away() {
    let broker = shared();
    let topic = broker.topic("stranger", 1, &[]);
    let mut connection = broker.connect();
    connection.append(&topic.name, 0, batch(&["a"]));
    for (epoch, expected) in [(-1, 6), (0, UNKNOWN_LEADER_EPOCH)] {
        let row = fetch_row(0, 0).with_current_leader_epoch(epoch).with_log_start_offset(0);
        let mut fetch = Fetch::of(&topic.name, vec![row]);
        fetch.0.replica_id = 4711.into();
        let row = connection.fetched(FETCH, &fetch);
        assert_eq!((row.error_code, row.records.map_or(0, |records| records.len())), (expected, 0), "epoch {epoch}");
    }
}
