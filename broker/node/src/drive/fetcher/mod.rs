//! Fetchers: how this broker's followers get what their leaders have.
//!
//! ```text
//! metadata -> store (partitions follow) -> Fetchers::apply -> the fetcher of each partition
//!
//! fetcher: next of each partition that something happened to -> cut, sync, append
//!          -> one request about all of them, long-polled at the leader -> rows to their partitions -> again
//! ```
//! There is one fetcher, one task with one connection, for each leader and each number below `num.replica.fetchers`; a
//! partition's number is hashed from its name, as Apache Kafka does.
//!
//! Holds:
//!   1. A partition has at most one fetcher that asks for it; one that moved is handed on by the fetcher that had it.
//!   2. A fetcher has one request on its way. What a round costs grows with what happened, not with what is followed.
//!   3. Where a leader is, and this broker's epoch, is what the newest metadata says.
//!
//! Read next: `task` (one fetcher), `session` (what its requests say), `ask` (the bytes), `line` (the connection),
//! `drive::partition` (`follow`).

mod ask;
mod line;
mod session;
mod task;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ballast_core::image::{Delta, Image};
use ballast_core::machine::Tick;
use ballast_net::{Clock, Transport};
use ballast_wire::{BrokerId, PartitionIndex, Uuid, hash};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

use self::session::Key;
use self::task::Task;
use super::partition::Partition;
use super::settings::LiveSettings;
use super::store::Store;
use super::ticks::Ticks;

/// What fetchers need of their surroundings.
pub(crate) struct Surroundings {
    pub(crate) me: BrokerId,
    /// This life of the process: its epoch is taken from its own registration alone.
    pub(crate) incarnation: Uuid,
    pub(crate) store: Arc<Store>,
    pub(crate) settings: Arc<LiveSettings>,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ticks: Ticks,
}

/// Which fetcher: the leader that it asks, and its number.
type Place = (BrokerId, usize);

/// What a fetcher is told.
enum Told {
    /// Something may have happened to it, or it is new here.
    Look(Arc<Partition>),
    /// Another fetcher has it from now on, or nobody.
    Release(Key),
    /// Nothing is left to do.
    End,
}

#[derive(Default)]
struct Inbox {
    told: Mutex<Vec<Told>>,
    notify: Notify,
}

impl Inbox {
    fn tell(&self, told: Told) {
        self.told.lock().push(told);
        self.notify.notify_one();
    }

    /// Is nothing left to do?
    fn ends(&self) -> bool {
        self.told.lock().iter().any(|told| matches!(told, Told::End))
    }

    fn take(&self) -> Vec<Told> {
        std::mem::take(&mut *self.told.lock())
    }
}

struct Running {
    inbox: Arc<Inbox>,
    task: JoinHandle<()>,
    partitions: usize,
}

#[derive(Default)]
struct Table {
    running: BTreeMap<Place, Running>,
    /// Which fetcher has which partition.
    placed: BTreeMap<Key, Place>,
    fetchers_per_leader: usize,
    /// Told to end, perhaps not ended yet.
    ending: Vec<JoinHandle<()>>,
    closed: bool,
}

/// What the fetchers share.
struct Shared {
    around: Surroundings,
    image: Mutex<Arc<Image>>,
    table: Mutex<Table>,
    bytes_in: AtomicU64,
}

/// The fetchers of this broker.
pub(crate) struct Fetchers {
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
}

impl Fetchers {
    /// Nothing is fetched yet.
    pub(crate) fn new(around: Surroundings) -> Fetchers {
        let (image, table, bytes_in) = (Mutex::default(), Mutex::default(), AtomicU64::new(0));
        Fetchers { shared: Arc::new(Shared { around, image, table, bytes_in }), stop: watch::Sender::new(false) }
    }

    /// Takes in what the metadata says, after the store has.
    pub(crate) fn apply(&self, image: &Arc<Image>, delta: &Delta) {
        *self.shared.image.lock() = Arc::clone(image);
        let hosted = &self.shared.around.store.hosted;
        let fetchers = self.shared.around.settings.now().replication.num_replica_fetchers.max(1);
        let mut table = self.shared.table.lock();
        if table.closed {
            return;
        }
        let all = table.fetchers_per_leader != fetchers || delta.brokers_changed.contains(&self.shared.around.me);
        table.fetchers_per_leader = fetchers;
        for topic in &delta.topics_deleted {
            topic.partitions().for_each(|(index, _)| table.release((topic.id, index)));
        }
        for (topic, index) in &delta.partitions_changed {
            match hosted.by_id(*topic, *index) {
                Some(partition) => self.place(&mut table, &partition),
                None => table.release((*topic, *index)),
            }
        }
        if all {
            hosted.all().iter().for_each(|partition| self.place(&mut table, partition));
        }
        table.end_idle();
        // Whoever waits for a leader shall see whether that lives elsewhere now.
        for leader in &delta.brokers_changed {
            let asking = table.running.range((*leader, 0)..=(*leader, usize::MAX));
            asking.for_each(|(_, running)| running.inbox.notify.notify_one());
        }
    }

    /// Looks at every partition again whenever the store has opened some since the metadata spoke of them.
    pub(crate) async fn follow_late(self: Arc<Fetchers>) {
        let mut late = self.shared.around.store.late();
        while late.changed().await.is_ok() {
            let mut table = self.shared.table.lock();
            if !table.closed {
                self.shared.around.store.hosted.all().iter().for_each(|partition| self.place(&mut table, partition));
            }
        }
    }

    /// Gives a partition to its fetcher, and takes it from another that had it.
    fn place(&self, table: &mut Table, partition: &Arc<Partition>) {
        let key = (partition.topic_id, partition.index);
        let number = fetcher_of(&partition.topic, partition.index, table.fetchers_per_leader);
        let place = partition.followed().map(|leader| (leader, number));
        if table.placed.get(&key).copied() != place {
            table.release(key);
        }
        let Some(place) = place else { return };
        let running = table.running.entry(place).or_insert_with(|| self.begin(place));
        if table.placed.insert(key, place).is_none() {
            running.partitions += 1;
        }
        running.inbox.tell(Told::Look(Arc::clone(partition)));
    }

    fn begin(&self, place: Place) -> Running {
        let inbox = Arc::new(Inbox::default());
        let task = Task::new(Arc::clone(&self.shared), place, Arc::clone(&inbox));
        Running { inbox, task: tokio::spawn(task.run(self.stop.subscribe())), partitions: 0 }
    }

    /// Ends all of them, for good, and waits until none runs.
    pub(crate) async fn close(&self) {
        let running = {
            let mut table = self.shared.table.lock();
            table.closed = true;
            table.placed.clear();
            let running = std::mem::take(&mut table.running).into_values().map(|running| running.task);
            running.chain(std::mem::take(&mut table.ending)).collect::<Vec<_>>()
        };
        self.stop.send_replace(true);
        for task in running {
            // It ends by itself; a panic in it has been told.
            let _ = task.await;
        }
    }

    /// Ends all of them at once, as a crash would.
    pub(crate) fn abort(&self) {
        let mut table = self.shared.table.lock();
        table.closed = true;
        let running = std::mem::take(&mut table.running).into_values().map(|running| running.task);
        running.chain(std::mem::take(&mut table.ending)).for_each(|task| task.abort());
    }

    /// Bytes of records that followers here have taken in since the start.
    pub(crate) fn bytes_in(&self) -> u64 {
        self.shared.bytes_in.load(Ordering::Relaxed)
    }

    /// Which fetcher asks for a partition: its leader and its number.
    pub(crate) fn place_of(&self, partition: &Partition) -> Option<(BrokerId, usize)> {
        self.shared.table.lock().placed.get(&(partition.topic_id, partition.index)).copied()
    }
}

impl Table {
    /// Takes a partition from its fetcher.
    fn release(&mut self, key: Key) {
        let Some(place) = self.placed.remove(&key) else { return };
        if let Some(running) = self.running.get_mut(&place) {
            running.partitions -= 1;
            running.inbox.tell(Told::Release(key));
        }
    }

    /// Ends the fetchers that have nothing to ask for.
    fn end_idle(&mut self) {
        self.ending.retain(|task| !task.is_finished());
        let idle: Vec<Place> =
            self.running.iter().filter(|(_, running)| running.partitions == 0).map(|(place, _)| *place).collect();
        for running in idle.iter().filter_map(|place| self.running.remove(place)) {
            running.inbox.tell(Told::End);
            self.ending.push(running.task);
        }
    }
}

impl Shared {
    /// A fetcher does not have this partition any more: whoever has it now may have been waiting for that.
    fn hand_on(&self, partition: &Arc<Partition>, from: &Arc<Inbox>) {
        let table = self.table.lock();
        let place = table.placed.get(&(partition.topic_id, partition.index));
        let running = place.and_then(|place| table.running.get(place));
        if let Some(running) = running.filter(|running| !Arc::ptr_eq(&running.inbox, from)) {
            running.inbox.tell(Told::Look(Arc::clone(partition)));
        }
    }

    fn now(&self) -> Tick {
        self.around.ticks.now()
    }

    /// Where a leader is, with the epoch of that life of it; `None` while it is not known.
    fn address(&self, leader: BrokerId) -> Option<(i64, String, u16)> {
        let image = self.image.lock();
        let listener = &self.around.settings.now().node.inter_broker_listener;
        let broker = image.broker(leader)?;
        broker.endpoint(listener).map(|at| (broker.epoch, at.host.clone(), at.port))
    }

    /// This broker's epoch, -1 before the metadata has it.
    fn epoch(&self) -> i64 {
        let image = self.image.lock();
        let me = image.broker(self.around.me).filter(|me| me.incarnation == self.around.incarnation);
        me.map_or(-1, |me| me.epoch)
    }
}

/// `abs(31 * hash(topic) + partition) mod fetchers`, as Apache Kafka spreads partitions over the fetchers of a leader.
fn fetcher_of(topic: &str, index: PartitionIndex, fetchers: usize) -> usize {
    let hash = hash::java_string(topic).wrapping_mul(31).wrapping_add(index);
    hash.checked_abs().unwrap_or(0) as usize % fetchers.max(1)
}

#[cfg(test)]
mod tests;
