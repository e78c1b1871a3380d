//! The machine: one partition of `__consumer_offsets`, and all groups that live there.
//!
//! Holds after every step (see `check`):
//!   1. A group that is committed, or on its way to be, is live, unless its deletion is on its way.
//!   2. Every request has been answered, or waits in exactly one place.
//!
//! Read next: groups.rs (who handles what), load.rs (how a shard begins), view.rs (reading it).

use std::collections::BTreeSet;

use super::committed::Committed;
use super::flight::Flight;
use super::groups::Groups;
use super::timers::{TimerKey, Timers};
use super::turn::Turn;
use super::view::GroupView;
use super::{Effect, Event, GroupConfig, Input, RequestId};
use crate::machine::{Machine, Tick};

/// The machine.
#[derive(Debug)]
pub struct Shard {
    config: GroupConfig,
    groups: Groups,
    timers: Timers,
    flight: Flight,
}

impl Shard {
    /// A shard with what was committed. Members get their whole session; groups that have outgrown `group.max.size`
    /// rebalance, so that their consumers can commit before some are turned away.
    pub(super) fn new(config: GroupConfig, committed: Committed, now: Tick, wall_ms: i64) -> Shard {
        let mut shard =
            Shard { config, groups: Groups::default(), timers: Timers::default(), flight: Flight::default() };
        let mut out = Vec::new();
        let groups = Groups::loaded(committed, &mut shard.turn(now, wall_ms, &mut out).1);
        shard.groups = groups;
        assert_eq!(out, [], "loading has nobody to tell anything");
        shard
    }

    /// One group; `None` if there is none (tools call it `Dead`).
    #[must_use]
    pub fn group(&self, id: &str) -> Option<GroupView<'_>> {
        let (id, committed) = self.groups.committed.groups.get_key_value(id)?;
        Some(GroupView { id, committed, live: self.groups.live.get(id) })
    }

    /// All groups, by id.
    pub fn groups(&self) -> impl Iterator<Item = GroupView<'_>> {
        let committed = &self.groups.committed.groups;
        committed.iter().map(|(id, committed)| GroupView { id, committed, live: self.groups.live.get(id) })
    }

    /// Ends the shard: every request that has no answer yet. The driver refuses them: NOT_COORDINATOR (16) when leadership
    /// went or the disk failed, COORDINATOR_NOT_AVAILABLE (15) when an append found too few replicas or timed out.
    #[must_use]
    pub fn into_waiting(self) -> Vec<RequestId> {
        self.waiting().collect()
    }

    /// Requests that have no answer yet.
    fn waiting(&self) -> impl Iterator<Item = RequestId> {
        self.groups.live.values().flat_map(super::classic::Classic::waiting).chain(self.flight.waiting())
    }

    /// The groups, and what a step may touch beside them.
    fn turn<'a>(&'a mut self, now: Tick, wall_ms: i64, out: &'a mut Vec<Effect>) -> (&'a mut Groups, Turn<'a>) {
        let Shard { config, groups, timers, flight } = self;
        (groups, Turn { now, wall_ms, config, timers, flight, out })
    }

    #[cfg(test)]
    pub(super) fn committed(&self) -> &Committed {
        &self.groups.committed
    }
}

impl Machine for Shard {
    type Input = Input;
    type Effect = Effect;

    fn step(&mut self, now: Tick, input: Input, out: &mut Vec<Effect>) {
        if let Event::Configured(config) = input.event {
            let interval_ms = config.retention_check_interval_ms;
            if interval_ms != self.config.retention_check_interval_ms {
                self.timers.set(TimerKey::Sweep, now.saturating_add(interval_ms));
            }
            self.config = config;
            return;
        }
        let (groups, mut turn) = self.turn(now, input.wall_ms, out);
        match input.event {
            Event::Request { id, request } => groups.request(&mut turn, id, request),
            Event::Committed { ticket } => groups.committed(&mut turn, ticket),
            Event::Late { ticket } => groups.late(&mut turn, ticket),
            Event::TopicDeleted { name, id } => groups.topic_deleted(&mut turn, &name, id),
            Event::Timer => groups.timer(&mut turn),
            Event::Configured(_) => unreachable!("handled above"),
        }
    }

    fn wake_at(&self) -> Option<Tick> {
        self.timers.next()
    }

    fn check(&self) {
        self.timers.check();
        self.flight.check();
        self.groups.check(&self.timers, &self.flight);
        let waiting: Vec<RequestId> = self.waiting().collect();
        let distinct = waiting.iter().copied().collect::<BTreeSet<RequestId>>().len();
        assert_eq!(waiting.len(), distinct, "a request waits in two places: {waiting:?}");
    }
}
