//! Coordinates groups: for every partition of `__consumer_offsets` that this broker leads, a shard and the task behind it.
//!
//! ```text
//! metadata -> apply : lead -> load (14) -> serve            resign -> refuse what waits (16)
//! handler  -> of(group) -> Coordinator::ask / read          a failed append -> refuse (16 or 15), load again
//! ```
//! Holds:
//!   1. A coordinator answers only for the leader epoch that it loaded under; a new epoch loads anew.
//!   2. Coordinators share nothing: a slow partition stalls its own groups and no other's.
//!   3. After `close` nobody coordinates and no task is left.
//!
//! Nothing here knows whether leadership came by a start, an election or a move.
//!
//! Read next: `shard` (one coordinator), `load` (from the log to a shard), `append` (from a shard to the log), `topic`
//! (how the topic comes to be).

mod append;
mod load;
mod shard;
mod state;
mod topic;

use std::collections::BTreeMap;
use std::sync::Arc;

use ballast_core::group::{Event, GroupConfig};
use ballast_core::image::{Delta, Image};
use ballast_core::settings::GroupSettings;
use ballast_net::Clock;
use ballast_wire::{LeaderEpoch, PartitionIndex, Uuid};
use parking_lot::RwLock;
use tokio::task::AbortHandle;

pub(crate) use self::shard::Coordinator;
pub(crate) use self::state::Unavailable;
pub(crate) use self::topic::{OFFSETS_TOPIC, OffsetsTopic, partition_of};
use super::partition::Partition;
use super::settings::LiveSettings;
use super::store::Store;
use super::ticks::Ticks;

/// What coordinators need of their surroundings.
pub(crate) struct Surroundings {
    pub(crate) store: Arc<Store>,
    pub(crate) settings: Arc<LiveSettings>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ticks: Ticks,
}

/// A coordinator at work.
struct Led {
    epoch: LeaderEpoch,
    coordinator: Arc<Coordinator>,
    task: AbortHandle,
}

impl Led {
    fn end(self) {
        self.task.abort();
        self.coordinator.end(Unavailable::NotCoordinator);
    }
}

#[derive(Default)]
struct Table {
    /// Id and partition count of `__consumer_offsets`, while there is one.
    topic: Option<(Uuid, usize)>,
    led: BTreeMap<PartitionIndex, Led>,
    closed: bool,
}

/// The coordinators of this broker.
pub(crate) struct Coordinators {
    around: Arc<Surroundings>,
    table: RwLock<Table>,
    pub(crate) offsets_topic: OffsetsTopic,
}

impl Coordinators {
    /// Nobody is coordinated yet.
    pub(crate) fn new(around: Surroundings) -> Coordinators {
        Coordinators { around: Arc::new(around), table: RwLock::default(), offsets_topic: OffsetsTopic::default() }
    }

    /// Who coordinates a group here.
    ///
    /// # Errors
    /// `NotCoordinator` if somebody else does, or nobody.
    pub(crate) fn of(&self, group: &str) -> Result<Arc<Coordinator>, Unavailable> {
        let table = self.table.read();
        let (_, count) = table.topic.ok_or(Unavailable::NotCoordinator)?;
        let index = partition_of(group, count);
        table.led.get(&index).map(|led| Arc::clone(&led.coordinator)).ok_or(Unavailable::NotCoordinator)
    }

    /// All coordinators, by partition.
    pub(crate) fn all(&self) -> Vec<Arc<Coordinator>> {
        self.table.read().led.values().map(|led| Arc::clone(&led.coordinator)).collect()
    }

    /// Takes in what the metadata says, after the store has: the partitions that it gives to this broker are led.
    pub(crate) fn apply(&self, image: &Image, delta: &Delta) {
        self.lead(image);
        let all = self.all();
        for topic in &delta.topics_deleted {
            for coordinator in &all {
                coordinator.tell(Event::TopicDeleted { name: Arc::clone(&topic.name), id: topic.id });
            }
        }
        if !delta.configs_changed.is_empty() {
            for coordinator in &all {
                coordinator.configure(self.config_of(coordinator.partition()));
            }
        }
    }

    /// Begins with the partitions that are led now, and ends with those that are not any more.
    pub(crate) fn lead(&self, image: &Image) {
        let topic = image.topic(OFFSETS_TOPIC);
        let mut table = self.table.write();
        if table.closed {
            return;
        }
        table.topic = topic.map(|topic| (topic.id, topic.partition_count()));
        let mut led_now: BTreeMap<PartitionIndex, (LeaderEpoch, Arc<Partition>)> = BTreeMap::new();
        if let Some(topic) = topic {
            for partition in self.around.store.hosted.of_topic(topic.id) {
                if let Ok(hint) = partition.check_leader(-1) {
                    led_now.insert(partition.index, (hint.leader_epoch, partition));
                }
            }
        }
        let is_stale = |(index, led): (&PartitionIndex, &Led)| {
            let now = led_now.get(index);
            let goes_on = now.is_some_and(|(epoch, partition)| {
                *epoch == led.epoch && Arc::ptr_eq(partition, led.coordinator.partition())
            });
            (!goes_on).then_some(*index)
        };
        let stale: Vec<PartitionIndex> = table.led.iter().filter_map(is_stale).collect();
        let ended: Vec<Led> = stale.into_iter().filter_map(|index| table.led.remove(&index)).collect();
        for (index, (epoch, partition)) in led_now {
            table.led.entry(index).or_insert_with(|| self.begin(epoch, partition));
        }
        drop(table);
        ended.into_iter().for_each(Led::end);
    }

    fn begin(&self, epoch: LeaderEpoch, partition: Arc<Partition>) -> Led {
        let config = self.config_of(&partition);
        let coordinator = Arc::new(Coordinator::new(Arc::clone(&self.around), partition, config));
        coordinator.begin_if_empty();
        let task = tokio::spawn(Arc::clone(&coordinator).run()).abort_handle();
        Led { epoch, coordinator, task }
    }

    /// Ends everything, for good.
    pub(crate) fn close(&self) {
        let mut table = self.table.write();
        table.closed = true;
        let led = std::mem::take(&mut table.led);
        drop(table);
        led.into_values().for_each(Led::end);
    }

    fn config_of(&self, partition: &Partition) -> GroupConfig {
        let batch_bytes_max = usize::try_from(partition.log.config().max_message_bytes).unwrap_or(usize::MAX);
        group_config(&self.around.settings.now().groups, batch_bytes_max)
    }
}

fn group_config(settings: &GroupSettings, batch_bytes_max: usize) -> GroupConfig {
    GroupConfig {
        min_session_timeout_ms: settings.min_session_timeout_ms,
        max_session_timeout_ms: settings.max_session_timeout_ms,
        initial_rebalance_delay_ms: settings.initial_rebalance_delay_ms,
        max_size: settings.max_size,
        metadata_max_chars: settings.offset_metadata_max_bytes,
        retention_ms: i64::try_from(settings.offsets_retention_ms).unwrap_or(i64::MAX),
        retention_check_interval_ms: settings.offsets_retention_check_interval_ms,
        batch_bytes_max,
    }
}
