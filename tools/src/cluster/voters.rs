//! `ballast cluster quorum add|remove`: who votes in the metadata quorum.

use ballast_client::admin::Quorum;
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
        /// The voter's id; an address behind it must be the voter's.
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
            let (id, at) = match voter.split_once('@') {
                Some((id, at)) => (id, Some(ballast_core::settings::parse_host_port(at).map_err(|_| bad(voter))?)),
                None => (voter.as_str(), None),
            };
            let id = id_of(id, voter)?;
            let directory = voting(&admin.describe_quorum().await?, id, at)?;
            admin.remove_voter(id, directory).await?;
            (id, "removed")
        }
    };
    if json {
        return print_json(&serde_json::json!({ "voter": id, "outcome": done }));
    }
    print(&format!("voter {id} is {done}"))
}

/// The directory of the voter `id`, which must be at the address that is given.
fn voting(quorum: &Quorum, id: BrokerId, at: Option<(String, u16)>) -> Result<Uuid, Failure> {
    let Some(voter) = quorum.voters.iter().find(|voter| voter.id == id) else {
        let ids: Vec<String> = quorum.voters.iter().map(|voter| voter.id.to_string()).collect();
        return Err(Failure::new(format!("{id} is no voter; the voters are {}", ids.join(", "))));
    };
    let listeners: Vec<&str> = quorum
        .nodes
        .iter()
        .filter(|node| node.id == id)
        .flat_map(|node| &node.listeners)
        .filter_map(|listener| listener.split_once("://").map(|(_, address)| address))
        .collect();
    if let Some((host, port)) = at
        && !listeners.is_empty()
        && !listeners.iter().any(|known| is_same(known, &host, port))
    {
        return Err(Failure::new(format!("voter {id} is at {}, not at {host}:{port}", listeners.join(", "))));
    }
    Ok(voter.directory)
}

fn is_same(known: &str, host: &str, port: u16) -> bool {
    known.rsplit_once(':').is_some_and(|(known_host, known_port)| {
        known_host.trim_matches(['[', ']']) == host && known_port.parse() == Ok(port)
    })
}

fn id_of(text: &str, voter: &str) -> Result<BrokerId, Failure> {
    text.parse().ok().filter(|id| *id >= 0).ok_or_else(|| bad(voter))
}

fn bad(voter: &str) -> Failure {
    Failure::usage(format!("{voter}: expected ID@HOST:PORT"))
}

#[cfg(test)]
mod tests {
    use ballast_client::admin::{QuorumNode, QuorumReplica};

    use super::*;

    fn quorum() -> Quorum {
        let directory = Uuid([7; 16]);
        let replica = QuorumReplica { id: 3, directory, log_end_offset: 0, last_fetch_ms: -1, last_caught_up_ms: -1 };
        let node = QuorumNode { id: 3, listeners: vec!["CONTROLLER://c3:9093".to_owned()] };
        Quorum {
            leader: 3,
            leader_epoch: 1,
            high_watermark: 0,
            voters: vec![replica],
            observers: Vec::new(),
            nodes: vec![node],
        }
    }

    #[test]
    fn a_voter_is_removed_by_its_directory_and_only_at_its_address() {
        let voting =
            |id, at: Option<(&str, u16)>| voting(&quorum(), id, at.map(|(host, port)| (host.to_owned(), port)));
        assert_eq!(voting(3, None).expect("it votes"), Uuid([7; 16]));
        assert_eq!(voting(3, Some(("c3", 9093))).expect("it is there"), Uuid([7; 16]));
        let words = |refused: Result<Uuid, Failure>| format!("{:?}", refused.expect_err("it is refused"));
        assert!(words(voting(3, Some(("c3", 9094)))).contains("voter 3 is at c3:9093, not at c3:9094"));
        assert!(words(voting(4, None)).contains("4 is no voter; the voters are 3"));
    }
}
