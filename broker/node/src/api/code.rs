//! Kafka's error codes, and the one place where our causes become them.
//!
//! The matches are exhaustive on purpose: a new cause does not compile until it has a code.

use ballast_core::group::GroupError;
use ballast_core::replica::StrangerFetch;
use ballast_log::{AppendError, LogError, ReadError};
use ballast_wire::batch::BatchError;

use crate::drive::coordinator::Unavailable;
use crate::drive::partition::{ProduceError, Refused};
use crate::loggers::LoggerError;

/// A code of Kafka's `Errors`.
pub(crate) type Code = i16;

pub(crate) const UNKNOWN_SERVER_ERROR: Code = -1;
pub(crate) const NONE: Code = 0;
pub(crate) const OFFSET_OUT_OF_RANGE: Code = 1;
pub(crate) const CORRUPT_MESSAGE: Code = 2;
pub(crate) const UNKNOWN_TOPIC_OR_PARTITION: Code = 3;
pub(crate) const LEADER_NOT_AVAILABLE: Code = 5;
pub(crate) const NOT_LEADER_OR_FOLLOWER: Code = 6;
pub(crate) const REQUEST_TIMED_OUT: Code = 7;
pub(crate) const REPLICA_NOT_AVAILABLE: Code = 9;
pub(crate) const MESSAGE_TOO_LARGE: Code = 10;
pub(crate) const OFFSET_METADATA_TOO_LARGE: Code = 12;
pub(crate) const COORDINATOR_LOAD_IN_PROGRESS: Code = 14;
pub(crate) const COORDINATOR_NOT_AVAILABLE: Code = 15;
pub(crate) const NOT_COORDINATOR: Code = 16;
pub(crate) const INVALID_TOPIC_EXCEPTION: Code = 17;
pub(crate) const RECORD_LIST_TOO_LARGE: Code = 18;
pub(crate) const NOT_ENOUGH_REPLICAS: Code = 19;
pub(crate) const NOT_ENOUGH_REPLICAS_AFTER_APPEND: Code = 20;
pub(crate) const INVALID_REQUIRED_ACKS: Code = 21;
pub(crate) const ILLEGAL_GENERATION: Code = 22;
pub(crate) const INCONSISTENT_GROUP_PROTOCOL: Code = 23;
pub(crate) const INVALID_GROUP_ID: Code = 24;
pub(crate) const UNKNOWN_MEMBER_ID: Code = 25;
pub(crate) const INVALID_SESSION_TIMEOUT: Code = 26;
pub(crate) const REBALANCE_IN_PROGRESS: Code = 27;
pub(crate) const INVALID_COMMIT_OFFSET_SIZE: Code = 28;
pub(crate) const TOPIC_AUTHORIZATION_FAILED: Code = 29;
pub(crate) const GROUP_AUTHORIZATION_FAILED: Code = 30;
pub(crate) const CLUSTER_AUTHORIZATION_FAILED: Code = 31;
pub(crate) const INVALID_TIMESTAMP: Code = 32;
pub(crate) const UNSUPPORTED_VERSION: Code = 35;
pub(crate) const INVALID_CONFIG: Code = 40;
pub(crate) const NOT_CONTROLLER: Code = 41;
pub(crate) const INVALID_REQUEST: Code = 42;
pub(crate) const POLICY_VIOLATION: Code = 44;
pub(crate) const OUT_OF_ORDER_SEQUENCE_NUMBER: Code = 45;
pub(crate) const INVALID_PRODUCER_EPOCH: Code = 47;
pub(crate) const INVALID_TXN_STATE: Code = 48;
pub(crate) const TRANSACTION_COORDINATOR_FENCED: Code = 52;
pub(crate) const TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Code = 53;
pub(crate) const SECURITY_DISABLED: Code = 54;
pub(crate) const KAFKA_STORAGE_ERROR: Code = 56;
pub(crate) const LOG_DIR_NOT_FOUND: Code = 57;
pub(crate) const NON_EMPTY_GROUP: Code = 68;
pub(crate) const GROUP_ID_NOT_FOUND: Code = 69;
pub(crate) const FETCH_SESSION_ID_NOT_FOUND: Code = 70;
pub(crate) const INVALID_FETCH_SESSION_EPOCH: Code = 71;
pub(crate) const LISTENER_NOT_FOUND: Code = 72;
pub(crate) const FENCED_LEADER_EPOCH: Code = 74;
pub(crate) const UNKNOWN_LEADER_EPOCH: Code = 75;
pub(crate) const UNSUPPORTED_COMPRESSION_TYPE: Code = 76;
pub(crate) const OFFSET_NOT_AVAILABLE: Code = 78;
pub(crate) const MEMBER_ID_REQUIRED: Code = 79;
pub(crate) const GROUP_MAX_SIZE_REACHED: Code = 81;
pub(crate) const FENCED_INSTANCE_ID: Code = 82;
pub(crate) const GROUP_SUBSCRIBED_TO_TOPIC: Code = 86;
pub(crate) const INVALID_RECORD: Code = 87;
pub(crate) const RESOURCE_NOT_FOUND: Code = 91;
pub(crate) const DUPLICATE_RESOURCE: Code = 92;
pub(crate) const PRINCIPAL_DESERIALIZATION_FAILURE: Code = 97;
pub(crate) const UNKNOWN_TOPIC_ID: Code = 100;
pub(crate) const INCONSISTENT_CLUSTER_ID: Code = 104;
pub(crate) const FETCH_SESSION_TOPIC_ID_ERROR: Code = 106;
pub(crate) const DUPLICATE_VOTER: Code = 126;
pub(crate) const VOTER_NOT_FOUND: Code = 127;
pub(crate) const UNSUPPORTED_ENDPOINT_TYPE: Code = 115;
pub(crate) const MISMATCHED_ENDPOINT_TYPE: Code = 114;

/// Why a group refused.
pub(crate) fn of_group(error: &GroupError) -> Code {
    match error {
        GroupError::InvalidGroupId => INVALID_GROUP_ID,
        GroupError::NameTooLong => INVALID_REQUEST,
        GroupError::InvalidSessionTimeout { .. } => INVALID_SESSION_TIMEOUT,
        GroupError::MemberIdRequired => MEMBER_ID_REQUIRED,
        GroupError::UnknownMemberId => UNKNOWN_MEMBER_ID,
        GroupError::FencedInstanceId => FENCED_INSTANCE_ID,
        GroupError::IllegalGeneration => ILLEGAL_GENERATION,
        GroupError::RebalanceInProgress => REBALANCE_IN_PROGRESS,
        GroupError::InconsistentGroupProtocol => INCONSISTENT_GROUP_PROTOCOL,
        GroupError::GroupMaxSizeReached => GROUP_MAX_SIZE_REACHED,
        GroupError::GroupIdNotFound => GROUP_ID_NOT_FOUND,
        GroupError::NonEmptyGroup => NON_EMPTY_GROUP,
        GroupError::GroupSubscribedToTopic => GROUP_SUBSCRIBED_TO_TOPIC,
        GroupError::OffsetMetadataTooLarge => OFFSET_METADATA_TOO_LARGE,
        GroupError::InvalidCommitOffsetSize => INVALID_COMMIT_OFFSET_SIZE,
        GroupError::AssignmentTooLarge => UNKNOWN_SERVER_ERROR,
    }
}

/// Why nobody answered for a group.
pub(crate) fn of_unavailable(error: Unavailable) -> Code {
    match error {
        Unavailable::Loading => COORDINATOR_LOAD_IN_PROGRESS,
        Unavailable::NotAvailable => COORDINATOR_NOT_AVAILABLE,
        Unavailable::NotCoordinator => NOT_COORDINATOR,
    }
}

/// Why this broker did not serve a partition.
pub(crate) fn of_refused(error: &Refused) -> Code {
    match error {
        Refused::NotLeader(_) => NOT_LEADER_OR_FOLLOWER,
        Refused::FencedEpoch { .. } => FENCED_LEADER_EPOCH,
        Refused::UnknownEpoch { .. } => UNKNOWN_LEADER_EPOCH,
        Refused::NotEnoughReplicas => NOT_ENOUGH_REPLICAS,
        Refused::Offline => KAFKA_STORAGE_ERROR,
    }
}

/// Why a broker may not copy a partition.
pub(crate) fn of_stranger(error: StrangerFetch) -> Code {
    match error {
        StrangerFetch::Early(_) => UNKNOWN_LEADER_EPOCH,
        StrangerFetch::NotAssigned(_) | StrangerFetch::FormerLife { .. } => NOT_LEADER_OR_FOLLOWER,
    }
}

/// Why a log did not take a batch.
pub(crate) fn of_append(error: &AppendError) -> Code {
    match error {
        AppendError::NotOneBatch(_) | AppendError::InvalidRecord { .. } => INVALID_RECORD,
        // The formats of old are whole batches, and refused as such.
        AppendError::Corrupt(BatchError::BadMagic(0 | 1)) => INVALID_RECORD,
        AppendError::Corrupt(_) => CORRUPT_MESSAGE,
        AppendError::InvalidTimestamp { .. } => INVALID_TIMESTAMP,
        AppendError::MessageTooLarge { .. } => MESSAGE_TOO_LARGE,
        AppendError::RecordListTooLarge { .. } => RECORD_LIST_TOO_LARGE,
        AppendError::UnsupportedCompression => UNSUPPORTED_COMPRESSION_TYPE,
        AppendError::OutOfOrderSequence { .. } => OUT_OF_ORDER_SEQUENCE_NUMBER,
        AppendError::InvalidProducerEpoch { .. } => INVALID_PRODUCER_EPOCH,
        AppendError::InvalidTxnState { .. } => INVALID_TXN_STATE,
        AppendError::CoordinatorFenced { .. } => TRANSACTION_COORDINATOR_FENCED,
        // The log was cut or handed on under the append: whoever leads now knows better.
        AppendError::StaleEpoch { .. } | AppendError::Dropped | AppendError::Closed => NOT_LEADER_OR_FOLLOWER,
        AppendError::NotContinuous { .. } | AppendError::OffsetsExhausted(_) => UNKNOWN_SERVER_ERROR,
        AppendError::StorageFull(_) | AppendError::Poisoned(_) | AppendError::SyncFailed(_) => KAFKA_STORAGE_ERROR,
    }
}

/// Why a produce was refused.
pub(crate) fn of_produce(error: &ProduceError) -> Code {
    match error {
        ProduceError::Refused(refused) => of_refused(refused),
        ProduceError::Append(append) => of_append(append),
    }
}

/// Why a log did not give what was asked for.
pub(crate) fn of_read(error: &ReadError) -> Code {
    match error {
        ReadError::OutOfRange { .. } => OFFSET_OUT_OF_RANGE,
        ReadError::Disk(_) => KAFKA_STORAGE_ERROR,
        ReadError::Damaged { .. } => CORRUPT_MESSAGE,
    }
}

/// Why an operation on a whole log failed.
pub(crate) fn of_log(error: &LogError) -> Code {
    match error {
        LogError::OutOfRange { .. } => OFFSET_OUT_OF_RANGE,
        LogError::Disk(_) | LogError::SyncFailed(_) | LogError::Poisoned(_) | LogError::Foreign { .. } => {
            KAFKA_STORAGE_ERROR
        }
        LogError::Closed => NOT_LEADER_OR_FOLLOWER,
    }
}

/// Why levels of loggers were not changed.
pub(crate) fn of_loggers(error: &LoggerError) -> Code {
    match error {
        LoggerError::Unknown(_) | LoggerError::UnknownLevel { .. } => INVALID_CONFIG,
        LoggerError::RootDeleted | LoggerError::NotAllowed(_) | LoggerError::Null(_) | LoggerError::Twice => {
            INVALID_REQUEST
        }
        LoggerError::Filter(_) => UNKNOWN_SERVER_ERROR,
    }
}
