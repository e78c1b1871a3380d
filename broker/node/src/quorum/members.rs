//! Becoming a member and keeping the membership true: founding, joining, and the leader's care for those who come back.
//!
//! ```text
//! no log ── lowest listed id: first start (collect, decide, send) ─┐
//!        ── anybody: ask the listed voters to be taken in ─────────┴─► voter or learner ── the leader does the rest
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
//! Read next: first_start, tend (what the leader changes).

mod tend;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ballast_wire::BrokerId;
use openraft::error::{ClientWriteError, InitializeError, RaftError};
use openraft::{ChangeMembers, ServerState};
use tokio::time::{Instant, sleep};

use super::codec::put_nodes;
use super::error::QuorumError;
use super::first_start::{Decision, Seen, decide};
use super::handle::Quorum;
use super::network::{AskError, Reach};
use super::rpc::{self, Identity, Joining, Refused, Voters};
use super::types::{Membership, NodeId, QuorumNode};

/// Between two looks at the membership.
const ROUND: Duration = Duration::from_millis(250);
/// Rounds after which a wait is told at all: nodes that start together wait for each other, and an election takes its time.
const TELL_FIRST: u32 = 12;
/// Rounds after which the same wait is told again.
const TELL_AGAIN: u32 = 40;

/// The node is a member now.
pub(super) struct Joined;

/// What a change of the membership can fail with.
pub(super) type ChangeError = RaftError<NodeId, ClientWriteError<NodeId, QuorumNode>>;

/// Keeps this node a member until the quorum ends. `session_timeout`: silence after which a voter's directory counts as
/// gone when its id has come back with another.
pub(crate) async fn keep_membership(quorum: Arc<Quorum>, session_timeout: Duration) {
    let Some(mut keeper) = Keeper::new(quorum, session_timeout) else { return };
    while keeper.look().await.is_continue() {
        sleep(ROUND).await;
    }
}

/// What keeps a node a member, look by look.
pub(super) struct Keeper {
    quorum: Arc<Quorum>,
    reach: Reach,
    session_timeout: Duration,
    teller: Teller,
    tending: tend::Tending,
}

impl Keeper {
    /// `None` for a quorum of one that nobody reaches.
    pub(super) fn new(quorum: Arc<Quorum>, session_timeout: Duration) -> Option<Keeper> {
        let (reach, tending) = (quorum.reach.clone()?, tend::Tending::new(session_timeout));
        Some(Keeper { quorum, reach, session_timeout, teller: Teller::default(), tending })
    }

    /// Does what is to be done now. Breaks off when the quorum has ended, or this node has no part in it.
    pub(super) async fn look(&mut self) -> ControlFlow<()> {
        let Keeper { quorum, reach, session_timeout, teller, tending } = self;
        let metrics = quorum.raft.metrics().borrow().clone();
        if metrics.running_state.is_err() {
            return ControlFlow::Break(());
        }
        let membership = metrics.membership_config.membership().clone();
        if metrics.state == ServerState::Leader {
            teller.hush();
            quorum.tell_own_address(reach, &membership).await;
            let image = quorum.image();
            let is_registered = |id| image.broker(id).is_some();
            let (contacts, now) = (reach.contacts(), Instant::now());
            if let Some(change) = tending.look(&membership, &contacts, is_registered, quorum.me, now) {
                quorum.change(&change).await;
            }
            return ControlFlow::Continue(());
        }
        tending.rest();
        // What its own log says may be old: who is removed while away does not hear of it.
        let is_counted = quorum.counted_at.lock().elapsed() < *session_timeout;
        let is_member = membership.get_node(&quorum.me) == Some(&reach.network().advertised);
        if metrics.current_leader.is_some() && is_member && is_counted {
            teller.hush();
        } else if let Err(error) = quorum.round(reach, is_counted, teller).await {
            quorum.fault.keep(error.clone());
            tracing::error!(%error, "this node has no part in the metadata quorum");
            // Whoever watches the quorum sees it end, with this cause.
            drop(quorum.raft.shutdown().await);
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// Tells what is waited for once it lasts, and again from time to time.
#[derive(Default)]
struct Teller {
    /// What was told last, and how many rounds ago.
    told: Option<(String, u32)>,
    /// Rounds of this wait.
    rounds: u32,
}

impl Teller {
    fn hush(&mut self) {
        *self = Teller::default();
    }

    fn waits(&mut self, text: String) {
        if self.is_due(&text) {
            tracing::warn!("metadata quorum: {text}");
            self.told = Some((text, 0));
        }
    }

    /// One more round of waiting: is it to be told?
    fn is_due(&mut self, text: &str) -> bool {
        self.rounds += 1;
        match &mut self.told {
            Some((last, ago)) => {
                *ago += 1;
                last != text || *ago >= TELL_AGAIN
            }
            None => self.rounds >= TELL_FIRST,
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
    async fn round(&self, reach: &Reach, is_counted: bool, teller: &mut Teller) -> Result<(), QuorumError> {
        let listed = &reach.network().listed;
        let is_new = !self.raft.is_initialized().await.map_err(|fatal| self.stopped(&fatal))?;
        if is_new
            && let Some(held) = self.held.voters()
            && held.contains_key(&self.me)
        {
            // It was told, and stopped before it had begun.
            return self.initialize(held).await;
        }
        let lowest = listed.keys().next().copied();
        if lowest == Some(self.me.node) {
            self.collect(reach, listed, teller).await?;
        }
        if is_counted && self.membership().await.get_node(&self.me) == Some(&reach.network().advertised) {
            return Ok(());
        }
        self.ask_in(reach, listed, teller, lowest).await
    }

    /// The first start, by the voter with the lowest id.
    async fn collect(
        &self,
        reach: &Reach,
        listed: &BTreeMap<BrokerId, QuorumNode>,
        teller: &mut Teller,
    ) -> Result<(), QuorumError> {
        let mut seen = BTreeMap::new();
        for (id, node) in listed {
            let row = if *id == self.me.node {
                Seen::Says(self.identity().await)
            } else {
                match reach.ask(rpc::IDENTIFY, None, node, Vec::new(), Identity::read).await {
                    Ok(identity) => Seen::Says(identity),
                    Err(error) => Seen::Silent(error.to_string()),
                }
            };
            seen.insert(*id, row);
        }
        match decide(listed, &seen) {
            Decision::Wait(wait) => teller.waits(wait.to_string()),
            Decision::Settled => teller.hush(),
            Decision::Send { set, to } => {
                self.held.keep(&set).await?;
                let mut payload = Vec::new();
                put_nodes(&mut payload, &set);
                for id in to.iter().filter(|id| **id != self.me) {
                    let at = reach.address_of(id.node, &set[id]);
                    let sent = reach.ask(rpc::FIRST_VOTERS, Some(*id), &at, payload.clone(), |_| Ok(())).await;
                    if let Err(error) = sent {
                        teller.waits(format!("voter {id} does not take the founding set: {error}"));
                    }
                }
                if to.contains(&self.me)
                    && let Err(refused) = self.found(set).await
                {
                    teller.waits(format!("this node does not take the founding set: {refused}"));
                }
            }
        }
        Ok(())
    }

    /// Asks to be taken in by whoever leads.
    async fn ask_in(
        &self,
        reach: &Reach,
        listed: &BTreeMap<BrokerId, QuorumNode>,
        teller: &mut Teller,
        lowest: Option<BrokerId>,
    ) -> Result<(), QuorumError> {
        let mut own = Vec::new();
        let at = reach.network().advertised.clone();
        Joining { at, cluster: self.image().cluster_id().or(reach.network().cluster), may_vote: self.may_vote }
            .put(&mut own);
        let mut why = "nobody is listed: --quorum names the voters".to_owned();
        let others = listed.iter().filter(|(id, _)| **id != self.me.node).map(|(_, node)| node);
        let bootstrap = reach.network().bootstrap.iter().filter(|node| **node != reach.network().advertised);
        for node in others.chain(bootstrap) {
            let mut asked = reach.ask(rpc::JOIN, None, node, own.clone(), |_| Ok(())).await;
            if let Err(AskError::Refused(Refused::NotLeader(Some((leader, at))))) = &asked {
                let at = reach.address_of(leader.node, at);
                asked = reach.ask(rpc::JOIN, Some(*leader), &at, own.clone(), |_| Ok(())).await;
            }
            match asked {
                Ok(()) => {
                    teller.hush();
                    return Ok(());
                }
                Err(AskError::Refused(Refused::Never(why))) if !self.has_caught_up.load(Ordering::Relaxed) => {
                    return Err(QuorumError::NotTaken(why));
                }
                Err(error) => why = format!("{node}: {error}"),
            }
        }
        // The lowest has said already what it waits for.
        if lowest != Some(self.me.node) {
            let first = lowest.map_or_else(String::new, |id| format!(", or for voter {id} to begin a new quorum"));
            teller.waits(format!("waiting for a leader to take this node in{first} ({why})"));
        }
        Ok(())
    }

    /// Takes a node in that asks for it, if this node leads.
    pub(super) async fn join_as_learner(&self, id: NodeId, joining: Joining) -> Result<(), Refused> {
        if let (Some(ours), Some(theirs)) = (self.image().cluster_id(), joining.cluster)
            && ours != theirs
        {
            let node = id.node;
            return Err(Refused::Never(format!("node {node} belongs to cluster {theirs}, and this is cluster {ours}")));
        }
        let votes = |voter: NodeId| voter.node == id.node && voter != id;
        if !joining.may_vote && self.membership().await.voter_ids().any(votes) {
            return Err(Refused::Never(format!(
                "node id {} votes in the quorum from another directory; a broker alone cannot take its place",
                id.node
            )));
        }
        match self.take_in(id, joining.at).await {
            Ok(Joined) => Ok(()),
            Err(RaftError::APIError(ClientWriteError::ForwardToLeader(leader))) => {
                Err(Refused::NotLeader(leader.leader_id.zip(leader.leader_node)))
            }
            Err(error) => Err(Refused::NotNow(error.to_string())),
        }
    }

    /// Takes a node in as a learner, if this node leads.
    pub(super) async fn take_in(&self, id: NodeId, node: QuorumNode) -> Result<Joined, ChangeError> {
        let membership = self.membership().await;
        match membership.get_node(&id) {
            Some(known) if *known == node => {}
            Some(_) => {
                let change = ChangeMembers::SetNodes(BTreeMap::from([(id, node)]));
                self.raft.change_membership(change, true).await?;
            }
            None => {
                let at = node.to_string();
                self.raft.add_learner(id, node, false).await?;
                tracing::info!(%id, at, "a node has joined the metadata quorum as a learner");
            }
        }
        Ok(Joined)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_told_once_it_lasts_then_when_it_changes_and_from_time_to_time() {
        let mut teller = Teller::default();
        let rounds = |teller: &mut Teller, text: &str| {
            let told = (1..=TELL_AGAIN).find(|_| teller.is_due(text));
            teller.told = Some((text.to_owned(), 0));
            told
        };
        assert_eq!(rounds(&mut teller, "for a leader"), Some(TELL_FIRST));
        assert_eq!(rounds(&mut teller, "for voter 2"), Some(1));
        assert_eq!(rounds(&mut teller, "for voter 2"), Some(TELL_AGAIN));
        teller.hush();
        assert_eq!(rounds(&mut teller, "for voter 2"), Some(TELL_FIRST), "another wait");
    }
}
