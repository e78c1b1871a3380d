//! Where the consumer stands in one partition, and what an answer changes about that.
//!
//! A step machine: time and rows come in; what it wants to know or cannot help goes out. Read next: `mod`, which drives it.

use std::time::Duration;

use ballast_wire::{BrokerId, LeaderEpoch, Offset};
use tokio::time::Instant;

use super::fetch::Row;
use super::records::Record;
use super::{ConsumerConfig, OffsetReset};
use crate::{ClientError, ErrorCode};

/// Where to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartAt {
    /// At the first record that is kept.
    Beginning,
    /// With the next record that is written.
    End,
    /// At this offset.
    Offset(Offset),
    /// At the first record of this time or later, in ms since 1970; at the end if there is none.
    Time(i64),
}

/// One partition's position.
#[derive(Debug, Clone)]
pub(super) struct Position {
    /// Not looked up yet.
    pub(super) start: Option<StartAt>,
    /// Of the next record to read.
    pub(super) offset: Offset,
    /// Epoch of the last record that was read, -1 if there is none.
    pub(super) epoch: LeaderEpoch,
    /// End of what may be read, -1 while unknown.
    pub(super) readable_end: Offset,
    /// A replica that the leader named, and until when it is believed.
    pub(super) read_from: Option<(BrokerId, Instant)>,
    /// A pause after a failure.
    pub(super) not_before: Option<Instant>,
    pub(super) failing_since: Option<Instant>,
}

/// What follows from a row.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Records to hand out, perhaps none.
    Read(Vec<Record>),
    /// Failed for a while: ask for metadata and try again.
    Again(ClientError),
    /// The position has moved to where it must be looked up.
    Reset,
    /// Failed for good.
    Failed(ClientError),
}

impl Position {
    pub(super) fn new(start: StartAt) -> Position {
        let mut position = Position {
            start: Some(start),
            offset: -1,
            epoch: -1,
            readable_end: -1,
            read_from: None,
            not_before: None,
            failing_since: None,
        };
        if let StartAt::Offset(offset) = start {
            position.found(offset);
        }
        position
    }

    /// Its offset is known.
    pub(super) fn found(&mut self, offset: Offset) {
        self.start = None;
        self.offset = offset;
        self.epoch = -1;
    }

    /// Takes note of a failure. Has there been nothing else for as long as `limit`?
    pub(super) fn has_failed_for(&mut self, now: Instant, limit: Duration) -> bool {
        now.duration_since(*self.failing_since.get_or_insert(now)) >= limit
    }

    /// Is everything read that may be read?
    pub(super) fn is_at_end(&self) -> bool {
        self.start.is_none() && self.readable_end >= 0 && self.offset >= self.readable_end
    }

    /// Takes an answer from `broker` about `what`. `until`: how long a named replica is believed.
    pub(super) fn take(&mut self, what: &str, row: Row, config: &ConsumerConfig, until: Instant) -> Step {
        match row.code {
            ErrorCode::NONE => {}
            ErrorCode::OFFSET_OUT_OF_RANGE if self.read_from.take().is_some() => {
                // A follower may lag behind: only the leader's word counts.
                return Step::Again(ClientError::refused(what, ErrorCode::OFFSET_NOT_AVAILABLE));
            }
            ErrorCode::OFFSET_OUT_OF_RANGE => return self.out_of_range(what, config),
            code if code.is_retriable() => {
                self.read_from = None;
                return Step::Again(ClientError::refused(what, code));
            }
            code => return Step::Failed(ClientError::refused(what, code)),
        }
        if row.diverging.is_some() && self.read_from.take().is_some() {
            // The same: one that came back with less is no follower yet, and nothing was truncated.
            return Step::Again(ClientError::refused(what, ErrorCode::OFFSET_NOT_AVAILABLE));
        }
        if let Some(end) = row.diverging {
            return self.diverged(what, end.end_offset, config);
        }
        self.readable_end = row.readable_end;
        if let Some(replica) = row.read_from {
            self.read_from = Some((replica, until));
        }
        match row.decoded {
            Ok(decoded) => {
                if let Some(next) = decoded.next {
                    (self.offset, self.epoch) = (next, decoded.epoch);
                }
                Step::Read(decoded.records)
            }
            Err(error) => Step::Failed(error),
        }
    }

    fn out_of_range(&mut self, what: &str, config: &ConsumerConfig) -> Step {
        self.start = match config.offset_reset {
            OffsetReset::Earliest => Some(StartAt::Beginning),
            OffsetReset::Latest => Some(StartAt::End),
            OffsetReset::None => {
                let what = format!("{what} at offset {}", self.offset);
                return Step::Failed(ClientError::refused(what, ErrorCode::OFFSET_OUT_OF_RANGE));
            }
        };
        tracing::warn!(what, offset = self.offset, "the log does not have this offset: looking for another");
        Step::Reset
    }

    /// KIP-320: what we have read from `end` on is no longer in the log.
    fn diverged(&mut self, what: &str, end: Offset, config: &ConsumerConfig) -> Step {
        if config.offset_reset == OffsetReset::None {
            let what = format!("{what} at offset {}: the log was truncated to {end}", self.offset);
            return Step::Failed(ClientError::refused(what, ErrorCode::OFFSET_OUT_OF_RANGE));
        }
        tracing::warn!(what, offset = self.offset, end, "the log was truncated below what we have read: going back");
        self.found(end.clamp(0, self.offset));
        Step::Reset
    }
}

#[cfg(test)]
mod tests {
    use ballast_wire::fetch::EpochEnd;

    use super::*;
    use crate::consumer::records::Decoded;

    fn row(code: i16) -> Row {
        Row {
            code: ErrorCode(code),
            readable_end: 10,
            diverging: None,
            leader: None,
            read_from: None,
            decoded: Ok(Decoded { next: Some(7), epoch: 3, ..Decoded::default() }),
        }
    }

    fn take(position: &mut Position, row: Row, reset: OffsetReset) -> Step {
        let config = ConsumerConfig { offset_reset: reset, ..ConsumerConfig::default() };
        position.take("reading t-0", row, &config, Instant::now())
    }

    #[test]
    fn the_position_moves_to_the_end_of_the_last_whole_batch() {
        let mut position = Position::new(StartAt::Offset(5));
        assert_eq!(take(&mut position, row(0), OffsetReset::None), Step::Read(vec![]));
        assert_eq!((position.offset, position.epoch, position.is_at_end()), (7, 3, false));
        let mut end = row(0);
        end.readable_end = 7;
        take(&mut position, end, OffsetReset::None);
        assert!(position.is_at_end());
    }

    #[test]
    fn an_offset_out_of_range_is_handled_by_policy() {
        for (reset, start) in [(OffsetReset::Earliest, StartAt::Beginning), (OffsetReset::Latest, StartAt::End)] {
            let mut position = Position::new(StartAt::Offset(50));
            assert_eq!(take(&mut position, row(1), reset), Step::Reset);
            assert_eq!(position.start, Some(start));
        }
        let mut position = Position::new(StartAt::Offset(50));
        assert!(matches!(take(&mut position, row(1), OffsetReset::None), Step::Failed(_)));
    }

    #[test]
    fn out_of_range_at_a_follower_sends_us_back_to_the_leader_before_any_policy_applies() {
        let mut position = Position::new(StartAt::Offset(50));
        position.read_from = Some((2, Instant::now()));
        assert!(matches!(take(&mut position, row(1), OffsetReset::None), Step::Again(_)));
        assert_eq!((position.read_from, position.offset), (None, 50));
    }

    #[test]
    fn a_follower_that_has_less_than_we_read_sends_us_back_to_the_leader() {
        let mut position = Position::new(StartAt::Offset(50));
        position.read_from = Some((2, Instant::now()));
        let mut diverging = row(0);
        diverging.diverging = Some(EpochEnd { epoch: 2, end_offset: 40 });
        assert!(matches!(take(&mut position, diverging, OffsetReset::None), Step::Again(_)));
        assert_eq!((position.read_from, position.offset), (None, 50));
    }

    #[test]
    fn a_truncated_log_takes_the_position_back_and_never_forward() {
        let mut position = Position::new(StartAt::Offset(50));
        let mut diverging = row(0);
        diverging.diverging = Some(EpochEnd { epoch: 2, end_offset: 40 });
        assert_eq!(take(&mut position, diverging, OffsetReset::Latest), Step::Reset);
        assert_eq!((position.offset, position.start), (40, None));
    }
}
