//! What is sent, when each record is due, and when it is enough.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ballast_net::{SeededEntropy, random_below};
use tokio::time::{Instant, sleep_until};

use crate::signal;

/// Seconds of a bench that was not told when to stop.
const SECONDS: u64 = 10;
/// Letters from which values are cut.
const POOL_BYTES: usize = 1 << 20;
/// A timer is not finer than this; records that are due earlier go at once.
const GRAIN: Duration = Duration::from_millis(1);

/// Values of one length, of capital letters without order: they compress to about six tenths.
pub(super) struct Values {
    pool: Vec<u8>,
    size: usize,
    at: usize,
}

impl Values {
    pub(super) fn new(size: usize) -> Values {
        let entropy = SeededEntropy::new(1);
        let pool = (0..POOL_BYTES.max(2 * size)).map(|_| b'A' + random_below(&entropy, 26) as u8).collect();
        Values { pool, size, at: 0 }
    }

    pub(super) fn next(&mut self) -> &[u8] {
        // Steps that no size divides, so that values differ.
        self.at = (self.at + self.size + 7) % (self.pool.len() - self.size);
        &self.pool[self.at..self.at + self.size]
    }
}

/// When records are due, and when it is enough.
pub(super) struct Pace {
    pub(super) started: Instant,
    rate: Option<u64>,
    count: Option<u64>,
    ends: Option<Instant>,
    stopped: Arc<AtomicBool>,
}

impl Pace {
    /// Begins now. Without a count and a time it lasts ten seconds.
    pub(super) fn start(rate: Option<u64>, count: Option<u64>, seconds: Option<u64>) -> Pace {
        let started = Instant::now();
        let seconds = seconds.or(if count.is_none() { Some(SECONDS) } else { None });
        let stopped = Arc::new(AtomicBool::new(false));
        let flag = stopped.clone();
        tokio::spawn(async move {
            signal::stopped().await;
            flag.store(true, Ordering::Relaxed);
        });
        Pace { started, rate, count, ends: seconds.map(|seconds| started + Duration::from_secs(seconds)), stopped }
    }

    /// Waits until record number `at` is due. Gives that time, or `None` if there are enough.
    pub(super) async fn due(&self, at: u64) -> Option<Instant> {
        if self.is_over(at) {
            return None;
        }
        let now = Instant::now();
        let Some(rate) = self.rate else { return Some(now) };
        let due = self.started + Duration::from_nanos((u128::from(at) * 1_000_000_000 / u128::from(rate)) as u64);
        if due > now + GRAIN {
            sleep_until(due).await;
        }
        (!self.is_over(at)).then_some(due)
    }

    /// Are there enough after `done` records?
    pub(super) fn is_over(&self, done: u64) -> bool {
        self.stopped.load(Ordering::Relaxed)
            || self.count.is_some_and(|count| done >= count)
            || self.ends.is_some_and(|ends| Instant::now() >= ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_their_length_and_differ() {
        for size in [8, 1_000, 3 << 20] {
            let mut values = Values::new(size);
            let first = values.next().to_vec();
            assert_eq!(first.len(), size);
            assert_ne!(values.next(), first);
            (0..10_000).for_each(|_| assert_eq!(values.next().len(), size));
        }
    }
}
