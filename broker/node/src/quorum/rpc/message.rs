//! The bytes of each request and answer. All integers are big endian; ids, positions and memberships as in `codec`.
//!
//! ```text
//! append   := vote | previous (option log id) | committed (option log id) | count u32 | entry*
//! entry    := log id | 0 blank · 1 records: length u32, bytes · 2 membership
//!  answer  := 0 success · 1 up to (option log id) · 2 conflict · 3 higher vote
//! vote     := vote | last (option log id)                        answer := vote | granted u8 | last (option log id)
//! snapshot := vote | last (option log id) | membership with its log id | offset u64 | done u8 | bytes to the end
//!  answer  := vote
//! identify := nothing        answer := node id | voters that are held: 0 | 1, node ids with addresses | may vote u8
//! join     := address | cluster id: 0 | 1, 16 bytes | may vote u8 | nothing, or the address of its listener, if another
//! voters   := node ids with addresses      read index := nothing, answer := index u64
//! pre-vote := last (option log id)                               answer := granted u8 | last (option log id)
//! ```
//! Holds: a term above i32::MAX, which no log can keep, is refused here.

use std::collections::BTreeMap;

use ballast_wire::Uuid;
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, VoteRequest, VoteResponse};

use super::super::codec::{
    CodecError, Reader, put_count, put_log_id, put_membership, put_node, put_node_id, put_nodes, put_option,
    put_stored_membership, put_vote,
};
use super::super::entry::{Entry, Payload};
use super::super::machine::snapshot_meta;
use super::super::types::{LogId, NodeId, QuorumNode, TypeConfig, Vote};

pub(in super::super) type Append = AppendEntriesRequest<TypeConfig>;
pub(in super::super) type Snapshot = InstallSnapshotRequest<TypeConfig>;
/// Voters with their addresses.
pub(in super::super) type Voters = BTreeMap<NodeId, QuorumNode>;

/// Whom a request is for, and whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Ask {
    /// Who shall answer; `None` for whoever is there.
    pub(in super::super) to: Option<NodeId>,
    pub(in super::super) from: NodeId,
}

impl Ask {
    /// The bytes of a request.
    pub(in super::super) fn with(&self, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(payload.len() + 64);
        put_option(&mut out, self.to.as_ref(), put_node_id);
        put_node_id(&mut out, &self.from);
        out.extend_from_slice(payload);
        out
    }

    pub(in super::super) fn read(reader: &mut Reader<'_>) -> Result<Ask, CodecError> {
        Ok(Ask { to: reader.option(Reader::node_id)?, from: reader.node_id()? })
    }
}

/// Who a node is, and whose founding voters it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Identity {
    pub(in super::super) id: NodeId,
    pub(in super::super) held: Option<Voters>,
    /// Not so for a node that is a broker alone.
    pub(in super::super) may_vote: bool,
}

impl Identity {
    pub(in super::super) fn put(&self, out: &mut Vec<u8>) {
        put_node_id(out, &self.id);
        put_option(out, self.held.as_ref(), put_nodes);
        out.push(u8::from(self.may_vote));
    }

    pub(in super::super) fn read(reader: &mut Reader<'_>) -> Result<Identity, CodecError> {
        Ok(Identity { id: reader.node_id()?, held: reader.option(Reader::nodes)?, may_vote: reader.bool()? })
    }
}

/// A node that wants to be taken in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Joining {
    /// Where its controller listener is.
    pub(in super::super) at: QuorumNode,
    /// The cluster that its metadata is of, once it has some.
    pub(in super::super) cluster: Option<Uuid>,
    /// Not so for a node that is a broker alone.
    pub(in super::super) may_vote: bool,
    /// Where it says itself that it listens, if its settings list it elsewhere; for people. Who reads it may be older.
    pub(in super::super) listens_at: Option<QuorumNode>,
}

impl Joining {
    pub(in super::super) fn put(&self, out: &mut Vec<u8>) {
        put_node(out, &self.at);
        put_option(out, self.cluster.as_ref(), |out, cluster| out.extend_from_slice(&cluster.0));
        out.push(u8::from(self.may_vote));
        if let Some(listens_at) = &self.listens_at {
            put_node(out, listens_at);
        }
    }

    /// Reads to the end.
    pub(in super::super) fn read(reader: &mut Reader<'_>) -> Result<Joining, CodecError> {
        let (at, cluster, may_vote) = (reader.node()?, reader.option(Reader::uuid)?, reader.bool()?);
        let listens_at = if reader.0.is_empty() { None } else { Some(reader.node()?) };
        Ok(Joining { at, cluster, may_vote, listens_at })
    }
}

/// Whether a node would vote, and how far its own log goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct PreVoted {
    pub(in super::super) is_granted: bool,
    pub(in super::super) last: Option<LogId>,
}

impl PreVoted {
    pub(in super::super) fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.is_granted));
        put_last(out, self.last.as_ref());
    }

    pub(in super::super) fn read(reader: &mut Reader<'_>) -> Result<PreVoted, CodecError> {
        Ok(PreVoted { is_granted: reader.bool()?, last: last_of(reader)? })
    }
}

pub(in super::super) fn put_last(out: &mut Vec<u8>, last: Option<&LogId>) {
    put_option(out, last, put_log_id);
}

pub(in super::super) fn last_of(reader: &mut Reader<'_>) -> Result<Option<LogId>, CodecError> {
    reader.option(log_id_of)
}

pub(in super::super) fn put_append(out: &mut Vec<u8>, append: &Append) {
    put_vote(out, &append.vote);
    put_option(out, append.prev_log_id.as_ref(), put_log_id);
    put_option(out, append.leader_commit.as_ref(), put_log_id);
    put_count(out, append.entries.len());
    for entry in &append.entries {
        put_log_id(out, &entry.log_id);
        match &entry.payload {
            Payload::Blank => out.push(0),
            Payload::Records(records) => {
                out.push(1);
                put_count(out, records.len());
                out.extend_from_slice(records);
            }
            Payload::Membership(membership) => {
                out.push(2);
                put_membership(out, membership);
            }
        }
    }
}

pub(in super::super) fn append_of(reader: &mut Reader<'_>) -> Result<Append, CodecError> {
    let vote = vote_of(reader)?;
    let prev_log_id = reader.option(log_id_of)?;
    let leader_commit = reader.option(log_id_of)?;
    let mut entries = Vec::new();
    for _ in 0..reader.u32()? {
        let log_id = log_id_of(reader)?;
        let payload = match reader.u8()? {
            0 => Payload::Blank,
            1 => {
                let length = reader.u32()?;
                Payload::Records(bytes::Bytes::copy_from_slice(reader.take(length as usize)?))
            }
            2 => Payload::Membership(reader.membership()?),
            other => return Err(CodecError::BadValue { what: "a type of entry", value: u64::from(other) }),
        };
        entries.push(Entry { log_id, payload });
    }
    Ok(Append { vote, prev_log_id, entries, leader_commit })
}

pub(in super::super) fn put_appended(out: &mut Vec<u8>, appended: &AppendEntriesResponse<NodeId>) {
    match appended {
        AppendEntriesResponse::Success => out.push(0),
        AppendEntriesResponse::PartialSuccess(upto) => {
            out.push(1);
            put_option(out, upto.as_ref(), put_log_id);
        }
        AppendEntriesResponse::Conflict => out.push(2),
        AppendEntriesResponse::HigherVote(vote) => {
            out.push(3);
            put_vote(out, vote);
        }
    }
}

pub(in super::super) fn appended_of(reader: &mut Reader<'_>) -> Result<AppendEntriesResponse<NodeId>, CodecError> {
    Ok(match reader.u8()? {
        0 => AppendEntriesResponse::Success,
        1 => AppendEntriesResponse::PartialSuccess(reader.option(log_id_of)?),
        2 => AppendEntriesResponse::Conflict,
        3 => AppendEntriesResponse::HigherVote(vote_of(reader)?),
        other => return Err(CodecError::BadValue { what: "an outcome of an append", value: u64::from(other) }),
    })
}

pub(in super::super) fn put_ballot(out: &mut Vec<u8>, ballot: &VoteRequest<NodeId>) {
    put_vote(out, &ballot.vote);
    put_option(out, ballot.last_log_id.as_ref(), put_log_id);
}

pub(in super::super) fn ballot_of(reader: &mut Reader<'_>) -> Result<VoteRequest<NodeId>, CodecError> {
    Ok(VoteRequest { vote: vote_of(reader)?, last_log_id: reader.option(log_id_of)? })
}

pub(in super::super) fn put_voted(out: &mut Vec<u8>, voted: &VoteResponse<NodeId>) {
    put_vote(out, &voted.vote);
    out.push(u8::from(voted.vote_granted));
    put_option(out, voted.last_log_id.as_ref(), put_log_id);
}

pub(in super::super) fn voted_of(reader: &mut Reader<'_>) -> Result<VoteResponse<NodeId>, CodecError> {
    Ok(VoteResponse { vote: vote_of(reader)?, vote_granted: reader.bool()?, last_log_id: reader.option(log_id_of)? })
}

pub(in super::super) fn put_snapshot(out: &mut Vec<u8>, chunk: &Snapshot) {
    put_vote(out, &chunk.vote);
    put_option(out, chunk.meta.last_log_id.as_ref(), put_log_id);
    put_stored_membership(out, &chunk.meta.last_membership);
    out.extend_from_slice(&chunk.offset.to_be_bytes());
    out.push(u8::from(chunk.done));
    out.extend_from_slice(&chunk.data);
}

/// The snapshot's name is made of its position, as everywhere.
pub(in super::super) fn snapshot_of(reader: &mut Reader<'_>) -> Result<Snapshot, CodecError> {
    let vote = vote_of(reader)?;
    let (last, membership) = (reader.option(log_id_of)?, reader.stored_membership()?);
    let (offset, done) = (reader.u64()?, reader.bool()?);
    let data = std::mem::take(&mut reader.0).to_vec();
    Ok(Snapshot { vote, meta: snapshot_meta(last, &membership), offset, data, done })
}

pub(in super::super) fn index_of(reader: &mut Reader<'_>) -> Result<u64, CodecError> {
    reader.u64()
}

pub(in super::super) fn vote_of(reader: &mut Reader<'_>) -> Result<Vote, CodecError> {
    let vote = reader.vote()?;
    check_term(vote.leader_id.term)?;
    Ok(vote)
}

fn log_id_of(reader: &mut Reader<'_>) -> Result<LogId, CodecError> {
    let id = reader.log_id()?;
    check_term(id.leader_id.term)?;
    Ok(id)
}

fn check_term(term: u64) -> Result<(), CodecError> {
    if term <= i32::MAX as u64 { Ok(()) } else { Err(CodecError::BadValue { what: "a term", value: term }) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ballast_wire::Uuid;
    use openraft::LeaderId;

    use super::super::super::types::{Membership, StoredMembership};
    use super::*;

    fn node(node: i32) -> NodeId {
        NodeId { node, directory: Uuid([node as u8; 16]) }
    }

    fn at(term: u64, index: u64) -> LogId {
        LogId { leader_id: LeaderId::new(term, node(2)), index }
    }

    fn vote(term: u64) -> Vote {
        Vote { leader_id: LeaderId::new(term, node(2)), committed: true }
    }

    fn membership() -> Membership {
        let nodes = (1..=3).map(|id| (node(id), QuorumNode { host: format!("host-{id}"), port: 9093 }));
        Membership::new(vec![BTreeSet::from([node(1), node(2)])], nodes.collect::<Voters>())
    }

    fn append(term: u64) -> Append {
        let payloads = [Payload::Blank, Payload::Records(vec![1, 2, 3].into()), Payload::Membership(membership())];
        let entries = payloads.into_iter().zip(7..).map(|(payload, index)| Entry { log_id: at(3, index), payload });
        Append {
            vote: vote(term),
            prev_log_id: Some(at(3, 6)),
            entries: entries.collect(),
            leader_commit: Some(at(2, 5)),
        }
    }

    #[test]
    fn an_append_with_every_type_of_entry_reads_back_and_no_cut_passes() {
        let (mut bytes, sent) = (Vec::new(), append(3));
        put_append(&mut bytes, &sent);
        let mut reader = Reader(&bytes);
        let read = append_of(&mut reader).unwrap();
        reader.finish().unwrap();
        assert_eq!(
            (read.vote, read.prev_log_id, read.leader_commit),
            (sent.vote, sent.prev_log_id, sent.leader_commit)
        );
        assert_eq!(read.entries, sent.entries);
        for cut in 0..bytes.len() {
            assert!(append_of(&mut Reader(&bytes[..cut])).is_err(), "cut at {cut}");
        }
    }

    #[test]
    fn a_term_that_no_log_can_keep_is_refused() {
        let mut bytes = Vec::new();
        put_append(&mut bytes, &append(1 << 31));
        assert!(matches!(append_of(&mut Reader(&bytes)), Err(CodecError::BadValue { what: "a term", .. })));
    }

    #[test]
    fn a_count_of_entries_that_lies_costs_no_memory() {
        let mut bytes = Vec::new();
        put_append(&mut bytes, &Append { entries: Vec::new(), ..append(3) });
        let end = bytes.len();
        bytes[end - 4..].copy_from_slice(&[0xff; 4]);
        assert!(matches!(append_of(&mut Reader(&bytes)), Err(CodecError::Short { .. })));
    }

    #[test]
    fn who_joins_says_where_it_listens_only_if_that_is_elsewhere() {
        let address = |port| QuorumNode { host: "a".to_owned(), port };
        let joining = Joining { at: address(7), cluster: Some(Uuid([3; 16])), may_vote: true, listens_at: None };
        for joining in [joining.clone(), Joining { listens_at: Some(address(8)), ..joining }] {
            let mut bytes = Vec::new();
            joining.put(&mut bytes);
            let mut reader = Reader(&bytes);
            assert_eq!(Joining::read(&mut reader).unwrap(), joining);
            reader.finish().unwrap();
        }
    }

    #[test]
    fn votes_chunks_and_identities_read_back() {
        let ballot = VoteRequest { vote: vote(4), last_log_id: Some(at(3, 9)) };
        let voted = VoteResponse { vote: vote(4), vote_granted: true, last_log_id: None };
        let stored = StoredMembership::new(Some(at(1, 1)), membership());
        let meta = snapshot_meta(Some(at(3, 9)), &stored);
        let chunk = Snapshot { vote: vote(4), meta, offset: 10, data: vec![1, 2], done: true };
        let voters: Voters = membership().nodes().map(|(id, node)| (*id, node.clone())).collect();
        let identity = Identity { id: node(1), held: Some(voters), may_vote: false };
        let pre_voted = PreVoted { is_granted: true, last: Some(at(3, 9)) };
        let mut bytes = Vec::new();
        pre_voted.put(&mut bytes);
        put_ballot(&mut bytes, &ballot);
        put_voted(&mut bytes, &voted);
        identity.put(&mut bytes);
        put_snapshot(&mut bytes, &chunk);
        let mut reader = Reader(&bytes);
        assert_eq!(PreVoted::read(&mut reader).unwrap(), pre_voted);
        assert_eq!(ballot_of(&mut reader).unwrap(), ballot);
        assert_eq!(voted_of(&mut reader).unwrap(), voted);
        assert_eq!(Identity::read(&mut reader).unwrap(), identity);
        assert_eq!(snapshot_of(&mut reader).unwrap(), chunk);
        for outcome in [
            AppendEntriesResponse::Success,
            AppendEntriesResponse::PartialSuccess(Some(at(1, 2))),
            AppendEntriesResponse::Conflict,
            AppendEntriesResponse::HigherVote(vote(9)),
        ] {
            let mut bytes = Vec::new();
            put_appended(&mut bytes, &outcome);
            assert_eq!(appended_of(&mut Reader(&bytes)).unwrap(), outcome);
        }
    }
}
