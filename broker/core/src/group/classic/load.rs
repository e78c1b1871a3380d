//! A group out of its record.
//!
//! Holds: what comes out is a legal group, whatever stands in the record (see load.rs of the folder).

use std::sync::Arc;

use super::member::Member;
use super::{Classic, GroupState};
use crate::group::GroupId;
use crate::group::records::GroupMetadata;

impl Classic {
    /// The group that a record describes: Stable if it has members, Empty if not.
    pub(in crate::group) fn loaded(id: GroupId, metadata: &GroupMetadata) -> Classic {
        let mut group = Classic::new(id, metadata.state_since_ms);
        group.generation = metadata.generation.max(0);
        group.protocol_type = Some(metadata.protocol_type.clone()).filter(|kind| !kind.is_empty());
        if let (Some(_), Some(protocol)) = (&group.protocol_type, &metadata.protocol) {
            for record in &metadata.members {
                let is_taken = group.members.contains_key(&record.member_id)
                    || record.instance_id.as_ref().is_some_and(|instance| group.statics.contains_key(instance));
                if !is_taken && !record.member_id.is_empty() {
                    group.add(Member::loaded(record, protocol, group.joined));
                    group.joined += 1;
                }
            }
        }
        if !group.members.is_empty() {
            group.state = GroupState::Stable;
            group.protocol_name.clone_from(&metadata.protocol);
            if let Some(leader) = metadata.leader.as_ref().filter(|leader| group.members.contains_key(&***leader)) {
                group.leader = Some(Arc::clone(leader));
            }
        }
        group.subscribed = group.subscribed_topics();
        group
    }

    /// The members that a loaded group has, with the sessions that they asked for.
    pub(in crate::group) fn sessions(&self) -> impl Iterator<Item = (&super::MemberId, u64)> {
        self.members.values().map(|member| (&member.id, super::as_ms(member.session_timeout_ms)))
    }
}
