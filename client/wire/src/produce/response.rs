//! The response: for each partition, where its batch went or why it was refused.

use std::borrow::Cow;

use super::{VERSION_MAX, VERSION_MIN};
use crate::frame::{ApiKey, Form, Reader, WireError, Writer};
use crate::shared::{
    CurrentLeader, NodeEndpoint, check_version, read_endpoints, read_topic, write_endpoints, write_topic,
};
use crate::{Offset, PartitionIndex, Uuid};

const LOG_START_FROM: i16 = 5;
const RECORD_ERRORS_FROM: i16 = 8;
const HINTS_FROM: i16 = 10;
const CURRENT_LEADER_TAG: u32 = 0;
const NODE_ENDPOINTS_TAG: u32 = 0;

/// Smallest topic: empty name and no partitions, compact, with tags.
const TOPIC_BYTES_MIN: usize = 3;
/// Smallest partition, in v3: index, code, offset, time.
const PARTITION_BYTES_MIN: usize = 4 + 2 + 8 + 8;
/// Smallest record error: index and null message, compact.
const RECORD_ERROR_BYTES_MIN: usize = 5;

/// The answer to a `ProduceRequest` with acks other than 0.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProduceResponse<'a> {
    /// What happened, by topic.
    pub topics: Vec<ProducedTopic<'a>>,
    /// How long the broker will not read from this connection, in ms.
    pub throttle_time_ms: i32,
    /// Where the leaders that `current_leader` names are (v10).
    pub node_endpoints: Vec<NodeEndpoint<'a>>,
}

/// What happened to one topic.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProducedTopic<'a> {
    /// Its name, up to v12; empty after.
    pub name: Cow<'a, str>,
    /// Its id, from v13; zero before.
    pub id: Uuid,
    /// What happened, by partition.
    pub partitions: Vec<ProducedPartition<'a>>,
}

/// What happened to one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProducedPartition<'a> {
    /// Its number.
    pub index: PartitionIndex,
    /// 0, or why the batch was refused.
    pub error_code: i16,
    /// Offset of the batch's first record, -1 if it was refused.
    pub base_offset: Offset,
    /// Timestamp in ms that the broker gave the batch, -1 on topics with the producer's own time.
    pub log_append_time_ms: i64,
    /// First offset of the partition (v5), -1 if unknown.
    pub log_start_offset: Offset,
    /// The records that caused the refusal (v8).
    pub record_errors: Vec<RecordError<'a>>,
    /// What to tell a person (v8).
    pub error_message: Option<Cow<'a, str>>,
    /// Who leads, if not we (v10).
    pub current_leader: Option<CurrentLeader>,
}

/// A record that a broker will not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordError<'a> {
    /// Its index within the batch.
    pub batch_index: i32,
    /// What is wrong with it.
    pub message: Option<Cow<'a, str>>,
}

impl ProducedPartition<'_> {
    /// A partition whose batch was refused.
    #[must_use]
    pub fn refused(index: PartitionIndex, error_code: i16) -> Self {
        ProducedPartition {
            index,
            error_code,
            base_offset: -1,
            log_append_time_ms: -1,
            log_start_offset: -1,
            record_errors: Vec::new(),
            error_message: None,
            current_leader: None,
        }
    }
}

impl<'a> ProduceResponse<'a> {
    /// Reads a body.
    ///
    /// # Errors
    /// `Version`, or a body that is not one.
    pub fn decode(version: i16, body: &'a [u8]) -> Result<ProduceResponse<'a>, WireError> {
        check_version(version, VERSION_MIN, VERSION_MAX)?;
        let mut reader = Reader::new(body, Form::of(ApiKey::PRODUCE.is_flexible(version)));
        let topics = reader.array(TOPIC_BYTES_MIN, |reader| ProducedTopic::read(version, reader))?;
        let throttle_time_ms = reader.i32()?;
        let mut node_endpoints = Vec::new();
        reader.tags(|tag, field| {
            if tag == NODE_ENDPOINTS_TAG && version >= HINTS_FROM {
                node_endpoints = read_endpoints(field)?;
            }
            Ok(())
        })?;
        Ok(ProduceResponse { topics, throttle_time_ms, node_endpoints })
    }

    /// Writes the body. What the version does not have is left out.
    ///
    /// # Panics
    /// If there is no codec for the version.
    pub fn encode(&self, version: i16, out: &mut Writer) {
        check_version(version, VERSION_MIN, VERSION_MAX).expect("a caller answers in the version of the request");
        out.array(&self.topics, |out, topic| {
            write_topic(out, version, &topic.name, topic.id);
            out.array(&topic.partitions, |out, partition| partition.write(version, out));
            out.no_tags();
        });
        out.i32(self.throttle_time_ms);
        if version >= HINTS_FROM && !self.node_endpoints.is_empty() {
            out.tag_count(1);
            out.tag(NODE_ENDPOINTS_TAG, |out| write_endpoints(out, &self.node_endpoints));
        } else {
            out.no_tags();
        }
    }
}

impl<'a> ProducedTopic<'a> {
    fn read(version: i16, reader: &mut Reader<'a>) -> Result<ProducedTopic<'a>, WireError> {
        let (name, id) = read_topic(reader, version)?;
        let partitions = reader.array(PARTITION_BYTES_MIN, |reader| ProducedPartition::read(version, reader))?;
        reader.skip_tags()?;
        Ok(ProducedTopic { name, id, partitions })
    }
}

impl<'a> ProducedPartition<'a> {
    fn read(version: i16, reader: &mut Reader<'a>) -> Result<ProducedPartition<'a>, WireError> {
        let mut partition = ProducedPartition::refused(reader.i32()?, reader.i16()?);
        partition.base_offset = reader.i64()?;
        partition.log_append_time_ms = reader.i64()?;
        if version >= LOG_START_FROM {
            partition.log_start_offset = reader.i64()?;
        }
        if version >= RECORD_ERRORS_FROM {
            partition.record_errors = reader.array(RECORD_ERROR_BYTES_MIN, |reader| {
                let error = RecordError { batch_index: reader.i32()?, message: reader.nullable_string()? };
                reader.skip_tags()?;
                Ok(error)
            })?;
            partition.error_message = reader.nullable_string()?;
        }
        reader.tags(|tag, field| {
            if tag == CURRENT_LEADER_TAG && version >= HINTS_FROM {
                partition.current_leader = Some(CurrentLeader::read(field)?);
            }
            Ok(())
        })?;
        Ok(partition)
    }

    fn write(&self, version: i16, out: &mut Writer) {
        out.i32(self.index);
        out.i16(self.error_code);
        out.i64(self.base_offset);
        out.i64(self.log_append_time_ms);
        if version >= LOG_START_FROM {
            out.i64(self.log_start_offset);
        }
        if version >= RECORD_ERRORS_FROM {
            out.array(&self.record_errors, |out, error| {
                out.i32(error.batch_index);
                out.nullable_string(error.message.as_deref());
                out.no_tags();
            });
            out.nullable_string(self.error_message.as_deref());
        }
        match self.current_leader.filter(|_| version >= HINTS_FROM) {
            Some(leader) => {
                out.tag_count(1);
                out.tag(CURRENT_LEADER_TAG, |out| leader.write(out));
            }
            None => out.no_tags(),
        }
    }
}
