//! `max.connection.creation.rate`: how fast new connections are accepted.
//!
//! Holds: within any second of the count at most `rate` connections are let in; who comes next waits in the system's
//! queue, not in ours. All listeners of a broker share one count, as in Kafka.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);

/// Connections that were accepted within the present second.
#[derive(Default)]
pub(crate) struct Pace {
    present: Mutex<Option<(Instant, u64)>>,
}

impl Pace {
    /// One more was accepted.
    pub(crate) fn count(&self, now: Instant) {
        let mut present = self.present.lock();
        match &mut *present {
            Some((since, count)) if now.duration_since(*since) < SECOND => *count += 1,
            other => *other = Some((now, 1)),
        }
    }

    /// Until when no more may be accepted, at `rate` per second; `None` if one may now.
    pub(crate) fn closed_until(&self, now: Instant, rate: u64) -> Option<Instant> {
        if rate == 0 {
            return Some(now + SECOND);
        }
        let (since, count) = (*self.present.lock())?;
        (now.duration_since(since) < SECOND && count >= rate).then(|| since + SECOND)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_lets_in_as_many_as_the_rate_says() {
        let (pace, start) = (Pace::default(), Instant::now());
        assert_eq!(pace.closed_until(start, 2), None);
        pace.count(start);
        pace.count(start + SECOND / 2);
        assert_eq!(pace.closed_until(start + SECOND / 2, 2), Some(start + SECOND));
        assert_eq!(pace.closed_until(start + SECOND / 2, 3), None, "a higher rate is in force at once");
        assert_eq!(pace.closed_until(start + SECOND, 2), None, "a new second");
        assert_eq!(pace.closed_until(start, 0), Some(start + SECOND), "a rate of 0 lets nobody in");
    }
}
