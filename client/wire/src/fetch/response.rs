//! The response: for each partition, its watermarks and a run of batches.

use std::borrow::Cow;

use bytes::Bytes;

use super::{LOG_START_FROM, RACK_FROM, SESSIONS_FROM, VERSION_MAX, VERSION_MIN};
use crate::frame::{ApiKey, Form, Pieces, Reader, WireError, Writer};
use crate::shared::{
    CurrentLeader, NodeEndpoint, check_version, read_endpoints, read_topic, write_endpoints, write_topic,
};
use crate::{BrokerId, Chunk, LeaderEpoch, Offset, PartitionIndex, ProducerId, Uuid};

const ENDPOINTS_FROM: i16 = 16;

const DIVERGING_EPOCH_TAG: u32 = 0;
const CURRENT_LEADER_TAG: u32 = 1;
const SNAPSHOT_ID_TAG: u32 = 2;
const NODE_ENDPOINTS_TAG: u32 = 0;

/// Smallest topic: empty name and no partitions, compact, with tags.
const TOPIC_BYTES_MIN: usize = 3;
/// Smallest partition, in v4: index, code, two offsets, null list, null records.
const PARTITION_BYTES_MIN: usize = 4 + 2 + 8 + 8 + 4 + 4;
/// Smallest aborted transaction: producer and offset.
const ABORTED_BYTES_MIN: usize = 8 + 8;

/// The records of a partition in a response: where they are depends on the side.
pub trait FetchedRecords {
    /// How many bytes there are.
    fn len_bytes(&self) -> usize;
    /// Puts them into the message without a copy.
    fn insert_into(&self, out: &mut Pieces);
}

/// A broker's: what the log gave.
impl FetchedRecords for Vec<Chunk> {
    fn len_bytes(&self) -> usize {
        self.iter().map(Chunk::len).sum()
    }

    fn insert_into(&self, out: &mut Pieces) {
        for chunk in self {
            out.insert(chunk.clone());
        }
    }
}

/// A client's: a slice of what it received.
impl FetchedRecords for Bytes {
    fn len_bytes(&self) -> usize {
        self.len()
    }

    fn insert_into(&self, out: &mut Pieces) {
        out.insert(Chunk::Owned(self.clone()));
    }
}

/// The answer to a `FetchRequest`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FetchResponse<'a, Records = Vec<Chunk>> {
    /// How long the broker will not read from this connection, in ms.
    pub throttle_time_ms: i32,
    /// What is wrong with the whole request (v7).
    pub error_code: i16,
    /// The session (v7), 0 for none.
    pub session_id: i32,
    /// What was read, by topic.
    pub topics: Vec<FetchedTopic<'a, Records>>,
    /// Where the leaders that `current_leader` names are (v16).
    pub node_endpoints: Vec<NodeEndpoint<'a>>,
}

/// What was read of one topic.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FetchedTopic<'a, Records = Vec<Chunk>> {
    /// Its name, up to v12; empty after.
    pub name: Cow<'a, str>,
    /// Its id, from v13; zero before.
    pub id: Uuid,
    /// What was read, by partition.
    pub partitions: Vec<FetchedPartition<Records>>,
}

/// What was read of one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedPartition<Records = Vec<Chunk>> {
    /// Its number.
    pub index: PartitionIndex,
    /// 0, or why nothing was read.
    pub error_code: i16,
    /// End of what consumers may read, -1 on an error.
    pub high_watermark: Offset,
    /// End of what is decided, -1 on an error.
    pub last_stable_offset: Offset,
    /// First offset of the partition (v5), -1 on an error.
    pub log_start_offset: Offset,
    /// The reader's log has left ours: where (v12).
    pub diverging_epoch: Option<EpochEnd>,
    /// Who leads, if not we (in the schema from v12; clients expect it from v16).
    pub current_leader: Option<CurrentLeader>,
    /// The snapshot that a follower below our start shall fetch (v12, metadata quorums only).
    pub snapshot_id: Option<SnapshotId>,
    /// Transactions in the range that aborted; `None` for readers that see everything.
    pub aborted_transactions: Option<Vec<AbortedTransaction>>,
    /// Whom to read from instead (v11), -1 for us.
    pub preferred_read_replica: BrokerId,
    /// The batches. The last may be cut off.
    pub records: Records,
}

/// The end of an epoch in the leader's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochEnd {
    /// The largest epoch not above the one asked for, -1 if there is none.
    pub epoch: LeaderEpoch,
    /// Where it ends.
    pub end_offset: Offset,
}

/// Names a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotId {
    /// First offset that it does not contain.
    pub end_offset: Offset,
    /// Epoch of the last record in it.
    pub epoch: LeaderEpoch,
}

/// A transaction whose records in the answer do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AbortedTransaction {
    /// Whose it was.
    pub producer_id: ProducerId,
    /// Where it began.
    pub first_offset: Offset,
}

impl<Records: Default> FetchedPartition<Records> {
    /// A partition without records, and -1 for all that is not known.
    #[must_use]
    pub fn failed(index: PartitionIndex, error_code: i16) -> Self {
        FetchedPartition {
            index,
            error_code,
            high_watermark: -1,
            last_stable_offset: -1,
            log_start_offset: -1,
            diverging_epoch: None,
            current_leader: None,
            snapshot_id: None,
            aborted_transactions: None,
            preferred_read_replica: -1,
            records: Records::default(),
        }
    }
}

impl<'a> FetchResponse<'a, Bytes> {
    /// Reads a body. Names borrow from it, records are slices of it; null records read as none.
    ///
    /// # Errors
    /// `Version`, or a body that is not one.
    pub fn decode(version: i16, body: &'a Bytes) -> Result<FetchResponse<'a, Bytes>, WireError> {
        check_version(version, VERSION_MIN, VERSION_MAX)?;
        let mut reader = Reader::new(body, Form::of(ApiKey::FETCH.is_flexible(version)));
        let mut response = FetchResponse { throttle_time_ms: reader.i32()?, ..FetchResponse::default() };
        if version >= SESSIONS_FROM {
            response.error_code = reader.i16()?;
            response.session_id = reader.i32()?;
        }
        response.topics = reader.array(TOPIC_BYTES_MIN, |reader| {
            let (name, id) = read_topic(reader, version)?;
            let read = |reader: &mut Reader<'a>| FetchedPartition::read(version, body, reader);
            let partitions = reader.array(PARTITION_BYTES_MIN, read)?;
            reader.skip_tags()?;
            Ok(FetchedTopic { name, id, partitions })
        })?;
        reader.tags(|tag, field| {
            if tag == NODE_ENDPOINTS_TAG && version >= ENDPOINTS_FROM {
                response.node_endpoints = read_endpoints(field)?;
            }
            Ok(())
        })?;
        Ok(response)
    }
}

impl<Records: FetchedRecords> FetchResponse<'_, Records> {
    /// Writes the body; records stay where they are. What the version does not have is left out.
    ///
    /// # Panics
    /// If there is no codec for the version.
    pub fn encode(&self, version: i16, out: &mut Pieces) {
        check_version(version, VERSION_MIN, VERSION_MAX).expect("a caller answers in the version of the request");
        out.i32(self.throttle_time_ms);
        if version >= SESSIONS_FROM {
            out.i16(self.error_code);
            out.i32(self.session_id);
        }
        out.count(Some(self.topics.len()));
        for topic in &self.topics {
            write_topic(out, version, &topic.name, topic.id);
            out.count(Some(topic.partitions.len()));
            for partition in &topic.partitions {
                partition.write(version, out);
            }
            out.no_tags();
        }
        if version >= ENDPOINTS_FROM && !self.node_endpoints.is_empty() {
            out.tag_count(1);
            out.tag(NODE_ENDPOINTS_TAG, |out| write_endpoints(out, &self.node_endpoints));
        } else {
            out.no_tags();
        }
    }
}

impl FetchedPartition<Bytes> {
    fn read(version: i16, body: &Bytes, reader: &mut Reader<'_>) -> Result<FetchedPartition<Bytes>, WireError> {
        let mut partition: FetchedPartition<Bytes> = FetchedPartition::failed(reader.i32()?, reader.i16()?);
        partition.high_watermark = reader.i64()?;
        partition.last_stable_offset = reader.i64()?;
        if version >= LOG_START_FROM {
            partition.log_start_offset = reader.i64()?;
        }
        partition.aborted_transactions = reader.nullable_array(ABORTED_BYTES_MIN, |reader| {
            let aborted = AbortedTransaction { producer_id: reader.i64()?, first_offset: reader.i64()? };
            reader.skip_tags()?;
            Ok(aborted)
        })?;
        if version >= RACK_FROM {
            partition.preferred_read_replica = reader.i32()?;
        }
        partition.records = reader.nullable_bytes()?.map(|records| body.slice_ref(records)).unwrap_or_default();
        reader.tags(|tag, field| partition.read_tag(tag, field))?;
        Ok(partition)
    }

    fn read_tag(&mut self, tag: u32, field: &mut Reader<'_>) -> Result<(), WireError> {
        match tag {
            DIVERGING_EPOCH_TAG => {
                self.diverging_epoch = Some(EpochEnd { epoch: field.i32()?, end_offset: field.i64()? });
                field.skip_tags()
            }
            CURRENT_LEADER_TAG => {
                self.current_leader = Some(CurrentLeader::read(field)?);
                Ok(())
            }
            SNAPSHOT_ID_TAG => {
                self.snapshot_id = Some(SnapshotId { end_offset: field.i64()?, epoch: field.i32()? });
                field.skip_tags()
            }
            _ => Ok(()),
        }
    }
}

impl<Records: FetchedRecords> FetchedPartition<Records> {
    fn write(&self, version: i16, out: &mut Pieces) {
        out.i32(self.index);
        out.i16(self.error_code);
        out.i64(self.high_watermark);
        out.i64(self.last_stable_offset);
        if version >= LOG_START_FROM {
            out.i64(self.log_start_offset);
        }
        out.count(self.aborted_transactions.as_ref().map(Vec::len));
        for aborted in self.aborted_transactions.iter().flatten() {
            out.i64(aborted.producer_id);
            out.i64(aborted.first_offset);
            out.no_tags();
        }
        if version >= RACK_FROM {
            out.i32(self.preferred_read_replica);
        }
        out.bytes_length(Some(self.records.len_bytes()));
        self.records.insert_into(out);
        if ApiKey::FETCH.is_flexible(version) {
            self.write_tags(out);
        }
    }

    fn write_tags(&self, out: &mut Writer) {
        let (diverging, leader, snapshot) = (self.diverging_epoch, self.current_leader, self.snapshot_id);
        let present = [diverging.is_some(), leader.is_some(), snapshot.is_some()];
        out.tag_count(present.into_iter().filter(|present| *present).count());
        if let Some(EpochEnd { epoch, end_offset }) = diverging {
            out.tag(DIVERGING_EPOCH_TAG, |out| {
                out.i32(epoch);
                out.i64(end_offset);
                out.no_tags();
            });
        }
        if let Some(leader) = leader {
            out.tag(CURRENT_LEADER_TAG, |out| leader.write(out));
        }
        if let Some(SnapshotId { end_offset, epoch }) = snapshot {
            out.tag(SNAPSHOT_ID_TAG, |out| {
                out.i64(end_offset);
                out.i32(epoch);
                out.no_tags();
            });
        }
    }
}
