//! What groups have committed: reading it, setting it from outside, and forgetting it.
//!
//! Rows of an answer need not keep the request's order: they are matched by name.

use std::collections::BTreeMap;

use ballast_wire::{LeaderEpoch, Offset, PartitionIndex};
use kafka_protocol::messages::offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use kafka_protocol::messages::offset_delete_request::{OffsetDeleteRequestPartition, OffsetDeleteRequestTopic};
use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use kafka_protocol::messages::{
    GroupId, OffsetCommitRequest, OffsetCommitResponse, OffsetDeleteRequest, OffsetDeleteResponse, OffsetFetchRequest,
    OffsetFetchResponse,
};

use super::{Admin, outcome, text, topic_name};
use crate::{ClientError, ErrorCode, Target};

/// From this version on OffsetFetch asks for many groups.
const MANY_GROUPS_FIRST: i16 = 8;
/// From this version on it waits for open transactions.
const STABLE_FIRST: i16 = 7;
/// From this version on it can ask for all partitions.
const ALL_FIRST: i16 = 2;
/// From this version on OffsetCommit carries leader epochs.
const EPOCH_FIRST: i16 = 6;
/// Up to this version OffsetCommit says how long the broker shall remember it; -1 for the broker's own time.
const RETENTION_LAST: i16 = 4;

/// A partition by topic and number.
pub type GroupPartition = (String, PartitionIndex);

/// A place in a partition that a group has reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommittedOffset {
    /// Of the next record to read.
    pub offset: Offset,
    /// Epoch of the leader that wrote the record before it, -1 if unknown.
    pub leader_epoch: LeaderEpoch,
    /// Whatever the committer wrote beside it.
    pub metadata: String,
}

impl CommittedOffset {
    /// An offset and no more.
    #[must_use]
    pub fn at(offset: Offset) -> CommittedOffset {
        CommittedOffset { offset, leader_epoch: -1, metadata: String::new() }
    }
}

impl Admin {
    /// What `group` has committed, in all its partitions. Empty for a group that is not there.
    ///
    /// # Errors
    /// `Refused` for the group, or for the first partition that cannot say.
    pub async fn group_offsets(&self, group: &str) -> Result<BTreeMap<GroupPartition, CommittedOffset>, ClientError> {
        let what = format!("reading the offsets of group {group}");
        let build = |version| fetch_request(version, group, None);
        let check = |answer: &OffsetFetchResponse| fetched(&what, answer.clone()).map(|_| ());
        let (_, answer) = self.cluster.call(Target::Coordinator(group), &what, build, check).await?;
        fetched(&what, answer)
    }

    /// Sets what `group` has committed, from outside.
    ///
    /// # Errors
    /// `Refused`: with `UNKNOWN_MEMBER_ID` while the group has members, else for the first partition that was refused.
    pub async fn set_group_offsets(
        &self,
        group: &str,
        offsets: &BTreeMap<GroupPartition, CommittedOffset>,
    ) -> Result<(), ClientError> {
        let what = format!("setting the offsets of group {group}");
        let build = |version| commit_request(version, group, &Committer::outside(), offsets);
        self.cluster.call(Target::Coordinator(group), &what, build, |answer| committed(&what, answer)).await.map(|_| ())
    }

    /// Forgets what `group` has committed in these partitions.
    ///
    /// # Errors
    /// `Refused`: with `GROUP_SUBSCRIBED_TO_TOPIC` while members read the topic.
    pub async fn delete_group_offsets(&self, group: &str, partitions: &[GroupPartition]) -> Result<(), ClientError> {
        let what = format!("deleting offsets of group {group}");
        let build = |_| {
            let mut topics: BTreeMap<&str, Vec<OffsetDeleteRequestPartition>> = BTreeMap::new();
            for (topic, partition) in partitions {
                let row = OffsetDeleteRequestPartition::default().with_partition_index(*partition);
                topics.entry(topic).or_default().push(row);
            }
            let topic =
                |(topic, rows)| OffsetDeleteRequestTopic::default().with_name(topic_name(topic)).with_partitions(rows);
            let topics = topics.into_iter().map(topic).collect();
            OffsetDeleteRequest::default().with_group_id(GroupId(text(group))).with_topics(topics)
        };
        let check = |answer: &OffsetDeleteResponse| {
            outcome(&what, answer.error_code, None)?;
            for topic in &answer.topics {
                for row in &topic.partitions {
                    outcome(format!("{what} in {}-{}", &*topic.name, row.partition_index), row.error_code, None)?;
                }
            }
            Ok(())
        };
        self.cluster.call(Target::Coordinator(group), &what, build, check).await.map(|_| ())
    }
}

/// Who commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Committer {
    pub(crate) generation: i32,
    pub(crate) member_id: String,
    pub(crate) instance_id: Option<String>,
}

impl Committer {
    /// Somebody who is no member.
    fn outside() -> Committer {
        Committer { generation: -1, member_id: String::new(), instance_id: None }
    }
}

pub(crate) fn commit_request(
    version: i16,
    group: &str,
    committer: &Committer,
    offsets: &BTreeMap<GroupPartition, CommittedOffset>,
) -> OffsetCommitRequest {
    let mut topics: BTreeMap<&str, Vec<OffsetCommitRequestPartition>> = BTreeMap::new();
    for ((topic, partition), committed) in offsets {
        let row = OffsetCommitRequestPartition::default()
            .with_partition_index(*partition)
            .with_committed_offset(committed.offset)
            .with_committed_leader_epoch(if version >= EPOCH_FIRST { committed.leader_epoch } else { -1 })
            .with_committed_metadata(Some(text(&committed.metadata)));
        topics.entry(topic).or_default().push(row);
    }
    let topic = |(topic, rows)| OffsetCommitRequestTopic::default().with_name(topic_name(topic)).with_partitions(rows);
    let mut request = OffsetCommitRequest::default()
        .with_group_id(GroupId(text(group)))
        .with_generation_id_or_member_epoch(committer.generation)
        .with_member_id(text(&committer.member_id))
        .with_group_instance_id(committer.instance_id.as_deref().map(text))
        .with_topics(topics.into_iter().map(topic).collect());
    if version <= RETENTION_LAST {
        request.retention_time_ms = -1;
    }
    request
}

/// # Errors
/// The first partition that was refused.
pub(crate) fn committed(what: &str, answer: &OffsetCommitResponse) -> Result<(), ClientError> {
    for topic in &answer.topics {
        for row in &topic.partitions {
            outcome(format!("{what} in {}-{}", &*topic.name, row.partition_index), row.error_code, None)?;
        }
    }
    Ok(())
}

/// Asks for these partitions of a group, or for all that it has committed.
pub(crate) fn fetch_request(version: i16, group: &str, partitions: Option<&[GroupPartition]>) -> OffsetFetchRequest {
    let topics = partitions.map(|partitions| {
        let mut topics: BTreeMap<&str, Vec<PartitionIndex>> = BTreeMap::new();
        for (topic, partition) in partitions {
            topics.entry(topic).or_default().push(*partition);
        }
        topics
    });
    let request = OffsetFetchRequest::default().with_require_stable(version >= STABLE_FIRST);
    if version < MANY_GROUPS_FIRST {
        let topic = |(topic, list)| {
            OffsetFetchRequestTopic::default().with_name(topic_name(topic)).with_partition_indexes(list)
        };
        let topics = topics.map(|topics| topics.into_iter().map(topic).collect());
        // A version that cannot ask for all asks for none.
        let topics = if version < ALL_FIRST { Some(topics.unwrap_or_default()) } else { topics };
        return request.with_group_id(GroupId(text(group))).with_topics(topics);
    }
    let topic =
        |(topic, list)| OffsetFetchRequestTopics::default().with_name(topic_name(topic)).with_partition_indexes(list);
    let group = OffsetFetchRequestGroup::default()
        .with_group_id(GroupId(text(group)))
        .with_topics(topics.map(|topics| topics.into_iter().map(topic).collect()));
    // Empty, not null: null is not allowed in versions that have groups.
    request.with_topics(Some(Vec::new())).with_groups(vec![group])
}

/// What is committed; partitions where nothing is are left out.
///
/// # Errors
/// The group's code, or that of the first partition that has one.
pub(crate) fn fetched(
    what: &str,
    answer: OffsetFetchResponse,
) -> Result<BTreeMap<GroupPartition, CommittedOffset>, ClientError> {
    outcome(what, answer.error_code, None)?;
    let mut rows = Vec::new();
    for topic in answer.topics {
        for row in topic.partitions {
            let key = (topic.name.to_string(), row.partition_index);
            rows.push((key, row.error_code, row.committed_offset, row.committed_leader_epoch, row.metadata));
        }
    }
    for group in answer.groups {
        outcome(what, group.error_code, None)?;
        for topic in group.topics {
            for row in topic.partitions {
                let key = (topic.name.to_string(), row.partition_index);
                rows.push((key, row.error_code, row.committed_offset, row.committed_leader_epoch, row.metadata));
            }
        }
    }
    let mut offsets = BTreeMap::new();
    for (key, code, offset, leader_epoch, metadata) in rows {
        ErrorCode(code).ok().map_err(|code| ClientError::refused(format!("{what} in {}-{}", key.0, key.1), code))?;
        if offset >= 0 {
            let metadata = metadata.map(|m| m.to_string()).unwrap_or_default();
            offsets.insert(key, CommittedOffset { offset, leader_epoch, metadata });
        }
    }
    Ok(offsets)
}
