//! `ballast cluster quorum add|remove`: who votes in the metadata quorum.

use ballast_client::{Admin, Cluster};
use ballast_wire::{BrokerId, Uuid};
use clap::{Args, Subcommand};

use crate::error::Failure;
use crate::output::{print, print_json};

/// What to do with the quorum; without a word it is shown.
#[derive(Args, Debug)]
pub(super) struct QuorumArgs {
    #[command(subcommand)]
    pub(super) change: Option<Change>,
}

#[derive(Subcommand, Debug)]
pub(super) enum Change {
    /// Make a node a voter, once it has caught up.
    #[command(after_help = "Example:
  ballast cluster quorum add 4@broker-4:9093")]
    Add {
        /// The node's id and the address of its controller listener.
        #[arg(value_name = "ID@HOST:PORT")]
        voter: String,
    },
    /// Remove a voter; the node may go on without a vote.
    #[command(after_help = "Example:
  ballast cluster quorum remove 4")]
    Remove {
        /// The voter's id; an address behind it is not needed.
        #[arg(value_name = "ID[@HOST:PORT]")]
        voter: String,
    },
}

pub(super) async fn change(cluster: &Cluster, change: &Change, json: bool) -> Result<(), Failure> {
    let admin = Admin::new(cluster.clone());
    let (id, done) = match change {
        Change::Add { voter } => {
            let (id, address) = voter.split_once('@').ok_or_else(|| bad(voter))?;
            let (host, port) = ballast_core::settings::parse_host_port(address).map_err(|_| bad(voter))?;
            let id = id_of(id, voter)?;
            admin.add_voter(id, Uuid::ZERO, &host, port).await?;
            (id, "added")
        }
        Change::Remove { voter } => {
            let id = id_of(voter.split('@').next().unwrap_or(voter), voter)?;
            admin.remove_voter(id, Uuid::ZERO).await?;
            (id, "removed")
        }
    };
    if json {
        return print_json(&serde_json::json!({ "voter": id, "outcome": done }));
    }
    print(&format!("voter {id} is {done}"))
}

fn id_of(text: &str, voter: &str) -> Result<BrokerId, Failure> {
    text.parse().ok().filter(|id| *id >= 0).ok_or_else(|| bad(voter))
}

fn bad(voter: &str) -> Failure {
    Failure::usage(format!("{voter}: expected ID@HOST:PORT"))
}
