//! Tells what a node waits for: once the wait lasts, when its cause changes, and again from time to time.
//!
//! Holds: a wait that lasts is never silent for longer than [`AGAIN`], and no cause is told twice within it, however they
//! alternate.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

/// Nodes that start together wait for each other, and an election takes its time: a shorter wait is told by nobody.
pub(super) const FIRST: Duration = Duration::from_secs(3);
/// Between two causes that are told.
const CHANGED: Duration = Duration::from_secs(2);
/// Until the same cause is told again.
const AGAIN: Duration = Duration::from_secs(10);

/// One wait.
#[derive(Debug, Default)]
pub(super) struct Teller {
    since: Option<Instant>,
    /// What was told within [`AGAIN`], and when.
    told: BTreeMap<String, Instant>,
}

impl Teller {
    /// The wait is over.
    pub(super) fn hush(&mut self) {
        *self = Teller::default();
    }

    /// The wait goes on: may something be told now? Nothing is, before it has lasted `first`.
    pub(super) fn may_tell(&mut self, now: Instant, first: Duration) -> bool {
        let since = *self.since.get_or_insert(now);
        let last = self.told.values().max();
        now - since >= first && last.is_none_or(|last| now - *last >= CHANGED)
    }

    /// Is this cause told now, which [`Teller::may_tell`] lets be told? It counts as told then.
    pub(super) fn is_due(&mut self, text: &str, now: Instant) -> bool {
        self.told.retain(|_, at| now - *at < AGAIN);
        let is_due = !self.told.contains_key(text);
        if is_due {
            self.told.insert(text.to_owned(), now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_millis(250);

    /// When each of `texts`, which take turns step by step, is told within half a minute.
    fn told(teller: &mut Teller, first: Duration, texts: &[&str]) -> Vec<(u64, String)> {
        let start = Instant::now();
        let mut told = Vec::new();
        for (step, text) in texts.iter().cycle().enumerate().take(120) {
            let now = start + STEP * u32::try_from(step).expect("few");
            if teller.may_tell(now, first) && teller.is_due(text, now) {
                told.push(((now - start).as_secs(), (*text).to_owned()));
            }
        }
        told
    }

    #[test]
    fn a_wait_is_told_once_it_lasts_and_then_each_ten_seconds() {
        let times = |told: Vec<(u64, String)>| told.into_iter().map(|(at, _)| at).collect::<Vec<_>>();
        let mut teller = Teller::default();
        assert_eq!(times(told(&mut teller, FIRST, &["for a leader"])), [3, 13, 23]);
        teller.hush();
        assert_eq!(times(told(&mut teller, Duration::ZERO, &["the id is in use"])), [0, 10, 20]);
    }

    #[test]
    fn causes_that_take_turns_are_told_as_often_as_if_each_stood_alone() {
        let told = told(&mut Teller::default(), FIRST, &["2 is away", "3 is away"]);
        let of = |text: &str| told.iter().filter(|(_, told)| told == text).count();
        assert!((2..=3).contains(&of("2 is away")) && (2..=3).contains(&of("3 is away")), "{told:?}");
    }
}
