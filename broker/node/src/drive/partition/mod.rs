//! One partition on this broker: its log, the machine that leads it or follows its leader, and who waits for it.
//!
//! ```text
//!            lead                    follow
//!  leading <------- idle, following -------> following         resign: idle
//!
//! produce: role lock { leader? } -> waiters lock { log.append }; then log.drain (no lock) -> role lock { step } -> wake
//! fetch:   high (atomic), log.read (no lock)
//! ```
//! Holds: `high` never lies above the log's published end, and is written under the role lock only. Effects run after the
//! lock. Locks are taken in the order changing, role, waiters, log; never the other way round.
//!
//! Read next: `lead` (the leader's half), `replicas` (its machine and the other replicas), `follow` (the follower's half).

mod follow;
mod lead;
mod replicas;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use ballast_core::replica::Leader;
use ballast_log::disk::Disk;
use ballast_log::{AppendError, Log};
use ballast_wire::{BrokerId, LeaderEpoch, NO_LEADER, Offset, PartitionIndex, Uuid};
use parking_lot::Mutex;

use self::follow::Following;
pub(crate) use self::follow::{Change, Fetched, Next};
pub(crate) use self::lead::{ProduceError, Produced};
pub(crate) use self::replicas::FollowerFetch;
use super::proposals::Proposals;
use super::waiters::{Awaits, Ear, Waiters};
use crate::quorum::TOLD;

/// Whom a broker may ask for a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LeaderHint {
    pub(crate) leader: BrokerId,
    pub(crate) leader_epoch: LeaderEpoch,
}

/// Why a partition did not take or give what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    #[error("this broker does not lead the partition")]
    NotLeader(LeaderHint),
    #[error("leader epoch {asked} is below {ours}")]
    FencedEpoch { asked: LeaderEpoch, ours: LeaderEpoch },
    #[error("leader epoch {asked} is above {ours}")]
    UnknownEpoch { asked: LeaderEpoch, ours: LeaderEpoch },
    #[error("fewer replicas are in sync than min.insync.replicas asks for")]
    NotEnoughReplicas,
    #[error("its log directory is offline")]
    Offline,
}

/// What is counted of a partition, in bytes and records since start.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) bytes_in: AtomicU64,
    pub(crate) records_in: AtomicU64,
    pub(crate) bytes_out: AtomicU64,
    pub(crate) produce_requests: AtomicU64,
    pub(crate) fetch_requests: AtomicU64,
}

/// What this broker is to the partition.
struct Role {
    hint: LeaderHint,
    part: Part,
}

enum Part {
    Idle,
    Leader(Box<Leader>),
    Follower(Box<Following>),
}

impl Role {
    fn leader(&self) -> Option<&Leader> {
        match &self.part {
            Part::Leader(leader) => Some(leader),
            Part::Idle | Part::Follower(_) => None,
        }
    }

    fn leader_mut(&mut self) -> Option<&mut Leader> {
        match &mut self.part {
            Part::Leader(leader) => Some(leader),
            Part::Idle | Part::Follower(_) => None,
        }
    }

    fn following(&mut self) -> Option<&mut Following> {
        match &mut self.part {
            Part::Follower(following) => Some(following),
            Part::Idle | Part::Leader(_) => None,
        }
    }
}

pub(crate) struct Partition {
    pub(crate) topic: Arc<str>,
    pub(crate) topic_id: Uuid,
    pub(crate) index: PartitionIndex,
    directory: Mutex<Uuid>,
    pub(crate) log: Log,
    pub(crate) traffic: Traffic,
    disk: Arc<dyn Disk>,
    /// Held while the log is changed for a follower, and while the role changes: neither sees the other half done.
    changing: Mutex<()>,
    role: Mutex<Role>,
    high: AtomicI64,
    /// Records that the leader has committed and this follower lacks, as of its last answer.
    lag: AtomicI64,
    /// The recovery point fell, and the checkpoint does not say so yet.
    owes_checkpoint: AtomicBool,
    waiters: Waiters,
    proposals: Proposals,
    offline: AtomicBool,
    /// Leads, but can commit nothing, and cannot hear that another leads by now.
    stranded: AtomicBool,
    syncing: AtomicBool,
}

/// Which partition, where.
pub(crate) struct Place {
    pub(crate) topic: Arc<str>,
    pub(crate) topic_id: Uuid,
    pub(crate) index: PartitionIndex,
    pub(crate) directory: Uuid,
}

impl Partition {
    /// A partition that nobody leads yet. `high` is its checkpointed watermark; it is clipped to the log. Where it leads, its
    /// wishes for another ISR go to `proposals`.
    pub(crate) fn new(place: Place, log: Log, disk: Arc<dyn Disk>, high: Offset, proposals: Proposals) -> Partition {
        let high = high.clamp(log.start(), log.end());
        Partition {
            topic: place.topic,
            topic_id: place.topic_id,
            index: place.index,
            directory: Mutex::new(place.directory),
            traffic: Traffic::default(),
            disk,
            changing: Mutex::new(()),
            role: Mutex::new(Role { hint: LeaderHint { leader: NO_LEADER, leader_epoch: -1 }, part: Part::Idle }),
            high: AtomicI64::new(high),
            lag: AtomicI64::new(0),
            owes_checkpoint: AtomicBool::new(false),
            waiters: Waiters::default(),
            proposals,
            offline: AtomicBool::new(false),
            stranded: AtomicBool::new(false),
            syncing: AtomicBool::new(false),
            log,
        }
    }

    /// Id of the log directory that it lives in.
    pub(crate) fn directory(&self) -> Uuid {
        *self.directory.lock()
    }

    /// It lives in another log directory from now on.
    pub(crate) fn moved_to(&self, directory: Uuid) {
        *self.directory.lock() = directory;
    }

    /// The high watermark.
    pub(crate) fn high(&self) -> Offset {
        self.high.load(Ordering::Acquire)
    }

    /// The last stable offset. Equal to the high watermark: there are no transactions to wait for.
    pub(crate) fn stable(&self) -> Offset {
        self.high()
    }

    pub(crate) fn hint(&self) -> LeaderHint {
        self.role.lock().hint
    }

    pub(crate) fn is_leader(&self) -> bool {
        self.role.lock().leader().is_some()
    }

    /// Is its log directory gone? Then it serves nothing more.
    pub(crate) fn is_offline(&self) -> bool {
        self.offline.load(Ordering::Acquire)
    }

    /// Takes the partition out of service: its directory failed.
    pub(crate) fn take_offline(&self) {
        self.offline.store(true, Ordering::Release);
        self.waiters.wake_fetches();
    }

    /// Neither leads nor follows any more; `hint` says who leads. Blocks while the log is being changed for a follower.
    pub(crate) fn resign(&self, hint: LeaderHint) {
        let _changing = self.changing.lock();
        let mut role = self.role.lock();
        role.hint = hint;
        self.leave(&mut role);
        drop(role);
        self.waiters.wake_fetches();
    }

    /// Lays down the role. Produces that wait are sent to the next leader: nobody here will commit them, and what is not
    /// written yet is dropped.
    fn leave(&self, role: &mut Role) {
        if let Part::Leader(_) = std::mem::replace(&mut role.part, Part::Idle) {
            self.waiters.fail_produces(0, &AppendError::Dropped);
            self.log.drop_unwritten();
        }
        self.lag.store(0, Ordering::Relaxed);
    }

    /// Does it lead here, in the epoch that a request names? -1 and below name none (KIP-320).
    ///
    /// # Errors
    /// `NotLeader`, `FencedEpoch`, `UnknownEpoch`, `Offline`.
    pub(crate) fn check_leader(&self, asked: LeaderEpoch) -> Result<LeaderHint, Refused> {
        self.check(asked, true)
    }

    /// As [`Partition::check_leader`], for readers that a follower serves as well (KIP-392).
    ///
    /// # Errors
    /// `NotLeader` before it is known who leads, `FencedEpoch`, `UnknownEpoch`, `Offline`.
    pub(crate) fn check_replica(&self, asked: LeaderEpoch) -> Result<LeaderHint, Refused> {
        self.check(asked, false)
    }

    fn check(&self, asked: LeaderEpoch, must_lead: bool) -> Result<LeaderHint, Refused> {
        if self.is_offline() {
            return Err(Refused::Offline);
        }
        let role = self.role.lock();
        let ours = role.hint.leader_epoch;
        if asked >= 0 && asked < ours {
            return Err(Refused::FencedEpoch { asked, ours });
        }
        if asked >= 0 && asked > ours {
            return Err(Refused::UnknownEpoch { asked, ours });
        }
        if must_lead && self.is_stranded() {
            return Err(self.astray(ours));
        }
        // Before the metadata has come there is nothing here to go by.
        if role.leader().is_none() && (must_lead || ours < 0) {
            return Err(Refused::NotLeader(role.hint));
        }
        Ok(role.hint)
    }

    /// Whether enough replicas are in sync is judged here, when a batch is committed, and not when its client is told:
    /// others may come and go in between.
    fn answer_produces(&self) {
        let role = self.role.lock();
        if let Some(leader) = role.leader() {
            self.waiters.answer_produces(self.log.end(), |end| leader.acks_all(end));
        }
    }

    pub(crate) fn wake(&self) {
        self.answer_produces();
        self.waiters.wake_fetches();
    }

    /// Records were written here; is some of the log newly committed as well?
    fn wake_written(&self, committed: bool) {
        self.answer_produces();
        if committed {
            self.waiters.wake_fetches();
        } else {
            self.waiters.wake_those(Awaits::Written);
        }
    }

    /// The watermark moved, and nothing was written.
    fn wake_committed(&self) {
        self.answer_produces();
        self.waiters.wake_those(Awaits::Committed);
    }

    /// Something that fetches wait for changed: the log start, the settings, the leadership.
    pub(crate) fn wake_fetches(&self) {
        self.waiters.wake_fetches();
    }

    /// How many changes were told to those who wait; see [`Partition::await_change`].
    pub(crate) fn changes(&self) -> u64 {
        self.waiters.changes()
    }

    /// `ear` hears of every change by this `place`, until the guard is dropped; and at once, if there was one since whoever
    /// listens `saw` so many.
    pub(crate) fn await_change(self: &Arc<Self>, awaits: Awaits, ear: &Arc<Ear>, place: usize, saw: u64) -> FetchGuard {
        self.waiters.enter_fetch(awaits, ear, place, saw);
        FetchGuard { partition: Arc::clone(self), ear: Arc::clone(ear), place }
    }
}

/// A fetch's place in a partition's list.
pub(crate) struct FetchGuard {
    partition: Arc<Partition>,
    ear: Arc<Ear>,
    place: usize,
}

impl Drop for FetchGuard {
    fn drop(&mut self) {
        self.partition.waiters.leave_fetch(&self.ear, self.place);
    }
}

#[cfg(test)]
mod tests;
