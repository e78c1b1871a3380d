//! APIs about groups and committed offsets.

use ballast_wire::ErrorCode;
use bytes::Bytes;
use kafka_protocol::messages::delete_groups_response::DeletableGroupResult;
use kafka_protocol::messages::describe_groups_response::DescribedGroup;
use kafka_protocol::messages::find_coordinator_response::Coordinator;
use kafka_protocol::messages::offset_commit_request::OffsetCommitRequestTopic;
use kafka_protocol::messages::offset_commit_response::{OffsetCommitResponsePartition, OffsetCommitResponseTopic};
use kafka_protocol::messages::offset_delete_request::OffsetDeleteRequestTopic;
use kafka_protocol::messages::offset_fetch_request::OffsetFetchRequestTopic;
use kafka_protocol::messages::offset_fetch_response::{
    OffsetFetchResponseGroup, OffsetFetchResponsePartition, OffsetFetchResponseTopic,
};
use kafka_protocol::messages::{
    BrokerId, DeleteGroupsRequest, DeleteGroupsResponse, DescribeGroupsRequest, DescribeGroupsResponse,
    FindCoordinatorRequest, FindCoordinatorResponse, HeartbeatRequest, HeartbeatResponse, JoinGroupRequest,
    JoinGroupResponse, LeaveGroupRequest, LeaveGroupResponse, ListGroupsRequest, ListGroupsResponse,
    OffsetCommitRequest, OffsetCommitResponse, OffsetDeleteRequest, OffsetDeleteResponse, OffsetFetchRequest,
    OffsetFetchResponse, SyncGroupRequest, SyncGroupResponse,
};
use kafka_protocol::protocol::StrBytes;

use super::topics::message;
use super::{Named, Shape, Topic};
use crate::api::view::own_id;
use crate::api::{offset_commit, offset_fetch};

/// Versions of FindCoordinator that have a text with the error.
const SINGLE_MESSAGE_FROM: i16 = 1;
/// Versions of FindCoordinator that ask for several keys, each with an error of its own.
const MANY_KEYS_FROM: i16 = 4;
/// Versions of JoinGroup that allow an answer without a protocol.
const NULL_PROTOCOL_FROM: i16 = 7;
/// Versions of OffsetFetch with an error for the whole answer; before, each partition has it as well.
const FETCH_ERROR_FROM: i16 = 2;
/// Versions of OffsetFetch that ask for several groups, each with an error of its own.
const MANY_GROUPS_FROM: i16 = 8;
/// Versions of DescribeGroups that have a text with the error.
const DESCRIBE_MESSAGE_FROM: i16 = 6;

impl Shape for FindCoordinatorRequest {
    fn refused(self, version: i16, code: ErrorCode) -> FindCoordinatorResponse {
        let nobody = BrokerId(-1);
        if version < MANY_KEYS_FROM {
            let response = FindCoordinatorResponse::default().with_error_code(code.0);
            let response = response.with_node_id(nobody).with_port(-1);
            return if version >= SINGLE_MESSAGE_FROM { response.with_error_message(message(code)) } else { response };
        }
        let rows = self.coordinator_keys.into_iter().map(|key| {
            let row = Coordinator::default().with_key(key).with_node_id(nobody).with_port(-1);
            row.with_error_code(code.0).with_error_message(message(code))
        });
        FindCoordinatorResponse::default().with_coordinators(rows.collect())
    }
}

impl Shape for JoinGroupRequest {
    fn refused(self, version: i16, code: ErrorCode) -> JoinGroupResponse {
        let protocol = (version < NULL_PROTOCOL_FROM).then(StrBytes::default);
        let response = JoinGroupResponse::default().with_error_code(code.0).with_generation_id(-1);
        response.with_protocol_type(None).with_protocol_name(protocol)
    }
}

impl Shape for SyncGroupRequest {
    fn refused(self, _: i16, code: ErrorCode) -> SyncGroupResponse {
        SyncGroupResponse::default().with_error_code(code.0).with_protocol_type(None).with_protocol_name(None)
    }
}

impl Shape for HeartbeatRequest {
    fn refused(self, _: i16, code: ErrorCode) -> HeartbeatResponse {
        HeartbeatResponse::default().with_error_code(code.0)
    }
}

impl Shape for LeaveGroupRequest {
    fn refused(self, _: i16, code: ErrorCode) -> LeaveGroupResponse {
        LeaveGroupResponse::default().with_error_code(code.0)
    }
}

impl Shape for DescribeGroupsRequest {
    fn refused(self, version: i16, code: ErrorCode) -> DescribeGroupsResponse {
        let rows = self.groups.into_iter().map(|group| {
            let row = DescribedGroup::default().with_group_id(group).with_error_code(code.0);
            if version >= DESCRIBE_MESSAGE_FROM { row.with_error_message(message(code)) } else { row }
        });
        DescribeGroupsResponse::default().with_groups(rows.collect())
    }
}

impl Shape for ListGroupsRequest {
    fn refused(self, _: i16, code: ErrorCode) -> ListGroupsResponse {
        ListGroupsResponse::default().with_error_code(code.0)
    }
}

impl Shape for DeleteGroupsRequest {
    fn refused(self, _: i16, code: ErrorCode) -> DeleteGroupsResponse {
        let row = |group| DeletableGroupResult::default().with_group_id(group).with_error_code(code.0);
        DeleteGroupsResponse::default().with_results(self.groups_names.into_iter().map(row).collect())
    }
}

impl Shape for OffsetCommitRequest {
    fn read(body: &mut Bytes, version: i16) -> Result<OffsetCommitRequest, String> {
        offset_commit::decode(body, version)
    }

    fn refused(self, _: i16, code: ErrorCode) -> OffsetCommitResponse {
        let topics = self.topics.into_iter().map(|topic| {
            let row = OffsetCommitResponsePartition::default().with_error_code(code.0);
            let rows = topic.partitions.iter().map(|asked| row.clone().with_partition_index(asked.partition_index));
            let rows = rows.collect();
            OffsetCommitResponseTopic::default()
                .with_name(topic.name)
                .with_topic_id(topic.topic_id)
                .with_partitions(rows)
        });
        OffsetCommitResponse::default().with_topics(topics.collect())
    }

    fn topics(&self) -> Vec<Named> {
        let named = |topic: &OffsetCommitRequestTopic| Named {
            topic: by_either(&topic.name, topic.topic_id),
            partitions: topic.partitions.iter().map(|asked| asked.partition_index).collect(),
        };
        self.topics.iter().map(named).collect()
    }
}

impl Shape for OffsetFetchRequest {
    fn read(body: &mut Bytes, version: i16) -> Result<OffsetFetchRequest, String> {
        offset_fetch::decode(body, version)
    }

    fn refused(self, version: i16, code: ErrorCode) -> OffsetFetchResponse {
        if version >= MANY_GROUPS_FROM {
            let row = |group| OffsetFetchResponseGroup::default().with_group_id(group).with_error_code(code.0);
            let rows = self.groups.into_iter().map(|group| row(group.group_id));
            return OffsetFetchResponse::default().with_groups(rows.collect());
        }
        if version >= FETCH_ERROR_FROM {
            return OffsetFetchResponse::default().with_error_code(code.0);
        }
        let topic = |topic: OffsetFetchRequestTopic| {
            let row = OffsetFetchResponsePartition::default().with_committed_offset(-1).with_error_code(code.0);
            let row = row.with_metadata(Some(StrBytes::default()));
            let rows = topic.partition_indexes.iter().map(|index| row.clone().with_partition_index(*index)).collect();
            OffsetFetchResponseTopic::default().with_name(topic.name).with_partitions(rows)
        };
        OffsetFetchResponse::default().with_topics(self.topics.unwrap_or_default().into_iter().map(topic).collect())
    }

    fn topics(&self) -> Vec<Named> {
        let single = self.topics.iter().flatten();
        let single = single.map(|topic| Named::by_name(&*topic.name, topic.partition_indexes.iter().copied()));
        let many = self.groups.iter().flat_map(|group| group.topics.iter().flatten()).map(|topic| Named {
            topic: by_either(&topic.name, topic.topic_id),
            partitions: topic.partition_indexes.clone(),
        });
        single.chain(many).collect()
    }
}

impl Shape for OffsetDeleteRequest {
    fn refused(self, _: i16, code: ErrorCode) -> OffsetDeleteResponse {
        OffsetDeleteResponse::default().with_error_code(code.0)
    }

    fn topics(&self) -> Vec<Named> {
        let partitions = |topic: &OffsetDeleteRequestTopic| -> Vec<i32> {
            topic.partitions.iter().map(|asked| asked.partition_index).collect()
        };
        self.topics.iter().map(|topic| Named::by_name(&*topic.name, partitions(topic))).collect()
    }
}

/// Newer versions name topics by id alone.
fn by_either(name: &str, id: uuid::Uuid) -> Topic {
    if name.is_empty() { Topic::Id(own_id(id)) } else { Topic::Name(name.to_owned()) }
}
