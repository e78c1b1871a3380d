//! What a leader changes about the membership by itself.
//!
//! Holds: one change at a time, each through the log; a voter leaves only for a learner with its id, and not before its own
//! directory has been silent for the session timeout of this reign. A learner leaves by the same silence, once it has come
//! back with another directory or its broker is registered no more; one that was forgotten too soon asks to be taken in again.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use ballast_wire::BrokerId;
use tokio::time::Instant;

use super::super::network::Contact;
use super::super::types::{Membership, NodeId};

/// A change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// A learner takes the place of the voter with its id.
    Replace {
        /// The voter.
        old: NodeId,
        /// The learner.
        new: NodeId,
    },
    /// A learner leaves: its id has come back with another directory.
    Forget(NodeId),
    /// A learner leaves: no broker of its id is registered.
    Gone(NodeId),
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Replace { old, new } => write!(f, "{new} has come back without its data and replaces voter {old}"),
            Change::Forget(id) => write!(f, "learner {id} has come back with another directory and is forgotten"),
            Change::Gone(id) => {
                write!(f, "learner {id} is silent, no broker is registered for it, and it is forgotten")
            }
        }
    }
}

/// A leader's look at the membership. Rests while another leads.
#[derive(Debug)]
pub(super) struct Tending {
    session_timeout: Duration,
    /// Since when this node leads and reckons with each: silence before that says nothing.
    known_since: BTreeMap<NodeId, Instant>,
}

impl Tending {
    pub(super) fn new(session_timeout: Duration) -> Tending {
        Tending { session_timeout, known_since: BTreeMap::new() }
    }

    pub(super) fn rest(&mut self) {
        self.known_since.clear();
    }

    /// What is to be changed now. `is_registered`: is there a broker of this id?
    pub(super) fn look(
        &mut self,
        membership: &Membership,
        contacts: &BTreeMap<NodeId, Contact>,
        is_registered: impl Fn(BrokerId) -> bool,
        me: NodeId,
        now: Instant,
    ) -> Option<Change> {
        self.known_since.retain(|id, _| membership.get_node(id).is_some());
        for (id, _) in membership.nodes() {
            self.known_since.entry(*id).or_insert(now);
        }
        if membership.get_joint_config().len() != 1 {
            // A change is on its way.
            return None;
        }
        let heard = |id: &NodeId| contacts.get(id).map(|contact| contact.at);
        let since = |id: &NodeId| self.known_since.get(id).copied().unwrap_or(now);
        let silence = |id: &NodeId| now - heard(id).map_or(since(id), |at| at.max(since(id)));
        for learner in membership.learner_ids() {
            let voter = membership.voter_ids().find(|voter| voter.node == learner.node);
            // It must be there itself, or the quorum would be worse off.
            let is_here = heard(&learner).is_some_and(|at| now - at < self.session_timeout);
            match voter {
                Some(old) if old != me && is_here && silence(&old) >= self.session_timeout => {
                    return Some(Change::Replace { old, new: learner });
                }
                _ => {}
            }
            let is_newer =
                |other: NodeId| other.node == learner.node && other != learner && heard(&other) > heard(&learner);
            let come_back = membership.nodes().any(|(other, _)| is_newer(*other));
            if silence(&learner) >= self.session_timeout {
                if come_back {
                    return Some(Change::Forget(learner));
                }
                if !is_registered(learner.node) {
                    return Some(Change::Gone(learner));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ballast_wire::Uuid;

    use super::super::super::types::QuorumNode;
    use super::*;

    const SESSION: Duration = Duration::from_secs(9);

    fn id(node: i32, generation: u8) -> NodeId {
        NodeId { node, directory: Uuid([generation; 16]) }
    }

    fn membership(voters: &[NodeId], learners: &[NodeId]) -> Membership {
        let nodes = voters.iter().chain(learners).map(|id| (*id, QuorumNode::default()));
        Membership::new(vec![voters.iter().copied().collect::<BTreeSet<_>>()], nodes.collect::<BTreeMap<_, _>>())
    }

    fn contacts(rows: &[(NodeId, Instant)]) -> BTreeMap<NodeId, Contact> {
        rows.iter().map(|(id, at)| (*id, Contact { at: *at, at_ms: 0, caught_up_ms: -1 })).collect()
    }

    #[test]
    fn a_wiped_voter_takes_its_own_place_once_its_old_directory_is_silent_for_the_session() {
        let start = Instant::now();
        let (me, other, old, new) = (id(1, 1), id(2, 1), id(3, 1), id(3, 2));
        let members = membership(&[me, other, old], &[new]);
        let mut tending = Tending::new(SESSION);
        let look = |tending: &mut Tending, at: Duration| {
            tending.look(&members, &contacts(&[(other, start + at), (new, start + at)]), |_| true, me, start + at)
        };
        assert_eq!(look(&mut tending, Duration::ZERO), None);
        assert_eq!(look(&mut tending, SESSION - Duration::from_millis(1)), None);
        assert_eq!(look(&mut tending, SESSION), Some(Change::Replace { old, new }));
        tending.rest();
        assert_eq!(look(&mut tending, SESSION), None, "a new reign measures anew");
    }

    #[test]
    fn a_voter_that_is_heard_of_keeps_its_place_and_an_absent_learner_gets_none() {
        let start = Instant::now();
        let later = start + 2 * SESSION;
        let (me, old, new) = (id(1, 1), id(3, 1), id(3, 2));
        let members = membership(&[me, id(2, 1), old], &[new]);
        let mut tending = Tending::new(SESSION);
        assert_eq!(tending.look(&members, &BTreeMap::new(), |_| true, me, start), None);
        assert_eq!(tending.look(&members, &contacts(&[(old, later), (new, later)]), |_| true, me, later), None);
        assert_eq!(tending.look(&members, &contacts(&[(new, start)]), |_| true, me, later), None);
    }

    #[test]
    fn a_learner_whose_id_came_back_with_another_directory_is_forgotten_and_no_other() {
        let start = Instant::now();
        let later = start + 2 * SESSION;
        let (me, old, new, away) = (id(1, 1), id(4, 1), id(4, 2), id(5, 1));
        let members = membership(&[me], &[old, new, away]);
        let mut tending = Tending::new(SESSION);
        assert_eq!(tending.look(&members, &BTreeMap::new(), |_| true, me, start), None);
        let contacts = contacts(&[(old, start), (new, later)]);
        assert_eq!(tending.look(&members, &contacts, |_| true, me, later), Some(Change::Forget(old)));
    }

    #[test]
    fn a_learner_without_a_registered_broker_is_forgotten_once_it_is_silent_for_the_session() {
        let start = Instant::now();
        let later = start + 2 * SESSION;
        let (me, stays, unregistered, new) = (id(1, 1), id(4, 1), id(5, 1), id(6, 1));
        let members = membership(&[me, id(2, 1)], &[stays, unregistered, new]);
        let registered = |node| node == stays.node;
        let mut tending = Tending::new(SESSION);
        let heard = contacts(&[(new, start)]);
        assert_eq!(tending.look(&members, &heard, registered, me, start), None);
        assert_eq!(tending.look(&members, &heard, registered, me, start + SESSION / 2), None);
        let heard = contacts(&[(new, later)]);
        let gone = Some(Change::Gone(unregistered));
        assert_eq!(tending.look(&members, &heard, registered, me, later), gone, "no other, and no voter");
        assert_eq!(tending.look(&members, &heard, |node| node != new.node, me, later), None, "it is about to register");
    }

    #[test]
    fn a_learner_that_was_just_taken_in_has_the_session_to_be_heard_of() {
        let start = Instant::now();
        let (me, new) = (id(1, 1), id(5, 1));
        let mut tending = Tending::new(SESSION);
        let mut look = |members: &Membership, after: Duration| {
            tending.look(members, &BTreeMap::new(), |_| false, me, start + after)
        };
        assert_eq!(look(&membership(&[me], &[]), Duration::ZERO), None);
        let with_it = membership(&[me], &[new]);
        assert_eq!(look(&with_it, 2 * SESSION), None, "this reign is older, the learner is not");
        assert_eq!(look(&with_it, 3 * SESSION), Some(Change::Gone(new)));
        assert_eq!(look(&membership(&[me], &[]), 3 * SESSION), None);
        assert_eq!(look(&with_it, 3 * SESSION), None, "it was taken in again");
    }

    #[test]
    fn nothing_is_changed_while_a_change_is_on_its_way() {
        let start = Instant::now();
        let (me, old, new) = (id(1, 1), id(3, 1), id(3, 2));
        let nodes = [me, old, new].map(|id| (id, QuorumNode::default()));
        let joint = vec![BTreeSet::from([me, old]), BTreeSet::from([me])];
        let members = Membership::new(joint, nodes.into_iter().collect::<BTreeMap<_, _>>());
        let mut tending = Tending::new(SESSION);
        let later = start + 2 * SESSION;
        assert_eq!(tending.look(&members, &contacts(&[(new, start)]), |_| true, me, start), None);
        assert_eq!(tending.look(&members, &contacts(&[(new, later)]), |_| true, me, later), None);
    }
}
