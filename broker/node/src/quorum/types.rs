//! Who takes part in the quorum, and the types that openraft is run with.
//!
//! Holds: a voter is its node id *and* the id of its metadata directory. A node that comes back with an empty directory is
//! somebody else, because it has forgotten what it promised.
//!
//! Read next: `entry` (what is agreed on), `runtime` (what openraft runs on).

use std::fmt;
use std::io::Cursor;

use ballast_wire::{BrokerId, Uuid};
use bytes::Bytes;
use openraft::impls::OneshotResponder;

use super::entry::Entry;
use super::runtime::Runtime;

/// A member of the quorum. The default, node 0 without a directory, stands for nobody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId {
    /// `node.id`.
    pub node: BrokerId,
    /// `directory.id` of its metadata directory.
    pub directory: Uuid,
}

impl From<u64> for NodeId {
    /// A node without a directory: openraft's storage suite counts nodes.
    fn from(node: u64) -> NodeId {
        NodeId { node: BrokerId::try_from(node).unwrap_or(BrokerId::MAX), directory: Uuid::ZERO }
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.node, self.directory)
    }
}

/// What the log knows about a member: where it listens for controllers.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct QuorumNode {
    /// Host name or address of its controller listener; empty while it has none.
    pub host: String,
    /// Port of its controller listener.
    pub port: u16,
}

impl fmt::Display for QuorumNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// The types that openraft is run with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TypeConfig;

impl openraft::RaftTypeConfig for TypeConfig {
    /// The records of one entry, as `ballast_core::image::encode_records` gives them.
    type D = Bytes;
    type R = ();
    type NodeId = NodeId;
    type Node = QuorumNode;
    type Entry = Entry;
    /// An image, as `ballast_core::image::encode_snapshot` gives it.
    type SnapshotData = Cursor<Vec<u8>>;
    type AsyncRuntime = Runtime;
    type Responder = OneshotResponder<TypeConfig>;
}

/// Position of an entry: the leader that proposed it, and its index.
pub type LogId = openraft::LogId<NodeId>;
/// Whom a node follows.
pub type Vote = openraft::Vote<NodeId>;
/// Who votes and who listens.
pub type Membership = openraft::Membership<NodeId, QuorumNode>;
/// A membership, and the entry that it stands in.
pub type StoredMembership = openraft::StoredMembership<NodeId, QuorumNode>;
/// What a snapshot covers.
pub type SnapshotMeta = openraft::SnapshotMeta<NodeId, QuorumNode>;
/// An error of the storage, in openraft's words. It stops the quorum.
pub type StorageError = openraft::StorageError<NodeId>;
/// What openraft tells about itself.
pub(crate) type Metrics = openraft::RaftMetrics<NodeId, QuorumNode>;

/// Index after that of `last`; 0 when there is none.
pub(crate) fn next_index(last: Option<&LogId>) -> u64 {
    last.map_or(0, |last| last.index + 1)
}
