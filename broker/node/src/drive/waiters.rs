//! Who waits for a partition: produces for an offset to be published or committed, fetches for anything to change.
//!
//! Waiting is a list on the partition, not a task or a mailbox. A produce enters the list before its batch can be written,
//! so that whoever writes it finds it there; a fetch enters before it looks a last time, and leaves when its guard drops.

use std::sync::Arc;

use ballast_core::replica::AcksAll;
use ballast_log::AppendError;
use ballast_wire::Offset;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

/// When a produce is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// Its batch is in the leader's log (acks 0 and 1).
    Published,
    /// Its batch is below the high watermark (acks all).
    Committed,
}

/// How a produce ends whose batch is in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    /// As it was asked for.
    Asked,
    /// Committed, but the in-sync replicas had become too few by then: NOT_ENOUGH_REPLICAS_AFTER_APPEND (20).
    ByTooFew,
}

struct Produce {
    last_offset: Offset,
    until: Until,
    answer: oneshot::Sender<Result<Kept, AppendError>>,
}

/// What a fetch waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Awaits {
    /// Records below the watermark, and whatever else happens to the partition.
    Committed,
    /// Records, as soon as they are written: a replica's fetch. That they are committed does not wake it, because it is on its
    /// fetches that they are, one of them for each batch.
    Written,
}

/// The lists of one partition. Empty lists hold no memory.
#[derive(Default)]
pub(crate) struct Waiters {
    produces: Mutex<Vec<Produce>>,
    fetches: Mutex<Vec<(Awaits, Arc<Notify>)>>,
}

/// A produce that waits.
pub(crate) type ProduceWait = oneshot::Receiver<Result<Kept, AppendError>>;

impl Waiters {
    /// Runs `append`, which gives the last offset to wait for, and enters the list before anybody else can write or answer.
    pub(crate) fn enter_produce<T, E>(
        &self,
        until: Until,
        append: impl FnOnce() -> Result<(T, Offset), E>,
    ) -> Result<(T, ProduceWait), E> {
        let (answer, wait) = oneshot::channel();
        let mut produces = self.produces.lock();
        let (value, last_offset) = append()?;
        produces.push(Produce { last_offset, until, answer });
        Ok((value, wait))
    }

    /// Answers every produce that has what it waits for: `end` is published, and `committed` says what becomes of one that ends
    /// at an offset and has to be committed.
    pub(crate) fn answer_produces(&self, end: Offset, committed: impl Fn(Offset) -> AcksAll) {
        let outcome = |produce: &Produce| match produce.until {
            Until::Published => (produce.last_offset < end).then_some(Kept::Asked),
            Until::Committed => match committed(produce.last_offset + 1) {
                AcksAll::Waiting => None,
                AcksAll::Done => Some(Kept::Asked),
                AcksAll::TooFewReplicas => Some(Kept::ByTooFew),
            },
        };
        let mut produces = self.produces.lock();
        for produce in produces.extract_if(.., |produce| outcome(produce).is_some()) {
            let kept = outcome(&produce).expect("it was extracted for its outcome");
            // A receiver that is gone has timed out or its connection has closed.
            let _ = produce.answer.send(Ok(kept));
        }
        if produces.is_empty() {
            *produces = Vec::new();
        }
    }

    /// Tells every produce at or above `from` that its batch is not in the log.
    pub(crate) fn fail_produces(&self, from: Offset, error: &AppendError) {
        let mut produces = self.produces.lock();
        for produce in produces.extract_if(.., |produce| produce.last_offset >= from) {
            let _ = produce.answer.send(Err(error.clone()));
        }
    }

    /// Enters a fetch; it is notified at the next change.
    pub(crate) fn enter_fetch(&self, awaits: Awaits, notify: &Arc<Notify>) {
        self.fetches.lock().push((awaits, Arc::clone(notify)));
    }

    /// Takes a fetch out of the list.
    pub(crate) fn leave_fetch(&self, notify: &Arc<Notify>) {
        let mut fetches = self.fetches.lock();
        if let Some(at) = fetches.iter().position(|(_, entry)| Arc::ptr_eq(entry, notify)) {
            fetches.swap_remove(at);
        }
        if fetches.is_empty() {
            *fetches = Vec::new();
        }
    }

    /// Something changed that a fetch may wait for.
    pub(crate) fn wake_fetches(&self) {
        self.fetches.lock().iter().for_each(|(_, notify)| notify.notify_one());
    }

    /// Only what these wait for changed.
    pub(crate) fn wake_those(&self, awaits: Awaits) {
        let fetches = self.fetches.lock();
        fetches.iter().filter(|(waits, _)| *waits == awaits).for_each(|(_, notify)| notify.notify_one());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    fn enter(waiters: &Waiters, until: Until, last_offset: Offset) -> ProduceWait {
        waiters.enter_produce(until, || Ok::<_, ()>(((), last_offset))).unwrap().1
    }

    /// Everything below `high` is committed.
    fn below(high: Offset) -> impl Fn(Offset) -> AcksAll {
        move |end| if end <= high { AcksAll::Done } else { AcksAll::Waiting }
    }

    #[test]
    fn a_produce_is_answered_once_its_last_offset_is_reached() {
        let waiters = Waiters::default();
        let mut published = enter(&waiters, Until::Published, 9);
        let mut committed = enter(&waiters, Until::Committed, 9);
        waiters.answer_produces(9, below(9));
        assert!(published.try_recv().is_err(), "offset 9 itself is not below 9");
        waiters.answer_produces(10, below(5));
        assert!(matches!(published.try_recv(), Ok(Ok(Kept::Asked))));
        assert!(committed.try_recv().is_err());
        waiters.answer_produces(10, below(10));
        assert!(matches!(committed.try_recv(), Ok(Ok(Kept::Asked))));
    }

    #[test]
    fn too_few_replicas_concern_only_who_asked_for_all_of_them() {
        let waiters = Waiters::default();
        let mut published = enter(&waiters, Until::Published, 0);
        let mut committed = enter(&waiters, Until::Committed, 1);
        waiters.answer_produces(2, |_| AcksAll::TooFewReplicas);
        assert!(matches!(published.try_recv(), Ok(Ok(Kept::Asked))));
        assert!(matches!(committed.try_recv(), Ok(Ok(Kept::ByTooFew))));
    }

    #[test]
    fn a_failed_write_fails_what_was_queued_from_its_offset_on() {
        let waiters = Waiters::default();
        let mut below = enter(&waiters, Until::Committed, 4);
        let mut above = enter(&waiters, Until::Published, 5);
        waiters.fail_produces(5, &AppendError::Closed);
        assert!(matches!(above.try_recv(), Ok(Err(AppendError::Closed))));
        assert!(below.try_recv().is_err(), "it still waits");
    }

    #[test]
    fn a_fetch_that_left_is_forgotten() {
        let waiters = Waiters::default();
        let (stays, leaves) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        waiters.enter_fetch(Awaits::Committed, &stays);
        waiters.enter_fetch(Awaits::Committed, &leaves);
        waiters.leave_fetch(&leaves);
        assert_eq!(Arc::strong_count(&leaves), 1);
        assert_eq!(Arc::strong_count(&stays), 2);
    }

    #[tokio::test]
    async fn a_replica_is_woken_by_what_is_written_and_a_consumer_by_what_is_committed() {
        let waiters = Waiters::default();
        let (consumer, replica) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        waiters.enter_fetch(Awaits::Committed, &consumer);
        waiters.enter_fetch(Awaits::Written, &replica);
        let woken = async || {
            let is_woken = async |notify: &Notify| timeout(Duration::ZERO, notify.notified()).await.is_ok();
            (is_woken(&consumer).await, is_woken(&replica).await)
        };
        waiters.wake_those(Awaits::Written);
        assert_eq!(woken().await, (false, true));
        waiters.wake_those(Awaits::Committed);
        assert_eq!(woken().await, (true, false));
        waiters.wake_fetches();
        assert_eq!(woken().await, (true, true));
    }
}
