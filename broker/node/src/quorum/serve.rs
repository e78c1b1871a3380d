//! What this node answers the others of the quorum.
//!
//! Holds: a request that names another directory than ours changes nothing; a node without a log and without a founding set
//! that names it gives no vote. What could not be a leader's changes nothing (admit), and a snapshot is decoded, written and
//! synced before openraft drops the entries that it covers.
//!
//! Read next: rpc (the bytes), admit (what is refused), first_start, members (what joining means).

use std::time::Duration;

use ballast_wire::frame::ApiKey;
use openraft::ServerState;
use openraft::error::{CheckIsLeaderError, RaftError};
use openraft::raft::{AppendEntriesResponse, VoteRequest};
use tokio::time::Instant;

use super::admit::{self, Known};
use super::codec::{CodecError, Reader, put_vote};
use super::error::QuorumError;
use super::handle::Quorum;
use super::leadership;
use super::machine::received;
use super::rpc::{self, Append, Ask, Joining, PreVoted, Refused, Snapshot};
use super::types::{LogId, NodeId, QuorumNode};

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
        let done = match key {
            rpc::APPEND => {
                let append = rpc::append_of(&mut reader)?;
                reader.finish()?;
                self.append(append, ask.from, &mut out).await
            }
            rpc::VOTE => {
                let ballot = rpc::ballot_of(&mut reader)?;
                reader.finish()?;
                self.vote(ballot, ask.from, &mut out).await
            }
            rpc::PRE_VOTE => {
                let last = rpc::last_of(&mut reader)?;
                reader.finish()?;
                self.pre_vote(last).await.map(|pre_voted| pre_voted.put(&mut out))
            }
            rpc::SNAPSHOT => self.install(rpc::snapshot_of(&mut reader)?, ask.from, &mut out).await,
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

    async fn append(&self, mut append: Append, from: NodeId, out: &mut Vec<u8>) -> Result<(), Refused> {
        let leader = append.vote.leader_id.node_id;
        let admitted = admit::append(&mut append, from, &self.known(leader).await?);
        self.tell_refusal(from, admitted)?;
        let now = Instant::now();
        *self.counted_at.lock() = now;
        self.incoming.lock().rest(now);
        let appended = self.raft.append_entries(append).await.map_err(stopped)?;
        if !matches!(appended, AppendEntriesResponse::HigherVote(_)) {
            self.signs.heard(leader);
        }
        rpc::put_appended(out, &appended);
        Ok(())
    }

    /// Tells people, from time to time, of what no honest node of this version would send.
    fn tell_refusal(&self, from: NodeId, admitted: Result<(), Refused>) -> Result<(), Refused> {
        if let Err(Refused::Never(why)) = &admitted
            && self.refusals.admit(Instant::now()).is_some()
        {
            tracing::warn!(%from, "what another node of the metadata quorum sent is refused: {why}");
        }
        admitted
    }

    /// What this node knows as `of` speaks.
    async fn known(&self, of: NodeId) -> Result<Known, Refused> {
        let is_named = self.held.voters().is_some_and(|voters| voters.contains_key(&of))
            || self.reach.as_ref().is_some_and(|reach| reach.network().listed.contains_key(&of.node));
        let seen = move |state: &openraft::RaftState<_, _, _>| {
            let members = &state.membership_state;
            let votes = |membership: &openraft::EffectiveMembership<NodeId, QuorumNode>| {
                membership.membership().voter_ids().any(|voter| voter == of)
            };
            let is_voter = is_named || votes(members.effective()) || votes(members.committed());
            (*state.vote_ref(), state.vote_last_modified(), state.committed, is_voter)
        };
        let (vote, touched, committed, is_voter) = self.raft.with_raft_state(seen).await.map_err(stopped)?;
        let lease = self.timers.lease();
        let is_recent = |at: Instant| Instant::now().saturating_duration_since(at) <= lease;
        let hears_leader = if vote.leader_id.node_id == self.me {
            let metrics = self.raft.metrics();
            let seen = metrics.borrow();
            let acked = seen.millis_since_quorum_ack.map(Duration::from_millis);
            seen.state == ServerState::Leader && acked.is_some_and(|ago| ago <= lease)
        } else {
            vote.committed && touched.is_some_and(is_recent)
        };
        Ok(Known { me: self.me, vote, committed, hears_leader, is_voter })
    }

    async fn vote(&self, ballot: VoteRequest<NodeId>, from: NodeId, out: &mut Vec<u8>) -> Result<(), Refused> {
        self.may_give_a_vote().await?;
        let admitted = admit::ballot(&ballot, from, &self.known(ballot.vote.leader_id.node_id).await?);
        self.tell_refusal(from, admitted)?;
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

    async fn install(&self, chunk: Snapshot, from: NodeId, out: &mut Vec<u8>) -> Result<(), Refused> {
        let (vote, leader) = (chunk.vote, chunk.vote.leader_id.node_id);
        let known = self.known(leader).await?;
        self.tell_refusal(from, admit::chunk(&chunk, from, &known))?;
        if vote < known.vote {
            put_vote(out, &known.vote);
            return Ok(());
        }
        let now = Instant::now();
        let whole = self.incoming.lock().take(chunk, now)?;
        *self.counted_at.lock() = now;
        self.signs.heard(leader);
        let Some((meta, image)) = whole else {
            put_vote(out, &known.vote);
            return Ok(());
        };
        // The vote is kept first: a log that reaches further than it would be nobody's.
        let sign = Append { vote, prev_log_id: None, entries: Vec::new(), leader_commit: None };
        if let AppendEntriesResponse::HigherVote(newer) = self.raft.append_entries(sign).await.map_err(stopped)? {
            put_vote(out, &newer);
            return Ok(());
        }
        let image = match self.machine.keep(&meta, image).await {
            Ok(image) => image,
            Err(error @ (QuorumError::Snapshot(_) | QuorumError::SnapshotIndex { .. })) => {
                return self.tell_refusal(from, Err(Refused::Never(error.to_string())));
            }
            Err(error) => {
                self.fault.keep(error.clone());
                // Whoever watches the quorum sees it end, with this cause.
                drop(self.raft.shutdown().await);
                return Err(stopped(error));
            }
        };
        let installed = self.raft.install_full_snapshot(vote, received(meta, image)).await.map_err(stopped)?;
        put_vote(out, &installed.vote);
        Ok(())
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
