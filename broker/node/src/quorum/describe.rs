//! The quorum as DescribeQuorum tells it (key 55).

use std::collections::BTreeMap;

use super::network::Contact;
use super::types::{Metrics, NodeId, QuorumNode, next_index};

/// The quorum as this node sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuorumView {
    /// Who leads, if it is known.
    pub leader: Option<NodeId>,
    /// The term.
    pub epoch: u64,
    /// Index after the last entry that is committed and applied here.
    pub high_watermark: u64,
    /// Who votes, by id.
    pub voters: Vec<ReplicaView>,
    /// Who listens, by id.
    pub observers: Vec<ReplicaView>,
}

/// One member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaView {
    /// Who.
    pub id: NodeId,
    /// Where it listens for controllers.
    pub node: QuorumNode,
    /// Index after its last entry, as far as it is known: that of others is known to the leader alone.
    pub log_end: Option<u64>,
    /// When the leader last heard from it, in ms since 1970; -1 if it has not, or this node does not lead.
    pub last_fetch_ms: i64,
    /// When it last had all that the leader had; else as above.
    pub last_caught_up_ms: i64,
}

/// Who leads, as far as this node knows. A leader that removed itself leads until that is committed; then it has
/// resigned, although its vote is the last that was heard of.
fn leader_of(metrics: &Metrics) -> Option<NodeId> {
    let stored = &metrics.membership_config;
    let is_in_force = *stored.log_id() <= metrics.last_applied;
    metrics
        .current_leader
        .filter(|leader| !is_in_force || stored.membership().voter_ids().any(|voter| voter == *leader))
}

impl QuorumView {
    pub(super) fn of(metrics: &Metrics, contacts: &BTreeMap<NodeId, Contact>) -> QuorumView {
        let membership = metrics.membership_config.membership();
        let view = |id: &NodeId, node: &QuorumNode| {
            let replicated = metrics.replication.as_ref().and_then(|replication| replication.get(id));
            let log_end = if *id == metrics.id {
                Some(metrics.last_log_index.map_or(0, |last| last + 1))
            } else {
                replicated.map(|last| next_index(last.as_ref()))
            };
            // What was heard under an earlier reign says nothing about this one.
            let contact = replicated.and_then(|_| contacts.get(id));
            ReplicaView {
                id: *id,
                node: node.clone(),
                log_end,
                last_fetch_ms: contact.map_or(-1, |contact| contact.at_ms),
                last_caught_up_ms: contact.map_or(-1, |contact| contact.caught_up_ms),
            }
        };
        let is_voter = |id: &NodeId| membership.voter_ids().any(|voter| voter == *id);
        let (voters, observers): (Vec<_>, Vec<_>) = membership.nodes().partition(|(id, _)| is_voter(id));
        let views =
            |members: Vec<(&NodeId, &QuorumNode)>| members.into_iter().map(|(id, node)| view(id, node)).collect();
        QuorumView {
            leader: leader_of(metrics),
            epoch: metrics.current_term,
            high_watermark: next_index(metrics.last_applied.as_ref()),
            voters: views(voters),
            observers: views(observers),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use openraft::LeaderId;

    use super::super::types::{LogId, Membership, StoredMembership};
    use super::*;

    /// What node 2 sees that follows node 1, in a quorum of nodes 1 to 3 whose voters are `voters` since entry 7.
    fn seen(voters: &[u64], applied: u64) -> Metrics {
        let at = |index| Some(LogId { leader_id: LeaderId::new(3, NodeId::from(1)), index });
        let ids = |ids: &[u64]| ids.iter().copied().map(NodeId::from).collect::<BTreeSet<NodeId>>();
        let membership = Membership::new(vec![ids(voters)], ids(&[1, 2, 3]));
        Metrics {
            current_leader: Some(NodeId::from(1)),
            membership_config: StoredMembership::new(at(7), membership).into(),
            last_applied: at(applied),
            ..Metrics::new_initial(NodeId::from(2))
        }
    }

    #[test]
    fn a_leader_that_removed_itself_leads_until_that_is_committed_and_not_a_moment_longer() {
        let leader = |metrics: &Metrics| QuorumView::of(metrics, &BTreeMap::new()).leader;
        assert_eq!(leader(&seen(&[1, 2, 3], 7)), Some(NodeId::from(1)));
        assert_eq!(leader(&seen(&[2, 3], 6)), Some(NodeId::from(1)), "it still decides, on its own removal");
        assert_eq!(leader(&seen(&[2, 3], 7)), None, "it has resigned, and nobody was elected yet");
    }
}
