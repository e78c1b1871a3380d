//! A group's generation and its members.
//!
//! ```text
//! protocol type, i32 generation, protocol?, leader?, i64 state ms (v2+), members[
//!   id, instance? (v3+), client id, host, i32 rebalance ms (v1+), i32 session ms, bytes subscription, bytes assignment ]
//! v4: the same, compact, with tags. Written: v3.
//! ```
//! Holds: a group without members has neither protocol nor leader, but keeps its type.

use std::sync::Arc;

use ::bytes::Bytes;

use super::bytes::{Reader, put_bytes, put_nullable, put_string, shared};
use super::{RecordError, TYPE_GROUP};
use crate::group::{Generation, InstanceId, MemberId};

/// A group as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupMetadata {
    /// `consumer`, `connect`, …; empty when nobody has joined yet.
    pub protocol_type: Arc<str>,
    /// Generation.
    pub generation: Generation,
    /// The protocol that was chosen.
    pub protocol: Option<Arc<str>>,
    /// The leader's member id.
    pub leader: Option<MemberId>,
    /// When the group came into its state, in milliseconds since 1970; -1 in records of old brokers.
    pub state_since_ms: i64,
    /// Members.
    pub members: Vec<MemberMetadata>,
}

/// A member as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberMetadata {
    /// Id.
    pub member_id: MemberId,
    /// Of a static member.
    pub instance_id: Option<InstanceId>,
    /// Client id.
    pub client_id: Arc<str>,
    /// `/10.0.0.7`.
    pub client_host: Arc<str>,
    /// -1 in records of very old brokers, where the session timeout counts.
    pub rebalance_timeout_ms: i32,
    /// Session timeout.
    pub session_timeout_ms: i32,
    /// What the member said of itself for the protocol that was chosen.
    pub subscription: Bytes,
    /// What the leader assigned.
    pub assignment: Bytes,
}

impl GroupMetadata {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.size_max());
        out.extend_from_slice(&3i16.to_be_bytes());
        put_string(&mut out, &self.protocol_type);
        out.extend_from_slice(&self.generation.to_be_bytes());
        put_nullable(&mut out, self.protocol.as_deref());
        put_nullable(&mut out, self.leader.as_deref());
        out.extend_from_slice(&self.state_since_ms.to_be_bytes());
        let count = i32::try_from(self.members.len()).expect("a group has fewer than 2^31 members");
        out.extend_from_slice(&count.to_be_bytes());
        for member in &self.members {
            member.encode(&mut out);
        }
        out
    }

    pub(super) fn size_max(&self) -> usize {
        let text = |text: &Option<Arc<str>>| text.as_ref().map_or(0, |text| text.len());
        let fixed = 28 + self.protocol_type.len() + text(&self.protocol) + text(&self.leader);
        fixed + self.members.iter().map(MemberMetadata::size_max).sum::<usize>()
    }

    pub(super) fn decode(value: &[u8]) -> Result<GroupMetadata, RecordError> {
        let mut value = Reader(value);
        let version = value.i16()?;
        if !(0..=4).contains(&version) {
            return Err(RecordError::UnknownVersion { kind: TYPE_GROUP, version });
        }
        let is_compact = version >= 4;
        let protocol_type = if is_compact { value.compact_string()? } else { value.string()? }.into();
        let generation = value.i32()?;
        let protocol = shared(if is_compact { value.compact_nullable()? } else { value.nullable()? });
        let leader = shared(if is_compact { value.compact_nullable()? } else { value.nullable()? });
        let state_since_ms = if version >= 2 { value.i64()? } else { -1 };
        let count = if is_compact { i64::from(value.varint()?) - 1 } else { i64::from(value.i32()?) };
        let mut members = Vec::new();
        for _ in 0..count {
            members.push(MemberMetadata::decode(&mut value, version)?);
        }
        if is_compact {
            value.tags(|_, _| Ok(()))?;
        }
        value.finish()?;
        Ok(GroupMetadata { protocol_type, generation, protocol, leader, state_since_ms, members })
    }
}

impl MemberMetadata {
    fn encode(&self, out: &mut Vec<u8>) {
        put_string(out, &self.member_id);
        put_nullable(out, self.instance_id.as_deref());
        put_string(out, &self.client_id);
        put_string(out, &self.client_host);
        out.extend_from_slice(&self.rebalance_timeout_ms.to_be_bytes());
        out.extend_from_slice(&self.session_timeout_ms.to_be_bytes());
        put_bytes(out, &self.subscription);
        put_bytes(out, &self.assignment);
    }

    fn size_max(&self) -> usize {
        let instance = self.instance_id.as_ref().map_or(0, |id| id.len());
        let texts = self.member_id.len() + instance + self.client_id.len() + self.client_host.len();
        24 + texts + self.subscription.len() + self.assignment.len()
    }

    fn decode(value: &mut Reader<'_>, version: i16) -> Result<MemberMetadata, RecordError> {
        let is_compact = version >= 4;
        let string = |value: &mut Reader<'_>| -> Result<Arc<str>, RecordError> {
            Ok(if is_compact { value.compact_string()? } else { value.string()? }.into())
        };
        let member_id = string(value)?;
        let instance_id = match version {
            ..3 => None,
            3 => shared(value.nullable()?),
            _ => shared(value.compact_nullable()?),
        };
        let (client_id, client_host) = (string(value)?, string(value)?);
        let rebalance_timeout_ms = if version >= 1 { value.i32()? } else { -1 };
        let session_timeout_ms = value.i32()?;
        let bytes = |value: &mut Reader<'_>| if is_compact { value.compact_bytes() } else { value.bytes() };
        let (subscription, assignment) = (bytes(value)?, bytes(value)?);
        if is_compact {
            value.tags(|_, _| Ok(()))?;
        }
        Ok(MemberMetadata {
            member_id,
            instance_id,
            client_id,
            client_host,
            rebalance_timeout_ms,
            session_timeout_ms,
            subscription,
            assignment,
        })
    }
}
