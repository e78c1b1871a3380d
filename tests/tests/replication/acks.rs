//! What a producer hears and a consumer sees, while followers have what was written or lack it.

use ballast_broker::embed::Cluster;
use ballast_tests::raw::messages::produce;
use ballast_tests::raw::rows::{PRODUCE, eventually, records_of};
use ballast_tests::raw::{Connection, batch};
use kafka_protocol::messages::ProduceRequest;

use crate::peer::{LEADER, Peer, await_isr, create, leader};

const NOT_ENOUGH_REPLICAS: i16 = 19;

fn connect(cluster: &Cluster) -> Connection {
    Connection::open(cluster.broker(LEADER).bootstrap())
}

#[test]
fn acks_all_is_answered_by_the_fetch_that_shows_that_the_follower_has_it() {
    let cluster = leader(&[]);
    let mut peer = Peer::join(&cluster, 2, "");
    let (mut producer, mut consumer) = (connect(&cluster), connect(&cluster));
    let topic = create(&mut consumer, "acks", &[1, 2], &[]);
    let sent = producer.start(PRODUCE, &produce(-1, "acks", 0, Some(batch(&["a", "b"]))));
    let copied = eventually("the record can be copied", || {
        let row = peer.fetch(topic, 0);
        (!records_of(&row).is_empty()).then_some(row)
    });
    assert_eq!(records_of(&copied).len(), 2, "a replica reads up to the end of the log");
    assert_eq!(copied.high_watermark, 0, "and the watermark is still below");
    assert_eq!(records_of(&consumer.fetch("acks", 0, 0)), [], "a consumer does not");
    assert_eq!(consumer.bounds("acks", 0).1, 0);
    assert_eq!(peer.fetch(topic, 2).high_watermark, 2, "the fetch that shows it hears of it");
    let answer = producer.finish::<ProduceRequest>(PRODUCE, sent);
    assert_eq!(answer.responses[0].partition_responses[0].error_code, 0);
    assert_eq!(consumer.bounds("acks", 0).1, 2);
}

#[test]
fn below_min_isr_acks_all_is_refused_and_what_acks_1_wrote_shows_when_a_follower_is_back() {
    let cluster = leader(&[]);
    let mut peer = Peer::join(&cluster, 2, "");
    let mut client = connect(&cluster);
    let topic = create(&mut client, "min", &[1, 2], &[("min.insync.replicas", "2")]);
    peer.beat(true);
    await_isr(&mut client, "min", &[1]);
    eventually("acks=all is refused", || {
        let row = client.produced(PRODUCE, &produce(-1, "min", 0, Some(batch(&["a"]))).with_timeout_ms(1));
        (row.error_code == NOT_ENOUGH_REPLICAS).then_some(())
    });
    let before = peer_end(&mut peer, topic);
    let row = client.produced(PRODUCE, &produce(1, "min", 0, Some(batch(&["b"]))));
    assert_eq!((row.error_code, row.base_offset), (0, before));
    assert_eq!(
        client.bounds("min", 0).1,
        0,
        "the watermark stands below min ISR, though every member has it (KIP-966)"
    );
    peer.fetch(topic, before + 1);
    assert_eq!(client.bounds("min", 0).1, 0, "a fenced broker does not count");

    peer.beat(false);
    eventually("it joins", || {
        let row = peer.fetch(topic, before + 1);
        (row.high_watermark == before + 1).then_some(())
    });
    await_isr(&mut client, "min", &[1, 2]);
    assert_eq!(client.bounds("min", 0).1, before + 1);
}

/// Both partitions are of one request, so that its answer waits for the first while the second, which had its two
/// replicas when it was committed, loses one of them. Apache Kafka judges each partition once, when the watermark has
/// passed its batch.
#[test]
fn what_enough_replicas_have_committed_is_not_called_too_few_by_one_that_goes_before_the_answer() {
    let cluster = leader(&[]);
    let (mut gone, mut slow) = (Peer::join(&cluster, 2, ""), Peer::join(&cluster, 3, ""));
    let (mut producer, mut client) = (connect(&cluster), connect(&cluster));
    let first = create(&mut client, "first", &[1, 3], &[]);
    let second = create(&mut client, "second", &[1, 2], &[("min.insync.replicas", "2")]);
    let mut request = produce(-1, "first", 0, Some(batch(&["a"]))).with_timeout_ms(600_000);
    request.topic_data.extend(produce(-1, "second", 0, Some(batch(&["b"]))).topic_data);
    let sent = producer.start(PRODUCE, &request);
    eventually("the second is committed", || (gone.fetch(second, 1).high_watermark == 1).then_some(()));
    gone.beat(true);
    eventually("the leader knows that one is gone", || {
        let row = client.produced(PRODUCE, &produce(-1, "second", 0, Some(batch(&["c"]))).with_timeout_ms(1));
        (row.error_code == NOT_ENOUGH_REPLICAS).then_some(())
    });
    assert_eq!(slow.fetch(first, 1).high_watermark, 1, "the first is committed");
    let answer = producer.finish::<ProduceRequest>(PRODUCE, sent);
    let rows: Vec<_> = answer.responses.iter().map(|topic| &topic.partition_responses[0]).collect();
    assert_eq!((rows[0].error_code, rows[0].base_offset), (0, 0));
    assert_eq!((rows[1].error_code, rows[1].base_offset), (0, 0), "both had it");
    assert_eq!(client.bounds("second", 0).1, 1, "and it is there to be read");
}

/// The end of the log as a replica finds it.
fn peer_end(peer: &mut Peer, topic: uuid::Uuid) -> i64 {
    records_of(&peer.fetch(topic, 0)).len() as i64
}
