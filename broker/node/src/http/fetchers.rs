//! What this broker's followers fetch, and how far they are behind: `FetcherLagMetrics`, `ReplicaFetcherManager` and the
//! replication side of `BrokerTopicMetrics`, under the jmx exporter's names.
//!
//! A partition's lag is there while it is followed, and goes with its leadership.

use std::fmt;
use std::sync::Arc;

use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

use super::lines::{NO_LABELS, gauges, rows};
use crate::drive::partition::Partition;
use crate::node::Node;

/// Everything about fetchers.
pub(super) fn encode(encoder: &mut DescriptorEncoder<'_>, node: &Node, partitions: &[Arc<Partition>]) -> fmt::Result {
    let name = "kafka_server_brokertopicmetrics_replicationbytesin";
    let bytes = vec![(NO_LABELS, node.fetchers.bytes_in())];
    rows(encoder, MetricType::Counter, (name, "Bytes that followers here took in"), &bytes)?;
    let mut lags = Vec::new();
    for partition in partitions {
        let (Some(lag), Some((leader, number))) = (partition.lag(), node.fetchers.place_of(partition)) else {
            continue;
        };
        let labels = [
            ("clientId", format!("ReplicaFetcherThread-{number}-{leader}")),
            ("topic", partition.topic.to_string()),
            ("partition", partition.index.to_string()),
        ];
        lags.push((labels, lag));
    }
    let max = [([("clientId", "Replica")], lags.iter().map(|(_, lag)| *lag).max().unwrap_or(0))];
    let help = "Committed records that a follower here lacks";
    gauges(encoder, ("kafka_server_fetcherlagmetrics_consumerlag", help), &lags)?;
    let help = "The largest lag of any follower here, in records";
    gauges(encoder, ("kafka_server_replicafetchermanager_maxlag", help), &max)
}
