//! A partition's leader and its machine: what it is told, and what becomes of what it asks for.
//!
//! Holds: effects are carried out under the role lock, in the machine's order; what the machine is told about a follower or
//! a proposal counts only within the leader epoch that it belongs to.
//!
//! Read next: `ballast_core::replica` (the machine), `drive::isr` (who takes the proposals to the controller).

use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use ballast_core::machine::{Machine as _, Tick};
use ballast_core::replica::{Effect, Input, IsrRefusal, Leader, StrangerFetch};
use ballast_log::AppendError;
use ballast_wire::{BrokerId, LeaderEpoch, NO_LEADER, Offset, PartitionEpoch};

use super::{LeaderHint, Partition, Refused, TOLD};
use crate::drive::proposals::Proposal;

/// A follower's fetch, as far as it says where the follower is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FollowerFetch {
    /// The follower.
    pub(crate) by: BrokerId,
    /// Its broker epoch, -1 if it does not say.
    pub(crate) broker_epoch: i64,
    /// It has everything below.
    pub(crate) from: Offset,
    /// Its first offset, -1 if it does not say.
    pub(crate) log_start: Offset,
}

impl Partition {
    /// Feeds the leader's machine, if there is one; whoever waits for the watermark hears of it.
    pub(crate) fn step(&self, now: Tick, input: Input) {
        self.tell(None, now, input);
    }

    /// Feeds the leader's machine if it leads in `epoch` (in any, for `None`). Did the watermark move?
    pub(super) fn step_in(&self, epoch: Option<LeaderEpoch>, now: Tick, input: Input) -> bool {
        let mut role = self.role.lock();
        let Some(leader) = role.leader_mut() else { return false };
        if epoch.is_some_and(|epoch| epoch != leader.leader_epoch()) {
            return false;
        }
        let mut effects = Vec::new();
        let high = leader.high();
        leader.step(now, input, &mut effects);
        self.carry_out(leader, effects);
        leader.high() > high
    }

    /// As [`Partition::step_in`]; whoever waits for the watermark hears of it.
    fn tell(&self, epoch: Option<LeaderEpoch>, now: Tick, input: Input) {
        if self.step_in(epoch, now, input) {
            self.wake_committed();
        }
    }

    /// Runs under the role lock, so that `high` moves in the machine's order.
    pub(super) fn carry_out(&self, leader: &Leader, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::PublishHigh(high) => {
                    self.high.store(high, Ordering::Release);
                    let (leader_epoch, isr) = (leader.leader_epoch(), leader.isr());
                    tracing::trace!(target: TOLD, topic = %self.topic, partition = self.index, leader_epoch, high, ?isr, "high");
                }
                Effect::ProposeIsr { isr, partition_epoch } => self.propose(leader, isr, partition_epoch),
            }
        }
    }

    fn propose(&self, leader: &Leader, isr: Vec<(BrokerId, i64)>, partition_epoch: PartitionEpoch) {
        let before = leader.isr().to_vec();
        let has = |id: &BrokerId| isr.iter().any(|(member, _)| member == id);
        let leaving: Vec<BrokerId> = before.iter().copied().filter(|id| !has(id)).collect();
        let why_shrunk = (!leaving.is_empty()).then(|| {
            let to: Vec<BrokerId> = isr.iter().map(|(id, _)| *id).collect();
            let (high, end) = (leader.high(), self.log.end());
            let why = lags(leader, &leaving, end);
            tracing::debug!(topic = %self.topic, partition = self.index, from = ?before, ?to, high_watermark = high, end_offset = end, "shrinking ISR; out of sync:{why}");
            why
        });
        if let Some((joiner, _)) = isr.iter().find(|(id, _)| !before.contains(id)) {
            tracing::trace!(target: TOLD, topic = %self.topic, partition = self.index, joiner, "proposes");
        }
        self.proposals.send(Proposal {
            topic: self.topic_id,
            index: self.index,
            leader_epoch: leader.leader_epoch(),
            partition_epoch,
            before,
            isr,
            why_shrunk,
        });
    }

    /// Lets time pass for the leader. When must it be told again at the latest?
    pub(crate) fn tick(&self, now: Tick) -> Option<Tick> {
        let wake_at = self.leader_wakes_at()?;
        if wake_at > now {
            return Some(wake_at);
        }
        self.tell(None, now, Input::Timer);
        self.leader_wakes_at()
    }

    /// Told while the controller is silent, for `silence_ms` by now: a leader whose ISR is silent as well is on the
    /// wrong side of a cut. Who waits for it, and who comes, is sent to look for another leader instead of waiting for
    /// a time-out. Is that new?
    pub(crate) fn controller_is_silent(&self, now: Tick, silence_ms: Tick) -> bool {
        let leads_in_vain = self.leader(|leader| leader.misses_a_member(now, silence_ms)).unwrap_or(false);
        let is_new = leads_in_vain && !self.stranded.swap(true, Ordering::AcqRel);
        if is_new {
            tracing::debug!(topic = %self.topic, partition = self.index, "neither the controller nor the ISR is heard of");
        }
        if leads_in_vain {
            self.waiters.fail_produces(0, &AppendError::Dropped);
            self.waiters.wake_fetches();
        }
        is_new
    }

    /// The controller is heard of again: what it says about the leader counts.
    pub(crate) fn controller_is_heard(&self) {
        self.stranded.store(false, Ordering::Release);
    }

    /// See [`Partition::controller_is_silent`].
    pub(crate) fn is_stranded(&self) -> bool {
        self.stranded.load(Ordering::Acquire)
    }

    /// Nobody is known to lead.
    pub(super) fn astray(&self, leader_epoch: LeaderEpoch) -> Refused {
        Refused::NotLeader(LeaderHint { leader: NO_LEADER, leader_epoch })
    }

    /// When the leader's machine must be told the time.
    pub(crate) fn leader_wakes_at(&self) -> Option<Tick> {
        self.role.lock().leader().and_then(Leader::wake_at)
    }

    /// The controller put another ISR in place.
    pub(crate) fn isr_committed(
        &self,
        now: Tick,
        leader_epoch: LeaderEpoch,
        isr: Vec<BrokerId>,
        partition_epoch: PartitionEpoch,
    ) {
        self.tell(Some(leader_epoch), now, Input::IsrCommitted { isr, partition_epoch });
    }

    /// The controller did not put the ISR in place that was proposed on top of `partition_epoch`.
    pub(crate) fn isr_refused(
        &self,
        now: Tick,
        leader_epoch: LeaderEpoch,
        partition_epoch: PartitionEpoch,
        why: IsrRefusal,
    ) {
        self.tell(Some(leader_epoch), now, Input::IsrRefused { partition_epoch, why });
    }

    /// May this broker copy the log, with the epochs that it names (-1 none)? `Ok` where nobody leads here any more: that is
    /// found by [`Partition::check_leader`].
    pub(crate) fn judge_follower(
        &self,
        by: BrokerId,
        asked: LeaderEpoch,
        broker_epoch: i64,
    ) -> Result<(), StrangerFetch> {
        let role = self.role.lock();
        role.leader().map_or(Ok(()), |leader| leader.judge_follower(by, asked, broker_epoch))
    }

    /// A follower asked for records, and its log agreed with ours in `leader_epoch`: it has everything below.
    pub(crate) fn follower_fetched(&self, leader_epoch: LeaderEpoch, now: Tick, fetch: FollowerFetch) {
        let FollowerFetch { by, broker_epoch, from, log_start } = fetch;
        let was = self.log_start_of(by);
        self.tell(Some(leader_epoch), now, Input::Fetched { by, from, log_start, broker_epoch });
        if was != Some(log_start) {
            // Who deletes records waits for it.
            self.waiters.wake_fetches();
        }
    }

    fn log_start_of(&self, follower: BrokerId) -> Option<Offset> {
        let role = self.role.lock();
        role.leader().and_then(|leader| leader.follower(follower)).map(|follower| follower.log_start)
    }

    /// The least log start of this replica and of all that are alive, -1 while one has not said; `None` where nobody leads.
    pub(crate) fn low_watermark(&self) -> Option<Offset> {
        let start = self.log.start();
        self.role.lock().leader().map(|leader| leader.low_watermark(start))
    }

    /// What `look` sees of the leader, if it leads here.
    pub(crate) fn leader<T>(&self, look: impl FnOnce(&Leader) -> T) -> Option<T> {
        self.role.lock().leader().map(look)
    }
}

/// How far each of `leaving` is behind.
fn lags(leader: &Leader, leaving: &[BrokerId], end: Offset) -> String {
    let mut text = String::new();
    for id in leaving {
        // Writing to a string does not fail.
        let _ = match leader.follower(*id).and_then(|follower| follower.end) {
            Some(has) => write!(text, " broker {id} has everything below {has}, {} records behind;", end - has),
            None => write!(text, " broker {id} has not fetched in this leader epoch;"),
        };
    }
    text
}
