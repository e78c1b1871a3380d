//! A producer: gathers records into batches, sends each to the leader of its partition, and resends until they are
//! delivered, given up, or refused.
//!
//! Holds: with idempotence (the default) a record is written at most once per `send`, and records of one partition are
//! written in the order of their `send`s, whatever is lost on the way.
//!
//! Read next: `queue` (order and sequence numbers of one partition), `accumulator` (all of them), `sender` (the tasks).

mod accumulator;
mod answer;
mod batch;
mod config;
mod delivery;
mod queue;
mod sender;
mod sticky;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::timeout;

pub use accumulator::NewRecord;
pub use config::{Acks, ProducerConfig, compression_from_name, compression_name};
pub use delivery::{Delivery, RecordMetadata};

use crate::{ClientError, Cluster};
use accumulator::{Accumulator, Pushed};
use delivery::{Fate, Ledger};

/// Sends records to a cluster. Dropping it gives up what is not delivered: [`Producer::flush`] first.
pub struct Producer {
    shared: Arc<Shared>,
    driver: AbortHandle,
}

/// What the producer and its tasks share.
struct Shared {
    config: ProducerConfig,
    cluster: Cluster,
    accumulator: Mutex<Accumulator>,
    ledger: Arc<Ledger>,
    /// Flushes under way, and senders without room: while there are any, no batch waits for company.
    hurry: AtomicUsize,
    /// Something has come for the driver to look at.
    wake: Notify,
    /// Something was delivered or given up.
    room: Notify,
}

impl Producer {
    /// A producer for `cluster`. Must be called on a tokio runtime, where its tasks run.
    ///
    /// # Errors
    /// `Config`, if the settings contradict each other.
    pub fn new(cluster: Cluster, config: ProducerConfig) -> Result<Producer, ClientError> {
        config.check()?;
        let ledger = Arc::new(Ledger::default());
        let shared = Arc::new(Shared {
            config,
            cluster,
            accumulator: Mutex::new(Accumulator::new(ledger.clone())),
            ledger,
            hurry: AtomicUsize::new(0),
            wake: Notify::new(),
            room: Notify::new(),
        });
        let driver = tokio::spawn(sender::Driver::new(shared.clone()).run()).abort_handle();
        Ok(Producer { shared, driver })
    }

    /// Adds a record to a batch of its partition. Waits only for metadata of a new topic, and for room.
    ///
    /// # Errors
    /// `TimedOut` after `max.block.ms`; `BadRequest` for a partition that the topic does not have; what is wrong with the
    /// topic. That the record cannot be delivered is told by the [`Delivery`], and by [`Producer::flush`].
    pub async fn send(&self, topic: &str, record: NewRecord<'_>) -> Result<Delivery, ClientError> {
        if let Some(delivery) = self.try_send(topic, &record)? {
            return Ok(delivery);
        }
        let Shared { cluster, config, .. } = &*self.shared;
        if !self.shared.with(|accumulator, _| accumulator.knows(topic)) {
            let metadata = cluster.topics(&[topic], config.create_topics, config.max_block).await?;
            self.shared.with(|accumulator, _| accumulator.update(&metadata, &[topic]));
        }
        timeout(config.max_block, self.send_when_there_is_room(topic, &record)).await.unwrap_or_else(|_| {
            let what = format!("finding room for a record of {topic}");
            Err(ClientError::TimedOut {
                what,
                after: config.max_block,
                last: self.shared.ledger.take_error().map(Box::new),
            })
        })
    }

    async fn send_when_there_is_room(&self, topic: &str, record: &NewRecord<'_>) -> Result<Delivery, ClientError> {
        let mut hurry = None;
        loop {
            let mut room = std::pin::pin!(self.shared.room.notified());
            room.as_mut().enable();
            if let Some(delivery) = self.try_send(topic, record)? {
                return Ok(delivery);
            }
            hurry.get_or_insert_with(|| Hurry::new(&self.shared));
            self.shared.wake.notify_one();
            room.await;
        }
    }

    /// `None` if there is no room, or the topic is not known yet.
    fn try_send(&self, topic: &str, record: &NewRecord<'_>) -> Result<Option<Delivery>, ClientError> {
        let world = self.shared.cluster.world();
        let now_ms = world.clock.now_ms();
        let pushed =
            self.shared.with(|accumulator, terms| accumulator.push(terms, topic, record, now_ms, &*world.entropy));
        match pushed {
            Pushed::In { delivery, notify } => {
                if notify {
                    self.shared.wake.notify_one();
                }
                Ok(Some(delivery))
            }
            Pushed::NoRoom | Pushed::NoTopic => Ok(None),
            Pushed::NoPartition { partitions } => Err(ClientError::BadRequest(format!(
                "topic {topic} has {partitions} partitions, numbered from 0: there is no partition {}",
                record.partition.unwrap_or(-1)
            ))),
        }
    }

    /// Sends everything now and waits until all that was sent before is delivered or given up.
    ///
    /// # Errors
    /// The first failure since the last flush.
    pub async fn flush(&self) -> Result<(), ClientError> {
        let _hurry = Hurry::new(&self.shared);
        let mut fates = self.shared.with(|accumulator, _| accumulator.undecided());
        self.shared.wake.notify_one();
        while let Some(fate) = fates.pop() {
            if let Fate::Split { front, back, .. } = fate.known().await {
                fates.extend([front, back]);
            }
        }
        self.shared.ledger.take_error().map_or(Ok(()), Err)
    }

    /// Records delivered and records given up so far.
    #[must_use]
    pub fn counts(&self) -> (u64, u64) {
        self.shared.ledger.counts()
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.driver.abort();
        self.shared.accumulator.lock().abandon(&ClientError::Closed);
    }
}

/// While it lives, batches do not wait for company.
struct Hurry<'a>(&'a Shared);

impl Hurry<'_> {
    fn new(shared: &Shared) -> Hurry<'_> {
        shared.hurry.fetch_add(1, Ordering::Relaxed);
        Hurry(shared)
    }
}

impl Drop for Hurry<'_> {
    fn drop(&mut self) {
        self.0.hurry.fetch_sub(1, Ordering::Relaxed);
    }
}
