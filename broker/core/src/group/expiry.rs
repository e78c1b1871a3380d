//! What goes by itself: offsets whose retention is over, and groups that have nothing left.
//!
//! Holds:
//!   1. An offset whose newest commit is still on its way does not expire.
//!   2. A step looks at so many groups only; a sweep goes on in the next one.
//!
//! Read next: classic/subscribed.rs (when a group's offsets expire).

use std::ops::Bound;

use ballast_wire::PartitionIndex;

use super::classic::{Expiry, GroupState};
use super::commit::tombstone;
use super::groups::Groups;
use super::records::{CommittedOffset, Record};
use super::timers::TimerKey;
use super::turn::Turn;
use super::{GroupConfig, GroupId};

/// Groups that one step of a sweep looks at.
const SWEEP_GROUPS_MAX: usize = 1_000;

impl Groups {
    /// Goes on with a sweep, or begins one.
    pub(super) fn sweep(&mut self, turn: &mut Turn<'_>) {
        let from = self.swept_to.take().map_or(Bound::Unbounded, Bound::Excluded);
        let range = (from, Bound::Unbounded);
        let ids: Vec<GroupId> =
            self.live.range::<GroupId, _>(range).take(SWEEP_GROUPS_MAX).map(|(id, _)| id.clone()).collect();
        let mut records = Vec::new();
        for id in &ids {
            self.sweep_group(turn, id, &mut records);
        }
        if !records.is_empty() {
            turn.append(records);
        }
        if ids.len() == SWEEP_GROUPS_MAX {
            self.swept_to = ids.last().cloned();
            turn.set_timer(TimerKey::Sweep, 0);
        } else {
            turn.set_timer(TimerKey::Sweep, turn.config.retention_check_interval_ms.max(1));
        }
    }

    fn sweep_group(&mut self, turn: &mut Turn<'_>, id: &GroupId, records: &mut Vec<Record>) {
        let Some(group) = self.live.get(id) else { return };
        let committed = self.committed.groups.get(id);
        let (mut expired, mut keeps_some) = (Vec::new(), turn.flight.has_offsets(id));
        for (topic, partitions) in committed.into_iter().flat_map(|committed| &committed.offsets) {
            let is_read = group.is_subscribed_to(topic);
            let on_its_way = |index: &PartitionIndex| turn.flight.is_ahead(id, topic, *index);
            for (index, value) in partitions.iter().filter(|(index, _)| !on_its_way(index)) {
                if !is_read && is_expired(turn.config, turn.wall_ms, group.expiry(), value) {
                    expired.push(tombstone(id, topic, *index));
                } else {
                    keeps_some = true;
                }
            }
        }
        let is_deserted = group.state() == GroupState::Empty && !group.has_pending();
        if keeps_some || !is_deserted {
            records.append(&mut expired);
        } else if committed.is_none() && turn.flight.newest(id).is_none() {
            // Its offsets were deleted one by one: nothing of it is in the log.
            self.live.remove(id);
        } else {
            records.append(&mut self.remove_group(turn, id));
        }
    }
}

fn is_expired(config: &GroupConfig, wall_ms: i64, expiry: Expiry, value: &CommittedOffset) -> bool {
    let since_ms = match expiry {
        Expiry::Never => return false,
        Expiry::FromCommit => value.committed_at_ms,
        Expiry::From(since_ms) => since_ms,
    };
    match value.expires_at_ms {
        Some(at_ms) => wall_ms >= at_ms,
        None => wall_ms.saturating_sub(since_ms) >= config.retention_ms,
    }
}
