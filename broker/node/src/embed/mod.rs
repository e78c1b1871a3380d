//! A broker inside a test: started in milliseconds, told to misbehave, gone without a trace.
//!
//! ```
//! use ballast_broker::embed::{Api, Broker, ErrorCode, Fault};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let broker = Broker::builder().topic("orders", 3).start_blocking()?;
//! println!("point clients at {}", broker.bootstrap());
//! broker.fault(Fault::fail_next(Api::PRODUCE, ErrorCode::NOT_LEADER_OR_FOLLOWER, 1))?;
//! broker.record();
//! // … the code under test …
//! for request in broker.requests() {
//!     println!("{} v{} about {:?}", request.api, request.version, request.topics);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A broker runs on a runtime of its own, on threads of its own, whatever the test runs on. Faults, limits and metrics are
//! each broker's own; maps and descriptors are the process's. Environment variables are never read.
//!
//! Holds: when a [`Broker`] has been dropped, no thread, task, port, descriptor, map or temporary folder of it is left.
//!
//! Read next: `builder` (what can be chosen), `broker` (what can be done), `cluster` (several), `life` (threads, start and
//! end), `faults`.

mod ask;
mod broker;
mod builder;
mod cluster;
mod disk;
pub(crate) mod faults;
mod gate;
pub(crate) mod harness;
mod http;
mod intercept;
mod life;
mod ports;
pub(crate) mod shapes;
mod wait;

use std::io;

pub use ballast_wire::ErrorCode;
/// The APIs, by Kafka's names: `Api::PRODUCE`, `Api::FETCH`, …
pub use ballast_wire::frame::ApiKey as Api;

pub use self::broker::Broker;
pub use self::builder::Builder;
pub use self::cluster::{Cluster, ClusterBuilder};
pub use self::faults::{Fault, FaultError, FaultId, Faults, Planted, Recorded};
pub use self::harness::Harness;

/// Why an embedded broker is not there.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A setting, or several.
    #[error("{0}")]
    Settings(String),
    /// No folder for the data.
    #[error("cannot make a folder in {}: {source}", parent.display())]
    Folder {
        /// Where.
        parent: std::path::PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A port cannot be had.
    #[error("cannot listen on {address}: {source}")]
    Port {
        /// `HOST:PORT`.
        address: String,
        /// What the system says.
        source: io::Error,
    },
    /// No thread, or no runtime on it.
    #[error("cannot start the broker's threads: {0}")]
    Threads(io::Error),
    /// The broker itself.
    #[error(transparent)]
    Start(#[from] crate::StartError),
    /// A topic that it should begin with.
    #[error("topic {name}: {why}")]
    Topic {
        /// Its name.
        name: String,
        /// What the controller says.
        why: String,
    },
    /// A broker of a cluster serves, and does not come to know the others.
    #[error("the broker at {broker} does not come to know the others of its cluster")]
    Unmet {
        /// `HOST:PORT`.
        broker: String,
    },
    /// It ended while it started.
    #[error("the broker was ended while it started")]
    Ended,
}
