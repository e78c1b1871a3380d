//! The clock seam: wall time, as Kafka's timestamps count it. Durations and timers are tokio's, which a simulation pauses.

use std::time::{SystemTime, UNIX_EPOCH};

/// Tells the time of day.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970-01-01 UTC. May jump either way: never measure a duration with it.
    fn now_ms(&self) -> i64;
}

/// The machine's own clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> i64 {
        #[expect(clippy::disallowed_methods, reason = "this is the seam that everybody else asks")]
        let now = SystemTime::now();
        match now.duration_since(UNIX_EPOCH) {
            Ok(since) => millis(since.as_millis()),
            // A machine that believes it is before 1970: negative, as Kafka would say.
            Err(before) => -millis(before.duration().as_millis()),
        }
    }
}

fn millis(value: u128) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_clock_counts_milliseconds_since_1970() {
        let now = SystemClock.now_ms();
        let (start_of_2024, start_of_2200) = (1_704_067_200_000, 7_258_118_400_000);
        assert!((start_of_2024..start_of_2200).contains(&now), "{now} ms");
    }
}
