//! Asking to be taken in, and being asked.
//!
//! ```text
//! join ── another cluster's, or a broker alone with a voter's id ──► never
//!      ── its id is alive under another directory, or was within
//!         the session timeout, and is elsewhere ───────────────────► in use: nothing is written
//!      ── too many come at once of whom nothing else speaks (doors) ► not now
//!      ── else ────────────────────────────────────────────────────► learner
//! ```
//! Holds: a node id is never taken in twice while both of its directories are there. A node that answers at the address of
//! its old directory has lost it: it may listen at once, and takes its old vote later (tend).

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use openraft::error::{ClientWriteError, RaftError};
use openraft::{ChangeMembers, ServerState};
use tokio::time::{Instant, timeout};

use super::super::error::QuorumError;
use super::super::handle::Quorum;
use super::super::network::{AskError, Reach};
use super::super::rpc::{self, Identity, Joining, Refused};
use super::super::types::{Membership, NodeId, QuorumNode};
use super::{ChangeError, Joined};

/// What became of asking.
pub(super) enum Asked {
    In,
    /// Another node has this id: in the leader's words.
    InUse(String),
    /// Not yet, and what each node said that was asked.
    Not(Vec<String>),
}

impl Quorum {
    /// Asks to be taken in by whoever leads.
    pub(super) async fn ask_in(&self, reach: &Reach) -> Result<Asked, QuorumError> {
        let network = reach.network();
        let (at, cluster) = (network.advertised.clone(), self.image().cluster_id().or(network.cluster));
        let listens_at = Some(network.listens_at.clone()).filter(|listens_at| *listens_at != at);
        let mut own = Vec::new();
        Joining { at, cluster, may_vote: self.may_vote, listens_at }.put(&mut own);
        let mut why = Vec::new();
        let others = network.listed.iter().filter(|(id, _)| **id != self.me.node).map(|(_, node)| node);
        let bootstrap = network.bootstrap.iter().filter(|node| **node != network.advertised);
        for node in others.chain(bootstrap) {
            let mut asked = reach.ask(rpc::JOIN, None, node, own.clone(), |_| Ok(())).await;
            if let Err(AskError::Refused(Refused::NotLeader(Some((leader, at))))) = &asked {
                let at = reach.address_of(leader.node, at);
                asked = reach.ask(rpc::JOIN, Some(*leader), &at, own.clone(), |_| Ok(())).await;
            }
            match asked {
                Ok(()) => return Ok(Asked::In),
                Err(AskError::Refused(Refused::Never(why))) if !self.has_caught_up.load(Ordering::Relaxed) => {
                    return Err(QuorumError::NotTaken(why));
                }
                Err(AskError::Refused(Refused::InUse(why))) => return Ok(Asked::InUse(why)),
                Err(error) => why.push(error.told_of(node)),
            }
        }
        if why.is_empty() {
            why.push("nobody is listed: --quorum names the voters".to_owned());
        }
        Ok(Asked::Not(why))
    }

    /// Takes a node in that asks for it, if this node leads.
    pub(in super::super) async fn join_as_learner(&self, id: NodeId, joining: Joining) -> Result<(), Refused> {
        if let (Some(ours), Some(theirs)) = (self.image().cluster_id(), joining.cluster)
            && ours != theirs
        {
            let node = id.node;
            return Err(Refused::Never(format!("node {node} belongs to cluster {theirs}, and this is cluster {ours}")));
        }
        let membership = self.membership().await;
        let votes = |voter: NodeId| voter.node == id.node && voter != id;
        if !joining.may_vote && membership.voter_ids().any(votes) {
            return Err(Refused::Never(format!(
                "node id {} votes in the quorum from another directory; a broker alone cannot take its place",
                id.node
            )));
        }
        if id.node < 0 {
            return Err(Refused::Never(format!("no node has the id {}", id.node)));
        }
        self.refuse_double(id, &joining, &membership).await?;
        let _entering = self.doors.entering.lock().await;
        self.let_in(id).await?;
        match self.take_in(id, joining.at).await {
            Ok(Joined) => Ok(()),
            Err(RaftError::APIError(ClientWriteError::ForwardToLeader(leader))) => {
                Err(Refused::NotLeader(leader.leader_id.zip(leader.leader_node)))
            }
            Err(error) => Err(Refused::NotNow(error.to_string())),
        }
    }

    /// Refuses a node whose id another directory has that may be alive, if this node leads.
    async fn refuse_double(&self, id: NodeId, joining: &Joining, membership: &Membership) -> Result<(), Refused> {
        let leads = self.raft.metrics().borrow().state == ServerState::Leader;
        let (Some(reach), true, None) = (&self.reach, leads, membership.get_node(&id)) else { return Ok(()) };
        let (contacts, now) = (reach.contacts(), Instant::now());
        let theirs = joining.listens_at.as_ref().unwrap_or(&joining.at);
        for (other, node) in membership.nodes().filter(|(other, _)| other.node == id.node) {
            let heard = if *other == self.me { Some(now) } else { contacts.get(other).map(|contact| contact.at) };
            let at = reach.address_of(other.node, node);
            if !self.doubles.may_live(heard, now) || is_there(reach, id, &at).await {
                continue;
            }
            let (node, directory) = (id.node, id.directory);
            if heard.is_none_or(|heard| now - heard >= self.timers.silence) {
                return Err(Refused::InUse(format!(
                    "node id {node} is waited for at {at}: the one at {theirs} (directory {directory}) is taken in once \
                     the other is silent for broker.session.timeout.ms"
                )));
            }
            let text = format!(
                "node id {node} is in use: the node at {at} is alive; the one at {theirs} (directory {directory}) is not \
                 taken in"
            );
            if self.doubles.is_warned_now(node, now) {
                tracing::warn!("{text}");
            }
            return Err(Refused::InUse(text));
        }
        Ok(())
    }

    /// Takes a node in as a learner, if this node leads.
    pub(in super::super) async fn take_in(&self, id: NodeId, node: QuorumNode) -> Result<Joined, ChangeError> {
        let membership = self.membership().await;
        match membership.get_node(&id) {
            Some(known) if *known == node => {}
            Some(_) => {
                let change = ChangeMembers::SetNodes(BTreeMap::from([(id, node)]));
                self.raft.change_membership(change, true).await?;
            }
            None => {
                let at = node.to_string();
                self.raft.add_learner(id, node, false).await?;
                tracing::info!(%id, at, "a node has joined the metadata quorum as a learner");
            }
        }
        Ok(Joined)
    }
}

/// Is it `id` that answers at `at`? Then its other directory is not there any more.
async fn is_there(reach: &Reach, id: NodeId, at: &QuorumNode) -> bool {
    let asked = reach.ask(rpc::IDENTIFY, None, at, Vec::new(), Identity::read);
    matches!(timeout(reach.network().request_timeout / 4, asked).await, Ok(Ok(there)) if there.id == id)
}
