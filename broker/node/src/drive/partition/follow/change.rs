//! How a follower's log is changed: what its machine wishes, carried out in order, and how that went.
//!
//! ```text
//! wishes: Append ── append_fetched, inline, as a produce writes ──────────────┐
//!         Truncate, StartOver, MoveStart ── cut, the checkpoints, settle ─────┼─► Done, or LogFailed
//!         Sync ── synced ─────────────────────────────────────────────────────┘
//! ```
//! Holds: see `follow`; `changing` is held throughout, and the role lock never while the disk works.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ballast_core::machine::Tick;
use ballast_core::replica::follower::{Effect, Input};
use ballast_log::{AppendError, LogError};
use ballast_wire::Offset;
use ballast_wire::batch::BatchView;
use bytes::Bytes;

use crate::drive::partition::{Partition, TOLD};

impl Partition {
    /// Appends what was fetched, as it is: inline, as a produce does. Returns how many bytes.
    pub(crate) fn append_fetched(self: &Arc<Self>, now_ms: i64, now: Tick) -> usize {
        let _changing = self.changing.lock();
        let wished = |wish: &Effect| matches!(wish, Effect::Append { .. });
        let Some((wish, records)) = self.take_wish(wished) else { return 0 };
        let Effect::Append { batches } = wish else { return 0 };
        assert!(!self.owes_checkpoint(), "an append must not overtake the checkpoint of a cut");
        let bytes = records.slice(..bytes_of(&records, batches));
        let result = self.log.append_stamped(&bytes, now_ms);
        match result {
            Ok(_) => {
                self.tell_end();
                self.settle_locked(now);
            }
            Err(error) => self.append_failed(&error, now),
        }
        if self.log.needs_sync(now_ms) && !self.syncs_by_wish() {
            self.start_sync(now_ms, now);
        }
        bytes.len()
    }

    /// Cuts the log as the machine wants it. Blocks. If the recovery point fell, [`Partition::owes_checkpoint`] says so, and
    /// the checkpoint is written before [`Partition::settle`] and before anything is appended.
    ///
    /// # Errors
    /// The log could not be cut; the machine is told.
    pub(crate) fn cut(&self, now_ms: i64, now: Tick) -> Result<(), LogError> {
        let _changing = self.changing.lock();
        let is_cut = |wish: &Effect| !matches!(wish, Effect::Append { .. } | Effect::Sync);
        while let Some((wish, _)) = self.take_wish(is_cut) {
            let recovery_point = self.log.recovery_point();
            let result = self.carry_out_cut(&wish, now_ms);
            self.tell_end();
            if self.log.recovery_point() < recovery_point {
                self.owes_checkpoint.store(true, Ordering::Release);
            }
            if let Err(error) = result {
                self.failed(now);
                return Err(error);
            }
        }
        Ok(())
    }

    fn tell_end(&self) {
        let end = self.log.end();
        tracing::trace!(target: TOLD, topic = %self.topic, partition = self.index, end, "ends");
    }

    fn carry_out_cut(&self, wish: &Effect, now_ms: i64) -> Result<(), LogError> {
        let (topic, partition, end) = (&self.topic, self.index, self.log.end());
        match *wish {
            Effect::Truncate { to, below_high } => {
                if below_high {
                    let high = self.high();
                    tracing::warn!(%topic, partition, end, to, high, "cut below the watermark: the leader was elected uncleanly");
                } else if to < end {
                    tracing::info!(%topic, partition, end, to, "the log has parted from its leader's and is cut");
                }
                self.lower_high(to);
                // A batch is not cut in two.
                self.log.truncate_to(to).map(|end| self.lower_high(end))
            }
            Effect::StartOver { at } => {
                tracing::warn!(%topic, partition, end, at, "the leader's log does not reach ours: starting over");
                self.lower_high(at);
                self.log.truncate_fully_and_start_at(at, now_ms)
            }
            Effect::MoveStart { to } => self.log.advance_start(to).map(|_| ()),
            Effect::Append { .. } | Effect::Sync | Effect::AskEnds { .. } | Effect::PublishHigh(_) => Ok(()),
        }
    }

    /// Under the role lock, as every change of the watermark.
    fn lower_high(&self, to: Offset) {
        let _role = self.role.lock();
        self.high.fetch_min(to, Ordering::AcqRel);
    }

    /// Must the recovery point checkpoint of its directory be written before this log goes on?
    pub(crate) fn owes_checkpoint(&self) -> bool {
        self.owes_checkpoint.load(Ordering::Acquire)
    }

    /// Whoever writes the checkpoint calls this before it looks at the recovery point.
    pub(crate) fn checkpoint_begins(&self) {
        self.owes_checkpoint.store(false, Ordering::Release);
    }

    /// Tells the machine that everything it asked for is done, if so.
    pub(crate) fn settle(&self, now: Tick) {
        let _changing = self.changing.lock();
        self.settle_locked(now);
    }

    /// The log was synced for the machine.
    pub(crate) fn synced(&self, now: Tick) {
        let _changing = self.changing.lock();
        if self.take_wish(|wish| matches!(wish, Effect::Sync)).is_some() {
            self.settle_locked(now);
        }
    }

    /// What was begun failed; the machine asks again later. A log that takes nothing any more is out of service.
    pub(crate) fn failed(&self, now: Tick) {
        let mut role = self.role.lock();
        if let Some(following) = role.following().filter(|following| following.waits) {
            (following.wishes, following.waits, following.records) = (Vec::new(), false, Bytes::new());
            // A part may be done: the machine has to know from where to go on.
            self.feed(following, now, Input::LogMoved(self.log_state()));
            self.feed(following, now, Input::LogFailed);
            self.high.store(following.machine.high(), Ordering::Release);
        }
        drop(role);
        if self.log.failure().is_some() {
            self.take_offline();
        }
    }

    fn settle_locked(&self, now: Tick) {
        let mut role = self.role.lock();
        let Some(following) = role.following() else { return };
        if !following.waits || !following.wishes.is_empty() {
            return;
        }
        let before = self.high();
        (following.waits, following.records) = (false, Bytes::new());
        self.feed(following, now, Input::Done(self.log_state()));
        drop(role);
        if self.high() != before {
            self.waiters.wake_fetches();
        }
    }

    fn append_failed(&self, error: &AppendError, now: Tick) {
        tracing::warn!(topic = %self.topic, partition = self.index, %error, "what was fetched cannot be appended");
        self.failed(now);
    }

    /// The first wish, if it is of this kind, with the records that were fetched.
    fn take_wish(&self, kind: impl Fn(&Effect) -> bool) -> Option<(Effect, Bytes)> {
        let mut role = self.role.lock();
        let following = role.following()?;
        let is_next = following.wishes.first().is_some_and(kind);
        is_next.then(|| (following.wishes.remove(0), following.records.clone()))
    }

    /// At D2 the machine says when to sync.
    fn syncs_by_wish(&self) -> bool {
        self.log.config().flush_messages == 1
    }
}

/// Length of the first so many batches.
fn bytes_of(records: &[u8], batches: usize) -> usize {
    let mut bytes = 0;
    for _ in 0..batches {
        let Ok(batch) = BatchView::parse(&records[bytes..]) else { break };
        bytes += batch.len();
    }
    bytes
}
