//! What is noted of the others where it happens, for whoever decides whether to stand for election.
//!
//! Read next: `campaign` (who reads it), `serve` and `network` (who notes it).

use parking_lot::Mutex;
use tokio::time::Instant;

use super::types::NodeId;

/// Why an election was lost, as far as that says when to stand again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// Another's log is longer: it shall stand first.
    Behind,
    /// One whose log is shorter stands as well, with a higher vote. It cannot win: we shall stand again before it does.
    Outbid,
}

/// What is noted of the others where it happens.
#[derive(Debug, Default)]
pub(super) struct Signs(Mutex<Noted>);

#[derive(Debug, Default)]
struct Noted {
    heard: Option<(NodeId, Instant)>,
    lost: Option<Lost>,
}

impl Signs {
    /// The leader gave a sign of life.
    pub(super) fn heard(&self, leader: NodeId) {
        self.0.lock().heard = Some((leader, Instant::now()));
    }

    /// A vote was refused.
    pub(super) fn lost(&self, why: Lost) {
        self.0.lock().lost = Some(why);
    }

    /// The last leader that was heard of, and when; told once. Whoever leads after it asks, and from then on it is no leader.
    pub(super) fn take_heard(&self) -> Option<(NodeId, Instant)> {
        self.0.lock().heard.take()
    }

    /// When this leader last gave a sign of life.
    pub(super) fn heard_of(&self, leader: NodeId) -> Option<Instant> {
        self.0.lock().heard.filter(|(id, _)| *id == leader).map(|(_, at)| at)
    }

    /// Why the last vote was refused; told once.
    pub(super) fn take_lost(&self) -> Option<Lost> {
        self.0.lock().lost.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_heard_last_is_told_once_and_only_for_itself() {
        let signs = Signs::default();
        signs.heard(NodeId::from(1));
        assert!(signs.heard_of(NodeId::from(1)).is_some());
        assert!(signs.heard_of(NodeId::from(3)).is_none());
        assert!(signs.take_heard().is_some_and(|(leader, _)| leader == NodeId::from(1)));
        assert!(signs.take_heard().is_none());
    }
}
