//! Static members (KIP-345): a member that restarts comes back under its instance id and takes over its own place.
//!
//! Holds: the old member id is fenced at once, by a new one, so that two processes with one instance id cannot both be right.
//!
//! Read next: join.rs.

use std::sync::Arc;

use super::{Classic, GroupState};
use crate::group::flight::After;
use crate::group::turn::Turn;
use crate::group::{GroupError, JoinRequest, JoinResponse, MemberId, RequestId};

impl Classic {
    /// Somebody joins without a member id but with the instance id of a member.
    pub(super) fn static_is_back(
        &mut self,
        turn: &mut Turn<'_>,
        id: RequestId,
        request: &JoinRequest,
        old_id: &MemberId,
        new_id: MemberId,
    ) {
        let leader_before = self.leader.clone();
        self.replace(turn, old_id, &new_id);
        self.update(turn, id, request, &new_id);
        self.restart_session(turn, &new_id);
        match self.state {
            GroupState::Stable => self.keep_generation(turn, id, request, new_id, leader_before),
            // The old id may be on its way to the leader, whose assignment would then miss the new one.
            GroupState::CompletingRebalance => self.prepare_rebalance(turn),
            GroupState::PreparingRebalance => self.maybe_complete_join(turn),
            GroupState::Empty => unreachable!("group {} is Empty and has the member {new_id}", self.id),
        }
    }

    /// Keeps generation and assignment if the group would choose the same protocol again, and writes the new id.
    fn keep_generation(
        &mut self,
        turn: &mut Turn<'_>,
        id: RequestId,
        request: &JoinRequest,
        new_id: MemberId,
        leader_before: Option<MemberId>,
    ) {
        let record = self.to_record(|member| member.assignment.clone());
        if self.vote() != self.protocol_name || !turn.fits(std::slice::from_ref(&record)) {
            self.prepare_rebalance(turn);
            return;
        }
        let ticket = turn.append(vec![record]);
        let (group, can_skip) = (self.id.clone(), request.can_skip_assignment);
        turn.flight.after(ticket, After::StaticIsBack { group, member: new_id, id, leader_before, can_skip });
    }

    /// The new id is committed: tells it, unless a rebalance has begun meanwhile, whose end will.
    pub(in crate::group) fn static_is_written(
        &mut self,
        turn: &mut Turn<'_>,
        id: RequestId,
        member_id: &MemberId,
        leader_before: Option<MemberId>,
        can_skip: bool,
    ) {
        if self.state != GroupState::Stable || !self.waits_to_join(member_id, id) {
            return;
        }
        let mut response = self.joined_response(member_id, can_skip);
        if can_skip {
            // KIP-814: a leader that is back sees the members, but must not assign anew.
            response.skip_assignment = self.is_leader(member_id);
        } else {
            // An older client would take itself for the leader and assign, which nobody waits for.
            response.leader = leader_before.unwrap_or_else(|| Arc::from(""));
        }
        self.answer_join(turn, member_id, response);
        self.restart_session(turn, member_id);
    }

    /// The new id is not committed in time: whoever came is told, and comes again.
    pub(in crate::group) fn static_is_late(&mut self, turn: &mut Turn<'_>, id: RequestId, member_id: &MemberId) {
        // Otherwise a rebalance has begun meanwhile, whose end will be its answer.
        if self.state == GroupState::Stable && self.waits_to_join(member_id, id) {
            self.give_join_up(turn, member_id);
            self.restart_session(turn, member_id);
        }
    }

    fn waits_to_join(&self, member_id: &MemberId, id: RequestId) -> bool {
        self.members.get(member_id).is_some_and(|member| member.awaiting_join == Some(id))
    }

    /// Gives a static member's place to its new id. What the old one waits for is refused.
    fn replace(&mut self, turn: &mut Turn<'_>, old_id: &MemberId, new_id: &MemberId) {
        self.answer_join(turn, old_id, JoinResponse::refused(old_id.clone(), GroupError::FencedInstanceId));
        self.answer_sync(turn, old_id, Err(GroupError::FencedInstanceId));
        turn.end_session(&self.id, old_id);
        let Some(mut member) = self.members.remove(old_id) else { return };
        member.id = new_id.clone();
        member.is_new = false;
        if let Some(instance) = &member.instance_id {
            self.statics.insert(instance.clone(), new_id.clone());
        }
        if self.is_leader(old_id) {
            self.leader = Some(new_id.clone());
        }
        if self.pending_sync.remove(old_id) {
            self.pending_sync.insert(new_id.clone());
        }
        self.members.insert(new_id.clone(), member);
    }
}
