//! How often the same kind of thing is worth a line in the log: what anybody can cause at will must not fill a disk.
//!
//! Holds: in each span at most `most` lines are let through; the first one after a silence says how many were not.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// See the file.
#[derive(Debug)]
pub(crate) struct Hush {
    most: u32,
    span: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    since: Option<Instant>,
    told: u32,
    untold: u64,
}

impl Hush {
    pub(crate) fn new(most: u32, span: Duration) -> Hush {
        Hush { most, span, state: Mutex::default() }
    }

    /// May one more be told? Then how many were not since the last one that was.
    pub(crate) fn admit(&self, now: Instant) -> Option<u64> {
        let mut state = self.state.lock();
        if state.since.is_none_or(|since| now.duration_since(since) >= self.span) {
            (state.since, state.told) = (Some(now), 0);
        }
        if state.told == self.most {
            state.untold += 1;
            return None;
        }
        state.told += 1;
        Some(std::mem::take(&mut state.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_a_few_lines_and_a_count() {
        const SPAN: Duration = Duration::from_secs(10);
        let (hush, begin) = (Hush::new(2, SPAN), Instant::now());
        let told: Vec<Option<u64>> = (0..5).map(|_| hush.admit(begin)).collect();
        assert_eq!(told, [Some(0), Some(0), None, None, None]);
        assert_eq!(hush.admit(begin + SPAN), Some(3));
        assert_eq!(hush.admit(begin + SPAN * 3), Some(0));
    }
}
