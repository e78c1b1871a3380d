//! What nodes of the quorum ask each other: private keys on the controller listener, and the bytes of each.
//!
//! ```text
//! request := to (option node id) | from node id | what the key says          answer := 0 | what the key says
//! key    20000 append  20001 vote  20002 snapshot chunk  20003 identify           | 1 wrong node: node id that is here
//!        20004 first voters  20005 join  20006 read index  20007 pre-vote         | 2 not leader: option (node id, node)
//! version 0                                                                       | 3 not now: text   4 chunk: offset wanted
//!                                                                                 | 5 never: text     6 in use: text
//! ```
//! Holds: a request that names its receiver is carried out by that directory alone, so that a wiped node is never taken for
//! its former self. Reading fails with a [`CodecError`] alone, and memory grows with the bytes that are there.
//!
//! Read next: message (the bytes), `network` (who asks), `serve` (who answers).

mod message;

use ballast_wire::frame::ApiKey;

use super::codec::{CodecError, Reader, put_node, put_node_id, put_option};
use super::types::{NodeId, QuorumNode};

pub(super) use message::{
    Append, Ask, Identity, Joining, PreVoted, Snapshot, Voters, append_of, appended_of, ballot_of, index_of, last_of,
    put_append, put_appended, put_ballot, put_last, put_snapshot, put_voted, snapshot_of, vote_of, voted_of,
};

/// One version of every private key so far.
pub(crate) const VERSION: i16 = 0;
pub(crate) const APPEND: ApiKey = ApiKey(20_000);
pub(crate) const VOTE: ApiKey = ApiKey(20_001);
pub(crate) const SNAPSHOT: ApiKey = ApiKey(20_002);
pub(crate) const IDENTIFY: ApiKey = ApiKey(20_003);
pub(crate) const FIRST_VOTERS: ApiKey = ApiKey(20_004);
pub(crate) const JOIN: ApiKey = ApiKey(20_005);
pub(crate) const READ_INDEX: ApiKey = ApiKey(20_006);
pub(crate) const PRE_VOTE: ApiKey = ApiKey(20_007);

/// Texts are for people: longer ones are cut.
const TEXT_BYTES_MAX: usize = 1024;

/// Why a node does not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refused {
    /// Another directory answers at this address.
    #[error("{0} answers there")]
    WrongNode(NodeId),
    /// Only the leader can, and this is who leads, if it is known.
    #[error("the node does not lead")]
    NotLeader(Option<(NodeId, QuorumNode)>),
    /// Not in the state that the node is in.
    #[error("{0}")]
    NotNow(String),
    /// And asking again would not help.
    #[error("{0}")]
    Never(String),
    /// Another directory has the node's id, and is alive.
    #[error("{0}")]
    InUse(String),
    /// A chunk of a snapshot that does not continue the last one.
    #[error("a snapshot's chunk at {0} is wanted")]
    Chunk(u64),
}

/// The bytes of an answer.
pub(super) fn answer(outcome: Result<Vec<u8>, Refused>) -> Vec<u8> {
    let mut out = Vec::new();
    match outcome {
        Ok(payload) => {
            out.push(0);
            out.extend_from_slice(&payload);
        }
        Err(Refused::WrongNode(id)) => {
            out.push(1);
            put_node_id(&mut out, &id);
        }
        Err(Refused::NotLeader(leader)) => {
            out.push(2);
            put_option(&mut out, leader.as_ref(), |out, (id, node)| {
                put_node_id(out, id);
                put_node(out, node);
            });
        }
        Err(Refused::NotNow(text)) => put_text(&mut out, 3, &text),
        Err(Refused::Never(text)) => put_text(&mut out, 5, &text),
        Err(Refused::InUse(text)) => put_text(&mut out, 6, &text),
        Err(Refused::Chunk(offset)) => {
            out.push(4);
            out.extend_from_slice(&offset.to_be_bytes());
        }
    }
    out
}

fn put_text(out: &mut Vec<u8>, outcome: u8, text: &str) {
    out.push(outcome);
    out.extend_from_slice(&text.as_bytes()[..text.len().min(TEXT_BYTES_MAX)]);
}

/// What an answer says.
pub(super) fn outcome_of<T>(
    bytes: &[u8],
    read: impl FnOnce(&mut Reader<'_>) -> Result<T, CodecError>,
) -> Result<Result<T, Refused>, CodecError> {
    let mut reader = Reader(bytes);
    let text = |reader: &mut Reader<'_>| String::from_utf8_lossy(std::mem::take(&mut reader.0)).into_owned();
    let outcome = match reader.u8()? {
        0 => Ok(read(&mut reader)?),
        1 => Err(Refused::WrongNode(reader.node_id()?)),
        2 => Err(Refused::NotLeader(reader.option(|reader| Ok((reader.node_id()?, reader.node()?)))?)),
        3 => Err(Refused::NotNow(text(&mut reader))),
        4 => Err(Refused::Chunk(reader.u64()?)),
        5 => Err(Refused::Never(text(&mut reader))),
        6 => Err(Refused::InUse(text(&mut reader))),
        other => return Err(CodecError::BadValue { what: "an outcome", value: u64::from(other) }),
    };
    reader.finish()?;
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use ballast_wire::Uuid;

    use super::*;

    #[test]
    fn every_outcome_reads_back_and_is_an_error_when_it_is_cut() {
        let id = NodeId { node: 3, directory: Uuid([9; 16]) };
        let node = QuorumNode { host: "a".to_owned(), port: 1 };
        let outcomes = [
            Ok(vec![7, 8]),
            Err(Refused::WrongNode(id)),
            Err(Refused::NotLeader(Some((id, node)))),
            Err(Refused::NotLeader(None)),
            Err(Refused::Chunk(5)),
        ];
        for outcome in outcomes {
            let bytes = answer(outcome.clone());
            let read = |bytes: &[u8]| outcome_of(bytes, |reader| Ok(reader.take(2)?.to_vec()));
            assert_eq!(read(&bytes), Ok(outcome.clone()));
            for cut in 0..bytes.len() {
                assert!(read(&bytes[..cut]).is_err(), "{outcome:?} cut at {cut}");
            }
        }
        let texts = [Refused::NotNow, Refused::Never, Refused::InUse].map(|refused| refused("why".to_owned()));
        for refused in texts {
            assert_eq!(outcome_of(&answer(Err(refused.clone())), |_| Ok(())), Ok(Err(refused)));
        }
    }
}
