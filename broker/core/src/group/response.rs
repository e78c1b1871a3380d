//! What a shard answers.
//!
//! Holds: an answer has the shape of its request. Fields that a version lacks are dropped by the edge.

use bytes::Bytes;

use ballast_wire::PartitionIndex;

use std::sync::Arc;

use super::{Generation, GroupError, InstanceId, MemberId};

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// To JoinGroup.
    Join(JoinResponse),
    /// To SyncGroup.
    Sync(Result<SyncResponse, GroupError>),
    /// To Heartbeat.
    Heartbeat(Result<(), GroupError>),
    /// To LeaveGroup: one row per leaving member, in the order asked.
    Leave(Result<Vec<LeftMember>, GroupError>),
    /// To OffsetCommit: a row per partition, in the order asked, or one error for all of them.
    OffsetCommit(Result<Vec<TopicRow>, GroupError>),
    /// To OffsetDelete: a row per partition, or one error at the top.
    OffsetDelete(Result<Vec<TopicRow>, GroupError>),
    /// To DeleteGroups, for one group.
    DeleteGroup(Result<(), GroupError>),
}

/// To JoinGroup. With an error only `member_id` means anything: it repeats the request's, or carries the id to join with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinResponse {
    /// Why not.
    pub error: Option<GroupError>,
    /// The member's id.
    pub member_id: MemberId,
    /// -1 with an error.
    pub generation: Generation,
    /// The group's protocol type.
    pub protocol_type: Option<Arc<str>>,
    /// The protocol that was chosen.
    pub protocol_name: Option<Arc<str>>,
    /// Who assigns; "" with an error.
    pub leader: MemberId,
    /// v9+: the leader is to keep the assignment that stands.
    pub skip_assignment: bool,
    /// Everybody, for the leader alone.
    pub members: Vec<JoinedMember>,
}

/// A member as its leader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedMember {
    /// Id.
    pub member_id: MemberId,
    /// Of a static member.
    pub instance_id: Option<InstanceId>,
    /// Its metadata for the chosen protocol.
    pub metadata: Bytes,
}

/// To SyncGroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncResponse {
    /// The group's protocol type.
    pub protocol_type: Option<Arc<str>>,
    /// The protocol that was chosen.
    pub protocol_name: Option<Arc<str>>,
    /// The member's assignment; empty if the leader left it out.
    pub assignment: Bytes,
}

/// One who asked to leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftMember {
    /// As asked, may be empty.
    pub member_id: MemberId,
    /// As asked.
    pub instance_id: Option<InstanceId>,
    /// Why not.
    pub error: Option<GroupError>,
}

/// Results for one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicRow {
    /// Name.
    pub name: Arc<str>,
    /// Per partition.
    pub partitions: Vec<PartitionRow>,
}

/// Result for one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionRow {
    /// Which.
    pub index: PartitionIndex,
    /// Why not.
    pub error: Option<GroupError>,
}

/// A member, as DescribeGroups shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedMember {
    /// Id.
    pub member_id: MemberId,
    /// Of a static member.
    pub instance_id: Option<InstanceId>,
    /// Client id.
    pub client_id: Arc<str>,
    /// `/10.0.0.7`.
    pub client_host: Arc<str>,
    /// What it said of itself for the chosen protocol; empty unless the group is Stable.
    pub metadata: Bytes,
    /// Its assignment; in a rebalance that of the generation before.
    pub assignment: Bytes,
}
