//! SyncGroup: the leader's assignment goes to the log, then to everybody.
//!
//! Holds:
//!   1. Nobody gets an assignment that is not committed.
//!   2. What comes back from the log after another rebalance has begun changes nothing.
//!   3. One assignment of a generation is written at most; a leader that asks again waits for the first.
//!
//! Read next: rebalance.rs (what comes before).

use std::collections::BTreeMap;

use bytes::Bytes;

use super::{Classic, GroupState};
use crate::group::flight::After;
use crate::group::timers::TimerKey;
use crate::group::turn::Turn;
use crate::group::{Generation, GroupError, MemberId, RequestId, Response, SyncRequest, SyncResponse};

impl Classic {
    /// Handles a Sync that names this group.
    pub(in crate::group) fn sync(&mut self, turn: &mut Turn<'_>, id: RequestId, request: SyncRequest) {
        let member_id = request.member_id.clone();
        if let Err(error) = self.validate_sync(&request) {
            turn.answer(id, Response::Sync(Err(error)));
            return;
        }
        self.pending_sync.remove(&member_id);
        if self.pending_sync.is_empty() {
            turn.timers.cancel(&TimerKey::Sync(self.id.clone()));
        }
        if self.state == GroupState::Stable {
            let response = self.members.get(&member_id).map(|member| self.synced(member.assignment.clone()));
            turn.answer(id, Response::Sync(response.ok_or(GroupError::UnknownMemberId)));
            return;
        }
        // An earlier one that still waits belongs to a connection that its client has given up.
        self.answer_sync(turn, &member_id, Err(GroupError::RebalanceInProgress));
        if let Some(member) = self.members.get_mut(&member_id) {
            member.awaiting_sync = Some(id);
        }
        if self.is_leader(&member_id) && self.assigning.is_none() {
            self.write_assignments(turn, request.assignments);
        }
    }

    fn validate_sync(&self, request: &SyncRequest) -> Result<(), GroupError> {
        self.validate_member(&request.member_id, request.instance_id.as_ref())?;
        let differs = |asked: &Option<std::sync::Arc<str>>, own: Option<&str>| match (asked.as_deref(), own) {
            (Some(asked), Some(own)) => asked != own,
            _ => false,
        };
        if request.generation != self.generation {
            return Err(GroupError::IllegalGeneration);
        }
        if differs(&request.protocol_type, self.protocol_type())
            || differs(&request.protocol_name, self.protocol_name())
        {
            return Err(GroupError::InconsistentGroupProtocol);
        }
        match self.state {
            GroupState::Empty => Err(GroupError::UnknownMemberId),
            GroupState::PreparingRebalance => Err(GroupError::RebalanceInProgress),
            GroupState::CompletingRebalance | GroupState::Stable => Ok(()),
        }
    }

    /// Writes what the leader assigned. Ids that are no members are left out; members that it left out get nothing.
    fn write_assignments(&mut self, turn: &mut Turn<'_>, assignments: Vec<(MemberId, Bytes)>) {
        let own = |(id, bytes): (MemberId, Bytes)| (id, Bytes::copy_from_slice(&bytes));
        let mut assignments: BTreeMap<MemberId, Bytes> = assignments.into_iter().map(own).collect();
        assignments.retain(|id, _| self.members.contains_key(id));
        let record = self.to_record(|member| assignments.get(&member.id).cloned().unwrap_or_default());
        if !turn.fits(std::slice::from_ref(&record)) {
            self.refuse_syncs(turn, GroupError::AssignmentTooLarge);
            self.prepare_rebalance(turn);
            return;
        }
        let ticket = turn.append(vec![record]);
        self.assigning = Some(ticket);
        let after = After::Assigned { group: self.id.clone(), generation: self.generation, assignments };
        turn.flight.after(ticket, after);
    }

    /// The assignment is committed: hands it out, unless another rebalance has begun meanwhile.
    pub(in crate::group) fn assigned(
        &mut self,
        turn: &mut Turn<'_>,
        generation: Generation,
        mut assignments: BTreeMap<MemberId, Bytes>,
    ) {
        if !self.is_assigning(generation) {
            return;
        }
        self.assigning = None;
        self.transition_to(GroupState::Stable, turn.wall_ms);
        let ids: Vec<MemberId> = self.members.keys().cloned().collect();
        for id in ids {
            let assignment = assignments.remove(&id).unwrap_or_default();
            if let Some(member) = self.members.get_mut(&id) {
                member.assignment = assignment.clone();
            }
            let response = self.synced(assignment);
            if self.answer_sync(turn, &id, Ok(response)) {
                self.restart_session(turn, &id);
            }
        }
    }

    /// The assignment is not committed in time: those who wait for it are told, and the group comes together again.
    pub(in crate::group) fn assignment_is_late(&mut self, turn: &mut Turn<'_>, generation: Generation) {
        if !self.is_assigning(generation) {
            return;
        }
        let ids: Vec<MemberId> = self.members.keys().cloned().collect();
        for id in ids {
            if let Some(request) = self.members.get_mut(&id).and_then(|member| member.awaiting_sync.take()) {
                turn.give_up(request);
                self.restart_session(turn, &id);
            }
        }
        self.prepare_rebalance(turn);
    }

    /// Is this generation's assignment on its way to the log?
    fn is_assigning(&self, generation: Generation) -> bool {
        self.state == GroupState::CompletingRebalance && generation == self.generation && self.assigning.is_some()
    }

    /// Refuses everybody who waits for an assignment that will not come.
    pub(super) fn refuse_syncs(&mut self, turn: &mut Turn<'_>, error: GroupError) {
        let ids: Vec<MemberId> = self.members.keys().cloned().collect();
        for id in ids {
            if let Some(member) = self.members.get_mut(&id) {
                member.assignment = Bytes::new();
            }
            if self.answer_sync(turn, &id, Err(error)) {
                self.restart_session(turn, &id);
            }
        }
    }

    /// Those who have not asked for their assignment in time are out: a member that joins and goes
    /// silent would hold partitions that nobody reads.
    pub(in crate::group) fn sync_time_is_up(&mut self, turn: &mut Turn<'_>) {
        let is_after_join = matches!(self.state, GroupState::CompletingRebalance | GroupState::Stable);
        if !is_after_join || self.pending_sync.is_empty() {
            return;
        }
        for id in std::mem::take(&mut self.pending_sync) {
            self.remove(turn, &id);
        }
        self.prepare_rebalance(turn);
    }

    fn synced(&self, assignment: Bytes) -> SyncResponse {
        SyncResponse {
            protocol_type: self.protocol_type.clone(),
            protocol_name: self.protocol_name.clone(),
            assignment,
        }
    }
}
