//! One classic group: its members and where they are in a rebalance.
//!
//! Holds after every step (see check.rs):
//!   1. A group without members is Empty, or waits out an initial delay; one with members has a type and a leader.
//!   2. The counts of who waits and of who supports which protocol agree with the members.
//!   3. Every instance id belongs to exactly one member, and that member knows it.
//!   4. Only a group that is CompletingRebalance or Stable acts on its protocol name.
//!
//! Read next: state.rs (its states), member.rs (a member), join.rs (who comes in), rebalance.rs (how a generation begins),
//! sync.rs (how it gets its assignment), leave.rs (who goes).

mod check;
mod heartbeat;
mod join;
mod leave;
mod load;
mod member;
mod rebalance;
mod state;
mod static_member;
mod subscribed;
mod sync;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use self::member::Member;
use self::rebalance::InitialDelay;
use super::records::{GroupMetadata, Record};
use super::turn::Turn;
use super::{
    DescribedMember, Generation, GroupError, GroupId, InstanceId, JoinResponse, MemberId, RequestId, Response,
    SyncResponse, Ticket,
};

pub use self::state::GroupState;
pub(super) use self::subscribed::Expiry;

/// A group.
#[derive(Clone, Debug)]
pub(super) struct Classic {
    id: GroupId,
    state: GroupState,
    /// By the wall clock; -1 if an old broker wrote the group.
    state_since_ms: i64,
    generation: Generation,
    /// `None` until somebody has joined.
    protocol_type: Option<Arc<str>>,
    protocol_name: Option<Arc<str>>,
    leader: Option<MemberId>,
    members: BTreeMap<MemberId, Member>,
    statics: BTreeMap<InstanceId, MemberId>,
    /// Told to join with an id of their own, and not back yet.
    pending_join: BTreeSet<MemberId>,
    /// Members of this generation that have not asked for their assignment.
    pending_sync: BTreeSet<MemberId>,
    /// How many members have a protocol.
    supported: BTreeMap<Arc<str>, usize>,
    /// How many members wait in Join.
    awaiting_join: usize,
    /// How many have ever joined.
    joined: u64,
    /// Topics of a consumer group; `None` if they are not known.
    subscribed: Option<BTreeSet<Box<str>>>,
    /// Present in a rebalance that began from Empty.
    initial_delay: Option<InitialDelay>,
    /// The leader's assignment of this generation, on its way to the log.
    assigning: Option<Ticket>,
}

impl Classic {
    /// A group that nobody has joined.
    pub(super) fn new(id: GroupId, wall_ms: i64) -> Classic {
        Classic {
            id,
            state: GroupState::Empty,
            state_since_ms: wall_ms,
            generation: 0,
            protocol_type: None,
            protocol_name: None,
            leader: None,
            members: BTreeMap::new(),
            statics: BTreeMap::new(),
            pending_join: BTreeSet::new(),
            pending_sync: BTreeSet::new(),
            supported: BTreeMap::new(),
            awaiting_join: 0,
            joined: 0,
            subscribed: None,
            initial_delay: None,
            assigning: None,
        }
    }

    pub(super) fn state(&self) -> GroupState {
        self.state
    }

    /// Is there nothing about it that the log must know: no generation has been finished?
    pub(super) fn is_unwritten(&self) -> bool {
        self.generation == 0 || matches!(self.state, GroupState::PreparingRebalance | GroupState::CompletingRebalance)
    }

    pub(super) fn protocol_type(&self) -> Option<&str> {
        self.protocol_type.as_deref()
    }

    pub(super) fn protocol_name(&self) -> Option<&str> {
        self.protocol_name.as_deref()
    }

    pub(super) fn members_len(&self) -> usize {
        self.members.len()
    }

    pub(super) fn has_pending(&self) -> bool {
        !self.pending_join.is_empty()
    }

    pub(super) fn describe_members(&self) -> Vec<DescribedMember> {
        let protocol = self.protocol_name().filter(|_| self.state == GroupState::Stable);
        let describe = |member: &Member| DescribedMember {
            member_id: member.id.clone(),
            instance_id: member.instance_id.clone(),
            client_id: member.client_id.clone(),
            client_host: member.client_host.clone(),
            metadata: protocol.map(|protocol| member.metadata(protocol)).unwrap_or_default(),
            assignment: member.assignment.clone(),
        };
        self.members.values().map(describe).collect()
    }

    /// Requests that wait in members.
    pub(super) fn waiting(&self) -> impl Iterator<Item = RequestId> {
        self.members.values().flat_map(|member| member.awaiting_join.into_iter().chain(member.awaiting_sync))
    }

    /// Is this a member, and still the one that its instance id stands for?
    pub(super) fn validate_member(&self, id: &MemberId, instance: Option<&InstanceId>) -> Result<(), GroupError> {
        if let Some(instance) = instance {
            match self.statics.get(instance) {
                None => return Err(GroupError::UnknownMemberId),
                Some(holder) if holder != id => return Err(GroupError::FencedInstanceId),
                Some(_) => {}
            }
        }
        if self.members.contains_key(id) { Ok(()) } else { Err(GroupError::UnknownMemberId) }
    }

    fn is_leader(&self, id: &MemberId) -> bool {
        self.leader.as_ref() == Some(id)
    }

    fn transition_to(&mut self, next: GroupState, wall_ms: i64) {
        let from = self.state;
        assert!(from.may_become(next), "group {} cannot go from {from:?} to {next:?}", self.id);
        self.state = next;
        self.state_since_ms = wall_ms;
    }

    /// The group as it is written, with these assignments.
    fn to_record(&self, assignment_of: impl Fn(&Member) -> bytes::Bytes) -> Record {
        let protocol = self.protocol_name.as_deref().unwrap_or("");
        let members = self.members.values().map(|member| member.to_record(protocol, assignment_of(member))).collect();
        let metadata = GroupMetadata {
            protocol_type: self.protocol_type.clone().unwrap_or_else(|| Arc::from("")),
            generation: self.generation,
            protocol: self.protocol_name.clone(),
            leader: self.leader.clone(),
            state_since_ms: self.state_since_ms,
            members,
        };
        Record::Group { group: self.id.clone(), value: Some(Box::new(metadata)) }
    }

    /// Takes in a member.
    fn add(&mut self, member: Member) {
        if let Some(instance) = &member.instance_id {
            self.statics.insert(instance.clone(), member.id.clone());
        }
        self.count_protocols(&member, true);
        self.awaiting_join += usize::from(member.awaiting_join.is_some());
        self.leader.get_or_insert_with(|| member.id.clone());
        self.pending_join.remove(&member.id);
        self.members.insert(member.id.clone(), member);
    }

    /// Drops a member and whatever is known of it. Whoever waits is told that it is no member any more.
    fn remove(&mut self, turn: &mut Turn<'_>, id: &MemberId) {
        turn.end_session(&self.id, id);
        self.pending_join.remove(id);
        self.pending_sync.remove(id);
        self.answer_join(turn, id, JoinResponse::refused(Arc::from(""), GroupError::UnknownMemberId));
        self.answer_sync(turn, id, Err(GroupError::UnknownMemberId));
        let Some(member) = self.members.remove(id) else { return };
        self.count_protocols(&member, false);
        if let Some(instance) = &member.instance_id {
            self.statics.remove(instance);
        }
        if self.is_leader(id) {
            self.leader = self.first_joined(|_| true);
        }
    }

    fn first_joined(&self, of: impl Fn(&Member) -> bool) -> Option<MemberId> {
        let found = self.members.values().filter(|member| of(member)).min_by_key(|member| member.joined_as);
        found.map(|member| member.id.clone())
    }

    fn count_protocols(&mut self, member: &Member, is_added: bool) {
        for protocol in &member.protocols {
            if is_added {
                *self.supported.entry(protocol.name.clone()).or_default() += 1;
            } else if let Some(count) = self.supported.get_mut(&protocol.name) {
                *count -= 1;
                if *count == 0 {
                    self.supported.remove(&protocol.name);
                }
            }
        }
    }

    /// Answers a member's Join if one waits.
    fn answer_join(&mut self, turn: &mut Turn<'_>, id: &MemberId, response: JoinResponse) {
        if let Some(request) = self.members.get_mut(id).and_then(|member| member.awaiting_join.take()) {
            self.awaiting_join -= 1;
            turn.answer(request, Response::Join(response));
        }
    }

    /// Waits with the answer to a member's Join no longer.
    fn give_join_up(&mut self, turn: &mut Turn<'_>, id: &MemberId) {
        if let Some(request) = self.members.get_mut(id).and_then(|member| member.awaiting_join.take()) {
            self.awaiting_join -= 1;
            turn.give_up(request);
        }
    }

    /// Answers a member's Sync if one waits.
    fn answer_sync(&mut self, turn: &mut Turn<'_>, id: &MemberId, response: Result<SyncResponse, GroupError>) -> bool {
        let request = self.members.get_mut(id).and_then(|member| member.awaiting_sync.take());
        if let Some(request) = request {
            turn.answer(request, Response::Sync(response));
        }
        request.is_some()
    }

    /// Gives a member its session timeout again.
    fn restart_session(&self, turn: &mut Turn<'_>, id: &MemberId) {
        if let Some(member) = self.members.get(id) {
            turn.start_session(&self.id, id, as_ms(member.session_timeout_ms));
        }
    }

    /// Ends the deadlines of a group that goes.
    pub(super) fn cancel_timers(&self, turn: &mut Turn<'_>) {
        for id in self.members.keys().chain(&self.pending_join) {
            turn.end_session(&self.id, id);
        }
        turn.timers.cancel(&super::timers::TimerKey::Join(self.id.clone()));
        turn.timers.cancel(&super::timers::TimerKey::Sync(self.id.clone()));
    }
}

impl JoinResponse {
    /// A refusal.
    pub(super) fn refused(member_id: MemberId, error: GroupError) -> JoinResponse {
        JoinResponse {
            error: Some(error),
            member_id,
            generation: -1,
            protocol_type: None,
            protocol_name: None,
            leader: Arc::from(""),
            skip_assignment: false,
            members: Vec::new(),
        }
    }
}

/// A timeout from the wire; below zero is none.
fn as_ms(timeout_ms: i32) -> u64 {
    u64::try_from(timeout_ms).unwrap_or(0)
}
