//! What this node answers the others of the quorum.
//!
//! Holds: a request that names another directory than ours changes nothing; a node without a log and without a founding set
//! that names it gives no vote.
//!
//! Read next: rpc (the bytes), first_start, members (what joining means).

use std::time::Duration;

use ballast_wire::frame::ApiKey;
use openraft::error::{CheckIsLeaderError, InstallSnapshotError, RaftError};
use openraft::raft::{AppendEntriesResponse, VoteRequest};
use tokio::time::Instant;

use super::codec::{CodecError, Reader};
use super::handle::Quorum;
use super::leadership;
use super::rpc::{self, Ask, Joining, PreVoted, Refused, Snapshot};
use super::types::{LogId, NodeId};

/// What a node knows that is asked whether it would vote.
#[derive(Clone, Copy, Debug)]
struct Knows {
    last: Option<LogId>,
    /// How long ago the leader that it follows, or is, was last heard of.
    follows_since: Option<Duration>,
    /// It leads, and a majority has answered it within the lease.
    is_followed: bool,
}

impl Knows {
    /// Would it vote for one whose log ends at `asked`? Not while there is a leader, and not for a log that lacks what it has.
    fn would_vote(&self, asked: Option<LogId>, lease: Duration) -> bool {
        let hears_leader = self.is_followed || self.follows_since.is_some_and(|since| since <= lease);
        !hears_leader && asked >= self.last
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
            rpc::PRE_VOTE => {
                let last = rpc::last_of(&mut reader)?;
                reader.finish()?;
                self.pre_vote(last).await.map(|pre_voted| pre_voted.put(&mut out))
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
        self.may_give_a_vote().await?;
        let voted = self.raft.vote(ballot).await.map_err(stopped)?;
        rpc::put_voted(out, &voted);
        Ok(())
    }

    /// What a vote would be answered, without its effect: the term stays, and nothing is promised.
    async fn pre_vote(&self, asked: Option<LogId>) -> Result<PreVoted, Refused> {
        self.may_give_a_vote().await?;
        let seen = |state: &openraft::RaftState<_, _, _>| (*state.vote_ref(), state.vote_last_modified());
        let (vote, touched) = self.raft.with_raft_state(seen).await.map_err(stopped)?;
        let (now, last) = (Instant::now(), self.store.last());
        let knows = Knows {
            last,
            follows_since: touched.filter(|_| vote.committed).map(|at: Instant| now.saturating_duration_since(at)),
            is_followed: leadership::is_followed(&self.raft.metrics().borrow(), self.timers.lease()),
        };
        Ok(PreVoted { is_granted: knows.would_vote(asked, self.timers.lease()), last })
    }

    async fn may_give_a_vote(&self) -> Result<(), Refused> {
        let is_named = || self.held.voters().is_some_and(|voters| voters.contains_key(&self.me));
        if !self.raft.is_initialized().await.map_err(stopped)? && !is_named() {
            return Err(Refused::NotNow("a node without a log and without a founding set does not vote".to_owned()));
        }
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

    use super::*;

    const LEASE: Duration = Duration::from_millis(1_000);

    fn knows(index: u64, follows_since_ms: Option<u64>, is_followed: bool) -> Knows {
        let last = Some(LogId { leader_id: LeaderId::new(1, NodeId::from(1)), index });
        Knows { last, follows_since: follows_since_ms.map(Duration::from_millis), is_followed }
    }

    #[test]
    fn nobody_who_hears_a_leader_or_is_one_would_vote_for_another_whatever_its_log() {
        let (longer, lease) = (knows(9, None, false).last, LEASE);
        assert!(!knows(5, Some(0), false).would_vote(longer, lease));
        assert!(!knows(5, Some(1_000), false).would_vote(longer, lease));
        assert!(knows(5, Some(1_001), false).would_vote(longer, lease));
        assert!(!knows(5, Some(50_000), true).would_vote(longer, lease), "it has led for long, and is followed");
        assert!(knows(5, None, false).would_vote(longer, lease), "it has followed nobody yet");
    }

    #[test]
    fn a_log_that_lacks_something_gets_no_pre_vote_and_an_equal_one_does() {
        let ends_at = |index| knows(index, None, false).last;
        let voter = knows(5, None, false);
        assert!(!voter.would_vote(ends_at(4), LEASE) && !voter.would_vote(None, LEASE));
        assert!(voter.would_vote(ends_at(5), LEASE));
        let later = LogId { leader_id: LeaderId::new(2, NodeId::from(2)), index: 3 };
        assert!(voter.would_vote(Some(later), LEASE), "a later term's entry counts more than many of an earlier one");
    }
}
