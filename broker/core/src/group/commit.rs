//! Committed offsets: OffsetCommit, OffsetDelete, DeleteGroups, and topics that go.
//!
//! Holds:
//!   1. Every offset of a group is written under the group's rules of the moment; its answer waits for the log.
//!   2. A deletion covers what is committed and what is on its way: nothing that was accepted before comes back after.
//!   3. A group's tombstone follows those of all its offsets.
//!
//! Read next: expiry.rs (what goes by itself), flight.rs (what is on its way).

use std::sync::Arc;

use ballast_wire::{PartitionIndex, Uuid};

use super::classic::{Classic, GroupState};
use super::groups::Groups;
use super::records::{CommittedOffset, Record, STRING_BYTES_MAX};
use super::turn::Turn;
use super::{
    CommitPartition, CommitTopic, GroupError, GroupId, OffsetCommitRequest, OffsetDeleteRequest, PartitionRow,
    RequestId, Response, TopicRow,
};

impl Groups {
    /// Handles OffsetCommit.
    pub(super) fn commit(&mut self, turn: &mut Turn<'_>, id: RequestId, request: OffsetCommitRequest) {
        let response = self.accept_commit(turn, &request).and_then(|()| self.write_commit(turn, &request));
        turn.answer_when_committed(&request.group, id, Response::OffsetCommit(response));
    }

    fn accept_commit(&mut self, turn: &mut Turn<'_>, request: &OffsetCommitRequest) -> Result<(), GroupError> {
        if request.group.len() > STRING_BYTES_MAX {
            return Err(GroupError::NameTooLong);
        }
        match self.live.get_mut(&request.group) {
            Some(group) => group.accept_commit(turn, request),
            // Somebody without a group, or an administrator: a group of nobody is made for the offsets.
            None if request.generation < 0 => Ok(()),
            None if request.knows_group_id_not_found => Err(GroupError::GroupIdNotFound),
            None => Err(GroupError::IllegalGeneration),
        }
    }

    fn write_commit(
        &mut self,
        turn: &mut Turn<'_>,
        request: &OffsetCommitRequest,
    ) -> Result<Vec<TopicRow>, GroupError> {
        let (mut records, mut rows) = (Vec::new(), Vec::with_capacity(request.topics.len()));
        for topic in &request.topics {
            let partitions = topic.partitions.iter().map(|partition| {
                let error = match validate_metadata(turn, partition) {
                    Ok(()) => {
                        records.push(commit_record(turn.wall_ms, request, topic, partition));
                        None
                    }
                    Err(error) => Some(error),
                };
                PartitionRow { index: partition.index, error }
            });
            let partitions = partitions.collect();
            rows.push(TopicRow { name: topic.name.clone(), partitions });
        }
        if records.is_empty() {
            return Ok(rows);
        }
        if !turn.fits(&records) {
            return Err(GroupError::InvalidCommitOffsetSize);
        }
        let wall_ms = turn.wall_ms;
        let group = self.live.entry(request.group.clone());
        group.or_insert_with_key(|id| Classic::new(id.clone(), wall_ms));
        turn.append(records);
        Ok(rows)
    }

    /// Handles OffsetDelete.
    pub(super) fn delete_offsets(
        &mut self,
        turn: &mut Turn<'_>,
        request: &OffsetDeleteRequest,
    ) -> Result<Vec<TopicRow>, GroupError> {
        if request.group.is_empty() {
            return Err(GroupError::InvalidGroupId);
        }
        let group = self.live.get(&request.group).ok_or(GroupError::GroupIdNotFound)?;
        if group.state() != GroupState::Empty && !group.is_consumer_group() {
            return Err(GroupError::NonEmptyGroup);
        }
        let committed = self.committed.groups.get(&request.group);
        let (mut records, mut rows) = (Vec::new(), Vec::with_capacity(request.topics.len()));
        for (topic, partitions) in &request.topics {
            let error = group.is_subscribed_to(topic).then_some(GroupError::GroupSubscribedToTopic);
            for partition in partitions.iter().filter(|_| error.is_none()) {
                if turn.flight.latest(committed, &request.group, topic, *partition).is_some() {
                    records.push(tombstone(&request.group, topic, *partition));
                }
            }
            let partitions = partitions.iter().map(|index| PartitionRow { index: *index, error }).collect();
            rows.push(TopicRow { name: topic.clone(), partitions });
        }
        if !records.is_empty() {
            turn.append(records);
        }
        Ok(rows)
    }

    /// Handles DeleteGroups for one group.
    pub(super) fn delete_group(&mut self, turn: &mut Turn<'_>, group: &GroupId) -> Result<(), GroupError> {
        let found = self.live.get(group).ok_or(GroupError::GroupIdNotFound)?;
        if found.state() != GroupState::Empty {
            return Err(GroupError::NonEmptyGroup);
        }
        let records = self.remove_group(turn, group);
        turn.append(records);
        Ok(())
    }

    /// Drops a group that has no members. Returns the tombstones of everything that it has committed, and its own.
    pub(super) fn remove_group(&mut self, turn: &mut Turn<'_>, group: &GroupId) -> Vec<Record> {
        if let Some(found) = self.live.remove(group) {
            found.cancel_timers(turn);
        }
        let all = turn.flight.all_latest(self.committed.groups.get(group), group);
        let mut records: Vec<Record> =
            all.into_iter().map(|(topic, index, _)| tombstone(group, &topic, index)).collect();
        records.push(Record::Group { group: group.clone(), value: None });
        records
    }

    /// A topic is gone, and with it what was committed for it: by its id, or from before ids were written.
    pub(super) fn topic_deleted(&mut self, turn: &mut Turn<'_>, name: &Arc<str>, id: Uuid) {
        let mut records = Vec::new();
        for group in self.live.keys() {
            let committed = self.committed.groups.get(group);
            let is_touched = committed.is_some_and(|committed| committed.offsets.contains_key(name))
                || turn.flight.newest(group).is_some();
            if !is_touched {
                continue;
            }
            for (topic, index, topic_id) in turn.flight.all_latest(committed, group) {
                if topic == *name && (topic_id == id || topic_id.is_zero()) {
                    records.push(tombstone(group, &topic, index));
                }
            }
        }
        if !records.is_empty() {
            turn.append(records);
        }
    }
}

/// Forgets one offset.
pub(super) fn tombstone(group: &GroupId, topic: &Arc<str>, partition: PartitionIndex) -> Record {
    Record::Offset { group: group.clone(), topic: topic.clone(), partition, value: None }
}

fn validate_metadata(turn: &Turn<'_>, partition: &CommitPartition) -> Result<(), GroupError> {
    let text = partition.metadata.as_deref().unwrap_or("");
    let is_short =
        text.len() <= turn.config.metadata_max_chars || text.encode_utf16().count() <= turn.config.metadata_max_chars;
    if is_short && text.len() <= STRING_BYTES_MAX { Ok(()) } else { Err(GroupError::OffsetMetadataTooLarge) }
}

fn commit_record(
    wall_ms: i64,
    request: &OffsetCommitRequest,
    topic: &CommitTopic,
    partition: &CommitPartition,
) -> Record {
    let value = CommittedOffset {
        offset: partition.offset,
        leader_epoch: partition.leader_epoch,
        metadata: partition.metadata.as_deref().unwrap_or("").into(),
        committed_at_ms: wall_ms,
        expires_at_ms: request.retention_ms.map(|retention_ms| wall_ms.saturating_add(retention_ms)),
        topic_id: topic.id,
    };
    Record::Offset {
        group: request.group.clone(),
        topic: topic.name.clone(),
        partition: partition.index,
        value: Some(value),
    }
}
