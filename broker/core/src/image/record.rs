//! The records of the metadata log: everything that can be said about a cluster.
//!
//! ```text
//! entry   := format u8 (1) | record*
//! record  := type u16 | version u16 | length u32 | payload of `length` bytes         big endian throughout
//! string  := length u32 | UTF-8                  nullable: one byte 0 or 1 before it
//! list    := count u32 | elements                uuid := 16 bytes
//! ```
//! Holds: a type number is never reused, and a version only ever changes the payload of its own type. A reader that meets
//! an unknown type or a newer version stops with an error that says so: metadata is never skipped.
//!
//! Read next: encode.rs and decode.rs (the bytes), apply.rs (what each does to an image).

use ballast_wire::{BrokerId, PartitionIndex, ProducerId, Uuid};

use super::{Broker, ConfigResource, Partition};

/// First byte of every entry and every snapshot.
pub const FORMAT_VERSION: u8 = 1;

/// An epoch that is not known before the entry has its place in the log: it becomes the index of the entry.
pub const EPOCH_IS_INDEX: i64 = -1;

/// A broker as it registers. `epoch` is [`EPOCH_IS_INDEX`] for a new incarnation.
pub type Registration = Broker;

/// One fact. Its number and its payload stand beside it in encode.rs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// The cluster has this id from now on.
    ClusterId {
        /// Random, minted once.
        id: Uuid,
    },
    /// A controller begins to decide.
    ControllerActivated {
        /// Its node id.
        node: BrokerId,
        /// Its epoch, or [`EPOCH_IS_INDEX`].
        epoch: i64,
    },
    /// A feature is finalized at a level; 0 switches it off.
    FeatureLevel {
        /// Name, such as `metadata.version`.
        name: String,
        /// Level.
        level: i16,
    },
    /// A broker registers, or the same incarnation changes what it said. Replaces what was known of it.
    RegisterBroker(Box<Registration>),
    /// A broker is shut out.
    FenceBroker {
        /// Which.
        id: BrokerId,
    },
    /// A broker may take part.
    UnfenceBroker {
        /// Which.
        id: BrokerId,
    },
    /// A broker is leaving in an orderly way.
    ShutdownBroker {
        /// Which.
        id: BrokerId,
    },
    /// A broker is forgotten.
    UnregisterBroker {
        /// Which.
        id: BrokerId,
    },
    /// A topic exists.
    Topic {
        /// Its name.
        name: String,
        /// Its id.
        id: Uuid,
    },
    /// A topic, its partitions and its configs are gone.
    RemoveTopic {
        /// Its id.
        id: Uuid,
    },
    /// A partition is exactly this.
    Partition {
        /// Its topic's id.
        topic: Uuid,
        /// Its number.
        index: PartitionIndex,
        /// All of it.
        state: Box<Partition>,
    },
    /// A config is set, or removed.
    Config {
        /// Of what.
        resource: ConfigResource,
        /// Its key.
        key: String,
        /// Its value; `None` removes it.
        value: Option<String>,
    },
    /// Producer ids below `next` are given out.
    ProducerIdBlock {
        /// First free producer id.
        next: ProducerId,
        /// Who got the block.
        broker: BrokerId,
        /// That broker's epoch.
        broker_epoch: i64,
    },
}
