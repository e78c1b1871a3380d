//! One broker: its log, the machine of its one replica, and what its process remembers.
//!
//! Holds: what outlives the process is the log, the checkpointed watermark and the note of a clean stop; a power loss cuts the
//! log besides.

use ballast_wire::{BrokerId, Offset, PartitionEpoch, Uuid};

use super::log::SimLog;
use super::network::Life;
use crate::controller::RequestId;
use crate::image::Image;
use crate::machine::Tick;
use crate::replica::Leader;
use crate::replica::follower::{Effect, Follower, Ticket};

/// What the broker is to the partition.
#[derive(Debug, Default)]
pub(super) enum Role {
    #[default]
    Idle,
    Leader(Box<Leader>),
    Follower(Follower),
}

/// A produce with acks=all that waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wait {
    pub(super) end: Offset,
    pub(super) value: u64,
}

/// A question to the controllers that may get no answer.
#[derive(Debug, Clone, Copy)]
pub(super) enum Call {
    Register,
    Heartbeat,
    AlterPartition(PartitionEpoch),
}

#[derive(Debug)]
pub(super) struct Broker {
    pub(super) id: BrokerId,
    pub(super) up: bool,
    pub(super) life: Life,
    pub(super) log: SimLog,
    /// The watermark as last written to disk.
    pub(super) high_checkpoint: Offset,
    /// The broker epoch of the last life, if that stopped in order.
    pub(super) clean_epoch: Option<i64>,
    /// This life's epoch, once it knows.
    pub(super) broker_epoch: Option<i64>,
    /// The newest metadata that it has applied.
    pub(super) image: Option<Image>,
    pub(super) role: Role,
    pub(super) waits: Vec<Wait>,
    /// What the follower's machine asked of the log and is not done yet.
    pub(super) work: Vec<Effect>,
    /// The last answer's records, for `Effect::Append`.
    pub(super) fetched: Vec<super::log::Record>,
    /// A question to the leader, and when it is given up.
    pub(super) asked: Option<(Ticket, Tick)>,
    pub(super) next_fetch_at: Tick,
    pub(super) calls: Vec<(RequestId, Call, Tick)>,
    pub(super) next_beat_at: Tick,
    /// It wants to stop, and will by itself at this time.
    pub(super) stops_at: Option<Tick>,
    /// Its last stop was unclean, and it has not been in sync since.
    pub(super) unclean: Unclean,
}

/// How the log fared when the broker last stopped out of order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unclean {
    No,
    /// The process died, the page cache lived.
    Killed,
    /// What was not synced is gone.
    LostPower,
}

impl Broker {
    pub(super) fn new(id: BrokerId) -> Broker {
        Broker {
            id,
            up: false,
            life: 0,
            log: SimLog::default(),
            high_checkpoint: 0,
            clean_epoch: None,
            broker_epoch: None,
            image: None,
            role: Role::Idle,
            waits: Vec::new(),
            work: Vec::new(),
            fetched: Vec::new(),
            asked: None,
            next_fetch_at: 0,
            calls: Vec::new(),
            next_beat_at: 0,
            stops_at: None,
            unclean: Unclean::No,
        }
    }

    /// The watermark as this replica knows it.
    pub(super) fn high(&self) -> Offset {
        match &self.role {
            Role::Leader(leader) => leader.high(),
            Role::Follower(follower) => follower.high(),
            Role::Idle => self.high_checkpoint,
        }
        .clamp(self.log.start(), self.log.end())
    }

    /// A new process begins.
    pub(super) fn start(&mut self, now: Tick) {
        self.up = true;
        self.life += 1;
        self.broker_epoch = None;
        self.image = None;
        self.next_beat_at = now;
        self.stops_at = None;
    }

    /// The process ends; what was under way is lost.
    pub(super) fn end(&mut self) {
        self.up = false;
        self.role = Role::Idle;
        self.waits.clear();
        self.work.clear();
        self.fetched.clear();
        self.asked = None;
        self.calls.clear();
    }

    /// The process ends in order: everything is on disk, and a note says so.
    pub(super) fn stop(&mut self) {
        self.high_checkpoint = self.high();
        self.log.sync();
        self.clean_epoch = self.broker_epoch;
        self.end();
    }

    /// The process dies. With the power, the log loses what was not synced, from `cut` on.
    pub(super) fn crash(&mut self, cut: Option<Offset>) {
        self.end();
        self.clean_epoch = None;
        if self.unclean == Unclean::No {
            self.unclean = Unclean::Killed;
        }
        if let Some(cut) = cut {
            self.unclean = Unclean::LostPower;
            self.log.truncate(cut);
            self.log.sync();
        }
    }
}

/// What one life of a broker calls itself.
pub(super) fn incarnation(broker: BrokerId, life: u64) -> Uuid {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&life.to_be_bytes());
    bytes[15] = broker as u8;
    Uuid(bytes)
}
