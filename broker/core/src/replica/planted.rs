//! Bugs put in on purpose, so that the simulated cluster can show that it would find them.
//!
//! Holds: outside this crate's tests nothing is ever planted, and the question costs nothing.

/// A mistake that replication protocols were shipped with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bug {
    /// acks=all is answered as soon as the leader has the record.
    AckBeforeFollowerFetch,
    /// The watermark does not wait for replicas that are about to join the ISR.
    WatermarkByIsr,
    /// A follower of a new leader cuts its log at its own watermark (Kafka before KIP-101).
    TruncateToWatermark,
    /// A proposal that came too late is taken for one that was never applied.
    StaleProposalForgotten,
    /// A follower takes the answer to any fetch for the answer to its last one.
    AnyAnswerIsTaken,
    /// A follower shows the leader's watermark before it has dropped what the leader has deleted.
    WatermarkBeforeStart,
    /// At D2 a follower fetches before it has synced what it fetched before.
    FetchBeforeSync,
}

/// What is planted in one machine.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Planted {
    #[cfg(test)]
    bug: Option<Bug>,
}

impl Planted {
    #[cfg(test)]
    pub(super) fn new(bug: Option<Bug>) -> Planted {
        Planted { bug }
    }

    #[cfg(test)]
    pub(super) fn is(self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "the test build looks at it")]
    pub(super) fn is(self, _: Bug) -> bool {
        false
    }
}
