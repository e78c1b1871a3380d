//! `ballast cluster nodes`: every broker, what it leads and has, and why one is fenced.

use ballast_client::admin::{BrokerDescription, ConfigResource, Quorum};
use ballast_client::{Admin, Cluster, Metadata};
use serde::Serialize;

use super::fenced::{self, Signs, Why};
use crate::error::Failure;
use crate::output::{Column, bytes, count, print, print_json, table};

#[derive(Serialize)]
struct NodeRow {
    id: i32,
    host: String,
    port: i32,
    rack: Option<String>,
    fenced: bool,
    /// Does not answer, though it is not fenced: its session may not be over yet, or only the way from here is cut.
    silent: bool,
    /// Leads only what nobody else can lead, until it starts again; `null` if the broker does not tell.
    drained: Option<bool>,
    controller: bool,
    leaders: usize,
    replicas: usize,
    /// Replicas that are in sync.
    in_sync: usize,
    /// Bytes of all logs; `null` if the broker does not tell.
    log_bytes: Option<u64>,
    /// Free bytes of its file systems; `null` if the broker does not tell.
    usable_bytes: Option<u64>,
    /// Why it does not take part, and what would help; `null` if it does.
    trouble: Option<Why>,
}

pub(super) async fn run(cluster: &Cluster, json: bool) -> Result<(), Failure> {
    let admin = Admin::new(cluster.clone());
    let description = admin.describe_cluster().await?;
    let metadata = cluster.all_topics().await?;
    // The quorum knows when it last heard of a broker; without that the reasons are shorter.
    let fenced = description.brokers.iter().any(|broker| broker.fenced);
    let quorum = if fenced { admin.describe_quorum().await.ok() } else { None };
    let mut rows = Vec::new();
    for broker in &description.brokers {
        let controller = broker.id == description.controller;
        rows.push(row(cluster, &metadata, broker, controller, quorum.as_ref()).await);
    }
    if json { print_json(&serde_json::json!({ "nodes": rows })) } else { print(&text(&rows)) }
}

async fn row(
    cluster: &Cluster,
    metadata: &Metadata,
    broker: &BrokerDescription,
    controller: bool,
    quorum: Option<&Quorum>,
) -> NodeRow {
    let admin = Admin::new(cluster.clone());
    let partitions = || metadata.topics.values().flat_map(|topic| topic.partitions.values());
    let replicas = partitions().filter(|p| p.replicas.contains(&broker.id)).count();
    let in_sync = partitions().filter(|p| p.isr.contains(&broker.id)).count();
    let at = (&*broker.host, broker.port);
    // Asked with little patience first: what an admin asks it is asked again until the time of a whole command is over.
    let unheard = if broker.fenced { None } else { fenced::answers(cluster, at).await.err() };
    let silent = unheard.is_some();
    let (dirs, drained, trouble) = if broker.fenced {
        (None, None, Some(Signs::gather(cluster, broker.id, at, quorum).await.explain()))
    } else if let Some(reason) = unheard {
        (None, None, Some(unheard_of(&reason)))
    } else {
        let dirs = admin.describe_log_dirs(broker.id).await.ok();
        (dirs, is_drained(&admin, broker.id).await, absent(metadata, broker.id, in_sync))
    };
    let used = dirs.as_ref().map(|dirs| dirs.iter().flat_map(|dir| &dir.partitions).map(|p| p.size_bytes).sum());
    let usable = dirs.as_ref().map(|dirs| dirs.iter().map(|dir| dir.usable_bytes.max(0)).sum());
    NodeRow {
        id: broker.id,
        host: broker.host.clone(),
        port: broker.port,
        rack: broker.rack.clone(),
        fenced: broker.fenced,
        silent,
        drained,
        controller,
        leaders: partitions().filter(|p| p.leader == broker.id).count(),
        replicas,
        in_sync,
        log_bytes: used.map(|bytes: i64| bytes.max(0) as u64),
        usable_bytes: usable.map(|bytes: i64| bytes as u64),
        trouble,
    }
}

/// Is its setting for that on? `None` if it does not say.
async fn is_drained(admin: &Admin, broker: i32) -> Option<bool> {
    let settings = admin.describe_configs(&ConfigResource::Broker(broker)).await.ok()?;
    Some(super::drain::is_set(&settings))
}

/// A broker that the controllers count as alive, but not we.
fn unheard_of(reason: &str) -> Why {
    Why {
        why: format!("it does not answer here ({reason})"),
        help: "look at its process and at the way to it; if the controllers do not hear it either, it is fenced soon"
            .to_owned(),
    }
}

/// A broker that is let in and in sync nowhere, though others are, is on its way in or out.
fn absent(metadata: &Metadata, broker: i32, in_sync: usize) -> Option<Why> {
    let partitions = metadata.topics.values().flat_map(|topic| topic.partitions.values());
    let shared = partitions.filter(|p| p.replicas.contains(&broker) && p.replicas.len() > 1).count();
    (in_sync == 0 && shared > 0).then(|| Why {
        why: "it is in no ISR: it has come back and catches up, or it is in controlled shutdown".to_owned(),
        help: "wait; if it stays so, look at its log and its way to the leaders".to_owned(),
    })
}

fn text(rows: &[NodeRow]) -> String {
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
    let state = |row: &NodeRow| match (row.fenced, row.silent, row.drained) {
        (true, _, _) => "fenced",
        (false, true, _) => "silent",
        (false, false, Some(true)) => "drained",
        (false, false, _) => "alive",
    };
    let cells = rows.iter().map(|row| {
        vec![
            row.id.to_string(),
            format!("{}:{}", row.host, row.port),
            row.rack.clone().unwrap_or_else(|| "-".to_owned()),
            state(row).to_owned(),
            count(row.leaders as i64),
            count(row.replicas as i64),
            size(row.log_bytes),
            size(row.usable_bytes),
        ]
    });
    let mut lines = vec![table(&columns, cells)];
    let troubled = rows.iter().filter_map(|row| Some((row, row.trouble.as_ref()?)));
    lines.extend(troubled.map(|(row, trouble)| {
        let state = match (row.fenced, row.silent) {
            (true, _) => "is fenced",
            (false, true) => "is silent",
            (false, false) => "takes no part",
        };
        format!("broker {} {state}: {}. {}", row.id, trouble.why, trouble.help)
    }));
    lines.join("\n")
}
