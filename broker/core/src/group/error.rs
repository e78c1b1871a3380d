//! Why a group refuses.
//!
//! Holds: one variant per Kafka code, named after it; the edge maps them. COORDINATOR_LOAD_IN_PROGRESS (14),
//! COORDINATOR_NOT_AVAILABLE (15) and NOT_COORDINATOR (16) are the driver's: a shard that exists is loaded and leads.

/// Why a request, or one row of it, was refused. Nothing was changed, except where a variant says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum GroupError {
    /// INVALID_GROUP_ID (24): empty.
    #[error("the group id is empty")]
    InvalidGroupId,
    /// INVALID_SESSION_TIMEOUT (26).
    #[error("the session timeout is {given_ms} ms; {min_ms} to {max_ms} ms are allowed")]
    InvalidSessionTimeout {
        /// What the member asks for.
        given_ms: i32,
        /// `group.min.session.timeout.ms`.
        min_ms: i32,
        /// `group.max.session.timeout.ms`.
        max_ms: i32,
    },
    /// MEMBER_ID_REQUIRED (79): the answer carries the id to join with.
    #[error("join again with the member id given here")]
    MemberIdRequired,
    /// UNKNOWN_MEMBER_ID (25): never a member, or removed; or somebody who is none uses the group of others.
    #[error("the group does not know this member")]
    UnknownMemberId,
    /// FENCED_INSTANCE_ID (82): another member has taken over this `group.instance.id`.
    #[error("another member holds this group.instance.id")]
    FencedInstanceId,
    /// ILLEGAL_GENERATION (22): another than the present one.
    #[error("not the group's present generation")]
    IllegalGeneration,
    /// REBALANCE_IN_PROGRESS (27): join again.
    #[error("the group is rebalancing")]
    RebalanceInProgress,
    /// INCONSISTENT_GROUP_PROTOCOL (23): another protocol type, or no protocol that all members have.
    #[error("the group's protocol type differs, or no protocol is common to all members")]
    InconsistentGroupProtocol,
    /// GROUP_MAX_SIZE_REACHED (81). A member that was there before is removed.
    #[error("the group has group.max.size members")]
    GroupMaxSizeReached,
    /// GROUP_ID_NOT_FOUND (69).
    #[error("there is no such group")]
    GroupIdNotFound,
    /// NON_EMPTY_GROUP (68).
    #[error("the group has members")]
    NonEmptyGroup,
    /// GROUP_SUBSCRIBED_TO_TOPIC (86).
    #[error("members of the group are subscribed to the topic")]
    GroupSubscribedToTopic,
    /// OFFSET_METADATA_TOO_LARGE (12).
    #[error("the commit's metadata is longer than offset.metadata.max.bytes")]
    OffsetMetadataTooLarge,
    /// INVALID_COMMIT_OFFSET_SIZE (28): the commit does not fit in one batch of `__consumer_offsets`. Kafka 4.4 says
    /// UNKNOWN_SERVER_ERROR, which names no cause.
    #[error("the commit does not fit in one batch")]
    InvalidCommitOffsetSize,
    /// INVALID_REQUEST (42): a name that no record can hold.
    #[error("a name is longer than 32767 bytes")]
    NameTooLong,
    /// UNKNOWN_SERVER_ERROR (-1): the assignment does not fit in one batch. The group rebalances.
    #[error("the assignment does not fit in one batch")]
    AssignmentTooLarge,
}
