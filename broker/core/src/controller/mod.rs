//! The controller: decides everything that the metadata log says.
//!
//! ```text
//!                    requests, timer                     Propose { records }
//!  brokers, admins ------------------>  Controller  ------------------------>  Raft log
//!                  <------------------              <------------------------
//!                    Respond (parked until              Committed { image }
//!                    what it rests on is committed)
//! ```
//! Holds after every step:
//!   1. Only an active controller decides; it is active from the commit of its own ControllerActivated record, proposed in
//!      this life of the process, until it is told to step down. That record's index is the controller epoch.
//!   2. Decisions rest on the committed image plus the controller's own uncommitted records. At most one proposal is on its
//!      way; what is decided meanwhile becomes the next one.
//!   3. No answer leaves before everything that it rests on is committed. Stepping down answers all of them
//!      `NotController`, or `Lost` where it matters that it may be committed yet, and drops the uncommitted records.
//!   4. Signs of life stay in memory: no record is written for a heartbeat that changes nothing.
//!
//! Read next: request.rs (what can be asked), turn.rs (proposals and parked answers), then one file per subject.

mod active;
mod admin;
mod brokers;
mod change;
mod configs;
mod create;
mod delete;
mod dirs;
mod draft;
mod drain;
mod drained;
mod elect;
mod error;
mod event;
mod features;
mod isr;
mod names;
mod placement;
mod request;
mod sessions;
mod turn;

pub use drained::DRAIN_LEADERS;
pub use error::{
    AlterPartitionError, AssignError, BrokerError, ConfigError, ElectionError, FeatureError, Refusal, TopicError,
};
pub use event::{Event, FencedBecause, Standing};
pub use names::validate as validate_topic_name;
pub use request::{
    AlterPartition, AlteredPartition, AssignedDir, BrokerHeartbeat, ConfigChange, ConfigEntry, ConfigOp, CreatedTopic,
    DeletedTopic, DirAssignment, FeatureUpdate, HeartbeatReply, IsrChange, MorePartitions, NewTopic, PartitionState,
    ProducerIds, RegisterBroker, Request, Response, TopicRef, UpgradeKind,
};

use std::collections::BTreeMap;
use std::fmt;

use ballast_wire::{BrokerId, Uuid};

use self::active::Active;
use crate::image::{EPOCH_IS_INDEX, FEATURE_ELR, FeatureRange, Image, Record};
use crate::machine::{Machine, Tick};
use crate::settings::{BrokerSettings, Layers, SettingError, Statics};

/// Names a parked request; chosen by the driver.
pub type RequestId = u64;
/// Names a proposal; rises by one with each.
pub type ProposalId = u64;

/// Sixteen fresh random bytes at each call.
pub type Entropy = Box<dyn FnMut() -> [u8; 16] + Send>;

/// A broker whose node was the active controller, and fell silent. Its own heartbeats went to itself: how long it has been
/// silent, the others know from the quorum alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deposed {
    /// Which.
    pub broker: BrokerId,
    /// When it last gave a sign of life.
    pub heard_at: Tick,
}

/// What the controller is told.
#[derive(Debug)]
pub enum Input {
    /// This node leads the metadata quorum and has applied all that was committed before.
    Lead {
        /// The image as committed.
        image: Image,
        /// The broker whose node led before, if the quorum has not heard of it since.
        deposed: Option<Deposed>,
    },
    /// This node leads no longer.
    StepDown,
    /// Somebody asks.
    Request {
        /// To find the answer by.
        id: RequestId,
        /// What.
        request: Request,
    },
    /// A proposal is committed and applied.
    Committed {
        /// Which.
        proposal: ProposalId,
        /// The index of its entry.
        index: u64,
        /// The image with it.
        image: Image,
    },
    /// A deadline may have passed.
    Timer,
}

/// What the controller asks for.
#[derive(Debug, PartialEq)]
pub enum Effect {
    /// Append an entry with these records to the metadata log. At most one proposal is open; answer it with `Committed`, or
    /// with `StepDown` when it was refused or its fate is unknown.
    Propose {
        /// Which.
        proposal: ProposalId,
        /// Its records.
        records: Vec<Record>,
    },
    /// Give this answer.
    Respond {
        /// To which request.
        to: RequestId,
        /// The answer.
        response: Response,
    },
    /// This is so from now on. Nothing waits for it.
    Happened(Event),
}

/// Features and the levels that a node can work at, by name.
pub type Features = BTreeMap<String, FeatureRange>;

/// What the controller needs to know of the node it runs in.
#[derive(Clone, Debug)]
pub struct Config {
    /// The node's id.
    pub node: BrokerId,
    /// Static settings of the node (server.properties, environment and flags, merged).
    pub statics: Statics,
    /// Feature levels that a new cluster begins with.
    pub bootstrap_features: Vec<(String, i16)>,
    /// Levels that this node can work at.
    pub supported_features: Features,
}

/// Requests that may wait while a controller becomes active.
const QUEUE_MAX: usize = 1_024;

/// The controller of one node: passive, until the node leads the quorum.
pub struct Controller {
    config: Config,
    settings: BrokerSettings,
    entropy: Entropy,
    next_proposal: ProposalId,
    role: Role,
}

enum Role {
    /// Another node decides.
    Passive,
    /// The record that makes it active is on its way; requests wait.
    Activating { proposal: ProposalId, queue: Vec<(RequestId, Request)>, deposed: Option<Deposed> },
    /// It decides.
    Active(Box<Active>),
}

impl Controller {
    /// A controller that is not active.
    ///
    /// # Errors
    /// Static settings that contradict each other.
    pub fn new(config: Config, entropy: Entropy) -> Result<Controller, SettingError> {
        let layers = Layers { broker: None, cluster: None, statics: &config.statics };
        let settings = BrokerSettings::resolve(&layers)?;
        Ok(Controller { config, settings, entropy, next_proposal: 0, role: Role::Passive })
    }

    /// The controller epoch, while it is active.
    #[must_use]
    pub fn epoch(&self) -> Option<u64> {
        match &self.role {
            Role::Active(active) => Some(active.epoch()),
            Role::Passive | Role::Activating { .. } => None,
        }
    }

    fn lead(&mut self, image: &Image, deposed: Option<Deposed>, out: &mut Vec<Effect>) {
        self.step_down(out);
        let proposal = self.next_proposal;
        self.next_proposal += 1;
        out.push(Effect::Propose { proposal, records: self.activation(image) });
        self.role = Role::Activating { proposal, queue: Vec::new(), deposed };
    }

    /// What a controller says first; in a new cluster also what that begins with.
    fn activation(&mut self, image: &Image) -> Vec<Record> {
        let mut records = vec![Record::ControllerActivated { node: self.config.node, epoch: EPOCH_IS_INDEX }];
        if image.cluster_id().is_some() {
            return records;
        }
        records.push(Record::ClusterId { id: Uuid::from_random((self.entropy)()) });
        for (name, level) in &self.config.bootstrap_features {
            records.push(Record::FeatureLevel { name: name.clone(), level: *level });
        }
        if self.config.bootstrap_features.iter().any(|(name, level)| name == FEATURE_ELR && *level > 0) {
            // As `format` does in Kafka: with ELR the minimum is the cluster's, so it must not differ between files.
            records.push(features::min_isr_of_cluster(&self.config.statics));
        }
        records
    }

    fn step_down(&mut self, out: &mut Vec<Effect>) {
        let refused = |(to, why)| Effect::Respond { to, response: Response::Refused(why) };
        match std::mem::replace(&mut self.role, Role::Passive) {
            Role::Passive => {}
            Role::Activating { queue, .. } => {
                out.extend(queue.into_iter().map(|(to, _)| refused((to, Refusal::NotController))));
            }
            Role::Active(active) => out.extend(active.abandon().map(refused)),
        }
    }

    fn request(&mut self, now: Tick, id: RequestId, request: Request, out: &mut Vec<Effect>) {
        match &mut self.role {
            Role::Active(active) => {
                let mut ask = Ask { config: &self.config, settings: &self.settings, entropy: &mut self.entropy };
                active.request(&mut ask, now, id, request, out);
                active.propose(&mut self.next_proposal, out);
            }
            Role::Activating { queue, .. } if queue.len() < QUEUE_MAX => queue.push((id, request)),
            Role::Passive | Role::Activating { .. } => {
                out.push(Effect::Respond { to: id, response: Response::Refused(Refusal::NotController) });
            }
        }
    }

    fn committed(&mut self, now: Tick, committed: ProposalId, index: u64, image: Image, out: &mut Vec<Effect>) {
        match &mut self.role {
            Role::Activating { proposal, queue, deposed } if *proposal == committed => {
                let (queue, deposed) = (std::mem::take(queue), *deposed);
                self.role = Role::Active(Box::new(Active::new(index, image, deposed, &self.settings, now)));
                for (id, request) in queue {
                    self.request(now, id, request, out);
                }
            }
            Role::Active(active) => {
                active.committed(committed, index, image, out);
                active.propose(&mut self.next_proposal, out);
            }
            // What an earlier term of this node proposed.
            Role::Passive | Role::Activating { .. } => {}
        }
    }
}

/// What a decision needs besides the state.
struct Ask<'a> {
    config: &'a Config,
    settings: &'a BrokerSettings,
    entropy: &'a mut Entropy,
}

impl Machine for Controller {
    type Input = Input;
    type Effect = Effect;

    fn step(&mut self, now: Tick, input: Input, out: &mut Vec<Effect>) {
        if let Role::Active(active) = &mut self.role {
            active.awake(now);
        }
        match input {
            Input::Lead { image, deposed } => self.lead(&image, deposed, out),
            Input::StepDown => self.step_down(out),
            Input::Request { id, request } => self.request(now, id, request, out),
            Input::Committed { proposal, index, image } => self.committed(now, proposal, index, image, out),
            Input::Timer => {
                if let Role::Active(active) = &mut self.role {
                    active.timer(&self.config.statics, &self.settings, now);
                    active.propose(&mut self.next_proposal, out);
                }
            }
        }
    }

    fn wake_at(&self) -> Option<Tick> {
        match &self.role {
            Role::Active(active) => Some(active.wake_at()),
            Role::Passive | Role::Activating { .. } => None,
        }
    }

    fn check(&self) {
        match &self.role {
            Role::Active(active) => active.check(),
            Role::Activating { queue, .. } => {
                assert!(queue.len() <= QUEUE_MAX, "{} requests wait for activation, {QUEUE_MAX} may", queue.len());
            }
            Role::Passive => {}
        }
    }
}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller").field("node", &self.config.node).field("epoch", &self.epoch()).finish()
    }
}

#[cfg(test)]
mod tests;
