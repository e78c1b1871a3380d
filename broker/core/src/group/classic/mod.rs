//! One classic group: its members and where they are in a rebalance.
//!
//! Holds after every step (see `check`):
//!   1. A group without members is Empty, or waits out an initial delay; one with members has a type and a leader.
//!   2. The counts of who waits and of who supports which protocol agree with the members.
//!   3. Every instance id belongs to exactly one member, and that member knows it.
//!   4. Only a group that is CompletingRebalance or Stable has a protocol.
//!
//! Read next: state.rs (its states), member.rs (a member), join.rs (how a rebalance begins), rebalance.rs (and ends).

mod member;
mod state;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::member::Member;
use super::view::DescribedMember;
use super::{Generation, InstanceId, MemberId};

pub use self::state::GroupState;

/// A group.
#[derive(Clone, Debug)]
pub(super) struct Classic {
    state: GroupState,
    state_since_ms: i64,
    generation: Generation,
    protocol_type: Option<Arc<str>>,
    protocol_name: Option<Arc<str>>,
    leader: Option<MemberId>,
    members: BTreeMap<MemberId, Member>,
    statics: BTreeMap<InstanceId, MemberId>,
}

impl Classic {
    pub(super) fn state(&self) -> GroupState {
        self.state
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
}
