//! Signs of life: when each broker was last heard of. In memory only.
//!
//! Holds: a broker that the image knows unfenced has a session; one that was released has none until it registers again.

use std::collections::BTreeMap;

use ballast_wire::BrokerId;

use super::Deposed;
use crate::image::Image;
use crate::machine::Tick;

#[derive(Clone, Copy, Debug)]
pub(super) struct Session {
    pub(super) last_contact: Tick,
    /// Index of the last metadata entry that the broker has applied, as it says.
    pub(super) metadata_index: u64,
    pub(super) leaving: Leaving,
}

/// How far an orderly stop has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaving {
    No,
    /// The record that says so is not committed yet.
    Proposed,
    /// It is the entry at this index; the others must have applied it before the broker may go.
    Since(u64),
}

#[derive(Debug)]
pub(super) struct Sessions {
    timeout_ms: Tick,
    by_broker: BTreeMap<BrokerId, Session>,
}

impl Sessions {
    /// Brokers that are in the cluster when a controller begins have a whole session before them: nobody knows when the last
    /// controller heard of them. The one that was that controller is known to have been silent since it was deposed.
    pub(super) fn new(timeout_ms: Tick, image: &Image, deposed: Option<Deposed>, now: Tick) -> Sessions {
        let mut sessions = Sessions { timeout_ms, by_broker: BTreeMap::new() };
        for broker in image.brokers().filter(|broker| !broker.fenced) {
            let heard_at =
                deposed.filter(|deposed| deposed.broker == broker.id).map_or(now, |deposed| deposed.heard_at);
            sessions.touch(broker.id, heard_at.min(now), 0);
            // The entry that said so is committed; its index is not known any more, this one is later.
            if broker.in_controlled_shutdown {
                sessions.leave(broker.id, Leaving::Since(image.index()));
            }
        }
        sessions
    }

    pub(super) fn touch(&mut self, broker: BrokerId, now: Tick, metadata_index: u64) {
        let new = Session { last_contact: now, metadata_index, leaving: Leaving::No };
        let session = self.by_broker.entry(broker).or_insert(new);
        session.last_contact = now;
        session.metadata_index = session.metadata_index.max(metadata_index);
    }

    /// A new incarnation begins anew.
    pub(super) fn restart(&mut self, broker: BrokerId, now: Tick) {
        self.by_broker.remove(&broker);
        self.touch(broker, now, 0);
    }

    /// The broker said that it stops, or it is gone: another incarnation may take its place at once.
    pub(super) fn end(&mut self, broker: BrokerId) {
        self.by_broker.remove(&broker);
    }

    pub(super) fn leave(&mut self, broker: BrokerId, leaving: Leaving) {
        if let Some(session) = self.by_broker.get_mut(&broker) {
            session.leaving = leaving;
        }
    }

    pub(super) fn leaving(&self, broker: BrokerId) -> Leaving {
        self.by_broker.get(&broker).map_or(Leaving::No, |session| session.leaving)
    }

    /// The stops that were proposed are the entry at `index`.
    pub(super) fn leaves_committed(&mut self, index: u64) {
        for session in self.by_broker.values_mut().filter(|session| session.leaving == Leaving::Proposed) {
            session.leaving = Leaving::Since(index);
        }
    }

    /// Was it heard of within a session's time?
    pub(super) fn is_valid(&self, broker: BrokerId, now: Tick) -> bool {
        self.by_broker.get(&broker).is_some_and(|session| now < session.last_contact + self.timeout_ms)
    }

    /// How long ago it was last heard of; since ever (`now`) if it has no session.
    pub(super) fn silent_ms(&self, broker: BrokerId, now: Tick) -> Tick {
        now.saturating_sub(self.by_broker.get(&broker).map_or(0, |session| session.last_contact))
    }

    /// Unfenced brokers whose time is over.
    pub(super) fn expired(&self, image: &Image, now: Tick) -> Vec<BrokerId> {
        let unfenced = image.brokers().filter(|broker| !broker.fenced);
        unfenced.map(|broker| broker.id).filter(|id| !self.is_valid(*id, now)).collect()
    }

    /// When the next unfenced broker's time is over.
    pub(super) fn next_expiry(&self, image: &Image) -> Option<Tick> {
        let unfenced = image.brokers().filter(|broker| !broker.fenced);
        let contact = |id| self.by_broker.get(&id).map_or(0, |session| session.last_contact);
        unfenced.map(|broker| contact(broker.id) + self.timeout_ms).min()
    }

    /// The index up to which every active broker has applied the metadata.
    pub(super) fn lowest_active_index(&self, image: &Image) -> u64 {
        let active = image.brokers().filter(|broker| broker.is_active());
        let index = |id| self.by_broker.get(&id).map_or(0, |session| session.metadata_index);
        active.map(|broker| index(broker.id)).min().unwrap_or(u64::MAX)
    }

    /// The controller itself was not running: nobody could be heard, so everybody has a whole session from now on.
    pub(super) fn renew(&mut self, now: Tick) {
        for session in self.by_broker.values_mut() {
            session.last_contact = now;
        }
    }
}
