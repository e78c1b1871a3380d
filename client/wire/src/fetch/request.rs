//! The request: from where to read, and how much.

use std::borrow::Cow;

use super::{LOG_START_FROM, RACK_FROM, SESSIONS_FROM, VERSION_MAX, VERSION_MIN};
use crate::frame::{ApiKey, Form, Reader, WireError, Writer};
use crate::shared::{check_version, read_topic, write_topic};
use crate::{BrokerId, LeaderEpoch, Offset, PartitionIndex, Uuid};

const LEADER_EPOCH_FROM: i16 = 9;
const LAST_FETCHED_EPOCH_FROM: i16 = 12;
const REPLICA_STATE_FROM: i16 = 15;
const DIRECTORY_FROM: i16 = 17;
const HIGH_WATERMARK_FROM: i16 = 18;

const CLUSTER_ID_TAG: u32 = 0;
const REPLICA_STATE_TAG: u32 = 1;
const DIRECTORY_TAG: u32 = 0;
const HIGH_WATERMARK_TAG: u32 = 1;

/// Smallest topic: empty name and no partitions, compact, with tags. The same for a forgotten one.
const TOPIC_BYTES_MIN: usize = 3;
/// Smallest partition, in v4: index, offset, size.
const PARTITION_BYTES_MIN: usize = 4 + 8 + 4;

/// No leader epoch.
pub const NO_EPOCH: LeaderEpoch = -1;
/// High watermark of a follower that does not say (v18).
pub const UNKNOWN_HIGH_WATERMARK: Offset = i64::MAX;

/// A request to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchRequest<'a> {
    /// Cluster that the sender believes in (v12).
    pub cluster_id: Option<Cow<'a, str>>,
    /// The follower that asks, -1 for a consumer. A field up to v14, a tag after.
    pub replica_id: BrokerId,
    /// Epoch of that broker (v15), -1 if unknown.
    pub replica_epoch: i64,
    /// How long to wait for `min_bytes`, in ms.
    pub max_wait_ms: i32,
    /// Bytes that are worth an answer.
    pub min_bytes: i32,
    /// Bytes that an answer may have; the first batch may have more.
    pub max_bytes: i32,
    /// 0 everything below the high watermark, 1 only what is committed.
    pub isolation_level: i8,
    /// Session (v7), 0 for none.
    pub session_id: i32,
    /// Number of this request within its session (v7): 0 opens one, -1 wants none.
    pub session_epoch: i32,
    /// What to read, by topic.
    pub topics: Vec<FetchTopic<'a>>,
    /// What the session shall no longer read (v7).
    pub forgotten: Vec<ForgottenTopic<'a>>,
    /// Rack of the consumer (v11), empty for none.
    pub rack_id: Cow<'a, str>,
}

/// What to read of one topic.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FetchTopic<'a> {
    /// Its name, up to v12; empty after.
    pub name: Cow<'a, str>,
    /// Its id, from v13; zero before.
    pub id: Uuid,
    /// What to read, by partition.
    pub partitions: Vec<FetchPartition>,
}

/// What to read of one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchPartition {
    /// Its number.
    pub index: PartitionIndex,
    /// Leader epoch that the sender knows (v9), -1 for none.
    pub current_leader_epoch: LeaderEpoch,
    /// First offset wanted.
    pub fetch_offset: Offset,
    /// Epoch of the last record that the sender has (v12), -1 for none.
    pub last_fetched_epoch: LeaderEpoch,
    /// First offset that a follower has (v5), -1 for consumers.
    pub log_start_offset: Offset,
    /// Bytes that this partition may give.
    pub max_bytes: i32,
    /// Directory of the follower (v17), zero for none.
    pub replica_directory_id: Uuid,
    /// High watermark that the follower has (v18), [`UNKNOWN_HIGH_WATERMARK`] if it does not say.
    pub high_watermark: Offset,
}

/// Partitions of a topic that a session shall no longer read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ForgottenTopic<'a> {
    /// Its name, up to v12; empty after.
    pub name: Cow<'a, str>,
    /// Its id, from v13; zero before.
    pub id: Uuid,
    /// The partitions.
    pub partitions: Vec<PartitionIndex>,
}

impl Default for FetchRequest<'_> {
    /// A consumer without a session that wants nothing yet.
    fn default() -> Self {
        FetchRequest {
            cluster_id: None,
            replica_id: -1,
            replica_epoch: -1,
            max_wait_ms: 0,
            min_bytes: 0,
            max_bytes: i32::MAX,
            isolation_level: 0,
            session_id: 0,
            session_epoch: -1,
            topics: Vec::new(),
            forgotten: Vec::new(),
            rack_id: Cow::Borrowed(""),
        }
    }
}

impl FetchPartition {
    /// A consumer's wish, without epochs.
    #[must_use]
    pub fn new(index: PartitionIndex, fetch_offset: Offset, max_bytes: i32) -> FetchPartition {
        FetchPartition {
            index,
            current_leader_epoch: NO_EPOCH,
            fetch_offset,
            last_fetched_epoch: NO_EPOCH,
            log_start_offset: -1,
            max_bytes,
            replica_directory_id: Uuid::ZERO,
            high_watermark: UNKNOWN_HIGH_WATERMARK,
        }
    }

    fn read(version: i16, reader: &mut Reader<'_>) -> Result<FetchPartition, WireError> {
        let mut partition = FetchPartition::new(reader.i32()?, -1, 0);
        if version >= LEADER_EPOCH_FROM {
            partition.current_leader_epoch = reader.i32()?;
        }
        partition.fetch_offset = reader.i64()?;
        if version >= LAST_FETCHED_EPOCH_FROM {
            partition.last_fetched_epoch = reader.i32()?;
        }
        if version >= LOG_START_FROM {
            partition.log_start_offset = reader.i64()?;
        }
        partition.max_bytes = reader.i32()?;
        reader.tags(|tag, field| {
            match tag {
                DIRECTORY_TAG if version >= DIRECTORY_FROM => partition.replica_directory_id = field.uuid()?,
                HIGH_WATERMARK_TAG if version >= HIGH_WATERMARK_FROM => partition.high_watermark = field.i64()?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(partition)
    }

    fn write(&self, version: i16, out: &mut Writer) {
        out.i32(self.index);
        if version >= LEADER_EPOCH_FROM {
            out.i32(self.current_leader_epoch);
        }
        out.i64(self.fetch_offset);
        if version >= LAST_FETCHED_EPOCH_FROM {
            out.i32(self.last_fetched_epoch);
        }
        if version >= LOG_START_FROM {
            out.i64(self.log_start_offset);
        }
        out.i32(self.max_bytes);
        let directory = version >= DIRECTORY_FROM && !self.replica_directory_id.is_zero();
        let high_watermark = version >= HIGH_WATERMARK_FROM && self.high_watermark != UNKNOWN_HIGH_WATERMARK;
        out.tag_count(usize::from(directory) + usize::from(high_watermark));
        if directory {
            out.tag(DIRECTORY_TAG, |out| out.uuid(self.replica_directory_id));
        }
        if high_watermark {
            out.tag(HIGH_WATERMARK_TAG, |out| out.i64(self.high_watermark));
        }
    }
}

impl<'a> FetchRequest<'a> {
    /// Reads a body; bytes behind it are ignored, as Kafka does.
    ///
    /// # Errors
    /// `Version`, or a body that is not one: Kafka closes the connection.
    pub fn decode(version: i16, body: &'a [u8]) -> Result<FetchRequest<'a>, WireError> {
        check_version(version, VERSION_MIN, VERSION_MAX)?;
        let mut reader = Reader::new(body, Form::of(ApiKey::FETCH.is_flexible(version)));
        let mut request = FetchRequest::default();
        if version < REPLICA_STATE_FROM {
            request.replica_id = reader.i32()?;
        }
        request.max_wait_ms = reader.i32()?;
        request.min_bytes = reader.i32()?;
        request.max_bytes = reader.i32()?;
        request.isolation_level = reader.i8()?;
        if version >= SESSIONS_FROM {
            request.session_id = reader.i32()?;
            request.session_epoch = reader.i32()?;
        }
        request.topics = reader.array(TOPIC_BYTES_MIN, |reader| {
            let (name, id) = read_topic(reader, version)?;
            let partitions = reader.array(PARTITION_BYTES_MIN, |reader| FetchPartition::read(version, reader))?;
            reader.skip_tags()?;
            Ok(FetchTopic { name, id, partitions })
        })?;
        if version >= SESSIONS_FROM {
            request.forgotten = reader.array(TOPIC_BYTES_MIN, |reader| {
                let (name, id) = read_topic(reader, version)?;
                let partitions = reader.array(4, Reader::i32)?;
                reader.skip_tags()?;
                Ok(ForgottenTopic { name, id, partitions })
            })?;
        }
        if version >= RACK_FROM {
            request.rack_id = reader.string()?;
        }
        reader.tags(|tag, field| request.read_tag(version, tag, field))?;
        Ok(request)
    }

    fn read_tag(&mut self, version: i16, tag: u32, field: &mut Reader<'a>) -> Result<(), WireError> {
        match tag {
            CLUSTER_ID_TAG => self.cluster_id = field.nullable_string()?,
            REPLICA_STATE_TAG if version >= REPLICA_STATE_FROM => {
                self.replica_id = field.i32()?;
                self.replica_epoch = field.i64()?;
                field.skip_tags()?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Writes the body. What the version does not have is left out.
    ///
    /// # Panics
    /// If there is no codec for the version.
    pub fn encode(&self, version: i16, out: &mut Writer) {
        check_version(version, VERSION_MIN, VERSION_MAX).expect("a caller picks a version that both sides know");
        if version < REPLICA_STATE_FROM {
            out.i32(self.replica_id);
        }
        out.i32(self.max_wait_ms);
        out.i32(self.min_bytes);
        out.i32(self.max_bytes);
        out.i8(self.isolation_level);
        if version >= SESSIONS_FROM {
            out.i32(self.session_id);
            out.i32(self.session_epoch);
        }
        out.array(&self.topics, |out, topic| {
            write_topic(out, version, &topic.name, topic.id);
            out.array(&topic.partitions, |out, partition| partition.write(version, out));
            out.no_tags();
        });
        if version >= SESSIONS_FROM {
            out.array(&self.forgotten, |out, topic| {
                write_topic(out, version, &topic.name, topic.id);
                out.array(&topic.partitions, |out, &index| out.i32(index));
                out.no_tags();
            });
        }
        if version >= RACK_FROM {
            out.string(&self.rack_id);
        }
        self.write_tags(version, out);
    }

    fn write_tags(&self, version: i16, out: &mut Writer) {
        if !ApiKey::FETCH.is_flexible(version) {
            return;
        }
        let replica = version >= REPLICA_STATE_FROM && (self.replica_id, self.replica_epoch) != (-1, -1);
        out.tag_count(usize::from(self.cluster_id.is_some()) + usize::from(replica));
        if let Some(cluster_id) = &self.cluster_id {
            out.tag(CLUSTER_ID_TAG, |out| out.string(cluster_id));
        }
        if replica {
            out.tag(REPLICA_STATE_TAG, |out| {
                out.i32(self.replica_id);
                out.i64(self.replica_epoch);
                out.no_tags();
            });
        }
    }
}
