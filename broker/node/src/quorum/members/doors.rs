//! How many are taken in that only say of themselves that they are there.
//!
//! Each learner costs the leader a stream of its own and an entry that names every member, and anybody who reaches the
//! listener can ask for it. So only a few are let in at a time of whom nothing else speaks: no registration, no vote of its
//! id, no line in the settings. A new broker registers as soon as it has caught up, and makes room; one that is not there is
//! forgotten after the session timeout (tend).
//!
//! Holds: one new member at a time is taken in, so that the bounds are exact.

use std::collections::BTreeSet;

use ballast_wire::BrokerId;
use openraft::ServerState;
use tokio::time::Instant;

use super::super::handle::Quorum;
use super::super::rpc::Refused;
use super::super::types::{Membership, NodeId};

/// Learners at a time of whom nothing speaks but themselves.
pub(in super::super) const UNPROVEN_MAX: usize = 16;
/// Learners at a time with one id: an old directory that is about to be forgotten, a new one, and a newer one.
const DIRECTORIES_MAX: usize = 3;
impl Quorum {
    /// Is there room for a new member? Whoever does not lead has no say.
    pub(super) async fn let_in(&self, id: NodeId) -> Result<(), Refused> {
        let membership = self.membership().await;
        let leads = self.raft.metrics().borrow().state == ServerState::Leader;
        if !leads || membership.get_node(&id).is_some() {
            return Ok(());
        }
        let (image, listed) = (self.image(), self.reach.as_ref().map(|reach| &reach.network().listed));
        let voters: BTreeSet<BrokerId> = membership.voter_ids().map(|voter| voter.node).collect();
        let is_proven = |node: BrokerId| {
            image.broker(node).is_some()
                || voters.contains(&node)
                || listed.is_some_and(|listed| listed.contains_key(&node))
        };
        let may = may_enter(id, &membership, is_proven);
        if let Err(why) = &may
            && self.doors.turned_away.admit(Instant::now()).is_some()
        {
            tracing::warn!(%id, "a node that asks to be taken into the metadata quorum has to wait: {why}");
        }
        may
    }
}

/// May `id`, which is no member yet, come in now? `is_proven`: does something else speak of a node with this id?
///
/// # Errors
/// Not now.
fn may_enter(id: NodeId, membership: &Membership, is_proven: impl Fn(BrokerId) -> bool) -> Result<(), Refused> {
    let others = membership.learner_ids().filter(|learner| learner.node == id.node).count();
    if others >= DIRECTORIES_MAX {
        return Err(Refused::NotNow(format!("{others} directories of node {} wait already: ask again", id.node)));
    }
    let unproven = membership.learner_ids().filter(|learner| !is_proven(learner.node)).count();
    if unproven >= UNPROVEN_MAX && !is_proven(id.node) {
        return Err(Refused::NotNow(format!("{unproven} new nodes are on their way in: ask again")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ballast_wire::Uuid;

    use super::super::super::types::QuorumNode;
    use super::*;

    fn with_learners(learners: impl IntoIterator<Item = NodeId>) -> Membership {
        let voter = NodeId::from(1);
        let nodes = learners.into_iter().chain([voter]).map(|id| (id, QuorumNode::default()));
        Membership::new(vec![BTreeSet::from([voter])], nodes.collect::<BTreeMap<_, _>>())
    }

    fn id(node: i32, directory: u8) -> NodeId {
        NodeId { node, directory: Uuid([directory; 16]) }
    }

    #[test]
    fn a_known_id_comes_in_past_however_many_unknown_ones() {
        let unknown = (0..UNPROVEN_MAX as i32).map(|n| id(1000 + n, 1));
        let is_proven = |node| node < 1000;
        let full = with_learners(unknown.clone().chain((2..100).map(|node| id(node, 1))));
        assert!(matches!(may_enter(id(5000, 1), &full, is_proven), Err(Refused::NotNow(_))));
        assert_eq!(may_enter(id(100, 1), &full, is_proven), Ok(()));
        let one_left = with_learners(unknown.skip(1));
        assert_eq!(may_enter(id(5000, 1), &one_left, is_proven), Ok(()));
    }

    #[test]
    fn one_id_has_a_few_directories_at_a_time() {
        let directories = |count: usize| with_learners((0..count).map(|n| id(2, n as u8 + 1)));
        assert_eq!(may_enter(id(2, 99), &directories(DIRECTORIES_MAX - 1), |_| true), Ok(()));
        assert!(matches!(may_enter(id(2, 99), &directories(DIRECTORIES_MAX), |_| true), Err(Refused::NotNow(_))));
    }
}
