//! A follower of a partition: what to fetch next, and what its answers do to the log.
//!
//! ```text
//!             begin_fetch            Records, Diverging: the log is changed
//!   ready --------------> fetching ---------------------------------------> working --- Done --> ready
//!     ^                     |  |  OutOfRange: where does the leader's log begin and end?            ^
//!     |   <= backoff_ms     |  +-------------> asking ----- cut, or start over ---> working --------+
//!     +-- waiting <---------+ Failed
//!                           | FencedLeaderEpoch
//!                           +-------------> parked, until the metadata names a newer epoch
//! ```
//! The log is cut by leader epochs and never by the watermark (KIP-101, KIP-279, KIP-595): a fetch names the epoch of its last
//! record, and a leader whose log says otherwise answers with the place to cut at, epoch by epoch. Epochs only rise; answers
//! from before the last change of leader, or to any question but the last, are dropped.
//!
//! Holds after every step:
//!   1. `start <= high <= end` and `synced <= end`; `high` goes back only when the log is cut below it.
//!   2. At most one question, or one change of the log, is on its way.
//!   3. With `durable` set nothing is fetched while `synced < end`: a fetch from an offset tells the leader that
//!      everything below survives a crash here.
//!
//! Read next: `message` (questions and answers), `../leader` (the other side).

mod message;

use ballast_planted::{Bug, is_planted};
use ballast_wire::{BrokerId, LeaderEpoch, NO_LEADER, Offset};

pub use self::message::{Answer, BatchHead, Effect, FetchRequest, FollowerConfig, Input, LogState, Ticket};
use super::EpochEnd;
use crate::machine::{Machine, Tick};

/// After the first refusal or silence, in ms; each further one doubles it, up to `backoff_ms`. A new leader hears of its
/// leadership when its followers do, a moment before them or after: most first refusals are over at once, and records that
/// wait for all replicas wait for this as well.
const FIRST_BACKOFF_MS: u64 = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Ready,
    Fetching,
    Asking,
    /// The log is being changed.
    Working,
    Waiting {
        until: Tick,
    },
    Parked,
}

/// The machine.
#[derive(Debug, Clone)]
pub struct Follower {
    leader: BrokerId,
    leader_epoch: LeaderEpoch,
    config: FollowerConfig,
    log: LogState,
    high: Offset,
    /// The leader's watermark and log start, to be taken over as far as the log goes once it is as asked.
    leader_high: Offset,
    leader_start: Offset,
    ticket: Ticket,
    state: State,
    /// Refusals and silences since the leader was named or last gave a good answer.
    failures: u32,
}

impl Follower {
    /// A replica that follows nobody yet. `high` is its watermark as last known; it is clipped to the log.
    #[must_use]
    pub fn new(config: FollowerConfig, log: LogState, high: Offset) -> Follower {
        Follower {
            leader: NO_LEADER,
            leader_epoch: -1,
            config,
            high: high.clamp(log.start, log.end),
            leader_high: log.start,
            leader_start: log.start,
            log,
            ticket: 0,
            state: State::Ready,
            failures: 0,
        }
    }

    /// Whom it follows, -1 for nobody.
    #[must_use]
    pub fn leader(&self) -> BrokerId {
        self.leader
    }

    /// In which leader epoch.
    #[must_use]
    pub fn leader_epoch(&self) -> LeaderEpoch {
        self.leader_epoch
    }

    /// Consumers may read below it.
    #[must_use]
    pub fn high(&self) -> Offset {
        self.high
    }

    /// Refused as fenced: only newer metadata helps.
    #[must_use]
    pub fn is_parked(&self) -> bool {
        self.state == State::Parked
    }

    /// What to fetch now, if anything: the question is on its way from then on.
    pub fn begin_fetch(&mut self) -> Option<FetchRequest> {
        let synced = !self.config.durable || self.log.synced >= self.log.end || is_planted(Bug::FetchBeforeSync);
        if self.state != State::Ready || self.leader == NO_LEADER || !synced {
            return None;
        }
        self.state = State::Fetching;
        Some(FetchRequest {
            leader: self.leader,
            ticket: self.next_ticket(),
            leader_epoch: self.leader_epoch,
            offset: self.log.end,
            last_fetched_epoch: self.log.last_epoch,
            log_start: self.log.start,
            high: self.high,
        })
    }

    fn next_ticket(&mut self) -> Ticket {
        self.ticket += 1;
        self.ticket
    }

    fn follow(&mut self, leader: BrokerId, leader_epoch: LeaderEpoch, out: &mut Vec<Effect>) {
        if leader_epoch <= self.leader_epoch {
            return;
        }
        self.leader = leader;
        self.leader_epoch = leader_epoch;
        self.failures = 0;
        // Answers of the former leader find another ticket; a change of the log that is under way is waited for.
        self.next_ticket();
        self.leader_high = self.log.start;
        self.leader_start = self.log.start;
        if self.state != State::Working {
            self.state = State::Ready;
            if is_planted(Bug::TruncateToWatermark) && self.high < self.log.end {
                self.truncate(self.high, out);
            } else {
                self.sync_if_due(out);
            }
        }
    }

    fn answered(&mut self, now: Tick, answer: Answer, out: &mut Vec<Effect>) {
        match answer {
            Answer::Records { batches, high, log_start } => {
                self.failures = 0;
                self.leader_high = high;
                self.leader_start = log_start;
                self.records(&batches, out);
            }
            Answer::Diverging { leader, ours } => {
                let to = divergence_point(leader, ours, self.log.end);
                self.truncate(to, out);
            }
            Answer::OutOfRange => {
                self.state = State::Asking;
                let ticket = self.next_ticket();
                out.push(Effect::AskEnds { ticket, leader: self.leader, leader_epoch: self.leader_epoch });
            }
            Answer::FencedLeaderEpoch => self.state = State::Parked,
            Answer::Failed => self.back_off(now),
        }
    }

    fn records(&mut self, batches: &[BatchHead], out: &mut Vec<Effect>) {
        let fits = self.fitting(batches);
        if let Some(first) = batches[..fits].first() {
            if first.base < self.log.end {
                // The leader's log begins within a batch; ours is empty and can begin where the batch does.
                out.push(Effect::StartOver { at: first.base });
            }
            out.push(Effect::Append { batches: fits });
            self.state = State::Working;
        } else {
            self.state = State::Ready;
            self.take_over(out);
        }
    }

    /// How many of the batches may be appended: in order, behind our end, and none from a leader later than the one that was
    /// asked (KAFKA-18723: an answer may be older than what it seems to answer).
    fn fitting(&self, batches: &[BatchHead]) -> usize {
        let empty = self.log.start == self.log.end;
        let mut end = self.log.end;
        let fits = |(at, batch): (usize, &BatchHead)| {
            let covers_the_start = at == 0 && empty && batch.last >= end;
            let fits = (batch.base >= end || covers_the_start) && batch.last >= batch.base;
            end = batch.last.saturating_add(1);
            fits && batch.epoch <= self.leader_epoch
        };
        batches.iter().enumerate().map(fits).take_while(|fits| *fits).count()
    }

    fn truncate(&mut self, to: Offset, out: &mut Vec<Effect>) {
        let to = to.clamp(self.log.start, self.log.end);
        self.state = State::Working;
        out.push(Effect::Truncate { to, below_high: to < self.high });
    }

    fn leader_ends(&mut self, start: Offset, end: Offset, out: &mut Vec<Effect>) {
        if end < self.log.end {
            if end < self.log.start {
                self.start_over(end, out);
            } else {
                self.truncate(end, out);
            }
        } else if start > self.log.end {
            self.start_over(start, out);
        } else {
            self.state = State::Ready;
        }
    }

    fn start_over(&mut self, at: Offset, out: &mut Vec<Effect>) {
        self.state = State::Working;
        out.push(Effect::StartOver { at });
    }

    /// Takes over the leader's start and watermark, as far as the log goes. The watermark never goes back for a leader
    /// that does not know it yet. The start comes first: a leader forgets the epochs below its start, so what this log
    /// has there may have parted from it unseen, and must be gone before a watermark calls it committed.
    fn take_over(&mut self, out: &mut Vec<Effect>) {
        let within = self.high.clamp(self.log.start, self.log.end);
        let high = within.max(self.leader_high.min(self.log.end));
        let start = self.leader_start.min(high);
        if start <= self.log.start || (is_planted(Bug::WatermarkBeforeStart) && high != self.high) {
            self.show(high, out);
            return self.sync_if_due(out);
        }
        self.show(within, out);
        if self.state == State::Ready {
            self.state = State::Working;
            out.push(Effect::MoveStart { to: start });
        }
    }

    fn show(&mut self, high: Offset, out: &mut Vec<Effect>) {
        if high != self.high {
            self.high = high;
            out.push(Effect::PublishHigh(high));
        }
    }

    fn sync_if_due(&mut self, out: &mut Vec<Effect>) {
        let due = self.config.durable && self.log.synced < self.log.end;
        if due && self.state == State::Ready && !is_planted(Bug::FetchBeforeSync) {
            self.state = State::Working;
            out.push(Effect::Sync);
        }
    }

    fn back_off(&mut self, now: Tick) {
        let doubled = FIRST_BACKOFF_MS.saturating_mul(1_u64.checked_shl(self.failures).unwrap_or(u64::MAX));
        self.failures = self.failures.saturating_add(1);
        self.state = State::Waiting { until: now + doubled.min(self.config.backoff_ms) };
    }

    fn is_last(&self, ticket: Ticket, asked: State) -> bool {
        let last = self.state == asked && ticket == self.ticket;
        last || (is_planted(Bug::AnyAnswerIsTaken) && matches!(self.state, State::Fetching | State::Ready))
    }
}

/// Where to cut, when the leader says that it ends `leader.epoch` at `leader.end` and our log ends it at `ours`
/// (KIP-279). If we know nothing of that epoch, our next lower one ends at most there; the next fetch asks about that.
fn divergence_point(leader: EpochEnd, ours: EpochEnd, log_end: Offset) -> Offset {
    let to = match ours.epoch {
        ..0 => leader.end,
        epoch if epoch == leader.epoch => ours.end.min(leader.end),
        _ => ours.end,
    };
    to.min(log_end)
}

impl Machine for Follower {
    type Input = Input;
    type Effect = Effect;

    fn step(&mut self, now: Tick, input: Input, out: &mut Vec<Effect>) {
        match input {
            Input::Follow { leader, leader_epoch } => self.follow(leader, leader_epoch, out),
            Input::Answered { ticket, answer } => {
                let failed = answer == Answer::Failed && self.is_last(ticket, State::Asking);
                if failed {
                    self.back_off(now);
                } else if self.is_last(ticket, State::Fetching) {
                    self.answered(now, answer, out);
                }
            }
            Input::LeaderEnds { ticket, start, end } => {
                if self.is_last(ticket, State::Asking) {
                    self.leader_ends(start, end, out);
                }
            }
            Input::Done(log) => {
                self.log = log;
                self.state = State::Ready;
                self.take_over(out);
            }
            Input::LogMoved(log) => {
                self.log = log;
                self.take_over(out);
            }
            // A disk that fails is in no hurry.
            Input::LogFailed => self.state = State::Waiting { until: now + self.config.backoff_ms },
            Input::Configured(config) => {
                self.config = config;
                self.sync_if_due(out);
            }
            Input::Timer => {
                if matches!(self.state, State::Waiting { until } if now >= until) {
                    self.state = State::Ready;
                    self.sync_if_due(out);
                }
            }
        }
    }

    fn wake_at(&self) -> Option<Tick> {
        match self.state {
            State::Waiting { until } => Some(until),
            State::Ready | State::Fetching | State::Asking | State::Working | State::Parked => None,
        }
    }

    fn check(&self) {
        let LogState { start, end, synced, .. } = self.log;
        assert!(start <= self.high, "log start {start} passed the watermark {}", self.high);
        assert!(self.high <= end, "watermark {} passed the log end {end}", self.high);
        assert!(synced <= end, "synced {synced} passed the log end {end}");
        let fetches = self.state == State::Fetching && self.config.durable;
        let planted = is_planted(Bug::FetchBeforeSync);
        assert!(!fetches || synced == end || planted, "fetches from {end}, which is synced up to {synced} only");
    }
}

#[cfg(test)]
mod tests;
