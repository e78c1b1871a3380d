//! `ballast cluster`: what the cluster is, its nodes, and the quorum that keeps its metadata.

mod voters;

use std::collections::BTreeMap;

use ballast_client::admin::QuorumReplica;
use ballast_client::{Admin, Cluster, Metadata};
use clap::{Args, Subcommand};
use serde::Serialize;

use crate::connect::ConnectArgs;
use crate::error::Failure;
use crate::output::{Column, bytes, count, print, print_json, table, time};

#[derive(Args, Debug)]
pub(crate) struct ClusterArgs {
    #[command(flatten)]
    connect: ConnectArgs,
    #[command(subcommand)]
    command: ClusterCommand,
}

#[derive(Subcommand, Debug)]
enum ClusterCommand {
    /// Show what the cluster is and whether all of it is in order.
    #[command(after_help = "Example:
  ballast cluster describe --json")]
    Describe,
    /// List the brokers, what each leads and has, and how full its disks are.
    #[command(after_help = "Example:
  ballast cluster nodes -b broker-1:9092")]
    Nodes,
    /// Show the metadata quorum, or change who votes in it.
    #[command(after_help = "Examples:
  ballast cluster quorum
  ballast cluster quorum add 4@broker-4:9093")]
    Quorum(voters::QuorumArgs),
}

pub(crate) async fn run(args: ClusterArgs) -> Result<(), Failure> {
    let cluster = args.connect.cluster()?;
    let json = args.connect.json;
    match args.command {
        ClusterCommand::Describe => describe(&cluster, json).await,
        ClusterCommand::Nodes => nodes(&cluster, json).await,
        ClusterCommand::Quorum(voters::QuorumArgs { change: None }) => quorum(&cluster, json).await,
        ClusterCommand::Quorum(voters::QuorumArgs { change: Some(change) }) => {
            voters::change(&cluster, &change, json).await
        }
    }
}

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
    features: BTreeMap<String, i16>,
}

async fn describe(cluster: &Cluster, json: bool) -> Result<(), Failure> {
    let description = Admin::new(cluster.clone()).describe_cluster().await?;
    let metadata = cluster.all_topics().await?;
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
        features: description.versions.finalized_features,
    };
    if json {
        return print_json(&described);
    }
    let features: Vec<String> = described.features.iter().map(|(name, level)| format!("{name}={level}")).collect();
    let rows = [
        ("cluster id", described.cluster_id),
        ("controller", described.controller.to_string()),
        ("brokers", format!("{} ({} fenced)", described.brokers, described.fenced_brokers)),
        ("topics", described.topics.to_string()),
        ("partitions", count(described.partitions as i64)),
        ("offline partitions", count(described.offline_partitions as i64)),
        ("under-replicated", count(described.under_replicated_partitions as i64)),
        ("features", features.join(" ")),
    ];
    let lines: Vec<String> = rows.iter().map(|(name, value)| format!("{name:<20}{value}")).collect();
    print(&lines.join("\n"))
}

#[derive(Serialize)]
struct NodeRow {
    id: i32,
    host: String,
    port: i32,
    rack: Option<String>,
    fenced: bool,
    controller: bool,
    leaders: usize,
    replicas: usize,
    /// Bytes of all logs; `null` if the broker does not tell.
    log_bytes: Option<u64>,
    /// Free bytes of its file systems; `null` if the broker does not tell.
    usable_bytes: Option<u64>,
}

async fn nodes(cluster: &Cluster, json: bool) -> Result<(), Failure> {
    let admin = Admin::new(cluster.clone());
    let description = admin.describe_cluster().await?;
    let metadata = cluster.all_topics().await?;
    let mut rows = Vec::new();
    for broker in &description.brokers {
        let dirs = if broker.fenced { None } else { admin.describe_log_dirs(broker.id).await.ok() };
        let used = dirs.as_ref().map(|dirs| dirs.iter().flat_map(|dir| &dir.partitions).map(|p| p.size_bytes).sum());
        let usable = dirs.as_ref().map(|dirs| dirs.iter().map(|dir| dir.usable_bytes.max(0)).sum());
        let (leaders, replicas) = share(&metadata, broker.id);
        rows.push(NodeRow {
            id: broker.id,
            host: broker.host.clone(),
            port: broker.port,
            rack: broker.rack.clone(),
            fenced: broker.fenced,
            controller: broker.id == description.controller,
            leaders,
            replicas,
            log_bytes: used.map(|bytes: i64| bytes.max(0) as u64),
            usable_bytes: usable.map(|bytes: i64| bytes as u64),
        });
    }
    if json {
        return print_json(&serde_json::json!({ "nodes": rows }));
    }
    let columns = [
        Column::Right("id"),
        Column::Left("address"),
        Column::Left("rack"),
        Column::Left("state"),
        Column::Right("leaders"),
        Column::Right("replicas"),
        Column::Right("logs"),
        Column::Right("free"),
    ];
    let size = |bytes_or_none: Option<u64>| bytes_or_none.map_or_else(|| "-".to_owned(), bytes);
    let cells = rows.iter().map(|row| {
        vec![
            row.id.to_string(),
            format!("{}:{}", row.host, row.port),
            row.rack.clone().unwrap_or_else(|| "-".to_owned()),
            if row.fenced { "fenced" } else { "alive" }.to_owned(),
            count(row.leaders as i64),
            count(row.replicas as i64),
            size(row.log_bytes),
            size(row.usable_bytes),
        ]
    });
    print(&table(&columns, cells))
}

/// How many partitions a broker leads, and how many it has.
fn share(metadata: &Metadata, broker: i32) -> (usize, usize) {
    let partitions = || metadata.topics.values().flat_map(|topic| topic.partitions.values());
    let leads = partitions().filter(|p| p.leader == broker).count();
    (leads, partitions().filter(|p| p.replicas.contains(&broker)).count())
}

#[derive(Serialize)]
struct ReplicaRow {
    id: i32,
    role: &'static str,
    /// `null` while the quorum's voters are fixed.
    directory_id: Option<String>,
    log_end_offset: i64,
    /// Behind the leader, in records.
    lag: i64,
    last_fetch_ms: i64,
    last_caught_up_ms: i64,
    listeners: Vec<String>,
}

async fn quorum(cluster: &Cluster, json: bool) -> Result<(), Failure> {
    let quorum = Admin::new(cluster.clone()).describe_quorum().await?;
    let members = || quorum.voters.iter().map(|v| (v, true)).chain(quorum.observers.iter().map(|o| (o, false)));
    let leader_end = members().find(|(m, _)| m.id == quorum.leader).map_or(-1, |(m, _)| m.log_end_offset);
    let row = |(member, voter): (&QuorumReplica, bool)| ReplicaRow {
        id: member.id,
        role: match (voter, member.id == quorum.leader) {
            (_, true) => "leader",
            (true, false) => "voter",
            (false, false) => "observer",
        },
        directory_id: (!member.directory.is_zero()).then(|| member.directory.to_string()),
        log_end_offset: member.log_end_offset,
        lag: if member.log_end_offset < 0 { -1 } else { (leader_end - member.log_end_offset).max(0) },
        last_fetch_ms: member.last_fetch_ms,
        last_caught_up_ms: member.last_caught_up_ms,
        listeners: quorum.nodes.iter().find(|n| n.id == member.id).map(|n| n.listeners.clone()).unwrap_or_default(),
    };
    let rows: Vec<ReplicaRow> = members().map(row).collect();
    if json {
        return print_json(&serde_json::json!({
            "leader": quorum.leader,
            "leader_epoch": quorum.leader_epoch,
            "high_watermark": quorum.high_watermark,
            "replicas": rows,
        }));
    }
    let columns = [
        Column::Right("id"),
        Column::Left("role"),
        Column::Right("end"),
        Column::Right("lag"),
        Column::Left("last caught up"),
        Column::Left("directory"),
        Column::Left("listeners"),
    ];
    let cells = rows.iter().map(|row| {
        vec![
            row.id.to_string(),
            row.role.to_owned(),
            count(row.log_end_offset),
            count(row.lag),
            time(row.last_caught_up_ms),
            row.directory_id.clone().unwrap_or_else(|| "-".to_owned()),
            row.listeners.join(" "),
        ]
    });
    let (leader, epoch, high) = (quorum.leader, quorum.leader_epoch, count(quorum.high_watermark));
    print(&format!("leader {leader}  epoch {epoch}  committed up to {high}\n{}", table(&columns, cells)))
}
