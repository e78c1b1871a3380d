//! Bytes of what the quorum stores: ids, positions, votes, memberships. All integers are big endian.
//!
//! ```text
//! node id    := node i32 | directory 16 bytes                 log id := term u64 | node id | index u64
//! vote       := term u64 | node id | is committed u8          option := 0 | 1, then the value
//! membership := version u8 (1) | configs | nodes              config := count u32 | node id*
//! configs    := count u32 | config*                           nodes  := count u32 | (node id | host | port u16)*
//! host       := length u16 | UTF-8
//! ```
//! Holds: reading never fails but with a [`CodecError`], and memory grows with the bytes that are there, not with a count.

use std::collections::{BTreeMap, BTreeSet};

use ballast_wire::Uuid;
use openraft::LeaderId;

use super::types::{LogId, Membership, NodeId, QuorumNode, StoredMembership, Vote};

const MEMBERSHIP_VERSION: u8 = 1;

/// Why bytes are not what they should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// The bytes end too early.
    #[error("cut short: {wanted} bytes wanted, {left} left")]
    Short {
        /// Bytes that are needed next.
        wanted: usize,
        /// Bytes that are there.
        left: usize,
    },
    /// More bytes than the value has.
    #[error("{0} bytes are left over")]
    Trailing(usize),
    /// A number outside its set.
    #[error("{value} is not {what}")]
    BadValue {
        /// What it should be.
        what: &'static str,
        /// What it is.
        value: u64,
    },
    /// Written by a newer Ballast.
    #[error("version {found} of {what} is not known (this version reads {known}): a newer Ballast wrote it")]
    Newer {
        /// Of what.
        what: &'static str,
        /// The version.
        found: u8,
        /// The newest version that is known.
        known: u8,
    },
}

pub(super) fn put_node_id(out: &mut Vec<u8>, id: &NodeId) {
    out.extend_from_slice(&id.node.to_be_bytes());
    out.extend_from_slice(&id.directory.0);
}

pub(super) fn put_log_id(out: &mut Vec<u8>, id: &LogId) {
    out.extend_from_slice(&id.leader_id.term.to_be_bytes());
    put_node_id(out, &id.leader_id.node_id);
    out.extend_from_slice(&id.index.to_be_bytes());
}

pub(super) fn put_option<T>(out: &mut Vec<u8>, value: Option<&T>, put: impl FnOnce(&mut Vec<u8>, &T)) {
    out.push(u8::from(value.is_some()));
    if let Some(value) = value {
        put(out, value);
    }
}

pub(super) fn put_vote(out: &mut Vec<u8>, vote: &Vote) {
    out.extend_from_slice(&vote.leader_id.term.to_be_bytes());
    put_node_id(out, &vote.leader_id.node_id);
    out.push(u8::from(vote.committed));
}

pub(super) fn put_membership(out: &mut Vec<u8>, membership: &Membership) {
    out.push(MEMBERSHIP_VERSION);
    let configs = membership.get_joint_config();
    put_count(out, configs.len());
    for config in configs {
        put_count(out, config.len());
        for id in config {
            put_node_id(out, id);
        }
    }
    put_nodes(out, &membership.nodes().map(|(id, node)| (*id, node.clone())).collect());
}

/// A host longer than its length can say is cut: no name that resolves has more than 255 bytes.
pub(super) fn put_node(out: &mut Vec<u8>, node: &QuorumNode) {
    let end = (0..=node.host.len().min(usize::from(u16::MAX))).rev().find(|end| node.host.is_char_boundary(*end));
    let host = &node.host[..end.unwrap_or(0)];
    out.extend_from_slice(&(host.len() as u16).to_be_bytes());
    out.extend_from_slice(host.as_bytes());
    out.extend_from_slice(&node.port.to_be_bytes());
}

/// Nodes with their addresses: `nodes` of a membership.
pub(super) fn put_nodes(out: &mut Vec<u8>, nodes: &BTreeMap<NodeId, QuorumNode>) {
    put_count(out, nodes.len());
    for (id, node) in nodes {
        put_node_id(out, id);
        put_node(out, node);
    }
}

pub(super) fn put_stored_membership(out: &mut Vec<u8>, stored: &StoredMembership) {
    put_option(out, stored.log_id().as_ref(), put_log_id);
    put_membership(out, stored.membership());
}

pub(super) fn put_count(out: &mut Vec<u8>, count: usize) {
    let count = u32::try_from(count).expect("a quorum has fewer than 2^32 members");
    out.extend_from_slice(&count.to_be_bytes());
}

/// The vote that `bytes` are.
pub(super) fn vote_of(bytes: &[u8]) -> Result<Vote, CodecError> {
    let mut reader = Reader(bytes);
    let vote = reader.vote()?;
    reader.finish()?;
    Ok(vote)
}

/// The log id that `bytes` are.
pub(super) fn log_id_of(bytes: &[u8]) -> Result<LogId, CodecError> {
    let mut reader = Reader(bytes);
    let id = reader.log_id()?;
    reader.finish()?;
    Ok(id)
}

/// Reads from the front of a slice.
#[derive(Debug)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8], CodecError> {
        let (head, tail) = self.0.split_at_checked(len).ok_or(CodecError::Short { wanted: len, left: self.0.len() })?;
        self.0 = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], CodecError> {
        Ok(self.take(N)?.try_into().expect("take gives as many bytes as were asked for"))
    }

    pub(super) fn u8(&mut self) -> Result<u8, CodecError> {
        Ok(self.array::<1>()?[0])
    }

    pub(super) fn bool(&mut self) -> Result<bool, CodecError> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(CodecError::BadValue { what: "a boolean", value: u64::from(other) }),
        }
    }

    fn u16(&mut self) -> Result<u16, CodecError> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    pub(super) fn u32(&mut self) -> Result<u32, CodecError> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64, CodecError> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    pub(super) fn node_id(&mut self) -> Result<NodeId, CodecError> {
        Ok(NodeId { node: i32::from_be_bytes(self.array()?), directory: self.uuid()? })
    }

    pub(super) fn uuid(&mut self) -> Result<Uuid, CodecError> {
        Ok(Uuid(self.array()?))
    }

    pub(super) fn log_id(&mut self) -> Result<LogId, CodecError> {
        let leader_id = LeaderId::new(self.u64()?, self.node_id()?);
        Ok(LogId { leader_id, index: self.u64()? })
    }

    pub(super) fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, CodecError>,
    ) -> Result<Option<T>, CodecError> {
        if self.bool()? { read(self).map(Some) } else { Ok(None) }
    }

    pub(super) fn vote(&mut self) -> Result<Vote, CodecError> {
        let leader_id = LeaderId::new(self.u64()?, self.node_id()?);
        Ok(Vote { leader_id, committed: self.bool()? })
    }

    pub(super) fn membership(&mut self) -> Result<Membership, CodecError> {
        let found = self.u8()?;
        if found != MEMBERSHIP_VERSION {
            return Err(CodecError::Newer { what: "a membership", found, known: MEMBERSHIP_VERSION });
        }
        let mut configs = Vec::new();
        for _ in 0..self.u32()? {
            let mut config = BTreeSet::new();
            for _ in 0..self.u32()? {
                config.insert(self.node_id()?);
            }
            configs.push(config);
        }
        Ok(Membership::new(configs, self.nodes()?))
    }

    pub(super) fn nodes(&mut self) -> Result<BTreeMap<NodeId, QuorumNode>, CodecError> {
        let mut nodes = BTreeMap::new();
        for _ in 0..self.u32()? {
            nodes.insert(self.node_id()?, self.node()?);
        }
        Ok(nodes)
    }

    pub(super) fn stored_membership(&mut self) -> Result<StoredMembership, CodecError> {
        Ok(StoredMembership::new(self.option(Reader::log_id)?, self.membership()?))
    }

    pub(super) fn node(&mut self) -> Result<QuorumNode, CodecError> {
        let length = self.u16()?;
        let host = std::str::from_utf8(self.take(usize::from(length))?)
            .map_err(|_| CodecError::BadValue { what: "the length of a host name", value: u64::from(length) })?;
        Ok(QuorumNode { host: host.to_owned(), port: self.u16()? })
    }

    pub(super) fn finish(self) -> Result<(), CodecError> {
        if self.0.is_empty() { Ok(()) } else { Err(CodecError::Trailing(self.0.len())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(node: i32) -> NodeId {
        NodeId { node, directory: Uuid([node as u8; 16]) }
    }

    fn joint() -> Membership {
        let nodes = (1..=4).map(|id| (node(id), QuorumNode { host: format!("host-{id}"), port: 9093 }));
        Membership::new(
            vec![BTreeSet::from([node(1), node(2)]), BTreeSet::from([node(2), node(3)])],
            nodes.collect::<BTreeMap<_, _>>(),
        )
    }

    #[test]
    fn a_joint_membership_with_a_learner_reads_back() {
        let stored = StoredMembership::new(Some(LogId { leader_id: LeaderId::new(7, node(2)), index: 12 }), joint());
        let mut bytes = Vec::new();
        put_stored_membership(&mut bytes, &stored);
        let mut reader = Reader(&bytes);
        assert_eq!(reader.stored_membership().unwrap(), stored);
        reader.finish().unwrap();
    }

    #[test]
    fn a_membership_that_is_cut_anywhere_is_an_error() {
        let mut bytes = Vec::new();
        put_membership(&mut bytes, &joint());
        for cut in 0..bytes.len() {
            let error = Reader(&bytes[..cut]).membership().unwrap_err();
            assert!(matches!(error, CodecError::Short { .. }), "cut at {cut}: {error}");
        }
    }

    #[test]
    fn a_count_that_lies_costs_no_memory() {
        let bytes = [MEMBERSHIP_VERSION, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(Reader(&bytes).membership().unwrap_err(), CodecError::Short { wanted: 4, left: 0 });
    }

    #[test]
    fn votes_read_back_with_their_directory_and_whether_they_won() {
        for committed in [false, true] {
            let vote = Vote { leader_id: LeaderId::new(u64::MAX, node(-1)), committed };
            let mut bytes = Vec::new();
            put_vote(&mut bytes, &vote);
            assert_eq!(Reader(&bytes).vote().unwrap(), vote);
        }
    }
}
