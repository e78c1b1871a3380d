//! Who should be in sync: proposals to the controller, one at a time, and what their answers mean.
//!
//! ```text
//!              propose              IsrCommitted, or metadata of a later partition epoch
//!  committed ---------> in flight ------------------------------------------------------> committed
//!      ^                 |    ^ \
//!      |  Ineligible     |    |  \ Overtaken
//!      +-----------------+    |   +------------> waits for metadata ----------------------> committed
//!                     Undecided, Lost: asked again
//! ```
//! Holds: as long as the controller may have applied a proposal, its members hold the watermark. A proposal is taken back only
//! when it is certain that no copy of it can be applied any more: it was refused, and none that got no answer is younger than
//! `lag_max_ms` (no request may live longer than that).

use std::collections::{BTreeMap, BTreeSet};

use ballast_planted::{Bug, is_planted};
use ballast_wire::{BrokerId, PartitionEpoch};

use super::{Effect, IsrRefusal, Leader};
use crate::machine::Tick;
use crate::replica::RemoteReplica;

/// A proposal that got no decision is asked again after this long.
const PROPOSE_AGAIN_MS: Tick = 50;

/// A proposal on its way.
#[derive(Debug, Clone)]
pub(super) struct Pending {
    /// Its members, and the broker epochs that they had fetched under when it was made. Copies carry these: a broker that was
    /// born again since has not shown that it is in sync (KIP-903).
    pub(super) isr: BTreeMap<BrokerId, i64>,
    /// When to ask again; `None` while a copy is on its way, and once only the metadata can tell.
    pub(super) again_at: Option<Tick>,
    /// When the answer to a copy was last lost.
    lost_at: Option<Tick>,
}

impl Leader {
    /// A follower that has everything committed, and all that this leader was elected with, may join.
    pub(super) fn expand(&mut self, by: BrokerId, out: &mut Vec<Effect>) {
        let Some(follower) = self.followers.get(&by) else { return };
        let end = follower.end.unwrap_or(-1);
        let may_join = end >= self.high && end >= self.epoch_start && self.is_eligible(by, follower);
        if may_join && !self.is_in_maximal_isr(by) {
            let isr = self.state.isr.iter().copied().chain([by]).collect();
            self.propose(isr, out);
        }
    }

    /// Has a member of the ISR been silent for longer than `silence_ms`? Nothing is committed without it.
    #[must_use]
    pub fn misses_a_member(&self, now: Tick, silence_ms: Tick) -> bool {
        self.state.isr.iter().filter(|id| **id != self.me).any(|id| {
            let heard_at = self.followers.get(id).and_then(RemoteReplica::heard_at);
            heard_at.is_none_or(|at| now.saturating_sub(at) > silence_ms)
        })
    }

    pub(super) fn shrink(&mut self, now: Tick, out: &mut Vec<Effect>) {
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
        let isr = isr.into_iter().map(|id| (id, epoch_of(&id))).collect();
        self.pending = Some(Pending { isr, again_at: None, lost_at: None });
        self.send_proposal(out);
    }

    fn send_proposal(&mut self, out: &mut Vec<Effect>) {
        let Some(pending) = &mut self.pending else { return };
        pending.again_at = None;
        let isr = pending.isr.iter().map(|(id, epoch)| (*id, *epoch)).collect();
        out.push(Effect::ProposeIsr { isr, partition_epoch: self.state.partition_epoch });
    }

    pub(super) fn propose_again(&mut self, now: Tick, out: &mut Vec<Effect>) {
        let due = self.pending.as_ref().and_then(|pending| pending.again_at);
        if due.is_some_and(|at| now >= at) {
            self.send_proposal(out);
        }
    }

    pub(super) fn refused(&mut self, now: Tick, partition_epoch: PartitionEpoch, why: IsrRefusal) {
        if partition_epoch != self.state.partition_epoch {
            return;
        }
        let lag_max_ms = self.config.lag_max_ms;
        let forgets = is_planted(Bug::StaleProposalForgotten);
        let Some(pending) = &mut self.pending else { return };
        match why {
            IsrRefusal::Overtaken if forgets => self.pending = None,
            IsrRefusal::Overtaken => pending.again_at = None,
            IsrRefusal::Ineligible => {
                let may_live = pending.lost_at.is_some_and(|at| now.saturating_sub(at) <= lag_max_ms);
                if may_live {
                    pending.again_at = Some(now + PROPOSE_AGAIN_MS);
                } else {
                    self.pending = None;
                }
            }
            IsrRefusal::Undecided => pending.again_at = Some(now + PROPOSE_AGAIN_MS),
            IsrRefusal::Lost => {
                pending.lost_at = Some(now);
                pending.again_at = Some(now + PROPOSE_AGAIN_MS);
            }
        }
    }
}
