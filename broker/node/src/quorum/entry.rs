//! One entry of the metadata log: a position, and what is agreed on there.

use std::fmt;

use bytes::Bytes;
use openraft::RaftLogId;
use openraft::entry::{FromAppData, RaftEntry, RaftPayload};

use super::types::{LogId, Membership, NodeId, QuorumNode};

/// What an entry says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// Nothing: a new leader's first entry, which commits those before it.
    Blank,
    /// Metadata records, as `ballast_core::image::encode_records` gives them.
    Records(Bytes),
    /// Who votes and who listens from here on.
    Membership(Membership),
}

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its position.
    pub log_id: LogId,
    /// What it says.
    pub payload: Payload,
}

impl Entry {
    /// Bytes that it takes, about: for bounds on memory and on answers.
    pub(crate) fn size_bytes(&self) -> usize {
        const AROUND_BYTES: usize = 128;
        const MEMBER_BYTES: usize = 64;
        AROUND_BYTES
            + match &self.payload {
                Payload::Blank => 0,
                Payload::Records(records) => records.len(),
                Payload::Membership(membership) => membership.nodes().count() * MEMBER_BYTES,
            }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.payload {
            Payload::Blank => write!(f, "{}: blank", self.log_id),
            Payload::Records(records) => write!(f, "{}: {} bytes of records", self.log_id, records.len()),
            Payload::Membership(membership) => write!(f, "{}: {membership}", self.log_id),
        }
    }
}

impl RaftPayload<NodeId, QuorumNode> for Entry {
    fn is_blank(&self) -> bool {
        self.payload == Payload::Blank
    }

    fn get_membership(&self) -> Option<&Membership> {
        match &self.payload {
            Payload::Membership(membership) => Some(membership),
            Payload::Blank | Payload::Records(_) => None,
        }
    }
}

impl RaftLogId<NodeId> for Entry {
    fn get_log_id(&self) -> &LogId {
        &self.log_id
    }

    fn set_log_id(&mut self, log_id: &LogId) {
        self.log_id = *log_id;
    }
}

impl RaftEntry<NodeId, QuorumNode> for Entry {
    fn new_blank(log_id: LogId) -> Entry {
        Entry { log_id, payload: Payload::Blank }
    }

    fn new_membership(log_id: LogId, membership: Membership) -> Entry {
        Entry { log_id, payload: Payload::Membership(membership) }
    }
}

impl FromAppData<Bytes> for Entry {
    fn from_app_data(records: Bytes) -> Entry {
        Entry { log_id: LogId::default(), payload: Payload::Records(records) }
    }
}
