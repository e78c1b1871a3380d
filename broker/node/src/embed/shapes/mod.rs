//! What an answer of each API looks like when all of it is one error, and which topics a request names.
//!
//! The error stands wherever Apache Kafka's own `getErrorResponse` puts it: at the top where the schema has a place there,
//! in the row of every topic, partition or resource that was asked for where it has not, in both where it has both.
//!
//! Holds: every API of `api::TABLE` has a row here (a test compares them).
//!
//! Read next: `records` (Produce and Fetch, which have decoders of their own), then any other.

mod admin;
mod cluster;
mod configs;
mod groups;
mod records;
mod topics;

use std::future::ready;

use ballast_net::BoxFuture;
use ballast_wire::frame::ApiKey;
use ballast_wire::{ErrorCode, PartitionIndex, Uuid};
use bytes::Bytes;
use kafka_protocol::messages::{
    AddRaftVoterRequest, AlterConfigsRequest, AlterReplicaLogDirsRequest, ApiVersionsRequest, CreatePartitionsRequest,
    CreateTopicsRequest, DeleteGroupsRequest, DeleteRecordsRequest, DeleteTopicsRequest, DescribeAclsRequest,
    DescribeClusterRequest, DescribeConfigsRequest, DescribeGroupsRequest, DescribeLogDirsRequest,
    DescribeProducersRequest, DescribeQuorumRequest, DescribeTopicPartitionsRequest,
    DescribeUserScramCredentialsRequest, ElectLeadersRequest, FindCoordinatorRequest, HeartbeatRequest,
    IncrementalAlterConfigsRequest, InitProducerIdRequest, JoinGroupRequest, LeaveGroupRequest,
    ListConfigResourcesRequest, ListGroupsRequest, ListOffsetsRequest, ListPartitionReassignmentsRequest,
    MetadataRequest, OffsetCommitRequest, OffsetDeleteRequest, OffsetFetchRequest, OffsetForLeaderEpochRequest,
    RemoveRaftVoterRequest, SyncGroupRequest, UnregisterBrokerRequest, UpdateFeaturesRequest,
};
use kafka_protocol::protocol::{Encodable, Request};

use crate::api::call::{Call, STRUCT_BODY_BYTES_MAX};
use crate::net::conn::Answer;

/// A request that can be refused as a whole, and asked what it is about.
trait Shape: Request + Send + 'static {
    /// Reads a body.
    fn read(body: &mut Bytes, version: i16) -> Result<Self, String> {
        Self::decode(body, version).map_err(|error| error.to_string())
    }

    /// The answer that says `code` wherever Kafka would.
    fn refused(self, version: i16, code: ErrorCode) -> Self::Response;

    /// The topics that it names.
    fn topics(&self) -> Vec<Named> {
        Vec::new()
    }
}

/// A topic that a request names, and its partitions, if it names those.
#[derive(Debug, PartialEq, Eq)]
struct Named {
    topic: Topic,
    partitions: Vec<PartitionIndex>,
}

#[derive(Debug, PartialEq, Eq)]
enum Topic {
    Name(String),
    Id(Uuid),
}

impl Named {
    fn by_name(name: impl ToString, partitions: impl IntoIterator<Item = PartitionIndex>) -> Named {
        Named { topic: Topic::Name(name.to_string()), partitions: partitions.into_iter().collect() }
    }
}

/// One API.
struct Row {
    key: ApiKey,
    refuse: fn(Call, ErrorCode) -> BoxFuture<'static, Answer>,
    topics: fn(&Call) -> Vec<Named>,
}

const fn row<R: Shape>() -> Row
where
    R::Response: Encodable + Send + 'static,
{
    Row { key: ApiKey(R::KEY), refuse: refuse_typed::<R>, topics: topics_typed::<R> }
}

const SHAPES: &[Row] = &[
    records::PRODUCE,
    records::FETCH,
    row::<ListOffsetsRequest>(),
    row::<MetadataRequest>(),
    row::<OffsetCommitRequest>(),
    row::<OffsetFetchRequest>(),
    row::<FindCoordinatorRequest>(),
    row::<JoinGroupRequest>(),
    row::<HeartbeatRequest>(),
    row::<LeaveGroupRequest>(),
    row::<SyncGroupRequest>(),
    row::<DescribeGroupsRequest>(),
    row::<ListGroupsRequest>(),
    row::<ApiVersionsRequest>(),
    row::<CreateTopicsRequest>(),
    row::<DeleteTopicsRequest>(),
    row::<DeleteRecordsRequest>(),
    row::<InitProducerIdRequest>(),
    row::<OffsetForLeaderEpochRequest>(),
    row::<DescribeAclsRequest>(),
    row::<DescribeConfigsRequest>(),
    row::<AlterConfigsRequest>(),
    row::<AlterReplicaLogDirsRequest>(),
    row::<DescribeLogDirsRequest>(),
    row::<CreatePartitionsRequest>(),
    row::<DeleteGroupsRequest>(),
    row::<ElectLeadersRequest>(),
    row::<IncrementalAlterConfigsRequest>(),
    row::<ListPartitionReassignmentsRequest>(),
    row::<OffsetDeleteRequest>(),
    row::<DescribeUserScramCredentialsRequest>(),
    row::<DescribeQuorumRequest>(),
    row::<UpdateFeaturesRequest>(),
    row::<DescribeClusterRequest>(),
    row::<DescribeProducersRequest>(),
    row::<UnregisterBrokerRequest>(),
    row::<ListConfigResourcesRequest>(),
    row::<DescribeTopicPartitionsRequest>(),
    row::<AddRaftVoterRequest>(),
    row::<RemoveRaftVoterRequest>(),
];

fn shape(key: ApiKey) -> Option<&'static Row> {
    SHAPES.iter().find(|row| row.key == key)
}

/// Answers a request with an error, unserved.
pub(super) fn refuse(call: Call, code: ErrorCode) -> BoxFuture<'static, Answer> {
    match shape(call.ctx.key) {
        Some(row) => (row.refuse)(call, code),
        None => Box::pin(ready(Answer::Close(format!("{} cannot answer {code}", call.ctx.key)))),
    }
}

/// The topics that a request names, by name. A topic id that nobody knows is shown as it is; a body that does not decode
/// names nothing.
pub(super) fn topics(call: &Call) -> Vec<(String, Vec<PartitionIndex>)> {
    let named = shape(call.ctx.key).map(|row| (row.topics)(call)).unwrap_or_default();
    let with_name = |Named { topic, partitions }: Named| {
        let name = match topic {
            Topic::Name(name) => name,
            Topic::Id(id) => call.ctx.node.topic_name(id).map_or_else(|| id.to_string(), |name| name.to_string()),
        };
        (name, partitions)
    };
    named.into_iter().map(with_name).collect()
}

fn refuse_typed<R: Shape>(call: Call, code: ErrorCode) -> BoxFuture<'static, Answer>
where
    R::Response: Encodable + Send + 'static,
{
    call.decoded(R::read, move |ctx, request: R| ready(request.refused(ctx.version, code)))
}

fn topics_typed<R: Shape>(call: &Call) -> Vec<Named> {
    if call.body.len() > STRUCT_BODY_BYTES_MAX {
        return Vec::new();
    }
    let mut body: Bytes = call.body.clone();
    R::read(&mut body, call.ctx.version).map(|request| request.topics()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::TABLE;

    #[test]
    fn every_api_that_is_served_has_a_shape() {
        let served: Vec<ApiKey> = TABLE.iter().map(|api| api.key).collect();
        let shaped: Vec<ApiKey> = SHAPES.iter().map(|row| row.key).collect();
        assert_eq!(shaped, served, "shapes (left) and APIs (right)");
    }
}
