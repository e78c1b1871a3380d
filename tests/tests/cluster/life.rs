//! Brokers of a cluster: what each has for itself, and how one that is gone is told of.

use ballast_broker::embed::{Broker, Cluster};
use ballast_tests::raw::Connection;
use ballast_tests::raw::rows::eventually;
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::metadata_response::MetadataResponseTopic;
use kafka_protocol::messages::{
    CreateTopicsRequest, DescribeClusterRequest, InitProducerIdRequest, MetadataRequest, TopicName,
};
use kafka_protocol::protocol::StrBytes;

const TIMEOUT_MS: i32 = 30_000;

fn name(name: &str) -> TopicName {
    TopicName(text(name))
}

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

fn create(broker: &Broker, topic: &str, partitions: i32, replicas: i16) -> i16 {
    let topic = CreatableTopic::default().with_name(name(topic)).with_num_partitions(partitions);
    let request = CreateTopicsRequest::default()
        .with_topics(vec![topic.with_replication_factor(replicas)])
        .with_timeout_ms(TIMEOUT_MS);
    Connection::open(broker.bootstrap()).call(7, &request).topics[0].error_code
}

fn topic(broker: &Broker, topic: &str) -> MetadataResponseTopic {
    let row = MetadataRequestTopic::default().with_name(Some(name(topic)));
    let request = MetadataRequest::default().with_topics(Some(vec![row])).with_allow_auto_topic_creation(false);
    Connection::open(broker.bootstrap()).call(12, &request).topics.remove(0)
}

#[test]
fn no_two_brokers_hand_out_the_same_producer_id() {
    let cluster = Cluster::builder().start_blocking().expect("it starts");
    let request = InitProducerIdRequest::default().with_transactional_id(None).with_transaction_timeout_ms(1);
    let mut ids: Vec<i64> = cluster
        .brokers()
        .iter()
        .map(|broker| Connection::open(broker.bootstrap()).call(4, &request).producer_id.0)
        .collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 3, "{ids:?}");
}

#[test]
fn a_killed_broker_is_shown_fenced_to_who_asks_and_offline_in_its_partitions() {
    let cluster = Cluster::builder().topic("orders", 3).start_blocking().expect("it starts");
    cluster.broker(3).kill();
    let describe = |fenced| {
        let request = DescribeClusterRequest::default().with_endpoint_type(1).with_include_fenced_brokers(fenced);
        Connection::open(cluster.broker(1).bootstrap()).call(2, &request)
    };
    eventually("broker 3 is fenced", || (describe(false).brokers.len() == 2).then_some(()));
    let all = describe(true);
    let fenced: Vec<i32> =
        all.brokers.iter().filter(|broker| broker.is_fenced).map(|broker| broker.broker_id.0).collect();
    assert_eq!(fenced, [3]);
    assert_ne!(all.controller_id.0, 3, "a fenced broker is nobody's controller");
    eventually("leaders have moved", || {
        let led =
            |row: &MetadataResponseTopic| row.partitions.iter().all(|row| row.error_code == 0 && row.leader_id.0 != 3);
        led(&topic(cluster.broker(1), "orders")).then_some(())
    });
    for partition in &topic(cluster.broker(1), "orders").partitions {
        assert_eq!(partition.offline_replicas.iter().map(|id| id.0).collect::<Vec<_>>(), [3]);
        assert_eq!(partition.replica_nodes.len(), 3);
    }
    // Whoever the controller is by now, any broker reaches it.
    for id in [1, 2] {
        assert_eq!(create(cluster.broker(id), &format!("late-{id}"), 1, 2), 0);
    }
}
