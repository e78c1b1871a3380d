//! The pre-vote (KIP-996): would a majority vote for this node? Asked before it stands, and raises no term.
//!
//! ```text
//! time to stand ─► every other voter: would you? ─► a majority of each configuration would ─► stand
//!                                                └► it cannot be any more, or no answer     ─► wait, and ask again
//! ```
//! A node that was cut off, or removed while it was away, hears nothing and believes that nobody leads. Stood it for election,
//! its term would rise with every try; the leader that reaches it again would be told of the higher term, and resign.
//!
//! Holds: a term rises only for a node that a majority was about to vote for. A pre-vote promises nothing.
//!
//! Read next: `serve` (who would vote).

use std::collections::BTreeSet;

use tokio::task::JoinSet;

use super::super::rpc::{self, PreVoted};
use super::super::signs::Lost;
use super::super::types::{Membership, NodeId};
use super::Candidate;

/// Answers as they come in.
#[derive(Debug)]
pub(super) struct Poll {
    /// Two while a change of the voters is on its way: each needs its majority.
    configs: Vec<BTreeSet<NodeId>>,
    granted: BTreeSet<NodeId>,
    refused: BTreeSet<NodeId>,
}

impl Poll {
    /// `me` is for itself.
    pub(super) fn new(membership: &Membership, me: NodeId) -> Poll {
        let configs = membership.get_joint_config().clone();
        Poll { configs, granted: BTreeSet::from([me]), refused: BTreeSet::new() }
    }

    pub(super) fn count(&mut self, voter: NodeId, is_granted: bool) {
        let answers = if is_granted { &mut self.granted } else { &mut self.refused };
        answers.insert(voter);
    }

    /// Would it be elected? `None` while that depends on who has not answered.
    pub(super) fn outcome(&self) -> Option<bool> {
        let majority = |config: &BTreeSet<NodeId>| config.len() / 2 + 1;
        let of = |config: &BTreeSet<NodeId>, answers| config.intersection(answers).count();
        let is_won = |config: &BTreeSet<NodeId>| of(config, &self.granted) >= majority(config);
        if self.configs.iter().all(is_won) {
            // Without a log nobody votes.
            return Some(!self.configs.is_empty());
        }
        let is_lost = |config: &BTreeSet<NodeId>| config.len() - of(config, &self.refused) < majority(config);
        self.configs.iter().any(is_lost).then_some(false)
    }
}

/// Asks the other voters until the outcome is known. Give it a time limit: some may be away.
pub(super) async fn would_be_elected(candidate: &Candidate) -> bool {
    let Candidate { me, raft, store, signs, reach, .. } = candidate;
    let seen = |state: &openraft::RaftState<_, _, _>| state.membership_state.effective().membership().clone();
    // Without openraft nobody stands.
    let Ok(membership): Result<Membership, _> = raft.with_raft_state(seen).await else { return false };
    let last = store.last();
    let mut poll = Poll::new(&membership, *me);
    let mut payload = Vec::new();
    rpc::put_last(&mut payload, last.as_ref());
    let mut asked = JoinSet::new();
    for voter in membership.voter_ids().filter(|voter| voter != me) {
        let (Some(reach), Some(node)) = (reach, membership.get_node(&voter)) else { continue };
        let (reach, at, payload) = (reach.clone(), reach.address_of(voter.node, node), payload.clone());
        asked.spawn(async move { (voter, reach.ask(rpc::PRE_VOTE, Some(voter), &at, payload, PreVoted::read).await) });
    }
    loop {
        if let Some(is_backed) = poll.outcome() {
            return is_backed;
        }
        let Some(answer) = asked.join_next().await else { return false };
        // A task is aborted with this one alone.
        let Ok((voter, answer)) = answer else { continue };
        match answer {
            Ok(answer) => {
                if !answer.is_granted && answer.last > last {
                    signs.lost(Lost::Behind);
                }
                poll.count(voter, answer.is_granted);
            }
            Err(error) => {
                tracing::debug!(%voter, %error, "no answer to a pre-vote");
                poll.count(voter, false);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(ids: &[u64]) -> BTreeSet<NodeId> {
        ids.iter().copied().map(NodeId::from).collect()
    }

    fn poll(configs: &[&[u64]]) -> Poll {
        let configs = configs.iter().map(|ids| nodes(ids)).collect();
        Poll::new(&Membership::new(configs, None), NodeId::from(1))
    }

    #[test]
    fn the_only_voter_asks_nobody_and_without_voters_nobody_is_elected() {
        assert_eq!(poll(&[&[1]]).outcome(), Some(true));
        assert_eq!(poll(&[]).outcome(), Some(false));
    }

    #[test]
    fn it_is_decided_as_soon_as_the_silent_do_not_matter() {
        let mut backed = poll(&[&[1, 2, 3, 4, 5]]);
        backed.count(NodeId::from(2), true);
        assert_eq!(backed.outcome(), None);
        backed.count(NodeId::from(3), true);
        assert_eq!(backed.outcome(), Some(true), "whatever 4 and 5 would say");
        let mut lost = poll(&[&[1, 2, 3, 4, 5]]);
        lost.count(NodeId::from(2), false);
        lost.count(NodeId::from(3), false);
        assert_eq!(lost.outcome(), None);
        lost.count(NodeId::from(4), false);
        assert_eq!(lost.outcome(), Some(false), "whatever 5 would say");
    }

    #[test]
    fn while_the_voters_change_each_set_of_them_needs_its_majority() {
        let mut joint = poll(&[&[1, 2, 3], &[2, 3, 4]]);
        joint.count(NodeId::from(2), true);
        assert_eq!(joint.outcome(), None, "a majority of the old set, one of three of the new");
        joint.count(NodeId::from(3), true);
        assert_eq!(joint.outcome(), Some(true));
        let mut removed = poll(&[&[1, 2, 3], &[2, 3]]);
        removed.count(NodeId::from(2), true);
        removed.count(NodeId::from(3), false);
        assert_eq!(removed.outcome(), Some(false), "both of the two that stay are needed");
    }

    #[test]
    fn one_without_a_vote_counts_for_nothing_though_it_is_for_itself() {
        let mut poll = poll(&[&[2, 3]]);
        assert_eq!(poll.outcome(), None);
        poll.count(NodeId::from(2), true);
        assert_eq!(poll.outcome(), None);
        poll.count(NodeId::from(9), true);
        assert_eq!(poll.outcome(), None);
    }
}
