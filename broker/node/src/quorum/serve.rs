//! What this node answers the others of the quorum.
//!
//! Holds: a request that names another directory than ours changes nothing; a node without a log and without a founding set
//! that names it gives no vote; chunks of a snapshot are taken in their order alone, so that memory grows with what came.
//!
//! Read next: rpc (the bytes), first_start, members (what joining means).

use ballast_wire::frame::ApiKey;
use openraft::error::{CheckIsLeaderError, InstallSnapshotError, RaftError};
use openraft::raft::{AppendEntriesResponse, VoteRequest};
use tokio::time::Instant;

use super::codec::{CodecError, Reader};
use super::handle::Quorum;
use super::rpc::{self, Ask, Joining, Refused, Snapshot};
use super::types::NodeId;

/// The largest snapshot that is taken from a leader, in bytes.
const SNAPSHOT_BYTES_MAX: u64 = 4 << 30;

/// How far a snapshot has come in.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    name: String,
    next: u64,
}

impl Incoming {
    /// Where this chunk goes, or the offset that is wanted instead.
    fn admit(&mut self, chunk: &Snapshot) -> Result<(), Refused> {
        if chunk.offset == 0 {
            *self = Incoming { name: chunk.meta.snapshot_id.clone(), next: 0 };
        }
        let wanted = if self.name == chunk.meta.snapshot_id { self.next } else { 0 };
        let end = chunk.offset.saturating_add(chunk.data.len() as u64);
        if chunk.offset != wanted || end > SNAPSHOT_BYTES_MAX {
            return Err(Refused::Chunk(wanted));
        }
        self.next = end;
        Ok(())
    }
}

fn stopped<E: std::fmt::Display>(error: E) -> Refused {
    Refused::NotNow(error.to_string())
}

impl Quorum {
    /// Answers a request of another node: the body of the answer.
    ///
    /// # Errors
    /// The request is not one: the sender is not of this quorum, or newer.
    pub(crate) async fn answer(&self, key: ApiKey, body: &[u8]) -> Result<Vec<u8>, CodecError> {
        let mut reader = Reader(body);
        let ask = Ask::read(&mut reader)?;
        let outcome = match ask.to {
            Some(to) if to != self.me => Err(Refused::WrongNode(self.me)),
            _ => self.carry_out(key, &ask, reader).await?,
        };
        Ok(rpc::answer(outcome))
    }

    async fn carry_out(
        &self,
        key: ApiKey,
        ask: &Ask,
        mut reader: Reader<'_>,
    ) -> Result<Result<Vec<u8>, Refused>, CodecError> {
        let mut out = Vec::new();
        if matches!(key, rpc::APPEND | rpc::SNAPSHOT) {
            *self.counted_at.lock() = Instant::now();
        }
        let done = match key {
            rpc::APPEND => {
                let append = rpc::append_of(&mut reader)?;
                reader.finish()?;
                let leader = append.vote.leader_id.node_id;
                let appended = self.raft.append_entries(append).await.map_err(stopped);
                appended.map(|appended| {
                    if !matches!(appended, AppendEntriesResponse::HigherVote(_)) {
                        self.signs.heard(leader);
                    }
                    rpc::put_appended(&mut out, &appended);
                })
            }
            rpc::VOTE => {
                let ballot = rpc::ballot_of(&mut reader)?;
                reader.finish()?;
                self.vote(ballot, &mut out).await
            }
            rpc::SNAPSHOT => self.install(rpc::snapshot_of(&mut reader)?, &mut out).await,
            rpc::IDENTIFY => {
                reader.finish()?;
                let identity = self.identity().await;
                identity.put(&mut out);
                Ok(())
            }
            rpc::FIRST_VOTERS => {
                let voters = reader.nodes()?;
                reader.finish()?;
                self.found(voters).await
            }
            rpc::JOIN => {
                let joining = Joining::read(&mut reader)?;
                reader.finish()?;
                self.join_as_learner(ask.from, joining).await
            }
            rpc::READ_INDEX => {
                reader.finish()?;
                self.read_index().await.map(|index| out.extend_from_slice(&index.to_be_bytes()))
            }
            ApiKey(other) => {
                return Err(CodecError::BadValue {
                    what: "a key of the quorum",
                    value: u64::from(other.cast_unsigned()),
                });
            }
        };
        Ok(done.map(|()| out))
    }

    async fn vote(&self, ballot: VoteRequest<NodeId>, out: &mut Vec<u8>) -> Result<(), Refused> {
        let is_named = || self.held.voters().is_some_and(|voters| voters.contains_key(&self.me));
        if !self.raft.is_initialized().await.map_err(stopped)? && !is_named() {
            return Err(Refused::NotNow("a node without a log and without a founding set does not vote".to_owned()));
        }
        let voted = self.raft.vote(ballot).await.map_err(stopped)?;
        rpc::put_voted(out, &voted);
        Ok(())
    }

    async fn install(&self, chunk: Snapshot, out: &mut Vec<u8>) -> Result<(), Refused> {
        self.incoming.lock().admit(&chunk)?;
        self.signs.heard(chunk.vote.leader_id.node_id);
        match self.raft.install_snapshot(chunk).await {
            Ok(installed) => {
                super::codec::put_vote(out, &installed.vote);
                Ok(())
            }
            Err(RaftError::APIError(InstallSnapshotError::SnapshotMismatch(mismatch))) => {
                Err(Refused::Chunk(mismatch.expect.offset))
            }
            Err(error) => Err(stopped(error)),
        }
    }

    /// Index up to which everything is committed, told by a leader that has just made sure that it leads.
    pub(super) async fn read_index(&self) -> Result<u64, Refused> {
        if self.raft.metrics().borrow().current_leader == Some(self.me) && !*self.leads().borrow() {
            // One that restarts within its term may have forgotten how far its log was committed.
            return Err(Refused::NotNow("the leader has not applied yet what was committed before it".to_owned()));
        }
        match self.raft.get_read_log_id().await {
            Ok((read, _)) => Ok(read.map_or(0, |read| read.index)),
            Err(RaftError::APIError(CheckIsLeaderError::ForwardToLeader(leader))) => {
                Err(Refused::NotLeader(leader.leader_id.zip(leader.leader_node)))
            }
            Err(error) => Err(stopped(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use openraft::LeaderId;

    use super::super::machine::snapshot_meta;
    use super::super::types::{LogId, StoredMembership, Vote};
    use super::*;

    fn chunk(index: u64, offset: u64, len: usize) -> Snapshot {
        let leader_id = LeaderId::new(1, NodeId::from(1));
        let meta = snapshot_meta(Some(LogId { leader_id, index }), &StoredMembership::default());
        Snapshot { vote: Vote { leader_id, committed: true }, meta, offset, data: vec![0; len], done: false }
    }

    #[test]
    fn chunks_are_taken_in_their_order_and_from_the_start_again() {
        let mut incoming = Incoming::default();
        assert_eq!(incoming.admit(&chunk(7, 10, 5)), Err(Refused::Chunk(0)), "nothing came before");
        assert_eq!(incoming.admit(&chunk(7, 0, 10)), Ok(()));
        assert_eq!(incoming.admit(&chunk(7, 11, 5)), Err(Refused::Chunk(10)), "a hole");
        assert_eq!(incoming.admit(&chunk(7, 10, 5)), Ok(()));
        assert_eq!(incoming.admit(&chunk(8, 15, 5)), Err(Refused::Chunk(0)), "another snapshot");
        assert_eq!(incoming.admit(&chunk(7, 0, 10)), Ok(()), "from the start again");
        assert_eq!(incoming.admit(&chunk(7, 10, 1)), Ok(()));
    }

    #[test]
    fn an_offset_that_lies_costs_no_memory() {
        let mut incoming = Incoming::default();
        assert_eq!(incoming.admit(&chunk(7, u64::MAX, 5)), Err(Refused::Chunk(0)));
    }
}
