//! What the controller says to proposed ISRs, told to the leaders that asked.
//!
//! Holds: a row counts for the leader epoch that proposed it and for no other. What stays open is asked again after a
//! back-off that grows while no controller decides.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ballast_core::controller::{AlteredPartition, BrokerError, PartitionState, Refusal, Response};
use ballast_core::replica::IsrRefusal;

use super::{BACKOFF_MS_MAX, BACKOFF_MS_MIN, Driver, Open};
use crate::drive::partition::Partition;
use crate::drive::proposals::Proposal;

impl Driver {
    /// Takes in the answer to a request, `None` if there was none.
    pub(super) fn answered(&mut self, asked: &Open, answer: Option<Response>) {
        match answer {
            Some(Response::AlterPartition(Ok(rows))) => {
                self.backoff_ms = 0;
                self.decided(asked, rows);
            }
            Some(Response::AlterPartition(Err(error))) => self.undecided(asked, of_broker(&error), &error.to_string()),
            Some(Response::Refused(Refusal::Lost)) => {
                self.undecided(asked, IsrRefusal::Lost, "no answer from the node that leads the quorum");
            }
            Some(Response::Refused(refusal)) => {
                self.undecided(asked, IsrRefusal::from_code(refusal.code()), &refusal.to_string());
            }
            Some(other) => unreachable!("AlterPartition was answered with {other:?}"),
            None => self.undecided(asked, IsrRefusal::Lost, "no answer in time"),
        }
    }

    fn decided(&mut self, asked: &Open, rows: Vec<AlteredPartition>) {
        let rows: BTreeMap<_, _> = rows.into_iter().map(|row| ((row.topic, row.index), row.result)).collect();
        for (partition, proposal) in asked {
            match rows.get(partition) {
                Some(Ok(state)) => self.committed(proposal, state),
                Some(Err(error)) => self.refused(proposal, IsrRefusal::from_code(error.code()), &error.to_string()),
                // Kafka leaves no row out; whoever does has decided nothing that we can know.
                None => self.refused(proposal, IsrRefusal::Lost, "the answer has no row for it"),
            }
        }
    }

    fn committed(&mut self, proposal: &Proposal, state: &PartitionState) {
        if state.leader_epoch != proposal.leader_epoch {
            return;
        }
        let metrics = &self.node.metrics;
        let counter = if state.isr.len() < proposal.before.len() { &metrics.isr_shrinks } else { &metrics.isr_expands };
        counter.fetch_add(1, Ordering::Relaxed);
        let Some(partition) = self.partition(proposal) else { return };
        let PartitionState { isr, partition_epoch, .. } = state.clone();
        tracing::debug!(topic = %partition.topic, partition = partition.index, from = ?proposal.before, to = ?isr, partition_epoch, "ISR updated");
        self.told.updated(&partition.topic, partition.index, &proposal.before, &isr);
        partition.isr_committed(self.node.ticks.now(), proposal.leader_epoch, isr, partition_epoch);
    }

    fn undecided(&mut self, asked: &Open, why: IsrRefusal, cause: &str) {
        self.backoff_ms = (self.backoff_ms * 2).clamp(BACKOFF_MS_MIN, BACKOFF_MS_MAX);
        self.not_before = self.node.ticks.now() + self.backoff_ms;
        tracing::debug!(partitions = asked.len(), cause, "the controller did not decide on ISRs; asking again");
        for proposal in asked.values() {
            self.refused(proposal, why, cause);
        }
    }

    fn refused(&mut self, proposal: &Proposal, why: IsrRefusal, cause: &str) {
        self.node.metrics.failed_isr_updates.fetch_add(1, Ordering::Relaxed);
        let Some(partition) = self.partition(proposal) else { return };
        let to: Vec<_> = proposal.isr.iter().map(|(id, _)| *id).collect();
        tracing::debug!(topic = %partition.topic, partition = partition.index, ?to, ?why, cause, "an ISR was not put in place");
        let now = self.node.ticks.now();
        partition.isr_refused(now, proposal.leader_epoch, proposal.partition_epoch, why);
        // Only a proposal that stays open wakes before the next tick of all.
        if let Some(at) = partition.leader_wakes_at().filter(|at| *at < self.next_tick) {
            self.again.insert((at.max(self.not_before), proposal.topic, proposal.index));
        }
    }

    fn partition(&self, proposal: &Proposal) -> Option<Arc<Partition>> {
        self.node.store.hosted.by_id(proposal.topic, proposal.index)
    }
}

/// Why a request as a whole was refused.
fn of_broker(error: &BrokerError) -> IsrRefusal {
    IsrRefusal::from_code(error.code())
}
