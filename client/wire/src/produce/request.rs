//! The request: for each partition, the bytes of one batch.

use std::borrow::Cow;

use bytes::Bytes;

use super::{VERSION_MAX, VERSION_MIN};
use crate::frame::{ApiKey, Form, Pieces, Reader, WireError};
use crate::shared::{check_version, read_topic, write_topic};
use crate::{Chunk, PartitionIndex, Uuid};

/// Smallest topic: empty name and no partitions, compact, with tags.
const TOPIC_BYTES_MIN: usize = 3;
/// Smallest partition: index and null records, compact, with tags.
const PARTITION_BYTES_MIN: usize = 6;

/// A request to append.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProduceRequest<'a> {
    /// Set by transactional producers.
    pub transactional_id: Option<Cow<'a, str>>,
    /// Who must have the records before the answer: 0 nobody (and no answer), 1 the leader, -1 every in-sync replica.
    pub acks: i16,
    /// How long to wait for them, in ms.
    pub timeout_ms: i32,
    /// What to append, by topic.
    pub topics: Vec<ProduceTopic<'a>>,
}

/// What to append to one topic.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProduceTopic<'a> {
    /// Its name, up to v12; empty after.
    pub name: Cow<'a, str>,
    /// Its id, from v13; zero before.
    pub id: Uuid,
    /// What to append, by partition.
    pub partitions: Vec<ProducePartition>,
}

/// What to append to one partition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProducePartition {
    /// Its number.
    pub index: PartitionIndex,
    /// The batch, as it came.
    pub records: Option<Bytes>,
}

impl<'a> ProduceRequest<'a> {
    /// Reads a body. Names borrow from it, records are slices of it; bytes behind it are ignored, as Kafka does.
    ///
    /// # Errors
    /// `Version`, or a body that is not one: Kafka closes the connection.
    pub fn decode(version: i16, body: &'a Bytes) -> Result<ProduceRequest<'a>, WireError> {
        check_version(version, VERSION_MIN, VERSION_MAX)?;
        let mut reader = Reader::new(body, Form::of(ApiKey::PRODUCE.is_flexible(version)));
        let request = ProduceRequest {
            transactional_id: reader.nullable_string()?,
            acks: reader.i16()?,
            timeout_ms: reader.i32()?,
            topics: reader.array(TOPIC_BYTES_MIN, |reader| ProduceTopic::read(version, body, reader))?,
        };
        reader.skip_tags()?;
        Ok(request)
    }

    /// Writes the body; records stay where they are.
    ///
    /// # Panics
    /// If there is no codec for the version.
    pub fn encode(&self, version: i16, out: &mut Pieces) {
        check_version(version, VERSION_MIN, VERSION_MAX).expect("a caller picks a version that both sides know");
        out.nullable_string(self.transactional_id.as_deref());
        out.i16(self.acks);
        out.i32(self.timeout_ms);
        out.count(Some(self.topics.len()));
        for topic in &self.topics {
            write_topic(out, version, &topic.name, topic.id);
            out.count(Some(topic.partitions.len()));
            for partition in &topic.partitions {
                out.i32(partition.index);
                out.bytes_length(partition.records.as_ref().map(Bytes::len));
                if let Some(records) = &partition.records {
                    out.insert(Chunk::Owned(records.clone()));
                }
                out.no_tags();
            }
            out.no_tags();
        }
        out.no_tags();
    }
}

impl<'a> ProduceTopic<'a> {
    fn read(version: i16, body: &Bytes, reader: &mut Reader<'a>) -> Result<ProduceTopic<'a>, WireError> {
        let (name, id) = read_topic(reader, version)?;
        let partitions = reader.array(PARTITION_BYTES_MIN, |reader| {
            let index = reader.i32()?;
            let records = reader.nullable_bytes()?.map(|records| body.slice_ref(records));
            reader.skip_tags()?;
            Ok(ProducePartition { index, records })
        })?;
        reader.skip_tags()?;
        Ok(ProduceTopic { name, id, partitions })
    }
}
