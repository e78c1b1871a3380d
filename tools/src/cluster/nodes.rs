//! `ballast cluster nodes`: every broker, what it leads and has, and why one is fenced.

use ballast_client::admin::{BrokerDescription, ConfigResource, Quorum};
use ballast_client::{Admin, Cluster, Metadata, PartitionMetadata};
use serde::Serialize;

use super::fenced::{Signs, Why};
use super::look::{self, Look};
use crate::active::{self, Active};
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
    /// Is it the active controller? `null` if the cluster does not tell.
    controller: Option<bool>,
    /// Of partitions `null`, here and below: no broker tells of them while none hears a controller.
    leaders: Option<usize>,
    replicas: Option<usize>,
    /// Replicas that are in sync.
    in_sync: Option<usize>,
    /// Bytes of all logs; `null` if the broker does not tell.
    log_bytes: Option<u64>,
    /// Free bytes of its file systems; `null` if the broker does not tell.
    usable_bytes: Option<u64>,
    /// Log directories that it cannot use any more.
    failed_log_dirs: Vec<String>,
    /// Why it does not take part, and what would help; `null` if it does.
    trouble: Option<Why>,
}

pub(super) async fn run(cluster: &Cluster, json: bool) -> Result<(), Failure> {
    let admin = Admin::new(cluster.clone());
    let description = admin.describe_cluster().await?;
    // The quorum knows when it last heard of a broker; without that the reasons are shorter.
    let fenced = description.brokers.iter().any(|broker| broker.fenced);
    let quorum = if fenced { admin.describe_quorum().await.ok() } else { None };
    let (active, mut looks) = tokio::join!(active::find(cluster), look::at_all(cluster, &description.brokers));
    let metadata = active::metadata(cluster, &active).await?;
    let mut rows = Vec::new();
    for broker in &description.brokers {
        let look = looks.remove(&broker.id).unwrap_or_default();
        rows.push(row(cluster, metadata.as_deref(), broker, &look, quorum.as_ref(), &active).await);
    }
    if json {
        return print_json(&serde_json::json!({ "nodes": rows, "controller": active.node() }));
    }
    let mut lines = vec![text(&rows)];
    lines.extend(active.trouble());
    lines.extend(rows.iter().filter_map(trouble_line));
    print(&lines.join("\n"))
}

async fn row(
    cluster: &Cluster,
    metadata: Option<&Metadata>,
    broker: &BrokerDescription,
    look: &Look,
    quorum: Option<&Quorum>,
    active: &Active,
) -> NodeRow {
    let admin = Admin::new(cluster.clone());
    let count_of = |wanted: &dyn Fn(&PartitionMetadata) -> bool| {
        let partitions = metadata?.topics.values().flat_map(|topic| topic.partitions.values());
        Some(partitions.filter(|p| wanted(p)).count())
    };
    let in_sync = count_of(&|p| p.isr.contains(&broker.id));
    let at = (&*broker.host, broker.port);
    let silent = look.unheard.is_some();
    let (drained, trouble) = if broker.fenced {
        (None, Some(Signs::gather(cluster, broker.id, at, quorum).await.explain()))
    } else if silent {
        (None, look.trouble())
    } else {
        let absent = || absent(metadata?, broker.id, in_sync?);
        (is_drained(&admin, broker.id).await, look.trouble().or_else(absent))
    };
    NodeRow {
        id: broker.id,
        host: broker.host.clone(),
        port: broker.port,
        rack: broker.rack.clone(),
        fenced: broker.fenced,
        silent,
        drained,
        controller: active.is(broker.id),
        leaders: count_of(&|p| p.leader == broker.id),
        replicas: count_of(&|p| p.replicas.contains(&broker.id)),
        in_sync,
        log_bytes: look.log_bytes(),
        usable_bytes: look.usable_bytes(),
        failed_log_dirs: look.failed_dirs(),
        trouble,
    }
}

/// Is its setting for that on? `None` if it does not say.
async fn is_drained(admin: &Admin, broker: i32) -> Option<bool> {
    let settings = admin.describe_configs(&ConfigResource::Broker(broker)).await.ok()?;
    Some(super::drain::is_set(&settings))
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
    let number = |known: Option<usize>| known.map_or_else(|| "-".to_owned(), |number| count(number as i64));
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
            number(row.leaders),
            number(row.replicas),
            size(row.log_bytes),
            size(row.usable_bytes),
        ]
    });
    table(&columns, cells)
}

fn trouble_line(row: &NodeRow) -> Option<String> {
    let trouble = row.trouble.as_ref()?;
    let state = match (row.fenced, row.silent, row.failed_log_dirs.is_empty()) {
        (true, _, _) => "is fenced",
        (false, true, _) => "is silent",
        (false, false, false) => "has lost a log directory",
        (false, false, true) => "takes no part",
    };
    Some(format!("broker {} {state}: {}. {}", row.id, trouble.why, trouble.help))
}
