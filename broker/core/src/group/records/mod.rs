//! The records of `__consumer_offsets` that classic groups need: what stands in the log, byte for byte as Kafka 4.4 writes it.
//!
//! ```text
//! key    i16 type | fields                      value  i16 version | fields; no value = tombstone
//!  0, 1  group, topic, i32 partition            a committed offset: 0–4 read; 4 written, 1 when it has an expiry of its own
//!  2     group                                  a group's generation and members: 0–4 read, 3 written
//!  other                                        skipped: groups of other protocols (docs/DISK.md)
//! ```
//! Holds:
//!   1. Decoding never panics, and no length or count that it reads sizes memory.
//!   2. What is encoded decodes to itself, except that an expiry of its own leaves no room for leader epoch and topic id.
//!   3. Every string that is encoded is at most 32,767 bytes long; whoever makes a record checks that first.
//!
//! Read next: offset.rs and metadata.rs (the two values), bytes.rs (primitives).

mod bytes;
mod metadata;
mod offset;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use ballast_wire::PartitionIndex;

use self::bytes::{Reader, put_string};
use super::GroupId;

pub use self::bytes::STRING_BYTES_MAX;
pub use self::metadata::{GroupMetadata, MemberMetadata};
pub use self::offset::CommittedOffset;

const TYPE_OFFSET_OLD: i16 = 0;
const TYPE_OFFSET: i16 = 1;
const TYPE_GROUP: i16 = 2;
/// Lengths, deltas and attributes around a record's key and value in a batch, at most.
const FRAME_BYTES_MAX: usize = 32;

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// What a group has committed for a partition.
    Offset {
        /// Group.
        group: GroupId,
        /// Topic.
        topic: Arc<str>,
        /// Partition.
        partition: PartitionIndex,
        /// `None`: nothing any more.
        value: Option<CommittedOffset>,
    },
    /// A group's generation and its members.
    Group {
        /// Group.
        group: GroupId,
        /// `None`: the group is gone.
        value: Option<Box<GroupMetadata>>,
    },
}

/// Why bytes are no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The bytes end before the record does.
    #[error("{wanted} bytes wanted, {left} left")]
    Short {
        /// Bytes that the next field needs.
        wanted: usize,
        /// Bytes that are left.
        left: usize,
    },
    /// More bytes than the record has.
    #[error("{left} bytes too many")]
    Trailing {
        /// How many.
        left: usize,
    },
    /// A length below zero, where no null is allowed, or a varint that does not end.
    #[error("a length makes no sense")]
    BadLength,
    /// A string that is not UTF-8.
    #[error("a string is not UTF-8")]
    NotUtf8,
    /// A value of a version that this broker does not know.
    #[error("a value of type {kind} has version {version}")]
    UnknownVersion {
        /// The key's type.
        kind: i16,
        /// The value's version.
        version: i16,
    },
}

impl Record {
    /// Whose record it is.
    #[must_use]
    pub fn group(&self) -> &GroupId {
        match self {
            Record::Offset { group, .. } | Record::Group { group, .. } => group,
        }
    }

    /// The record's key.
    #[must_use]
    pub fn encode_key(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self {
            Record::Offset { group, topic, partition, .. } => {
                out.extend_from_slice(&TYPE_OFFSET.to_be_bytes());
                put_string(&mut out, group);
                put_string(&mut out, topic);
                out.extend_from_slice(&partition.to_be_bytes());
            }
            Record::Group { group, .. } => {
                out.extend_from_slice(&TYPE_GROUP.to_be_bytes());
                put_string(&mut out, group);
            }
        }
        out
    }

    /// The record's value; `None` for a tombstone.
    #[must_use]
    pub fn encode_value(&self) -> Option<Vec<u8>> {
        match self {
            Record::Offset { value, .. } => value.as_ref().map(CommittedOffset::encode),
            Record::Group { value, .. } => value.as_ref().map(|value| value.encode()),
        }
    }

    /// Bytes that the record takes in a batch, at most.
    #[must_use]
    pub fn size_max(&self) -> usize {
        let (topic, value) = match self {
            Record::Offset { topic, value, .. } => (topic.len(), value.as_ref().map_or(0, CommittedOffset::size_max)),
            Record::Group { value, .. } => (0, value.as_ref().map_or(0, |value| value.size_max())),
        };
        FRAME_BYTES_MAX + self.group().len() + topic + value
    }

    /// Reads a record. `Ok(None)`: of a type that is not ours to read.
    pub fn decode(key: &[u8], value: Option<&[u8]>) -> Result<Option<Record>, RecordError> {
        let mut key = Reader(key);
        let kind = key.i16()?;
        let record = match kind {
            TYPE_OFFSET_OLD | TYPE_OFFSET => {
                let (group, topic, partition) = (key.string()?.into(), key.string()?.into(), key.i32()?);
                let value = value.map(CommittedOffset::decode).transpose()?;
                Record::Offset { group, topic, partition, value }
            }
            TYPE_GROUP => {
                let group = key.string()?.into();
                let value = value.map(GroupMetadata::decode).transpose()?.map(Box::new);
                Record::Group { group, value }
            }
            _ => return Ok(None),
        };
        key.finish()?;
        Ok(Some(record))
    }
}
