//! What came about, for whoever runs the cluster: who was shut out and why, who leads now, and what nobody leads.
//!
//! Holds: an event is told once, when the change that it speaks of is committed; one that is lost with its controller
//! never was.

use std::fmt;
use std::sync::Arc;

use ballast_wire::{BrokerId, LeaderEpoch, PartitionIndex};

use crate::machine::Tick;

/// Something that the metadata says from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A broker is shut out: it leads nothing and is in no ISR of several.
    Fenced {
        /// Which.
        broker: BrokerId,
        /// Why.
        why: FencedBecause,
    },
    /// A broker may take part.
    Unfenced {
        /// Which.
        broker: BrokerId,
    },
    /// A broker hands over what it leads, in order to stop.
    Stopping {
        /// Which.
        broker: BrokerId,
    },
    /// A partition has another leader.
    Elected {
        /// Topic.
        topic: Arc<str>,
        /// Partition.
        index: PartitionIndex,
        /// Who led before, or -1.
        from: BrokerId,
        /// Who leads.
        to: BrokerId,
        /// In which epoch.
        leader_epoch: LeaderEpoch,
        /// What makes it fit to lead.
        standing: Standing,
    },
    /// A partition has no leader any more.
    Leaderless {
        /// Topic.
        topic: Arc<str>,
        /// Partition.
        index: PartitionIndex,
        /// Who led it.
        from: BrokerId,
        /// Whose return it waits for: the ISR, the eligible replicas, or the last that were known.
        waits_for: Vec<BrokerId>,
    },
}

/// Why a broker is shut out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FencedBecause {
    /// No sign of life for so many milliseconds.
    Silent(Tick),
    /// It asked for it.
    Asked,
    /// It has handed over everything and stops.
    Stopped,
}

impl fmt::Display for FencedBecause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FencedBecause::Silent(ms) => write!(f, "no heartbeat for {ms} ms"),
            FencedBecause::Asked => f.write_str("it asked to be"),
            FencedBecause::Stopped => f.write_str("it stopped in order"),
        }
    }
}

/// What made a replica fit to lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It was in sync.
    InSync,
    /// It left the ISR below the minimum and has lost nothing (KIP-966).
    Eligible,
    /// Nobody else was known to have had everything. Records may be lost.
    LastKnown,
    /// It was alive, which had to do. Records may be lost.
    Unclean,
}

impl Standing {
    /// Can acknowledged records be lost by its election?
    #[must_use]
    pub fn is_clean(self) -> bool {
        matches!(self, Standing::InSync | Standing::Eligible)
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Standing::InSync => "in sync",
            Standing::Eligible => "eligible",
            Standing::LastKnown => "last known leader",
            Standing::Unclean => "unclean",
        })
    }
}
