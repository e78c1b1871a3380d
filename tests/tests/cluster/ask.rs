//! What any broker of a cluster is asked about a topic.

use ballast_broker::embed::{Broker, Cluster};
use ballast_tests::raw::rows::eventually;
use ballast_tests::raw::{Connection, name};
use kafka_protocol::messages::MetadataRequest;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::metadata_response::MetadataResponsePartition;

/// A partition as Metadata tells it.
pub(crate) type Row = MetadataResponsePartition;

/// The partitions of a topic, in their order.
pub(crate) fn partitions(broker: &Broker, topic: &str) -> Vec<Row> {
    partitions_over(&mut Connection::open(broker.bootstrap()), 12, topic)
}

pub(crate) fn partitions_over(connection: &mut Connection, version: i16, topic: &str) -> Vec<Row> {
    let asked = MetadataRequestTopic::default().with_name(Some(name(topic)));
    let request = MetadataRequest::default().with_topics(Some(vec![asked]));
    let mut rows = connection.call(version, &request).topics.remove(0).partitions;
    rows.sort_by_key(|row| row.partition_index);
    rows
}

/// Waits until every broker that runs tells the partitions as wanted; as one of them tells it.
pub(crate) fn await_partitions(
    cluster: &Cluster,
    topic: &str,
    what: &str,
    wanted: impl Fn(&[Row]) -> bool,
) -> Vec<Row> {
    eventually(what, || {
        let running = cluster.brokers().iter().filter(|broker| broker.is_running());
        let mut told: Vec<Vec<Row>> = running.map(|broker| partitions(broker, topic)).collect();
        told.iter().all(|rows| wanted(rows)).then(|| told.pop()).flatten()
    })
}

/// Ids as plain numbers.
pub(crate) fn ids(of: &[kafka_protocol::messages::BrokerId]) -> Vec<i32> {
    of.iter().map(|id| id.0).collect()
}
