//! What a shard can be told and asked.
//!
//! Holds: no wire schema. What a version of an API changes is said by name (`requires_member_id`), not by number. The driver
//! has checked permissions and resolved topics; entropy, the client's address and wall time come in from it.
//!
//! Read next: response.rs (the answers), shard.rs (who handles what).

use bytes::Bytes;

use ballast_wire::{LeaderEpoch, Offset, PartitionIndex, Uuid};

use std::sync::Arc;

use super::{Generation, GroupConfig, GroupId, InstanceId, MemberId, RequestId, Ticket};

/// One thing that happens, and when by the wall clock.
#[derive(Clone, Debug)]
pub struct Input {
    /// Milliseconds since 1970, for what is written into records and for expiry, which compares with it.
    pub wall_ms: i64,
    /// What happens.
    pub event: Event,
}

/// What may happen to a shard.
#[derive(Clone, Debug)]
pub enum Event {
    /// Somebody asks. The answer comes as `Effect::Answer`, at once or later, exactly once.
    Request {
        /// To find the answer by.
        id: RequestId,
        /// What.
        request: Request,
    },
    /// An append, and all before it, is below the high watermark.
    Committed {
        /// The newest that is.
        ticket: Ticket,
    },
    /// An append is not below the high watermark in time (`offsets.commit.timeout.ms`). Whoever waits for it, or for
    /// one before it, is told so; it may be committed all the same.
    Late {
        /// The newest that is late.
        ticket: Ticket,
    },
    /// A topic is gone: so are the offsets committed for it. Those of a new topic under the old name stay.
    TopicDeleted {
        /// Its name.
        name: Arc<str>,
        /// Its id.
        id: Uuid,
    },
    /// Settings changed.
    Configured(GroupConfig),
    /// A deadline may have passed.
    Timer,
}

/// What can be asked. Reads are methods of `Shard`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Become a member, or come back after a rebalance has begun.
    Join(Box<JoinRequest>),
    /// Fetch one's assignment; the leader brings everybody's.
    Sync(SyncRequest),
    /// Stay a member.
    Heartbeat(HeartbeatRequest),
    /// Be one no longer; several at once (v3+), the single one of v0–2 as a list of one.
    Leave(LeaveRequest),
    /// Commit offsets.
    OffsetCommit(OffsetCommitRequest),
    /// Forget some offsets of a group.
    OffsetDelete(OffsetDeleteRequest),
    /// Forget an empty group with all its offsets.
    DeleteGroup {
        /// Which; the empty id is one.
        group: GroupId,
    },
}

/// JoinGroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinRequest {
    /// Group.
    pub group: GroupId,
    /// Empty at first.
    pub member_id: MemberId,
    /// Of a static member (v5+).
    pub instance_id: Option<InstanceId>,
    /// The header's client id, "" if null: begins a dynamic member's id.
    pub client_id: Arc<str>,
    /// `/10.0.0.7`, as Kafka prints it.
    pub client_host: Arc<str>,
    /// How long the member may be silent.
    pub session_timeout_ms: i32,
    /// How long it may take to come back to a rebalance; v0 has none and means the session timeout.
    pub rebalance_timeout_ms: i32,
    /// `consumer`, `connect`, …
    pub protocol_type: Arc<str>,
    /// What the member can do, best first.
    pub protocols: Vec<Protocol>,
    /// Sixteen fresh random bytes, for the id of a new member.
    pub random: [u8; 16],
    /// v4+: a dynamic member without an id gets one first and joins with it (KIP-394).
    pub requires_member_id: bool,
    /// v9+: a static leader that is back may be told to skip the assignment (KIP-814).
    pub can_skip_assignment: bool,
}

/// One protocol of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protocol {
    /// Name: `range`, `cooperative-sticky`, …
    pub name: Arc<str>,
    /// What the leader needs to know of the member: for consumers a ConsumerProtocolSubscription.
    pub metadata: Bytes,
}

/// SyncGroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncRequest {
    /// Group.
    pub group: GroupId,
    /// Who.
    pub member_id: MemberId,
    /// Of a static member (v3+).
    pub instance_id: Option<InstanceId>,
    /// The generation that the member joined.
    pub generation: Generation,
    /// What the member believes to be the group's protocol type (v5+).
    pub protocol_type: Option<Arc<str>>,
    /// What the member believes to be the chosen protocol (v5+).
    pub protocol_name: Option<Arc<str>>,
    /// Everybody's assignment, from the leader.
    pub assignments: Vec<(MemberId, Bytes)>,
}

/// Heartbeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeartbeatRequest {
    /// Group.
    pub group: GroupId,
    /// Who.
    pub member_id: MemberId,
    /// Of a static member (v3+).
    pub instance_id: Option<InstanceId>,
    /// Its generation.
    pub generation: Generation,
}

/// LeaveGroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaveRequest {
    /// Group.
    pub group: GroupId,
    /// Who leaves.
    pub members: Vec<LeavingMember>,
}

/// One who leaves: by id, or a static one by its instance id with an empty id (an administrator's way).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeavingMember {
    /// Id, may be empty.
    pub member_id: MemberId,
    /// Of a static member.
    pub instance_id: Option<InstanceId>,
}

/// OffsetCommit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetCommitRequest {
    /// Group; the empty id is one.
    pub group: GroupId,
    /// Empty from those who are no members.
    pub member_id: MemberId,
    /// Of a static member (v7+).
    pub instance_id: Option<InstanceId>,
    /// -1 from those who are no members.
    pub generation: Generation,
    /// `retention_time` of v2–4, unless it is -1: the offsets expire so long after the commit, whatever the group does.
    pub retention_ms: Option<i64>,
    /// v9+: told GROUP_ID_NOT_FOUND where older versions are told ILLEGAL_GENERATION.
    pub knows_group_id_not_found: bool,
    /// What to commit, of topics that exist.
    pub topics: Vec<CommitTopic>,
}

/// Commits for one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitTopic {
    /// Name.
    pub name: Arc<str>,
    /// Id, written beside the offset, also if the request named the topic.
    pub id: Uuid,
    /// Partitions.
    pub partitions: Vec<CommitPartition>,
}

/// A commit for one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitPartition {
    /// Which.
    pub index: PartitionIndex,
    /// The next offset to read; negative ones pass.
    pub offset: Offset,
    /// Leader epoch of the last record read, -1 if unknown.
    pub leader_epoch: LeaderEpoch,
    /// The client's own text; null is as good as empty.
    pub metadata: Option<String>,
}

/// OffsetDelete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetDeleteRequest {
    /// Group.
    pub group: GroupId,
    /// What to forget, of topics that exist.
    pub topics: Vec<(Arc<str>, Vec<PartitionIndex>)>,
}
