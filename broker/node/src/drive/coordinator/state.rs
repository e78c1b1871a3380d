//! What a coordinator is at a moment: being loaded, at work, or ended; and who waits for it.
//!
//! Holds: who waits is answered once: by the shard, or by [`State::refuse`] when the shard goes.

use std::collections::{BTreeMap, VecDeque};

use ballast_core::group::{Event, RequestId, Response, Shard, Ticket};
use ballast_core::machine::Tick;
use tokio::sync::oneshot;

use crate::drive::partition::{ProduceError, Refused};
use crate::drive::waiters::ProduceWait;

/// Why nobody answers for a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unavailable {
    /// This broker does not coordinate it, or its partition failed: the client looks for who does.
    NotCoordinator,
    /// This broker is about to.
    Loading,
    /// It does, but too few replicas are in sync to take anything in, or they take too long.
    NotAvailable,
}

/// What a request becomes.
pub(super) type Answer = Result<Response, Unavailable>;

/// An append that is not known to be committed.
pub(super) struct InFlight {
    pub(super) ticket: Ticket,
    pub(super) wait: ProduceWait,
    /// Whoever waits for it is told then that it takes too long (`offsets.commit.timeout.ms`).
    pub(super) late_at: Tick,
    /// Were they told?
    pub(super) is_late: bool,
}

/// A shard at work.
pub(super) struct Active {
    pub(super) shard: Shard,
    pub(super) waiting: BTreeMap<RequestId, oneshot::Sender<Answer>>,
    pub(super) next_id: RequestId,
    pub(super) in_flight: VecDeque<InFlight>,
    /// Topics that were deleted since everything was last committed: a shard that is loaded again must be told again.
    pub(super) deletions: Vec<Event>,
    /// The deadline that the task sleeps for.
    pub(super) armed: Option<Tick>,
}

impl Active {
    pub(super) fn new(shard: Shard) -> Active {
        let (waiting, in_flight, deletions) = (BTreeMap::new(), VecDeque::new(), Vec::new());
        Active { shard, waiting, next_id: 0, in_flight, deletions, armed: None }
    }

    /// When the next append is late.
    pub(super) fn late_at(&self) -> Option<Tick> {
        self.in_flight.iter().find(|append| !append.is_late).map(|append| append.late_at)
    }

    /// The newest append that is late by now, if anybody is to be told of it.
    pub(super) fn newest_late(&mut self, now: Tick) -> Option<Ticket> {
        let late = self.in_flight.iter_mut().filter(|append| !append.is_late && append.late_at <= now);
        late.map(|append| {
            append.is_late = true;
            append.ticket
        })
        .last()
    }

    /// If nothing is in flight any more, nothing that was done can be lost.
    pub(super) fn settle_deletions(&mut self) {
        if self.in_flight.is_empty() {
            self.deletions.clear();
        }
    }
}

pub(super) enum State {
    /// Being loaded; what happens meanwhile is told to the shard then.
    Loading(Vec<Event>),
    Active(Box<Active>),
    Ended(Unavailable),
}

impl State {
    pub(super) fn why_not(&self) -> Unavailable {
        match self {
            State::Loading(_) => Unavailable::Loading,
            State::Ended(why) => *why,
            State::Active(_) => unreachable!("an active coordinator answers"),
        }
    }

    pub(super) fn refuse(self, why: Unavailable) {
        if let State::Active(active) = self {
            for waiting in active.waiting.into_values() {
                // Its connection may have gone.
                let _ = waiting.send(Err(why));
            }
        }
    }
}

/// What clients are told when an append is refused at once.
pub(super) fn unavailable(error: &ProduceError) -> Unavailable {
    match error {
        ProduceError::Refused(Refused::NotEnoughReplicas) => Unavailable::NotAvailable,
        ProduceError::Refused(_) | ProduceError::Append(_) => Unavailable::NotCoordinator,
    }
}
