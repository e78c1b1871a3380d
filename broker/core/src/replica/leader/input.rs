//! What a leader may be told, and what it may ask for.

use std::collections::BTreeMap;

use ballast_wire::{BrokerId, LeaderEpoch, Offset, PartitionEpoch};

/// What the controller has decided about the partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderState {
    /// The leader epoch that this leadership stands for.
    pub leader_epoch: LeaderEpoch,
    /// The partition epoch of the newest change seen.
    pub partition_epoch: PartitionEpoch,
    /// All assigned replicas, in order of preference.
    pub replicas: Vec<BrokerId>,
    /// The in-sync ones among them.
    pub isr: Vec<BrokerId>,
}

/// What the settings say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaderConfig {
    /// `min.insync.replicas`.
    pub min_isr: usize,
    /// `flush.messages=1`: only synced records count.
    pub durable: bool,
    /// `replica.lag.time.max.ms`.
    pub lag_max_ms: u64,
}

/// Why a proposed ISR was not put in place, as far as the leader can know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsrRefusal {
    /// A member may not join: INELIGIBLE_REPLICA (107), or OPERATION_NOT_ATTEMPTED (55). The partition epoch was right and the
    /// request was not applied, so the committed ISR is known again.
    Ineligible,
    /// The partition changed meanwhile, perhaps by an earlier copy of this very proposal: INVALID_UPDATE_VERSION (95),
    /// FENCED_LEADER_EPOCH (74), NEW_LEADER_ELECTED (108), UNKNOWN_TOPIC_OR_PARTITION (3), UNKNOWN_TOPIC_ID (100),
    /// INVALID_REQUEST (42). The metadata will tell; until then the proposed members count.
    Overtaken,
    /// This controller did not decide: NOT_CONTROLLER (41), STALE_BROKER_EPOCH (77), any other error.
    Undecided,
    /// No answer came, or the controller stepped down before it knew one: REQUEST_TIMED_OUT (7). The
    /// request may be applied now, later, or never.
    Lost,
}

impl IsrRefusal {
    /// What Kafka's error code for a partition, or for a whole AlterPartition, means to the leader that asked. 0 is no
    /// refusal.
    #[must_use]
    pub fn from_code(code: i16) -> IsrRefusal {
        match code {
            55 | 107 => IsrRefusal::Ineligible,
            7 => IsrRefusal::Lost,
            3 | 42 | 74 | 95 | 100 | 108 => IsrRefusal::Overtaken,
            _ => IsrRefusal::Undecided,
        }
    }
}

/// What may happen to a leader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// The log's published end moved.
    Appended {
        /// The new end.
        end: Offset,
    },
    /// The log was synced.
    Synced {
        /// Everything below it survives a crash.
        end: Offset,
    },
    /// A follower asked for records, within this leader epoch, and its log agrees with ours below `from` (`Divergence::None`).
    Fetched {
        /// Who asked.
        by: BrokerId,
        /// The follower's end: it has everything below.
        from: Offset,
        /// Its first offset, -1 if it does not say.
        log_start: Offset,
        /// The broker epoch that it fetched with, -1 from followers that send none.
        broker_epoch: i64,
    },
    /// Which brokers could join the ISR: not fenced, not shutting down; with their broker epochs.
    Eligible(BTreeMap<BrokerId, i64>),
    /// The controller changed the partition but left the leadership as it is.
    IsrCommitted {
        /// The new ISR.
        isr: Vec<BrokerId>,
        /// Its partition epoch. Older ones than the present are ignored.
        partition_epoch: PartitionEpoch,
    },
    /// The controller changed who is assigned but left the leadership as it is: a reassignment began or was reordered.
    /// Ignored when older than the present, as `IsrCommitted` is.
    Reassigned {
        /// All assigned replicas, in order of preference.
        replicas: Vec<BrokerId>,
        /// The ISR.
        isr: Vec<BrokerId>,
        /// The partition epoch of the change.
        partition_epoch: PartitionEpoch,
    },
    /// What was proposed was not put in place.
    IsrRefused {
        /// Which proposal: the partition epoch that it was built on. Answers to earlier ones are ignored.
        partition_epoch: PartitionEpoch,
        /// Why.
        why: IsrRefusal,
    },
    /// The settings changed.
    Configured(LeaderConfig),
    /// Time passed.
    Timer,
}

/// What a leader asks of the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// The high watermark moved: consumers may read below it, and produces that wait for it are answered.
    PublishHigh(Offset),
    /// Ask the controller for another ISR (AlterPartition, with recovery state 0: an uncleanly elected leader has recovered
    /// as soon as it asks). Answer with `IsrCommitted` or `IsrRefused`; a proposal that stays open is asked again by itself.
    ProposeIsr {
        /// Its members with their broker epochs (-1 unknown).
        isr: Vec<(BrokerId, i64)>,
        /// The partition epoch that the change builds on.
        partition_epoch: PartitionEpoch,
    },
}

/// What a produce with acks=all that ends at some offset may be told now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcksAll {
    /// Nothing yet: some in-sync replica lacks it.
    Waiting,
    /// Every in-sync replica has it, and there are enough of them.
    Done,
    /// Every in-sync replica has it, but they have become too few: NOT_ENOUGH_REPLICAS_AFTER_APPEND (20).
    TooFewReplicas,
}

/// Why a fetch by a replica is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StrangerFetch {
    /// It is not assigned, and it names the present leader epoch: it knows more than we do. UNKNOWN_LEADER_EPOCH (75).
    #[error("broker {0} is not assigned, as far as this leader knows")]
    Early(BrokerId),
    /// It is not assigned. NOT_LEADER_OR_FOLLOWER (6).
    #[error("broker {0} is not assigned")]
    NotAssigned(BrokerId),
    /// A later life of this broker is known: the request was on its way too long. NOT_LEADER_OR_FOLLOWER (6).
    #[error("broker epoch {given} of a fetch is over, {known} is known")]
    FormerLife {
        /// In the request.
        given: i64,
        /// Registered, or seen in a later fetch.
        known: i64,
    },
}
