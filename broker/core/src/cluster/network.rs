//! Messages in a bag: whatever is in it may come next, twice, or never.
//!
//! Holds: no message lives longer than `LIFE_MS`, which is less than `replica.lag.time.max.ms`.

use std::collections::BTreeSet;

use ballast_wire::{BrokerId, LeaderEpoch, Offset};

use super::log::Record;
use super::plan::Plan;
use super::random::Random;
use crate::controller::{Request, RequestId, Response};
use crate::image::Image;
use crate::machine::Tick;
use crate::replica::EpochEnd;
use crate::replica::follower::{FetchRequest, Ticket};

/// A message that did not come in this time never does.
pub(super) const LIFE_MS: Tick = 400;

/// The controllers' place in the network.
pub(super) const QUORUM: BrokerId = 0;

/// One life of a broker's process.
pub(super) type Life = u64;

/// What a leader answers to a fetch.
#[derive(Debug, Clone)]
pub(super) enum Fetched {
    Records { base: Offset, records: Vec<Record>, high: Offset, log_start: Offset },
    Diverging(EpochEnd),
    OutOfRange,
    Fenced,
    Failed,
}

#[derive(Debug, Clone)]
pub(super) enum Message {
    Fetch {
        request: FetchRequest,
        broker_epoch: i64,
    },
    Fetched {
        ticket: Ticket,
        answer: Fetched,
    },
    AskEnds {
        ticket: Ticket,
        leader_epoch: LeaderEpoch,
    },
    Ends {
        ticket: Ticket,
        ends: Option<(Offset, Offset)>,
    },
    /// To the controllers. `call` pairs it with its answer at the broker.
    Request {
        call: RequestId,
        request: Box<Request>,
    },
    Response {
        call: RequestId,
        response: Box<Response>,
    },
    Metadata(Box<Image>),
    /// What a broker does after a while by itself: its log's work. Never lost, never doubled.
    Work,
}

#[derive(Debug, Clone)]
pub(super) struct Envelope {
    pub(super) from: BrokerId,
    pub(super) to: BrokerId,
    /// Whose life it belongs to: the asker's.
    pub(super) life: Life,
    pub(super) sent_at: Tick,
    pub(super) message: Message,
}

#[derive(Debug, Default)]
pub(super) struct Network {
    bag: Vec<Envelope>,
    /// Links that are cut, by direction.
    blocked: BTreeSet<(BrokerId, BrokerId)>,
}

impl Network {
    pub(super) fn send(&mut self, envelope: Envelope) {
        self.bag.push(envelope);
    }

    pub(super) fn block(&mut self, from: BrokerId, to: BrokerId) {
        self.blocked.insert((from, to));
    }

    pub(super) fn is_cut(&self) -> bool {
        !self.blocked.is_empty()
    }

    pub(super) fn unblock_all(&mut self) {
        self.blocked.clear();
    }

    /// One of the messages, unless it gets lost.
    pub(super) fn take(&mut self, random: &mut Random, plan: &Plan, now: Tick) -> Option<Envelope> {
        if self.bag.is_empty() {
            return None;
        }
        let at = random.index(self.bag.len());
        let envelope = &self.bag[at];
        if matches!(envelope.message, Message::Work) {
            return Some(self.bag.swap_remove(at));
        }
        let answers = if matches!(envelope.message, Message::Response { .. }) { plan.answers_lost } else { 0 };
        let too_old = now.saturating_sub(envelope.sent_at) > LIFE_MS;
        if too_old || self.blocked.contains(&(envelope.from, envelope.to)) || random.chance(plan.lost.max(answers)) {
            self.bag.swap_remove(at);
            return None;
        }
        // A connection does not double what it carries; what is asked twice is asked by its sender. Fetches, their answers
        // and metadata are doubled all the same: the machines promise to bear it.
        let may_double = !matches!(envelope.message, Message::Request { .. } | Message::Response { .. });
        if may_double && random.chance(plan.doubled) {
            return Some(envelope.clone());
        }
        Some(self.bag.swap_remove(at))
    }
}
