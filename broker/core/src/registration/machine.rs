//! The machine: what is sent when, and what an answer means.
//!
//! Heartbeats go out at a fixed interval, and at once when there is something to say: the broker has caught up, wants to
//! stop, or lost a directory. Failures are retried after a pause that doubles up to the interval.

use std::collections::BTreeSet;

use ballast_wire::Uuid;

use super::{Config, Effect, GiveUp, Input};
use crate::machine::{Machine, Tick};

/// Pause after the first failure in a row.
const RETRY_FIRST_MS: Tick = 50;
/// First pause between heartbeats of a broker that waits to be released. It doubles: leaderships that are handed over within
/// the controller's turn cost a few milliseconds, those that wait for other brokers cost them no flood.
const LEAVING_FIRST_MS: Tick = 5;
/// Longest such pause.
const LEAVING_MAX_MS: Tick = 100;

/// Kafka's codes that mean: the controller does not know this broker (any more) under this epoch.
const REGISTER_AGAIN: [i16; 2] = [77, 102];
/// Kafka's codes that no retry can change: unsupported feature, other cluster, impossible registration.
const FINAL: [i16; 3] = [35, 104, 119];

/// The broker's side of its membership.
#[derive(Debug)]
pub struct Registration {
    config: Config,
    phase: Phase,
    in_flight: bool,
    /// When the next request is due, unless one is in flight.
    next_send: Option<Tick>,
    failures: u32,
    last_code: Option<i16>,
    metadata_index: u64,
    failed_dirs: BTreeSet<Uuid>,
    /// Something happened that the request in flight does not say.
    news: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    /// `give_up_at` is set for the first registration only: a broker that was in goes on trying.
    Registering {
        since: Tick,
        give_up_at: Option<Tick>,
    },
    Member {
        epoch: i64,
        fenced: bool,
    },
    Leaving {
        epoch: i64,
        deadline: Tick,
        /// Before the next heartbeat, if this one does not release it.
        pause_ms: Tick,
    },
    Stopped,
}

impl Registration {
    /// A broker that has not begun.
    #[must_use]
    pub fn new(config: Config) -> Registration {
        Registration {
            config,
            phase: Phase::Idle,
            in_flight: false,
            next_send: None,
            failures: 0,
            last_code: None,
            metadata_index: 0,
            failed_dirs: BTreeSet::new(),
            news: false,
        }
    }

    /// Broker epoch of the registration in force.
    #[must_use]
    pub fn epoch(&self) -> Option<i64> {
        match self.phase {
            Phase::Member { epoch, .. } | Phase::Leaving { epoch, .. } => Some(epoch),
            Phase::Idle | Phase::Registering { .. } | Phase::Stopped => None,
        }
    }

    fn register(&mut self, now: Tick, give_up_at: Option<Tick>) {
        self.phase = Phase::Registering { since: now, give_up_at };
        self.next_send = Some(now);
    }

    fn registered(&mut self, now: Tick, epoch: i64) {
        if matches!(self.phase, Phase::Registering { .. }) {
            self.phase = Phase::Member { epoch, fenced: true };
            self.succeeded();
            // A broker that has not caught up says so at the usual pace; metadata that arrives brings the next one forward.
            self.next_send = Some(now);
        }
    }

    fn succeeded(&mut self) {
        self.failures = 0;
        self.last_code = None;
    }

    fn failed(&mut self, now: Tick, code: Option<i16>) {
        self.last_code = code.or(self.last_code);
        let pause_ms = RETRY_FIRST_MS << self.failures.min(16);
        self.failures = self.failures.saturating_add(1);
        self.next_send = Some(now + pause_ms.min(self.config.heartbeat_interval_ms));
    }

    fn refused(&mut self, now: Tick, code: i16, out: &mut Vec<Effect>) {
        match self.phase {
            Phase::Registering { .. } if FINAL.contains(&code) => {
                self.stop();
                out.push(Effect::GiveUp { reason: GiveUp::Rejected { code } });
            }
            Phase::Member { fenced, .. } if REGISTER_AGAIN.contains(&code) => {
                if !fenced {
                    out.push(Effect::Fenced);
                }
                self.register(now, None);
            }
            // It is no member any more, so there is nothing to hand over.
            Phase::Leaving { epoch, .. } if REGISTER_AGAIN.contains(&code) => self.stopped(false, epoch, out),
            Phase::Idle | Phase::Registering { .. } | Phase::Member { .. } | Phase::Leaving { .. } => {
                self.failed(now, Some(code));
            }
            Phase::Stopped => {}
        }
    }

    fn heartbeat_answered(&mut self, now: Tick, is_fenced: bool, should_shut_down: bool, out: &mut Vec<Effect>) {
        self.succeeded();
        match self.phase {
            Phase::Member { epoch, fenced } => {
                if fenced != is_fenced {
                    out.push(if is_fenced { Effect::Fenced } else { Effect::Unfenced });
                }
                self.phase = Phase::Member { epoch, fenced: is_fenced };
                let pause_ms = if self.news { 0 } else { self.config.heartbeat_interval_ms };
                self.next_send = Some(now + pause_ms);
            }
            Phase::Leaving { epoch, .. } if should_shut_down => self.stopped(true, epoch, out),
            Phase::Leaving { ref mut pause_ms, .. } => {
                self.next_send = Some(now + (*pause_ms).min(self.config.heartbeat_interval_ms));
                *pause_ms = (*pause_ms * 2).min(LEAVING_MAX_MS);
            }
            Phase::Idle | Phase::Registering { .. } | Phase::Stopped => {}
        }
    }

    fn shutdown(&mut self, now: Tick, out: &mut Vec<Effect>) {
        match self.phase {
            Phase::Member { epoch, .. } => {
                let deadline = now + self.config.shutdown_timeout_ms;
                self.phase = Phase::Leaving { epoch, deadline, pause_ms: LEAVING_FIRST_MS };
                self.news = true;
                self.next_send = Some(now);
            }
            Phase::Idle | Phase::Registering { .. } => self.stopped(false, -1, out),
            Phase::Leaving { .. } | Phase::Stopped => {}
        }
    }

    fn stopped(&mut self, released: bool, epoch: i64, out: &mut Vec<Effect>) {
        self.stop();
        out.push(Effect::Stopped { released, epoch });
    }

    fn stop(&mut self) {
        self.phase = Phase::Stopped;
        self.in_flight = false;
        self.next_send = None;
    }

    /// Something is to be said before the interval is over.
    fn hurry(&mut self, now: Tick) {
        self.news = true;
        if matches!(self.phase, Phase::Member { .. } | Phase::Leaving { .. }) {
            self.next_send = Some(now);
        }
    }

    fn metadata_applied(&mut self, now: Tick, index: u64) {
        let caught_up = |index: u64, epoch: i64| i64::try_from(index).is_ok_and(|index| index >= epoch);
        let before = self.metadata_index;
        self.metadata_index = before.max(index);
        match self.phase {
            Phase::Member { epoch, fenced: true } if !caught_up(before, epoch) && caught_up(index, epoch) => {
                self.hurry(now);
            }
            _ => {}
        }
    }

    fn deadlines(&mut self, now: Tick, out: &mut Vec<Effect>) {
        match self.phase {
            Phase::Registering { since, give_up_at: Some(at) } if now >= at => {
                let reason = GiveUp::TimedOut { waited_ms: now - since, last_code: self.last_code };
                self.stop();
                out.push(Effect::GiveUp { reason });
            }
            Phase::Leaving { epoch, deadline, .. } if now >= deadline => self.stopped(false, epoch, out),
            _ => {}
        }
    }

    /// Sends what is due, if nothing is in flight.
    fn send(&mut self, now: Tick, out: &mut Vec<Effect>) {
        if self.in_flight || self.next_send.is_none_or(|at| now < at) {
            return;
        }
        let (epoch, want_shutdown) = match self.phase {
            Phase::Registering { .. } => {
                self.in_flight = true;
                out.push(Effect::Register { previous_epoch: self.config.previous_epoch });
                return;
            }
            Phase::Member { epoch, .. } => (epoch, false),
            Phase::Leaving { epoch, .. } => (epoch, true),
            Phase::Idle | Phase::Stopped => return,
        };
        self.in_flight = true;
        self.news = false;
        out.push(Effect::Heartbeat {
            epoch,
            metadata_index: self.metadata_index,
            want_fence: i64::try_from(self.metadata_index).is_ok_and(|index| index < epoch),
            want_shutdown,
            offline_dirs: self.failed_dirs.iter().copied().collect(),
        });
    }
}

impl Machine for Registration {
    type Input = Input;
    type Effect = Effect;

    fn step(&mut self, now: Tick, input: Input, out: &mut Vec<Effect>) {
        match &input {
            Input::Registered { .. } | Input::Refused { .. } | Input::Unreachable | Input::HeartbeatAnswered { .. } => {
                self.in_flight = false;
            }
            Input::Start | Input::MetadataApplied { .. } | Input::DirFailed { .. } | Input::Shutdown | Input::Timer => {
            }
        }
        match input {
            Input::Start if self.phase == Phase::Idle => {
                self.register(now, Some(now + self.config.initial_timeout_ms));
            }
            Input::Start | Input::Timer => {}
            Input::Registered { epoch } => self.registered(now, epoch),
            Input::Refused { code } => self.refused(now, code, out),
            Input::Unreachable if self.phase != Phase::Stopped => self.failed(now, None),
            Input::Unreachable => {}
            Input::HeartbeatAnswered { is_fenced, should_shut_down, .. } => {
                self.heartbeat_answered(now, is_fenced, should_shut_down, out);
            }
            Input::MetadataApplied { index } => self.metadata_applied(now, index),
            Input::DirFailed { dir } => {
                if self.failed_dirs.insert(dir) {
                    self.hurry(now);
                }
            }
            Input::Shutdown => self.shutdown(now, out),
        }
        self.deadlines(now, out);
        self.send(now, out);
    }

    fn wake_at(&self) -> Option<Tick> {
        let deadline = match self.phase {
            Phase::Registering { give_up_at, .. } => give_up_at,
            Phase::Leaving { deadline, .. } => Some(deadline),
            Phase::Idle | Phase::Member { .. } | Phase::Stopped => None,
        };
        let send = self.next_send.filter(|_| !self.in_flight);
        deadline.into_iter().chain(send).min()
    }

    fn check(&self) {
        if matches!(self.phase, Phase::Idle | Phase::Stopped) {
            assert!(!self.in_flight, "a request is in flight in phase {:?}", self.phase);
            assert_eq!(self.next_send, None, "a request is due in phase {:?}", self.phase);
        } else {
            assert!(
                self.in_flight || self.next_send.is_some(),
                "in phase {:?} nothing is in flight and nothing is due",
                self.phase
            );
        }
    }
}
