//! `ballast cluster describe`: what the cluster is; every partition in trouble with its reason and what would help.

use std::collections::{BTreeMap, BTreeSet};

use ballast_client::{Admin, Cluster, Metadata};
use serde::Serialize;

use super::trouble::{self, Brokers, Facts, Kind, State, Trouble};
use crate::error::Failure;
use crate::output::{count, plural, print, print_json};

/// Partitions that people are shown of each kind of trouble; `--json` has all.
const SHOWN_MAX: usize = 20;

#[derive(Serialize)]
struct Described {
    cluster_id: String,
    controller: i32,
    brokers: usize,
    fenced_brokers: usize,
    topics: usize,
    partitions: usize,
    offline_partitions: usize,
    under_replicated_partitions: usize,
    under_min_isr_partitions: usize,
    features: BTreeMap<String, i16>,
    /// Worst first.
    troubles: Vec<Trouble>,
}

pub(super) async fn run(cluster: &Cluster, json: bool) -> Result<(), Failure> {
    let admin = Admin::new(cluster.clone());
    let description = admin.describe_cluster().await?;
    let metadata = cluster.all_topics().await?;
    let state = |fenced| if fenced { State::Fenced } else { State::Alive };
    let brokers: Brokers = description.brokers.iter().map(|broker| (broker.id, state(broker.fenced))).collect();
    let troubles = troubles(&admin, &metadata, &brokers).await?;
    let partitions = || metadata.topics.values().flat_map(|topic| topic.partitions.values());
    let described = Described {
        cluster_id: description.cluster_id,
        controller: description.controller,
        brokers: description.brokers.len(),
        fenced_brokers: description.brokers.iter().filter(|broker| broker.fenced).count(),
        topics: metadata.topics.len(),
        partitions: partitions().count(),
        offline_partitions: partitions().filter(|p| p.leader < 0).count(),
        under_replicated_partitions: partitions().filter(|p| p.isr.len() < p.replicas.len()).count(),
        under_min_isr_partitions: troubles.iter().filter(|trouble| trouble.kind == Kind::UnderMinIsr).count(),
        features: description.versions.finalized_features,
        troubles,
    };
    if json { print_json(&described) } else { print(&text(&described)) }
}

/// Every partition in trouble. What is not needed for it is not asked.
async fn troubles(admin: &Admin, metadata: &Metadata, brokers: &Brokers) -> Result<Vec<Trouble>, Failure> {
    let mut all: Vec<Facts> = Vec::new();
    for topic in metadata.topics.values() {
        let in_trouble = topic.partitions.iter().filter(|(_, p)| p.leader < 0 || p.isr.len() < p.replicas.len());
        all.extend(in_trouble.map(|(index, partition)| Facts {
            topic: topic.name.clone(),
            partition: *index,
            leader: partition.leader,
            replicas: partition.replicas.clone(),
            isr: partition.isr.clone(),
            offline: partition.offline.clone(),
            ..Facts::default()
        }));
    }
    let topics: BTreeSet<String> = all.iter().map(|facts| facts.topic.clone()).collect();
    let topics: Vec<&str> = topics.iter().map(String::as_str).collect();
    // A broker that does not know these questions leaves the reasons shorter.
    let eligible = admin.eligible_leaders(&topics).await.unwrap_or_default();
    let names = ["min.insync.replicas", "unclean.leader.election.enable"];
    let settings = if topics.is_empty() { BTreeMap::new() } else { admin.topic_settings(&topics, &names).await? };
    for facts in &mut all {
        if let Some(known) = eligible.get(&(facts.topic.clone(), facts.partition)) {
            facts.elr.clone_from(&known.elr);
            facts.last_known.clone_from(&known.last_known);
        }
        let of_topic = settings.get(&facts.topic);
        let value = |name: &str| of_topic.and_then(|settings| settings.get(name));
        facts.min_isr = value(names[0]).and_then(|value| value.parse().ok());
        facts.unclean = value(names[1]).and_then(|value| value.parse().ok());
    }
    let mut troubles: Vec<Trouble> = all.iter().filter_map(|facts| trouble::of(facts, brokers)).collect();
    troubles.sort();
    Ok(troubles)
}

fn text(described: &Described) -> String {
    let features: Vec<String> = described.features.iter().map(|(name, level)| format!("{name}={level}")).collect();
    let rows = [
        ("cluster id", described.cluster_id.clone()),
        ("controller", described.controller.to_string()),
        ("brokers", format!("{} ({} fenced)", described.brokers, described.fenced_brokers)),
        ("topics", described.topics.to_string()),
        ("partitions", count(described.partitions as i64)),
        ("offline partitions", count(described.offline_partitions as i64)),
        ("under-replicated", count(described.under_replicated_partitions as i64)),
        ("features", features.join(" ")),
    ];
    let mut lines: Vec<String> = rows.iter().map(|(name, value)| format!("{name:<20}{value}")).collect();
    for kind in [Kind::Leaderless, Kind::UnderMinIsr, Kind::UnderReplicated] {
        let of_kind = || described.troubles.iter().filter(|trouble| trouble.kind == kind);
        for trouble in of_kind().take(SHOWN_MAX) {
            let Trouble { topic, partition, why, help, .. } = trouble;
            lines.push(format!("{}: {topic}-{partition}: {why}. {help}", kind.name()));
        }
        let more = of_kind().count().saturating_sub(SHOWN_MAX);
        if more > 0 {
            lines.push(format!("{}: and {} more", kind.name(), plural(more as i64, "partition")));
        }
    }
    if described.fenced_brokers > 0 {
        lines.push("`ballast cluster nodes` says why a broker is fenced".to_owned());
    }
    lines.join("\n")
}
