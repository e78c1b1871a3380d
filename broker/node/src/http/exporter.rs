//! What kafka_exporter shows, under its names, so that its dashboards work: brokers, partitions, consumer groups and
//! their lag.
//!
//! Each broker shows what it knows best: the offsets of the partitions that it leads, and the groups that it coordinates. A
//! group's lag needs both; where the partition is led by another broker it is left out, and the committed offset is still
//! there. A group's rows go with it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use ballast_core::group::GroupView;
use ballast_core::image::{Image, Partition as State};
use prometheus_client::encoding::DescriptorEncoder;

use super::lines::{gauges, one};
use crate::drive::partition::Partition;
use crate::node::Node;

/// Labels of one partition.
type OfPartition = [(&'static str, String); 2];
/// Labels of a group's partition, and of a group's topic.
type OfGroup<const N: usize> = [(&'static str, String); N];

/// Everything.
pub(super) fn encode(encoder: &mut DescriptorEncoder<'_>, node: &Node) -> fmt::Result {
    let image = node.metadata.image();
    of_brokers(encoder, &image)?;
    of_topics(encoder, &image)?;
    of_led(encoder, node)?;
    of_groups(encoder, node)
}

fn of_brokers(encoder: &mut DescriptorEncoder<'_>, image: &Image) -> fmt::Result {
    let live: Vec<_> = image.brokers().filter(|broker| !broker.fenced).collect();
    one(encoder, "kafka_brokers", "Live brokers", live.len() as u64)?;
    let info = live.iter().map(|broker| {
        let address = broker.listeners.first().map_or_else(String::new, |at| format!("{}:{}", at.host, at.port));
        ([("id", broker.id.to_string()), ("address", address)], 1)
    });
    gauges(encoder, ("kafka_broker_info", "Live brokers, and where each listens"), &info.collect::<Vec<_>>())
}

/// A metric of a partition as the metadata has it: name, help, value.
type FactOf = (&'static str, &'static str, fn(&State) -> i64);

const FACTS: [FactOf; 5] = [
    ("leader", "Broker that leads, -1 if none does", |state| i64::from(state.leader)),
    ("replicas", "Replicas", |state| state.replicas.len() as i64),
    ("in_sync_replica", "Replicas in sync", |state| state.isr.len() as i64),
    ("leader_is_preferred", "1 if the first replica leads", |state| {
        i64::from(state.replicas.first() == Some(&state.leader))
    }),
    ("under_replicated_partition", "1 if a replica is not in sync", |state| {
        i64::from(state.isr.len() < state.replicas.len())
    }),
];

fn of_topics(encoder: &mut DescriptorEncoder<'_>, image: &Image) -> fmt::Result {
    let counts = image.topics().map(|topic| ([("topic", topic.name.to_string())], topic.partition_count() as i64));
    gauges(encoder, ("kafka_topic_partitions", "Partitions of a topic"), &counts.collect::<Vec<_>>())?;
    for (name, help, fact) in FACTS {
        let of_topic = image
            .topics()
            .flat_map(|topic| topic.partitions().map(move |(index, state)| (labels(&topic.name, index), fact(state))));
        let rows: Vec<(OfPartition, i64)> = of_topic.collect();
        gauges(encoder, (&format!("kafka_topic_partition_{name}"), help), &rows)?;
    }
    Ok(())
}

fn labels(topic: &str, index: i32) -> OfPartition {
    [("topic", topic.to_owned()), ("partition", index.to_string())]
}

fn of_led(encoder: &mut DescriptorEncoder<'_>, node: &Node) -> fmt::Result {
    let led: Vec<Arc<Partition>> = node.store.hosted.all().into_iter().filter(|p| p.is_leader()).collect();
    let rows = |value: fn(&Partition) -> i64| -> Vec<(OfPartition, i64)> {
        led.iter().map(|partition| (labels(&partition.topic, partition.index), value(partition))).collect()
    };
    gauges(encoder, ("kafka_topic_partition_current_offset", "High watermark"), &rows(Partition::high))?;
    let oldest = rows(|partition| partition.log.start());
    gauges(encoder, ("kafka_topic_partition_oldest_offset", "First offset"), &oldest)
}

/// What the groups come to.
#[derive(Default)]
struct Groups {
    members: Vec<(OfGroup<1>, i64)>,
    offsets: Vec<(OfGroup<3>, i64)>,
    offset_sums: Vec<(OfGroup<2>, i64)>,
    lags: Vec<(OfGroup<3>, i64)>,
    lag_sums: Vec<(OfGroup<2>, i64)>,
}

fn of_groups(encoder: &mut DescriptorEncoder<'_>, node: &Node) -> fmt::Result {
    let mut all = Groups::default();
    for coordinator in node.coordinators.all() {
        // One that loads shows its groups when it has them.
        let _ = coordinator.read(|shard| shard.groups().for_each(|group| all.add(node, &group)));
    }
    let name = |name: &str| format!("kafka_consumergroup_{name}");
    gauges(encoder, (&name("members"), "Members of a group"), &all.members)?;
    gauges(encoder, (&name("current_offset"), "Committed offset"), &all.offsets)?;
    gauges(encoder, (&name("current_offset_sum"), "Committed offsets of a topic, added up"), &all.offset_sums)?;
    gauges(encoder, (&name("lag"), "Records between the committed offset and the high watermark"), &all.lags)?;
    gauges(encoder, (&name("lag_sum"), "Lag of a topic's partitions, added up"), &all.lag_sums)
}

impl Groups {
    fn add(&mut self, node: &Node, group: &GroupView<'_>) {
        let id = || ("consumergroup", group.id().to_string());
        self.members.push(([id()], group.members_len() as i64));
        let mut sums = BTreeMap::<&str, (i64, Option<i64>)>::new();
        for (topic, index, committed) in group.offsets() {
            let labels = || [id(), ("topic", topic.to_string()), ("partition", index.to_string())];
            let (offsets, lags) = sums.entry(topic).or_default();
            *offsets = offsets.saturating_add(committed.offset);
            self.offsets.push((labels(), committed.offset));
            let led = node.store.hosted.by_name(topic, index).filter(|partition| partition.is_leader());
            if let Some(partition) = led {
                let lag = partition.high().saturating_sub(committed.offset).max(0);
                *lags = Some(lags.unwrap_or(0).saturating_add(lag));
                self.lags.push((labels(), lag));
            }
        }
        for (topic, (offsets, lag)) in sums {
            let labels = || [id(), ("topic", topic.to_owned())];
            self.offset_sums.push((labels(), offsets));
            self.lag_sums.extend(lag.map(|lag| (labels(), lag)));
        }
    }
}
