//! All groups of a shard, and who handles what.
//!
//! Holds:
//!   1. A group that is committed, or on its way to be, is live, unless its deletion is on its way.
//!   2. A group comes into being by a Join without a member id or by a commit without a generation, never by a mistake.
//!
//! Read next: classic/mod.rs (a group), commit.rs (offsets), expiry.rs (what goes by itself).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::classic::Classic;
use super::committed::Committed;
use super::flight::{After, Flight};
use super::records::{GroupMetadata, Record, STRING_BYTES_MAX};
use super::timers::{TimerKey, Timers};
use super::turn::Turn;
use super::{
    GroupError, GroupId, HeartbeatRequest, JoinRequest, JoinResponse, LeaveRequest, LeftMember, Request, RequestId,
    Response, SyncRequest, Ticket,
};

/// What a member id adds to a client or instance id.
const MEMBER_ID_SUFFIX_BYTES: usize = 37;

/// All groups.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// What the log says, up to the high watermark.
    pub(super) committed: Committed,
    /// The groups with everything that has happened.
    pub(super) live: BTreeMap<GroupId, Classic>,
    /// Where the sweep that is under way goes on.
    pub(super) swept_to: Option<GroupId>,
}

impl Groups {
    /// Groups as the log describes them.
    pub(super) fn loaded(committed: Committed, turn: &mut Turn<'_>) -> Groups {
        let mut live = BTreeMap::new();
        for (id, found) in &committed.groups {
            let mut group = match &found.metadata {
                Some(metadata) => Classic::loaded(id.clone(), metadata),
                None => Classic::new(id.clone(), turn.wall_ms),
            };
            for (member, timeout_ms) in group.sessions() {
                turn.start_session(id, member, timeout_ms);
            }
            if group.members_len() > turn.config.max_size {
                group.rebalance_or_complete(turn);
            }
            live.insert(id.clone(), group);
        }
        turn.set_timer(TimerKey::Sweep, turn.config.retention_check_interval_ms);
        Groups { committed, live, swept_to: None }
    }

    /// Somebody asks.
    pub(super) fn request(&mut self, turn: &mut Turn<'_>, id: RequestId, request: Request) {
        match request {
            Request::Join(request) => self.join(turn, id, &request),
            Request::Sync(request) => self.sync(turn, id, request),
            Request::Heartbeat(request) => {
                let response = self.heartbeat(turn, &request);
                turn.answer(id, Response::Heartbeat(response));
            }
            Request::Leave(request) => self.leave(turn, id, request),
            Request::OffsetCommit(request) => self.commit(turn, id, request),
            Request::OffsetDelete(request) => {
                let response = self.delete_offsets(turn, &request);
                turn.answer_when_committed(&request.group, id, Response::OffsetDelete(response));
            }
            Request::DeleteGroup { group } => {
                let response = self.delete_group(turn, &group);
                turn.answer_when_committed(&group, id, Response::DeleteGroup(response));
            }
        }
    }

    fn join(&mut self, turn: &mut Turn<'_>, id: RequestId, request: &JoinRequest) {
        let is_new = !self.live.contains_key(&request.group);
        let refusal = validate_join(turn, request).err().or_else(|| {
            let names_a_member = !request.member_id.is_empty();
            (is_new && names_a_member).then_some(GroupError::UnknownMemberId)
        });
        if let Some(error) = refusal {
            turn.answer(id, Response::Join(JoinResponse::refused(request.member_id.clone(), error)));
            return;
        }
        if is_new {
            // Before the group writes anything itself, so that its first record makes it known.
            turn.append(vec![first_record(&request.group, turn.wall_ms)]);
        }
        let wall_ms = turn.wall_ms;
        let group = self.live.entry(request.group.clone());
        group.or_insert_with_key(|id| Classic::new(id.clone(), wall_ms)).join(turn, id, request);
    }

    fn sync(&mut self, turn: &mut Turn<'_>, id: RequestId, request: SyncRequest) {
        match find(&mut self.live, &request.group) {
            Ok(group) => group.sync(turn, id, request),
            Err(error) => turn.answer(id, Response::Sync(Err(error))),
        }
    }

    fn heartbeat(&mut self, turn: &mut Turn<'_>, request: &HeartbeatRequest) -> Result<(), GroupError> {
        find(&mut self.live, &request.group)?.heartbeat(turn, request)
    }

    fn leave(&mut self, turn: &mut Turn<'_>, id: RequestId, request: LeaveRequest) {
        let LeaveRequest { group, members } = request;
        let rows = match find(&mut self.live, &group) {
            Ok(found) => Ok(found.leave(turn, members)),
            Err(GroupError::UnknownMemberId) => {
                let gone = members.into_iter().map(|member| LeftMember {
                    member_id: member.member_id,
                    instance_id: member.instance_id,
                    error: Some(GroupError::UnknownMemberId),
                });
                Ok(gone.collect())
            }
            Err(error) => Err(error),
        };
        turn.answer_when_committed(&group, id, Response::Leave(rows));
    }

    /// Appends are committed.
    pub(super) fn committed(&mut self, turn: &mut Turn<'_>, ticket: Ticket) {
        while let Some(after) = turn.flight.commit_next(ticket, &mut self.committed) {
            for after in after {
                self.after(turn, after);
            }
        }
    }

    fn after(&mut self, turn: &mut Turn<'_>, after: After) {
        match after {
            After::Answer { id, response } => turn.answer(id, response),
            After::Assigned { group, generation, assignments } => {
                if let Some(group) = self.live.get_mut(&group) {
                    group.assigned(turn, generation, assignments);
                }
            }
            After::StaticIsBack { group, member, id, leader_before, can_skip } => {
                if let Some(group) = self.live.get_mut(&group) {
                    group.static_is_written(turn, id, &member, leader_before, can_skip);
                }
            }
        }
    }

    /// Appends are not committed in time.
    pub(super) fn late(&mut self, turn: &mut Turn<'_>, ticket: Ticket) {
        for after in turn.flight.give_up(ticket) {
            match after {
                After::Answer { id, .. } => turn.give_up(id),
                After::Assigned { group, generation, .. } => {
                    if let Some(group) = self.live.get_mut(&group) {
                        group.assignment_is_late(turn, generation);
                    }
                }
                After::StaticIsBack { group, member, id, .. } => {
                    if let Some(group) = self.live.get_mut(&group) {
                        group.static_is_late(turn, id, &member);
                    }
                }
            }
        }
    }

    /// Deadlines may have passed.
    pub(super) fn timer(&mut self, turn: &mut Turn<'_>) {
        while let Some(key) = turn.timers.pop_due(turn.now) {
            match key {
                TimerKey::Session { group, member } => {
                    if let Some(group) = self.live.get_mut(&group) {
                        group.session_is_over(turn, &member);
                    }
                }
                TimerKey::Join(group) => {
                    if let Some(group) = self.live.get_mut(&group) {
                        group.join_time_is_up(turn);
                    }
                }
                TimerKey::Sync(group) => {
                    if let Some(group) = self.live.get_mut(&group) {
                        group.sync_time_is_up(turn);
                    }
                }
                TimerKey::Sweep => {
                    self.sweep(turn);
                    return;
                }
            }
        }
    }

    pub(super) fn check(&self, timers: &Timers, flight: &Flight) {
        for (id, group) in &self.live {
            group.check(timers);
            assert!(
                self.committed.groups.contains_key(id) || flight.newest(id).is_some() || group.is_unwritten(),
                "group {id} is live, but neither committed nor on its way"
            );
        }
        for id in self.committed.groups.keys().filter(|id| !self.live.contains_key(*id)) {
            assert!(flight.newest(id).is_some(), "group {id} is committed, but neither live nor being deleted");
        }
        for key in timers.keys() {
            let (TimerKey::Session { group, .. } | TimerKey::Join(group) | TimerKey::Sync(group)) = key else {
                continue;
            };
            assert!(self.live.contains_key(group), "a deadline of the group {group}, which is not there");
        }
    }
}

/// A group that members name: empty is invalid, unknown has no members.
fn find<'a>(live: &'a mut BTreeMap<GroupId, Classic>, group: &GroupId) -> Result<&'a mut Classic, GroupError> {
    if group.is_empty() {
        return Err(GroupError::InvalidGroupId);
    }
    live.get_mut(group).ok_or(GroupError::UnknownMemberId)
}

fn validate_join(turn: &Turn<'_>, request: &JoinRequest) -> Result<(), GroupError> {
    let (min_ms, max_ms) = (turn.config.min_session_timeout_ms, turn.config.max_session_timeout_ms);
    let given_ms = request.session_timeout_ms;
    let prefix = request.instance_id.as_ref().unwrap_or(&request.client_id);
    let mut names = [&request.group, prefix, &request.client_id, &request.client_host, &request.protocol_type]
        .into_iter()
        .chain(request.protocols.iter().map(|protocol| &protocol.name));
    if request.group.is_empty() {
        Err(GroupError::InvalidGroupId)
    } else if given_ms < min_ms || given_ms > max_ms {
        Err(GroupError::InvalidSessionTimeout { given_ms, min_ms, max_ms })
    } else if names.any(|name| name.len() > STRING_BYTES_MAX - MEMBER_ID_SUFFIX_BYTES) {
        Err(GroupError::NameTooLong)
    } else {
        Ok(())
    }
}

/// What a group writes first, whether its first Join succeeds or not.
fn first_record(group: &GroupId, wall_ms: i64) -> Record {
    let metadata = GroupMetadata {
        protocol_type: Arc::from(""),
        generation: 0,
        protocol: None,
        leader: None,
        state_since_ms: wall_ms,
        members: Vec::new(),
    };
    Record::Group { group: group.clone(), value: Some(Box::new(metadata)) }
}
