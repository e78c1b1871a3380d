//! What the controller knows of the cluster, and how the metadata quorum stands, under Kafka's names (`KafkaController`,
//! `ControllerStats`, `raft-metrics`).
//!
//! Holds: what the metadata says is shown by every node, as each has applied it; what the controller did is counted by the
//! node whose controller did it, since it started. Dashboards take the largest of the former and the sum of the latter.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use ballast_core::image::{Broker, Image, Partition};
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

use super::lines::{NO_LABELS, gauges, one, rows};
use crate::node::Node;
use crate::quorum::QuorumView;

/// Everything.
pub(super) fn encode(encoder: &mut DescriptorEncoder<'_>, node: &Node) -> fmt::Result {
    let image = node.metadata.image();
    of_cluster(encoder, &image)?;
    of_controller(encoder, node, &image)?;
    of_quorum(encoder, node)
}

fn controller_metric(name: &str) -> String {
    format!("kafka_controller_kafkacontroller_{name}")
}

/// A count of brokers or partitions: name, help, which.
type CountOf<T> = (&'static str, &'static str, fn(&T) -> bool);

const BROKERS: [CountOf<Broker>; 3] = [
    ("activebrokercount", "Registered brokers that are not fenced", |broker| !broker.fenced),
    ("fencedbrokercount", "Registered brokers that are fenced", |broker| broker.fenced),
    ("controlledshutdownbrokercount", "Brokers that hand over what they lead, in order to stop", |broker| {
        broker.in_controlled_shutdown && !broker.fenced
    }),
];

const PARTITIONS: [CountOf<Partition>; 3] = [
    ("globalpartitioncount", "Partitions of the cluster", |_| true),
    ("offlinepartitionscount", "Partitions without a leader", |state| !state.has_leader()),
    ("preferredreplicaimbalancecount", "Partitions that another than the preferred replica leads", |state| {
        state.replicas.first() != Some(&state.leader)
    }),
];

fn of_cluster(encoder: &mut DescriptorEncoder<'_>, image: &Image) -> fmt::Result {
    for (name, help, is_one) in BROKERS {
        let count = image.brokers().filter(|broker| is_one(broker)).count();
        one(encoder, &controller_metric(name), help, count as u64)?;
    }
    let topics = image.topic_count() as u64;
    one(encoder, &controller_metric("globaltopiccount"), "Topics of the cluster", topics)?;
    for (name, help, is_one) in PARTITIONS {
        let partitions = image.topics().flat_map(|topic| topic.partitions());
        let count = partitions.filter(|(_, state)| is_one(state)).count();
        one(encoder, &controller_metric(name), help, count as u64)?;
    }
    Ok(())
}

fn of_controller(encoder: &mut DescriptorEncoder<'_>, node: &Node, image: &Image) -> fmt::Result {
    let stats = node.controller.stats();
    let active = u64::from(stats.is_active.load(Ordering::Relaxed));
    one(encoder, &controller_metric("activecontrollercount"), "1 on the active controller", active)?;
    let help = "Index of the last metadata entry that this node has applied";
    one(encoder, &controller_metric("lastappliedrecordoffset"), help, image.index())?;
    let applied_at_ms = node.metadata.applied_at_ms();
    let help = "When this node applied it, in milliseconds since 1970";
    gauges(encoder, (&controller_metric("lastappliedrecordtimestamp"), help), &[(NO_LABELS, applied_at_ms)])?;
    let view = node.quorum.describe();
    let committed = view.high_watermark.saturating_sub(1);
    let help = "Index of the last metadata entry that this node knows to be committed";
    one(encoder, &controller_metric("lastcommittedrecordoffset"), help, committed)?;
    // Nothing is written while nothing happens, so age alone is no lag.
    let behind = committed > image.index();
    let lag_ms = if behind { node.clock.now_ms().saturating_sub(applied_at_ms).max(0) } else { 0 };
    let help = "How long ago this node applied an entry, if there is a later one; else 0";
    gauges(encoder, (&controller_metric("lastappliedrecordlagms"), help), &[(NO_LABELS, lag_ms)])?;
    let help = "Brokers fenced for their silence";
    one(encoder, &controller_metric("timedoutbrokerheartbeatcount"), help, load(&stats.timed_out_heartbeats))?;
    let help = "Controllers that this node saw become active";
    one(encoder, &controller_metric("newactivecontrollerscount"), help, node.metadata.controllers_seen())?;
    let counts = [
        ("uncleanleaderelections", "Leaders elected that were not in sync", &stats.unclean_elections),
        ("electionfromeligibleleaderreplicas", "Leaders elected out of ELRs", &stats.eligible_elections),
    ];
    for (name, help, counter) in counts {
        let name = format!("kafka_controller_controllerstats_{name}");
        rows(encoder, MetricType::Counter, (&name, help), &vec![(NO_LABELS, load(counter))])?;
    }
    Ok(())
}

fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

fn of_quorum(encoder: &mut DescriptorEncoder<'_>, node: &Node) -> fmt::Result {
    let (view, me) = (node.quorum.describe(), node.quorum.me());
    let leader = view.leader.map_or(-1, |leader| i64::from(leader.node));
    let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let log_end = view.voters.iter().chain(&view.observers).find(|member| member.id == me).and_then(|me| me.log_end);
    let values: [(&str, &str, i64); 6] = [
        ("current_leader", "Node that leads the metadata quorum, -1 if none is known", leader),
        ("current_epoch", "Term of the metadata quorum", number(view.epoch)),
        (
            "high_watermark",
            "Metadata entries that are committed, as far as this node knows",
            number(view.high_watermark),
        ),
        ("log_end_offset", "Metadata entries in this node's log", number(log_end.unwrap_or(0))),
        ("number_of_voters", "Nodes that vote", view.voters.len() as i64),
        ("number_of_observers", "Nodes that listen", view.observers.len() as i64),
    ];
    for (name, help, value) in values {
        gauges(encoder, (&format!("kafka_server_raft_metrics_{name}"), help), &[(NO_LABELS, value)])?;
    }
    let state = [([("current_state", state(&view, me))], 1)];
    gauges(encoder, ("kafka_server_raft_metrics_current_state", "1 for what this node is in the quorum"), &state)
}

/// Kafka's word for what this node is in the quorum.
fn state(view: &QuorumView, me: crate::quorum::NodeId) -> &'static str {
    let votes = view.voters.iter().any(|voter| voter.id == me);
    match view.leader {
        Some(leader) if leader == me => "leader",
        None => "unattached",
        Some(_) if votes => "follower",
        Some(_) => "observer",
    }
}
