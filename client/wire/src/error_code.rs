//! Kafka's error codes: number, name, and whether the same request may succeed later.
//!
//! Holds: `CODES[i]` is code `i - 1`, without a gap. From `Errors` of Apache Kafka 4.4.

use std::fmt;
use std::str::FromStr;

/// An error code as a broker sent it, known or not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ErrorCode(pub i16);

const RETRY: bool = true;
const FINAL: bool = false;

macro_rules! error_codes {
    ($($number:literal $name:ident $retry:ident;)*) => {
        impl ErrorCode {
            $(
                #[doc = concat!("Kafka's `", stringify!($name), "`, code ", stringify!($number), ".")]
                pub const $name: ErrorCode = ErrorCode($number);
            )*
        }

        const CODES: &[(i16, &str, bool)] = &[$(($number, stringify!($name), $retry)),*];
    };
}

error_codes! {
    -1 UNKNOWN_SERVER_ERROR FINAL;
    0 NONE FINAL;
    1 OFFSET_OUT_OF_RANGE FINAL;
    2 CORRUPT_MESSAGE RETRY;
    3 UNKNOWN_TOPIC_OR_PARTITION RETRY;
    4 INVALID_FETCH_SIZE FINAL;
    5 LEADER_NOT_AVAILABLE RETRY;
    6 NOT_LEADER_OR_FOLLOWER RETRY;
    7 REQUEST_TIMED_OUT RETRY;
    8 BROKER_NOT_AVAILABLE FINAL;
    9 REPLICA_NOT_AVAILABLE RETRY;
    10 MESSAGE_TOO_LARGE FINAL;
    11 STALE_CONTROLLER_EPOCH FINAL;
    12 OFFSET_METADATA_TOO_LARGE FINAL;
    13 NETWORK_EXCEPTION RETRY;
    14 COORDINATOR_LOAD_IN_PROGRESS RETRY;
    15 COORDINATOR_NOT_AVAILABLE RETRY;
    16 NOT_COORDINATOR RETRY;
    17 INVALID_TOPIC_EXCEPTION FINAL;
    18 RECORD_LIST_TOO_LARGE FINAL;
    19 NOT_ENOUGH_REPLICAS RETRY;
    20 NOT_ENOUGH_REPLICAS_AFTER_APPEND RETRY;
    21 INVALID_REQUIRED_ACKS FINAL;
    22 ILLEGAL_GENERATION FINAL;
    23 INCONSISTENT_GROUP_PROTOCOL FINAL;
    24 INVALID_GROUP_ID FINAL;
    25 UNKNOWN_MEMBER_ID FINAL;
    26 INVALID_SESSION_TIMEOUT FINAL;
    27 REBALANCE_IN_PROGRESS FINAL;
    28 INVALID_COMMIT_OFFSET_SIZE FINAL;
    29 TOPIC_AUTHORIZATION_FAILED FINAL;
    30 GROUP_AUTHORIZATION_FAILED FINAL;
    31 CLUSTER_AUTHORIZATION_FAILED FINAL;
    32 INVALID_TIMESTAMP FINAL;
    33 UNSUPPORTED_SASL_MECHANISM FINAL;
    34 ILLEGAL_SASL_STATE FINAL;
    35 UNSUPPORTED_VERSION FINAL;
    36 TOPIC_ALREADY_EXISTS FINAL;
    37 INVALID_PARTITIONS FINAL;
    38 INVALID_REPLICATION_FACTOR FINAL;
    39 INVALID_REPLICA_ASSIGNMENT FINAL;
    40 INVALID_CONFIG FINAL;
    41 NOT_CONTROLLER RETRY;
    42 INVALID_REQUEST FINAL;
    43 UNSUPPORTED_FOR_MESSAGE_FORMAT FINAL;
    44 POLICY_VIOLATION FINAL;
    45 OUT_OF_ORDER_SEQUENCE_NUMBER FINAL;
    46 DUPLICATE_SEQUENCE_NUMBER FINAL;
    47 INVALID_PRODUCER_EPOCH FINAL;
    48 INVALID_TXN_STATE FINAL;
    49 INVALID_PRODUCER_ID_MAPPING FINAL;
    50 INVALID_TRANSACTION_TIMEOUT FINAL;
    51 CONCURRENT_TRANSACTIONS RETRY;
    52 TRANSACTION_COORDINATOR_FENCED FINAL;
    53 TRANSACTIONAL_ID_AUTHORIZATION_FAILED FINAL;
    54 SECURITY_DISABLED FINAL;
    55 OPERATION_NOT_ATTEMPTED FINAL;
    56 KAFKA_STORAGE_ERROR RETRY;
    57 LOG_DIR_NOT_FOUND FINAL;
    58 SASL_AUTHENTICATION_FAILED FINAL;
    59 UNKNOWN_PRODUCER_ID FINAL;
    60 REASSIGNMENT_IN_PROGRESS FINAL;
    61 DELEGATION_TOKEN_AUTH_DISABLED FINAL;
    62 DELEGATION_TOKEN_NOT_FOUND FINAL;
    63 DELEGATION_TOKEN_OWNER_MISMATCH FINAL;
    64 DELEGATION_TOKEN_REQUEST_NOT_ALLOWED FINAL;
    65 DELEGATION_TOKEN_AUTHORIZATION_FAILED FINAL;
    66 DELEGATION_TOKEN_EXPIRED FINAL;
    67 INVALID_PRINCIPAL_TYPE FINAL;
    68 NON_EMPTY_GROUP FINAL;
    69 GROUP_ID_NOT_FOUND FINAL;
    70 FETCH_SESSION_ID_NOT_FOUND RETRY;
    71 INVALID_FETCH_SESSION_EPOCH RETRY;
    72 LISTENER_NOT_FOUND RETRY;
    73 TOPIC_DELETION_DISABLED FINAL;
    74 FENCED_LEADER_EPOCH RETRY;
    75 UNKNOWN_LEADER_EPOCH RETRY;
    76 UNSUPPORTED_COMPRESSION_TYPE FINAL;
    77 STALE_BROKER_EPOCH FINAL;
    78 OFFSET_NOT_AVAILABLE RETRY;
    79 MEMBER_ID_REQUIRED FINAL;
    80 PREFERRED_LEADER_NOT_AVAILABLE RETRY;
    81 GROUP_MAX_SIZE_REACHED FINAL;
    82 FENCED_INSTANCE_ID FINAL;
    83 ELIGIBLE_LEADERS_NOT_AVAILABLE RETRY;
    84 ELECTION_NOT_NEEDED RETRY;
    85 NO_REASSIGNMENT_IN_PROGRESS FINAL;
    86 GROUP_SUBSCRIBED_TO_TOPIC FINAL;
    87 INVALID_RECORD FINAL;
    88 UNSTABLE_OFFSET_COMMIT RETRY;
    89 THROTTLING_QUOTA_EXCEEDED RETRY;
    90 PRODUCER_FENCED FINAL;
    91 RESOURCE_NOT_FOUND FINAL;
    92 DUPLICATE_RESOURCE FINAL;
    93 UNACCEPTABLE_CREDENTIAL FINAL;
    94 INCONSISTENT_VOTER_SET FINAL;
    95 INVALID_UPDATE_VERSION FINAL;
    96 FEATURE_UPDATE_FAILED FINAL;
    97 PRINCIPAL_DESERIALIZATION_FAILURE FINAL;
    98 SNAPSHOT_NOT_FOUND FINAL;
    99 POSITION_OUT_OF_RANGE FINAL;
    100 UNKNOWN_TOPIC_ID RETRY;
    101 DUPLICATE_BROKER_REGISTRATION FINAL;
    102 BROKER_ID_NOT_REGISTERED FINAL;
    103 INCONSISTENT_TOPIC_ID RETRY;
    104 INCONSISTENT_CLUSTER_ID FINAL;
    105 TRANSACTIONAL_ID_NOT_FOUND FINAL;
    106 FETCH_SESSION_TOPIC_ID_ERROR RETRY;
    107 INELIGIBLE_REPLICA FINAL;
    108 NEW_LEADER_ELECTED FINAL;
    109 OFFSET_MOVED_TO_TIERED_STORAGE FINAL;
    110 FENCED_MEMBER_EPOCH FINAL;
    111 UNRELEASED_INSTANCE_ID FINAL;
    112 UNSUPPORTED_ASSIGNOR FINAL;
    113 STALE_MEMBER_EPOCH FINAL;
    114 MISMATCHED_ENDPOINT_TYPE FINAL;
    115 UNSUPPORTED_ENDPOINT_TYPE FINAL;
    116 UNKNOWN_CONTROLLER_ID FINAL;
    117 UNKNOWN_SUBSCRIPTION_ID FINAL;
    118 TELEMETRY_TOO_LARGE FINAL;
    119 INVALID_REGISTRATION FINAL;
    120 TRANSACTION_ABORTABLE FINAL;
    121 INVALID_RECORD_STATE FINAL;
    122 SHARE_SESSION_NOT_FOUND RETRY;
    123 INVALID_SHARE_SESSION_EPOCH RETRY;
    124 FENCED_STATE_EPOCH FINAL;
    125 INVALID_VOTER_KEY FINAL;
    126 DUPLICATE_VOTER FINAL;
    127 VOTER_NOT_FOUND FINAL;
    128 INVALID_REGULAR_EXPRESSION FINAL;
    129 REBOOTSTRAP_REQUIRED FINAL;
    130 STREAMS_INVALID_TOPOLOGY FINAL;
    131 STREAMS_INVALID_TOPOLOGY_EPOCH FINAL;
    132 STREAMS_TOPOLOGY_FENCED FINAL;
    133 SHARE_SESSION_LIMIT_REACHED RETRY;
    134 GROUP_DELETION_FAILED FINAL;
    135 STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED FINAL;
    136 CONTROLLER_ID_NOT_REGISTERED FINAL;
}

/// A text that is neither the name nor the number of a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownErrorCode(pub String);

impl fmt::Display for UnknownErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is neither the name nor the number of one of Kafka's error codes", self.0)
    }
}

impl std::error::Error for UnknownErrorCode {}

impl FromStr for ErrorCode {
    type Err = UnknownErrorCode;

    /// Takes a name (`NOT_LEADER_OR_FOLLOWER`) or a number (`6`).
    fn from_str(text: &str) -> Result<ErrorCode, UnknownErrorCode> {
        let by_name = || CODES.iter().find(|(_, name, _)| *name == text).map(|(number, ..)| ErrorCode(*number));
        let by_number = || text.parse().ok().map(ErrorCode).filter(|code| code.row().is_some());
        by_name().or_else(by_number).ok_or_else(|| UnknownErrorCode(text.to_owned()))
    }
}

impl ErrorCode {
    /// Kafka's name for it, `UNKNOWN_ERROR_CODE` if Kafka 4.4 has none.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().map_or("UNKNOWN_ERROR_CODE", |(_, name, _)| name)
    }

    /// May the same request succeed later?
    #[must_use]
    pub fn is_retriable(self) -> bool {
        self.row().is_some_and(|(_, _, retry)| *retry)
    }

    /// Does the client's view of topics and leaders look old?
    #[must_use]
    pub fn means_stale_metadata(self) -> bool {
        matches!(self.0, 3 | 5 | 6 | 9 | 41 | 56 | 72 | 74 | 75 | 100 | 103)
    }

    /// `Err(self)` unless it is `NONE`.
    ///
    /// # Errors
    /// The code itself.
    pub fn ok(self) -> Result<(), ErrorCode> {
        if self == ErrorCode::NONE { Ok(()) } else { Err(self) }
    }

    fn row(self) -> Option<&'static (i16, &'static str, bool)> {
        usize::try_from(i32::from(self.0) + 1).ok().and_then(|at| CODES.get(at))
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.0)
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_stands_at_its_own_place() {
        for (at, (code, name, _)) in CODES.iter().enumerate() {
            assert_eq!(i32::from(*code), at as i32 - 1, "{name}");
        }
        assert_eq!(ErrorCode::UNKNOWN_TOPIC_ID.name(), "UNKNOWN_TOPIC_ID");
        assert_eq!(ErrorCode::FENCED_LEADER_EPOCH.to_string(), "FENCED_LEADER_EPOCH (74)");
    }

    #[test]
    fn a_code_from_the_future_has_no_name_and_is_final() {
        for code in [137, 32_767, -2, i16::MIN] {
            assert_eq!(ErrorCode(code).name(), "UNKNOWN_ERROR_CODE");
            assert!(!ErrorCode(code).is_retriable());
        }
    }

    #[test]
    fn a_code_is_read_by_its_name_or_its_number() {
        assert_eq!("NOT_LEADER_OR_FOLLOWER".parse(), Ok(ErrorCode::NOT_LEADER_OR_FOLLOWER));
        assert_eq!("6".parse(), Ok(ErrorCode::NOT_LEADER_OR_FOLLOWER));
        assert_eq!("-1".parse(), Ok(ErrorCode::UNKNOWN_SERVER_ERROR));
        for bad in ["", "not_leader_or_follower", "137", "six"] {
            assert_eq!(bad.parse::<ErrorCode>(), Err(UnknownErrorCode(bad.to_owned())));
        }
    }
}
