//! The table of API keys: number, name, and the first version whose messages are flexible.
//!
//! Which versions a broker serves is the broker's affair; headers need no more than this.

use std::fmt;
use std::ops::RangeInclusive;

/// Number of an API.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApiKey(pub i16);

/// What the table says about a key.
struct Entry {
    name: &'static str,
    first_flexible: Option<i16>,
}

const NEVER: Option<i16> = None;

const fn from(version: i16) -> Option<i16> {
    Some(version)
}

macro_rules! api_keys {
    ($($number:literal $constant:ident $name:literal $flexible:expr;)*) => {
        impl ApiKey {
            $(
                #[doc = concat!($name, ", key ", stringify!($number), ".")]
                pub const $constant: ApiKey = ApiKey($number);
            )*
            /// Every key of the table, in order.
            pub const ALL: &'static [ApiKey] = &[$(ApiKey($number)),*];

            const fn entry(self) -> Option<Entry> {
                match self.0 {
                    $($number => Some(Entry { name: $name, first_flexible: $flexible }),)*
                    _ => None,
                }
            }
        }
    };
}

// Keys 4 to 7 (LeaderAndIsr, StopReplica, UpdateMetadata, ControlledShutdown) have had no version since 4.0.
api_keys! {
    0 PRODUCE "Produce" from(9);
    1 FETCH "Fetch" from(12);
    2 LIST_OFFSETS "ListOffsets" from(6);
    3 METADATA "Metadata" from(9);
    8 OFFSET_COMMIT "OffsetCommit" from(8);
    9 OFFSET_FETCH "OffsetFetch" from(6);
    10 FIND_COORDINATOR "FindCoordinator" from(3);
    11 JOIN_GROUP "JoinGroup" from(6);
    12 HEARTBEAT "Heartbeat" from(4);
    13 LEAVE_GROUP "LeaveGroup" from(4);
    14 SYNC_GROUP "SyncGroup" from(4);
    15 DESCRIBE_GROUPS "DescribeGroups" from(5);
    16 LIST_GROUPS "ListGroups" from(3);
    17 SASL_HANDSHAKE "SaslHandshake" NEVER;
    18 API_VERSIONS "ApiVersions" from(3);
    19 CREATE_TOPICS "CreateTopics" from(5);
    20 DELETE_TOPICS "DeleteTopics" from(4);
    21 DELETE_RECORDS "DeleteRecords" from(2);
    22 INIT_PRODUCER_ID "InitProducerId" from(2);
    23 OFFSET_FOR_LEADER_EPOCH "OffsetForLeaderEpoch" from(4);
    24 ADD_PARTITIONS_TO_TXN "AddPartitionsToTxn" from(3);
    25 ADD_OFFSETS_TO_TXN "AddOffsetsToTxn" from(3);
    26 END_TXN "EndTxn" from(3);
    27 WRITE_TXN_MARKERS "WriteTxnMarkers" from(1);
    28 TXN_OFFSET_COMMIT "TxnOffsetCommit" from(3);
    29 DESCRIBE_ACLS "DescribeAcls" from(2);
    30 CREATE_ACLS "CreateAcls" from(2);
    31 DELETE_ACLS "DeleteAcls" from(2);
    32 DESCRIBE_CONFIGS "DescribeConfigs" from(4);
    33 ALTER_CONFIGS "AlterConfigs" from(2);
    34 ALTER_REPLICA_LOG_DIRS "AlterReplicaLogDirs" from(2);
    35 DESCRIBE_LOG_DIRS "DescribeLogDirs" from(2);
    36 SASL_AUTHENTICATE "SaslAuthenticate" from(2);
    37 CREATE_PARTITIONS "CreatePartitions" from(2);
    38 CREATE_DELEGATION_TOKEN "CreateDelegationToken" from(2);
    39 RENEW_DELEGATION_TOKEN "RenewDelegationToken" from(2);
    40 EXPIRE_DELEGATION_TOKEN "ExpireDelegationToken" from(2);
    41 DESCRIBE_DELEGATION_TOKEN "DescribeDelegationToken" from(2);
    42 DELETE_GROUPS "DeleteGroups" from(2);
    43 ELECT_LEADERS "ElectLeaders" from(2);
    44 INCREMENTAL_ALTER_CONFIGS "IncrementalAlterConfigs" from(1);
    45 ALTER_PARTITION_REASSIGNMENTS "AlterPartitionReassignments" from(0);
    46 LIST_PARTITION_REASSIGNMENTS "ListPartitionReassignments" from(0);
    47 OFFSET_DELETE "OffsetDelete" NEVER;
    48 DESCRIBE_CLIENT_QUOTAS "DescribeClientQuotas" from(1);
    49 ALTER_CLIENT_QUOTAS "AlterClientQuotas" from(1);
    50 DESCRIBE_USER_SCRAM_CREDENTIALS "DescribeUserScramCredentials" from(0);
    51 ALTER_USER_SCRAM_CREDENTIALS "AlterUserScramCredentials" from(0);
    52 VOTE "Vote" from(0);
    53 BEGIN_QUORUM_EPOCH "BeginQuorumEpoch" from(1);
    54 END_QUORUM_EPOCH "EndQuorumEpoch" from(1);
    55 DESCRIBE_QUORUM "DescribeQuorum" from(0);
    56 ALTER_PARTITION "AlterPartition" from(0);
    57 UPDATE_FEATURES "UpdateFeatures" from(0);
    58 ENVELOPE "Envelope" from(0);
    59 FETCH_SNAPSHOT "FetchSnapshot" from(0);
    60 DESCRIBE_CLUSTER "DescribeCluster" from(0);
    61 DESCRIBE_PRODUCERS "DescribeProducers" from(0);
    62 BROKER_REGISTRATION "BrokerRegistration" from(0);
    63 BROKER_HEARTBEAT "BrokerHeartbeat" from(0);
    64 UNREGISTER_BROKER "UnregisterBroker" from(0);
    65 DESCRIBE_TRANSACTIONS "DescribeTransactions" from(0);
    66 LIST_TRANSACTIONS "ListTransactions" from(0);
    67 ALLOCATE_PRODUCER_IDS "AllocateProducerIds" from(0);
    68 CONSUMER_GROUP_HEARTBEAT "ConsumerGroupHeartbeat" from(0);
    69 CONSUMER_GROUP_DESCRIBE "ConsumerGroupDescribe" from(0);
    70 CONTROLLER_REGISTRATION "ControllerRegistration" from(0);
    71 GET_TELEMETRY_SUBSCRIPTIONS "GetTelemetrySubscriptions" from(0);
    72 PUSH_TELEMETRY "PushTelemetry" from(0);
    73 ASSIGN_REPLICAS_TO_DIRS "AssignReplicasToDirs" from(0);
    74 LIST_CONFIG_RESOURCES "ListConfigResources" from(0);
    75 DESCRIBE_TOPIC_PARTITIONS "DescribeTopicPartitions" from(0);
    76 SHARE_GROUP_HEARTBEAT "ShareGroupHeartbeat" from(0);
    77 SHARE_GROUP_DESCRIBE "ShareGroupDescribe" from(0);
    78 SHARE_FETCH "ShareFetch" from(0);
    79 SHARE_ACKNOWLEDGE "ShareAcknowledge" from(0);
    80 ADD_RAFT_VOTER "AddRaftVoter" from(0);
    81 REMOVE_RAFT_VOTER "RemoveRaftVoter" from(0);
    82 UPDATE_RAFT_VOTER "UpdateRaftVoter" from(0);
    83 INITIALIZE_SHARE_GROUP_STATE "InitializeShareGroupState" from(0);
    84 READ_SHARE_GROUP_STATE "ReadShareGroupState" from(0);
    85 WRITE_SHARE_GROUP_STATE "WriteShareGroupState" from(0);
    86 DELETE_SHARE_GROUP_STATE "DeleteShareGroupState" from(0);
    87 READ_SHARE_GROUP_STATE_SUMMARY "ReadShareGroupStateSummary" from(0);
    88 STREAMS_GROUP_HEARTBEAT "StreamsGroupHeartbeat" from(0);
    89 STREAMS_GROUP_DESCRIBE "StreamsGroupDescribe" from(0);
    90 DESCRIBE_SHARE_GROUP_OFFSETS "DescribeShareGroupOffsets" from(0);
    91 ALTER_SHARE_GROUP_OFFSETS "AlterShareGroupOffsets" from(0);
    92 DELETE_SHARE_GROUP_OFFSETS "DeleteShareGroupOffsets" from(0);
    93 STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE "StreamsGroupTopologyDescriptionUpdate" from(0);
    94 UNREGISTER_CONTROLLER "UnregisterController" from(0);
}

impl ApiKey {
    /// Keys that Ballast's own nodes use among themselves: never Kafka's, always flexible.
    pub const PRIVATE: RangeInclusive<i16> = 20_000..=20_063;

    /// Kafka's name of the API, if the key names one.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        self.entry().map(|entry| entry.name)
    }

    /// The API that Kafka calls `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<ApiKey> {
        ApiKey::ALL.iter().copied().find(|key| key.name() == Some(name))
    }

    /// Is there such an API (Kafka's or a private one)?
    #[must_use]
    pub fn is_known(self) -> bool {
        self.entry().is_some() || ApiKey::PRIVATE.contains(&self.0)
    }

    /// The first version with compact lengths and tagged fields. `None`: no version has them, or the key is unknown.
    #[must_use]
    pub fn first_flexible_version(self) -> Option<i16> {
        if ApiKey::PRIVATE.contains(&self.0) {
            return Some(0);
        }
        self.entry().and_then(|entry| entry.first_flexible)
    }

    /// Does this version of the API have compact lengths and tagged fields?
    #[must_use]
    pub fn is_flexible(self, version: i16) -> bool {
        self.first_flexible_version().is_some_and(|first| version >= first)
    }

    /// 1, or 2 (with tagged fields) when the version is flexible.
    #[must_use]
    pub fn request_header_version(self, version: i16) -> i16 {
        if self.is_flexible(version) { 2 } else { 1 }
    }

    /// 0, or 1 (with tagged fields) when the version is flexible. ApiVersions always has 0: a client that does not know
    /// the broker yet must be able to read its answer.
    #[must_use]
    pub fn response_header_version(self, version: i16) -> i16 {
        if self != ApiKey::API_VERSIONS && self.is_flexible(version) { 1 } else { 0 }
    }
}

impl fmt::Display for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "key {}", self.0),
        }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kafka_protocol::messages::ApiKey as Oracle;

    #[test]
    fn header_versions_equal_those_of_the_published_schemas() {
        for &key in ApiKey::ALL {
            let Ok(oracle) = Oracle::try_from(key.0) else {
                continue;
            };
            let versions = oracle.valid_versions();
            for version in versions.min..=versions.max {
                let of_request = oracle.request_header_version(version);
                assert_eq!(key.request_header_version(version), of_request, "{key:?} v{version} request");
                let of_response = oracle.response_header_version(version);
                assert_eq!(key.response_header_version(version), of_response, "{key:?} v{version} response");
            }
        }
    }

    #[test]
    fn every_key_but_the_four_withdrawn_ones_is_there() {
        let expected: Vec<i16> = (0..=94).filter(|key| !(4..=7).contains(key)).collect();
        assert_eq!(ApiKey::ALL.iter().map(|key| key.0).collect::<Vec<_>>(), expected);
        assert_eq!(ApiKey(93).name(), Some("StreamsGroupTopologyDescriptionUpdate"));
        assert_eq!(ApiKey(5).name(), None);
        assert_eq!(ApiKey::from_name("Produce"), Some(ApiKey::PRODUCE));
        assert_eq!(ApiKey::from_name("produce"), None);
        assert!(!ApiKey(95).is_known());
    }

    #[test]
    fn the_answer_to_api_versions_has_the_bare_header_at_every_version() {
        for version in -1..=99 {
            assert_eq!(ApiKey::API_VERSIONS.response_header_version(version), 0);
        }
        assert_eq!(ApiKey::API_VERSIONS.request_header_version(99), 2);
    }

    #[test]
    fn private_keys_are_flexible_from_their_first_version() {
        let first = ApiKey(*ApiKey::PRIVATE.start());
        assert!(first.is_known() && first.is_flexible(0) && first.name().is_none());
    }
}
