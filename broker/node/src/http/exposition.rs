//! The metrics page, made from the live state at each scrape.
//!
//! Names are those of the jmx exporter's usual rules for Kafka (`kafka_server_brokertopicmetrics_bytesin_total{topic}`) and
//! of kafka_exporter (`exporter`). What neither has is `ballast_…`: per partition above all, because a
//! `partition` label inside Kafka's topic metrics would double every dashboard. A partition's rows go with it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use super::lines::{NO_LABELS, labels, one, rows};
use super::{controller, exporter, fetchers, log_dirs, replication};
use crate::api::TABLE;
use crate::drive::partition::{Partition, Traffic};
use crate::node::Node;

/// The page.
pub(super) fn text(node: &Arc<Node>) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Scrape(Arc::clone(node))));
    let mut page = String::new();
    encode(&mut page, &registry)?;
    Ok(page)
}

struct Scrape(Arc<Node>);

impl fmt::Debug for Scrape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scrape")
    }
}

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let partitions = self.0.store.hosted.all();
        of_broker(&mut encoder, &self.0, &partitions)?;
        controller::encode(&mut encoder, &self.0)?;
        replication::encode(&mut encoder, &self.0, &partitions)?;
        log_dirs::encode(&mut encoder, &self.0)?;
        of_requests(&mut encoder, &self.0)?;
        of_topics(&mut encoder, &partitions)?;
        of_partitions(&mut encoder, &partitions)?;
        fetchers::encode(&mut encoder, &self.0, &partitions)?;
        exporter::encode(&mut encoder, &self.0)
    }
}

fn of_broker(encoder: &mut DescriptorEncoder<'_>, node: &Node, partitions: &[Arc<Partition>]) -> fmt::Result {
    let count = |test: fn(&Partition) -> bool| partitions.iter().filter(|partition| test(partition)).count() as u64;
    let name = |name: &str| format!("kafka_server_replicamanager_{name}");
    one(encoder, &name("partitioncount"), "Partitions on this broker", partitions.len() as u64)?;
    one(encoder, &name("leadercount"), "Partitions that this broker leads", count(Partition::is_leader))?;
    one(encoder, &name("offlinereplicacount"), "Replicas on failed log directories", count(Partition::is_offline))?;
    one(encoder, "ballast_connections", "Open connections", node.connections.open() as u64)?;
    one(encoder, "ballast_request_memory_bytes", "Memory of requests in flight", node.budget.used_bytes() as u64)
}

fn of_requests(encoder: &mut DescriptorEncoder<'_>, node: &Node) -> fmt::Result {
    let counts = TABLE.iter().map(|api| ([("request", api.key.to_string())], node.metrics.requests(api.key))).collect();
    let name = "kafka_network_requestmetrics_requests";
    rows(encoder, MetricType::Counter, (name, "Requests by API"), &counts)?;
    let failed = |counter: &AtomicU64| vec![(NO_LABELS, counter.load(Ordering::Relaxed))];
    let name = "kafka_server_brokertopicmetrics_failedproducerequests";
    let counts = failed(&node.metrics.failed_produce_requests);
    rows(encoder, MetricType::Counter, (name, "Produce requests with a failed partition"), &counts)?;
    let name = "kafka_server_brokertopicmetrics_failedfetchrequests";
    let counts = failed(&node.metrics.failed_fetch_requests);
    rows(encoder, MetricType::Counter, (name, "Fetch requests with a failed partition"), &counts)
}

type CounterOf = fn(&Traffic) -> &AtomicU64;
/// A metric of a partition: name, help, value.
type GaugeOf<'a> = (&'a str, &'a str, fn(&Partition) -> i64);

/// Kafka's counters of a partition's traffic: name, help, field.
const TRAFFIC: &[(&str, &str, CounterOf)] = &[
    ("bytesin", "Bytes produced", |traffic| &traffic.bytes_in),
    ("bytesout", "Bytes fetched by clients", |traffic| &traffic.bytes_out),
    ("messagesin", "Records produced", |traffic| &traffic.records_in),
    ("totalproducerequests", "Produces, one for each partition of a request", |traffic| &traffic.produce_requests),
    ("totalfetchrequests", "Fetches, one for each partition of a request", |traffic| &traffic.fetch_requests),
];

/// The same by partition, under names of our own.
const PARTITION_TRAFFIC: [&str; 5] = ["bytes_in", "bytes_out", "records_in", "produce_requests", "fetch_requests"];

fn of_topics(encoder: &mut DescriptorEncoder<'_>, partitions: &[Arc<Partition>]) -> fmt::Result {
    for (name, help, field) in TRAFFIC {
        let mut by_topic = BTreeMap::<&str, u64>::new();
        for partition in partitions {
            *by_topic.entry(&partition.topic).or_default() += field(&partition.traffic).load(Ordering::Relaxed);
        }
        let counts = by_topic.into_iter().map(|(topic, count)| ([("topic", topic)], count)).collect();
        let name = format!("kafka_server_brokertopicmetrics_{name}");
        rows(encoder, MetricType::Counter, (&name, help), &counts)?;
    }
    Ok(())
}

fn of_partitions(encoder: &mut DescriptorEncoder<'_>, partitions: &[Arc<Partition>]) -> fmt::Result {
    for ((_, help, field), name) in TRAFFIC.iter().zip(PARTITION_TRAFFIC) {
        let counts = partitions.iter().map(|p| (labels(p), field(&p.traffic).load(Ordering::Relaxed))).collect();
        rows(encoder, MetricType::Counter, (&format!("ballast_partition_{name}"), help), &counts)?;
    }
    let gauges: [GaugeOf<'_>; 4] = [
        ("kafka_log_log_size", "Bytes of the partition's segments", |p| p.log.size_bytes() as i64),
        ("kafka_log_log_logstartoffset", "First offset", |p| p.log.start()),
        ("kafka_log_log_logendoffset", "End offset", |p| p.log.end()),
        ("kafka_log_log_numlogsegments", "Segments", |p| p.log.segment_count() as i64),
    ];
    for (name, help, value) in gauges {
        let values = partitions.iter().map(|p| (labels(p), value(p) as u64)).collect();
        rows(encoder, MetricType::Gauge, (name, help), &values)?;
    }
    Ok(())
}
