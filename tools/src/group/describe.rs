//! `ballast group describe`: the members, and for each partition how far the group is and how far it could be.

use std::collections::BTreeMap;

use ballast_client::admin::{CommittedOffset, GroupDescription, GroupMember, GroupPartition, OffsetSpec};
use ballast_client::{Admin, Cluster, Metadata};
use serde::Serialize;

use crate::error::Failure;
use crate::output::{Column, count, plural, print, print_json, table};

#[derive(Serialize)]
struct Described {
    group: String,
    state: String,
    #[serde(rename = "type")]
    group_type: String,
    protocol: String,
    assignor: String,
    coordinator: i32,
    /// Records behind, of all partitions that have committed something.
    lag: i64,
    members: Vec<MemberRow>,
    partitions: Vec<PartitionRow>,
}

#[derive(Serialize)]
struct MemberRow {
    member_id: String,
    instance_id: Option<String>,
    client_id: String,
    host: String,
    partitions: usize,
}

#[derive(Serialize)]
struct PartitionRow {
    topic: String,
    partition: i32,
    /// `null` where nothing is committed.
    committed_offset: Option<i64>,
    committed_leader_epoch: Option<i32>,
    metadata: Option<String>,
    /// `null` while nobody leads the partition, or if it is gone.
    end_offset: Option<i64>,
    lag: Option<i64>,
    member_id: Option<String>,
    client_id: Option<String>,
    host: Option<String>,
}

pub(super) async fn run(cluster: &Cluster, group: &str, json: bool) -> Result<(), Failure> {
    let admin = Admin::new(cluster.clone());
    let group = admin.describe_group(group).await?;
    let committed = admin.group_offsets(&group.id).await?;
    let metadata = cluster.all_topics().await?;
    let described = described(&admin, group, &committed, &metadata).await?;
    if json {
        return print_json(&described);
    }
    print(&text(&described))
}

async fn described(
    admin: &Admin,
    group: GroupDescription,
    committed: &BTreeMap<GroupPartition, CommittedOffset>,
    metadata: &Metadata,
) -> Result<Described, Failure> {
    let mut readers: BTreeMap<GroupPartition, Option<&GroupMember>> =
        committed.keys().map(|key| (key.clone(), None)).collect();
    for member in &group.members {
        for (topic, partitions) in &member.assignment {
            readers.extend(partitions.iter().map(|partition| ((topic.clone(), *partition), Some(member))));
        }
    }
    let led = readers.keys().filter(|(topic, partition)| metadata.leader(topic, *partition).is_some());
    let wanted: BTreeMap<GroupPartition, OffsetSpec> = led.map(|key| (key.clone(), OffsetSpec::Latest)).collect();
    let ends = if wanted.is_empty() { BTreeMap::new() } else { admin.list_offsets(&wanted).await? };
    let row = |(key, reader): (&GroupPartition, &Option<&GroupMember>)| {
        let (at, end) = (committed.get(key), ends.get(key).map(|end| end.offset));
        PartitionRow {
            topic: key.0.clone(),
            partition: key.1,
            committed_offset: at.map(|at| at.offset),
            committed_leader_epoch: at.map(|at| at.leader_epoch),
            metadata: at.map(|at| at.metadata.clone()),
            end_offset: end,
            // A log that was cut, or begun anew, may end below what is committed.
            lag: at.zip(end).map(|(at, end)| (end - at.offset).max(0)),
            member_id: reader.map(|member| member.id.clone()),
            client_id: reader.map(|member| member.client_id.clone()),
            host: reader.map(|member| member.host.clone()),
        }
    };
    let partitions: Vec<PartitionRow> = readers.iter().map(row).collect();
    let members = group.members.iter().map(|member| MemberRow {
        member_id: member.id.clone(),
        instance_id: member.instance_id.clone(),
        client_id: member.client_id.clone(),
        host: member.host.clone(),
        partitions: member.assignment.values().map(Vec::len).sum(),
    });
    Ok(Described {
        lag: partitions.iter().filter_map(|row| row.lag).sum(),
        members: members.collect(),
        partitions,
        group: group.id,
        state: group.state,
        group_type: group.group_type,
        protocol: group.protocol_type,
        assignor: group.assignor,
        coordinator: group.coordinator,
    })
}

fn text(described: &Described) -> String {
    let Described { group, state, group_type, assignor, coordinator, .. } = described;
    let assignor = if assignor.is_empty() { String::new() } else { format!("  assignor {assignor}") };
    let (members, lag) = (plural(described.members.len() as i64, "member"), count(described.lag));
    let head =
        format!("group {group}  {state}  {group_type}{assignor}  coordinator {coordinator}  {members}  lag {lag}");
    let mut parts = vec![head];
    if !described.members.is_empty() {
        let columns =
            [Column::Left("member"), Column::Left("instance"), Column::Left("host"), Column::Right("partitions")];
        let cells = described.members.iter().map(|row| {
            let instance = row.instance_id.clone().unwrap_or_else(|| "-".to_owned());
            vec![row.member_id.clone(), instance, row.host.clone(), row.partitions.to_string()]
        });
        parts.push(table(&columns, cells));
    }
    if !described.partitions.is_empty() {
        let columns = [
            Column::Left("topic"),
            Column::Right("partition"),
            Column::Right("committed"),
            Column::Right("end"),
            Column::Right("lag"),
            Column::Left("member"),
        ];
        let number = |number: Option<i64>| number.map_or_else(|| "-".to_owned(), count);
        let cells = described.partitions.iter().map(|row| {
            vec![
                row.topic.clone(),
                row.partition.to_string(),
                number(row.committed_offset),
                number(row.end_offset),
                number(row.lag),
                row.member_id.clone().unwrap_or_else(|| "-".to_owned()),
            ]
        });
        parts.push(table(&columns, cells));
    }
    parts.join("\n\n")
}
