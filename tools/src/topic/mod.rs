//! `ballast topic`: create, list, describe, alter, delete.

mod describe;

use std::time::Duration;

use ballast_client::admin::NewTopic;
use ballast_client::{Admin, Cluster, ErrorCode};
use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;

use crate::active;
use crate::complete;
use crate::connect::ConnectArgs;
use crate::error::Failure;
use crate::output::{Column, plural, print, print_json, table};

#[derive(Args, Debug)]
pub(crate) struct TopicArgs {
    #[command(flatten)]
    connect: ConnectArgs,
    #[command(subcommand)]
    command: TopicCommand,
}

#[derive(Subcommand, Debug)]
enum TopicCommand {
    /// Create a topic.
    #[command(after_help = "Examples:
  ballast topic create orders --partitions 12 --config retention.ms=86400000
  ballast topic create orders --if-not-exists")]
    Create(CreateArgs),
    /// List topics.
    #[command(after_help = "Example:
  ballast topic list --exclude-internal")]
    List {
        /// Leave Kafka's own topics out.
        #[arg(long)]
        exclude_internal: bool,
    },
    /// Show partitions, offsets, sizes and settings of a topic, or of all.
    #[command(after_help = "Example:
  ballast topic describe orders --json")]
    Describe {
        /// The topic; all without it.
        #[arg(add = ArgValueCompleter::new(complete::topics))]
        name: Option<String>,
    },
    /// Give a topic more partitions. `ballast config alter` changes its settings.
    #[command(after_help = "Example:
  ballast topic alter orders --partitions 24 --dry-run")]
    Alter {
        /// The topic.
        #[arg(add = ArgValueCompleter::new(complete::topics))]
        name: String,
        /// How many it shall have in all.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
        partitions: i32,
        /// Only ask whether it could be done.
        #[arg(long)]
        dry_run: bool,
    },
    /// Delete a topic and all that is in it.
    #[command(after_help = "Example:
  ballast topic delete orders --if-exists")]
    Delete {
        /// The topic.
        #[arg(add = ArgValueCompleter::new(complete::topics))]
        name: String,
        /// It is no failure if there is none.
        #[arg(long)]
        if_exists: bool,
        /// Only say whether there is one to delete.
        #[arg(long)]
        dry_run: bool,
    },
}

#[derive(Args, Debug)]
struct CreateArgs {
    /// Its name.
    name: String,
    /// How many partitions; the cluster's default without it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..), conflicts_with = "replica_assignment")]
    partitions: Option<i32>,
    /// How many replicas each has; the cluster's default without it.
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(i16).range(1..), conflicts_with = "replica_assignment")]
    replication_factor: Option<i16>,
    /// Brokers of each partition, the preferred leader first: 1:2,2:3 for two partitions.
    #[arg(long, value_name = "LIST", value_parser = parse_assignment)]
    replica_assignment: Option<Assignment>,
    /// A setting; may be repeated.
    #[arg(long = "config", value_name = "KEY=VALUE", value_parser = parse_setting)]
    configs: Vec<(String, String)>,
    /// It is no failure if there is one already.
    #[arg(long)]
    if_not_exists: bool,
    /// Only ask whether it could be done.
    #[arg(long)]
    dry_run: bool,
}

/// Brokers of each partition.
type Assignment = Box<[Vec<i32>]>;

pub(crate) async fn run(args: TopicArgs) -> Result<(), Failure> {
    let cluster = args.connect.cluster()?;
    let outcome = run_at(&cluster, args.command, args.connect.json).await;
    active::explain(&cluster, outcome).await
}

async fn run_at(cluster: &Cluster, command: TopicCommand, json: bool) -> Result<(), Failure> {
    let admin = Admin::new(cluster.clone());
    match command {
        TopicCommand::Create(create_args) => create(&admin, create_args, json).await,
        TopicCommand::List { exclude_internal } => {
            let metadata = cluster.all_topics().await?;
            let topics = metadata.topics.values().filter(|topic| !(exclude_internal && topic.is_internal));
            let rows: Vec<TopicRow> = topics
                .map(|topic| TopicRow {
                    name: topic.name.clone(),
                    id: topic.id.to_string(),
                    partitions: topic.partitions.len(),
                    replication_factor: topic.partitions.values().map(|p| p.replicas.len()).max().unwrap_or(0),
                    internal: topic.is_internal,
                })
                .collect();
            list(&rows, json)
        }
        TopicCommand::Describe { name } => describe::run(cluster, name.as_deref(), json).await,
        TopicCommand::Alter { name, partitions, dry_run } => {
            admin.create_partitions(&name, partitions, dry_run).await?;
            done(json, &name, if dry_run { "could have" } else { "has" }, &plural(i64::from(partitions), "partition"))
        }
        TopicCommand::Delete { name, if_exists, dry_run } => {
            let result = if dry_run {
                cluster.topics(&[&name], false, Duration::ZERO).await.map(|_| ())
            } else {
                admin.delete_topic(&name).await
            };
            match result {
                Err(e) if if_exists && e.code() == Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION) => {
                    done(json, &name, "was", "not there")
                }
                Err(e) => Err(e.into()),
                Ok(()) => done(json, &name, if dry_run { "could be" } else { "is" }, "deleted"),
            }
        }
    }
}

#[derive(Serialize)]
struct TopicRow {
    name: String,
    id: String,
    partitions: usize,
    replication_factor: usize,
    internal: bool,
}

fn list(rows: &[TopicRow], json: bool) -> Result<(), Failure> {
    if json {
        return print_json(&serde_json::json!({ "topics": rows }));
    }
    let columns = [Column::Left("topic"), Column::Right("partitions"), Column::Right("replicas"), Column::Left("id")];
    let cells = rows.iter().map(|row| {
        vec![row.name.clone(), row.partitions.to_string(), row.replication_factor.to_string(), row.id.clone()]
    });
    print(&table(&columns, cells))
}

async fn create(admin: &Admin, args: CreateArgs, json: bool) -> Result<(), Failure> {
    let topic = NewTopic {
        name: args.name,
        partitions: args.partitions,
        replication_factor: args.replication_factor,
        assignment: args.replica_assignment.map(Vec::from).unwrap_or_default(),
        configs: args.configs.into_iter().collect(),
    };
    let created = match admin.create_topic(&topic, args.dry_run).await {
        Err(e) if args.if_not_exists && e.code() == Some(ErrorCode::TOPIC_ALREADY_EXISTS) => {
            return done(json, &topic.name, "was", "there already");
        }
        result => result?,
    };
    if json {
        return print_json(&serde_json::json!({
            "topic": created.name,
            "id": created.id.to_string(),
            "partitions": created.partitions,
            "replication_factor": created.replication_factor,
            "created": !args.dry_run,
        }));
    }
    let verb = if args.dry_run { "could be created" } else { "is created" };
    let partitions = plural(i64::from(created.partitions), "partition");
    let replicas = plural(i64::from(created.replication_factor), "replica");
    print(&format!("topic {} {verb}: {partitions}, {replicas} each", created.name))
}

fn done(json: bool, topic: &str, verb: &str, state: &str) -> Result<(), Failure> {
    if json {
        return print_json(&serde_json::json!({ "topic": topic, "result": format!("{verb} {state}") }));
    }
    print(&format!("topic {topic} {verb} {state}"))
}

/// `KEY=VALUE`.
pub(crate) fn parse_setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}

fn parse_assignment(text: &str) -> Result<Assignment, String> {
    let partition = |part: &str| {
        let ids: Result<Vec<i32>, _> = part.split(':').map(|id| id.trim().parse()).collect();
        ids.map_err(|_| format!("{part:?} is not a list of broker ids, as in 1:2"))
    };
    text.split(',').map(partition).collect::<Result<Vec<_>, _>>().map(Vec::into_boxed_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assignments_are_read_as_kafkas_tools_write_them() {
        assert_eq!(parse_assignment("1:2,2:3").unwrap().to_vec(), [vec![1, 2], vec![2, 3]]);
        assert!(parse_assignment("1:x").is_err());
        assert!(parse_assignment("").is_err());
    }

    #[test]
    fn a_setting_may_have_an_empty_value_and_no_empty_key() {
        assert_eq!(parse_setting("a=").unwrap(), ("a".to_owned(), String::new()));
        assert_eq!(parse_setting("a=b=c").unwrap().1, "b=c");
        assert!(parse_setting("=a").is_err());
        assert!(parse_setting("a").is_err());
    }
}
