//! `ballast config`: read and change settings.

use ballast_client::Admin;
use ballast_client::admin::{ConfigResource, ConfigSource};
use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCompleter;
use serde::Serialize;

use crate::active;
use crate::complete;
use crate::connect::ConnectArgs;
use crate::error::Failure;
use crate::output::{Column, print, print_json, table};
use crate::topic::parse_setting;

#[derive(Args, Debug)]
pub(crate) struct ConfigArgs {
    #[command(flatten)]
    connect: ConnectArgs,
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Subcommand, Debug)]
enum ConfigCommand {
    /// Show settings that differ from the default.
    #[command(after_help = "Examples:
  ballast config describe --topic orders
  ballast config describe --broker 1 --all")]
    Describe {
        #[command(flatten)]
        whose: Whose,
        /// Show those that do not differ as well.
        #[arg(long)]
        all: bool,
    },
    /// Set and unset settings; the others stay.
    #[command(after_help = "Examples:
  ballast config alter --topic orders --set retention.ms=86400000 --unset cleanup.policy
  ballast config alter --cluster --set log.retention.ms=604800000 --dry-run")]
    Alter {
        #[command(flatten)]
        whose: Whose,
        /// Set one; may be repeated.
        #[arg(long, value_name = "KEY=VALUE", value_parser = parse_setting, required_unless_present = "unset")]
        set: Vec<(String, String)>,
        /// Go back to the default of one; may be repeated.
        #[arg(long, value_name = "KEY")]
        unset: Vec<String>,
        /// Only ask whether it could be done.
        #[arg(long)]
        dry_run: bool,
    },
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
struct Whose {
    /// A topic's settings.
    #[arg(long, value_name = "TOPIC", add = ArgValueCompleter::new(complete::topics))]
    topic: Option<String>,
    /// One broker's settings.
    #[arg(long, value_name = "ID")]
    broker: Option<i32>,
    /// The defaults of all brokers.
    #[arg(long)]
    cluster: bool,
    /// A group's settings.
    #[arg(long, value_name = "GROUP", add = ArgValueCompleter::new(complete::groups))]
    group: Option<String>,
}

impl Whose {
    fn resource(self) -> ConfigResource {
        match (self.topic, self.broker, self.group) {
            (Some(topic), ..) => ConfigResource::Topic(topic),
            (_, Some(broker), _) => ConfigResource::Broker(broker),
            (.., Some(group)) => ConfigResource::Group(group),
            _ => ConfigResource::Cluster,
        }
    }
}

#[derive(Serialize)]
struct Row {
    name: String,
    value: Option<String>,
    source: &'static str,
    read_only: bool,
    sensitive: bool,
}

pub(crate) async fn run(args: ConfigArgs) -> Result<(), Failure> {
    let cluster = args.connect.cluster()?;
    let outcome = run_at(&Admin::new(cluster.clone()), args.command, args.connect.json).await;
    active::explain(&cluster, outcome).await
}

async fn run_at(admin: &Admin, command: ConfigCommand, json: bool) -> Result<(), Failure> {
    match command {
        ConfigCommand::Describe { whose, all } => describe(admin, &whose.resource(), all, json).await,
        ConfigCommand::Alter { whose, set, unset, dry_run } => {
            let resource = whose.resource();
            let mut changes: Vec<(String, Option<String>)> =
                set.into_iter().map(|(key, value)| (key, Some(value))).collect();
            changes.extend(unset.into_iter().map(|key| (key, None)));
            admin.alter_configs(&resource, &changes, dry_run).await?;
            if json {
                let altered = !dry_run;
                return print_json(&serde_json::json!({ "resource": resource.to_string(), "altered": altered }));
            }
            print(&format!("settings of {resource} {}", if dry_run { "could be changed" } else { "are changed" }))
        }
    }
}

async fn describe(admin: &Admin, resource: &ConfigResource, all: bool, json: bool) -> Result<(), Failure> {
    let entries = admin.describe_configs(resource).await?;
    let rows: Vec<Row> = entries
        .into_iter()
        .filter(|entry| all || entry.source != ConfigSource::Default)
        .map(|entry| Row {
            name: entry.name,
            value: entry.value,
            source: entry.source.name(),
            read_only: entry.read_only,
            sensitive: entry.sensitive,
        })
        .collect();
    if json {
        return print_json(&serde_json::json!({ "resource": resource.to_string(), "configs": rows }));
    }
    let columns = [Column::Left("name"), Column::Left("value"), Column::Left("source")];
    let hidden = |row: &Row| if row.sensitive { "(secret)".to_owned() } else { String::new() };
    let cells = rows
        .iter()
        .map(|row| vec![row.name.clone(), row.value.clone().unwrap_or_else(|| hidden(row)), row.source.to_owned()]);
    print(&table(&columns, cells))
}
