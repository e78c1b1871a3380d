//! The follower's half of a partition: its machine, and what that asks of the log.
//!
//! ```text
//! fetcher: next -> Fetch ---- answer ----> fetched ----+
//!            |---> AskEnds -- answer ----> leader_ends |   the machine's wishes wait here, in order
//!            |---> Change::Append -> append_fetched <--+   inline, as produce writes
//!            |---> Change::Cut ----> cut, settle           blocks; checkpoints in between
//!            '---> Change::Sync ---> synced                blocks; many partitions at once
//! ```
//! Holds:
//!   1. The log changes under `changing` only, and only for the follower that asked: what a role had not begun when it ended
//!      is never done.
//!   2. The watermark goes down before the log is cut below it, and up after the log has grown.
//!   3. Once a cut lowered the recovery point, nothing is appended before the checkpoint says so.
//!
//! Read next: `change` (what is done to the log), `ballast_core::replica::follower` (the machine), `drive::fetcher` (who calls
//! this).

mod change;

use std::sync::atomic::Ordering;

use ballast_core::machine::{Machine as _, Tick};
use ballast_core::replica::EpochEnd;
use ballast_core::replica::follower::{
    Answer, BatchHead, Effect, FetchRequest, Follower, FollowerConfig, Input, LogState, Ticket,
};
use ballast_wire::batch::BatchView;
use ballast_wire::fetch::FetchedPartition;
use ballast_wire::{BrokerId, LeaderEpoch, Offset};
use bytes::Bytes;

use super::{LeaderHint, Part, Partition};

/// A follower at work.
pub(super) struct Following {
    machine: Follower,
    /// What the machine wants done to the log and nobody has begun, in order.
    wishes: Vec<Effect>,
    /// It wants something done, begun or not, and has not heard how it went.
    waits: bool,
    ends: Option<(Ticket, LeaderEpoch)>,
    /// The batches that `Append` is about.
    records: Bytes,
}

/// What a fetcher shall do for a partition.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Ask the leader for records.
    Fetch(FetchRequest),
    /// Ask the leader where its log begins and ends, and answer with [`Partition::leader_ends`].
    AskEnds { ticket: Ticket, leader_epoch: LeaderEpoch },
    /// Change the log.
    Change(Change),
    /// Nothing before this tick, or before something happens to it.
    Wait(Option<Tick>),
    /// Nothing any more: it does not follow this broker, or is out of service.
    Gone,
}

/// How the log is to be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// [`Partition::append_fetched`].
    Append,
    /// [`Partition::cut`], then the checkpoints, then [`Partition::settle`].
    Cut,
    /// Sync it, then [`Partition::synced`].
    Sync,
}

/// What a leader said to a fetch.
pub(crate) enum Fetched {
    /// A row of its answer.
    Row(FetchedPartition<Bytes>),
    /// There is no answer, or not about this partition.
    Nothing,
}

impl Partition {
    /// Follows whom `hint` names, nobody included; a leader lays down its role first. Blocks while the log is being changed.
    pub(crate) fn follow(&self, hint: LeaderHint, config: FollowerConfig, now: Tick) {
        let _changing = self.changing.lock();
        let mut role = self.role.lock();
        role.hint = hint;
        if role.following().is_none() {
            self.leave(&mut role);
            let machine = Follower::new(config, self.log_state(), self.high());
            let (wishes, records) = (Vec::new(), Bytes::new());
            role.part = Part::Follower(Box::new(Following { machine, wishes, waits: false, ends: None, records }));
        }
        let LeaderHint { leader, leader_epoch } = hint;
        if let Some(following) = role.following() {
            if leader_epoch > following.machine.leader_epoch() {
                // The former leader's ends say nothing any more.
                following.ends = None;
            }
            self.feed(following, now, Input::Configured(config));
            self.feed(following, now, Input::Follow { leader, leader_epoch });
        }
        drop(role);
        self.waiters.wake_fetches();
    }

    /// Follows nobody from now on, because it is about to lead: what the former leader wanted and nobody began is not done.
    /// Blocks while the log is being changed.
    pub(crate) fn stop_following(&self) {
        let _changing = self.changing.lock();
        let mut role = self.role.lock();
        if role.following().is_some() {
            self.leave(&mut role);
        }
    }

    /// The settings changed. Nothing for who does not follow.
    pub(crate) fn configure_follower(&self, config: FollowerConfig, now: Tick) {
        if let Some(following) = self.role.lock().following() {
            self.feed(following, now, Input::Configured(config));
        }
    }

    /// Does it follow a broker, and which? `None` while nobody leads.
    pub(crate) fn followed(&self) -> Option<BrokerId> {
        let mut role = self.role.lock();
        let leader = role.following()?.machine.leader();
        (leader >= 0 && !self.is_offline()).then_some(leader)
    }

    /// What shall be done now for this follower of `source`?
    pub(crate) fn next(&self, source: BrokerId, now: Tick) -> Next {
        let mut role = self.role.lock();
        let Some(following) = role.following() else { return Next::Gone };
        if following.machine.leader() != source || self.is_offline() {
            return Next::Gone;
        }
        if following.machine.wake_at().is_some_and(|at| at <= now) {
            self.feed(following, now, Input::Timer);
        }
        if let Some(wish) = following.wishes.first() {
            return Next::Change(match wish {
                Effect::Append { .. } => Change::Append,
                Effect::Sync => Change::Sync,
                _ => Change::Cut,
            });
        }
        if let Some((ticket, leader_epoch)) = following.ends.take() {
            return Next::AskEnds { ticket, leader_epoch };
        }
        match following.machine.begin_fetch() {
            Some(request) => Next::Fetch(request),
            None => Next::Wait(following.machine.wake_at()),
        }
    }

    /// Takes the answer to a fetch. What is to be done with it, [`Partition::next`] says.
    pub(crate) fn fetched(&self, ticket: Ticket, fetched: Fetched, now: Tick) {
        let (answer, records) = match fetched {
            Fetched::Nothing => (Answer::Failed, Bytes::new()),
            Fetched::Row(row) => self.judge(row),
        };
        let mut role = self.role.lock();
        let Some(following) = role.following() else { return };
        let (before, waited) = (self.high(), following.waits);
        self.feed(following, now, Input::Answered { ticket, answer });
        if following.waits && !waited {
            following.records = records;
        }
        drop(role);
        if self.high() != before {
            self.waiters.wake_fetches();
        }
    }

    /// What a row means, and the records in it.
    fn judge(&self, row: FetchedPartition<Bytes>) -> (Answer, Bytes) {
        if row.error_code != 0 {
            return (Answer::from_code(row.error_code), Bytes::new());
        }
        if let Some(diverging) = row.diverging_epoch {
            let ours = self.log.epoch_end_offset(diverging.epoch);
            let leader = EpochEnd { epoch: diverging.epoch, end: diverging.end_offset };
            let ours = EpochEnd { epoch: ours.epoch, end: ours.end_offset };
            return (Answer::Diverging { leader, ours }, Bytes::new());
        }
        let batches = heads(&row.records);
        let end = batches.last().map_or(self.log.end(), |last| last.last.saturating_add(1));
        self.lag.store(row.high_watermark.saturating_sub(end).max(0), Ordering::Relaxed);
        if batches.is_empty() && row.records.len() >= ballast_wire::batch::HEADER_BYTES {
            tracing::warn!(topic = %self.topic, partition = self.index, "the leader sent what is no batch; asking again");
            return (Answer::Failed, Bytes::new());
        }
        (Answer::Records { batches, high: row.high_watermark, log_start: row.log_start_offset }, row.records)
    }

    /// Takes the answer to [`Next::AskEnds`]; `None` if there is none.
    pub(crate) fn leader_ends(&self, ticket: Ticket, ends: Option<(Offset, Offset)>, now: Tick) {
        let mut role = self.role.lock();
        let Some(following) = role.following() else { return };
        let input = match ends {
            Some((start, end)) => Input::LeaderEnds { ticket, start, end },
            None => Input::Answered { ticket, answer: Answer::Failed },
        };
        self.feed(following, now, input);
    }

    /// The log moved by itself: retention, say.
    pub(crate) fn log_moved(&self, now: Tick) {
        let _changing = self.changing.lock();
        if let Some(following) = self.role.lock().following() {
            self.feed(following, now, Input::LogMoved(self.log_state()));
        }
    }

    /// How many committed records it lacks, as of the leader's last answer.
    pub(crate) fn lag(&self) -> Option<i64> {
        let follows = self.role.lock().following().is_some();
        follows.then(|| self.lag.load(Ordering::Relaxed))
    }

    fn log_state(&self) -> LogState {
        let (synced, end) = (self.log.recovery_point(), self.log.end());
        let last_epoch = self.log.latest_epoch().unwrap_or(-1);
        LogState { start: self.log.start(), end, synced: synced.min(end), last_epoch }
    }

    /// Steps the machine. Runs under the role lock, so that `high` moves in the machine's order.
    fn feed(&self, following: &mut Following, now: Tick, input: Input) {
        let mut effects = Vec::new();
        following.machine.step(now, input, &mut effects);
        for effect in effects {
            match effect {
                Effect::PublishHigh(high) => self.high.store(high, Ordering::Release),
                Effect::AskEnds { ticket, leader_epoch, .. } => following.ends = Some((ticket, leader_epoch)),
                wish => {
                    following.wishes.push(wish);
                    following.waits = true;
                }
            }
        }
    }
}

/// The whole batches at the front, by their headers. Checksums are judged when they are appended.
fn heads(records: &[u8]) -> Vec<BatchHead> {
    let (mut heads, mut rest) = (Vec::new(), records);
    while let Ok(batch) = BatchView::parse(rest) {
        heads.push(BatchHead { base: batch.base_offset(), last: batch.last_offset(), epoch: batch.leader_epoch() });
        rest = &rest[batch.len()..];
    }
    heads
}

#[cfg(test)]
mod tests;
