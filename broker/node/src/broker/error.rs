//! Why a broker does not start, in one line that says what stands in the way, and where.

use std::io;

use ballast_core::endpoint::SecurityProtocol;
use ballast_core::settings::SettingError;

use crate::drive::store::OpenError;
use crate::quorum::QuorumError;

/// Why a broker did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The settings contradict each other.
    #[error(transparent)]
    Settings(#[from] SettingError),
    /// An address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: String,
        /// What the system says.
        source: io::Error,
    },
    /// A protocol that is not there.
    #[error("listener {listener} asks for {protocol}, and only PLAINTEXT is supported")]
    Protocol {
        /// The listener.
        listener: String,
        /// What it asks for.
        protocol: SecurityProtocol,
    },
    /// A quorum of several needs a listener of its own.
    #[error(
        "controller.quorum.voters names several nodes, and this one has no controller listener: give it --controller HOST:PORT"
    )]
    NoControllerListener,
    /// A log directory cannot be used.
    #[error("{0}")]
    Storage(String),
    /// The metadata cannot be used.
    #[error("{0}")]
    Metadata(#[from] QuorumError),
    /// The controller did not let the broker in.
    #[error("{0}")]
    Membership(String),
}

impl From<OpenError> for StartError {
    fn from(error: OpenError) -> StartError {
        StartError::Storage(error.to_string())
    }
}
