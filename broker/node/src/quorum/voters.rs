//! Voters that people add and remove: AddRaftVoter (80), RemoveRaftVoter (81).
//!
//! ```text
//! add     who is there? ─► learner ─► caught up ─► voter          remove   voter ─┬─ alive ──► learner, in the same step
//!                                                                                 └─ silent ─► nobody, until it joins
//! ```
//! Holds: a node votes only once it has what the leader has; one voter at a time is added or removed, through the log; the
//! last voter stays.

use std::collections::BTreeSet;

use ballast_wire::Uuid;
use openraft::ChangeMembers;
use openraft::error::{ChangeMembershipError, ClientWriteError, RaftError};

use super::handle::Quorum;
use super::members::ChangeError;
use super::rpc::{self, Identity};
use super::types::{NodeId, QuorumNode};

/// Why the voters stay as they are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum VoterError {
    /// Only the leader changes the voters.
    #[error("this node does not lead the metadata quorum")]
    NotLeader,
    /// A voter has this id.
    #[error("The voter id for {0} is already part of the set of voters")]
    Duplicate(NodeId),
    /// No voter has this id and directory.
    #[error("Cannot remove voter {} because it is not in the set of voters", named(.0))]
    NotFound(NodeId),
    /// Without it there would be no quorum.
    #[error("Cannot remove voter {0} because it is the last one")]
    Last(NodeId),
    /// The node cannot be reached, or somebody else is there.
    #[error("Cannot add voter {}: {why}", named(.id))]
    NotThere {
        /// The node.
        id: NodeId,
        /// What is wrong.
        why: String,
    },
    /// A broker without a vote.
    #[error("Cannot add voter {0}: it is a broker alone (process.roles=broker)")]
    Voteless(NodeId),
    /// A change is on its way, or the quorum has stopped.
    #[error("The voters cannot be changed now: {0}")]
    NotNow(String),
}

/// A node as it was asked for: its directory may have been left open.
fn named(id: &NodeId) -> String {
    if id.directory == Uuid::ZERO { id.node.to_string() } else { id.to_string() }
}

impl From<ChangeError> for VoterError {
    fn from(error: ChangeError) -> VoterError {
        match error {
            RaftError::APIError(ClientWriteError::ForwardToLeader(_)) => VoterError::NotLeader,
            RaftError::APIError(ClientWriteError::ChangeMembershipError(ChangeMembershipError::InProgress(_))) => {
                VoterError::NotNow("another change is on its way".to_owned())
            }
            other => VoterError::NotNow(other.to_string()),
        }
    }
}

impl Quorum {
    /// Does it vote, as far as this node knows? Its directory may be left open (zero).
    pub(crate) async fn has_voter(&self, id: NodeId) -> bool {
        let is_meant = |voter: NodeId| voter == id || (voter.node == id.node && id.directory == Uuid::ZERO);
        self.membership().await.voter_ids().any(is_meant)
    }

    /// Makes the node at `at` a voter; its directory may be left open (zero). Give it a time limit: it waits until the node
    /// has caught up.
    ///
    /// # Errors
    /// See [`VoterError`]; the node may have become a learner.
    pub(crate) async fn add_voter(&self, mut id: NodeId, at: QuorumNode) -> Result<(), VoterError> {
        if !*self.leads().borrow() {
            return Err(VoterError::NotLeader);
        }
        if let Some(voter) = self.membership().await.voter_ids().find(|voter| voter.node == id.node) {
            return Err(VoterError::Duplicate(voter));
        }
        let not_there = |id, why: String| Err(VoterError::NotThere { id, why });
        let Some(reach) = &self.reach else {
            return not_there(id, "the leader has no controller listener".to_owned());
        };
        match reach.ask(rpc::IDENTIFY, None, &at, Vec::new(), Identity::read).await {
            Ok(there) if there.id.node == id.node && (there.id == id || id.directory == Uuid::ZERO) => {
                id = there.id;
                if !there.may_vote {
                    return Err(VoterError::Voteless(id));
                }
            }
            Ok(there) => return not_there(id, format!("{} answers at {at}", there.id)),
            Err(error) => return not_there(id, error.to_string()),
        }
        self.take_in(id, at.clone()).await?;
        // Blocks until it has caught up.
        self.raft.add_learner(id, at, true).await?;
        self.raft.change_membership(ChangeMembers::AddVoterIds(BTreeSet::from([id])), true).await?;
        tracing::info!(%id, "a voter was added to the metadata quorum");
        Ok(())
    }

    /// Removes a voter, which is an id with its directory.
    ///
    /// # Errors
    /// See [`VoterError`].
    pub(crate) async fn remove_voter(&self, id: NodeId) -> Result<(), VoterError> {
        if !*self.leads().borrow() {
            return Err(VoterError::NotLeader);
        }
        let voters: Vec<NodeId> = self.membership().await.voter_ids().collect();
        if !voters.contains(&id) {
            return Err(VoterError::NotFound(id));
        }
        if voters.len() == 1 {
            return Err(VoterError::Last(id));
        }
        let stays = self.may_stay(id);
        self.raft.change_membership(ChangeMembers::RemoveVoters(BTreeSet::from([id])), stays).await?;
        tracing::info!(%id, stays, "a voter was removed from the metadata quorum");
        Ok(())
    }

    /// Can a removed voter go on as a learner? One that was not heard of just now shall leave no place behind that waits
    /// for it, and openraft lets a leader that listens lead on for ever: it has to leave, and join again.
    fn may_stay(&self, id: NodeId) -> bool {
        let heard = || self.reach.as_ref()?.contacts().get(&id).map(|contact| contact.at);
        id != self.me && heard().is_some_and(|at| at.elapsed() < self.timers.silence)
    }
}
