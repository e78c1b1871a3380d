//! Deadlines of a shard: one ordered set for all of them.
//!
//! Holds: a key has at most one deadline, and both maps agree.

use std::collections::{BTreeMap, BTreeSet};

use super::{GroupId, MemberId};
use crate::machine::Tick;

/// What a deadline is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TimerKey {
    /// A member, or one that was told to join with its new id, has been silent for its session.
    Session {
        /// Group.
        group: GroupId,
        /// Who.
        member: MemberId,
    },
    /// The time to join is up, or a part of the initial delay.
    Join(GroupId),
    /// The time to sync is up.
    Sync(GroupId),
    /// Look for expired offsets.
    Sweep,
}

/// All deadlines.
#[derive(Debug, Default)]
pub(super) struct Timers {
    at: BTreeMap<TimerKey, Tick>,
    due: BTreeSet<(Tick, TimerKey)>,
}

impl Timers {
    /// Sets a deadline, or moves it.
    pub(super) fn set(&mut self, key: TimerKey, at: Tick) {
        if let Some(before) = self.at.insert(key.clone(), at) {
            self.due.remove(&(before, key.clone()));
        }
        self.due.insert((at, key));
    }

    pub(super) fn cancel(&mut self, key: &TimerKey) {
        if let Some(at) = self.at.remove(key) {
            self.due.remove(&(at, key.clone()));
        }
    }

    pub(super) fn is_set(&self, key: &TimerKey) -> bool {
        self.at.contains_key(key)
    }

    /// The earliest deadline.
    pub(super) fn next(&self) -> Option<Tick> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Takes out the earliest deadline that has passed.
    pub(super) fn pop_due(&mut self, now: Tick) -> Option<TimerKey> {
        let (at, _) = self.due.first()?;
        if *at > now {
            return None;
        }
        let (_, key) = self.due.pop_first()?;
        self.at.remove(&key);
        Some(key)
    }

    /// Every key that has a deadline.
    pub(super) fn keys(&self) -> impl Iterator<Item = &TimerKey> {
        self.at.keys()
    }

    pub(super) fn check(&self) {
        assert_eq!(self.at.len(), self.due.len(), "{} keys have {} deadlines", self.at.len(), self.due.len());
        for (key, at) in &self.at {
            assert!(self.due.contains(&(*at, key.clone())), "the deadline {at} of {key:?} is not in the queue");
        }
    }
}
