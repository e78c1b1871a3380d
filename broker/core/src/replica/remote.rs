//! What a leader knows of a follower, all of it from the follower's fetches.
//!
//! A follower is caught up when it has the leader's end, or had it not long ago. "Had it" is judged kindly: who asks now
//! from where the leader ended at the fetch before was caught up at that fetch. Under steady load a follower is always
//! one fetch behind, and must not be taken for one that falls back.

use ballast_wire::Offset;

use crate::machine::Tick;

/// A follower, as far as its leader knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteReplica {
    /// Everything below is in its log; unknown before its first fetch.
    pub end: Option<Offset>,
    /// Its first offset, -1 if it has not said.
    pub log_start: Offset,
    /// The broker epoch that it fetches with, -1 if it does not say.
    pub broker_epoch: i64,
    /// When it last had everything; members of the ISR are believed to at the start.
    pub caught_up_at: Option<Tick>,
    /// When it last fetched, and the leader's end at that time.
    pub(super) last_fetch: Option<(Tick, Offset)>,
}

impl Default for RemoteReplica {
    fn default() -> RemoteReplica {
        RemoteReplica { end: None, log_start: -1, broker_epoch: -1, caught_up_at: None, last_fetch: None }
    }
}

impl RemoteReplica {
    pub(super) fn fetched(
        &mut self,
        now: Tick,
        from: Offset,
        log_start: Offset,
        broker_epoch: i64,
        leader_end: Offset,
    ) {
        if from >= leader_end {
            self.caught_up_at = self.caught_up_at.max(Some(now));
        } else if let Some((at, end_then)) = self.last_fetch
            && from >= end_then
        {
            self.caught_up_at = self.caught_up_at.max(Some(at));
        }
        self.end = Some(from);
        self.log_start = log_start;
        self.broker_epoch = broker_epoch;
        self.last_fetch = Some((now, leader_end));
    }

    /// When it was last heard of; members of the ISR are believed to at the start.
    pub(super) fn heard_at(&self) -> Option<Tick> {
        self.last_fetch.map(|(at, _)| at).max(self.caught_up_at)
    }

    pub(super) fn is_caught_up(&self, now: Tick, leader_end: Offset, lag_max_ms: u64) -> bool {
        let recently = self.caught_up_at.is_some_and(|at| now.saturating_sub(at) <= lag_max_ms);
        self.end == Some(leader_end) || recently
    }
}
