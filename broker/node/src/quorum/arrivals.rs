//! What a node remembers of those who ask to be taken in.
//!
//! Holds: nothing here decides; who comes in is judged in `members` (doors, joining).

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::hush::Hush;

/// Who comes in.
#[derive(Debug)]
pub(super) struct Doors {
    /// Held while one is taken in.
    pub(super) entering: tokio::sync::Mutex<()>,
    /// Who had to wait is told once a minute.
    pub(super) turned_away: Hush,
}

impl Default for Doors {
    fn default() -> Doors {
        Doors { entering: tokio::sync::Mutex::default(), turned_away: Hush::new(1, WARN_AGAIN) }
    }
}

/// Between two warnings of the same node id.
const WARN_AGAIN: Duration = Duration::from_secs(60);

/// What a leader knows of ids that two nodes want.
#[derive(Debug, Default)]
pub(super) struct Doubles(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Since when this node leads, and what silence counts as gone.
    reign: Option<(Instant, Duration)>,
    /// Ids that were warned of, and when.
    warned: BTreeMap<i32, Instant>,
}

impl Doubles {
    /// This node leads: silence counts from the first call on.
    pub(super) fn reigns(&self, now: Instant, session_timeout: Duration) {
        self.0.lock().reign.get_or_insert((now, session_timeout));
    }

    pub(super) fn rest(&self) {
        *self.0.lock() = Known::default();
    }

    /// May the other directory of a node's id, last heard of at `heard`, still be there?
    pub(super) fn may_live(&self, heard: Option<Instant>, now: Instant) -> bool {
        // A leader that has not begun to measure knows nothing.
        self.0.lock().reign.is_none_or(|(since, session)| {
            let silence = now - heard.map_or(since, |heard| heard.max(since));
            silence < session
        })
    }

    pub(super) fn is_warned_now(&self, node: i32, now: Instant) -> bool {
        let warned = &mut self.0.lock().warned;
        warned.retain(|_, at| now - *at < WARN_AGAIN);
        let is_new = !warned.contains_key(&node);
        if is_new {
            warned.insert(node, now);
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_may_live_until_it_is_silent_for_the_session_of_this_reign() {
        let (doubles, start) = (Doubles::default(), Instant::now());
        let session = Duration::from_secs(9);
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!(doubles.may_live(None, at(100)), "a leader that measures nothing yet");
        doubles.reigns(at(100), session);
        doubles.reigns(at(105), session);
        assert!(doubles.may_live(None, at(108)) && !doubles.may_live(None, at(109)));
        assert!(doubles.may_live(Some(at(104)), at(112)) && !doubles.may_live(Some(at(104)), at(113)));
        assert!(doubles.may_live(Some(at(90)), at(108)), "what an earlier reign heard does not shorten it");
        doubles.rest();
        assert!(doubles.may_live(None, at(200)));
    }

    #[test]
    fn an_id_is_warned_of_once_a_minute() {
        let (doubles, start) = (Doubles::default(), Instant::now());
        let warned = |node, seconds| doubles.is_warned_now(node, start + Duration::from_secs(seconds));
        let told: Vec<u64> = (0..130).filter(|second| warned(3, *second)).collect();
        assert_eq!(told, [0, 60, 120]);
        assert!(warned(4, 61));
    }
}
