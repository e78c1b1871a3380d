//! APIs of administrators: one error at the top where there is a place for it, else a row for each thing asked for.

use ballast_wire::ErrorCode;
use kafka_protocol::messages::alter_configs_response::AlterConfigsResourceResponse;
use kafka_protocol::messages::describe_producers_response::{PartitionResponse, TopicResponse};
use kafka_protocol::messages::elect_leaders_response::{PartitionResult, ReplicaElectionResult};
use kafka_protocol::messages::{
    AlterConfigsRequest, AlterConfigsResponse, DescribeAclsRequest, DescribeAclsResponse, DescribeProducersRequest,
    DescribeProducersResponse, DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResponse,
    ElectLeadersRequest, ElectLeadersResponse, IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse,
    ListConfigResourcesRequest, ListConfigResourcesResponse, ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse, UnregisterBrokerRequest, UnregisterBrokerResponse, UpdateFeaturesRequest,
    UpdateFeaturesResponse, incremental_alter_configs_response,
};

use super::configs::TOPIC;
use super::topics::message;
use super::{Named, Shape};

/// Versions of ElectLeaders that have an error at the top.
const ELECTION_ERROR_FROM: i16 = 1;

impl Shape for AlterConfigsRequest {
    fn refused(self, _: i16, code: ErrorCode) -> AlterConfigsResponse {
        let rows = self.resources.into_iter().map(|resource| {
            let row = AlterConfigsResourceResponse::default().with_error_code(code.0).with_error_message(message(code));
            row.with_resource_type(resource.resource_type).with_resource_name(resource.resource_name)
        });
        AlterConfigsResponse::default().with_responses(rows.collect())
    }

    fn topics(&self) -> Vec<Named> {
        let topics = self.resources.iter().filter(|resource| resource.resource_type == TOPIC);
        topics.map(|resource| Named::by_name(&resource.resource_name, [])).collect()
    }
}

impl Shape for IncrementalAlterConfigsRequest {
    fn refused(self, _: i16, code: ErrorCode) -> IncrementalAlterConfigsResponse {
        let rows = self.resources.into_iter().map(|resource| {
            incremental_alter_configs_response::AlterConfigsResourceResponse::default()
                .with_error_code(code.0)
                .with_error_message(message(code))
                .with_resource_type(resource.resource_type)
                .with_resource_name(resource.resource_name)
        });
        IncrementalAlterConfigsResponse::default().with_responses(rows.collect())
    }

    fn topics(&self) -> Vec<Named> {
        let topics = self.resources.iter().filter(|resource| resource.resource_type == TOPIC);
        topics.map(|resource| Named::by_name(&resource.resource_name, [])).collect()
    }
}

impl Shape for ElectLeadersRequest {
    fn refused(self, version: i16, code: ErrorCode) -> ElectLeadersResponse {
        let rows = self.topic_partitions.into_iter().flatten().map(|topic| {
            let rows = topic.partitions.iter().map(|index| {
                let row = PartitionResult::default().with_partition_id(*index).with_error_code(code.0);
                row.with_error_message(message(code))
            });
            let rows = rows.collect();
            ReplicaElectionResult::default().with_topic(topic.topic).with_partition_result(rows)
        });
        let response = ElectLeadersResponse::default().with_replica_election_results(rows.collect());
        if version >= ELECTION_ERROR_FROM { response.with_error_code(code.0) } else { response }
    }

    fn topics(&self) -> Vec<Named> {
        let topics = self.topic_partitions.iter().flatten();
        topics.map(|topic| Named::by_name(&*topic.topic, topic.partitions.iter().copied())).collect()
    }
}

impl Shape for DescribeProducersRequest {
    fn refused(self, _: i16, code: ErrorCode) -> DescribeProducersResponse {
        let rows = self.topics.into_iter().map(|topic| {
            let rows = topic.partition_indexes.iter().map(|index| {
                let row = PartitionResponse::default().with_partition_index(*index).with_error_code(code.0);
                row.with_error_message(message(code))
            });
            let rows = rows.collect();
            TopicResponse::default().with_name(topic.name).with_partitions(rows)
        });
        DescribeProducersResponse::default().with_topics(rows.collect())
    }

    fn topics(&self) -> Vec<Named> {
        let topics = self.topics.iter();
        topics.map(|topic| Named::by_name(&*topic.name, topic.partition_indexes.iter().copied())).collect()
    }
}

impl Shape for ListPartitionReassignmentsRequest {
    fn refused(self, _: i16, code: ErrorCode) -> ListPartitionReassignmentsResponse {
        let response = ListPartitionReassignmentsResponse::default().with_error_code(code.0);
        response.with_error_message(message(code))
    }

    fn topics(&self) -> Vec<Named> {
        let topics = self.topics.iter().flatten();
        topics.map(|topic| Named::by_name(&*topic.name, topic.partition_indexes.iter().copied())).collect()
    }
}

impl Shape for ListConfigResourcesRequest {
    fn refused(self, _: i16, code: ErrorCode) -> ListConfigResourcesResponse {
        ListConfigResourcesResponse::default().with_error_code(code.0)
    }
}

impl Shape for DescribeAclsRequest {
    fn refused(self, _: i16, code: ErrorCode) -> DescribeAclsResponse {
        DescribeAclsResponse::default().with_error_code(code.0).with_error_message(message(code))
    }
}

impl Shape for DescribeUserScramCredentialsRequest {
    fn refused(self, _: i16, code: ErrorCode) -> DescribeUserScramCredentialsResponse {
        let response = DescribeUserScramCredentialsResponse::default().with_error_code(code.0);
        response.with_error_message(message(code))
    }
}

impl Shape for UpdateFeaturesRequest {
    fn refused(self, _: i16, code: ErrorCode) -> UpdateFeaturesResponse {
        UpdateFeaturesResponse::default().with_error_code(code.0).with_error_message(message(code))
    }
}

impl Shape for UnregisterBrokerRequest {
    fn refused(self, _: i16, code: ErrorCode) -> UnregisterBrokerResponse {
        UnregisterBrokerResponse::default().with_error_code(code.0).with_error_message(message(code))
    }
}
