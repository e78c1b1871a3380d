//! The metadata image: what the metadata log says, applied up to one index.
//!
//! ```text
//! metadata log   [entry 1][entry 2] … [entry n]      one entry = one blob of records (record.rs, encode.rs)
//!                                        |
//!                        Image::apply(n, records) -> Delta      never fails
//! ```
//! Holds after every call:
//!   1. The same entries give the same image, on every node.
//!   2. Cloning is cheap: the parts are persistent maps of `Arc`s, so a clone is a few reference counts and later changes
//!      share what they leave alone.
//!   3. Every topic is found by its name and by its id, and every partition's lists are as its record gave them.
//!
//! Read next: record.rs (what can be said), apply.rs (what it does), snapshot.rs (a whole image as records).

mod apply;
mod broker;
mod bytes;
mod config;
mod decode;
mod delta;
mod encode;
mod record;
mod snapshot;
mod topic;

use std::collections::BTreeMap;
use std::sync::Arc;

use ballast_wire::{BrokerId, PartitionIndex, ProducerId, Uuid};
use rpds::RedBlackTreeMapSync;

pub use broker::{Broker, FeatureRange};
pub use config::{ConfigResource, ResourceKind};
pub use decode::{DecodeError, decode_records};
pub use delta::Delta;
pub use encode::encode_records;
pub use record::{EPOCH_IS_INDEX, FORMAT_VERSION, Record, Registration};
pub use snapshot::{decode_snapshot, encode_snapshot};
pub use topic::{Directories, Partition, Recovery, Topic};

/// A persistent map: clones share everything, a change copies one path.
type Map<K, V> = RedBlackTreeMapSync<K, V>;

/// Feature that turns eligible leader replicas (KIP-966) on at level 1.
pub const FEATURE_ELR: &str = "eligible.leader.replicas.version";
/// Feature that names the level of the metadata as a whole.
pub const FEATURE_METADATA: &str = "metadata.version";

/// The active controller, as the log tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActiveController {
    /// Its node id.
    pub node: BrokerId,
    /// Index of the entry that activated it.
    pub epoch: u64,
}

/// Everything the metadata log has said up to `index()`. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Image {
    index: u64,
    cluster_id: Option<Uuid>,
    controller: Option<ActiveController>,
    features: Map<Arc<str>, i16>,
    brokers: Map<BrokerId, Arc<Broker>>,
    topics: Map<Uuid, Arc<Topic>>,
    names: Map<Arc<str>, Uuid>,
    configs: Map<ConfigResource, Arc<BTreeMap<String, String>>>,
    next_producer_id: ProducerId,
}

impl Default for Image {
    fn default() -> Image {
        Image {
            index: 0,
            cluster_id: None,
            controller: None,
            features: Map::new_sync(),
            brokers: Map::new_sync(),
            topics: Map::new_sync(),
            names: Map::new_sync(),
            configs: Map::new_sync(),
            next_producer_id: 0,
        }
    }
}

impl Image {
    /// Index of the last entry applied; 0 before the first.
    #[must_use]
    pub fn index(&self) -> u64 {
        self.index
    }

    /// The cluster's id, once it is minted.
    #[must_use]
    pub fn cluster_id(&self) -> Option<Uuid> {
        self.cluster_id
    }

    /// The controller that was activated last.
    #[must_use]
    pub fn controller(&self) -> Option<ActiveController> {
        self.controller
    }

    /// Finalized level of feature `name`; 0 if it was never set.
    #[must_use]
    pub fn feature(&self, name: &str) -> i16 {
        self.features.get(name).copied().unwrap_or(0)
    }

    /// All finalized features, by name.
    pub fn features(&self) -> impl Iterator<Item = (&str, i16)> {
        self.features.iter().map(|(name, level)| (&**name, *level))
    }

    /// Are eligible leader replicas in force?
    #[must_use]
    pub fn elr_enabled(&self) -> bool {
        self.feature(FEATURE_ELR) >= 1
    }

    /// The broker `id`, fenced or not.
    #[must_use]
    pub fn broker(&self, id: BrokerId) -> Option<&Arc<Broker>> {
        self.brokers.get(&id)
    }

    /// All registered brokers, by id.
    pub fn brokers(&self) -> impl Iterator<Item = &Arc<Broker>> {
        self.brokers.values()
    }

    /// The topic called `name`.
    #[must_use]
    pub fn topic(&self, name: &str) -> Option<&Arc<Topic>> {
        self.topics.get(self.names.get(name)?)
    }

    /// The topic with id `id`.
    #[must_use]
    pub fn topic_by_id(&self, id: Uuid) -> Option<&Arc<Topic>> {
        self.topics.get(&id)
    }

    /// All topics, by name.
    pub fn topics(&self) -> impl Iterator<Item = &Arc<Topic>> {
        self.names.values().filter_map(|id| self.topics.get(id))
    }

    /// Number of topics.
    #[must_use]
    pub fn topic_count(&self) -> usize {
        self.topics.size()
    }

    /// One partition of the topic with id `topic`.
    #[must_use]
    pub fn partition(&self, topic: Uuid, index: PartitionIndex) -> Option<&Arc<Partition>> {
        self.topics.get(&topic)?.partition(index)
    }

    /// The dynamic configs of one resource, by key; `None` if it has none.
    #[must_use]
    pub fn configs(&self, resource: &ConfigResource) -> Option<&Arc<BTreeMap<String, String>>> {
        self.configs.get(resource)
    }

    /// Every resource that has dynamic configs.
    pub fn all_configs(&self) -> impl Iterator<Item = (&ConfigResource, &Arc<BTreeMap<String, String>>)> {
        self.configs.iter()
    }

    /// The first producer id that no block covers yet.
    #[must_use]
    pub fn next_producer_id(&self) -> ProducerId {
        self.next_producer_id
    }

    /// Panics if the image contradicts itself: for tests and simulation.
    pub fn check(&self) {
        assert_eq!(
            self.names.size(),
            self.topics.size(),
            "{} topic names for {} topic ids",
            self.names.size(),
            self.topics.size()
        );
        for (name, id) in &self.names {
            let topic = self.topics.get(id).unwrap_or_else(|| panic!("topic {name} names {id}, which no topic has"));
            assert_eq!(
                *name, topic.name,
                "topic {id} is called {} in the table of names and {} itself",
                name, topic.name
            );
            for (index, partition) in topic.partitions() {
                partition.check(name, index);
            }
        }
    }
}

#[cfg(test)]
mod tests;
