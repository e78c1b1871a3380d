//! `ballast topic describe`: who leads and follows, which offsets there are, how many bytes, and what was set.

use std::collections::BTreeMap;
use std::time::Duration;

use ballast_client::admin::{ConfigResource, ConfigSource, OffsetSpec};
use ballast_client::{Admin, Cluster, ErrorCode, Metadata, TopicMetadata};
use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::error::Failure;
use crate::output::{Column, bytes, count, ids, plural, print, print_json, table};

/// How long a broker may take to tell offsets or sizes.
const TELLS_WITHIN: Duration = Duration::from_secs(2);

/// Partitions that a line names.
const NAMED_MAX: usize = 10;

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
    /// `null` while nobody leads, or if the leader does not tell.
    start_offset: Option<i64>,
    end_offset: Option<i64>,
    /// Why the leader does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    offsets_error: Option<String>,
    /// Of the largest replica; `null` where no broker tells.
    size_bytes: Option<u64>,
}

pub(super) async fn run(cluster: &Cluster, name: Option<&str>, json: bool) -> Result<(), Failure> {
    let metadata = match name {
        Some(name) => cluster.topics(&[name], false, Duration::ZERO).await?,
        None => cluster.all_topics().await?,
    };
    let admin = Admin::new(cluster.clone());
    let topics: Vec<&TopicMetadata> =
        metadata.topics.values().filter(|topic| name.is_none_or(|name| name == topic.name)).collect();
    let (ends, sizes) = tokio::join!(offsets(&admin, &topics), sizes(&admin, &metadata));
    let mut described = Vec::new();
    for topic in topics {
        let configs = admin.describe_configs(&ConfigResource::Topic(topic.name.clone())).await?;
        let set = configs.into_iter().filter(|entry| entry.source == ConfigSource::Topic);
        let partitions = topic.partitions.iter().map(|(at, partition)| {
            let key = (topic.name.clone(), *at);
            let (offsets, offsets_error) = match ends.get(&key) {
                Some(Ok(offsets)) => (Some(*offsets), None),
                Some(Err(why)) => (None, Some(why.clone())),
                None => (None, None),
            };
            PartitionRow {
                partition: *at,
                leader: partition.leader,
                leader_epoch: partition.leader_epoch,
                replicas: partition.replicas.clone(),
                isr: partition.isr.clone(),
                offline: partition.offline.clone(),
                start_offset: offsets.map(|(start, _)| start),
                end_offset: offsets.map(|(_, end)| end),
                offsets_error,
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

type Ends = BTreeMap<(String, i32), Result<(i64, i64), String>>;

/// First and next offset of every partition that has a leader; for one whose leader does not tell in time, why not.
async fn offsets(admin: &Admin, topics: &[&TopicMetadata]) -> Ends {
    let led = topics.iter().flat_map(|topic| {
        let led = topic.partitions.iter().filter(|(_, p)| p.leader >= 0 && p.error == ErrorCode::NONE);
        led.map(|(at, _)| (topic.name.clone(), *at))
    });
    let keys: Vec<(String, i32)> = led.collect();
    let ask = |spec| keys.iter().map(|key| (key.clone(), spec)).collect::<BTreeMap<_, _>>();
    let (first, next) = (ask(OffsetSpec::Earliest), ask(OffsetSpec::Latest));
    let (mut starts, mut ends) =
        tokio::join!(admin.list_offsets_within(&first, TELLS_WITHIN), admin.list_offsets_within(&next, TELLS_WITHIN));
    let told = keys.into_iter().filter_map(|key| {
        let (start, end) = (starts.remove(&key)?, ends.remove(&key)?);
        let offsets = start.and_then(|start| Ok((start.offset, end?.offset)));
        Some((key, offsets.map_err(|error| error.to_string())))
    });
    told.collect()
}

/// Bytes of each partition's largest replica. A broker that does not tell is left out: the rest is worth showing.
async fn sizes(admin: &Admin, metadata: &Metadata) -> BTreeMap<(String, i32), u64> {
    let mut asked = JoinSet::new();
    for broker in metadata.brokers.keys().copied() {
        let admin = admin.clone();
        asked.spawn(async move { timeout(TELLS_WITHIN, admin.describe_log_dirs(broker)).await });
    }
    let mut sizes = BTreeMap::new();
    let dirs = asked.join_all().await.into_iter().filter_map(|told| told.ok()?.ok()).flatten();
    for row in dirs.flat_map(|dir| dir.partitions).filter(|row| !row.is_future) {
        let size = sizes.entry((row.topic, row.partition)).or_insert(0);
        *size = (*size).max(row.size_bytes.max(0) as u64);
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
    let mut text = format!("{}\n{}\n", head.trim_end(), table(&columns, rows));
    for note in untold(&topic.partitions) {
        text.push_str(&note);
        text.push('\n');
    }
    text
}

/// One line for each leader and each reason, however many partitions it leads.
fn untold(partitions: &[PartitionRow]) -> Vec<String> {
    let mut of: BTreeMap<(i32, &str), Vec<i32>> = BTreeMap::new();
    for row in partitions {
        if let Some(why) = &row.offsets_error {
            of.entry((row.leader, why)).or_default().push(row.partition);
        }
    }
    let line = |((leader, why), partitions): (&(i32, &str), &Vec<i32>)| {
        let named = ids(&partitions[..partitions.len().min(NAMED_MAX)]);
        let more = partitions.len().saturating_sub(NAMED_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("broker {leader} does not tell the offsets of {named}{more}: {why}")
    };
    of.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leader_that_tells_nothing_is_one_line_however_much_it_leads() {
        let row = |partition: i32, leader, why: Option<&str>| PartitionRow {
            partition,
            leader,
            leader_epoch: 0,
            replicas: vec![leader],
            isr: vec![leader],
            offline: Vec::new(),
            start_offset: None,
            end_offset: None,
            offsets_error: why.map(str::to_owned),
            size_bytes: None,
        };
        let mut rows: Vec<PartitionRow> = (0..14).map(|at| row(at, 3, Some("it is late"))).collect();
        rows.extend([row(14, 1, None), row(15, 2, Some("KAFKA_STORAGE_ERROR (56)"))]);
        let expected = [
            "broker 2 does not tell the offsets of 15: KAFKA_STORAGE_ERROR (56)",
            "broker 3 does not tell the offsets of 0,1,2,3,4,5,6,7,8,9 and 4 more: it is late",
        ];
        assert_eq!(untold(&rows), expected);
    }
}
