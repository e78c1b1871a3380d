//! One change of one partition: who is in sync, who is eligible, who leads, which epochs rise.
//!
//! Holds for every partition that comes out:
//!   1. `partition_epoch` is one more than before; `leader_epoch` is, if the leader differs or a replica was dropped.
//!   2. Without eligible leader replicas the last member never leaves the ISR; with them it leaves for the ELR.
//!   3. A leader that was in neither comes alone, `Recovering`, and only by an unclean election or as the sole leader that
//!      the partition had last.
//!
//! The rules are KIP-966's and those of Kafka's controller (its PartitionChangeBuilder).

use ballast_wire::{BrokerId, NO_LEADER, Uuid};

use super::event::Standing;
use crate::image::{Partition, Recovery};

/// How hard to look for a leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Election {
    /// Keep the leader if it can stay; else the first eligible replica.
    Online,
    /// The preferred replica if it can lead; else as `Online`.
    Preferred,
    /// As `Online`, and if nobody is eligible, anybody who is alive.
    Unclean,
}

/// A change that is being put together. `of` describes no change at all.
pub(super) struct Change<'a> {
    pub(super) old: &'a Partition,
    /// May this broker lead: alive, and its replica's directory online?
    pub(super) acceptable: &'a dyn Fn(BrokerId) -> bool,
    /// Is this broker to lead only what nobody else can?
    pub(super) drained: &'a dyn Fn(BrokerId) -> bool,
    /// The directory of a replica that is new on this broker.
    pub(super) new_directory: &'a dyn Fn(BrokerId) -> Uuid,
    pub(super) elr_enabled: bool,
    /// `min.insync.replicas` of the topic.
    pub(super) min_isr: usize,
    pub(super) election: Election,
    pub(super) isr: Vec<BrokerId>,
    pub(super) replicas: Vec<BrokerId>,
    pub(super) adding: Vec<BrokerId>,
    pub(super) removing: Vec<BrokerId>,
    pub(super) recovery: Recovery,
    /// A broker whose data can no longer be trusted: it stopped uncleanly, or it is gone.
    pub(super) distrusted: Option<BrokerId>,
}

/// Who leads, and what made it fit to.
type Winner = Option<(BrokerId, Standing)>;

impl Change<'_> {
    /// The partition as it will be, and how its leader was found, if it has one; `None` if nothing changes.
    pub(super) fn build(mut self) -> Option<(Partition, Option<Standing>)> {
        self.complete_reassignment();
        let (elr, last_known_elr) = self.eligible();
        let winner = self.elect(&elr, &last_known_elr);
        let mut new = Partition {
            directories: self.directories(),
            replicas: self.replicas,
            isr: self.isr,
            elr,
            last_known_elr,
            adding: self.adding,
            removing: self.removing,
            leader: NO_LEADER,
            leader_epoch: self.old.leader_epoch,
            partition_epoch: self.old.partition_epoch,
            recovery: self.recovery,
        };
        crown(&mut new, winner, self.old, self.elr_enabled);
        if new.isr.len() >= self.min_isr.min(new.replicas.len()) {
            new.elr.clear();
            new.last_known_elr.clear();
        }
        let dropped = self.old.replicas.iter().any(|replica| !new.replicas.contains(replica));
        if new.leader != self.old.leader || dropped {
            new.leader_epoch += 1;
        }
        if new == *self.old {
            return None;
        }
        new.partition_epoch += 1;
        Some((new, winner.map(|(_, standing)| standing)))
    }

    /// A reassignment is over as soon as every replica that it adds is in sync.
    fn complete_reassignment(&mut self) {
        if self.adding.is_empty() && self.removing.is_empty() {
            return;
        }
        let stays = |broker: &BrokerId| !self.removing.contains(broker);
        let isr: Vec<BrokerId> = self.isr.iter().copied().filter(stays).collect();
        let replicas: Vec<BrokerId> = self.replicas.iter().copied().filter(stays).collect();
        let all_in_sync = self.adding.iter().all(|added| isr.contains(added));
        if all_in_sync && !isr.is_empty() && !replicas.is_empty() {
            self.isr = isr;
            self.replicas = replicas;
            self.adding.clear();
            self.removing.clear();
        }
    }

    /// The eligible leader replicas, and whom to ask when there are none.
    fn eligible(&self) -> (Vec<BrokerId>, Vec<BrokerId>) {
        if !self.elr_enabled {
            return (Vec::new(), Vec::new());
        }
        let mut elr: Vec<BrokerId> = Vec::new();
        for broker in self.old.elr.iter().chain(&self.old.isr) {
            let left = !self.isr.contains(broker) && self.replicas.contains(broker);
            if left && self.distrusted != Some(*broker) && !elr.contains(broker) {
                elr.push(*broker);
            }
        }
        (elr, self.old.last_known_elr.clone())
    }

    fn elect(&self, elr: &[BrokerId], last_known_elr: &[BrokerId]) -> Winner {
        let acceptable = |broker: &BrokerId| (self.acceptable)(*broker);
        let in_sync = |broker: &BrokerId| self.isr.contains(broker) || (self.isr.is_empty() && elr.contains(broker));
        let valid = |broker: &BrokerId| in_sync(broker) && acceptable(broker);
        let clean = |broker: BrokerId| {
            let standing = if self.isr.contains(&broker) { Standing::InSync } else { Standing::Eligible };
            Some((broker, standing))
        };
        // One that is drained leads only if the choice is between it and nobody.
        for spared in [true, false] {
            let fits = |broker: &BrokerId| valid(broker) && !(spared && (self.drained)(*broker));
            let preferred = self.replicas.first().filter(|_| self.election == Election::Preferred);
            if let Some(broker) = preferred.filter(|broker| fits(broker)) {
                return clean(*broker);
            }
            if fits(&self.old.leader) {
                return clean(self.old.leader);
            }
            if let Some(broker) = self.replicas.iter().find(|broker| fits(broker)) {
                return clean(*broker);
            }
        }
        match last_known_elr {
            // Remembered under an earlier assignment, it may be no replica any more.
            [only] if self.isr.is_empty() && elr.is_empty() && self.replicas.contains(only) && acceptable(only) => {
                return Some((*only, Standing::LastKnown));
            }
            _ => {}
        }
        let anybody = self.replicas.iter().find(|broker| self.election == Election::Unclean && acceptable(broker));
        anybody.map(|broker| (*broker, Standing::Unclean))
    }

    fn directories(&self) -> Vec<Uuid> {
        let known = |broker: &BrokerId| self.old.directory(*broker);
        self.replicas.iter().map(|broker| known(broker).unwrap_or_else(|| (self.new_directory)(*broker))).collect()
    }
}

/// Puts the winner in place, and the ISR that goes with it.
fn crown(new: &mut Partition, winner: Winner, old: &Partition, elr_enabled: bool) {
    match winner {
        Some((leader, standing)) if standing.is_clean() => {
            new.leader = leader;
            if !new.isr.contains(&leader) {
                new.isr = vec![leader];
                new.elr.retain(|broker| *broker != leader);
            }
        }
        Some((leader, _)) => {
            new.leader = leader;
            new.isr = vec![leader];
            new.elr.clear();
            new.last_known_elr.clear();
            new.recovery = Recovery::Recovering;
        }
        None if new.isr.is_empty() && !elr_enabled => new.isr.clone_from(&old.isr),
        None if new.isr.is_empty() && old.leader != NO_LEADER => new.last_known_elr = vec![old.leader],
        None => {}
    }
}

#[cfg(test)]
mod tests;
