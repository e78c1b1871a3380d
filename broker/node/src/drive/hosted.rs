//! The partitions that this broker holds, found by topic name or id.

use std::collections::BTreeMap;
use std::sync::Arc;

use ballast_wire::{PartitionIndex, Uuid};
use parking_lot::RwLock;

use super::partition::Partition;

type OfTopic = BTreeMap<PartitionIndex, Arc<Partition>>;

/// The table of open partitions.
#[derive(Default)]
pub(crate) struct Hosted {
    tables: RwLock<Tables>,
}

#[derive(Default)]
struct Tables {
    ids: BTreeMap<Arc<str>, Uuid>,
    topics: BTreeMap<Uuid, OfTopic>,
}

impl Hosted {
    /// A partition by its topic's name.
    pub(crate) fn by_name(&self, topic: &str, index: PartitionIndex) -> Option<Arc<Partition>> {
        let tables = self.tables.read();
        tables.topics.get(tables.ids.get(topic)?)?.get(&index).cloned()
    }

    /// A partition by its topic's id.
    pub(crate) fn by_id(&self, topic: Uuid, index: PartitionIndex) -> Option<Arc<Partition>> {
        self.tables.read().topics.get(&topic)?.get(&index).cloned()
    }

    /// Enters a partition.
    pub(crate) fn insert(&self, partition: Arc<Partition>) {
        let mut tables = self.tables.write();
        tables.ids.insert(Arc::clone(&partition.topic), partition.topic_id);
        tables.topics.entry(partition.topic_id).or_default().insert(partition.index, partition);
    }

    /// Takes a partition out.
    pub(crate) fn remove(&self, topic: Uuid, index: PartitionIndex) -> Option<Arc<Partition>> {
        let mut tables = self.tables.write();
        let of_topic = tables.topics.get_mut(&topic)?;
        let removed = of_topic.remove(&index)?;
        if of_topic.is_empty() {
            tables.topics.remove(&topic);
            // A topic made again under the same name has another id.
            if tables.ids.get(&removed.topic) == Some(&topic) {
                tables.ids.remove(&removed.topic);
            }
        }
        Some(removed)
    }

    /// All of them, by topic id and partition.
    pub(crate) fn all(&self) -> Vec<Arc<Partition>> {
        self.tables.read().topics.values().flat_map(|of_topic| of_topic.values().cloned()).collect()
    }

    /// Those of one topic.
    pub(crate) fn of_topic(&self, topic: Uuid) -> Vec<Arc<Partition>> {
        self.tables.read().topics.get(&topic).map(|of_topic| of_topic.values().cloned().collect()).unwrap_or_default()
    }
}
