//! A member of a consumer group in the classic protocol: what it says to the coordinator and when. Pure: time and answers
//! come in, calls and changes of ownership go out.
//!
//! ```text
//! Idle ─Polled─> Unjoined ─coordinator found─> Joining ─we lead─> Assigning ─Computed─> Syncing ─> Stable
//!  ▲               ▲ ▲ ▲                          └──────────we follow─────────────────────▲          │
//!  │               │ │ └─ refused for a while, coordinator moved: after a pause ── Joining, Syncing   │
//!  │               │ └─ Revoked ── Revoking <─ REBALANCE_IN_PROGRESS, the topics have changed ────────┤
//!  │               └─ Lost ─ ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID ── Stable, Revoking                │
//!  └─ Lost ─ nobody polled for max.poll.interval.ms: leaves ── Stable, Revoking ──────────────────────┘
//! any ─Leave─> Left        any ─ a final refusal ─> Failed
//! ```
//! Holds after every step:
//!   1. Partitions are owned in `Stable` and `Revoking` alone; all are given back before the next join (eager rebalancing).
//!   2. A heartbeat is on its way only in those states, and never two.
//!   3. An answer to anything but the latest question of its kind changes nothing.
//!   4. `UNKNOWN_MEMBER_ID` makes the member anonymous; any other failure lets it keep its id (KIP-394).
//!
//! Read next: `refusal` (what each error code does), `driver` (who carries the effects out).

mod refusal;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::assign::Candidate;
use super::protocol::{Partitions, decode_assignment};
use super::{Assignor, GroupConfig};
use crate::{ClientError, ErrorCode};

/// Numbers a question, so that its answer is known from that to an earlier one.
pub(super) type Attempt = u64;

/// What the world tells a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Input {
    /// The coordinator was found and is connected, or not.
    Found(Attempt, Result<(), ClientError>),
    /// The coordinator wants us to join again with this id.
    Named(Attempt, String),
    Joined(Attempt, Result<Joined, ClientError>),
    /// The partitions are divided: bytes for each member.
    Computed(Attempt, Result<Vec<(String, Bytes)>, ClientError>),
    Synced(Attempt, Result<Bytes, ClientError>),
    Beaten(Attempt, Result<(), ClientError>),
    /// A commit made in `generation` was refused.
    CommitFailed {
        generation: i32,
        error: ClientError,
    },
    /// All partitions are given back.
    Revoked(Attempt),
    /// A topic that members read has come, gone, or grown.
    TopicsChanged,
    /// The application asks for records.
    Polled,
    Timer,
    Leave,
}

/// An accepted join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Joined {
    pub(super) generation: i32,
    pub(super) member_id: String,
    pub(super) leader: String,
    /// The assignor that the members have in common.
    pub(super) protocol: String,
    /// Only the leader gets them.
    pub(super) members: Vec<Candidate>,
    /// The leader has come back and everything stays as it was (KIP-814).
    pub(super) skip_assignment: bool,
}

/// What a member wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Effect {
    /// Find the coordinator and connect to it.
    Find(Attempt),
    Join {
        attempt: Attempt,
        member_id: String,
        generation: i32,
    },
    /// Divide the partitions.
    Assign {
        attempt: Attempt,
        assignor: Assignor,
        members: Vec<Candidate>,
    },
    Sync {
        attempt: Attempt,
        who: Identity,
        protocol: String,
        assignments: Vec<(String, Bytes)>,
    },
    Heartbeat {
        attempt: Attempt,
        who: Identity,
    },
    /// Tell the coordinator that we go.
    Leave {
        member_id: String,
    },
    /// Commit and stop reading, then say `Revoked`.
    Revoke(Attempt),
    /// Stop reading: others may read already, and a commit would be refused.
    Lost,
    /// Read these from where the group has come to.
    Assigned {
        who: Identity,
        partitions: Partitions,
    },
    /// It ends here.
    Fail(ClientError),
}

/// Who we are in one generation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) generation: i32,
    pub(super) member_id: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    Unjoined,
    Joining,
    Assigning,
    Syncing,
    Stable,
    Revoking,
    Left,
    Failed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coordinator {
    Unknown,
    Looking(Attempt),
    Known,
}

/// Pauses after failures, and how long a first join may fail.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    /// After a first failure; doubles with each.
    pub(super) pause: Duration,
    pub(super) pause_max: Duration,
    /// A member that has never joined gives up after this.
    pub(super) first_join: Duration,
}

/// The member.
pub(super) struct Member {
    config: Arc<GroupConfig>,
    patience: Patience,
    state: State,
    coordinator: Coordinator,
    /// Empty until the coordinator gives one.
    member_id: String,
    /// -1 without one.
    generation: i32,
    protocol: String,
    leads: bool,
    attempts: Attempt,
    /// The join, division, sync or revocation that is under way.
    pending: Attempt,
    beating: Option<Attempt>,
    beat_at: Instant,
    /// No question before this.
    retry_at: Instant,
    failures: u32,
    failing_since: Option<Instant>,
    polled: Instant,
    has_joined: bool,
}

impl Member {
    /// A member that has not joined: it does once it is polled.
    pub(super) fn new(config: Arc<GroupConfig>, patience: Patience, now: Instant) -> Member {
        Member {
            config,
            patience,
            state: State::Idle,
            coordinator: Coordinator::Unknown,
            member_id: String::new(),
            generation: -1,
            protocol: String::new(),
            leads: false,
            attempts: 0,
            pending: 0,
            beating: None,
            beat_at: now,
            retry_at: now,
            failures: 0,
            failing_since: None,
            polled: now,
            has_joined: false,
        }
    }

    /// Applies one input.
    pub(super) fn step(&mut self, now: Instant, input: Input, out: &mut Vec<Effect>) {
        match input {
            Input::Found(attempt, result) if self.coordinator == Coordinator::Looking(attempt) => match result {
                Ok(()) => self.coordinator = Coordinator::Known,
                Err(error) => {
                    self.coordinator = Coordinator::Unknown;
                    self.refused(now, error, out);
                }
            },
            Input::Named(attempt, member_id) if self.awaits(State::Joining, attempt) => {
                self.member_id = member_id;
                self.state = State::Unjoined;
            }
            Input::Joined(attempt, result) if self.awaits(State::Joining, attempt) => match result {
                Ok(joined) => self.joined(joined, out),
                Err(error) => self.refused(now, error, out),
            },
            Input::Computed(attempt, result) if self.awaits(State::Assigning, attempt) => match result {
                Ok(assignments) => self.sync(assignments, out),
                Err(error) => self.refused(now, error, out),
            },
            Input::Synced(attempt, result) if self.awaits(State::Syncing, attempt) => match result {
                Ok(assignment) => self.synced(now, &assignment, out),
                Err(error) => self.refused(now, error, out),
            },
            Input::Beaten(attempt, result) if self.beating == Some(attempt) => {
                self.beating = None;
                match result {
                    Ok(()) => self.fared_well(),
                    Err(error) => self.refused(now, error, out),
                }
            }
            Input::CommitFailed { generation, error } if self.owns() && generation == self.generation => {
                self.refused(now, error, out);
            }
            Input::Revoked(attempt) if self.awaits(State::Revoking, attempt) => self.unjoin(),
            Input::TopicsChanged if self.leads => self.rebalance(out),
            Input::Polled => {
                self.polled = now;
                if self.state == State::Idle {
                    self.state = State::Unjoined;
                }
            }
            Input::Leave => self.leave(State::Left, out),
            _ => {}
        }
        self.act(now, out);
    }

    /// When to step a `Timer`, if nothing comes before.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        let next = match (self.state, self.coordinator) {
            (State::Idle | State::Left | State::Failed, _) => return None,
            (_, Coordinator::Looking(_)) => None,
            (_, Coordinator::Unknown) | (State::Unjoined, _) => Some(self.retry_at),
            (State::Stable | State::Revoking, _) if self.beating.is_none() => Some(self.beat_at.max(self.retry_at)),
            _ => None,
        };
        let idle_at = self.owns().then(|| self.polled + self.config.poll_interval_max);
        next.into_iter().chain(idle_at).min()
    }

    /// Has it left, or failed?
    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, State::Left | State::Failed)
    }

    /// Does it divide the partitions?
    pub(super) fn leads(&self) -> bool {
        self.leads
    }

    fn awaits(&self, state: State, attempt: Attempt) -> bool {
        self.state == state && self.pending == attempt
    }

    fn owns(&self) -> bool {
        matches!(self.state, State::Stable | State::Revoking)
    }

    fn attempt(&mut self) -> Attempt {
        self.attempts += 1;
        self.attempts
    }

    fn who(&self) -> Identity {
        Identity { generation: self.generation, member_id: self.member_id.clone() }
    }

    /// Does what is due.
    fn act(&mut self, now: Instant, out: &mut Vec<Effect>) {
        if self.owns() && now >= self.polled + self.config.poll_interval_max {
            tracing::warn!(
                group = self.config.group_id,
                "nobody has polled for max.poll.interval.ms: leaving the group"
            );
            self.leave(State::Idle, out);
            return;
        }
        if matches!(self.state, State::Idle | State::Left | State::Failed) || now < self.retry_at {
            return;
        }
        match (self.coordinator, self.state) {
            (Coordinator::Unknown, _) => {
                let attempt = self.attempt();
                self.coordinator = Coordinator::Looking(attempt);
                out.push(Effect::Find(attempt));
            }
            (Coordinator::Known, State::Unjoined) => {
                self.pending = self.attempt();
                self.state = State::Joining;
                let (member_id, generation) = (self.member_id.clone(), self.generation);
                out.push(Effect::Join { attempt: self.pending, member_id, generation });
            }
            (Coordinator::Known, State::Stable | State::Revoking) if self.beating.is_none() && now >= self.beat_at => {
                let attempt = self.attempt();
                self.beating = Some(attempt);
                self.beat_at = now + self.config.heartbeat_interval;
                out.push(Effect::Heartbeat { attempt, who: self.who() });
            }
            _ => {}
        }
    }

    fn joined(&mut self, joined: Joined, out: &mut Vec<Effect>) {
        self.generation = joined.generation;
        self.leads = joined.leader == joined.member_id;
        self.member_id = joined.member_id;
        self.protocol = joined.protocol;
        if !self.leads || joined.skip_assignment {
            return self.sync(Vec::new(), out);
        }
        let Some(assignor) = self.config.assignors.iter().copied().find(|one| one.name() == self.protocol) else {
            let what = format!("group {} chose {:?} to divide its partitions", self.config.group_id, self.protocol);
            return self.fail(ClientError::refused(what, ErrorCode::INCONSISTENT_GROUP_PROTOCOL), out);
        };
        self.pending = self.attempt();
        self.state = State::Assigning;
        out.push(Effect::Assign { attempt: self.pending, assignor, members: joined.members });
    }

    fn sync(&mut self, assignments: Vec<(String, Bytes)>, out: &mut Vec<Effect>) {
        self.pending = self.attempt();
        self.state = State::Syncing;
        let protocol = self.protocol.clone();
        out.push(Effect::Sync { attempt: self.pending, who: self.who(), protocol, assignments });
    }

    fn synced(&mut self, now: Instant, assignment: &[u8], out: &mut Vec<Effect>) {
        let partitions = match decode_assignment(assignment) {
            Ok(partitions) => partitions,
            Err(e) => {
                let error = ClientError::BadAnswer {
                    address: format!("the leader of group {}", self.config.group_id),
                    what: "SyncGroup".to_owned(),
                    reason: e.to_string(),
                };
                return self.fail(error, out);
            }
        };
        self.state = State::Stable;
        self.has_joined = true;
        self.beat_at = now + self.config.heartbeat_interval;
        self.polled = self.polled.max(now);
        self.fared_well();
        out.push(Effect::Assigned { who: self.who(), partitions });
    }

    /// Gives everything back, in order to join anew.
    fn rebalance(&mut self, out: &mut Vec<Effect>) {
        if self.state == State::Stable {
            self.state = State::Revoking;
            self.pending = self.attempt();
            out.push(Effect::Revoke(self.pending));
        }
    }

    /// Leaves, for good or until somebody polls. A static member only falls silent: its place is kept.
    fn leave(&mut self, then: State, out: &mut Vec<Effect>) {
        if self.is_over() {
            return;
        }
        if self.owns() && then == State::Idle {
            out.push(Effect::Lost);
        }
        let is_dynamic = self.config.instance_id.is_none();
        if is_dynamic && !self.member_id.is_empty() && self.coordinator == Coordinator::Known {
            out.push(Effect::Leave { member_id: std::mem::take(&mut self.member_id) });
        }
        self.unjoin();
        self.generation = -1;
        self.state = then;
    }

    /// Nothing is owned and nothing under way.
    fn unjoin(&mut self) {
        self.state = State::Unjoined;
        self.leads = false;
        self.beating = None;
    }

    fn fared_well(&mut self) {
        self.failures = 0;
        self.failing_since = None;
    }

    fn fail(&mut self, error: ClientError, out: &mut Vec<Effect>) {
        if self.owns() {
            out.push(Effect::Lost);
        }
        self.unjoin();
        self.state = State::Failed;
        out.push(Effect::Fail(error));
    }

    /// Panics if the state contradicts itself.
    #[cfg(test)]
    fn check(&self) {
        let state = self.state;
        assert!(self.beating.is_none() || self.owns(), "a heartbeat is on its way in {state:?}");
        let in_generation = matches!(state, State::Assigning | State::Syncing | State::Stable | State::Revoking);
        assert!(!in_generation || self.generation >= 0, "{state:?} in generation {}", self.generation);
        assert!(!in_generation || !self.member_id.is_empty(), "{state:?} without a member id");
        assert!(!self.leads || in_generation, "leads in {state:?}");
    }
}
