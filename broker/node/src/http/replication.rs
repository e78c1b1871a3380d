//! How well partitions are replicated, under Kafka's names (`ReplicaManager`, `kafka.cluster:type=Partition`).
//!
//! Holds: a partition is shown by the broker that leads it, and by no other: sums over brokers count it once.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ballast_core::replica::Leader;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

use super::lines::{NO_LABELS, gauges, labels, one, rows};
use super::metrics::Metrics;
use crate::drive::partition::Partition;
use crate::node::Node;

/// What a leader knows of its replicas.
struct Led {
    labels: [(&'static str, String); 2],
    replicas: usize,
    in_sync: usize,
    is_under_min: bool,
    is_at_min: bool,
}

impl Led {
    fn of(partition: &Partition) -> Option<Led> {
        partition.leader(|leader: &Leader| Led {
            labels: labels(partition),
            replicas: leader.replicas().len(),
            in_sync: leader.isr().len(),
            is_under_min: leader.is_under_min_isr(),
            is_at_min: leader.is_at_min_isr(),
        })
    }

    fn is_under_replicated(&self) -> bool {
        self.in_sync < self.replicas
    }
}

/// A test of a led partition: name, help, whether it passes.
type TestOf = (&'static str, &'static str, fn(&Led) -> bool);

/// Kafka counts these at `ReplicaManager`…
const COUNTS: [TestOf; 3] = [
    ("underreplicatedpartitions", "Led partitions with a replica that is not in sync", Led::is_under_replicated),
    ("underminisrpartitioncount", "Led partitions below min ISR", |led| led.is_under_min),
    ("atminisrpartitioncount", "Led partitions with just as many replicas in sync as min ISR", |led| led.is_at_min),
];

/// …and shows each at its partition.
const FACTS: [TestOf; 3] = [
    ("underreplicated", "1 if a replica is not in sync", Led::is_under_replicated),
    ("underminisr", "1 below min ISR", |led| led.is_under_min),
    ("atminisr", "1 with just as many replicas in sync as min ISR", |led| led.is_at_min),
];

type CounterOf = (&'static str, &'static str, fn(&Metrics) -> &AtomicU64);

const COUNTERS: [CounterOf; 4] = [
    ("replicamanager_isrshrinks", "Times that a replica left an ISR", |all| &all.isr_shrinks),
    ("replicamanager_isrexpands", "Times that a replica joined an ISR", |all| &all.isr_expands),
    ("replicamanager_failedisrupdates", "ISR changes that the controller did not make", |all| &all.failed_isr_updates),
    ("brokertopicmetrics_replicationbytesout", "Bytes fetched by followers", |all| &all.replication_bytes_out),
];

/// Everything.
pub(super) fn encode(encoder: &mut DescriptorEncoder<'_>, node: &Node, partitions: &[Arc<Partition>]) -> fmt::Result {
    let led: Vec<Led> = partitions.iter().filter_map(|partition| Led::of(partition)).collect();
    for (name, help, test) in COUNTS {
        let count = led.iter().filter(|led| test(led)).count();
        one(encoder, &format!("kafka_server_replicamanager_{name}"), help, count as u64)?;
    }
    let image = node.metadata.image();
    let moving = image
        .topics()
        .flat_map(|topic| topic.partitions())
        .filter(|(_, state)| state.leader == node.id && !(state.adding.is_empty() && state.removing.is_empty()));
    let help = "Led partitions whose replicas are being changed";
    one(encoder, "kafka_server_replicamanager_reassigningpartitions", help, moving.count() as u64)?;
    for (name, help, counter) in COUNTERS {
        let count = vec![(NO_LABELS, counter(&node.metrics).load(Ordering::Relaxed))];
        rows(encoder, MetricType::Counter, (&format!("kafka_server_{name}"), help), &count)?;
    }
    of_partitions(encoder, &led)
}

fn of_partitions(encoder: &mut DescriptorEncoder<'_>, led: &[Led]) -> fmt::Result {
    let mut show = |name: &str, help: &str, value: &dyn Fn(&Led) -> i64| {
        let values: Vec<_> = led.iter().map(|led| (led.labels.clone(), value(led))).collect();
        gauges(encoder, (&format!("kafka_cluster_partition_{name}"), help), &values)
    };
    for (name, help, test) in FACTS {
        show(name, help, &|led| i64::from(test(led)))?;
    }
    show("replicascount", "Replicas", &|led| led.replicas as i64)?;
    show("insyncreplicascount", "Replicas in sync", &|led| led.in_sync as i64)
}
