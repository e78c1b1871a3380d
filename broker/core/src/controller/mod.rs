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
//!      `NotController` and drops the uncommitted records.
//!   4. Signs of life stay in memory: no record is written for a heartbeat that changes nothing.
//!
//! Read next: request.rs (what can be asked), turn.rs (proposals and parked answers), then one file per subject.

mod error;
mod request;

pub use error::{AlterPartitionError, BrokerError, ConfigError, ElectionError, Refusal, TopicError};
pub use request::{
    AlterPartition, AlteredPartition, BrokerHeartbeat, ConfigChange, ConfigEntry, ConfigOp, CreatedTopic, DeletedTopic,
    HeartbeatReply, IsrChange, MorePartitions, NewTopic, PartitionState, ProducerIds, RegisterBroker, Request,
    Response, TopicRef,
};

use ballast_wire::BrokerId;

use crate::image::{Image, Record};

/// Names a parked request; chosen by the driver.
pub type RequestId = u64;
/// Names a proposal; rises by one with each.
pub type ProposalId = u64;

/// Sixteen fresh random bytes at each call.
pub type Entropy = Box<dyn FnMut() -> [u8; 16] + Send>;

/// What the controller is told.
#[derive(Debug)]
pub enum Input {
    /// This node leads the metadata quorum and has applied all that was committed before.
    Lead {
        /// The image as committed.
        image: Image,
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
}

/// What the controller needs to know of the node it runs in.
#[derive(Clone, Debug)]
pub struct Config {
    /// The node's id.
    pub node: BrokerId,
    /// Static settings of the node (server.properties, environment and flags, merged).
    pub statics: crate::settings::Statics,
    /// Feature levels that a new cluster begins with.
    pub bootstrap_features: Vec<(String, i16)>,
}
