//! The leader of a partition: how far its followers are, who is in sync, and up to where records are committed.
//!
//! ```text
//! epoch_start      high                synced           end
//!  |----------------|-------------------|----------------|
//!                   committed: may be   survives a crash  appended
//!                   read by consumers   of this machine
//! ```
//! The high watermark is the least end over the *maximal* ISR: the committed one and what is proposed to join it. A replica
//! that is caught up counts as well, so that the watermark waits for it to join rather than loses it. With `durable` set
//! (`flush.messages=1`) an end counts only as far as it is synced, here as at the followers, who fetch after they sync.
//!
//! Holds after every step:
//!   1. `high <= end`, `synced <= end`, and `high` never goes back within a leader epoch.
//!   2. The leader is in its own ISR, and at most one change of the ISR is proposed at a time.
//!   3. `high` stands still while the committed ISR is smaller than the effective min ISR (KIP-966).

//!
//! Read next: `follower` (what is known of each, and when it counts as caught up).

use std::collections::{BTreeMap, BTreeSet};

use ballast_wire::{BrokerId, LeaderEpoch, Offset, PartitionEpoch};

use super::follower::Follower;
use crate::machine::{Machine, Tick};

/// What the controller has decided about the partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderState {
    /// The leader epoch that this leadership stands for.
    pub leader_epoch: LeaderEpoch,
    /// The partition epoch of the newest change seen.
    pub partition_epoch: PartitionEpoch,
    /// All assigned replicas, in order of preference.
    pub replicas: Vec<BrokerId>,
    /// The in-sync ones among them.
    pub isr: Vec<BrokerId>,
}

/// What the settings say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaderConfig {
    /// `min.insync.replicas`.
    pub min_isr: usize,
    /// `flush.messages=1`: only synced records count.
    pub durable: bool,
    /// `replica.lag.time.max.ms`.
    pub lag_max_ms: u64,
}

/// What may happen to a leader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// The log's published end moved.
    Appended {
        /// The new end.
        end: Offset,
    },
    /// The log was synced.
    Synced {
        /// Everything below it survives a crash.
        end: Offset,
    },
    /// A follower asked for records.
    Fetched {
        /// Who asked.
        by: BrokerId,
        /// The follower's end: it has everything below.
        from: Offset,
        /// Its first offset, -1 if it does not say.
        log_start: Offset,
        /// The broker epoch that it fetched with, -1 from followers that send none.
        broker_epoch: i64,
    },
    /// Which brokers could join the ISR: not fenced, not shutting down; with their broker epochs.
    Eligible(BTreeMap<BrokerId, i64>),
    /// The controller changed the partition but left the leadership as it is.
    IsrCommitted {
        /// The new ISR.
        isr: Vec<BrokerId>,
        /// Its partition epoch. Older ones than the present are ignored.
        partition_epoch: PartitionEpoch,
    },
    /// The controller changed who is assigned but left the leadership as it is: a reassignment began or was reordered.
    /// Ignored when older than the present, as `IsrCommitted` is.
    Reassigned {
        /// All assigned replicas, in order of preference.
        replicas: Vec<BrokerId>,
        /// The ISR.
        isr: Vec<BrokerId>,
        /// The partition epoch of the change.
        partition_epoch: PartitionEpoch,
    },
    /// The controller refused what was proposed; a new proposal may follow.
    IsrRefused,
    /// The settings changed.
    Configured(LeaderConfig),
    /// Time passed.
    Timer,
}

/// What a leader asks of the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// The high watermark moved: consumers may read below it, and produces that wait for it are answered.
    PublishHigh(Offset),
    /// Ask the controller for another ISR.
    ProposeIsr {
        /// Its members with their broker epochs (-1 unknown).
        isr: Vec<(BrokerId, i64)>,
        /// The partition epoch that the change builds on.
        partition_epoch: PartitionEpoch,
    },
}

/// What a produce with acks=all that ends at some offset may be told now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcksAll {
    /// Nothing yet: some in-sync replica lacks it.
    Waiting,
    /// Every in-sync replica has it, and there are enough of them.
    Done,
    /// Every in-sync replica has it, but they have become too few: NOT_ENOUGH_REPLICAS_AFTER_APPEND (20).
    TooFewReplicas,
}

/// The machine.
#[derive(Debug, Clone)]
pub struct Leader {
    me: BrokerId,
    state: LeaderState,
    config: LeaderConfig,
    pending: Option<BTreeSet<BrokerId>>,
    followers: BTreeMap<BrokerId, Follower>,
    eligible: BTreeMap<BrokerId, i64>,
    epoch_start: Offset,
    end: Offset,
    synced: Offset,
    high: Offset,
    next_check: Tick,
}

impl Leader {
    /// Takes over at `end`, with the watermark as far as this replica knew it. ISR members get the benefit of the doubt:
    /// they count as caught up now.
    ///
    /// # Panics
    /// If `me` is no member of the ISR, or `high` lies beyond `end`.
    #[must_use]
    pub fn new(me: BrokerId, state: LeaderState, config: LeaderConfig, end: Offset, high: Offset, now: Tick) -> Leader {
        let followers = state.replicas.iter().filter(|id| **id != me).map(|id| {
            let caught_up_at = state.isr.contains(id).then_some(now);
            (*id, Follower { caught_up_at, ..Follower::default() })
        });
        let leader = Leader {
            me,
            followers: followers.collect(),
            pending: None,
            eligible: BTreeMap::new(),
            epoch_start: end,
            end,
            synced: high,
            high,
            next_check: now + config.lag_max_ms / 2,
            state,
            config,
        };
        leader.check();
        leader
    }

    /// The committed end: what consumers may read.
    #[must_use]
    pub fn high(&self) -> Offset {
        self.high
    }

    /// The leader epoch.
    #[must_use]
    pub fn leader_epoch(&self) -> LeaderEpoch {
        self.state.leader_epoch
    }

    /// Where this leadership began.
    #[must_use]
    pub fn epoch_start(&self) -> Offset {
        self.epoch_start
    }

    /// The committed ISR.
    #[must_use]
    pub fn isr(&self) -> &[BrokerId] {
        &self.state.isr
    }

    /// All assigned replicas, in order of preference.
    #[must_use]
    pub fn replicas(&self) -> &[BrokerId] {
        &self.state.replicas
    }

    /// What is known of a follower; `None` if it is not assigned.
    #[must_use]
    pub fn follower(&self, id: BrokerId) -> Option<&Follower> {
        self.followers.get(&id)
    }

    /// What may a produce with acks=all that ends at `end` be told now?
    #[must_use]
    pub fn acks_all(&self, end: Offset) -> AcksAll {
        match (self.high >= end, self.is_under_min_isr()) {
            (false, _) => AcksAll::Waiting,
            (true, false) => AcksAll::Done,
            (true, true) => AcksAll::TooFewReplicas,
        }
    }

    /// The least log start of this replica and of every follower that is alive: what DeleteRecords waits for and reports.
    /// -1 while a follower has not said.
    #[must_use]
    pub fn low_watermark(&self, log_start: Offset) -> Offset {
        let alive = self.followers.iter().filter(|(id, _)| self.eligible.contains_key(id));
        alive.map(|(_, follower)| follower.log_start).fold(log_start, Offset::min)
    }

    /// Are there too few in-sync replicas to accept a produce with acks=all: NOT_ENOUGH_REPLICAS (19)?
    #[must_use]
    pub fn is_under_min_isr(&self) -> bool {
        self.state.isr.len() < self.effective_min_isr()
    }

    /// Has the watermark reached this leadership's first offset? Before that an end offset would be a guess (KIP-207).
    #[must_use]
    pub fn knows_the_end(&self) -> bool {
        self.high >= self.epoch_start
    }

    /// A partition with fewer replicas than `min.insync.replicas` asks for all of them.
    fn effective_min_isr(&self) -> usize {
        self.config.min_isr.min(self.state.replicas.len())
    }

    fn is_in_maximal_isr(&self, id: BrokerId) -> bool {
        self.state.isr.contains(&id) || self.pending.as_ref().is_some_and(|pending| pending.contains(&id))
    }

    fn is_eligible(&self, id: BrokerId, follower: &Follower) -> bool {
        self.eligible.get(&id).is_some_and(|epoch| follower.broker_epoch == -1 || *epoch == follower.broker_epoch)
    }

    fn is_caught_up(&self, follower: &Follower, now: Tick) -> bool {
        follower.is_caught_up(now, self.end, self.config.lag_max_ms)
    }

    fn committed(&mut self, replicas: Option<Vec<BrokerId>>, isr: Vec<BrokerId>, partition_epoch: PartitionEpoch) {
        if partition_epoch <= self.state.partition_epoch {
            return;
        }
        if let Some(replicas) = replicas {
            self.followers.retain(|id, _| replicas.contains(id));
            for id in replicas.iter().filter(|id| **id != self.me) {
                self.followers.entry(*id).or_default();
            }
            self.state.replicas = replicas;
        }
        self.state.isr = isr;
        self.state.partition_epoch = partition_epoch;
        self.pending = None;
    }

    fn advance_high(&mut self, now: Tick, out: &mut Vec<Effect>) {
        if self.is_under_min_isr() {
            return;
        }
        let mut high = if self.config.durable { self.synced } else { self.end };
        for (id, follower) in &self.followers {
            let waits_to_join = || self.is_eligible(*id, follower) && self.is_caught_up(follower, now);
            if self.is_in_maximal_isr(*id) || (follower.end.is_some() && waits_to_join()) {
                high = high.min(follower.end.unwrap_or(self.high));
            }
        }
        if high > self.high {
            self.high = high;
            out.push(Effect::PublishHigh(high));
        }
    }

    /// A follower that has everything committed, and all that this leader was elected with, may join.
    fn expand(&mut self, by: BrokerId, out: &mut Vec<Effect>) {
        let Some(follower) = self.followers.get(&by) else { return };
        let end = follower.end.unwrap_or(-1);
        let may_join = end >= self.high && end >= self.epoch_start && self.is_eligible(by, follower);
        if may_join && !self.is_in_maximal_isr(by) {
            let isr = self.state.isr.iter().copied().chain([by]).collect();
            self.propose(isr, out);
        }
    }

    fn shrink(&mut self, now: Tick, out: &mut Vec<Effect>) {
        let lags = |id: &BrokerId| {
            *id != self.me && self.followers.get(id).is_none_or(|follower| !self.is_caught_up(follower, now))
        };
        let isr: BTreeSet<BrokerId> = self.state.isr.iter().copied().filter(|id| !lags(id)).collect();
        if isr.len() < self.state.isr.len() {
            self.propose(isr, out);
        }
    }

    fn propose(&mut self, isr: BTreeSet<BrokerId>, out: &mut Vec<Effect>) {
        if self.pending.is_some() {
            return;
        }
        let epoch_of = |id: &BrokerId| self.followers.get(id).map_or(-1, |follower| follower.broker_epoch);
        let members = isr.iter().map(|id| (*id, epoch_of(id))).collect();
        self.pending = Some(isr);
        out.push(Effect::ProposeIsr { isr: members, partition_epoch: self.state.partition_epoch });
    }
}

impl Machine for Leader {
    type Input = Input;
    type Effect = Effect;

    fn step(&mut self, now: Tick, input: Input, out: &mut Vec<Effect>) {
        match input {
            Input::Appended { end } => self.end = self.end.max(end),
            Input::Synced { end } => self.synced = self.synced.max(end.min(self.end)),
            Input::Fetched { by, from, log_start, broker_epoch } => {
                if let Some(follower) = self.followers.get_mut(&by) {
                    follower.fetched(now, from, log_start, broker_epoch, self.end);
                    self.expand(by, out);
                }
            }
            Input::Eligible(brokers) => self.eligible = brokers,
            Input::IsrCommitted { isr, partition_epoch } => self.committed(None, isr, partition_epoch),
            Input::Reassigned { replicas, isr, partition_epoch } => {
                self.committed(Some(replicas), isr, partition_epoch);
            }
            Input::IsrRefused => self.pending = None,
            Input::Configured(config) => self.config = config,
            Input::Timer => {
                if now >= self.next_check {
                    self.next_check = now + (self.config.lag_max_ms / 2).max(1);
                    self.shrink(now, out);
                }
            }
        }
        self.advance_high(now, out);
    }

    fn wake_at(&self) -> Option<Tick> {
        (self.state.isr.len() > 1).then_some(self.next_check)
    }

    fn check(&self) {
        assert!(self.high <= self.end, "high watermark {} passed the log end {}", self.high, self.end);
        assert!(self.synced <= self.end, "synced {} passed the log end {}", self.synced, self.end);
        assert!(
            self.state.isr.contains(&self.me),
            "leader {} is missing from its own ISR {:?}",
            self.me,
            self.state.isr
        );
        for id in &self.state.isr {
            assert!(self.state.replicas.contains(id), "{id} is in the ISR but not in {:?}", self.state.replicas);
        }
        if let Some(pending) = &self.pending {
            assert!(pending.contains(&self.me), "leader {} proposes an ISR without itself: {pending:?}", self.me);
        }
        let assigned = self.state.replicas.iter().filter(|id| **id != self.me);
        assert!(
            self.followers.keys().eq(assigned.collect::<BTreeSet<_>>()),
            "followers {:?} are not the replicas {:?} without {}",
            self.followers.keys(),
            self.state.replicas,
            self.me
        );
    }
}
