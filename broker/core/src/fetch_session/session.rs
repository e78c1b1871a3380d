//! One session: its partitions in the order in which they are read, and what was last sent of each.
//!
//! A partition that gave records goes to the end of the order, so that a small response limit starves nobody.

use std::collections::BTreeMap;

use ballast_wire::Offset;

use super::{Facts, PartitionKey, Wanted};
use crate::machine::Tick;

/// High watermark of a partition of which nothing was sent, or an error: whatever comes next is news.
const NOTHING_SENT: Offset = -1;

/// The session epoch after `epoch`: it counts from 1 to `i32::MAX` and around.
pub(super) fn next_epoch(epoch: i32) -> i32 {
    if epoch == i32::MAX { 1 } else { epoch + 1 }
}

#[derive(Debug, Clone)]
struct Cached {
    wanted: Wanted,
    sent_high_watermark: Offset,
    sent_log_start: Offset,
    place: u64,
}

impl Cached {
    /// What is wanted now. A watermark that was sent is known by the time the next request comes, though a partition of
    /// which nothing else changed is not listed in it.
    fn wanted(&self) -> Wanted {
        Wanted { high_watermark: self.wanted.high_watermark.max(self.sent_high_watermark), ..self.wanted }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Session {
    pub(super) privileged: bool,
    pub(super) by_id: bool,
    pub(super) opened_at: Tick,
    pub(super) used_at: Tick,
    /// Epoch of the request that must come next.
    pub(super) epoch: i32,
    partitions: BTreeMap<PartitionKey, Cached>,
    order: BTreeMap<u64, PartitionKey>,
    next_place: u64,
}

impl Session {
    /// A session without partitions, whose first incremental request has epoch 1.
    pub(super) fn new(privileged: bool, by_id: bool, now: Tick) -> Session {
        Session {
            privileged,
            by_id,
            opened_at: now,
            used_at: now,
            epoch: 1,
            partitions: BTreeMap::new(),
            order: BTreeMap::new(),
            next_place: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.partitions.len()
    }

    /// How many of `keys` would be new.
    pub(super) fn count_new<'k>(&self, keys: impl Iterator<Item = &'k PartitionKey>) -> usize {
        keys.filter(|key| !self.partitions.contains_key(key)).count()
    }

    /// Adds a partition at the end, or changes what is wanted of it where it stands.
    pub(super) fn want(&mut self, key: PartitionKey, wanted: Wanted) {
        if let Some(cached) = self.partitions.get_mut(&key) {
            cached.wanted = wanted;
            return;
        }
        let place = self.take_place();
        self.order.insert(place, key.clone());
        let cached = Cached { wanted, sent_high_watermark: NOTHING_SENT, sent_log_start: NOTHING_SENT, place };
        self.partitions.insert(key, cached);
    }

    pub(super) fn forget(&mut self, key: &PartitionKey) {
        if let Some(cached) = self.partitions.remove(key) {
            self.order.remove(&cached.place);
        }
    }

    /// Everything that is wanted, in order.
    pub(super) fn wanted(&self) -> Vec<(PartitionKey, Wanted)> {
        self.order.values().map(|key| (key.clone(), self.partitions[key].wanted())).collect()
    }

    /// Takes in what was read of a partition. Is it news that must be sent?
    pub(super) fn is_news(&mut self, key: &PartitionKey, facts: &Facts) -> bool {
        let Some(cached) = self.partitions.get_mut(key) else {
            return true;
        };
        let moved =
            cached.sent_high_watermark != facts.high_watermark || cached.sent_log_start != facts.log_start_offset;
        cached.sent_high_watermark = if facts.is_error { NOTHING_SENT } else { facts.high_watermark };
        cached.sent_log_start = facts.log_start_offset;
        moved || facts.has_records || facts.is_error || facts.must_be_sent
    }

    pub(super) fn move_to_the_end(&mut self, key: &PartitionKey) {
        let place = self.take_place();
        if let Some(cached) = self.partitions.get_mut(key) {
            self.order.remove(&cached.place);
            cached.place = place;
            self.order.insert(place, key.clone());
        }
    }

    fn take_place(&mut self) -> u64 {
        self.next_place += 1;
        self.next_place
    }

    pub(super) fn check(&self) {
        assert_eq!(self.partitions.len(), self.order.len(), "partitions and their order differ");
        assert!(self.epoch >= 1, "a session expects request {}", self.epoch);
        assert!(self.opened_at <= self.used_at, "used at {} before it was opened at {}", self.used_at, self.opened_at);
        debug_assert!(self.order.iter().all(|(place, key)| self.partitions[key].place == *place));
    }
}
