//! Reading a shard: OffsetFetch, ListGroups, DescribeGroups and metrics.
//!
//! Holds:
//!   1. A group is seen from the commit of its first record to the commit of its last tombstone.
//!   2. Offsets are the committed ones. State and members are the live ones, as in Kafka: they are not written before the
//!      members are told.
//!
//! Read next: committed.rs.

use std::sync::Arc;

use ballast_wire::PartitionIndex;

use super::classic::{Classic, GroupState};
use super::committed::CommittedGroup;
use super::records::CommittedOffset;
use super::{DescribedMember, GroupId};

/// One group, as seen from outside.
#[derive(Clone, Copy, Debug)]
pub struct GroupView<'a> {
    pub(super) id: &'a GroupId,
    pub(super) committed: &'a CommittedGroup,
    /// `None` while the group's deletion is on its way to the log.
    pub(super) live: Option<&'a Classic>,
}

impl<'a> GroupView<'a> {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> &'a GroupId {
        self.id
    }

    /// Its state.
    #[must_use]
    pub fn state(&self) -> GroupState {
        self.live.map_or(GroupState::Empty, Classic::state)
    }

    /// `consumer`, …; "" if nobody has ever joined.
    #[must_use]
    pub fn protocol_type(&self) -> &'a str {
        match self.live {
            Some(live) => live.protocol_type().map_or("", |kind| kind),
            None => self.committed.metadata.as_ref().map_or("", |metadata| &metadata.protocol_type),
        }
    }

    /// The chosen protocol; "" unless the group is Stable.
    #[must_use]
    pub fn protocol_data(&self) -> &'a str {
        self.live.filter(|live| live.state() == GroupState::Stable).and_then(Classic::protocol_name).unwrap_or("")
    }

    /// How many members it has.
    #[must_use]
    pub fn members_len(&self) -> usize {
        self.live.map_or(0, Classic::members_len)
    }

    /// Its members.
    #[must_use]
    pub fn members(&self) -> Vec<DescribedMember> {
        self.live.map_or_else(Vec::new, Classic::describe_members)
    }

    /// What it has committed for a partition; `None` is no error: offset -1, leader epoch -1, metadata "".
    #[must_use]
    pub fn offset(&self, topic: &str, partition: PartitionIndex) -> Option<&'a CommittedOffset> {
        self.committed.offsets.get(topic)?.get(&partition)
    }

    /// Everything it has committed, by topic and partition.
    pub fn offsets(&self) -> impl Iterator<Item = (&'a Arc<str>, PartitionIndex, &'a CommittedOffset)> + use<'a> {
        let offsets = &self.committed.offsets;
        offsets.iter().flat_map(|(topic, rows)| rows.iter().map(move |(index, value)| (topic, *index, value)))
    }
}
