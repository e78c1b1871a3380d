//! A cluster in a test: one quorum, the same metadata everywhere, and brokers that come and go one by one.

use std::collections::BTreeSet;

use ballast_broker::embed::{Broker, Cluster};
use ballast_tests::raw::Connection;
use ballast_tests::raw::rows::eventually;
use kafka_protocol::messages::{MetadataRequest, MetadataResponse};

fn metadata(broker: &Broker) -> MetadataResponse {
    Connection::open(broker.bootstrap()).call(12, &MetadataRequest::default().with_topics(None))
}

/// `id@host:port` of every broker that `broker` tells of.
fn told(broker: &Broker) -> BTreeSet<String> {
    let nodes = metadata(broker).brokers;
    nodes.iter().map(|node| format!("{}@{}:{}", node.node_id.0, &*node.host, node.port)).collect()
}

#[test]
fn every_broker_of_a_cluster_tells_of_all_of_them_and_of_the_same_topics() {
    let cluster = Cluster::builder().topic("orders", 3).start_blocking().expect("it starts");
    assert!(cluster.controller_blocking().is_some_and(|id| (1..=3).contains(&id)));
    let expected: BTreeSet<String> = (1..=3).map(|id| format!("{id}@{}", cluster.broker(id).bootstrap())).collect();
    let first = metadata(cluster.broker(1)).topics;
    assert_eq!(first.len(), 1);
    for broker in cluster.brokers() {
        assert_eq!(told(broker), expected);
        let topics = metadata(broker).topics;
        assert_eq!(topics, first, "{broker:?} tells otherwise");
        for partition in &topics[0].partitions {
            assert_eq!(partition.replica_nodes.len(), 3, "a replica on each broker");
        }
    }
}

#[test]
fn a_killed_broker_is_fenced_and_comes_back_under_its_id() {
    let cluster = Cluster::builder().start_blocking().expect("it starts");
    cluster.broker(3).kill();
    eventually("broker 3 is fenced", || (told(cluster.broker(1)).len() == 2).then_some(()));
    cluster.restart_blocking().expect("it comes back");
    eventually("everybody knows it again", || {
        cluster.brokers().iter().all(|broker| told(broker).len() == 3).then_some(())
    });
}

#[test]
fn a_cluster_with_a_folder_is_stopped_in_order_and_goes_on_where_it_was() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let builder = || Cluster::builder().data_dir(folder.path());
    drop(builder().topic("orders", 2).start_blocking().expect("it starts"));
    let cluster = builder().start_blocking().expect("it starts again");
    eventually("the topic is there", || {
        cluster.brokers().iter().all(|broker| metadata(broker).topics.len() == 1).then_some(())
    });
}
