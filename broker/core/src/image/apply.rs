//! Records to image. Applying cannot fail: a record that no longer finds its subject changes nothing.
//!
//! The controller writes only records that fit (machine checks see to it), so the tolerance here is never used by it; it
//! is here because every node must come to the same image, and none may stop half way.

use std::collections::BTreeMap;
use std::sync::Arc;

use ballast_wire::{BrokerId, PartitionIndex, Uuid};

use super::record::{EPOCH_IS_INDEX, Record};
use super::{ActiveController, Broker, ConfigResource, Delta, Image, Map, Partition, Topic};

impl Image {
    /// Applies the entry at `index`. Says what changed.
    pub fn apply(&mut self, index: u64, records: &[Record]) -> Delta {
        let mut delta = Delta { index, ..Delta::default() };
        self.index = self.index.max(index);
        for record in records {
            self.apply_one(index_as_epoch(index), record, &mut delta);
        }
        delta
    }

    /// Applies records that are not in the log yet: epochs that will be the entry's index stay [`EPOCH_IS_INDEX`], which
    /// is no epoch that anybody could know.
    pub(crate) fn apply_ahead(&mut self, records: &[Record]) {
        let mut delta = Delta::default();
        for record in records {
            self.apply_one(EPOCH_IS_INDEX, record, &mut delta);
        }
    }

    fn apply_one(&mut self, entry: i64, record: &Record, delta: &mut Delta) {
        match record {
            Record::ClusterId { id } => {
                self.cluster_id = Some(*id);
                delta.cluster_id_changed = true;
            }
            Record::ControllerActivated { node, epoch } => {
                let epoch = u64::try_from(resolve(*epoch, entry)).unwrap_or(0);
                self.controller = Some(ActiveController { node: *node, epoch });
                delta.controller_changed = true;
            }
            Record::FeatureLevel { name, level } => {
                self.features.insert_mut(Arc::from(name.as_str()), *level);
                delta.features_changed = true;
            }
            Record::RegisterBroker(registration) => {
                let mut broker = (**registration).clone();
                broker.epoch = resolve(broker.epoch, entry);
                delta.brokers_changed.insert(broker.id);
                self.brokers.insert_mut(broker.id, Arc::new(broker));
            }
            Record::FenceBroker { id } => self.change_broker(*id, delta, |broker| broker.fenced = true),
            Record::UnfenceBroker { id } => self.change_broker(*id, delta, |broker| {
                broker.fenced = false;
                broker.in_controlled_shutdown = false;
            }),
            Record::ShutdownBroker { id } => {
                self.change_broker(*id, delta, |broker| broker.in_controlled_shutdown = true);
            }
            Record::UnregisterBroker { id } => {
                if self.brokers.remove_mut(id) {
                    delta.brokers_changed.insert(*id);
                }
            }
            Record::Topic { name, id } => self.create_topic(name, *id, delta),
            Record::RemoveTopic { id } => self.remove_topic(*id, delta),
            Record::Partition { topic, index, state } => self.set_partition(*topic, *index, state, delta),
            Record::Config { resource, key, value } => self.set_config(resource, key, value.as_deref(), delta),
            Record::ProducerIdBlock { next, .. } => self.next_producer_id = self.next_producer_id.max(*next),
        }
    }

    fn change_broker(&mut self, id: BrokerId, delta: &mut Delta, change: impl FnOnce(&mut Broker)) {
        let Some(broker) = self.brokers.get(&id) else { return };
        let mut broker = (**broker).clone();
        change(&mut broker);
        self.brokers.insert_mut(id, Arc::new(broker));
        delta.brokers_changed.insert(id);
    }

    fn create_topic(&mut self, name: &str, id: Uuid, delta: &mut Delta) {
        if self.topics.contains_key(&id) || self.names.contains_key(name) {
            return;
        }
        let name: Arc<str> = Arc::from(name);
        self.names.insert_mut(Arc::clone(&name), id);
        self.topics.insert_mut(id, Arc::new(Topic { name, id, partitions: Map::new_sync() }));
        delta.topics_created.insert(id);
    }

    fn remove_topic(&mut self, id: Uuid, delta: &mut Delta) {
        let Some(topic) = self.topics.get(&id).cloned() else { return };
        self.topics.remove_mut(&id);
        self.names.remove_mut(&topic.name);
        let resource = ConfigResource::topic(&topic.name);
        self.configs.remove_mut(&resource);
        delta.configs_changed.remove(&resource);
        delta.partitions_changed.retain(|(changed, _)| *changed != id);
        // A topic that came and went within one entry was never seen by anybody.
        if !delta.topics_created.remove(&id) {
            delta.topics_deleted.push(topic);
        }
    }

    fn set_partition(&mut self, topic: Uuid, index: PartitionIndex, state: &Partition, delta: &mut Delta) {
        let Some(old) = self.topics.get(&topic) else { return };
        let mut new = (**old).clone();
        new.partitions.insert_mut(index, Arc::new(state.clone()));
        self.topics.insert_mut(topic, Arc::new(new));
        delta.partitions_changed.insert((topic, index));
    }

    fn set_config(&mut self, resource: &ConfigResource, key: &str, value: Option<&str>, delta: &mut Delta) {
        let mut configs = self.configs.get(resource).map_or_else(BTreeMap::new, |configs| (**configs).clone());
        let changed = match value {
            Some(value) => configs.insert(key.to_owned(), value.to_owned()).as_deref() != Some(value),
            None => configs.remove(key).is_some(),
        };
        if !changed {
            return;
        }
        if configs.is_empty() {
            self.configs.remove_mut(resource);
        } else {
            self.configs.insert_mut(resource.clone(), Arc::new(configs));
        }
        delta.configs_changed.insert(resource.clone());
    }
}

fn resolve(epoch: i64, entry: i64) -> i64 {
    if epoch == EPOCH_IS_INDEX { entry } else { epoch }
}

fn index_as_epoch(index: u64) -> i64 {
    i64::try_from(index).expect("a metadata log has fewer than 2^63 entries")
}
