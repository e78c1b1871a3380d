//! Who decides in the cluster: the leader of the metadata quorum, or nobody, and then why.
//!
//! Metadata and DescribeCluster name a broker that takes requests for the controller, any of them: since KRaft clients are not
//! told who decides. DescribeQuorum tells it.
//!
//! Holds: "nobody" is said only of a quorum that names no leader, or one of which nobody, or no majority, has heard; where a
//! cluster does not tell, nothing is claimed.

use std::sync::Arc;
use std::time::Duration;

use ballast_client::admin::{Quorum, QuorumReplica};
use ballast_client::{Admin, ClientError, Cluster, Metadata};
use ballast_core::settings::parse_host_port;

use crate::error::Failure;
use crate::probe::{self, ANSWERS_WITHIN};

/// How long a broker may take to tell. It asks the leader itself, with patience of its own.
const TELLS_WITHIN: Duration = Duration::from_secs(4);
/// A leader that has heard of no majority for longer does not decide.
const UNHEARD_MS: i64 = 5_000;

/// Who decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Active {
    /// This node, a broker or not.
    Node(i32),
    /// Nobody.
    Nobody(Missing),
    /// The cluster does not tell.
    Unknown,
}

/// What is known of a quorum without a leader.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Missing {
    /// How many vote, 0 if that is unknown.
    voters: usize,
    /// Voters that do not answer, with their addresses.
    silent: Vec<String>,
}

impl Active {
    /// The node that decides, if there is one and it is known.
    pub(crate) fn node(&self) -> Option<i32> {
        match self {
            Active::Node(id) => Some(*id),
            Active::Nobody(_) | Active::Unknown => None,
        }
    }

    /// Does this node decide? `None` if the cluster does not tell.
    pub(crate) fn is(&self, id: i32) -> Option<bool> {
        match self {
            Active::Node(leader) => Some(*leader == id),
            Active::Nobody(_) => Some(false),
            Active::Unknown => None,
        }
    }

    /// One line, if nobody decides.
    pub(crate) fn trouble(&self) -> Option<String> {
        match self {
            Active::Nobody(missing) => Some(missing.line()),
            Active::Node(_) | Active::Unknown => None,
        }
    }
}

/// Asks the cluster, and if nobody decides, the voters.
pub(crate) async fn find(cluster: &Cluster) -> Active {
    let told = tokio::time::timeout(TELLS_WITHIN, Admin::new(cluster.clone()).describe_quorum()).await;
    match told {
        Ok(Ok(quorum)) => match decides(&quorum) {
            Some(leader) => Active::Node(leader),
            None => Active::Nobody(missing(cluster, &quorum).await),
        },
        Ok(Err(error)) if !error.is_retriable() => Active::Unknown,
        Ok(Err(ClientError::NoBroker { .. })) => Active::Unknown,
        Ok(Err(_)) | Err(_) => Active::Nobody(Missing::default()),
    }
}

/// Metadata of all topics. `None` if nobody decides and nobody tells: a broker that hears neither a controller nor the others
/// does not claim to know who leads.
pub(crate) async fn metadata(cluster: &Cluster, active: &Active) -> Result<Option<Arc<Metadata>>, Failure> {
    if matches!(active, Active::Nobody(_)) {
        let told = tokio::time::timeout(ANSWERS_WITHIN, cluster.all_topics()).await;
        return Ok(told.ok().and_then(Result::ok));
    }
    Ok(Some(cluster.all_topics().await?))
}

/// The leader, if it told this itself and has lately heard of a majority.
fn decides(quorum: &Quorum) -> Option<i32> {
    let leader = quorum.voters.iter().chain(&quorum.observers).find(|member| member.id == quorum.leader);
    // A node that cannot reach the leader does not know how far it is.
    let leader = leader.filter(|leader| leader.log_end_offset >= 0)?;
    let now_ms = leader.last_fetch_ms;
    let is_heard = |voter: &&QuorumReplica| {
        voter.id == leader.id || now_ms < 0 || now_ms.saturating_sub(voter.last_fetch_ms) < UNHEARD_MS
    };
    let heard = quorum.voters.iter().filter(is_heard).count();
    (heard * 2 > quorum.voters.len()).then_some(leader.id)
}

async fn missing(cluster: &Cluster, quorum: &Quorum) -> Missing {
    let mut silent = Vec::new();
    for voter in &quorum.voters {
        let node = quorum.nodes.iter().find(|node| node.id == voter.id);
        let Some(address) = node.and_then(|node| node.listeners.first()) else { continue };
        let address = address.rsplit("://").next().unwrap_or(address);
        let Ok((host, port)) = parse_host_port(address) else { continue };
        if probe::answers(cluster, (&host, i32::from(port))).await.is_err() {
            silent.push(format!("{} {address}", voter.id));
        }
    }
    Missing { voters: quorum.voters.len(), silent }
}

impl Missing {
    /// In one line, with what would help.
    pub(crate) fn line(&self) -> String {
        let Missing { voters, silent } = self;
        let needed = voters / 2 + 1;
        if silent.is_empty() || voters - silent.len() >= needed {
            return "no active controller: the voters have not elected one. try again; if it stays so, look at their logs \
                    and at the network between them"
                .to_owned();
        }
        let silent = silent.join(", ");
        format!(
            "no active controller: no majority of the voters answers ({silent}). start these, or mend the way to them: \
             {needed} of {voters} have to answer"
        )
    }
}

/// What has come of a command that needs a controller. If it failed for want of one, that is said.
pub(crate) async fn explain(cluster: &Cluster, outcome: Result<(), Failure>) -> Result<(), Failure> {
    let Err(Failure::Undecided { what, message }) = outcome else { return outcome };
    match find(cluster).await {
        Active::Nobody(missing) => Err(Failure::new(format!("{what}: {}", missing.line()))),
        Active::Node(_) | Active::Unknown => Err(Failure::new(message)),
    }
}

#[cfg(test)]
mod tests {
    use ballast_wire::Uuid;

    use super::*;

    fn member(id: i32, log_end_offset: i64, last_fetch_ms: i64) -> QuorumReplica {
        QuorumReplica { id, directory: Uuid::ZERO, log_end_offset, last_fetch_ms, last_caught_up_ms: -1 }
    }

    fn quorum(leader: i32, voters: Vec<QuorumReplica>) -> Quorum {
        Quorum { leader, leader_epoch: 1, high_watermark: 1, voters, observers: Vec::new(), nodes: Vec::new() }
    }

    #[test]
    fn a_leader_decides_if_it_told_so_itself_and_has_heard_of_a_majority() {
        let heard = |second, third| vec![member(1, 9, 100_000), member(2, 9, second), member(3, 9, third)];
        assert_eq!(decides(&quorum(1, heard(99_900, 99_800))), Some(1));
        assert_eq!(decides(&quorum(1, heard(99_900, 3))), Some(1), "one may be away");
        assert_eq!(decides(&quorum(1, heard(90_000, -1))), None, "it is cut off");
        assert_eq!(decides(&quorum(-1, heard(99_900, 99_800))), None);
        let hearsay = vec![member(1, -1, -1), member(2, 9, 100_000), member(3, -1, -1)];
        assert_eq!(decides(&quorum(1, hearsay)), None, "2 knows who led, and does not reach it");
        assert_eq!(decides(&quorum(1, vec![member(1, 9, -1), member(2, 9, -1)])), Some(1), "version 0 tells no times");
    }

    #[test]
    fn voters_that_do_not_answer_are_named_if_they_are_why() {
        let of =
            |silent: &[&str]| Missing { voters: 3, silent: silent.iter().map(|s| (*s).to_owned()).collect() }.line();
        assert!(
            of(&["2 h:1", "3 h:2"])
                .starts_with("no active controller: no majority of the voters answers (2 h:1, 3 h:2). start these")
        );
        assert!(of(&["2 h:1"]).contains("have not elected one"), "the others are a majority");
        assert!(Missing::default().line().contains("have not elected one"));
    }
}
