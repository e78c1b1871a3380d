//! When to try again: pauses that double, with jitter, until a deadline (KIP-580).

use std::sync::Arc;
use std::time::Duration;

use ballast_net::{Entropy, random_below};
use tokio::time::{Instant, sleep};

use crate::ClientError;

/// Attempts at one call.
pub struct Retry {
    what: String,
    started: Instant,
    deadline: Instant,
    next_pause: Duration,
    pause_max: Duration,
    entropy: Arc<dyn Entropy>,
}

impl Retry {
    /// Attempts at `what` for at most `limit`, the first pause being `backoff`.
    pub fn new(
        what: impl Into<String>,
        limit: Duration,
        backoff: (Duration, Duration),
        entropy: Arc<dyn Entropy>,
    ) -> Retry {
        let started = Instant::now();
        Retry {
            what: what.into(),
            started,
            deadline: started + limit,
            next_pause: backoff.0,
            pause_max: backoff.1,
            entropy,
        }
    }

    /// How long is left.
    #[must_use]
    pub fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Pauses after a failed attempt; afterwards the call may be tried again.
    ///
    /// # Errors
    /// `failed` itself if no attempt can help, `TimedOut` with it inside if there is no time for another.
    pub async fn pause(&mut self, failed: ClientError) -> Result<(), ClientError> {
        if !failed.is_retriable() {
            return Err(failed);
        }
        let pause = jittered(self.next_pause, &*self.entropy);
        if Instant::now() + pause >= self.deadline {
            return Err(match failed {
                // Already says what was waited for, or that nobody is there at all.
                ClientError::NoBroker { .. } => failed,
                _ => ClientError::TimedOut {
                    what: self.what.clone(),
                    after: self.started.elapsed(),
                    last: Some(Box::new(failed)),
                },
            });
        }
        tracing::debug!(what = self.what, error = %failed, pause_ms = pause.as_millis(), "will try again");
        self.next_pause = (self.next_pause * 2).min(self.pause_max);
        sleep(pause).await;
        Ok(())
    }
}

/// `pause` and up to 20 percent more or less.
pub(crate) fn jittered(pause: Duration, entropy: &dyn Entropy) -> Duration {
    let fifth = (pause.as_micros() / 5) as u64;
    let spread = random_below(entropy, 2 * fifth + 1);
    pause + Duration::from_micros(spread) - Duration::from_micros(fifth)
}

#[cfg(test)]
mod tests {
    use ballast_net::SeededEntropy;

    use super::*;
    use crate::ErrorCode;

    fn retry(limit_ms: u64) -> Retry {
        let backoff = (Duration::from_millis(100), Duration::from_millis(400));
        Retry::new("asking", Duration::from_millis(limit_ms), backoff, Arc::new(SeededEntropy::new(3)))
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_double_up_to_their_limit_and_stop_at_the_deadline() {
        let failed = ClientError::refused("asking", ErrorCode::LEADER_NOT_AVAILABLE);
        let mut retry = retry(2_000);
        let mut pauses = Vec::new();
        let error = loop {
            let before = Instant::now();
            match retry.pause(failed.clone()).await {
                Ok(()) => pauses.push(before.elapsed().as_millis()),
                Err(e) => break e,
            }
        };
        for (pause, expected) in pauses.iter().zip([100, 200, 400, 400]) {
            assert!((expected * 79 / 100..=expected * 121 / 100).contains(pause), "{pauses:?}");
        }
        assert!(pauses.len() >= 4, "{pauses:?}");
        assert!(matches!(error, ClientError::TimedOut { last: Some(_), .. }), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_final_error_is_not_tried_again() {
        let failed = ClientError::refused("asking", ErrorCode::TOPIC_ALREADY_EXISTS);
        assert_eq!(retry(1_000).pause(failed.clone()).await, Err(failed));
    }
}
