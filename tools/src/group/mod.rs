//! `ballast group`: which groups there are, how far they are, and setting them back.
//!
//! Read next: `describe`, `reset`.

mod describe;
mod reset;

use ballast_client::{Admin, ClientError, Cluster, ErrorCode};
use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;

use crate::complete;
use crate::connect::ConnectArgs;
use crate::error::Failure;
use crate::output::{Column, plural, print, print_json, table};

#[derive(Args, Debug)]
pub(crate) struct GroupArgs {
    #[command(flatten)]
    connect: ConnectArgs,
    #[command(subcommand)]
    command: GroupCommand,
}

#[derive(Subcommand, Debug)]
enum GroupCommand {
    /// List groups.
    #[command(after_help = "Example:
  ballast group list --state Stable")]
    List {
        /// Only groups in this state: Stable, Empty, PreparingRebalance, CompletingRebalance.
        #[arg(long, value_name = "STATE")]
        state: Option<String>,
    },
    /// Show the members of a group, what each reads, and how far behind it is.
    #[command(after_help = "Example:
  ballast group describe billing")]
    Describe {
        /// The group.
        #[arg(add = ArgValueCompleter::new(complete::groups))]
        group: String,
    },
    /// Set what a group has committed. Refused while the group has members.
    #[command(after_help = "Examples:
  ballast group reset billing --topic orders --to earliest --dry-run
  ballast group reset billing --topic orders --to @2026-11-29T22:00Z
  ballast group reset billing --topic orders --partition 3 --to 4711")]
    Reset(reset::ResetArgs),
    /// Delete groups and what they have committed. Refused while they have members.
    #[command(after_help = "Example:
  ballast group delete billing")]
    Delete {
        /// The groups.
        #[arg(required = true, value_name = "GROUP", add = ArgValueCompleter::new(complete::groups))]
        groups: Vec<String>,
        /// It is no failure if there is none.
        #[arg(long)]
        if_exists: bool,
        /// Only say what would be deleted.
        #[arg(long)]
        dry_run: bool,
    },
}

pub(crate) async fn run(args: GroupArgs) -> Result<(), Failure> {
    let cluster = args.connect.cluster()?;
    let json = args.connect.json;
    match args.command {
        GroupCommand::List { state } => list(&cluster, state.as_deref(), json).await,
        GroupCommand::Describe { group } => describe::run(&cluster, &group, json).await,
        GroupCommand::Reset(reset_args) => reset::run(&cluster, reset_args, json).await,
        GroupCommand::Delete { groups, if_exists, dry_run } => {
            delete(&cluster, &groups, if_exists, dry_run, json).await
        }
    }
}

#[derive(Serialize)]
struct Row {
    group: String,
    #[serde(rename = "type")]
    group_type: String,
    /// Empty where the broker is too old to tell.
    state: String,
    protocol: String,
    coordinator: i32,
}

async fn list(cluster: &Cluster, state: Option<&str>, json: bool) -> Result<(), Failure> {
    let groups = Admin::new(cluster.clone()).list_groups().await?;
    let wanted = groups.into_iter().filter(|group| state.is_none_or(|state| group.state.eq_ignore_ascii_case(state)));
    let rows: Vec<Row> = wanted
        .map(|group| Row {
            group: group.id,
            group_type: group.group_type,
            state: group.state,
            protocol: group.protocol_type,
            coordinator: group.coordinator,
        })
        .collect();
    if json {
        return print_json(&serde_json::json!({ "groups": rows }));
    }
    let columns = [
        Column::Left("group"),
        Column::Left("state"),
        Column::Left("type"),
        Column::Left("protocol"),
        Column::Right("coordinator"),
    ];
    let or_dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
    let cells = rows.iter().map(|row| {
        let coordinator = row.coordinator.to_string();
        vec![row.group.clone(), or_dash(&row.state), row.group_type.clone(), or_dash(&row.protocol), coordinator]
    });
    print(&table(&columns, cells))
}

#[derive(Serialize)]
struct Deleted {
    group: String,
    deleted: bool,
}

async fn delete(
    cluster: &Cluster,
    groups: &[String],
    if_exists: bool,
    dry_run: bool,
    json: bool,
) -> Result<(), Failure> {
    let admin = Admin::new(cluster.clone());
    let mut rows = Vec::new();
    let mut first_failure = None;
    for group in groups {
        let result = if dry_run { could_delete(&admin, group).await } else { admin.delete_group(group).await };
        let missing = |e: &ClientError| e.code() == Some(ErrorCode::GROUP_ID_NOT_FOUND);
        let state = match result {
            Ok(()) if dry_run => "could be deleted",
            Ok(()) => "is deleted",
            Err(e) if if_exists && missing(&e) => "was not there",
            // The others are deleted all the same.
            Err(e) => {
                first_failure.get_or_insert(e);
                continue;
            }
        };
        rows.push(Deleted { group: group.clone(), deleted: state == "is deleted" });
        if !json {
            print(&format!("group {group} {state}"))?;
        }
    }
    if json {
        print_json(&serde_json::json!({ "groups": rows }))?;
    }
    first_failure.map_or(Ok(()), |e| Err(e.into()))
}

/// What the coordinator would say.
async fn could_delete(admin: &Admin, group: &str) -> Result<(), ClientError> {
    let described = admin.describe_group(group).await?;
    if described.members.is_empty() {
        return Ok(());
    }
    let members = plural(described.members.len() as i64, "member");
    Err(ClientError::Refused {
        what: format!("deleting group {group}"),
        code: ErrorCode::NON_EMPTY_GROUP,
        message: Some(format!("it has {members}")),
    })
}
