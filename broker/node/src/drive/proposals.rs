//! ISRs that leaders want, on their way from the partitions to whoever takes them to the controller.
//!
//! Holds: putting one there never waits. A leader has at most one open, so that the queue is bounded by the partitions.
//!
//! Read next: `partition::replicas` (who proposes), `isr` (who takes them on).

use ballast_wire::{BrokerId, LeaderEpoch, PartitionEpoch, PartitionIndex, Uuid};
use tokio::sync::mpsc;

/// An ISR that a leader wants.
#[derive(Debug, Clone)]
pub(crate) struct Proposal {
    pub(crate) topic: Uuid,
    pub(crate) index: PartitionIndex,
    pub(crate) leader_epoch: LeaderEpoch,
    /// What the change builds on.
    pub(crate) partition_epoch: PartitionEpoch,
    /// The ISR until now.
    pub(crate) before: Vec<BrokerId>,
    /// The members wished for, with the broker epochs that they fetched under, -1 unknown.
    pub(crate) isr: Vec<(BrokerId, i64)>,
    /// How far those are behind that are to leave, if any are.
    pub(crate) why_shrunk: Option<String>,
}

/// Where leaders put their proposals.
#[derive(Debug, Clone)]
pub(crate) struct Proposals(mpsc::UnboundedSender<Proposal>);

/// What they have put there.
pub(crate) type Wishes = mpsc::UnboundedReceiver<Proposal>;

impl Proposals {
    /// Both ends.
    pub(crate) fn channel() -> (Proposals, Wishes) {
        let (sender, wishes) = mpsc::unbounded_channel();
        (Proposals(sender), wishes)
    }

    /// Never waits. Once the broker stops nobody takes them any more.
    pub(crate) fn send(&self, proposal: Proposal) {
        let _ = self.0.send(proposal);
    }
}
