//! `ballast cluster describe`: what the cluster is; every partition in trouble with its reason and what would help.

use std::collections::{BTreeMap, BTreeSet};

use ballast_client::{Admin, Cluster, Metadata, PartitionMetadata};
use serde::Serialize;

use super::look;
use super::trouble::{self, Brokers, Facts, Kind, State, Trouble};
use crate::active::{self, Active};
use crate::error::Failure;
use crate::output::{count, plural, print, print_json};

/// Partitions that people are shown of each kind of trouble; `--json` has all.
const SHOWN_MAX: usize = 20;

#[derive(Serialize)]
struct Described {
    cluster_id: String,
    /// The node that decides, which may be no broker; `null` if there is none.
    controller: Option<i32>,
    brokers: usize,
    fenced_brokers: usize,
    /// Brokers that do not answer here, though they are not fenced.
    silent_brokers: Vec<i32>,
    /// Of partitions `null`, here and below: no broker tells of them while none hears a controller.
    topics: Option<usize>,
    partitions: Option<usize>,
    offline_partitions: Option<usize>,
    under_replicated_partitions: Option<usize>,
    under_min_isr_partitions: Option<usize>,
    features: BTreeMap<String, i16>,
    /// Of the cluster and its brokers, one line each.
    notes: Vec<String>,
    /// Of partitions, worst first.
    troubles: Vec<Trouble>,
}

pub(super) async fn run(cluster: &Cluster, json: bool) -> Result<(), Failure> {
    let admin = Admin::new(cluster.clone());
    let description = admin.describe_cluster().await?;
    let (active, looks) = tokio::join!(active::find(cluster), look::at_all(cluster, &description.brokers));
    let metadata = active::metadata(cluster, &active).await?;
    let is_silent = |id: &i32| looks.get(id).is_some_and(|look| look.unheard.is_some());
    let state = |id: i32, fenced| match (fenced, is_silent(&id)) {
        (true, _) => State::Fenced,
        (false, true) => State::Silent,
        (false, false) => State::Alive,
    };
    let brokers: Brokers = description.brokers.iter().map(|b| (b.id, state(b.id, b.fenced))).collect();
    let of_broker = looks.iter().filter_map(|(id, look)| {
        let trouble = look.trouble()?;
        Some(format!("broker {id} {}: {}. {}", look.state(), trouble.why, trouble.help))
    });
    let troubles = match &metadata {
        Some(metadata) => troubles(&admin, metadata, &brokers).await?,
        None => Vec::new(),
    };
    let topics = metadata.iter().flat_map(|metadata| metadata.topics.values());
    let partitions: Vec<&PartitionMetadata> = topics.flat_map(|topic| topic.partitions.values()).collect();
    let known = |count: usize| metadata.is_some().then_some(count);
    let count_of = |wanted: fn(&PartitionMetadata) -> bool| known(partitions.iter().filter(|p| wanted(p)).count());
    let described = Described {
        cluster_id: description.cluster_id,
        // Whom a cluster names that does not tell more.
        controller: if active == Active::Unknown { Some(description.controller) } else { active.node() },
        brokers: description.brokers.len(),
        fenced_brokers: description.brokers.iter().filter(|broker| broker.fenced).count(),
        silent_brokers: looks.keys().filter(|id| is_silent(id)).copied().collect(),
        topics: metadata.as_ref().map(|metadata| metadata.topics.len()),
        partitions: known(partitions.len()),
        offline_partitions: count_of(|p| p.leader < 0),
        under_replicated_partitions: count_of(|p| p.isr.len() < p.replicas.len()),
        under_min_isr_partitions: known(troubles.iter().filter(|trouble| trouble.kind == Kind::UnderMinIsr).count()),
        features: description.versions.finalized_features,
        notes: active.trouble().into_iter().chain(of_broker).collect(),
        troubles,
    };
    if json { print_json(&described) } else { print(&text(&described, &brokers)) }
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

fn text(described: &Described, brokers: &Brokers) -> String {
    let controller = match described.controller {
        Some(id) if brokers.contains_key(&id) => id.to_string(),
        Some(id) => format!("{id} (no broker)"),
        None => "none".to_owned(),
    };
    let number = |known: Option<usize>| known.map_or_else(|| "-".to_owned(), |number| count(number as i64));
    let silent = match described.silent_brokers.len() {
        0 => String::new(),
        silent => format!(", {silent} silent"),
    };
    let features: Vec<String> = described.features.iter().map(|(name, level)| format!("{name}={level}")).collect();
    let rows = [
        ("cluster id", described.cluster_id.clone()),
        ("controller", controller),
        ("brokers", format!("{} ({} fenced{silent})", described.brokers, described.fenced_brokers)),
        ("topics", number(described.topics)),
        ("partitions", number(described.partitions)),
        ("offline partitions", number(described.offline_partitions)),
        ("under-replicated", number(described.under_replicated_partitions)),
        ("features", features.join(" ")),
    ];
    let mut lines: Vec<String> = rows.iter().map(|(name, value)| format!("{name:<20}{value}")).collect();
    lines.extend(described.notes.iter().cloned());
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
