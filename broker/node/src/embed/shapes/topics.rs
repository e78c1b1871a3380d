//! APIs about topics and partitions.

use ballast_wire::ErrorCode;
use kafka_protocol::messages::create_partitions_response::CreatePartitionsTopicResult;
use kafka_protocol::messages::create_topics_response::CreatableTopicResult;
use kafka_protocol::messages::delete_records_response::{DeleteRecordsPartitionResult, DeleteRecordsTopicResult};
use kafka_protocol::messages::delete_topics_response::DeletableTopicResult;
use kafka_protocol::messages::describe_topic_partitions_response::DescribeTopicPartitionsResponseTopic;
use kafka_protocol::messages::list_offsets_response::{ListOffsetsPartitionResponse, ListOffsetsTopicResponse};
use kafka_protocol::messages::metadata_response::MetadataResponseTopic;
use kafka_protocol::messages::offset_for_leader_epoch_response::{EpochEndOffset, OffsetForLeaderTopicResult};
use kafka_protocol::messages::{
    CreatePartitionsRequest, CreatePartitionsResponse, CreateTopicsRequest, CreateTopicsResponse, DeleteRecordsRequest,
    DeleteRecordsResponse, DeleteTopicsRequest, DeleteTopicsResponse, DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse, ListOffsetsRequest, ListOffsetsResponse, MetadataRequest, MetadataResponse,
    OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse,
};
use kafka_protocol::protocol::StrBytes;

use super::{Named, Shape, Topic};
use crate::api::view::own_id;

/// Versions of Metadata from which the answer has an error of its own.
const METADATA_ERROR_FROM: i16 = 13;
/// Versions of Metadata that allow an answer without a topic's name.
const METADATA_NULL_NAME_FROM: i16 = 12;

/// What stands in a row's text.
pub(super) fn message(code: ErrorCode) -> Option<StrBytes> {
    Some(StrBytes::from_static_str(code.name()))
}

impl Shape for ListOffsetsRequest {
    fn refused(self, _: i16, code: ErrorCode) -> ListOffsetsResponse {
        let topics = self.topics.into_iter().map(|topic| {
            let rows = topic.partitions.iter().map(|asked| {
                let row = ListOffsetsPartitionResponse::default().with_partition_index(asked.partition_index);
                row.with_error_code(code.0).with_offset(-1).with_timestamp(-1).with_leader_epoch(-1)
            });
            let rows = rows.collect();
            ListOffsetsTopicResponse::default().with_name(topic.name).with_partitions(rows)
        });
        ListOffsetsResponse::default().with_topics(topics.collect())
    }

    fn topics(&self) -> Vec<Named> {
        let partitions = |topic: &kafka_protocol::messages::list_offsets_request::ListOffsetsTopic| {
            topic.partitions.iter().map(|asked| asked.partition_index).collect::<Vec<_>>()
        };
        self.topics.iter().map(|topic| Named::by_name(&*topic.name, partitions(topic))).collect()
    }
}

impl Shape for MetadataRequest {
    fn refused(self, version: i16, code: ErrorCode) -> MetadataResponse {
        let rows = self.topics.unwrap_or_default().into_iter().map(|topic| {
            let needs_name = version < METADATA_NULL_NAME_FROM;
            let name = if needs_name { Some(topic.name.unwrap_or_default()) } else { topic.name };
            MetadataResponseTopic::default().with_name(name).with_topic_id(topic.topic_id).with_error_code(code.0)
        });
        let response = MetadataResponse::default().with_topics(rows.collect());
        if version >= METADATA_ERROR_FROM { response.with_error_code(code.0) } else { response }
    }

    fn topics(&self) -> Vec<Named> {
        let named = |topic: &kafka_protocol::messages::metadata_request::MetadataRequestTopic| {
            let by_id = || Topic::Id(own_id(topic.topic_id));
            let topic = topic.name.as_ref().map_or_else(by_id, |name| Topic::Name(name.to_string()));
            Named { topic, partitions: Vec::new() }
        };
        self.topics.iter().flatten().map(named).collect()
    }
}

impl Shape for CreateTopicsRequest {
    fn refused(self, _: i16, code: ErrorCode) -> CreateTopicsResponse {
        let rows = self.topics.into_iter().map(|topic| {
            let row = CreatableTopicResult::default().with_name(topic.name).with_error_code(code.0);
            row.with_error_message(message(code)).with_num_partitions(-1).with_replication_factor(-1)
        });
        CreateTopicsResponse::default().with_topics(rows.collect())
    }

    fn topics(&self) -> Vec<Named> {
        self.topics.iter().map(|topic| Named::by_name(&*topic.name, [])).collect()
    }
}

impl Shape for DeleteTopicsRequest {
    fn refused(self, version: i16, code: ErrorCode) -> DeleteTopicsResponse {
        let row = |row: DeletableTopicResult| {
            let row = row.with_error_code(code.0);
            if version >= 5 { row.with_error_message(message(code)) } else { row }
        };
        let by_name =
            self.topic_names.into_iter().map(|name| row(DeletableTopicResult::default().with_name(Some(name))));
        let by_either = self
            .topics
            .into_iter()
            .map(|topic| row(DeletableTopicResult::default().with_name(topic.name).with_topic_id(topic.topic_id)));
        DeleteTopicsResponse::default().with_responses(by_name.chain(by_either).collect())
    }

    fn topics(&self) -> Vec<Named> {
        let by_name = self.topic_names.iter().map(|name| Named::by_name(&**name, []));
        let by_either = self.topics.iter().map(|topic| {
            let by_id = || Topic::Id(own_id(topic.topic_id));
            let topic = topic.name.as_ref().map_or_else(by_id, |name| Topic::Name(name.to_string()));
            Named { topic, partitions: Vec::new() }
        });
        by_name.chain(by_either).collect()
    }
}

impl Shape for DeleteRecordsRequest {
    fn refused(self, _: i16, code: ErrorCode) -> DeleteRecordsResponse {
        let topics = self.topics.into_iter().map(|topic| {
            let rows = topic.partitions.iter().map(|asked| {
                let row = DeleteRecordsPartitionResult::default().with_partition_index(asked.partition_index);
                row.with_low_watermark(-1).with_error_code(code.0)
            });
            let rows = rows.collect();
            DeleteRecordsTopicResult::default().with_name(topic.name).with_partitions(rows)
        });
        DeleteRecordsResponse::default().with_topics(topics.collect())
    }

    fn topics(&self) -> Vec<Named> {
        let partitions = |topic: &kafka_protocol::messages::delete_records_request::DeleteRecordsTopic| {
            topic.partitions.iter().map(|asked| asked.partition_index).collect::<Vec<_>>()
        };
        self.topics.iter().map(|topic| Named::by_name(&*topic.name, partitions(topic))).collect()
    }
}

impl Shape for OffsetForLeaderEpochRequest {
    fn refused(self, _: i16, code: ErrorCode) -> OffsetForLeaderEpochResponse {
        let topics = self.topics.into_iter().map(|topic| {
            let rows = topic.partitions.iter().map(|asked| {
                let row = EpochEndOffset::default().with_partition(asked.partition).with_error_code(code.0);
                row.with_leader_epoch(-1).with_end_offset(-1)
            });
            let rows = rows.collect();
            OffsetForLeaderTopicResult::default().with_topic(topic.topic).with_partitions(rows)
        });
        OffsetForLeaderEpochResponse::default().with_topics(topics.collect())
    }

    fn topics(&self) -> Vec<Named> {
        let partitions = |topic: &kafka_protocol::messages::offset_for_leader_epoch_request::OffsetForLeaderTopic| {
            topic.partitions.iter().map(|asked| asked.partition).collect::<Vec<_>>()
        };
        self.topics.iter().map(|topic| Named::by_name(&*topic.topic, partitions(topic))).collect()
    }
}

impl Shape for CreatePartitionsRequest {
    fn refused(self, _: i16, code: ErrorCode) -> CreatePartitionsResponse {
        let rows = self.topics.into_iter().map(|topic| {
            let row = CreatePartitionsTopicResult::default().with_name(topic.name).with_error_code(code.0);
            row.with_error_message(message(code))
        });
        CreatePartitionsResponse::default().with_results(rows.collect())
    }

    fn topics(&self) -> Vec<Named> {
        self.topics.iter().map(|topic| Named::by_name(&*topic.name, [])).collect()
    }
}

impl Shape for DescribeTopicPartitionsRequest {
    fn refused(self, _: i16, code: ErrorCode) -> DescribeTopicPartitionsResponse {
        let rows = self.topics.into_iter().map(|topic| {
            DescribeTopicPartitionsResponseTopic::default().with_name(Some(topic.name)).with_error_code(code.0)
        });
        DescribeTopicPartitionsResponse::default().with_topics(rows.collect())
    }

    fn topics(&self) -> Vec<Named> {
        self.topics.iter().map(|topic| Named::by_name(&*topic.name, [])).collect()
    }
}
