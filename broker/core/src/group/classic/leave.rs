//! LeaveGroup: several members at once (KIP-345), by id or by instance id.
//!
//! Holds: a row per member asked for, in that order; one rebalance for all of them.

use super::{Classic, GroupState};
use crate::group::turn::Turn;
use crate::group::{GroupError, LeavingMember, LeftMember};

impl Classic {
    /// Removes members.
    pub(in crate::group) fn leave(&mut self, turn: &mut Turn<'_>, members: Vec<LeavingMember>) -> Vec<LeftMember> {
        let rows: Vec<LeftMember> = members.into_iter().map(|member| self.leave_one(turn, member)).collect();
        if rows.iter().any(|row| row.error.is_none()) && self.state != GroupState::Empty {
            self.rebalance_or_complete(turn);
        }
        rows
    }

    fn leave_one(&mut self, turn: &mut Turn<'_>, asked: LeavingMember) -> LeftMember {
        let instance = asked.instance_id.as_ref();
        let found = if asked.member_id.is_empty() {
            // An administrator names a static member by its instance id alone.
            instance.and_then(|instance| self.statics.get(instance)).cloned().ok_or(GroupError::UnknownMemberId)
        } else if self.pending_join.contains(&asked.member_id) {
            Ok(asked.member_id.clone())
        } else {
            self.validate_member(&asked.member_id, instance).map(|()| asked.member_id.clone())
        };
        let error = found.map(|id| self.remove(turn, &id)).err();
        LeftMember { member_id: asked.member_id, instance_id: asked.instance_id, error }
    }
}
