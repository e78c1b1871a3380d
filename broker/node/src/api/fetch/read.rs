//! Reads a partition for a fetch: what is there now, within the sizes that were asked for.
//!
//! The first partition with anything gives at least one whole batch, however large (KIP-74); every other gives what still
//! fits. Reads stop at the high watermark (consumers), the last stable offset (read_committed) or the log end (replicas).
//!
//! Read next: `pass` (all partitions of a fetch), `replica` (what is asked of a broker that copies), `nearest`
//! (consumers that are sent to another replica).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ballast_log::Read;
use ballast_wire::fetch::{AbortedTransaction, FetchPartition, FetchedPartition};
use ballast_wire::{Chunk, LeaderEpoch, Offset};

use super::nearest;
use super::pass::{Look, Looked, News, Row};
use super::reader::{Reader, Wanted};
use super::replica::{self, Compared};
use crate::api::call::Ctx;
use crate::api::code::{self, Code};
use crate::drive::partition::{LeaderHint, Partition, Refused};
use crate::drive::store::on_readers;
use crate::node::{TopicKey, Whereabouts};

/// How much is read at once to bring cold data into memory.
const WARM_BYTES: usize = 128 << 10;

/// A fetch that is read.
pub(super) struct Reading<'a> {
    pub(super) ctx: &'a Ctx,
    pub(super) reader: Reader,
    /// By place.
    pub(super) wanted: &'a [Wanted],
}

impl Look for Reading<'_> {
    async fn look(&mut self, place: usize, taken: usize) -> Row {
        row(self.ctx, &self.reader, &self.wanted[place], taken).await
    }
}

async fn row(ctx: &Ctx, reader: &Reader, wanted: &Wanted, taken: usize) -> Row {
    let index = wanted.partition.index;
    let failed =
        |code| Row { fetched: failed(reader, index, code), hint: None, is_urgent: true, news: News::None, read: None };
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
    let changes = partition.changes();
    match read(ctx, reader, &partition, &wanted.partition, taken).await {
        Ok(fetched) => {
            let is_urgent = fetched.diverging_epoch.is_some() || fetched.preferred_read_replica >= 0;
            let news = match reader.follower {
                Some(_) => replica::news(&partition, &wanted.partition, fetched.high_watermark),
                None => News::None,
            };
            Row { fetched, hint: None, is_urgent, news, read: Some(Looked { partition, changes }) }
        }
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

fn failed(reader: &Reader, index: i32, code: Code) -> FetchedPartition {
    let mut row = FetchedPartition::failed(index, code);
    let is_missing = matches!(code, code::UNKNOWN_TOPIC_OR_PARTITION | code::UNKNOWN_TOPIC_ID);
    row.aborted_transactions = (reader.read_committed || is_missing).then(Vec::new);
    row
}

async fn read(
    ctx: &Ctx,
    reader: &Reader,
    partition: &Arc<Partition>,
    asked: &FetchPartition,
    taken: usize,
) -> Result<FetchedPartition, Failure> {
    let epoch = may_read(ctx, reader, partition, asked.current_leader_epoch)?;
    if let Some(follower) = reader.follower {
        replica::judge(partition, follower, asked).map_err(|code| {
            let hint = (code == code::NOT_LEADER_OR_FOLLOWER).then(|| partition.hint());
            Failure { hint, ..code.into() }
        })?;
    }
    if reader.is_first_pass {
        partition.traffic.fetch_requests.fetch_add(1, Ordering::Relaxed);
    }
    if reader.makes_no_sense || asked.max_bytes < 0 {
        return Err(code::UNKNOWN_SERVER_ERROR.into());
    }
    if let Some(rack) = &reader.rack
        && let Some(nearer) = nearest::choose(ctx, partition, rack, asked.fetch_offset)
    {
        return Ok(FetchedPartition { preferred_read_replica: nearer, ..watermarks(partition, reader, asked.index) });
    }
    if let Compared::Diverging(end) = replica::compare(ctx, reader, partition, asked, epoch)? {
        return Ok(FetchedPartition { diverging_epoch: Some(end), ..watermarks(partition, reader, asked.index) });
    }
    let mut row = watermarks(partition, reader, asked.index);
    let bound = match reader {
        Reader { follower: Some(_), .. } => partition.log.end(),
        Reader { read_committed: true, .. } => row.last_stable_offset,
        _ => row.high_watermark,
    };
    let room = reader.max_bytes.saturating_sub(taken).min(asked.max_bytes as usize);
    let found = read_warm(ctx, partition, asked.fetch_offset, bound, room, taken == 0).await?;
    if reader.follower.is_some() {
        // What lies above the watermark is ours to give only if we led when it was read.
        may_read(ctx, reader, partition, epoch)?;
    }
    row.records = found.records.into_iter().collect();
    Ok(row)
}

/// May this reader read here, with the leader epoch that it names? Gives the present epoch.
fn may_read(ctx: &Ctx, reader: &Reader, partition: &Partition, asked: LeaderEpoch) -> Result<LeaderEpoch, Failure> {
    let checked = if reader.any_replica { partition.check_replica(asked) } else { partition.check_leader(asked) };
    let hint = checked.map_err(|refused| match refused {
        Refused::NotLeader(hint) => Failure { hint: Some(hint), ..code::of_refused(&refused).into() },
        Refused::FencedEpoch { .. } => Failure { hint: Some(partition.hint()), ..code::of_refused(&refused).into() },
        Refused::Offline => storage_error(ctx).into(),
        _ => code::of_refused(&refused).into(),
    })?;
    Ok(hint.leader_epoch)
}

fn watermarks(partition: &Partition, reader: &Reader, index: i32) -> FetchedPartition {
    let high = partition.high();
    let mut row: FetchedPartition = FetchedPartition::failed(index, code::NONE);
    row.high_watermark = high;
    row.last_stable_offset = partition.stable().min(high);
    row.log_start_offset = partition.log.start();
    row.aborted_transactions = reader.read_committed.then(Vec::<AbortedTransaction>::new);
    row
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
