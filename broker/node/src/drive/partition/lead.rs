//! The leader's half of a partition: produces, group commit, and the machine that moves the watermark.
//!
//! ```text
//! enqueue: role lock { leader? } -> waiters lock { log.append }
//! write:   log.drain (no lock) -> role lock { step } -> wake
//! ```
//! Holds: nothing is queued while this broker does not lead; whoever waits when it resigns is told so then.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ballast_core::machine::{Machine as _, Tick};
use ballast_core::replica::{Input, Leader, LeaderConfig, LeaderState};
use ballast_log::disk::Disk;
use ballast_log::{AppendError, Appended, Budget, Drained, LogError, ValidBatch};
use ballast_wire::{BrokerId, Offset};

use super::{LeaderHint, Part, Partition, Refused, TOLD};
use crate::drive::waiters::{ProduceWait, Until};

/// Rounds that a task drains before it lets others run.
const ROUNDS_A_TURN: u32 = 16;

/// A produce on its way: appended, perhaps not yet published or committed.
pub(crate) struct Produced {
    pub(crate) appended: Appended,
    pub(crate) wait: ProduceWait,
}

/// Why a produce was refused at once.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProduceError {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error(transparent)]
    Append(#[from] AppendError),
}

impl Partition {
    /// Begins to lead, or goes on leading with another ISR.
    pub(crate) fn lead(
        &self,
        me: BrokerId,
        state: LeaderState,
        config: LeaderConfig,
        now: Tick,
    ) -> Result<(), LogError> {
        let _changing = self.changing.lock();
        let mut role = self.role.lock();
        let mut effects = Vec::new();
        match &mut role.part {
            Part::Leader(leader) if leader.leader_epoch() == state.leader_epoch => {
                let LeaderState { replicas, isr, partition_epoch, .. } = state;
                leader.step(now, Input::Reassigned { replicas, isr, partition_epoch }, &mut effects);
                leader.step(now, Input::Configured(config), &mut effects);
            }
            _ => {
                if role.leader().is_some() {
                    // Elected again: what is queued carries the epoch that is over, and must not land in the next.
                    self.log.drop_unwritten();
                    self.waiters.fail_produces(self.log.end(), &AppendError::Dropped);
                }
                self.log.assign_epoch(state.leader_epoch, self.log.end())?;
                role.hint = LeaderHint { leader: me, leader_epoch: state.leader_epoch };
                let end = self.log.end();
                let mut leader = Leader::new(me, state, config, end, self.high(), now);
                leader.step(now, Input::Appended { end }, &mut effects);
                leader.step(now, Input::Synced { end: self.log.recovery_point() }, &mut effects);
                role.part = Part::Leader(Box::new(leader));
                let leader_epoch = role.hint.leader_epoch;
                tracing::trace!(target: TOLD, topic = %self.topic, partition = self.index, leader_epoch, "leads");
            }
        }
        if let Some(leader) = role.leader() {
            self.carry_out(leader, effects);
        }
        drop(role);
        self.wake();
        Ok(())
    }

    /// Has the watermark passed the start of this leadership? Before that, offsets near the end are a guess (KIP-207).
    pub(crate) fn knows_the_end(&self) -> bool {
        self.role.lock().leader().is_some_and(Leader::knows_the_end)
    }

    /// Takes a batch in: it has its offsets and its place in the log, and the wait ends as `until` says. No I/O, so that
    /// whoever must keep an order among batches may call it under a lock; [`Partition::write`] has to follow.
    pub(crate) fn enqueue(&self, batch: ValidBatch, until: Until, now_ms: i64) -> Result<Produced, ProduceError> {
        let role = self.role.lock();
        if self.is_offline() {
            return Err(Refused::Offline.into());
        }
        let Some(leader) = role.leader() else { return Err(Refused::NotLeader(role.hint).into()) };
        if self.is_stranded() {
            return Err(self.astray(leader.leader_epoch()).into());
        }
        if until == Until::Committed && leader.is_under_min_isr() {
            return Err(Refused::NotEnoughReplicas.into());
        }
        let epoch = leader.leader_epoch();
        let (appended, wait) = self.waiters.enter_produce(until, || {
            self.log.append(batch, epoch, now_ms).map(|appended| (appended, appended.last_offset))
        })?;
        Ok(Produced { appended, wait })
    }

    /// Writes what is queued through this batch, unless somebody else has or is about to, and tells whoever waits for it.
    pub(crate) fn write(self: &Arc<Self>, appended: &Appended, now_ms: i64, now: Tick) {
        self.write_through(appended.last_offset, now_ms, now);
        if appended.duplicate {
            // The original may have been published, and its waiters told, long before this one came.
            self.wake();
        }
    }

    /// The same for all batches up to `last_offset`, none of which was there before.
    pub(crate) fn write_through(self: &Arc<Self>, last_offset: Offset, now_ms: i64, now: Tick) {
        // Whoever has published it tells of it as well.
        if self.log.end() <= last_offset {
            self.drain(Budget::Through(last_offset), now_ms, now);
        }
    }

    /// The disk, for work that blocks.
    pub(crate) fn disk(&self) -> Arc<dyn Disk> {
        Arc::clone(&self.disk)
    }

    /// Are there too few in-sync replicas for acks=all?
    pub(crate) fn is_under_min_isr(&self) -> bool {
        self.role.lock().leader().is_some_and(Leader::is_under_min_isr)
    }

    fn drain(self: &Arc<Self>, budget: Budget, now_ms: i64, now: Tick) {
        let Drained::Done { end, more, failed } = self.log.drain(budget) else { return };
        if let Some((from, error)) = failed {
            tracing::warn!(topic = %self.topic, partition = self.index, %error, "an append failed and was taken back");
            self.waiters.fail_produces(from, &error);
        }
        tracing::trace!(target: TOLD, topic = %self.topic, partition = self.index, end, "ends");
        let committed = self.step_in(None, now, Input::Appended { end });
        self.wake_written(committed);
        if self.log.needs_sync(now_ms) {
            self.start_sync(now_ms, now);
        }
        if more {
            let this = Arc::clone(self);
            tokio::spawn(async move {
                tokio::task::yield_now().await;
                this.drain(Budget::Rounds(ROUNDS_A_TURN), now_ms, now);
            });
        }
    }

    /// Group commit: one sync serves every append that came in before it began; what comes meanwhile is for the next.
    pub(crate) fn start_sync(self: &Arc<Self>, now_ms: i64, now: Tick) {
        if self.syncing.swap(true, Ordering::AcqRel) {
            return;
        }
        let this = Arc::clone(self);
        self.disk.spawn(Box::new(move || {
            let outcome = this.log.sync(now_ms);
            this.syncing.store(false, Ordering::Release);
            match outcome {
                Ok(end) => {
                    this.step(now, Input::Synced { end });
                    this.wake();
                    if this.log.needs_sync(now_ms) {
                        this.start_sync(now_ms, now);
                    }
                }
                Err(error) => this.sync_failed(&error),
            }
        }));
    }

    /// An fsync error is final: the log refuses writes from now on, and so do we.
    fn sync_failed(&self, error: &LogError) {
        tracing::error!(topic = %self.topic, partition = self.index, %error, "a sync failed, the partition goes offline");
        self.take_offline();
        if let LogError::SyncFailed(cause) = error {
            self.waiters.fail_produces(0, &AppendError::SyncFailed(cause.clone()));
        }
    }
}
