//! What a shard has committed: nothing but its records, replayed in order.
//!
//! Holds:
//!   1. The same records in the same order give the same state, in a shard that runs and in one that loads.
//!   2. A group without metadata and without offsets is not kept.
//!
//! Read next: load.rs (a shard out of it), view.rs (reading it).

use std::collections::BTreeMap;
use std::sync::Arc;

use ballast_wire::PartitionIndex;

use super::GroupId;
use super::records::{CommittedOffset, GroupMetadata, Record};

/// Offsets of a group: by topic, by partition.
pub(super) type Offsets = BTreeMap<Arc<str>, BTreeMap<PartitionIndex, CommittedOffset>>;

/// Everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Committed {
    pub(super) groups: BTreeMap<GroupId, CommittedGroup>,
}

/// What is committed of one group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CommittedGroup {
    /// `None` for those who commit without being members.
    pub(super) metadata: Option<Box<GroupMetadata>>,
    pub(super) offsets: Offsets,
}

impl Committed {
    /// Replays the next record.
    pub(super) fn apply(&mut self, record: Record) {
        match record {
            Record::Offset { group, topic, partition, value: Some(value) } => {
                let topics = &mut self.groups.entry(group).or_default().offsets;
                topics.entry(topic).or_default().insert(partition, value);
            }
            Record::Offset { group, topic, partition, value: None } => {
                let Some(found) = self.groups.get_mut(&group) else { return };
                if let Some(partitions) = found.offsets.get_mut(&topic) {
                    partitions.remove(&partition);
                    if partitions.is_empty() {
                        found.offsets.remove(&topic);
                    }
                }
                self.drop_if_bare(&group);
            }
            Record::Group { group, value: Some(value) } => {
                self.groups.entry(group).or_default().metadata = Some(value);
            }
            Record::Group { group, value: None } => {
                if let Some(found) = self.groups.get_mut(&group) {
                    found.metadata = None;
                    self.drop_if_bare(&group);
                }
            }
        }
    }

    fn drop_if_bare(&mut self, group: &GroupId) {
        if self.groups.get(group).is_some_and(|found| found.metadata.is_none() && found.offsets.is_empty()) {
            self.groups.remove(group);
        }
    }
}
