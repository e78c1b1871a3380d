//! What became of a record: shared by all records of a batch, which learn it together.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use ballast_wire::{Offset, PartitionIndex};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::ClientError;

/// Where a record was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordMetadata {
    /// Its partition.
    pub partition: PartitionIndex,
    /// Its offset; -1 with acks=0, and when the broker had forgotten the batch that it recognised.
    pub offset: Offset,
    /// Timestamp in ms that the broker gave it, -1 if it kept the producer's.
    pub log_append_time_ms: i64,
}

/// Promises the fate of one record. May be dropped: the record is sent all the same.
#[derive(Debug, Clone)]
pub struct Delivery {
    batch: Arc<BatchFate>,
    /// Position within the batch.
    index: u32,
}

impl Delivery {
    pub(super) fn new(batch: Arc<BatchFate>, index: u32) -> Delivery {
        Delivery { batch, index }
    }

    /// Waits until the record is delivered or given up.
    ///
    /// # Errors
    /// Why it was given up. After `TimedOut` or `Disconnected` it may have been written all the same.
    pub async fn wait(self) -> Result<RecordMetadata, ClientError> {
        let Delivery { mut batch, mut index } = self;
        loop {
            match batch.known().await {
                Fate::Written { base_offset, log_append_time_ms } => {
                    let offset = if base_offset < 0 { -1 } else { base_offset + i64::from(index) };
                    return Ok(RecordMetadata { partition: batch.partition, offset, log_append_time_ms });
                }
                Fate::Failed(error) => return Err(error),
                Fate::Split { at, front, back } => {
                    (batch, index) = if index < at { (front, index) } else { (back, index - at) };
                }
            }
        }
    }
}

/// What became of a batch.
#[derive(Debug, Clone)]
pub(super) enum Fate {
    Written {
        base_offset: Offset,
        log_append_time_ms: i64,
    },
    Failed(ClientError),
    /// It was too large: its first `at` records went on in one batch, the others in another.
    Split {
        at: u32,
        front: Arc<BatchFate>,
        back: Arc<BatchFate>,
    },
}

/// The fate of a batch, once it has one. It never changes.
#[derive(Debug)]
pub(super) struct BatchFate {
    partition: PartitionIndex,
    fate: OnceLock<Fate>,
    decided: Notify,
}

impl BatchFate {
    pub(super) fn new(partition: PartitionIndex) -> Arc<BatchFate> {
        Arc::new(BatchFate { partition, fate: OnceLock::new(), decided: Notify::new() })
    }

    /// A fate for a part of the same batch.
    pub(super) fn sibling(&self) -> Arc<BatchFate> {
        BatchFate::new(self.partition)
    }

    /// Decides. A batch is decided once; a second word does not count.
    pub(super) fn decide(&self, fate: Fate) {
        if self.fate.set(fate).is_ok() {
            self.decided.notify_waiters();
        }
    }

    pub(super) async fn known(&self) -> Fate {
        loop {
            // Registered before the look, so that a decision in between wakes us.
            let mut decided = std::pin::pin!(self.decided.notified());
            decided.as_mut().enable();
            if let Some(fate) = self.fate.get() {
                return fate.clone();
            }
            decided.await;
        }
    }
}

/// Counts what became of records.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    written: AtomicU64,
    failed: AtomicU64,
    first_error: Mutex<Option<ClientError>>,
}

impl Ledger {
    pub(super) fn written(&self, records: i32) {
        self.written.fetch_add(records as u64, Ordering::Relaxed);
    }

    pub(super) fn failed(&self, records: i32, error: &ClientError) {
        self.failed.fetch_add(records as u64, Ordering::Relaxed);
        self.first_error.lock().get_or_insert_with(|| error.clone());
    }

    /// Records written and given up so far.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.written.load(Ordering::Relaxed), self.failed.load(Ordering::Relaxed))
    }

    /// The first failure since this was last asked.
    pub(super) fn take_error(&self) -> Option<ClientError> {
        self.first_error.lock().take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn records_of_a_split_batch_find_their_own_offsets() {
        let whole = BatchFate::new(7);
        let deliveries: Vec<Delivery> = (0..5).map(|at| Delivery::new(whole.clone(), at)).collect();
        let waiting = tokio::spawn(deliveries[0].clone().wait());
        let (front, back) = (BatchFate::new(7), BatchFate::new(7));
        whole.decide(Fate::Split { at: 2, front: front.clone(), back: back.clone() });
        front.decide(Fate::Written { base_offset: 100, log_append_time_ms: -1 });
        back.decide(Fate::Written { base_offset: 200, log_append_time_ms: -1 });
        let mut offsets = Vec::new();
        for delivery in deliveries {
            offsets.push(delivery.wait().await.unwrap().offset);
        }
        assert_eq!(offsets, [100, 101, 200, 201, 202]);
        assert_eq!(waiting.await.unwrap().unwrap().offset, 100);
    }
}
