//! Who waits for a partition: produces for an offset to be published or committed, fetches for anything to change.
//!
//! Waiting is a list on the partition, not a task or a mailbox. A produce enters the list before its batch can be written,
//! so that whoever writes it finds it there; a fetch enters before it waits, is told what changed since it looked, and
//! leaves when its guard drops.
//!
//! Read next: `ear` (what a fetch that waits for many partitions hears).

mod ear;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ballast_core::replica::AcksAll;
use ballast_log::AppendError;
use ballast_wire::Offset;
use parking_lot::Mutex;
use tokio::sync::oneshot;

pub(crate) use self::ear::Ear;

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

/// A fetch that waits for this partition, which it knows by `place`.
struct Fetch {
    awaits: Awaits,
    ear: Arc<Ear>,
    place: usize,
}

/// The lists of one partition. Empty lists hold no memory.
#[derive(Default)]
pub(crate) struct Waiters {
    produces: Mutex<Vec<Produce>>,
    fetches: Mutex<Vec<Fetch>>,
    /// How many changes were told.
    changes: AtomicU64,
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

    /// Answers every produce that has what it waits for: `end` is published, and `committed` says what becomes of one
    /// that ends at an offset and has to be committed.
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

    /// How many changes were told so far. Who keeps it before it looks finds out on entering whether it looked too early.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Enters a fetch, which is told of every change from now on, and of one since it `saw` so many.
    pub(crate) fn enter_fetch(&self, awaits: Awaits, ear: &Arc<Ear>, place: usize, saw: u64) {
        self.fetches.lock().push(Fetch { awaits, ear: Arc::clone(ear), place });
        if self.changes() != saw {
            ear.tell(place);
        }
    }

    /// Takes a fetch out of the list.
    pub(crate) fn leave_fetch(&self, ear: &Arc<Ear>, place: usize) {
        let mut fetches = self.fetches.lock();
        if let Some(at) = fetches.iter().position(|fetch| Arc::ptr_eq(&fetch.ear, ear) && fetch.place == place) {
            fetches.swap_remove(at);
        }
        if fetches.is_empty() {
            *fetches = Vec::new();
        }
    }

    /// Something changed that a fetch may wait for.
    pub(crate) fn wake_fetches(&self) {
        self.wake(|_| true);
    }

    /// Only what these wait for changed.
    pub(crate) fn wake_those(&self, awaits: Awaits) {
        self.wake(|waits| waits == awaits);
    }

    fn wake(&self, whom: impl Fn(Awaits) -> bool) {
        // Before the list is looked at: who is not in it yet will see this.
        self.changes.fetch_add(1, Ordering::AcqRel);
        let fetches = self.fetches.lock();
        fetches.iter().filter(|fetch| whom(fetch.awaits)).for_each(|fetch| fetch.ear.tell(fetch.place));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
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
        let (stays, leaves) = (Arc::new(Ear::default()), Arc::new(Ear::default()));
        waiters.enter_fetch(Awaits::Committed, &stays, 0, 0);
        waiters.enter_fetch(Awaits::Committed, &leaves, 0, 0);
        waiters.leave_fetch(&leaves, 0);
        assert_eq!(Arc::strong_count(&leaves), 1);
        assert_eq!(Arc::strong_count(&stays), 2);
    }

    #[test]
    fn a_replica_is_told_what_is_written_and_a_consumer_what_is_committed() {
        let waiters = Waiters::default();
        let (consumer, replica) = (Arc::new(Ear::default()), Arc::new(Ear::default()));
        waiters.enter_fetch(Awaits::Committed, &consumer, 0, 0);
        waiters.enter_fetch(Awaits::Written, &replica, 0, 0);
        let told = || (consumer.take().len(), replica.take().len());
        waiters.wake_those(Awaits::Written);
        assert_eq!(told(), (0, 1));
        waiters.wake_those(Awaits::Committed);
        assert_eq!(told(), (1, 0));
        waiters.wake_fetches();
        assert_eq!(told(), (1, 1));
    }

    #[test]
    fn a_fetch_of_three_thousand_partitions_hears_which_one_changed_and_that_once() {
        let partitions: Vec<Waiters> = (0..3_000).map(|_| Waiters::default()).collect();
        let ear = Arc::new(Ear::default());
        for (place, waiters) in partitions.iter().enumerate() {
            waiters.enter_fetch(Awaits::Written, &ear, place, waiters.changes());
        }
        assert_eq!(ear.take(), BTreeSet::new(), "nothing has happened");
        for _ in 0..5 {
            partitions[1_234].wake_fetches();
        }
        partitions[7].wake_those(Awaits::Written);
        partitions[8].wake_those(Awaits::Committed);
        assert_eq!(ear.take(), BTreeSet::from([7, 1_234]));
        assert_eq!(ear.take(), BTreeSet::new());
    }

    #[tokio::test]
    async fn a_change_between_the_look_and_the_place_in_the_list_is_heard() {
        let (waiters, ear) = (Waiters::default(), Arc::new(Ear::default()));
        let saw = waiters.changes();
        waiters.wake_fetches();
        waiters.enter_fetch(Awaits::Committed, &ear, 4, saw);
        timeout(Duration::from_secs(60), ear.hears()).await.expect("it was told before it listened");
        assert_eq!(ear.take(), BTreeSet::from([4]));
    }
}
