//! When this node may decide: it leads, and everything committed before it led is applied here.
//!
//! openraft says that a node leads as soon as it has won. Its log may then hold entries that earlier leaders committed and
//! that are not applied yet; they are committed with the first entry of its own term. (One that restarts as the leader it
//! was gets no new first entry: then all of its log must be applied again.) Both cases are the same to us: whatever is in
//! the log when the reign is first seen has to be applied.
//!
//! Holds: a reign that ends and a new one that begins between two looks are told as an end and a beginning.

use std::time::Duration;

use openraft::{LeaderId, ServerState};
use tokio::sync::watch;

use super::TOLD;
use super::types::{Metrics, NodeId};

/// What is to be told after one look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verdict {
    /// The reign seen before is over.
    pub(super) ended: bool,
    /// This node leads, and all before is applied.
    pub(super) leads: bool,
}

/// The reign of this node, as far as it was seen.
#[derive(Debug, Default)]
pub(super) struct Reign(Option<Since>);

#[derive(Debug)]
struct Since {
    leader_id: LeaderId<NodeId>,
    /// Index that has to be applied.
    needs: u64,
}

/// What one look shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    /// As whom this node leads, if it does.
    pub(super) leader_id: Option<LeaderId<NodeId>>,
    pub(super) last_index: Option<u64>,
    pub(super) applied_index: Option<u64>,
}

impl Look {
    fn at(metrics: &Metrics, silence_max: Duration) -> Look {
        Look {
            leader_id: is_followed(metrics, silence_max).then_some(metrics.vote.leader_id),
            last_index: metrics.last_log_index,
            applied_index: metrics.last_applied.map(|applied| applied.index),
        }
    }
}

impl Reign {
    pub(super) fn look(&mut self, look: Look) -> Verdict {
        let ended = self.0.as_ref().is_some_and(|since| Some(since.leader_id) != look.leader_id);
        let Some(leader_id) = look.leader_id else {
            self.0 = None;
            return Verdict { ended, leads: false };
        };
        if ended {
            self.0 = None;
        }
        let since = self.0.get_or_insert(Since { leader_id, needs: look.last_index.unwrap_or(0) });
        Verdict { ended, leads: look.applied_index.is_some_and(|applied| applied >= since.needs) }
    }
}

/// Does this node lead, with a majority that has answered it within `silence_max`?
pub(super) fn is_followed(metrics: &Metrics, silence_max: Duration) -> bool {
    let leads = metrics.running_state.is_ok() && metrics.state == ServerState::Leader && metrics.vote.committed;
    leads && is_heard(metrics.millis_since_quorum_ack, silence_max)
}

/// Has a majority answered lately? Who leads alone does not know that others have elected another: openraft lets it lead on.
fn is_heard(millis_since_quorum_ack: Option<u64>, silence_max: Duration) -> bool {
    millis_since_quorum_ack.is_none_or(|ms| Duration::from_millis(ms) <= silence_max)
}

/// Tells `leads` until openraft is gone. A leader whom no majority has answered for `silence_max` is none.
pub(super) async fn watch(mut metrics: watch::Receiver<Metrics>, leads: watch::Sender<bool>, silence_max: Duration) {
    let mut reign = Reign::default();
    loop {
        let verdict = reign.look(Look::at(&metrics.borrow_and_update(), silence_max));
        if verdict.ended {
            tell(&leads, false);
        }
        tell(&leads, verdict.leads);
        if metrics.changed().await.is_err() {
            tell(&leads, false);
            return;
        }
    }
}

/// Tells changes, and after an end also the same again.
fn tell(leads: &watch::Sender<bool>, now: bool) {
    let is_news = leads.send_if_modified(|leads| std::mem::replace(leads, now) != now);
    if is_news && now {
        tracing::trace!(target: TOLD, "controls");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(term: Option<u64>, last: u64, applied: u64) -> Look {
        let leader_id = term.map(|term| LeaderId::new(term, NodeId::from(1)));
        Look { leader_id, last_index: Some(last), applied_index: Some(applied) }
    }

    const WAITS: Verdict = Verdict { ended: false, leads: false };
    const LEADS: Verdict = Verdict { ended: false, leads: true };

    #[test]
    fn a_leader_decides_once_everything_found_in_its_log_is_applied() {
        let mut reign = Reign::default();
        assert_eq!(reign.look(look(None, 9, 4)), WAITS);
        assert_eq!(reign.look(look(Some(2), 10, 4)), WAITS);
        assert_eq!(reign.look(look(Some(2), 12, 9)), WAITS);
        assert_eq!(reign.look(look(Some(2), 12, 10)), LEADS, "what it appended since does not count");
        assert_eq!(reign.look(look(Some(2), 20, 12)), LEADS);
    }

    #[test]
    fn a_leader_whom_no_majority_answers_is_none() {
        let max = Duration::from_millis(3_000);
        assert!(is_heard(None, max) && is_heard(Some(0), max) && is_heard(Some(3_000), max));
        assert!(!is_heard(Some(3_001), max));
    }

    #[test]
    fn a_reign_that_was_missed_is_told_as_an_end() {
        let mut reign = Reign::default();
        assert_eq!(reign.look(look(Some(2), 3, 3)), LEADS);
        assert_eq!(reign.look(look(Some(4), 7, 6)), Verdict { ended: true, leads: false });
        assert_eq!(reign.look(look(Some(4), 7, 7)), LEADS);
        assert_eq!(reign.look(look(Some(5), 8, 8)), Verdict { ended: true, leads: true });
        assert_eq!(reign.look(look(None, 8, 8)), Verdict { ended: true, leads: false });
        assert_eq!(reign.look(look(None, 8, 8)), WAITS);
    }
}
