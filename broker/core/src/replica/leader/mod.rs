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
//! Read next: `isr` (proposals and their answers), `../remote` (what is known of each follower, and when it counts as caught
//! up), `input` (what may happen).

mod input;
mod isr;

use std::collections::{BTreeMap, BTreeSet};

use ballast_planted::{Bug, is_planted};
use ballast_wire::{BrokerId, LeaderEpoch, Offset, PartitionEpoch};

pub use self::input::{AcksAll, Effect, Input, IsrRefusal, LeaderConfig, LeaderState, StrangerFetch};
use self::isr::Pending;
use super::remote::RemoteReplica;
use crate::machine::{Machine, Tick};

/// The machine.
#[derive(Debug, Clone)]
pub struct Leader {
    me: BrokerId,
    state: LeaderState,
    config: LeaderConfig,
    pending: Option<Pending>,
    followers: BTreeMap<BrokerId, RemoteReplica>,
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
            (*id, RemoteReplica { caught_up_at, ..RemoteReplica::default() })
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
    pub fn follower(&self, id: BrokerId) -> Option<&RemoteReplica> {
        self.followers.get(&id)
    }

    /// May this replica fetch, with the leader epoch and the broker epoch that it names (-1 none)?
    ///
    /// # Errors
    /// Not assigned, or the request comes from a life of the broker that is over (KIP-903).
    pub fn judge_follower(&self, by: BrokerId, asked: LeaderEpoch, broker_epoch: i64) -> Result<(), StrangerFetch> {
        let Some(follower) = self.followers.get(&by) else {
            return Err(if asked >= 0 { StrangerFetch::Early(by) } else { StrangerFetch::NotAssigned(by) });
        };
        let registered = self.eligible.get(&by).copied().unwrap_or(-1);
        let known = registered.max(follower.broker_epoch);
        if broker_epoch != -1 && broker_epoch < known {
            return Err(StrangerFetch::FormerLife { given: broker_epoch, known });
        }
        Ok(())
    }

    /// The replicas that a consumer may be sent to instead (KIP-392): in sync, alive, with their ends, log starts and
    /// the ticks at which they were last caught up. The leader itself is not among them.
    pub fn in_sync_followers(&self) -> impl Iterator<Item = (BrokerId, &RemoteReplica)> {
        let followers = self.followers.iter();
        followers
            .filter(|(id, _)| self.state.isr.contains(id) && self.eligible.contains_key(id))
            .map(|(id, follower)| (*id, follower))
    }

    /// What may a produce with acks=all that ends at `end` be told now?
    #[must_use]
    pub fn acks_all(&self, end: Offset) -> AcksAll {
        if is_planted(Bug::AckBeforeFollowerFetch) && self.end >= end {
            return AcksAll::Done;
        }
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

    /// Are there just as many in-sync replicas as needed?
    #[must_use]
    pub fn is_at_min_isr(&self) -> bool {
        self.state.isr.len() == self.effective_min_isr()
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
        self.state.isr.contains(&id) || self.pending.as_ref().is_some_and(|pending| pending.isr.contains_key(&id))
    }

    fn is_eligible(&self, id: BrokerId, follower: &RemoteReplica) -> bool {
        self.eligible.get(&id).is_some_and(|epoch| follower.broker_epoch == -1 || *epoch == follower.broker_epoch)
    }

    fn is_caught_up(&self, follower: &RemoteReplica, now: Tick) -> bool {
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
            if is_planted(Bug::WatermarkByIsr) && !self.state.isr.contains(id) {
                continue;
            }
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
}

impl Machine for Leader {
    type Input = Input;
    type Effect = Effect;

    fn step(&mut self, now: Tick, input: Input, out: &mut Vec<Effect>) {
        match input {
            Input::Appended { end } => self.end = self.end.max(end),
            Input::Synced { end } => self.synced = self.synced.max(end.min(self.end)),
            Input::Fetched { by, from, log_start, broker_epoch } => {
                if self.judge_follower(by, self.state.leader_epoch, broker_epoch).is_ok()
                    && let Some(follower) = self.followers.get_mut(&by)
                {
                    follower.fetched(now, from, log_start, broker_epoch, self.end);
                    self.expand(by, out);
                }
            }
            Input::Eligible(brokers) => self.eligible = brokers,
            Input::IsrCommitted { isr, partition_epoch } => self.committed(None, isr, partition_epoch),
            Input::Reassigned { replicas, isr, partition_epoch } => {
                self.committed(Some(replicas), isr, partition_epoch);
            }
            Input::IsrRefused { partition_epoch, why } => self.refused(now, partition_epoch, why),
            Input::Configured(config) => self.config = config,
            Input::Timer => {
                self.propose_again(now, out);
                if now >= self.next_check {
                    self.next_check = now + (self.config.lag_max_ms / 2).max(1);
                    self.shrink(now, out);
                }
            }
        }
        self.advance_high(now, out);
    }

    fn wake_at(&self) -> Option<Tick> {
        let check = (self.state.replicas.len() > 1).then_some(self.next_check);
        let again = self.pending.as_ref().and_then(|pending| pending.again_at);
        check.into_iter().chain(again).min()
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
            assert!(
                pending.isr.contains_key(&self.me),
                "leader {} proposes an ISR without itself: {pending:?}",
                self.me
            );
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

#[cfg(test)]
mod tests;
