//! A fetch by a replica: may it copy the partition, does its log agree with ours, and what the leader learns from it.
//!
//! Holds: the leader's machine hears of a position only when it was found to be part of our log within the leader epoch that
//! is stepped, and once for each request: a fetch that waits is no sign of life.

use ballast_core::replica::{Divergence, EpochEnd, FetchPosition, divergence};
use ballast_wire::LeaderEpoch;
use ballast_wire::fetch::{EpochEnd as WireEpochEnd, FetchPartition, NO_EPOCH, UNKNOWN_HIGH_WATERMARK};

use super::pass::News;
use super::reader::{Follower, Reader};
use crate::api::call::Ctx;
use crate::api::code::{self, Code};
use crate::drive::partition::{FollowerFetch, Partition};

/// How the asker's log compares with ours.
pub(super) enum Compared {
    /// Read on.
    Same,
    /// Part of its log is not part of ours: it shall cut its log (KIP-595).
    Diverging(WireEpochEnd),
}

/// May this broker copy the partition?
///
/// # Errors
/// The code that tells it why not.
pub(super) fn judge(partition: &Partition, follower: Follower, asked: &FetchPartition) -> Result<(), Code> {
    let judged = partition.judge_follower(follower.id, asked.current_leader_epoch, follower.epoch);
    judged.map_err(|error| {
        tracing::debug!(topic = %partition.topic, partition = partition.index, %error, "a replica's fetch is refused");
        code::of_stranger(error)
    })
}

/// Compares the logs, and tells the leader in `epoch` how far a replica has come.
///
/// # Errors
/// OFFSET_OUT_OF_RANGE, for an epoch that never was here, and for a replica outside our log.
pub(super) fn compare(
    ctx: &Ctx,
    reader: &Reader,
    partition: &Partition,
    asked: &FetchPartition,
    epoch: LeaderEpoch,
) -> Result<Compared, Code> {
    let (start, end) = (partition.log.start(), partition.log.end());
    let position = FetchPosition {
        offset: asked.fetch_offset,
        last_epoch: asked.last_fetched_epoch,
        log_start: if reader.follower.is_some() { asked.log_start_offset } else { -1 },
    };
    let ours = if asked.last_fetched_epoch == NO_EPOCH {
        EpochEnd { epoch: -1, end: -1 }
    } else {
        let end = partition.log.epoch_end_offset(asked.last_fetched_epoch);
        EpochEnd { epoch: end.epoch, end: end.end_offset }
    };
    let counts = match divergence(position, ours, start) {
        Divergence::At(EpochEnd { epoch, end }) => {
            return Ok(Compared::Diverging(WireEpochEnd { epoch, end_offset: end }));
        }
        Divergence::Unknown => return Err(code::OFFSET_OUT_OF_RANGE),
        Divergence::None => true,
        Divergence::Unproven => false,
    };
    let Some(follower) = reader.follower else { return Ok(Compared::Same) };
    if !(start..=end).contains(&asked.fetch_offset) {
        return Err(code::OFFSET_OUT_OF_RANGE);
    }
    if counts && reader.is_first_pass {
        let fetch = FollowerFetch {
            by: follower.id,
            broker_epoch: follower.epoch,
            from: asked.fetch_offset,
            log_start: asked.log_start_offset,
        };
        partition.follower_fetched(epoch, ctx.node.ticks.now(), fetch);
    }
    Ok(Compared::Same)
}

/// See [`News`].
pub(super) fn news(partition: &Partition, asked: &FetchPartition, high_watermark: i64) -> News {
    match asked.high_watermark {
        UNKNOWN_HIGH_WATERMARK => News::None,
        has if has < high_watermark => News::There,
        _ if high_watermark < partition.log.end() => News::Expected,
        _ => News::None,
    }
}
