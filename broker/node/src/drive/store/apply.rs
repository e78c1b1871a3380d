//! Takes in what the metadata says: partitions are made, opened, led, resigned from and deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ballast_core::image::{ConfigResource, Delta, Image, ResourceKind, Topic};
use ballast_core::replica::follower::FollowerConfig;
use ballast_core::replica::{Input, LeaderConfig, LeaderState};
use ballast_core::settings::TopicSettings;
use ballast_log::dirs::{CheckpointKind, DirState, PartitionDir};
use ballast_log::{DiskError, LogError};
use ballast_wire::{BrokerId, NO_LEADER, PartitionIndex, Uuid};

use super::{Broken, Store, dir};
use crate::drive::named::Named;
use crate::drive::partition::{LeaderHint, Partition};

impl Store {
    /// Carries out a delta. Blocks.
    pub(crate) fn apply(&self, image: &Arc<Image>, delta: &Delta) {
        *self.image.lock() = Arc::clone(image);
        self.delete_topics(&delta.topics_deleted);
        let mut changed = delta.partitions_changed.clone();
        if delta.brokers_changed.contains(&self.config.me) {
            // Whether this life of the broker may lead anything depends on its registration.
            changed.extend(self.hosted.all().iter().map(|partition| (partition.topic_id, partition.index)));
        }
        let configs = self.topics_with_new_configs(image, &delta.configs_changed);
        self.apply_partitions(image, &changed);
        for topic in configs {
            self.apply_configs(image, &topic);
        }
        if !delta.brokers_changed.is_empty() {
            self.tell_eligible(image);
        }
    }

    /// Takes in a whole image at start-up.
    pub(crate) fn apply_all(&self, image: &Arc<Image>) {
        *self.image.lock() = Arc::clone(image);
        let mut all = self.missing(image);
        all.extend(self.hosted.all().iter().map(|partition| (partition.topic_id, partition.index)));
        self.apply_partitions(image, &all);
        self.tell_eligible(image);
    }

    /// The image that partitions are opened with.
    pub(crate) fn set_image(&self, image: &Arc<Image>) {
        *self.image.lock() = Arc::clone(image);
    }

    pub(super) fn apply_partitions(&self, image: &Image, partitions: &BTreeSet<(Uuid, PartitionIndex)>) {
        let mut unmade = Named::default();
        for (topic, index) in partitions {
            self.apply_partition(image, *topic, *index, &mut unmade);
        }
        if !unmade.is_empty() {
            tracing::error!(partitions = unmade.count(), named = %unmade, "partitions cannot be made; trying again");
        }
    }

    fn apply_partition(&self, image: &Image, topic: Uuid, index: PartitionIndex, unmade: &mut Named) {
        let Some(topic) = image.topic_by_id(topic) else { return };
        let Some(state) = topic.partition(index) else { return };
        let hosted = self.hosted.by_id(topic.id, index);
        if !state.replicas.contains(&self.config.me) {
            if let Some(partition) = hosted {
                self.delete_partition(&partition, self.topic_settings(image, &topic.name).file_delete_delay_ms);
                self.sync_names(partition.directory());
            }
            return;
        }
        let is_unmade = self.broken.lock().get(&(topic.id, index)) == Some(&Broken::Unmade);
        if hosted.is_none() && !is_unmade && self.is_out_of_reach(state) {
            tracing::debug!(topic = %topic.name, partition = index, "its log is in a directory that is offline");
            self.config.placements.tell(topic.id, index);
            return;
        }
        let found = hosted.or_else(|| self.open_again(topic, index)).or_else(|| self.make(topic, index, unmade));
        let Some(partition) = found else { return };
        let settings = self.topic_settings(image, &topic.name);
        let registered = image.broker(self.config.me).is_some_and(|me| me.incarnation == self.config.incarnation);
        if state.leader == self.config.me && registered {
            let leader_state = LeaderState {
                leader_epoch: state.leader_epoch,
                partition_epoch: state.partition_epoch,
                replicas: state.replicas.clone(),
                isr: state.isr.clone(),
            };
            let (config, now) = (self.leader_config(&settings), self.config.ticks.now());
            partition.stop_following();
            if partition.owes_checkpoint() {
                self.save_recovery(partition.directory());
            }
            if let Err(error) = partition.lead(self.config.me, leader_state, config, now) {
                tracing::error!(topic = %topic.name, partition = index, %error, "cannot lead a partition");
            }
            // A machine that is new knows nobody who could join.
            partition.step(now, Input::Eligible(eligible(image)));
        } else if registered {
            let hint = LeaderHint { leader: state.leader, leader_epoch: state.leader_epoch };
            partition.follow(hint, self.follower_config(&settings), self.config.ticks.now());
        } else {
            partition.resign(LeaderHint { leader: NO_LEADER, leader_epoch: state.leader_epoch });
        }
    }

    /// Opens a partition whose log could not be opened before, where it is.
    fn open_again(&self, topic: &Arc<Topic>, index: PartitionIndex) -> Option<Arc<Partition>> {
        let key = (topic.id, index);
        let Some(Broken::Unopened(dir)) = self.broken.lock().get(&key).copied() else { return None };
        let dir = self.dir(dir).filter(|dir| !dir.is_offline())?;
        match self.create_partition(dir, topic, index) {
            Ok(()) => self.made(key),
            Err(error) => {
                tracing::debug!(topic = %topic.name, partition = index, %error, "a partition still cannot be opened");
                None
            }
        }
    }

    /// Makes a partition that is new here; what stands in the way is remembered and tried again, and told the first time.
    fn make(&self, topic: &Arc<Topic>, index: PartitionIndex, unmade: &mut Named) -> Option<Arc<Partition>> {
        let key = (topic.id, index);
        if self.broken.lock().get(&key).is_some_and(|broken| *broken != Broken::Unmade) {
            return None;
        }
        loop {
            let dir = self.preferred_dir(&topic.name, index).or_else(|| self.least_used_dir())?;
            match self.create_partition(&dir, topic, index) {
                Ok(()) => return self.made(key),
                // Nothing was lost with it, but nothing can be made there: in another one, if there is one.
                Err(LogError::Disk(error)) if !error.is_passing() && self.online_dirs().count() > 1 => {
                    self.dir_failed(&dir, &error.to_string());
                }
                Err(error) => {
                    tracing::debug!(topic = %topic.name, partition = index, %error, "a partition cannot be made");
                    if self.broken.lock().insert(key, Broken::Unmade).is_none() {
                        unmade.push(|| format!("{}-{index} ({error})", topic.name));
                    }
                    return None;
                }
            }
        }
    }

    fn made(&self, key: (Uuid, PartitionIndex)) -> Option<Arc<Partition>> {
        self.broken.lock().remove(&key);
        self.hosted.by_id(key.0, key.1)
    }

    fn leader_config(&self, settings: &TopicSettings) -> LeaderConfig {
        LeaderConfig {
            min_isr: usize::try_from(settings.min_insync_replicas).unwrap_or(1).max(1),
            durable: settings.flush_messages == 1 && self.config.disk.is_durable(),
            lag_max_ms: self.config.settings.now().replication.lag_time_max_ms,
        }
    }

    fn follower_config(&self, settings: &TopicSettings) -> FollowerConfig {
        FollowerConfig {
            durable: settings.flush_messages == 1 && self.config.disk.is_durable(),
            backoff_ms: self.config.settings.now().replication.fetch_backoff_ms,
        }
    }

    /// However many topics go, each directory is synced once.
    fn delete_topics(&self, topics: &[Arc<Topic>]) {
        let mut dirs = BTreeSet::new();
        for topic in topics {
            self.broken.lock().retain(|(id, _), _| *id != topic.id);
            for partition in self.hosted.of_topic(topic.id) {
                self.delete_partition(&partition, partition.log.config().file_delete_delay_ms);
                dirs.insert(partition.directory());
            }
        }
        for dir in dirs {
            self.sync_names(dir);
            // A topic made again under the name must not find the offsets of this one.
            self.save_recovery(dir);
        }
    }

    /// Takes a partition out of service; its folder is renamed now and unlinked later. The caller calls `sync_names`.
    fn delete_partition(&self, partition: &Arc<Partition>, delay_ms: i64) {
        self.hosted.remove(partition.topic_id, partition.index);
        self.cancel_move_of(partition);
        if let Some(dir) = self.dir(partition.directory()) {
            dir.partitions.fetch_sub(1, Ordering::Relaxed);
        }
        partition.take_offline();
        partition.resign(LeaderHint { leader: NO_LEADER, ..partition.hint() });
        let plain = PartitionDir::new(&partition.topic, partition.index);
        let folder = partition.log.dir();
        let doomed = folder.with_file_name(plain.with(DirState::Delete(self.random_id())).to_string());
        // Nothing of it needs to reach the disk any more.
        match partition.log.doom(&doomed) {
            Ok(()) => self.doomed.lock().push((self.now_ms().saturating_add(delay_ms), doomed)),
            Err(error) => {
                tracing::error!(folder = %folder.display(), %error, "a deleted partition cannot be renamed");
            }
        }
    }

    /// Makes the names of folders in a directory survive a crash. One sync for all that were renamed. False if it failed,
    /// which has been told.
    pub(super) fn sync_names(&self, directory: Uuid) -> bool {
        let Some(dir) = self.dir(directory) else { return true };
        let synced = self.config.disk.sync_dir(&dir.path);
        let failed = |error| DiskError { doing: "cannot sync", path: dir.path.clone(), source: Arc::new(error) };
        self.is_kept(dir, synced.map_err(|error| failed(error).into()))
    }

    fn topics_with_new_configs(&self, image: &Image, changed: &BTreeSet<ConfigResource>) -> BTreeSet<Arc<str>> {
        let of_brokers = changed.iter().any(|resource| resource.kind == ResourceKind::Broker);
        if of_brokers {
            return image.topics().map(|topic| Arc::clone(&topic.name)).collect();
        }
        let of_topics = changed.iter().filter(|resource| resource.kind == ResourceKind::Topic);
        of_topics.map(|resource| resource.name.as_str().into()).collect()
    }

    fn apply_configs(&self, image: &Image, topic: &str) {
        let Some(id) = image.topic(topic).map(|topic| topic.id) else { return };
        let settings = self.topic_settings(image, topic);
        let config = self.log_config(&settings);
        for partition in self.hosted.of_topic(id) {
            partition.log.update_config(Arc::clone(&config));
            let now = self.config.ticks.now();
            partition.step(now, Input::Configured(self.leader_config(&settings)));
            partition.configure_follower(self.follower_config(&settings), now);
            partition.wake();
        }
    }

    fn tell_eligible(&self, image: &Image) {
        let eligible = eligible(image);
        for partition in self.hosted.all() {
            partition.step(self.config.ticks.now(), Input::Eligible(eligible.clone()));
            partition.wake();
        }
    }

    /// Writes recovery points and log starts of one directory. False if that failed, which has been told.
    pub(super) fn save_recovery(&self, directory: Uuid) -> bool {
        let Some(dir) = self.dir(directory) else { return true };
        let all = self.hosted.all();
        all.iter().filter(|partition| partition.directory() == directory).for_each(|p| p.checkpoint_begins());
        let saved = dir
            .write_offsets(CheckpointKind::RecoveryPoint, &all, |partition| Some(partition.log.recovery_point()))
            .and_then(|()| dir.write_offsets(CheckpointKind::LogStart, &all, dir::log_start));
        self.is_kept(dir, saved)
    }
}

/// Who could join an ISR, with their broker epochs.
fn eligible(image: &Image) -> BTreeMap<BrokerId, i64> {
    image.brokers().filter(|broker| broker.is_active()).map(|broker| (broker.id, broker.epoch)).collect()
}
