//! How this node reaches the others of the quorum: one link to each address, and what openraft asks over it.
//!
//! ```text
//! openraft ── Peer (one target) ──┐
//! first start, joining, reading ──┴─► Reach ── Link to host:port ── the other's controller listener (serve)
//! ```
//! Holds:
//!   1. A target is a node id with its directory: an answer from another directory at the same address is none.
//!   2. The settings' address of a node wins over the one in the log, which may be older.
//!   3. Nothing here waits for a disk, so signs of life leave while entries are synced.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ballast_net::{Clock, Transport};
use ballast_wire::frame::ApiKey;
use ballast_wire::{BrokerId, Uuid};
use bytes::Bytes;
use openraft::error::{
    InstallSnapshotError, NetworkError, RPCError, RaftError, RemoteError, SnapshotMismatch, Unreachable,
};
use openraft::network::{Backoff, RPCOption};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse, VoteRequest,
    VoteResponse,
};
use openraft::{RaftNetwork, RaftNetworkFactory, SnapshotSegmentId};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::admit::is_within_reach;
use super::codec::{CodecError, Reader};
use super::rpc::{self, Ask, Refused};
use super::signs::{Lost, Signs};
use super::store::Store;
use super::types::{NodeId, QuorumNode, TypeConfig, Vote, next_index};
use crate::net::link::{CLOSED, Link, LinkError, LinkLimits};

/// An answer, or why there is none.
type Answer<T, E = RaftError<NodeId>> = Result<T, RPCError<NodeId, QuorumNode, E>>;

/// How an answer is read.
type Read<T> = fn(&mut Reader<'_>) -> Result<T, CodecError>;

/// The largest answer in bytes: a set of voters.
const ANSWER_BYTES_MAX: usize = 1 << 20;
/// The same for what a client has asked.
const LEISURELY_ANSWER_BYTES_MAX: usize = 64 << 20;
/// How long the answer to a client's request may take, as long as who was asked leads.
const LEISURE: Duration = Duration::from_secs(60);
/// Between two tries to reach a node that is away, the first of them, and from then on.
const RETRY_EVERY: Duration = Duration::from_millis(100);
const RETRIES: usize = 50;
const RETRY_LATER: Duration = Duration::from_millis(500);

/// What a node needs to take part in a quorum of several.
#[derive(Clone)]
pub struct Network {
    /// Where connections go.
    pub transport: Arc<dyn Transport>,
    /// Where the others reach this node.
    pub advertised: QuorumNode,
    /// Where its own listener says that it is: elsewhere than `advertised`, if the settings list another address for it.
    pub listens_at: QuorumNode,
    /// Where the settings say that others are, this node among them.
    pub listed: BTreeMap<BrokerId, QuorumNode>,
    /// Where the settings say that some controller is, whichever.
    pub bootstrap: Vec<QuorumNode>,
    /// The cluster that this node's directory belongs to, if it has been part of one.
    pub cluster: Option<Uuid>,
    /// How long an answer may take.
    pub request_timeout: Duration,
}

/// When another node was last heard of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contact {
    /// Since when, for measuring silence.
    pub(super) at: Instant,
    /// The same for people, in ms since 1970.
    pub(super) at_ms: i64,
    /// When it last had all that this node had, in ms since 1970; -1 if never.
    pub(super) caught_up_ms: i64,
}

/// Why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum AskError {
    #[error(transparent)]
    Link(#[from] LinkError),
    #[error("an answer that makes no sense: {0}")]
    Answer(#[from] CodecError),
    #[error("no answer in time")]
    Silent,
    #[error(transparent)]
    Refused(#[from] Refused),
}

impl AskError {
    /// For people, who know the address that was asked.
    pub(super) fn in_words(&self) -> String {
        const NO_CONTROLLER: &str = "it may be a listener for clients, not for controllers";
        match self {
            // While a link rests, the last failure stands for the next.
            AskError::Link(LinkError::Unreachable { why, .. } | LinkError::Lost { why, .. }) if &**why == CLOSED => {
                format!("closes the connection: {NO_CONTROLLER}")
            }
            AskError::Link(LinkError::Unreachable { why, .. }) => format!("cannot be reached: {why}"),
            AskError::Link(LinkError::Lost { why, .. }) => format!("the connection was lost: {why}"),
            AskError::Answer(why) => format!("an answer that makes no sense ({why}): {NO_CONTROLLER}"),
            AskError::Silent | AskError::Link(LinkError::Crowded) | AskError::Refused(_) => self.to_string(),
        }
    }

    /// For people, with the address that was asked.
    pub(super) fn told_of(&self, at: &QuorumNode) -> String {
        match self {
            AskError::Refused(refused) => format!("{at}: {refused}"),
            other => format!("{at}: {}", other.in_words()),
        }
    }
}

/// What a connection is for: each has one of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lane {
    /// The quorum's own calls, and signs of life.
    Quick,
    /// Requests of clients, which may take long.
    Leisurely,
}

/// The way to every other node. A clone is another handle.
#[derive(Clone)]
pub(super) struct Reach(Arc<Inner>);

struct Inner {
    me: NodeId,
    network: Network,
    clock: Arc<dyn Clock>,
    store: Store,
    links: Mutex<BTreeMap<(QuorumNode, Lane), Arc<Link>>>,
    contacts: Mutex<BTreeMap<NodeId, Contact>>,
    signs: Arc<Signs>,
}

impl Reach {
    pub(super) fn new(me: NodeId, network: Network, clock: Arc<dyn Clock>, store: Store, signs: Arc<Signs>) -> Reach {
        let (links, contacts) = (Mutex::default(), Mutex::default());
        Reach(Arc::new(Inner { me, network, clock, store, links, contacts, signs }))
    }

    pub(super) fn network(&self) -> &Network {
        &self.0.network
    }

    /// Who was heard of, and when.
    pub(super) fn contacts(&self) -> BTreeMap<NodeId, Contact> {
        self.0.contacts.lock().clone()
    }

    /// Where a node is: as the settings say, else as the log says.
    pub(super) fn address_of(&self, id: BrokerId, logged: &QuorumNode) -> QuorumNode {
        self.0.network.listed.get(&id).unwrap_or(logged).clone()
    }

    /// Asks whoever is at `at`, or `to` alone, and gives up after the request timeout.
    pub(super) async fn ask<T>(
        &self,
        key: ApiKey,
        to: Option<NodeId>,
        at: &QuorumNode,
        payload: Vec<u8>,
        read: Read<T>,
    ) -> Result<T, AskError> {
        let limit = self.0.network.request_timeout;
        let asked = self.ask_patiently(key, to, at, payload, read);
        tokio::time::timeout(limit, asked).await.unwrap_or(Err(AskError::Silent))
    }

    /// As [`Reach::ask`], with the time limit left to the caller.
    async fn ask_patiently<T>(
        &self,
        key: ApiKey,
        to: Option<NodeId>,
        at: &QuorumNode,
        payload: Vec<u8>,
        read: Read<T>,
    ) -> Result<T, AskError> {
        let body = Ask { to, from: self.0.me }.with(&payload);
        let link = self.link(at, Lane::Quick);
        let answer = link.ask(key, rpc::VERSION, body.into()).await?;
        Ok(rpc::outcome_of(&answer, read)??)
    }

    /// Asks one of Kafka's APIs of whoever is at `at`.
    pub(super) async fn ask_plainly(
        &self,
        lane: Lane,
        key: ApiKey,
        version: i16,
        at: &QuorumNode,
        body: Bytes,
    ) -> Result<Bytes, LinkError> {
        self.link(at, lane).ask(key, version, body).await
    }

    fn link(&self, at: &QuorumNode, lane: Lane) -> Arc<Link> {
        let Network { transport, request_timeout, .. } = &self.0.network;
        let (patience, answer_bytes_max) = match lane {
            Lane::Quick => (*request_timeout, ANSWER_BYTES_MAX),
            Lane::Leisurely => (LEISURE, LEISURELY_ANSWER_BYTES_MAX),
        };
        let limits = LinkLimits { patience, answer_bytes_max };
        let make = || Arc::new(Link::new(Arc::clone(transport), &at.host, at.port, limits));
        Arc::clone(self.0.links.lock().entry((at.clone(), lane)).or_insert_with(make))
    }

    /// `id` has answered, and then had everything if it is `caught_up`.
    fn heard(&self, id: NodeId, caught_up: bool) {
        let at_ms = self.0.clock.now_ms();
        let mut contacts = self.0.contacts.lock();
        let before = contacts.get(&id).map_or(-1, |contact| contact.caught_up_ms);
        let caught_up_ms = if caught_up { at_ms } else { before };
        contacts.insert(id, Contact { at: Instant::now(), at_ms, caught_up_ms });
    }
}

/// Makes a [`Peer`] for each other member; a node without a network reaches nobody.
pub(super) struct Peers(pub(super) Option<Reach>);

/// One other member.
pub(super) struct Peer {
    id: NodeId,
    way: Option<(Reach, QuorumNode)>,
}

#[derive(Debug, thiserror::Error)]
#[error("node {0} cannot be reached: there is no controller listener")]
struct NoWay(NodeId);

#[derive(Debug, thiserror::Error)]
#[error("node {id} answers with term {term}, which is out of reach of term {ours}")]
struct OutOfReach {
    id: NodeId,
    term: u64,
    ours: u64,
}

impl Peer {
    /// A vote that was answered. openraft would take over its term, as far away as it may be.
    fn believed(&self, reach: &Reach, vote: Vote) -> Result<Vote, NetworkError> {
        let (term, ours) = (vote.leader_id.term, reach.0.store.term());
        if !is_within_reach(term, ours) {
            return Err(NetworkError::new(&OutOfReach { id: self.id, term, ours }));
        }
        Ok(vote)
    }

    fn way(&self) -> Result<(&Reach, &QuorumNode), Unreachable> {
        let way = self.way.as_ref().map(|(reach, at)| (reach, at));
        way.ok_or_else(|| Unreachable::new(&NoWay(self.id)))
    }
}

impl RaftNetworkFactory<TypeConfig> for Peers {
    type Network = Peer;

    async fn new_client(&mut self, target: NodeId, node: &QuorumNode) -> Peer {
        let way = |reach: &Reach| (reach.clone(), reach.address_of(target.node, node));
        Peer { id: target, way: self.0.as_ref().map(way) }
    }
}

/// What openraft does about it: it pauses where nobody is there, and tries again where an answer was lost.
fn failed<E: std::error::Error>(error: AskError) -> RPCError<NodeId, QuorumNode, E> {
    match error {
        AskError::Link(LinkError::Unreachable { .. }) | AskError::Refused(_) => Unreachable::new(&error).into(),
        error => NetworkError::new(&error).into(),
    }
}

/// What a refused vote says about when to stand again. A voter whose leader's lease is not over says nothing about it.
fn why_lost(asked: &VoteRequest<NodeId>, voted: &VoteResponse<NodeId>) -> Option<Lost> {
    if voted.vote_granted {
        return None;
    }
    match voted.last_log_id.cmp(&asked.last_log_id) {
        std::cmp::Ordering::Greater => Some(Lost::Behind),
        std::cmp::Ordering::Less if !voted.vote.committed && voted.vote > asked.vote => Some(Lost::Outbid),
        std::cmp::Ordering::Less | std::cmp::Ordering::Equal => None,
    }
}

impl RaftNetwork<TypeConfig> for Peer {
    async fn append_entries(
        &mut self,
        request: AppendEntriesRequest<TypeConfig>,
        _option: RPCOption,
    ) -> Answer<AppendEntriesResponse<NodeId>> {
        let (reach, at) = self.way()?;
        let sent = request.entries.last().map(|last| last.log_id).or(request.prev_log_id);
        let is_all = next_index(sent.as_ref()) == reach.0.store.bounds().1;
        let mut payload = Vec::new();
        rpc::put_append(&mut payload, &request);
        let asked = reach.ask_patiently(rpc::APPEND, Some(self.id), at, payload, rpc::appended_of);
        let appended = asked.await.map_err(failed)?;
        if let AppendEntriesResponse::HigherVote(vote) = &appended {
            self.believed(reach, *vote)?;
        }
        reach.heard(self.id, is_all && appended.is_success());
        Ok(appended)
    }

    async fn install_snapshot(
        &mut self,
        request: InstallSnapshotRequest<TypeConfig>,
        _option: RPCOption,
    ) -> Answer<InstallSnapshotResponse<NodeId>, RaftError<NodeId, InstallSnapshotError>> {
        let (reach, at) = self.way()?;
        let mut payload = Vec::new();
        rpc::put_snapshot(&mut payload, &request);
        match reach.ask_patiently(rpc::SNAPSHOT, Some(self.id), at, payload, rpc::vote_of).await {
            Ok(vote) => {
                let vote = self.believed(reach, vote)?;
                reach.heard(self.id, false);
                Ok(InstallSnapshotResponse { vote })
            }
            Err(AskError::Refused(Refused::Chunk(offset))) => {
                let id = request.meta.snapshot_id;
                let got = SnapshotSegmentId { id: id.clone(), offset: request.offset };
                let mismatch = SnapshotMismatch { expect: SnapshotSegmentId { id, offset }, got };
                Err(RPCError::RemoteError(RemoteError::new(self.id, RaftError::APIError(mismatch.into()))))
            }
            Err(error) => Err(failed(error)),
        }
    }

    async fn vote(&mut self, request: VoteRequest<NodeId>, _option: RPCOption) -> Answer<VoteResponse<NodeId>> {
        let (reach, at) = self.way()?;
        let mut payload = Vec::new();
        rpc::put_ballot(&mut payload, &request);
        let asked = reach.ask_patiently(rpc::VOTE, Some(self.id), at, payload, rpc::voted_of);
        let voted = asked.await.map_err(failed)?;
        self.believed(reach, voted.vote)?;
        if let Some(why) = why_lost(&request, &voted) {
            reach.0.signs.lost(why);
        }
        Ok(voted)
    }

    fn backoff(&self) -> Backoff {
        Backoff::new(std::iter::repeat_n(RETRY_EVERY, RETRIES).chain(std::iter::repeat(RETRY_LATER)))
    }
}
