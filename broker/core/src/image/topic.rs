//! Topics and partitions as the metadata knows them.
//!
//! Holds for every partition that the controller writes:
//!   1. `isr`, `elr`, `last_known_elr`, `adding` and `removing` name replicas only (`last_known_elr` may outlive one).
//!   2. `isr` and `elr` are disjoint.
//!   3. `directories` is as long as `replicas`, in the same order.
//!   4. A leader is in `isr`; without a leader `leader` is -1.
//!   5. `partition_epoch` rises with every change, `leader_epoch` whenever the leader is set.

use std::sync::Arc;

use ballast_wire::{BrokerId, LeaderEpoch, NO_LEADER, PartitionEpoch, PartitionIndex, Uuid};

use super::Map;

/// Did the present leader win an unclean election that it has not yet recovered from? The numbers are Kafka's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// Nothing to recover (0).
    #[default]
    Recovered,
    /// The leader was elected uncleanly and is still alone (1).
    Recovering,
}

impl Recovery {
    /// Kafka's number, as in AlterPartition.
    #[must_use]
    pub fn id(self) -> i8 {
        match self {
            Recovery::Recovered => 0,
            Recovery::Recovering => 1,
        }
    }

    /// The state with Kafka's number `id`.
    #[must_use]
    pub fn from_id(id: i8) -> Option<Recovery> {
        match id {
            0 => Some(Recovery::Recovered),
            1 => Some(Recovery::Recovering),
            _ => None,
        }
    }
}

/// The reserved directory ids, which name no directory.
pub struct Directories;

impl Directories {
    /// No directory was chosen yet: the broker will choose one.
    pub const UNASSIGNED: Uuid = Uuid([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    /// The replica's directory is offline and the broker cannot say which it was.
    pub const LOST: Uuid = Uuid([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);

    /// May no directory carry this id? Kafka keeps the first hundred for itself.
    #[must_use]
    pub fn reserved(id: Uuid) -> bool {
        let [head @ .., last] = id.0;
        head == [0; 15] && last < 100
    }
}

/// One partition: who holds it, who is in sync, who leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The assigned brokers; the first is the preferred leader.
    pub replicas: Vec<BrokerId>,
    /// The log directory of each replica, in the order of `replicas`.
    pub directories: Vec<Uuid>,
    /// In-sync replicas.
    pub isr: Vec<BrokerId>,
    /// Eligible leader replicas (KIP-966): they left the ISR while it was below the minimum, and lost nothing.
    pub elr: Vec<BrokerId>,
    /// Whom to ask when ISR and ELR are both empty.
    pub last_known_elr: Vec<BrokerId>,
    /// Replicas that a reassignment is adding.
    pub adding: Vec<BrokerId>,
    /// Replicas that a reassignment will remove.
    pub removing: Vec<BrokerId>,
    /// The leader, or -1.
    pub leader: BrokerId,
    /// Counts leaders.
    pub leader_epoch: LeaderEpoch,
    /// Counts changes.
    pub partition_epoch: PartitionEpoch,
    /// After an unclean election.
    pub recovery: Recovery,
}

impl Partition {
    /// Does somebody lead it?
    #[must_use]
    pub fn has_leader(&self) -> bool {
        self.leader != NO_LEADER
    }

    /// Is a reassignment running?
    #[must_use]
    pub fn is_reassigning(&self) -> bool {
        !self.adding.is_empty() || !self.removing.is_empty()
    }

    /// The directory that replica `broker` lives in, if it is one.
    #[must_use]
    pub fn directory(&self, broker: BrokerId) -> Option<Uuid> {
        let at = self.replicas.iter().position(|replica| *replica == broker)?;
        self.directories.get(at).copied()
    }

    /// Panics if the partition contradicts itself. `name` and `index` only say which one it is.
    pub fn check(&self, name: &str, index: PartitionIndex) {
        assert_eq!(
            self.replicas.len(),
            self.directories.len(),
            "{name}-{index}: {} replicas in {} directories",
            self.replicas.len(),
            self.directories.len()
        );
        for member in &self.isr {
            assert!(
                self.replicas.contains(member),
                "{name}-{index}: ISR member {member} is no replica of {:?}",
                self.replicas
            );
            assert!(
                !self.elr.contains(member),
                "{name}-{index}: {member} is in ISR {:?} and in ELR {:?}",
                self.isr,
                self.elr
            );
        }
        for member in &self.elr {
            assert!(
                self.replicas.contains(member),
                "{name}-{index}: ELR member {member} is no replica of {:?}",
                self.replicas
            );
        }
        assert!(
            self.leader == NO_LEADER || self.isr.contains(&self.leader),
            "{name}-{index}: leader {} is not in its ISR {:?}",
            self.leader,
            self.isr
        );
        assert!(self.leader_epoch >= 0, "{name}-{index}: leader epoch {}", self.leader_epoch);
        assert!(self.partition_epoch >= 0, "{name}-{index}: partition epoch {}", self.partition_epoch);
    }
}

/// One topic.
#[derive(Clone, Debug, PartialEq)]
pub struct Topic {
    /// Its name.
    pub name: Arc<str>,
    /// Its id, never reused.
    pub id: Uuid,
    pub(super) partitions: Map<PartitionIndex, Arc<Partition>>,
}

impl Topic {
    /// The partition `index`.
    #[must_use]
    pub fn partition(&self, index: PartitionIndex) -> Option<&Arc<Partition>> {
        self.partitions.get(&index)
    }

    /// All partitions, by index.
    pub fn partitions(&self) -> impl Iterator<Item = (PartitionIndex, &Arc<Partition>)> {
        self.partitions.iter().map(|(index, partition)| (*index, partition))
    }

    /// Number of partitions.
    #[must_use]
    pub fn partition_count(&self) -> usize {
        self.partitions.size()
    }
}
