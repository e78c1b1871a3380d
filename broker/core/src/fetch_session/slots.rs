//! The sessions' slots: who holds one, and who must give it up.
//!
//! A newcomer that finds no free slot takes that of the session unused for longest, if that is more than
//! [`UNUSED_MS_MAX`]. Otherwise it takes that of the least valuable session, if that one may be evicted by it and is not
//! worth more. Replicas' sessions (privileged) are worth more than consumers', then larger ones more than smaller ones.
//! A replica may evict any consumer, and anybody who has had a slot for long enough; a consumer only the latter.

use std::collections::{BTreeMap, BTreeSet};

use super::session::Session;
use crate::machine::Tick;

/// A session unused for longer may be evicted by anybody; one that has been there for longer, by its equals.
pub(super) const UNUSED_MS_MAX: Tick = 120_000;

/// What a session is worth: privilege, partitions, then the id to tell equals apart.
type Worth = (bool, usize, i32);

#[derive(Debug, Clone)]
pub(super) struct Slots {
    slots: usize,
    sessions: BTreeMap<i32, Session>,
    by_use: BTreeSet<(Tick, i32)>,
    worth: BTreeMap<i32, Worth>,
    evictable_by_replicas: BTreeSet<Worth>,
    evictable_by_all: BTreeSet<Worth>,
    partitions: usize,
    evictions: u64,
}

impl Slots {
    pub(super) fn new(slots: usize) -> Slots {
        Slots {
            slots,
            sessions: BTreeMap::new(),
            by_use: BTreeSet::new(),
            worth: BTreeMap::new(),
            evictable_by_replicas: BTreeSet::new(),
            evictable_by_all: BTreeSet::new(),
            partitions: 0,
            evictions: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.sessions.len()
    }

    pub(super) fn partitions(&self) -> usize {
        self.partitions
    }

    pub(super) fn evictions(&self) -> u64 {
        self.evictions
    }

    pub(super) fn get(&self, id: i32) -> Option<&Session> {
        self.sessions.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: i32) -> Option<&mut Session> {
        self.sessions.get_mut(&id)
    }

    pub(super) fn remove(&mut self, id: i32) {
        if let Some(session) = self.sessions.remove(&id) {
            self.by_use.remove(&(session.used_at, id));
            self.unlist(id);
        }
    }

    fn unlist(&mut self, id: i32) {
        if let Some(worth) = self.worth.remove(&id) {
            self.partitions -= worth.1;
            self.evictable_by_replicas.remove(&worth);
            self.evictable_by_all.remove(&worth);
        }
    }

    /// Is there a slot for a session of this worth, perhaps after an eviction? Evicts if so.
    pub(super) fn make_room(&mut self, now: Tick, privileged: bool, partitions: usize) -> bool {
        if self.sessions.len() < self.slots {
            return true;
        }
        let Some(id) = self.victim(now, privileged, partitions) else {
            return false;
        };
        self.remove(id);
        self.evictions += 1;
        true
    }

    fn victim(&self, now: Tick, privileged: bool, partitions: usize) -> Option<i32> {
        let (used_at, id) = *self.by_use.first()?;
        if now.saturating_sub(used_at) > UNUSED_MS_MAX {
            return Some(id);
        }
        let evictable = if privileged { &self.evictable_by_replicas } else { &self.evictable_by_all };
        let worth = *evictable.first()?;
        // Ids start at 1: at equal worth the newcomer does not win.
        (worth <= (privileged, partitions, 0)).then_some(worth.2)
    }

    /// Puts a session into its slot.
    ///
    /// # Panics
    /// If there is no room, or the id is taken.
    pub(super) fn insert(&mut self, id: i32, session: Session, now: Tick) {
        assert!(self.sessions.len() < self.slots, "{} sessions for {} slots", self.sessions.len() + 1, self.slots);
        let before = self.sessions.insert(id, session);
        assert!(before.is_none(), "fetch session {id} is there already");
        self.touch(id, now);
    }

    /// Notes that a session is used now, and what it is worth with the partitions that it has now.
    pub(super) fn touch(&mut self, id: i32, now: Tick) {
        self.unlist(id);
        let Some(session) = self.sessions.get_mut(&id) else { return };
        self.by_use.remove(&(session.used_at, id));
        session.used_at = now.max(session.used_at);
        self.by_use.insert((session.used_at, id));
        let worth = (session.privileged, session.len(), id);
        let settled = now.saturating_sub(session.opened_at) > UNUSED_MS_MAX;
        if settled || !session.privileged {
            self.evictable_by_replicas.insert(worth);
        }
        if settled {
            self.evictable_by_all.insert(worth);
        }
        self.partitions += worth.1;
        self.worth.insert(id, worth);
    }

    pub(super) fn check(&self) {
        assert!(self.sessions.len() <= self.slots, "{} sessions in {} slots", self.sessions.len(), self.slots);
        assert_eq!(self.sessions.len(), self.by_use.len(), "sessions and their order of use differ");
        assert_eq!(self.sessions.len(), self.worth.len(), "sessions and their worth differ");
        let counted: usize = self.worth.values().map(|worth| worth.1).sum();
        assert_eq!(self.partitions, counted, "the partitions of all sessions are miscounted");
        for session in self.sessions.values() {
            session.check();
        }
    }
}
