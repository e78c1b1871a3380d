//! `ballast group reset`: sets what a group has committed, to an end of the log, an offset, or a time.
//!
//! Holds: nothing is set while the group has members, and never outside of what the log has.

use std::collections::BTreeMap;

use ballast_client::admin::{CommittedOffset, GroupPartition, ListedOffset, OffsetSpec};
use ballast_client::consumer::StartAt;
use ballast_client::{Admin, Cluster, ErrorCode};
use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;

use crate::complete;
use crate::error::Failure;
use crate::output::{Column, count, plural, print, print_json, table};
use crate::start;

#[derive(Args, Debug)]
pub(super) struct ResetArgs {
    /// The group; one that is not there is made.
    #[arg(add = ArgValueCompleter::new(complete::groups))]
    group: String,
    /// The topic; may be repeated.
    #[arg(long = "topic", required = true, value_name = "TOPIC", add = ArgValueCompleter::new(complete::topics))]
    topics: Vec<String>,
    /// Only these partitions; may be repeated.
    #[arg(long = "partition", value_name = "P", value_parser = clap::value_parser!(i32).range(0..))]
    partitions: Vec<i32>,
    /// Where to: earliest, latest, an OFFSET, or @TIME (ms since 1970, 2026-11-29T22:00Z, or -1h for an hour ago).
    #[arg(long, value_name = "WHERE", value_parser = start::parse, allow_hyphen_values = true)]
    to: StartAt,
    /// Only show what would be set.
    #[arg(long)]
    dry_run: bool,
}

#[derive(Serialize)]
struct Row {
    topic: String,
    partition: i32,
    /// `null` where nothing was committed.
    old_offset: Option<i64>,
    new_offset: i64,
    /// The log does not reach to where was asked.
    clamped: bool,
}

pub(super) async fn run(cluster: &Cluster, args: ResetArgs, json: bool) -> Result<(), Failure> {
    let admin = Admin::new(cluster.clone());
    refuse_while_in_use(&admin, &args.group).await?;
    let keys = partitions(cluster, &args).await?;
    let before = admin.group_offsets(&args.group).await?;
    let rows = places(&admin, &keys, args.to, &before).await?;
    if !args.dry_run {
        let offsets: BTreeMap<GroupPartition, CommittedOffset> =
            rows.iter().map(|row| ((row.topic.clone(), row.partition), CommittedOffset::at(row.new_offset))).collect();
        admin.set_group_offsets(&args.group, &offsets).await?;
    }
    if json {
        let (group, reset) = (&args.group, !args.dry_run);
        return print_json(&serde_json::json!({ "group": group, "reset": reset, "partitions": rows }));
    }
    let columns = [
        Column::Left("topic"),
        Column::Right("partition"),
        Column::Right("old"),
        Column::Right("new"),
        Column::Left(""),
    ];
    let cells = rows.iter().map(|row| {
        let old = row.old_offset.map_or_else(|| "-".to_owned(), count);
        let note = if row.clamped { "(the log has no such offset)" } else { "" };
        vec![row.topic.clone(), row.partition.to_string(), old, count(row.new_offset), note.to_owned()]
    });
    let verb = if args.dry_run { "could be reset" } else { "is reset" };
    print(&format!("group {} {verb}\n{}", args.group, table(&columns, cells)))
}

/// The coordinator would refuse as well, but not say as much.
async fn refuse_while_in_use(admin: &Admin, group: &str) -> Result<(), Failure> {
    match admin.describe_group(group).await {
        Ok(described) if described.members.is_empty() => Ok(()),
        Ok(described) => {
            let (members, state) = (plural(described.members.len() as i64, "member"), described.state);
            Err(Failure::new(format!(
                "group {group} has {members} and is {state}: stop its members before it can be reset"
            )))
        }
        Err(e) if e.code() == Some(ErrorCode::GROUP_ID_NOT_FOUND) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

async fn partitions(cluster: &Cluster, args: &ResetArgs) -> Result<Vec<GroupPartition>, Failure> {
    let topics: Vec<&str> = args.topics.iter().map(String::as_str).collect();
    let metadata = cluster.topics(&topics, false, std::time::Duration::ZERO).await?;
    let mut keys = Vec::new();
    for topic in &args.topics {
        let known = &metadata.topics[topic].partitions;
        if let Some(missing) = args.partitions.iter().find(|partition| !known.contains_key(partition)) {
            let have = plural(known.len() as i64, "partition");
            return Err(Failure::new(format!("topic {topic} has {have}, numbered from 0: there is no {missing}")));
        }
        let wanted = known.keys().filter(|at| args.partitions.is_empty() || args.partitions.contains(at));
        keys.extend(wanted.map(|partition| (topic.clone(), *partition)));
    }
    Ok(keys)
}

/// Where each partition goes.
async fn places(
    admin: &Admin,
    keys: &[GroupPartition],
    to: StartAt,
    before: &BTreeMap<GroupPartition, CommittedOffset>,
) -> Result<Vec<Row>, Failure> {
    let ask = |spec| keys.iter().map(|key| (key.clone(), spec)).collect::<BTreeMap<_, _>>();
    let starts = admin.list_offsets(&ask(OffsetSpec::Earliest)).await?;
    let ends = admin.list_offsets(&ask(OffsetSpec::Latest)).await?;
    let timed = match to {
        StartAt::Time(ms) => admin.list_offsets(&ask(OffsetSpec::Timestamp(ms))).await?,
        _ => BTreeMap::new(),
    };
    let offset_in = |map: &BTreeMap<GroupPartition, ListedOffset>, key: &GroupPartition| {
        map.get(key).map_or(-1, |listed| listed.offset)
    };
    let row = |key: &GroupPartition| {
        let (start, end) = (offset_in(&starts, key), offset_in(&ends, key));
        let wanted = match to {
            StartAt::Beginning => start,
            StartAt::End => end,
            StartAt::Offset(offset) => offset,
            // Nothing is that late: the end, then.
            StartAt::Time(_) => Some(offset_in(&timed, key)).filter(|offset| *offset >= 0).unwrap_or(end),
        };
        let new_offset = wanted.clamp(start, end.max(start));
        let (topic, partition) = key.clone();
        let old_offset = before.get(key).map(|at| at.offset);
        Row { topic, partition, old_offset, new_offset, clamped: new_offset != wanted }
    };
    Ok(keys.iter().map(row).collect())
}
