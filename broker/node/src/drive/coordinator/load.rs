//! From the log to a shard: the whole partition is read and replayed, then the shard waits until all of it is committed.
//!
//! There is no cleaner that would bound the log, so loading is bounded in memory, not in time: one read of
//! `offsets.load.buffer.size` at a time, and a decompressed batch beside it. It runs on the disk's reading threads, which
//! never wait for a sync.
//!
//! What a new leader's log holds above the high watermark may be committed later, but nobody knows yet; so it is replayed
//! like the rest, and nothing is served before the watermark has passed it.

use std::sync::Arc;

use ballast_core::group::{GroupConfig, Loading};
use ballast_log::ReadError;
use ballast_wire::Offset;
use ballast_wire::batch::{BatchError, BatchView, batches};

use crate::drive::partition::Partition;
use crate::drive::store::on_readers;
use crate::drive::waiters::{Awaits, Ear};

/// Why a partition could not be loaded.
#[derive(Debug, thiserror::Error)]
pub(super) enum LoadError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("cannot read the log: {0}")]
    Io(#[from] std::io::Error),
    #[error("a batch cannot be read: {0}")]
    Batch(#[from] BatchError),
}

/// Replays a partition, and waits until everything that was replayed is committed.
pub(super) async fn load(
    partition: &Arc<Partition>,
    config: GroupConfig,
    buffer_bytes: usize,
) -> Result<Loading, LoadError> {
    let this = Arc::clone(partition);
    let disk = partition.disk();
    let (loading, end) = on_readers(&disk, move || replay(&this, Loading::new(config), buffer_bytes)).await?;
    committed(partition, end).await;
    Ok(loading)
}

/// Waits until the high watermark has reached `end`.
async fn committed(partition: &Arc<Partition>, end: Offset) {
    let ear = Arc::new(Ear::default());
    let _entered = partition.await_change(Awaits::Committed, &ear, 0, partition.changes());
    while partition.high() < end {
        ear.hears().await;
    }
}

/// Reads to the end of the log as it is now.
fn replay(partition: &Partition, mut loading: Loading, buffer_bytes: usize) -> Result<(Loading, Offset), LoadError> {
    let log = &partition.log;
    let (mut from, end) = (log.start(), log.end());
    while from < end {
        let read = log.read(from, end, buffer_bytes, true)?;
        // Nothing below the end: the last records are gone.
        let Some(chunk) = read.records else { break };
        let bytes = chunk.bytes()?;
        let before = from;
        // A batch at the end that was cut off by the size of the read comes again with the next.
        for batch in batches(&bytes) {
            let batch = batch?;
            if batch.last_offset() >= from {
                replay_batch(partition, &batch, &mut loading)?;
                from = batch.last_offset() + 1;
            }
        }
        if from == before {
            break;
        }
    }
    if loading.skipped() > 0 {
        let (index, records) = (partition.index, loading.skipped());
        tracing::info!(topic = %partition.topic, partition = index, records, "records of other kinds of groups are skipped");
    }
    Ok((loading, end))
}

fn replay_batch(partition: &Partition, batch: &BatchView<'_>, loading: &mut Loading) -> Result<(), LoadError> {
    batch.verify_checksum()?;
    if batch.attributes().is_control() {
        return Ok(());
    }
    let body = batch.open(partition.log.config().opened_bytes_max(batch.len()))?;
    for record in batch.records_in(&body) {
        let record = record?;
        let Some(key) = record.key else { continue };
        if let Err(error) = loading.replay(key, record.value) {
            let (offset, index) = (record.offset(batch), partition.index);
            tracing::warn!(topic = %partition.topic, partition = index, offset, %error, "a record cannot be read and is passed over");
        }
    }
    Ok(())
}
