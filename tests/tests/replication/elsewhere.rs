//! A broker that follows: what it sends to the leader, and what it answers itself.

use ballast_broker::embed::Cluster;
use ballast_tests::raw::messages::produce;
use ballast_tests::raw::rows::PRODUCE;
use ballast_tests::raw::{Connection, Fetch, Reply, batch, fetch_row, name};
use ballast_wire::fetch::FetchResponse;
use ballast_wire::frame::{ApiKey, parse_response_header};
use ballast_wire::produce::ProduceResponse;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::offset_for_leader_epoch_request::{OffsetForLeaderPartition, OffsetForLeaderTopic};
use kafka_protocol::messages::{ListOffsetsRequest, OffsetForLeaderEpochRequest};

use crate::peer::{LEADER, Peer, create_led_elsewhere, leader};

const NOT_LEADER_OR_FOLLOWER: i16 = 6;

/// The test leads, as broker 2; the real broker has a replica of `followed`, and none of `far`.
fn follower() -> (Cluster, Peer, Connection) {
    let cluster = leader(&[]);
    let peer = Peer::join(&cluster, 2, "rack-2");
    let mut client = Connection::open(cluster.broker(LEADER).bootstrap());
    create_led_elsewhere(&mut client, "followed", &[2, 1]);
    create_led_elsewhere(&mut client, "far", &[2]);
    (cluster, peer, client)
}

#[test]
fn a_produce_to_a_follower_learns_who_leads_and_where() {
    let (cluster, _peer, mut client) = follower();
    for topic in ["followed", "far"] {
        for version in [9, 10, PRODUCE] {
            client.start(version, &produce(1, topic, 0, Some(batch(&["a"]))));
            let frame = client.frame();
            let (_, body) = parse_response_header(&frame, ApiKey::PRODUCE, version).unwrap();
            let body = frame.slice(body.position()..);
            let response = ProduceResponse::decode(version, &body).unwrap();
            let row = &response.topics[0].partitions[0];
            assert_eq!(row.error_code, NOT_LEADER_OR_FOLLOWER, "{topic} v{version}");
            let hinted = row.current_leader.map(|hint| hint.leader_id);
            let at: Vec<_> = response.node_endpoints.iter().map(|at| (at.node_id, &*at.host, at.port)).collect();
            if version >= 10 {
                assert_eq!((hinted, &at[..]), (Some(2), &[(2, "127.0.0.1", 9)][..]), "{topic} v{version}");
                assert_eq!(response.node_endpoints[0].rack.as_deref(), Some("rack-2"));
            } else {
                assert_eq!((hinted, at), (None, vec![]), "{topic} v{version}");
            }
        }
        let mut silent = Connection::open(cluster.broker(LEADER).bootstrap());
        silent.start(PRODUCE, &produce(0, topic, 0, Some(batch(&["a"]))));
        assert_eq!(silent.reply(), Reply::Closed, "{topic}, acks=0");
    }
}

#[test]
fn a_fetch_is_served_by_a_follower_from_v11_on_and_sent_to_the_leader_where_there_is_no_replica() {
    let (_cluster, _peer, mut client) = follower();
    let mut fetch = |version: i16, topic: &str| {
        client.start(version, &Fetch::of(topic, vec![fetch_row(0, 0)]).0);
        let frame = client.frame();
        let (_, body) = parse_response_header(&frame, ApiKey::FETCH, version).unwrap();
        let body = frame.slice(body.position()..);
        let response = FetchResponse::decode(version, &body).unwrap();
        let row = &response.topics[0].partitions[0];
        (row.error_code, row.high_watermark)
    };
    assert_eq!(fetch(10, "followed"), (NOT_LEADER_OR_FOLLOWER, -1), "clients of that age ask leaders");
    assert_eq!(fetch(11, "followed"), (0, 0));
    assert_eq!(fetch(12, "followed"), (0, 0));
    assert_eq!(fetch(12, "far"), (NOT_LEADER_OR_FOLLOWER, -1));
}

#[test]
fn offsets_are_for_the_leader_to_tell_but_for_whoever_debugs() {
    let (_cluster, _peer, mut client) = follower();
    let mut end = |topic: &str, replica: i32| {
        let asked = ListOffsetsPartition::default().with_timestamp(-1);
        let topic = ListOffsetsTopic::default().with_name(name(topic)).with_partitions(vec![asked]);
        let request = ListOffsetsRequest::default().with_replica_id(replica.into()).with_topics(vec![topic]);
        let row = client.call(7, &request).topics.remove(0).partitions.remove(0);
        (row.error_code, row.offset)
    };
    assert_eq!(end("followed", -1), (NOT_LEADER_OR_FOLLOWER, -1));
    assert_eq!(end("followed", -2), (0, 0));
    assert_eq!(end("far", -2), (NOT_LEADER_OR_FOLLOWER, -1));
    for replica in [-1, -2] {
        let asked = OffsetForLeaderPartition::default().with_current_leader_epoch(-1);
        let topic = OffsetForLeaderTopic::default().with_topic(name("followed")).with_partitions(vec![asked]);
        let request = OffsetForLeaderEpochRequest::default().with_replica_id(replica.into()).with_topics(vec![topic]);
        let row = client.call(4, &request).topics.remove(0).partitions.remove(0);
        assert_eq!(row.error_code, NOT_LEADER_OR_FOLLOWER, "replica {replica}");
    }
}

#[test]
fn deleting_records_is_for_the_leader() {
    let (_cluster, _peer, mut client) = follower();
    assert_eq!(client.delete_records("followed", 0, 0).error_code, NOT_LEADER_OR_FOLLOWER);
}
