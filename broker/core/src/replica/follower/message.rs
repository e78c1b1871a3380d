//! What a follower may be told, and what it may ask for.

use ballast_wire::{BrokerId, LeaderEpoch, Offset};

use crate::replica::EpochEnd;

/// Names one question to the leader; rises with each. An answer with any other than the last one's is ignored.
pub type Ticket = u64;

/// The log of this replica, as it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogState {
    /// Its first offset.
    pub start: Offset,
    /// Its published end.
    pub end: Offset,
    /// Everything below survives a crash of this machine.
    pub synced: Offset,
    /// The latest epoch in its cache, -1 if there is none.
    pub last_epoch: LeaderEpoch,
}

/// What the settings say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowerConfig {
    /// `flush.messages=1`: what is fetched is synced before the next fetch says so to the leader.
    pub durable: bool,
    /// `replica.fetch.backoff.ms`: the longest wait after a refusal; the first ones are shorter.
    pub backoff_ms: u64,
}

/// One partition's row of a Fetch request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchRequest {
    /// Whom to ask.
    pub leader: BrokerId,
    /// Goes with the answer.
    pub ticket: Ticket,
    /// `current_leader_epoch`.
    pub leader_epoch: LeaderEpoch,
    /// `fetch_offset`: the end of this log.
    pub offset: Offset,
    /// `last_fetched_epoch`, -1 if the log holds nothing.
    pub last_fetched_epoch: LeaderEpoch,
    /// `log_start_offset`.
    pub log_start: Offset,
    /// `high_watermark`: a leader whose own is higher does not let the request wait for records (KIP-1166).
    pub high: Offset,
}

/// A batch that came, by its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchHead {
    /// Its first offset.
    pub base: Offset,
    /// Its last offset.
    pub last: Offset,
    /// The leader epoch that wrote it.
    pub epoch: LeaderEpoch,
}

/// The answer to a fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Batches, perhaps none.
    Records {
        /// In the order in which they came.
        batches: Vec<BatchHead>,
        /// The leader's watermark.
        high: Offset,
        /// The leader's first offset.
        log_start: Offset,
    },
    /// DivergingEpoch: the logs have parted.
    Diverging {
        /// What the leader says: the largest epoch that it knows up to the last one of this log, and its end there.
        leader: EpochEnd,
        /// Where *this* log ends that epoch.
        ours: EpochEnd,
    },
    /// OFFSET_OUT_OF_RANGE (1).
    OutOfRange,
    /// FENCED_LEADER_EPOCH (74).
    FencedLeaderEpoch,
    /// UNKNOWN_LEADER_EPOCH (75), NOT_LEADER_OR_FOLLOWER (6), UNSUPPORTED_COMPRESSION_TYPE (76), any other error, or no
    /// answer.
    Failed,
}

impl Answer {
    /// What Kafka's error code in a fetch answer means to a follower. 0 is no error.
    #[must_use]
    pub fn from_code(code: i16) -> Answer {
        match code {
            1 => Answer::OutOfRange,
            74 => Answer::FencedLeaderEpoch,
            _ => Answer::Failed,
        }
    }
}

/// What may happen to a follower.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// The metadata names a leader. Ignored when the epoch is not newer than the present one.
    Follow {
        /// The broker that leads, -1 for nobody.
        leader: BrokerId,
        /// In which epoch.
        leader_epoch: LeaderEpoch,
    },
    /// A fetch was answered.
    Answered {
        /// Which.
        ticket: Ticket,
        /// How.
        answer: Answer,
    },
    /// `AskEnds` was answered: where the leader's log begins and ends.
    LeaderEnds {
        /// Which question.
        ticket: Ticket,
        /// Its first offset.
        start: Offset,
        /// Its end.
        end: Offset,
    },
    /// What was asked of the log is done: this is how it is now.
    Done(LogState),
    /// The log changed by itself (a sync, retention).
    LogMoved(LogState),
    /// What was asked of the log failed; it is as it was.
    LogFailed,
    /// The settings changed.
    Configured(FollowerConfig),
    /// Time passed.
    Timer,
}

/// What a follower asks of the world. Those that change the log are answered by one `Done` (or `LogFailed`), after all effects
/// of the step are carried out; there are no further ones until then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Append the first so many batches of the answer, as they are.
    Append {
        /// How many.
        batches: usize,
    },
    /// Cut the log and its epoch cache at `to`. The cache is cut even if the log ends there already: an epoch that wrote
    /// nothing may stand at its end.
    Truncate {
        /// The new end.
        to: Offset,
        /// The watermark was above: committed records go, as they may only after an unclean election.
        below_high: bool,
    },
    /// Drop everything and go on at `at`: the leader's log begins above our end.
    StartOver {
        /// The new start and end.
        at: Offset,
    },
    /// Drop what lies below: the leader has done so.
    MoveStart {
        /// The new first offset.
        to: Offset,
    },
    /// Sync the log.
    Sync,
    /// Ask the leader where its log begins and ends (ListOffsets -2 and -1, as a replica), and answer with
    /// `LeaderEnds`, or with `Answered { answer: Failed }`.
    AskEnds {
        /// Goes with the answer.
        ticket: Ticket,
        /// Whom.
        leader: BrokerId,
        /// In which epoch.
        leader_epoch: LeaderEpoch,
    },
    /// Consumers may read below it. Lower than before only where the log was cut.
    PublishHigh(Offset),
}
