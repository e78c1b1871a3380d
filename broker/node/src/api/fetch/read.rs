//! Reads the partitions of a fetch, once: what is there now, within the sizes that were asked for.
//!
//! The first partition with anything gives at least one whole batch, however large (KIP-74); every other gives what still
//! fits. Reads stop at the high watermark (consumers), the last stable offset (read_committed) or the log end (replicas).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ballast_log::Read;
use ballast_wire::fetch::{AbortedTransaction, EpochEnd, FetchPartition, FetchedPartition, NO_EPOCH};
use ballast_wire::{BrokerId, Chunk, Offset, Uuid};

use crate::api::call::Ctx;
use crate::api::code::{self, Code};
use crate::drive::partition::{LeaderHint, Partition, Refused};
use crate::drive::store::on_readers;
use crate::node::{TopicKey, Whereabouts};

/// How much is read at once to bring cold data into memory.
const WARM_BYTES: usize = 128 << 10;

/// One partition that a fetch asks for.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) topic: Arc<str>,
    pub(super) id: Uuid,
    pub(super) by_id: bool,
    pub(super) partition: FetchPartition,
    /// Refused before it is looked for: not allowed, or no topic has the id.
    pub(super) refused: Option<Code>,
}

/// Who reads, and how much.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader {
    /// The broker that copies the log; `None` for a consumer.
    pub(super) replica_id: Option<BrokerId>,
    pub(super) read_committed: bool,
    /// Is there a limit below 0?
    pub(super) makes_no_sense: bool,
    pub(super) max_bytes: usize,
}

/// What one partition gave.
pub(super) struct Row {
    pub(super) fetched: FetchedPartition,
    /// Whom to ask instead.
    pub(super) hint: Option<LeaderHint>,
}

/// What a pass over all partitions gave.
pub(super) struct Pass {
    /// In the order asked for.
    pub(super) rows: Vec<Row>,
    pub(super) bytes: usize,
    /// An error or a divergence: the answer goes out at once.
    pub(super) is_urgent: bool,
}

/// Reads everything that is asked for.
pub(super) async fn pass(ctx: &Ctx, reader: Reader, wanted: &[Wanted]) -> Pass {
    let mut pass = Pass { rows: Vec::with_capacity(wanted.len()), bytes: 0, is_urgent: false };
    for one in wanted {
        let row = row(ctx, reader, one, pass.bytes).await;
        pass.bytes += row.fetched.records.iter().map(Chunk::len).sum::<usize>();
        pass.is_urgent |= row.fetched.error_code != code::NONE || row.fetched.diverging_epoch.is_some();
        pass.rows.push(row);
    }
    pass
}

async fn row(ctx: &Ctx, reader: Reader, wanted: &Wanted, taken: usize) -> Row {
    let index = wanted.partition.index;
    let failed = |code| Row { fetched: failed(reader, index, code), hint: None };
    if let Some(code) = wanted.refused.or_else(|| ctx.scripted(&wanted.topic, Some(index))) {
        return failed(code);
    }
    let key = if wanted.by_id { TopicKey::Id(wanted.id) } else { TopicKey::Name(&wanted.topic) };
    let partition = match ctx.node.find(key, index) {
        Whereabouts::Here(partition) => partition,
        Whereabouts::Elsewhere(hint) => return Row { hint: Some(hint), ..failed(code::NOT_LEADER_OR_FOLLOWER) },
        Whereabouts::Broken => return failed(storage_error(ctx)),
        Whereabouts::Unknown => return failed(code::UNKNOWN_TOPIC_OR_PARTITION),
    };
    match read(ctx, reader, &partition, &wanted.partition, taken).await {
        Ok(fetched) => Row { fetched, hint: None },
        Err(Failure { code, hint }) => Row { hint, ..failed(code) },
    }
}

struct Failure {
    code: Code,
    hint: Option<LeaderHint>,
}

impl From<Code> for Failure {
    fn from(code: Code) -> Failure {
        Failure { code, hint: None }
    }
}

/// Clients before v6 do not know the code for a failed disk.
fn storage_error(ctx: &Ctx) -> Code {
    if ctx.version <= 5 { code::NOT_LEADER_OR_FOLLOWER } else { code::KAFKA_STORAGE_ERROR }
}

fn failed(reader: Reader, index: i32, code: Code) -> FetchedPartition {
    let mut row = FetchedPartition::failed(index, code);
    let is_missing = matches!(code, code::UNKNOWN_TOPIC_OR_PARTITION | code::UNKNOWN_TOPIC_ID);
    row.aborted_transactions = (reader.read_committed || is_missing).then(Vec::new);
    row
}

async fn read(
    ctx: &Ctx,
    reader: Reader,
    partition: &Arc<Partition>,
    asked: &FetchPartition,
    taken: usize,
) -> Result<FetchedPartition, Failure> {
    partition.check_leader(asked.current_leader_epoch).map_err(|refused| match refused {
        Refused::NotLeader(hint) => Failure { hint: Some(hint), ..code::of_refused(&refused).into() },
        Refused::FencedEpoch { .. } => Failure { hint: Some(partition.hint()), ..code::of_refused(&refused).into() },
        Refused::Offline => storage_error(ctx).into(),
        _ => code::of_refused(&refused).into(),
    })?;
    if let Some(id) = reader.replica_id
        && !is_assigned(ctx, partition, id)
    {
        // It may have heard of a reassignment before us, and asks again.
        let is_fenced = asked.current_leader_epoch != NO_EPOCH;
        return Err(if is_fenced { code::UNKNOWN_LEADER_EPOCH } else { code::NOT_LEADER_OR_FOLLOWER }.into());
    }
    partition.traffic.fetch_requests.fetch_add(1, Ordering::Relaxed);
    if reader.makes_no_sense || asked.max_bytes < 0 {
        return Err(code::UNKNOWN_SERVER_ERROR.into());
    }
    let mut row = watermarks(partition, reader, asked.index);
    if asked.last_fetched_epoch != NO_EPOCH
        && let Some(diverging) = divergence(partition, asked)?
    {
        row.diverging_epoch = Some(diverging);
        return Ok(row);
    }
    let bound = match reader {
        Reader { replica_id: Some(_), .. } => partition.log.end(),
        Reader { read_committed: true, .. } => row.last_stable_offset,
        _ => row.high_watermark,
    };
    let room = reader.max_bytes.saturating_sub(taken).min(asked.max_bytes as usize);
    let found = read_warm(ctx, partition, asked.fetch_offset, bound, room, taken == 0).await?;
    if let Some(records) = found.records {
        if reader.replica_id.is_none() {
            partition.traffic.bytes_out.fetch_add(records.len() as u64, Ordering::Relaxed);
        }
        row.records = vec![records];
    }
    Ok(row)
}

/// Is the broker one of the partition's replicas, as far as we know?
fn is_assigned(ctx: &Ctx, partition: &Partition, broker: BrokerId) -> bool {
    let image = ctx.node.metadata.image();
    let state = image.topic_by_id(partition.topic_id).and_then(|topic| topic.partition(partition.index));
    state.is_some_and(|state| state.replicas.contains(&broker))
}

fn watermarks(partition: &Partition, reader: Reader, index: i32) -> FetchedPartition {
    let high = partition.high();
    let mut row: FetchedPartition = FetchedPartition::failed(index, code::NONE);
    row.high_watermark = high;
    row.last_stable_offset = partition.stable().min(high);
    row.log_start_offset = partition.log.start();
    row.aborted_transactions = reader.read_committed.then(Vec::<AbortedTransaction>::new);
    row
}

/// Where the asker's log parts from ours, if it does (KIP-595).
fn divergence(partition: &Partition, asked: &FetchPartition) -> Result<Option<EpochEnd>, Failure> {
    let end = partition.log.epoch_end_offset(asked.last_fetched_epoch);
    if end.epoch < 0 || end.end_offset < 0 {
        return Err(code::OFFSET_OUT_OF_RANGE.into());
    }
    let diverges = end.epoch < asked.last_fetched_epoch || end.end_offset < asked.fetch_offset;
    Ok(diverges.then_some(EpochEnd { epoch: end.epoch, end_offset: end.end_offset }))
}

/// Reads without stalling a worker: what is not in memory is brought there by the disk's readers first.
async fn read_warm(
    ctx: &Ctx,
    partition: &Arc<Partition>,
    from: Offset,
    bound: Offset,
    room: usize,
    min_one_batch: bool,
) -> Result<Read, Failure> {
    if partition.log.is_resident(from, room) {
        return read_log(ctx, partition, from, bound, room, min_one_batch);
    }
    let (disk, partition, ctx) = (ctx.node.store.disk(), Arc::clone(partition), ctx.clone());
    on_readers(&disk, move || {
        let found = read_log(&ctx, &partition, from, bound, room, min_one_batch)?;
        if let Some(records) = &found.records {
            warm(records).map_err(|error| {
                tracing::warn!(topic = %partition.topic, partition = partition.index, %error, "cannot read a segment");
                Failure::from(storage_error(&ctx))
            })?;
        }
        Ok(found)
    })
    .await
}

fn read_log(
    ctx: &Ctx,
    partition: &Partition,
    from: Offset,
    bound: Offset,
    room: usize,
    min_one_batch: bool,
) -> Result<Read, Failure> {
    partition.log.read(from, bound, room, min_one_batch).map_err(|error| {
        let code = code::of_read(&error);
        if code != code::OFFSET_OUT_OF_RANGE {
            tracing::warn!(topic = %partition.topic, partition = partition.index, %error, "cannot read a log");
        }
        if code == code::KAFKA_STORAGE_ERROR { storage_error(ctx).into() } else { code.into() }
    })
}

/// Reads the bytes behind a chunk and forgets them: they are then in the page cache.
fn warm(chunk: &Chunk) -> std::io::Result<()> {
    use std::os::unix::fs::FileExt as _;
    let Chunk::File { range, .. } = chunk else { return Ok(()) };
    let mut buffer = vec![0; WARM_BYTES.min(range.len)];
    let mut done = 0;
    while done < range.len {
        let count = buffer.len().min(range.len - done);
        range.file.read_exact_at(&mut buffer[..count], range.position + done as u64)?;
        done += count;
    }
    Ok(())
}
