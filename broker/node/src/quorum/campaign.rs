//! When this node stands for election: a machine that is stepped, and the task that looks, waits and asks openraft.
//!
//! ```text
//! a leader ── silent for `silence` and a little ──► ask ── a majority would vote for it ──► stand ──► elected
//!                                                    ▲ │ it would not                          │
//!                                                    └─┴───────────────────────────────────────┘ no majority for `election` and
//!                     a little; later if another's log is longer, almost at once if we were outbid by one that cannot win
//! ```
//! openraft's own timer draws one number in its life, waits its leader's lease longer than that, and looks every other
//! heartbeat: a fail-over took 3 to 4 s at Kafka's defaults, and two survivors whose numbers are close meet in each round.
//! So its timer is off (`enable_elect`), and what Kafka calls `controller.quorum.fetch.timeout.ms`, `…election.timeout.ms`
//! and `…election.backoff.max.ms` means here what it means there.
//!
//! Holds: elections are safe whoever stands when; this decides only how soon one succeeds. Every wait has a random part, and
//! a new one each time.
//!
//! Read next: poll (who would vote for it), `signs` (what is heard of the others), `leadership` (what a won election is
//! worth).

mod poll;

use std::sync::Arc;
use std::time::Duration;

use openraft::{Raft, ServerState};
use rand_core::RngCore as _;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use super::admit::TERM_MAX;
use super::network::Reach;
use super::runtime::Rng;
use super::signs::{Lost, Signs};
use super::store::Store;
use super::types::{Metrics, NodeId, TypeConfig, Vote};

/// How patient the quorum is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timers {
    /// Between two heartbeats of the leader.
    pub heartbeat: Duration,
    /// A voter that hears nothing of its leader for this long, and a random time beside, stands for election. A leader
    /// whom no majority has answered for this long decides nothing any more.
    pub silence: Duration,
    /// A candidate waits this long for votes, and a random time beside, before it stands again.
    pub election: Duration,
    /// The longest random time.
    pub backoff: Duration,
}

impl Default for Timers {
    /// Kafka's: patient enough for a busy machine whose syncs take their time.
    fn default() -> Timers {
        let ms = Duration::from_millis;
        Timers { heartbeat: ms(200), silence: ms(2000), election: ms(1000), backoff: ms(1000) }
    }
}

impl Timers {
    /// A voter that has heard of its leader within this time votes for nobody else.
    pub(super) fn lease(&self) -> Duration {
        self.silence / 2
    }
}

/// What one look at openraft shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Look {
    vote: Vote,
    /// May it stand: a voter that does not lead, and whose next term a log can keep?
    may_stand: bool,
}

impl Look {
    fn at(metrics: &Metrics) -> Look {
        let is_voter = metrics.membership_config.membership().voter_ids().any(|voter| voter == metrics.id);
        let is_up = metrics.running_state.is_ok() && metrics.state != ServerState::Leader;
        Look { vote: metrics.vote, may_stand: is_up && is_voter && metrics.vote.leader_id.term < TERM_MAX }
    }
}

/// Would it stand for election, were it time?
#[cfg(test)]
pub(super) fn stands(metrics: &Metrics) -> bool {
    Look::at(metrics).may_stand
}

/// The machine. See the module.
struct Campaign {
    timers: Timers,
    rng: Rng,
    /// What the present wait is about.
    vote: Option<Vote>,
    /// Length of the present wait.
    patience: Duration,
    /// When it stands; never, while it may not.
    at: Option<Instant>,
    is_outbid: bool,
    /// When it asked whether it should stand, in the present wait.
    asked_at: Option<Instant>,
}

impl Campaign {
    fn new(timers: Timers, rng: Rng) -> Campaign {
        Campaign { timers, rng, vote: None, patience: Duration::ZERO, at: None, is_outbid: false, asked_at: None }
    }

    /// Another vote begins another wait.
    fn look(&mut self, now: Instant, look: Look) {
        if !look.may_stand {
            (self.at, self.vote, self.is_outbid) = (None, Some(look.vote), false);
            self.asked_at = None;
        } else if self.at.is_none() || self.vote != Some(look.vote) {
            self.vote = Some(look.vote);
            self.is_outbid &= !look.vote.committed;
            self.asked_at = None;
            self.patience = match (look.vote.committed, self.is_outbid) {
                (true, _) => self.patience_with_a_leader(),
                (false, true) => self.random(self.timers.backoff / 4),
                (false, false) => self.timers.election + self.random(self.timers.backoff),
            };
            self.at = Some(now + self.patience);
        }
    }

    /// The leader that it waits for, if it waits for one.
    fn leader(&self) -> Option<NodeId> {
        self.vote.filter(|vote| vote.committed).map(|vote| vote.leader_id.node_id)
    }

    fn patience_with_a_leader(&mut self) -> Duration {
        self.timers.silence + self.random(self.timers.backoff.min(self.timers.silence / 4))
    }

    /// That leader gave a sign of life: one that asked whether it should stand has a leader again.
    fn heard(&mut self, when: Instant) {
        if self.asked_at.is_some_and(|asked| asked < when) {
            self.asked_at = None;
            self.patience = self.patience_with_a_leader();
        }
        self.at = self.at.map(|at| at.max(when + self.patience));
    }

    fn lost(&mut self, now: Instant, why: Lost) {
        match why {
            Lost::Behind => {
                let later = self.timers.election + 2 * self.timers.backoff + self.random(self.timers.backoff);
                self.at = self.at.map(|at| at.max(now + later));
            }
            Lost::Outbid => {
                self.is_outbid = true;
                let soon = now + self.random(self.timers.backoff / 4);
                self.at = self.at.map(|at| at.min(soon));
            }
        }
    }

    /// Is it time to ask, and to stand? Then the next wait begins.
    fn asks(&mut self, now: Instant) -> bool {
        let is_time = self.at.is_some_and(|at| at <= now);
        if is_time {
            (self.is_outbid, self.asked_at) = (false, Some(now));
            self.patience = self.timers.election + self.random(self.timers.backoff);
            self.at = Some(now + self.patience);
        }
        is_time
    }

    /// Below `max`, in steps of a microsecond.
    fn random(&mut self, max: Duration) -> Duration {
        let max = u64::try_from(max.as_micros()).unwrap_or(u64::MAX).max(1);
        Duration::from_micros(self.rng.next_u64() % max)
    }
}

/// A node that may stand for election.
pub(super) struct Candidate {
    pub(super) me: NodeId,
    pub(super) raft: Raft<TypeConfig>,
    pub(super) store: Store,
    pub(super) signs: Arc<Signs>,
    pub(super) reach: Option<Reach>,
    pub(super) timers: Timers,
}

/// Stands for election whenever it is time, until openraft is gone. One that may not vote never does.
pub(super) async fn run(candidate: Candidate, seed: u64, may_vote: bool) {
    if !may_vote {
        return;
    }
    let Candidate { raft, signs, timers, .. } = &candidate;
    let mut metrics = raft.metrics();
    let mut campaign = Campaign::new(*timers, Rng::new(seed));
    loop {
        let now = Instant::now();
        if let Some(why) = signs.take_lost() {
            campaign.lost(now, why);
        }
        let look = Look::at(&metrics.borrow_and_update());
        campaign.look(now, look);
        let heard = |campaign: &Campaign| campaign.leader().and_then(|leader| signs.heard_of(leader));
        if let Some(when) = heard(&campaign) {
            campaign.heard(when);
        }
        if campaign.asks(now) {
            // The world may have changed while it asked.
            let is_backed = candidate.is_backed().await && heard(&campaign).is_none_or(|when| when < now);
            let is_same = Look::at(&metrics.borrow()) == look;
            if is_backed && is_same && raft.trigger().elect().await.is_err() {
                return;
            }
        }
        if !until(campaign.at, &mut metrics).await {
            return;
        }
    }
}

impl Candidate {
    /// Would a majority vote for it? Not if the answers take longer than an election.
    pub(super) async fn is_backed(&self) -> bool {
        let asked = poll::would_be_elected(self);
        let is_backed = timeout(self.timers.election, asked).await == Ok(true);
        tracing::debug!(is_backed, "asked whether to stand for election");
        is_backed
    }
}

/// Until then, or until something happens; false once openraft is gone.
async fn until(at: Option<Instant>, metrics: &mut watch::Receiver<Metrics>) -> bool {
    let timer = async {
        match at {
            Some(at) => sleep_until(at).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        changed = metrics.changed() => changed.is_ok(),
        () = timer => true,
    }
}

#[cfg(test)]
mod tests;
