//! Three nodes of each: what only a cluster can be asked. Leaders and followers, elections, the quorum, and what
//! brokers ask of the controller.
//!
//! Topics are placed by hand, so that both clusters have the same leaders. Two rounds: first everybody has always been there;
//! then node 1 has been killed and is back, so that nothing is led where it should be and epochs have passed.
//!
//! `BALLAST_TEST_CASES=word` runs those cases alone whose API or name holds the word, as it does for one broker.

pub(crate) mod accepted;
mod controller;
mod leaders;
mod stranger;
mod told;

use std::collections::BTreeMap;

use ballast_tests::foreign::peers::Peers;
use ballast_tests::nodes::Nodes;
use ballast_tests::raw::rows::{eventually_within, rows_of};
use ballast_tests::raw::{Connection, Fetch, fetch_row, name, now_ms, text};
use ballast_tests::target::Topic;
use ballast_wire::frame::ApiKey;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::metadata_response::MetadataResponsePartition;
use kafka_protocol::messages::{DescribeQuorumRequest, FetchRequest, InitProducerIdRequest, MetadataRequest};

use self::accepted::ON_NODES;
use super::accepted::ACCEPTED;
use super::case::Case;
use super::run::{Advertised, Outcome, advertised, ranges, versions};
use super::side::Side;

/// Settings that both get.
const SETTINGS: [&str; 6] = [
    "broker.rack=rack-{id}",
    "replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector",
    "auto.leader.rebalance.enable=false",
    // A broker that a case registers shows few signs of life.
    "broker.session.timeout.ms=18000",
    "broker.heartbeat.interval.ms=500",
    "replica.lag.time.max.ms=30000",
];
const WAIT_MS: i64 = 60_000;
/// How much of a topic there is once cases run.
const RECORDS: i64 = 3;

#[test]
fn three_nodes_of_apache_kafka_and_of_ballast_give_the_same_answers() {
    let pairs: Vec<(&str, &str)> = SETTINGS.iter().filter_map(|setting| setting.split_once('=')).collect();
    let Some(mut kafka) = Peers::start("differential on nodes", 3, &pairs) else { return };
    let mut ballast = Nodes::start(3, None, &SETTINGS);
    let start = now_ms() - 60_000;
    let (mut theirs, mut ours) = (Side::new(&kafka.bootstrap(), start), Side::new(&ballast.bootstrap(), start));
    let only = std::env::var("BALLAST_TEST_CASES").unwrap_or_default().to_lowercase();
    settle(&mut theirs);
    settle(&mut ours);
    let offered = [offered(&mut theirs), offered(&mut ours)];
    let mut outcome = Outcome::default();
    let mut run = |cases: &[&'static [Case]], theirs: &mut Side, ours: &mut Side| {
        for case in cases.iter().copied().flatten() {
            let wanted = format!("{} {}", case.key, case.name).to_lowercase().contains(&only);
            for version in versions(case, &offered[0], &offered[1]).into_iter().filter(|_| wanted) {
                outcome.run(case, version, (&mut *theirs, &mut *ours), has_controller);
            }
        }
    };
    run(&[told::CASES, leaders::CASES, controller::CASES], &mut theirs, &mut ours);
    kafka.kill(1);
    ballast.node_mut(1).kill();
    led_by(&mut theirs, 2);
    led_by(&mut ours, 2);
    kafka.restart(1);
    ballast.restart(&[1]);
    whole(&mut theirs);
    whole(&mut ours);
    run(&[told::AFTERWARDS, leaders::AFTERWARDS], &mut theirs, &mut ours);

    println!("{} answers compared", outcome.compared);
    let untrue = outcome.untrue.iter().map(|(claim, versions)| format!("{} {claim}", ranges(versions)));
    let mut failures: Vec<String> = untrue.collect();
    failures.extend(outcome.unaccepted(&[ACCEPTED, ON_NODES]));
    if only.is_empty() {
        let stale = outcome.stale(ON_NODES).into_iter();
        failures.extend(stale.map(|entry| format!("nothing differs so any more: {entry}")));
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

/// What brokers advertise, and beside it what only a controller's listener does.
fn offered(side: &mut Side) -> Advertised {
    let mut all: BTreeMap<ApiKey, (i16, i16)> = advertised(&controller(side, true));
    all.extend(advertised(&side.bootstrap));
    all
}

/// `HOST:PORT` of the listener of the active controller, or of one that is not active.
fn controller(side: &mut Side, active: bool) -> String {
    find_controller(side, active).expect("it is one of the voters")
}

/// As [`controller`]; `None` while nobody leads the quorum.
fn find_controller(side: &mut Side, active: bool) -> Option<String> {
    let told = side.call(2, &quorum_request());
    let leader = told.topics[0].partitions[0].leader_id;
    let node = told.nodes.iter().find(|node| (node.node_id == leader) == active)?;
    Some(format!("{}:{}", node.listeners[0].host, node.listeners[0].port))
}

fn quorum_request() -> DescribeQuorumRequest {
    let partition = kafka_protocol::messages::describe_quorum_request::PartitionData::default();
    let topic = kafka_protocol::messages::describe_quorum_request::TopicData::default()
        .with_topic_name(name("__cluster_metadata"))
        .with_partitions(vec![partition]);
    DescribeQuorumRequest::default().with_topics(vec![topic])
}

/// On all three, led by node 1; the records of [`RECORDS`] are in its first partition. Its second is led by node 2.
fn spread(side: &mut Side) -> Topic {
    side.placed("spread", &[&[1, 2, 3], &[2, 3, 1]], |side, topic| {
        led(&mut side.connection, &topic.name, 1);
        for batch in [&["a", "b"][..], &["c"]] {
            let at = side.connection.bounds(&topic.name, 0).1;
            let batch = side.batch_at(at, batch);
            side.connection.append(&topic.name, 0, batch);
        }
    })
}

/// On node 1 alone.
fn single(side: &mut Side) -> Topic {
    side.placed("single", &[&[1]], |side, topic| led(&mut side.connection, &topic.name, 1))
}

fn led(connection: &mut Connection, topic: &str, by: i32) {
    eventually_within(WAIT_MS, "it is led as it was placed", || {
        let row = MetadataRequestTopic::default().with_name(Some(name(topic)));
        let told = connection.call(12, &MetadataRequest::default().with_topics(Some(vec![row])));
        let partition = told.topics.first()?.partitions.iter().find(|row| row.partition_index == 0)?;
        let usable = partition.leader_id.0 != 1 || connection.offset_at(topic, 0, -2).error_code == 0;
        (partition.leader_id.0 == by && usable).then_some(())
    });
}

/// Waits until the node that is told to lead the quorum says so itself.
fn has_controller(side: &mut Side) {
    side.at(1);
    eventually_within(WAIT_MS, "a controller is active", || {
        let active = find_controller(side, true)?;
        let told = Connection::open(&active).call(2, &quorum_request());
        (told.topics.first()?.partitions.first()?.error_code == 0).then_some(())
    });
}

/// Waits until every node answers as it will from now on, and makes what cases share.
fn settle(side: &mut Side) {
    for id in 1..=3 {
        side.at(id);
        eventually_within(WAIT_MS, "a node knows the three", || {
            let told = side.call(12, &MetadataRequest::default().with_topics(Some(vec![])));
            (told.brokers.len() == 3).then_some(())
        });
    }
    side.at(1);
    let none = InitProducerIdRequest::default().with_transactional_id(None).with_transaction_timeout_ms(1000);
    eventually_within(WAIT_MS, "there is a block of producer ids", || {
        (side.call(1, &none).error_code == 0).then_some(())
    });
    spread(side);
    single(side);
    told::make_elected(side);
    whole(side);
    // What followers may show, and whom the leader sends readers to.
    for (node, rack) in [(2, ""), (3, ""), (1, "rack-2"), (1, "rack-3")] {
        side.at(node);
        eventually_within(WAIT_MS, "followers are at the end", || {
            let topic = spread(side);
            let mut fetch = Fetch::of(&topic.name, vec![fetch_row(0, 0)]);
            fetch.0.rack_id = text(rack);
            let row = rows_of(&side.call::<FetchRequest>(12, &fetch.0)).remove(0).1;
            (row.high_watermark == RECORDS && (rack.is_empty() || row.preferred_read_replica.0 > 0)).then_some(())
        });
    }
    side.at(1);
}

/// Waits until every replica is in sync, as every node tells it; what was on a broker that only cases register stays as it is.
fn whole(side: &mut Side) {
    for id in 1..=3 {
        side.at(id);
        eventually_within(WAIT_MS, "all replicas are in sync", || {
            let told = side.call(12, &MetadataRequest::default().with_topics(None));
            let real = |row: &&MetadataResponsePartition| row.replica_nodes.iter().all(|id| id.0 != stranger::ID);
            let partitions = || told.topics.iter().flat_map(|topic| &topic.partitions).filter(real);
            let synced = partitions().all(|row| row.isr_nodes.len() == row.replica_nodes.len() && row.leader_id.0 > 0);
            (told.brokers.len() == 3 && partitions().count() > 0 && synced).then_some(())
        });
    }
    side.at(1);
}

fn led_by(side: &mut Side, node: u8) {
    side.at(node);
    led(&mut side.connection, "spread", i32::from(node));
}
