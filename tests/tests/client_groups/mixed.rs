//! Ours and librdkafka's in one group, each leading in turn: they read each other's subscriptions and assignments.

use std::time::Duration;

use ballast_client::group::GroupConsumer;
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::message::Message as _;

use super::rig::{PATIENCE, Place, Rig, all_places, poll_until, share, sorted};

fn theirs(rig: &Rig) -> BaseConsumer {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", rig.cluster.config().bootstrap())
        .set("broker.address.family", "v4")
        .set("group.id", &rig.group)
        .set("partition.assignment.strategy", "range")
        .set("auto.offset.reset", "earliest")
        .set("session.timeout.ms", "6000")
        .set("heartbeat.interval.ms", "200")
        .create()
        .expect("the settings are good");
    consumer.subscribe(&[&rig.topic]).expect("subscribing needs no broker");
    consumer
}

/// Polls both until each has half of the partitions and all records are read.
async fn share_all(ours: &mut GroupConsumer, theirs: &BaseConsumer, read: &mut Vec<Place>, records: usize) {
    let turns = async {
        let their_share = || theirs.assignment().expect("it tells").count();
        while read.len() < records || share(ours) != 2 || their_share() != 2 {
            let fetched = ours.poll(Duration::from_millis(50)).await.expect("the membership goes on");
            read.extend(fetched.iter().flat_map(|part| part.records.iter().map(|r| (part.partition, r.offset))));
            while let Some(message) = theirs.poll(Duration::from_millis(50)) {
                let message = message.expect("the membership goes on");
                read.push((message.partition(), message.offset()));
            }
        }
    };
    tokio::time::timeout(PATIENCE, turns).await.expect("they share the partitions");
}

#[tokio::test(flavor = "multi_thread")]
async fn we_divide_and_librdkafka_takes_its_part() {
    let rig = Rig::new(4, 10).await;
    let mut ours = rig.member();
    let mut read = Vec::new();
    poll_until(&mut [(&mut ours, &mut read)], |members| members[0].1.len() == 40).await;
    let theirs = theirs(&rig);
    share_all(&mut ours, &theirs, &mut read, 40).await;
    rig.write(0..4, 10).await;
    share_all(&mut ours, &theirs, &mut read, 80).await;
    assert_eq!(sorted(&[&read]), all_places(4, 20), "every record once");
    ours.close(PATIENCE).await.expect("it commits and leaves");
}

#[tokio::test(flavor = "multi_thread")]
async fn librdkafka_divides_and_we_take_our_part() {
    let rig = Rig::new(4, 10).await;
    let theirs = theirs(&rig);
    let mut read = Vec::new();
    let first = async {
        while read.len() < 40 {
            if let Some(message) = theirs.poll(Duration::from_millis(50)) {
                let message = message.expect("the membership goes on");
                read.push((message.partition(), message.offset()));
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, first).await.expect("it reads all");
    let mut ours = rig.member();
    share_all(&mut ours, &theirs, &mut read, 40).await;
    rig.write(0..4, 10).await;
    share_all(&mut ours, &theirs, &mut read, 80).await;
    assert_eq!(sorted(&[&read]), all_places(4, 20), "every record once");
    ours.close(PATIENCE).await.expect("it commits and leaves");
}
