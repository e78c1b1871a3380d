//! Consumers that name their rack (KIP-392).

use ballast_tests::raw::messages::produce;
use ballast_tests::raw::rows::{FETCH as NAMED, PRODUCE, records_of};
use ballast_tests::raw::{Connection, Fetch, batch, fetch_row, text};

use crate::peer::{LEADER, Peer, create, leader};

#[test]
fn a_consumer_is_sent_to_the_replica_in_its_rack_once_that_covers_its_offset() {
    let selector = ("replica.selector.class", "org.apache.kafka.common.replica.RackAwareReplicaSelector");
    let cluster = leader(&[selector, ("broker.rack", "a")]);
    let mut peer = Peer::join(&cluster, 2, "b");
    let mut client = Connection::open(cluster.broker(LEADER).bootstrap());
    let topic = create(&mut client, "racks", &[1, 2], &[]);
    client.produced(PRODUCE, &produce(1, "racks", 0, Some(batch(&["x"]))));
    peer.fetch(topic, 1);
    let mut fetch = |version, rack: &str| {
        let mut fetch = Fetch::of("racks", vec![fetch_row(0, 0)]).wait(1, 15_000);
        if version >= 11 {
            fetch.0.rack_id = text(rack);
        }
        let row = client.fetched(version, &fetch);
        (row.error_code, row.preferred_read_replica.0, records_of(&row).len())
    };
    assert_eq!(fetch(NAMED, "b"), (0, 2, 0), "sent on, without records, at once");
    assert_eq!(fetch(NAMED, "a"), (0, -1, 1), "the leader's own rack");
    assert_eq!(fetch(NAMED, "c"), (0, -1, 1), "nobody is there");
    assert_eq!(fetch(NAMED, ""), (0, -1, 1));
    assert_eq!(fetch(10, "b"), (0, -1, 1), "before racks");
    peer.beat(true);
    ballast_tests::raw::rows::eventually("a fenced replica is nobody's choice", || {
        (fetch(NAMED, "b") == (0, -1, 1)).then_some(())
    });
}

#[test]
fn without_a_selector_racks_mean_nothing() {
    let cluster = leader(&[("broker.rack", "a")]);
    let mut peer = Peer::join(&cluster, 2, "b");
    let mut client = Connection::open(cluster.broker(LEADER).bootstrap());
    let topic = create(&mut client, "plain", &[1, 2], &[]);
    client.produced(PRODUCE, &produce(1, "plain", 0, Some(batch(&["x"]))));
    peer.fetch(topic, 1);
    let mut fetch = Fetch::of("plain", vec![fetch_row(0, 0)]);
    fetch.0.rack_id = text("b");
    let row = client.fetched(NAMED, &fetch);
    assert_eq!((row.preferred_read_replica.0, records_of(&row).len()), (-1, 1));
}
