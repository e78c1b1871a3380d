//! What is tried again while nodes come and go, and how often it is asked whether something is so.

use std::time::Duration;

use rdkafka::error::{KafkaError, RDKafkaErrorCode};

use super::Rig;

/// Each of them waits for a broker, or for [`TRY_PAUSE`].
pub(super) const POLLS_MAX: u32 = 600;
pub(super) const TRY_PAUSE: Duration = Duration::from_millis(200);

impl Rig {
    /// Does it. While nodes come and go it is tried until they do not disturb it; `heard` is the code by which a repetition
    /// says that an earlier try was heard and only its answer was lost: then there is no value.
    pub(super) async fn insist<T>(
        &self,
        heard: Option<RDKafkaErrorCode>,
        mut ask: impl AsyncFnMut() -> Result<T, RDKafkaErrorCode>,
    ) -> Option<T> {
        let mut last = None;
        for _ in 0..POLLS_MAX {
            match ask().await {
                Ok(value) => return Some(value),
                Err(code) if last.is_some() && heard == Some(code) => return None,
                Err(code) if self.replicas == 1 => panic!("{code}"),
                Err(code) => last = Some(code),
            }
            tokio::time::sleep(TRY_PAUSE).await;
        }
        panic!("still {last:?}")
    }

    /// The same for what blocks.
    pub(super) fn insist_here<T>(&self, mut ask: impl FnMut() -> Result<T, KafkaError>) -> T {
        let mut last = None;
        for _ in 0..POLLS_MAX {
            match ask() {
                Ok(value) => return value,
                Err(error) if self.replicas == 1 => panic!("{error}"),
                Err(error) => last = Some(error),
            }
            std::thread::sleep(TRY_PAUSE);
        }
        panic!("still {last:?}")
    }

    /// Does what must fail in this way.
    pub(super) async fn refused<T>(
        &self,
        wanted: RDKafkaErrorCode,
        mut ask: impl AsyncFnMut() -> Result<T, RDKafkaErrorCode>,
    ) -> String {
        let refusal = async || match ask().await {
            Ok(_) => panic!("nothing was refused"),
            Err(code) if code == wanted => Ok("again: refused".to_owned()),
            Err(other) => Err(other),
        };
        self.insist(None, refusal).await.expect("nothing was heard before")
    }

    /// What a group has read: it may read again when its coordinator or its member was lost, and each value counts once.
    pub(super) fn once(&self, mut values: Vec<String>) -> Vec<String> {
        if self.replicas > 1 {
            values.dedup();
        }
        values
    }
}

/// Asks until it is so; what is asked waits for the broker.
pub(super) fn until(what: &str, mut ask: impl FnMut() -> bool) {
    assert!((0..POLLS_MAX).any(|_| ask()), "still not after {POLLS_MAX} polls: {what}");
}
