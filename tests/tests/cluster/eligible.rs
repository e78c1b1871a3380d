//! Eligible leader replicas (KIP-966): who left the ISR below its minimum still has everything acknowledged, and may lead.

use ballast_broker::embed::{Broker, Cluster};
use ballast_tests::raw::messages::produce;
use ballast_tests::raw::rows::{FETCH, eventually, records_of};
use ballast_tests::raw::{Connection, Fetch, batch, fetch_row, name, text};
use kafka_protocol::messages::create_topics_request::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig,
};
use kafka_protocol::messages::describe_topic_partitions_request::TopicRequest;
use kafka_protocol::messages::{CreateTopicsRequest, DescribeTopicPartitionsRequest};

use crate::ask::ids;

const TOPIC: &str = "orders";
const NOT_ENOUGH_REPLICAS: i16 = 19;

/// A partition as DescribeTopicPartitions tells it.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    leader: i32,
    isr: Vec<i32>,
    elr: Vec<i32>,
    last_known: Vec<i32>,
}

/// What a broker tells, if it knows the partition already.
fn told(broker: &Broker) -> Option<Told> {
    let topic = TopicRequest::default().with_name(name(TOPIC));
    let request = DescribeTopicPartitionsRequest::default().with_topics(vec![topic]).with_response_partition_limit(10);
    let mut answer = Connection::open(broker.bootstrap()).call(0, &request);
    let row = answer.topics.remove(0).partitions.into_iter().next()?;
    assert_eq!(row.error_code, 0);
    let mut elr = ids(&row.eligible_leader_replicas.unwrap_or_default());
    elr.sort_unstable();
    let mut isr = ids(&row.isr_nodes);
    isr.sort_unstable();
    let last_known = ids(&row.last_known_elr.unwrap_or_default());
    Some(Told { leader: row.leader_id.0, isr, elr, last_known })
}

/// Waits until every broker that runs tells this.
fn await_told(cluster: &Cluster, leader: i32, isr: &[i32], elr: &[i32], last_known: &[i32]) {
    let wanted = Told { leader, isr: isr.to_vec(), elr: elr.to_vec(), last_known: last_known.to_vec() };
    eventually(&format!("every broker tells {wanted:?}"), || {
        let mut running = cluster.brokers().iter().filter(|broker| broker.is_running());
        running.all(|broker| told(broker).as_ref() == Some(&wanted)).then_some(())
    });
}

fn produce_to(broker: &Broker, value: &str) -> i16 {
    let request = produce(-1, TOPIC, 0, Some(batch(&[value])));
    let answer = Connection::open(broker.bootstrap()).call(9, &request);
    answer.responses[0].partition_responses[0].error_code
}

/// Five brokers, of which 1 and 2 have the partition: a majority is left when both are gone.
fn cluster() -> Cluster {
    let cluster = Cluster::builder().brokers(5).start_blocking().expect("it starts");
    let row =
        CreatableReplicaAssignment::default().with_partition_index(0).with_broker_ids([1, 2].map(Into::into).into());
    let config = CreatableTopicConfig::default().with_name(text("min.insync.replicas")).with_value(Some(text("2")));
    let wish = CreatableTopic::default()
        .with_name(name(TOPIC))
        .with_num_partitions(-1)
        .with_replication_factor(-1)
        .with_assignments(vec![row])
        .with_configs(vec![config]);
    let request = CreateTopicsRequest::default().with_timeout_ms(30_000).with_topics(vec![wish]);
    let row = Connection::open(cluster.broker(4).bootstrap()).call(7, &request).topics.remove(0);
    assert_eq!(row.error_code, 0, "{:?}", row.error_message);
    await_told(&cluster, 1, &[1, 2], &[], &[]);
    cluster
}

//@ KIP-966: a member that leaves the ISR below its minimum becomes eligible, and leads once nobody is in sync.
#[test]
fn an_eligible_replica_leads_without_a_loss_when_the_last_in_sync_is_gone() {
    let cluster = cluster();
    assert_eq!(produce_to(cluster.broker(1), "by both"), 0);
    cluster.broker(2).stop_blocking();
    await_told(&cluster, 1, &[1], &[2], &[]);
    assert_eq!(produce_to(cluster.broker(1), "by one alone"), NOT_ENOUGH_REPLICAS);
    cluster.broker(1).kill();
    await_told(&cluster, -1, &[], &[1, 2], &[1]);

    cluster.broker(2).restart_blocking().expect("it comes back");
    await_told(&cluster, 2, &[2], &[1], &[1]);
    // Back from a crash it is not trusted before it has caught up.
    cluster.broker(1).restart_blocking().expect("it comes back");
    await_told(&cluster, 2, &[1, 2], &[], &[]);
    assert_eq!(produce_to(cluster.broker(2), "by both again"), 0);
    let row = Connection::open(cluster.broker(2).bootstrap()).fetched(FETCH, &Fetch::of(TOPIC, vec![fetch_row(0, 0)]));
    let values: Vec<String> = records_of(&row).into_iter().map(|(_, value)| value).collect();
    assert_eq!(values, ["by both", "by both again"]);
}

//@ KIP-966: the minimum is the cluster's where replicas are eligible.
#[test]
fn the_minimum_of_replicas_in_sync_is_told_as_the_clusters() {
    use kafka_protocol::messages::DescribeConfigsRequest;
    use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
    const DYNAMIC_DEFAULT_BROKER_CONFIG: i8 = 3;
    let cluster = Cluster::builder().topic("plain", 1).start_blocking().expect("it starts");
    for broker in cluster.brokers() {
        let topic = DescribeConfigsResource::default().with_resource_type(2).with_resource_name(text("plain"));
        let topic = topic.with_configuration_keys(Some(vec![text("min.insync.replicas")]));
        let request = DescribeConfigsRequest::default().with_resources(vec![topic]);
        let row = Connection::open(broker.bootstrap()).call(4, &request).results.remove(0).configs.remove(0);
        assert_eq!((row.value.as_deref(), row.config_source), (Some("1"), DYNAMIC_DEFAULT_BROKER_CONFIG));
    }
}
