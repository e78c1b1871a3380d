//! What a group has committed for one partition.
//!
//! ```text
//! v0  offset, metadata, commit ms                         v3  offset, leader epoch, metadata, commit ms
//! v1  offset, metadata, commit ms, expire ms              v4  as 3, compact, tag 0 = topic id
//! v2  offset, metadata, commit ms
//! ```
//! Holds: version 1 has no leader epoch and no topic id, so a commit with a retention of its own loses them, as in Kafka.

use ballast_wire::{LeaderEpoch, Offset, Uuid};

use super::bytes::{Reader, put_compact_string, put_string};
use super::{RecordError, TYPE_OFFSET};

const TAG_TOPIC_ID: u32 = 0;

/// A committed offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommittedOffset {
    /// The next offset to read.
    pub offset: Offset,
    /// Leader epoch of the last record read, -1 if unknown.
    pub leader_epoch: LeaderEpoch,
    /// The client's own text.
    pub metadata: Box<str>,
    /// When, in milliseconds since 1970.
    pub committed_at_ms: i64,
    /// When it expires whatever the group does, if the commit said so (OffsetCommit v2–4).
    pub expires_at_ms: Option<i64>,
    /// The topic's id; zero in records of older brokers.
    pub topic_id: Uuid,
}

impl CommittedOffset {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.size_max());
        if let Some(expires_at_ms) = self.expires_at_ms {
            out.extend_from_slice(&1i16.to_be_bytes());
            out.extend_from_slice(&self.offset.to_be_bytes());
            put_string(&mut out, &self.metadata);
            out.extend_from_slice(&self.committed_at_ms.to_be_bytes());
            out.extend_from_slice(&expires_at_ms.to_be_bytes());
            return out;
        }
        out.extend_from_slice(&4i16.to_be_bytes());
        out.extend_from_slice(&self.offset.to_be_bytes());
        out.extend_from_slice(&self.leader_epoch.to_be_bytes());
        put_compact_string(&mut out, &self.metadata);
        out.extend_from_slice(&self.committed_at_ms.to_be_bytes());
        if self.topic_id.is_zero() {
            out.push(0);
        } else {
            out.extend_from_slice(&[1, TAG_TOPIC_ID as u8, 16]);
            out.extend_from_slice(&self.topic_id.0);
        }
        out
    }

    pub(super) fn size_max(&self) -> usize {
        2 + 8 + 4 + 3 + self.metadata.len() + 8 + 19
    }

    pub(super) fn decode(value: &[u8]) -> Result<CommittedOffset, RecordError> {
        let mut value = Reader(value);
        let version = value.i16()?;
        if !(0..=4).contains(&version) {
            return Err(RecordError::UnknownVersion { kind: TYPE_OFFSET, version });
        }
        let offset = value.i64()?;
        let leader_epoch = if version >= 3 { value.i32()? } else { -1 };
        let metadata = if version >= 4 { value.compact_string()? } else { value.string()? }.into();
        let committed_at_ms = value.i64()?;
        let expires_at_ms = if version == 1 { Some(value.i64()?).filter(|at| *at != -1) } else { None };
        let mut topic_id = Uuid::ZERO;
        if version >= 4 {
            value.tags(|tag, mut field| {
                if tag == TAG_TOPIC_ID {
                    topic_id = field.uuid()?;
                }
                Ok(())
            })?;
        }
        value.finish()?;
        Ok(CommittedOffset { offset, leader_epoch, metadata, committed_at_ms, expires_at_ms, topic_id })
    }
}
