//! Heartbeat, sessions that end, and who may commit.
//!
//! Holds: a member that waits in Join or Sync is alive, whatever its session says; its session starts again with the answer.

use ballast_planted::{Bug, is_planted};

use super::{Classic, GroupState};
use crate::group::turn::Turn;
use crate::group::{GroupError, HeartbeatRequest, MemberId, OffsetCommitRequest};

impl Classic {
    /// Handles a Heartbeat that names this group.
    pub(in crate::group) fn heartbeat(
        &mut self,
        turn: &mut Turn<'_>,
        request: &HeartbeatRequest,
    ) -> Result<(), GroupError> {
        self.validate_member(&request.member_id, request.instance_id.as_ref())?;
        if request.generation != self.generation {
            return Err(GroupError::IllegalGeneration);
        }
        self.restart_session(turn, &request.member_id);
        match self.state {
            GroupState::Empty => Err(GroupError::UnknownMemberId),
            GroupState::PreparingRebalance => Err(GroupError::RebalanceInProgress),
            GroupState::CompletingRebalance | GroupState::Stable => Ok(()),
        }
    }

    /// A session has ended.
    pub(in crate::group) fn session_is_over(&mut self, turn: &mut Turn<'_>, id: &MemberId) {
        if self.pending_join.remove(id) {
            self.maybe_complete_join(turn);
            return;
        }
        let is_alive = self.members.get(id).is_none_or(|member| !member.is_new && member.is_waiting());
        if is_alive {
            return;
        }
        self.remove(turn, id);
        self.rebalance_or_complete(turn);
    }

    /// May this request commit? If so the member's session starts again.
    pub(in crate::group) fn accept_commit(
        &mut self,
        turn: &mut Turn<'_>,
        request: &OffsetCommitRequest,
    ) -> Result<(), GroupError> {
        if request.generation < 0 && self.state == GroupState::Empty {
            return Ok(());
        }
        let is_anonymous = request.generation < 0 && request.member_id.is_empty() && request.instance_id.is_none();
        if is_anonymous {
            return Err(GroupError::UnknownMemberId);
        }
        self.validate_member(&request.member_id, request.instance_id.as_ref())?;
        if request.generation != self.generation && !is_planted(Bug::CommitWithoutGeneration) {
            return Err(GroupError::IllegalGeneration);
        }
        if self.state == GroupState::CompletingRebalance {
            return Err(GroupError::RebalanceInProgress);
        }
        self.restart_session(turn, &request.member_id);
        Ok(())
    }
}
