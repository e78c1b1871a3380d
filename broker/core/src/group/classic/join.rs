//! JoinGroup: who may come in, and what it means for the rest.
//!
//! Holds: checks come in Kafka's order: size, protocols, then the member. A refused Join leaves the group as it was, except
//! that a member that comes back to a full group is out.
//!
//! Read next: rebalance.rs (what a Join sets off), static_member.rs (those who come back under their instance id).

use std::sync::Arc;

use super::member::{Member, member_id};
use super::{Classic, GroupState};
use crate::group::turn::Turn;
use crate::group::{GroupError, JoinRequest, JoinResponse, MemberId, RequestId, Response};

/// How long a Join of a new member is waited for: it has no id yet to send heartbeats with, and a closed connection is not
/// seen, so a client that retries would leave defunct members behind for ever.
const NEW_MEMBER_JOIN_TIMEOUT_MS: u64 = 5 * 60 * 1_000;

impl Classic {
    /// Handles a Join that names this group.
    pub(in crate::group) fn join(&mut self, turn: &mut Turn<'_>, id: RequestId, request: &JoinRequest) {
        let refusal = if !self.has_room_for(turn, &request.member_id) {
            if !request.member_id.is_empty() {
                self.remove(turn, &request.member_id);
                self.maybe_complete_join(turn);
            }
            Some((Arc::from(""), GroupError::GroupMaxSizeReached))
        } else if !self.supports(request) {
            Some((request.member_id.clone(), GroupError::InconsistentGroupProtocol))
        } else if request.member_id.is_empty() {
            self.join_unknown(turn, id, request);
            None
        } else {
            self.join_known(turn, id, request).err().map(|error| (request.member_id.clone(), error))
        };
        if let Some((member_id, error)) = refusal {
            turn.answer(id, Response::Join(JoinResponse::refused(member_id, error)));
        }
    }

    /// Is there room? While members come back, those who are back count: the last ones find the group full if
    /// `group.max.size` has been lowered.
    fn has_room_for(&self, turn: &Turn<'_>, id: &MemberId) -> bool {
        let member = self.members.get(id);
        match self.state {
            GroupState::Empty => true,
            GroupState::PreparingRebalance => {
                member.is_some_and(|member| member.awaiting_join.is_some()) || self.awaiting_join < turn.config.max_size
            }
            GroupState::CompletingRebalance | GroupState::Stable => {
                member.is_some() || self.members.len() < turn.config.max_size
            }
        }
    }

    /// Has the request a protocol that all members have? An Empty group takes any type again.
    fn supports(&self, request: &JoinRequest) -> bool {
        if self.state == GroupState::Empty {
            return !request.protocol_type.is_empty() && !request.protocols.is_empty();
        }
        let is_common = |name: &Arc<str>| self.supported.get(name).copied().unwrap_or_default() == self.members.len();
        self.protocol_type.as_ref() == Some(&request.protocol_type)
            && request.protocols.iter().any(|protocol| is_common(&protocol.name))
    }

    fn join_unknown(&mut self, turn: &mut Turn<'_>, id: RequestId, request: &JoinRequest) {
        let prefix = request.instance_id.as_ref().unwrap_or(&request.client_id);
        let new_id = member_id(prefix, request.random);
        let holder = request.instance_id.as_ref().and_then(|instance| self.statics.get(instance)).cloned();
        if let Some(old_id) = holder {
            self.static_is_back(turn, id, request, &old_id, new_id);
        } else if request.instance_id.is_none() && request.requires_member_id {
            // KIP-394: a client whose answer is lost would come again without an id, and leave a ghost each time.
            turn.start_session(&self.id, &new_id, super::as_ms(request.session_timeout_ms));
            self.pending_join.insert(new_id.clone());
            turn.answer(id, Response::Join(JoinResponse::refused(new_id, GroupError::MemberIdRequired)));
        } else {
            self.join_new(turn, id, request, new_id);
        }
    }

    fn join_new(&mut self, turn: &mut Turn<'_>, id: RequestId, request: &JoinRequest, new_id: MemberId) {
        if self.state == GroupState::PreparingRebalance
            && let Some(delay) = &mut self.initial_delay
        {
            delay.somebody_joined = true;
        }
        if self.members.is_empty() {
            self.protocol_type = Some(Arc::from(&*request.protocol_type));
        }
        let mut member = Member::new(new_id.clone(), request, self.joined);
        member.awaiting_join = Some(id);
        self.joined += 1;
        self.add(member);
        turn.start_session(&self.id, &new_id, NEW_MEMBER_JOIN_TIMEOUT_MS);
        self.rebalance_or_complete(turn);
    }

    fn join_known(&mut self, turn: &mut Turn<'_>, id: RequestId, request: &JoinRequest) -> Result<(), GroupError> {
        let member_id = &request.member_id;
        if request.instance_id.is_none() && self.pending_join.contains(member_id) {
            self.join_new(turn, id, request, member_id.clone());
            return Ok(());
        }
        self.validate_member(member_id, request.instance_id.as_ref())?;
        let is_unchanged = self.members.get(member_id).is_some_and(|member| member.matches(&request.protocols));
        let must_rebalance = match self.state {
            GroupState::Empty => return Err(GroupError::UnknownMemberId),
            GroupState::PreparingRebalance => true,
            GroupState::CompletingRebalance => !is_unchanged,
            // A leader that joins asks for a new assignment: the topics may have changed, which no metadata shows.
            GroupState::Stable => !is_unchanged || self.is_leader(member_id),
        };
        if must_rebalance {
            self.update(turn, id, request, member_id);
            self.rebalance_or_complete(turn);
        } else {
            // It may have missed the answer to its last Join.
            let response = self.joined_response(member_id, self.state == GroupState::CompletingRebalance);
            turn.answer(id, Response::Join(response));
        }
        Ok(())
    }

    /// Takes what a member says of itself now, and lets its Join wait. An earlier Join that still waits belongs to a
    /// connection that its client has given up; it is told to come again.
    pub(super) fn update(&mut self, turn: &mut Turn<'_>, id: RequestId, request: &JoinRequest, member_id: &MemberId) {
        let superseded = JoinResponse::refused(member_id.clone(), GroupError::RebalanceInProgress);
        self.answer_join(turn, member_id, superseded);
        let Some(mut member) = self.members.remove(member_id) else { return };
        self.count_protocols(&member, false);
        member.update(request);
        self.count_protocols(&member, true);
        member.awaiting_join = Some(id);
        self.awaiting_join += 1;
        self.members.insert(member_id.clone(), member);
    }

    /// What a member of the present generation is told; the list goes to the leader alone.
    pub(super) fn joined_response(&self, member_id: &MemberId, with_list: bool) -> JoinResponse {
        let protocol = self.protocol_name.as_deref().unwrap_or("");
        let members = if with_list && self.is_leader(member_id) {
            self.members.values().map(|member| member.to_joined(protocol)).collect()
        } else {
            Vec::new()
        };
        JoinResponse {
            error: None,
            member_id: member_id.clone(),
            generation: self.generation,
            protocol_type: self.protocol_type.clone(),
            protocol_name: self.protocol_name.clone(),
            leader: self.leader.clone().unwrap_or_else(|| Arc::from("")),
            skip_assignment: false,
            members,
        }
    }
}
