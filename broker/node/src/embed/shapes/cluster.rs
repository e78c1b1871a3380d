//! APIs about the broker, the cluster and producers: one error at the top.

use ballast_wire::ErrorCode;
use ballast_wire::frame::ApiKey;
use kafka_protocol::messages::alter_replica_log_dirs_response::{
    AlterReplicaLogDirPartitionResult, AlterReplicaLogDirTopicResult,
};
use kafka_protocol::messages::api_versions_response::ApiVersion;
use kafka_protocol::messages::{
    AddRaftVoterRequest, AddRaftVoterResponse, AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse,
    ApiVersionsRequest, ApiVersionsResponse, DescribeClusterRequest, DescribeClusterResponse, DescribeLogDirsRequest,
    DescribeLogDirsResponse, DescribeQuorumRequest, DescribeQuorumResponse, InitProducerIdRequest,
    InitProducerIdResponse, ProducerId, RemoveRaftVoterRequest, RemoveRaftVoterResponse,
};

use super::topics::message;
use super::{Named, Shape};
use crate::api::TABLE;

/// Versions of DescribeLogDirs that have an error at the top.
const LOG_DIRS_ERROR_FROM: i16 = 3;
/// Versions of DescribeQuorum that have a text with it.
const QUORUM_MESSAGE_FROM: i16 = 2;

impl Shape for ApiVersionsRequest {
    /// With `UNSUPPORTED_VERSION` goes which versions are (KIP-511).
    fn refused(self, _: i16, code: ErrorCode) -> ApiVersionsResponse {
        let own = TABLE.iter().filter(|api| api.key == ApiKey::API_VERSIONS && code == ErrorCode::UNSUPPORTED_VERSION);
        let own = own.map(|api| {
            let row = ApiVersion::default().with_api_key(api.key.0);
            row.with_min_version(api.advertised_min).with_max_version(api.max)
        });
        ApiVersionsResponse::default().with_error_code(code.0).with_api_keys(own.collect())
    }
}

impl Shape for InitProducerIdRequest {
    fn refused(self, _: i16, code: ErrorCode) -> InitProducerIdResponse {
        let response = InitProducerIdResponse::default().with_error_code(code.0);
        response.with_producer_id(ProducerId(-1)).with_producer_epoch(-1)
    }
}

impl Shape for AlterReplicaLogDirsRequest {
    fn refused(self, _: i16, code: ErrorCode) -> AlterReplicaLogDirsResponse {
        let topics = self.dirs.into_iter().flat_map(|dir| dir.topics);
        let results = topics.map(|topic| {
            let partitions = topic.partitions.into_iter().map(|index| {
                AlterReplicaLogDirPartitionResult::default().with_partition_index(index).with_error_code(code.0)
            });
            AlterReplicaLogDirTopicResult::default().with_topic_name(topic.name).with_partitions(partitions.collect())
        });
        AlterReplicaLogDirsResponse::default().with_results(results.collect())
    }

    fn topics(&self) -> Vec<Named> {
        let topics = self.dirs.iter().flat_map(|dir| &dir.topics);
        topics.map(|topic| Named::by_name(&*topic.name, topic.partitions.iter().copied())).collect()
    }
}

impl Shape for DescribeLogDirsRequest {
    fn refused(self, version: i16, code: ErrorCode) -> DescribeLogDirsResponse {
        let response = DescribeLogDirsResponse::default();
        if version >= LOG_DIRS_ERROR_FROM { response.with_error_code(code.0) } else { response }
    }

    fn topics(&self) -> Vec<Named> {
        let topics = self.topics.iter().flatten();
        topics.map(|topic| Named::by_name(&*topic.topic, topic.partitions.iter().copied())).collect()
    }
}

impl Shape for DescribeQuorumRequest {
    fn refused(self, version: i16, code: ErrorCode) -> DescribeQuorumResponse {
        let response = DescribeQuorumResponse::default().with_error_code(code.0);
        if version >= QUORUM_MESSAGE_FROM { response.with_error_message(message(code)) } else { response }
    }

    fn topics(&self) -> Vec<Named> {
        let partitions = |topic: &kafka_protocol::messages::describe_quorum_request::TopicData| {
            topic.partitions.iter().map(|asked| asked.partition_index).collect::<Vec<_>>()
        };
        self.topics.iter().map(|topic| Named::by_name(&*topic.topic_name, partitions(topic))).collect()
    }
}

impl Shape for DescribeClusterRequest {
    fn refused(self, _: i16, code: ErrorCode) -> DescribeClusterResponse {
        DescribeClusterResponse::default().with_error_code(code.0).with_error_message(message(code))
    }
}

impl Shape for AddRaftVoterRequest {
    fn refused(self, _: i16, code: ErrorCode) -> AddRaftVoterResponse {
        AddRaftVoterResponse::default().with_error_code(code.0).with_error_message(message(code))
    }
}

impl Shape for RemoveRaftVoterRequest {
    fn refused(self, _: i16, code: ErrorCode) -> RemoveRaftVoterResponse {
        RemoveRaftVoterResponse::default().with_error_code(code.0).with_error_message(message(code))
    }
}
