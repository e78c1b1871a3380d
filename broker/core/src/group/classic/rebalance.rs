//! A rebalance, from the first sign to the new generation.
//!
//! ```text
//! Empty ----- somebody joins --> PreparingRebalance, initial delay: done when nobody new has come for a while
//! others ---- see mod.rs ------> PreparingRebalance: done when everybody is back, or when the time is up
//!                                       |
//!                generation + 1: CompletingRebalance, or Empty if nobody is left
//! ```
//! Holds:
//!   1. Dynamic members that are not back in time are out; static ones stay until their session ends (KIP-345).
//!   2. If no member at all is back, the group waits on: sessions decide.
//!
//! Read next: sync.rs (what happens in CompletingRebalance).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Classic, GroupState, as_ms};
use crate::group::timers::TimerKey;
use crate::group::turn::Turn;
use crate::group::{GroupError, MemberId};

/// The wait of a group that had no members (`group.initial.rebalance.delay.ms`).
#[derive(Clone, Debug)]
pub(super) struct InitialDelay {
    /// The part that is being waited out.
    delay_ms: u64,
    /// What is left of the rebalance timeout after it.
    remaining_ms: u64,
    /// Has somebody joined in this part? Then another part follows.
    pub(super) somebody_joined: bool,
}

impl Classic {
    /// Begins a rebalance, or ends the one that is under way if everybody is there now.
    pub(in crate::group) fn rebalance_or_complete(&mut self, turn: &mut Turn<'_>) {
        match self.state {
            GroupState::PreparingRebalance => self.maybe_complete_join(turn),
            GroupState::Empty | GroupState::CompletingRebalance | GroupState::Stable => self.prepare_rebalance(turn),
        }
    }

    /// Begins a rebalance.
    pub(super) fn prepare_rebalance(&mut self, turn: &mut Turn<'_>) {
        if self.state == GroupState::CompletingRebalance {
            self.refuse_syncs(turn, GroupError::RebalanceInProgress);
        }
        turn.timers.cancel(&TimerKey::Sync(self.id.clone()));
        self.pending_sync.clear();
        self.assigning = None;
        let is_initial = self.state == GroupState::Empty;
        self.transition_to(GroupState::PreparingRebalance, turn.wall_ms);
        if is_initial {
            let delay_ms = turn.config.initial_rebalance_delay_ms;
            let remaining_ms = self.rebalance_timeout_ms().saturating_sub(delay_ms);
            self.wait_for_more(turn, delay_ms, remaining_ms);
        } else {
            self.maybe_complete_join(turn);
            if self.state == GroupState::PreparingRebalance {
                turn.set_timer(TimerKey::Join(self.id.clone()), self.rebalance_timeout_ms());
            }
        }
    }

    fn wait_for_more(&mut self, turn: &mut Turn<'_>, delay_ms: u64, remaining_ms: u64) {
        if delay_ms == 0 {
            self.complete_join(turn);
            return;
        }
        self.initial_delay = Some(InitialDelay { delay_ms, remaining_ms, somebody_joined: false });
        turn.set_timer(TimerKey::Join(self.id.clone()), delay_ms);
    }

    /// The deadline for joining has passed.
    pub(in crate::group) fn join_time_is_up(&mut self, turn: &mut Turn<'_>) {
        match self.initial_delay.take() {
            Some(delay) if delay.somebody_joined && delay.remaining_ms > 0 => {
                let next_ms = turn.config.initial_rebalance_delay_ms.min(delay.remaining_ms);
                self.wait_for_more(turn, next_ms, delay.remaining_ms.saturating_sub(delay.delay_ms));
            }
            _ => self.complete_join(turn),
        }
    }

    /// Ends the wait if everybody is there; an initial delay is waited out all the same.
    pub(super) fn maybe_complete_join(&mut self, turn: &mut Turn<'_>) {
        let all_joined = self.members.len() == self.awaiting_join && self.pending_join.is_empty();
        if self.state == GroupState::PreparingRebalance && self.initial_delay.is_none() && all_joined {
            self.complete_join(turn);
        }
    }

    fn complete_join(&mut self, turn: &mut Turn<'_>) {
        turn.timers.cancel(&TimerKey::Join(self.id.clone()));
        self.initial_delay = None;
        let is_late = |member: &&super::Member| member.awaiting_join.is_none() && !member.is_static();
        let late: Vec<MemberId> = self.members.values().filter(is_late).map(|member| member.id.clone()).collect();
        for id in late {
            self.remove(turn, &id);
        }
        let leader_is_back = self
            .leader
            .as_ref()
            .and_then(|id| self.members.get(id))
            .is_some_and(|leader| leader.awaiting_join.is_some());
        if !leader_is_back && !self.members.is_empty() {
            let Some(next) = self.first_joined(|member| member.awaiting_join.is_some()) else {
                turn.set_timer(TimerKey::Join(self.id.clone()), self.rebalance_timeout_ms());
                return;
            };
            self.leader = Some(next);
        }
        self.begin_generation(turn);
    }

    fn begin_generation(&mut self, turn: &mut Turn<'_>) {
        self.generation = self.generation.checked_add(1).unwrap_or(1);
        self.protocol_name = self.vote();
        self.subscribed = self.subscribed_topics();
        self.pending_sync.clear();
        if self.members.is_empty() {
            self.transition_to(GroupState::Empty, turn.wall_ms);
            turn.append(vec![self.to_record(|_| bytes::Bytes::new())]);
            return;
        }
        self.transition_to(GroupState::CompletingRebalance, turn.wall_ms);
        let ids: Vec<MemberId> = self.members.keys().cloned().collect();
        for id in &ids {
            let response = self.joined_response(id, true);
            self.answer_join(turn, id, response);
            self.restart_session(turn, id);
        }
        for member in self.members.values_mut() {
            member.is_new = false;
        }
        self.pending_sync.extend(ids);
        turn.set_timer(TimerKey::Sync(self.id.clone()), self.rebalance_timeout_ms());
    }

    /// The longest that any member asks for.
    pub(super) fn rebalance_timeout_ms(&self) -> u64 {
        self.members.values().map(|member| as_ms(member.rebalance_timeout_ms)).max().unwrap_or(0)
    }

    /// Every member votes for the first of its protocols that all have; most votes win, the leader's order decides a tie.
    /// `None` without members.
    pub(super) fn vote(&self) -> Option<Arc<str>> {
        let candidates: BTreeSet<&Arc<str>> =
            self.supported.iter().filter(|(_, count)| **count == self.members.len()).map(|(name, _)| name).collect();
        let mut votes = BTreeMap::<&Arc<str>, usize>::new();
        for member in self.members.values() {
            let choice = member.protocols.iter().find(|protocol| candidates.contains(&protocol.name));
            *votes.entry(&choice?.name).or_default() += 1;
        }
        let most = votes.values().max().copied()?;
        let leader = self.members.get(self.leader.as_ref()?)?;
        let won = |name: &Arc<str>| votes.get(name) == Some(&most);
        leader.protocols.iter().map(|protocol| &protocol.name).find(|name| won(name)).cloned()
    }
}
