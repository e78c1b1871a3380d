//! The machine: one partition of `__consumer_offsets`, and all groups that live there.
//!
//! Holds: see the header of the folder.
//!
//! Read next: classic/mod.rs (a group), commit.rs (offsets), load.rs (how a shard begins).

use std::collections::BTreeMap;

use super::classic::Classic;
use super::committed::Committed;
use super::view::GroupView;
use super::{Effect, GroupConfig, GroupId, Input, RequestId};
use crate::machine::{Machine, Tick};

/// The machine.
#[derive(Debug)]
pub struct Shard {
    config: GroupConfig,
    committed: Committed,
    live: BTreeMap<GroupId, Classic>,
}

impl Shard {
    pub(super) fn new(config: GroupConfig, committed: Committed, _now: Tick) -> Shard {
        Shard { config, committed, live: BTreeMap::new() }
    }

    /// One group; `None` if there is none (tools call it `Dead`).
    #[must_use]
    pub fn group(&self, id: &str) -> Option<GroupView<'_>> {
        let (id, committed) = self.committed.groups.get_key_value(id)?;
        Some(GroupView { id, committed, live: self.live.get(id) })
    }

    /// All groups, by id.
    pub fn groups(&self) -> impl Iterator<Item = GroupView<'_>> {
        self.committed.groups.iter().map(|(id, committed)| GroupView { id, committed, live: self.live.get(id) })
    }

    /// Ends the shard: every request that has no answer yet. The driver refuses them: NOT_COORDINATOR (16) when leadership
    /// went or the disk failed, COORDINATOR_NOT_AVAILABLE (15) when an append found too few replicas or timed out.
    #[must_use]
    pub fn into_waiting(self) -> Vec<RequestId> {
        Vec::new()
    }
}

impl Machine for Shard {
    type Input = Input;
    type Effect = Effect;

    fn step(&mut self, _now: Tick, _input: Input, _out: &mut Vec<Effect>) {
        unimplemented!("follows")
    }

    fn wake_at(&self) -> Option<Tick> {
        None
    }

    fn check(&self) {}
}
