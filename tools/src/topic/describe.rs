//! `ballast topic describe`: who leads and follows, which offsets there are, how many bytes, and what was set.

use std::collections::BTreeMap;

use ballast_client::admin::{ConfigResource, ConfigSource, OffsetSpec};
use ballast_client::{Admin, Cluster, ErrorCode, Metadata, TopicMetadata};
use serde::Serialize;

use crate::error::Failure;
use crate::output::{Column, bytes, count, ids, plural, print, print_json, table};

#[derive(Serialize)]
struct Described {
    name: String,
    id: String,
    internal: bool,
    /// Settings that differ from the cluster's.
    configs: BTreeMap<String, String>,
    partitions: Vec<PartitionRow>,
}

#[derive(Serialize)]
struct PartitionRow {
    partition: i32,
    leader: i32,
    leader_epoch: i32,
    replicas: Vec<i32>,
    isr: Vec<i32>,
    offline: Vec<i32>,
    /// `null` while nobody leads.
    start_offset: Option<i64>,
    end_offset: Option<i64>,
    /// Of the largest replica; `null` where no broker tells.
    size_bytes: Option<u64>,
}

pub(super) async fn run(cluster: &Cluster, name: Option<&str>, json: bool) -> Result<(), Failure> {
    let metadata = match name {
        Some(name) => cluster.topics(&[name], false, std::time::Duration::ZERO).await?,
        None => cluster.all_topics().await?,
    };
    let admin = Admin::new(cluster.clone());
    let topics: Vec<&TopicMetadata> =
        metadata.topics.values().filter(|topic| name.is_none_or(|name| name == topic.name)).collect();
    let ends = offsets(&admin, &topics).await?;
    let sizes = sizes(&admin, &metadata).await;
    let mut described = Vec::new();
    for topic in topics {
        let configs = admin.describe_configs(&ConfigResource::Topic(topic.name.clone())).await?;
        let set = configs.into_iter().filter(|entry| entry.source == ConfigSource::Topic);
        let partitions = topic.partitions.iter().map(|(at, partition)| {
            let key = (topic.name.clone(), *at);
            PartitionRow {
                partition: *at,
                leader: partition.leader,
                leader_epoch: partition.leader_epoch,
                replicas: partition.replicas.clone(),
                isr: partition.isr.clone(),
                offline: partition.offline.clone(),
                start_offset: ends.get(&key).map(|(start, _)| *start),
                end_offset: ends.get(&key).map(|(_, end)| *end),
                size_bytes: sizes.get(&key).copied(),
            }
        });
        described.push(Described {
            name: topic.name.clone(),
            id: topic.id.to_string(),
            internal: topic.is_internal,
            configs: set.map(|entry| (entry.name, entry.value.unwrap_or_default())).collect(),
            partitions: partitions.collect(),
        });
    }
    if json {
        return print_json(&serde_json::json!({ "topics": described }));
    }
    for topic in &described {
        print(&text(topic))?;
    }
    Ok(())
}

/// First and next offset of every partition that has a leader.
async fn offsets(admin: &Admin, topics: &[&TopicMetadata]) -> Result<BTreeMap<(String, i32), (i64, i64)>, Failure> {
    let led = topics.iter().flat_map(|topic| {
        let led = topic.partitions.iter().filter(|(_, p)| p.leader >= 0 && p.error == ErrorCode::NONE);
        led.map(|(at, _)| (topic.name.clone(), *at))
    });
    let keys: Vec<(String, i32)> = led.collect();
    if keys.is_empty() {
        return Ok(BTreeMap::new());
    }
    let ask = |spec| keys.iter().map(|key| (key.clone(), spec)).collect::<BTreeMap<_, _>>();
    let starts = admin.list_offsets(&ask(OffsetSpec::Earliest)).await?;
    let ends = admin.list_offsets(&ask(OffsetSpec::Latest)).await?;
    Ok(starts
        .into_iter()
        .filter_map(|(key, start)| Some((key.clone(), (start.offset, ends.get(&key)?.offset))))
        .collect())
}

/// Bytes of each partition's largest replica. A broker that does not tell is left out: the rest is worth showing.
async fn sizes(admin: &Admin, metadata: &Metadata) -> BTreeMap<(String, i32), u64> {
    let mut sizes = BTreeMap::new();
    for broker in metadata.brokers.keys() {
        let Ok(dirs) = admin.describe_log_dirs(*broker).await else { continue };
        for row in dirs.into_iter().flat_map(|dir| dir.partitions).filter(|row| !row.is_future) {
            let size = sizes.entry((row.topic, row.partition)).or_insert(0);
            *size = (*size).max(row.size_bytes.max(0) as u64);
        }
    }
    sizes
}

fn text(topic: &Described) -> String {
    let replicas = topic.partitions.iter().map(|p| p.replicas.len()).max().unwrap_or(0);
    let configs: Vec<String> = topic.configs.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let head = format!(
        "topic {}  id {}  {}  {}  {}",
        topic.name,
        topic.id,
        plural(topic.partitions.len() as i64, "partition"),
        plural(replicas as i64, "replica"),
        configs.join(" ")
    );
    let columns = [
        Column::Right("partition"),
        Column::Right("leader"),
        Column::Right("epoch"),
        Column::Left("replicas"),
        Column::Left("isr"),
        Column::Left("offline"),
        Column::Right("start"),
        Column::Right("end"),
        Column::Right("size"),
    ];
    let offset = |offset: Option<i64>| offset.map_or_else(|| "-".to_owned(), count);
    let rows = topic.partitions.iter().map(|p| {
        vec![
            p.partition.to_string(),
            if p.leader < 0 { "none".to_owned() } else { p.leader.to_string() },
            p.leader_epoch.to_string(),
            ids(&p.replicas),
            ids(&p.isr),
            ids(&p.offline),
            offset(p.start_offset),
            offset(p.end_offset),
            p.size_bytes.map_or_else(|| "-".to_owned(), bytes),
        ]
    });
    format!("{}\n{}\n", head.trim_end(), table(&columns, rows))
}
