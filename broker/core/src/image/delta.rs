//! What one entry changed: the broker reads it to know what to open, close, follow or lead.

use std::collections::BTreeSet;
use std::sync::Arc;

use ballast_wire::{BrokerId, PartitionIndex, Uuid};

use super::{ConfigResource, Topic};

/// What `Image::apply` changed. Ids are looked up in the new image; what is gone comes along as it was.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Delta {
    /// Index of the entry (of the last one, after `merge`).
    pub index: u64,
    /// Topics that are new.
    pub topics_created: BTreeSet<Uuid>,
    /// Topics that are gone, as they were.
    pub topics_deleted: Vec<Arc<Topic>>,
    /// Partitions that are new or differ, those of deleted topics excluded.
    pub partitions_changed: BTreeSet<(Uuid, PartitionIndex)>,
    /// Brokers that registered, left, or were fenced, unfenced or told to stop.
    pub brokers_changed: BTreeSet<BrokerId>,
    /// Resources whose configs differ. A deleted topic's configs are gone without being listed.
    pub configs_changed: BTreeSet<ConfigResource>,
    /// Did a feature level change?
    pub features_changed: bool,
    /// Was a controller activated?
    pub controller_changed: bool,
    /// Was the cluster id minted?
    pub cluster_id_changed: bool,
}

impl Delta {
    /// Nothing changed but the index.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Delta { index: self.index, ..Delta::default() }
    }

    /// Adds what a later entry changed.
    pub fn merge(&mut self, later: Delta) {
        for topic in &later.topics_deleted {
            self.topics_created.remove(&topic.id);
            self.partitions_changed.retain(|(id, _)| *id != topic.id);
        }
        self.index = later.index;
        self.topics_created.extend(later.topics_created);
        self.topics_deleted.extend(later.topics_deleted);
        self.partitions_changed.extend(later.partitions_changed);
        self.brokers_changed.extend(later.brokers_changed);
        self.configs_changed.extend(later.configs_changed);
        self.features_changed |= later.features_changed;
        self.controller_changed |= later.controller_changed;
        self.cluster_id_changed |= later.cluster_id_changed;
    }
}
