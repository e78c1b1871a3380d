//! Becoming a member and keeping the membership true: founding, joining, and the leader's care for those who come back.
//!
//! ```text
//! no log ── lowest listed id: first start (collect, decide, send) ─┐
//!        ── anybody: ask the listed voters to be taken in ─────────┴─► voter or learner ── the leader does the rest
//!                      └── its id is alive elsewhere ─► it says so, and asks less often
//! leader ── learner with a voter's id, whose old directory is silent ─► takes the voter's place
//!        ── learner whose id has come back with another directory, or
//!           of which no broker is registered, and it is silent ──────► leaves
//! ```
//! Whoever hears of no leader for the session timeout asks to be taken in, whatever its log says: it may have been removed
//! while it was away.
//!
//! Holds: a membership changes through the log alone; a voter is replaced only by its own id, and only when its old
//! directory has been silent for the session timeout.
//!
//! Read next: first_start, joining and doors, tend (what the leader changes), waiting and teller (what is said meanwhile).

mod doors;
mod joining;
mod teller;
mod tend;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use ballast_wire::BrokerId;
use openraft::error::{ClientWriteError, InitializeError, RaftError};
use openraft::{ChangeMembers, ServerState};
use tokio::time::{Instant, sleep};

use self::joining::Asked;
use self::teller::Teller;
use self::waiting::Cause;
use super::codec::put_nodes;
use super::error::QuorumError;
use super::first_start::{Decision, Seen, decide};
use super::handle::Quorum;
use super::leadership;
use super::network::Reach;
use super::rpc::{self, Identity, Refused, Voters};
use super::types::{Membership, Metrics, NodeId, QuorumNode};

#[cfg(test)]
pub(super) use self::doors::UNPROVEN_MAX;

/// Between two looks at the membership.
const ROUND: Duration = Duration::from_millis(250);
/// The longest time between two, for a node whose id is in use.
const ROUND_MAX: Duration = Duration::from_secs(2);

/// The node is a member now.
pub(super) struct Joined;

/// What a change of the membership can fail with.
pub(super) type ChangeError = RaftError<NodeId, ClientWriteError<NodeId, QuorumNode>>;

/// Keeps this node a member until the quorum ends. `session_timeout`: silence after which a voter's directory counts as
/// gone when its id has come back with another.
pub(crate) async fn keep_membership(quorum: Arc<Quorum>, session_timeout: Duration) {
    let Some(mut keeper) = Keeper::new(quorum, session_timeout) else { return };
    while keeper.look().await.is_continue() {
        sleep(keeper.pause).await;
    }
}

/// What keeps a node a member, look by look.
pub(super) struct Keeper {
    quorum: Arc<Quorum>,
    reach: Reach,
    session_timeout: Duration,
    began: Instant,
    teller: Teller,
    tending: tend::Tending,
    /// Who was told to lead, and in which term.
    active: Option<(NodeId, u64)>,
    /// Until the next look.
    pause: Duration,
}

/// What became of a round without a leader.
enum Round {
    Done,
    /// Its id is in use, in the leader's words.
    InUse(String),
    Waits(Cause),
}

impl Keeper {
    /// `None` for a quorum of one that nobody reaches.
    pub(super) fn new(quorum: Arc<Quorum>, session_timeout: Duration) -> Option<Keeper> {
        let (reach, tending) = (quorum.reach.clone()?, tend::Tending::new(session_timeout));
        let (began, teller, pause) = (Instant::now(), Teller::default(), ROUND);
        Some(Keeper { quorum, reach, session_timeout, began, teller, tending, active: None, pause })
    }

    /// Does what is to be done now. Breaks off when the quorum has ended, or this node has no part in it.
    pub(super) async fn look(&mut self) -> ControlFlow<()> {
        let metrics = self.quorum.raft.metrics().borrow().clone();
        if metrics.running_state.is_err() {
            return ControlFlow::Break(());
        }
        self.tell_active(&metrics);
        if metrics.state == ServerState::Leader {
            self.look_as_leader(&metrics).await;
            return ControlFlow::Continue(());
        }
        self.tending.rest();
        self.quorum.doubles.rest();
        // What its own log says may be old: who is removed while away does not hear of it.
        let is_counted = self.is_counted();
        let is_heard = self.is_heard();
        let membership = metrics.membership_config.membership();
        let is_member = membership.get_node(&self.quorum.me) == Some(&self.reach.network().advertised);
        let is_quiet = is_member && is_counted && is_heard;
        if is_quiet {
            // An election takes its time.
            self.rests();
        }
        if is_quiet && metrics.current_leader.is_some() {
            return ControlFlow::Continue(());
        }
        match self.quorum.round(&self.reach, is_counted).await {
            Ok(Round::Done) => self.rests(),
            Ok(Round::InUse(text)) => {
                self.pause = (self.pause * 2).min(ROUND_MAX);
                self.tell(Duration::ZERO, text);
            }
            Ok(Round::Waits(cause)) if !is_quiet => {
                self.pause = ROUND;
                // Who has lost its leader has been patient for the session timeout.
                let first = if is_heard && !is_counted { Duration::ZERO } else { teller::FIRST };
                self.tell_wait(first, cause).await;
            }
            Ok(Round::Waits(_)) => {}
            Err(error) => {
                self.quorum.fault.keep(error.clone());
                tracing::error!(%error, "this node has no part in the metadata quorum");
                // Whoever watches the quorum sees it end, with this cause.
                drop(self.quorum.raft.shutdown().await);
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }

    async fn look_as_leader(&mut self, metrics: &Metrics) {
        let Keeper { quorum, reach, session_timeout, tending, .. } = self;
        let membership = metrics.membership_config.membership();
        quorum.tell_own_address(reach, membership).await;
        let image = quorum.image();
        let is_registered = |id| image.broker(id).is_some();
        let (contacts, now) = (reach.contacts(), Instant::now());
        quorum.doubles.reigns(now, *session_timeout);
        if let Some(change) = tending.look(membership, &contacts, is_registered, quorum.me, now) {
            quorum.change(&change).await;
        }
        if leadership::is_followed(metrics, *session_timeout) {
            *quorum.counted_at.lock() = now;
            self.rests();
        } else {
            self.tell_wait(Duration::ZERO, Cause::default()).await;
        }
    }

    fn rests(&mut self) {
        self.teller.hush();
        self.pause = ROUND;
    }

    /// Has a leader counted this node among the members not long ago? As good as so when it has just started.
    fn is_counted(&self) -> bool {
        self.quorum.counted_at.lock().elapsed() < self.session_timeout
    }

    /// Has one since this node has started?
    fn is_heard(&self) -> bool {
        *self.quorum.counted_at.lock() > self.began
    }

    async fn tell_wait(&mut self, first: Duration, cause: Cause) {
        if self.teller.may_tell(Instant::now(), first) {
            let text = self.quorum.waits_for(&self.reach, cause).await;
            self.tell(first, text);
        }
    }

    fn tell(&mut self, first: Duration, text: String) {
        let now = Instant::now();
        if self.teller.may_tell(now, first) && self.teller.is_due(&text, now) {
            tracing::warn!("metadata quorum: {text}");
        }
    }

    /// A leader is told once it is heard of: what the log says may be over.
    fn tell_active(&mut self, metrics: &Metrics) {
        let is_heard = |leader: NodeId| {
            if leader == self.quorum.me { *self.quorum.leads.borrow() } else { self.is_counted() && self.is_heard() }
        };
        let Some(leader) = metrics.current_leader.filter(|leader| is_heard(*leader)) else { return };
        let active = Some((leader, metrics.current_term));
        if self.active != active {
            self.active = active;
            tracing::info!("controller {} is active, epoch {}", leader.node, metrics.current_term);
        }
    }
}

impl Quorum {
    /// The founding set that binds this node: its log's voters, else the set that it was told.
    pub(super) async fn holds(&self) -> Option<Voters> {
        let membership = self.membership().await;
        let voters: Voters =
            membership.voter_ids().filter_map(|id| Some((id, membership.get_node(&id)?.clone()))).collect();
        if voters.is_empty() { self.held.voters() } else { Some(voters) }
    }

    pub(super) async fn identity(&self) -> Identity {
        Identity { id: self.me, held: self.holds().await, may_vote: self.may_vote }
    }

    /// The membership in force, committed or not; empty without a log.
    pub(super) async fn membership(&self) -> Membership {
        let effective = |state: &openraft::RaftState<_, _, _>| state.membership_state.effective().membership().clone();
        self.raft.with_raft_state(effective).await.unwrap_or_default()
    }

    /// Takes a founding set: kept first, then initialized with exactly it.
    pub(super) async fn found(&self, voters: Voters) -> Result<(), Refused> {
        let refuse = |why: &str| Err(Refused::NotNow(why.to_owned()));
        if self.raft.is_initialized().await.map_err(|fatal| Refused::NotNow(fatal.to_string()))? {
            return Ok(());
        }
        if !voters.contains_key(&self.me) {
            return refuse("the set does not name this directory");
        }
        self.held.keep(&voters).await.map_err(|error| Refused::NotNow(error.to_string()))?;
        if self.held.voters().as_ref() != Some(&voters) {
            return refuse("another set is held here");
        }
        self.initialize(voters).await.map_err(|error| Refused::NotNow(error.to_string()))
    }

    pub(super) async fn initialize(&self, voters: Voters) -> Result<(), QuorumError> {
        match self.raft.initialize(voters).await {
            // NotAllowed: a leader was faster, and its log knows better.
            Ok(()) | Err(RaftError::APIError(InitializeError::NotAllowed(_))) => Ok(()),
            Err(RaftError::APIError(InitializeError::NotInMembers(error))) => {
                Err(QuorumError::NotAVoter { me: self.me, voters: error.membership.to_string() })
            }
            Err(RaftError::Fatal(fatal)) => Err(self.stopped(&fatal)),
        }
    }

    /// A leader that moved, or that had no controller listener when the quorum began, says where it is.
    async fn tell_own_address(&self, reach: &Reach, membership: &Membership) {
        let own = &reach.network().advertised;
        if membership.get_node(&self.me).is_some_and(|told| told != own)
            && let Err(error) = self.take_in(self.me, own.clone()).await
        {
            tracing::warn!(%error, "the leader's own address could not be told");
        }
    }

    /// One round of a node that has no leader, or is no member under its address. `is_counted`: somebody led not long ago,
    /// and reckoned with it.
    async fn round(&self, reach: &Reach, is_counted: bool) -> Result<Round, QuorumError> {
        let listed = &reach.network().listed;
        let is_new = !self.raft.is_initialized().await.map_err(|fatal| self.stopped(&fatal))?;
        if is_new
            && let Some(held) = self.held.voters()
            && held.contains_key(&self.me)
        {
            // It was told, and stopped before it had begun.
            self.initialize(held).await?;
            return Ok(Round::Done);
        }
        let is_lowest = listed.keys().next() == Some(&self.me.node);
        let mut cause = Cause::default();
        if is_lowest {
            cause.first_start = self.collect(reach, listed).await?;
        }
        if is_counted && self.membership().await.get_node(&self.me) == Some(&reach.network().advertised) {
            return Ok(Round::Waits(cause));
        }
        Ok(match self.ask_in(reach).await? {
            Asked::In => Round::Waits(Cause { is_taken_in: true, ..cause }),
            Asked::InUse(text) => Round::InUse(text),
            Asked::Not(asked) => Round::Waits(Cause { asked, ..cause }),
        })
    }

    /// The first start, by the voter with the lowest id: what it waits for.
    async fn collect(
        &self,
        reach: &Reach,
        listed: &BTreeMap<BrokerId, QuorumNode>,
    ) -> Result<Option<String>, QuorumError> {
        let mut others = listed.clone();
        others.remove(&self.me.node);
        let mut seen = waiting::see(reach, &others).await;
        seen.insert(self.me.node, Seen::Says(self.identity().await));
        let mut waits = None;
        match decide(listed, &seen) {
            Decision::Wait(wait) => waits = Some(wait.to_string()),
            Decision::Settled => {}
            Decision::Send { set, to } => {
                self.held.keep(&set).await?;
                let mut payload = Vec::new();
                put_nodes(&mut payload, &set);
                for id in to.iter().filter(|id| **id != self.me) {
                    let at = reach.address_of(id.node, &set[id]);
                    let sent = reach.ask(rpc::FIRST_VOTERS, Some(*id), &at, payload.clone(), |_| Ok(())).await;
                    if let Err(error) = sent {
                        waits = Some(format!("voter {id} does not take the founding set: {error}"));
                    }
                }
                if to.contains(&self.me)
                    && let Err(refused) = self.found(set).await
                {
                    waits = Some(format!("this node does not take the founding set: {refused}"));
                }
            }
        }
        Ok(waits)
    }

    async fn change(&self, change: &tend::Change) {
        tracing::info!("metadata quorum: {change}");
        let changed = match change {
            tend::Change::Replace { old, new } => {
                let mut voters: BTreeSet<NodeId> = self.membership().await.voter_ids().collect();
                voters.remove(old);
                voters.insert(*new);
                self.raft.change_membership(voters, false).await
            }
            tend::Change::Forget(id) | tend::Change::Gone(id) => {
                let change = ChangeMembers::RemoveNodes(BTreeSet::from([*id]));
                self.raft.change_membership(change, true).await
            }
        };
        if let Err(error) = changed {
            tracing::warn!(%error, "the membership could not be changed; it is tried again");
        }
    }
}
