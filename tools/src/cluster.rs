//! `ballast cluster`: what the cluster is, its nodes, and the quorum that keeps its metadata.

mod describe;
mod drain;
mod fenced;
mod look;
mod nodes;
mod trouble;
mod unregister;
mod voters;

use ballast_client::admin::QuorumReplica;
use ballast_client::{Admin, Cluster};
use clap::{Args, Subcommand};
use serde::Serialize;

use crate::active;
use crate::connect::ConnectArgs;
use crate::error::Failure;
use crate::output::{Column, count, print, print_json, table, time};

#[derive(Args, Debug)]
pub(crate) struct ClusterArgs {
    #[command(flatten)]
    connect: ConnectArgs,
    #[command(subcommand)]
    command: ClusterCommand,
}

#[derive(Subcommand, Debug)]
enum ClusterCommand {
    /// Show what the cluster is, what is wrong in it, why, and what would help.
    #[command(after_help = "Example:
  ballast cluster describe --json")]
    Describe,
    /// List the brokers, what each leads and has, how full its disks are, and why one is fenced.
    #[command(after_help = "Example:
  ballast cluster nodes -b broker-1:9092")]
    Nodes,
    /// Hand a broker's leaderships to other in-sync replicas, before work on it.
    #[command(after_help = "Until the broker starts again, or --undo, it leads only what nobody else can lead.
Exit status: 0 it leads nothing, 1 a partition has no other in-sync replica, 3 not finished (--no-wait).

Examples:
  ballast cluster drain 2 --leaders
  ballast cluster drain 2 --undo")]
    Drain(drain::DrainArgs),
    /// Forget a broker that is gone for good.
    #[command(
        after_help = "A broker that still answers is left alone: stop it first. Its replicas stay assigned to it; those of its id that
come back later fill them again. If it votes in the metadata quorum, remove that vote, too (ballast cluster quorum remove).

Example:
  ballast cluster unregister 4"
    )]
    Unregister(unregister::UnregisterArgs),
    /// Show the metadata quorum, or change who votes in it.
    #[command(after_help = "Examples:
  ballast cluster quorum
  ballast cluster quorum add 4@broker-4:9093")]
    Quorum(voters::QuorumArgs),
}

pub(crate) async fn run(args: ClusterArgs) -> Result<(), Failure> {
    let cluster = args.connect.cluster()?;
    let outcome = run_at(&cluster, args.command, args.connect.json).await;
    active::explain(&cluster, outcome).await
}

async fn run_at(cluster: &Cluster, command: ClusterCommand, json: bool) -> Result<(), Failure> {
    match command {
        ClusterCommand::Describe => describe::run(cluster, json).await,
        ClusterCommand::Nodes => nodes::run(cluster, json).await,
        ClusterCommand::Drain(drain) => drain::run(cluster, &drain, json).await,
        ClusterCommand::Unregister(args) => unregister::run(cluster, &args, json).await,
        ClusterCommand::Quorum(voters::QuorumArgs { change: None }) => quorum(cluster, json).await,
        ClusterCommand::Quorum(voters::QuorumArgs { change: Some(change) }) => {
            voters::change(cluster, &change, json).await
        }
    }
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
