//! The metadata quorum: what the cluster agrees on, kept by openraft in a log of ours.
//!
//! ```text
//!            propose                                   listen
//! controller ───────► Quorum ─► openraft ─┬─► store    machine ─► image, publisher
//!                     (handle)            ├─► machine: image, snapshots
//!                                         └─► network: the other voters
//! ```
//! Holds:
//!   1. What is committed is on disk, synced, on a majority of the voters.
//!   2. A node is its id and its metadata directory, so that one that lost its disk is not taken for its former self.
//!   3. Any error of the metadata directory stops the quorum, and with it the broker, with the cause.
//!
//! Read next: handle (what the broker holds), store (the log), machine (the image), campaign (when a node stands for
//! election), leadership (when it may decide),
//! network, serve and admit (the others), members and first_start (who belongs to it).

mod admit;
mod arrivals;
mod campaign;
#[cfg(test)]
mod cluster_tests;
mod codec;
mod describe;
mod entry;
mod error;
mod first_start;
mod handle;
mod incoming;
mod leadership;
mod machine;
mod members;
mod metadata_log;
mod network;
mod rpc;
mod runtime;
mod sealed;
mod serve;
mod signs;
mod start;
mod store;
#[cfg(test)]
mod tests;
mod types;
mod voters;

/// Target of the events that tell every step, of the metadata log (`votes`, `metadata entry`, `metadata bounds`,
/// `metadata opens`, `isr`, `controls`) and of replicas (`leads`, `proposes`, `high`, `ends`), for whoever watches a
/// whole cluster.
pub(crate) const TOLD: &str = "ballast::replica";

pub use campaign::Timers;
pub use codec::CodecError;
pub use describe::{QuorumView, ReplicaView};
pub use entry::{Entry, Payload};
pub use error::{EntryError, Fault, ProposeError, QuorumError};
pub use handle::{ENTRY_BYTES_MAX, Quorum};
pub use machine::{Builder, Machine, Publication};
pub(crate) use members::keep_membership;
pub use network::Network;
pub(crate) use rpc::VERSION as RPC_VERSION;
pub use runtime::{Rng, Runtime};
pub use sealed::SealError;
pub use start::{LOG_DIR, QuorumConfig};
pub use store::Store;
pub use types::{
    LogId, Membership, NodeId, QuorumNode, SnapshotMeta, StorageError, StoredMembership, TypeConfig, Vote,
};
pub(crate) use voters::VoterError;
