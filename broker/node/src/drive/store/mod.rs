//! What this broker stores: its log directories, and the partitions in them.
//!
//! ```text
//! metadata delta -> apply   : make, open, lead, follow, resign, delete partitions
//! fetchers       -> followers: cut, sync
//! an operator    -> moving  : copy replicas to another log directory, exchange names
//! clock          -> upkeep  : sync, checkpoint, retain, unlink, watch the room that is left
//! SIGTERM        -> close   : trim, sync, checkpoint, mark clean
//! ```
//! Holds: a partition is in `hosted` exactly while its log is open for clients. All of it blocks, and therefore runs on the
//! disk's threads (see [`on_disk`]), never on a runtime's worker.
//!
//! Read next: `open` (start-up), `apply`, `followers`, `moving`, `upkeep`, `together`, `close`.

mod apply;
mod close;
mod dir;
mod followers;
mod moving;
mod open;
mod together;
mod upkeep;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ballast_core::image::Image;
use ballast_core::settings::TopicSettings;
use ballast_log::LogConfig;
use ballast_log::disk::Disk;
use ballast_net::{Clock, Entropy};
use ballast_wire::{BrokerId, PartitionIndex, Uuid};
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot, watch};

pub(crate) use self::dir::Dir;
pub(crate) use self::moving::{FutureReplica, MoveRefused};
pub(crate) use self::open::OpenError;
use super::dirs::Placements;
use super::hosted::Hosted;
use super::proposals::Proposals;
use super::settings::LiveSettings;
use super::ticks::Ticks;
use crate::config::log::log_config;

/// What the store needs of its surroundings.
pub(crate) struct StoreConfig {
    pub(crate) me: BrokerId,
    /// This life of the process: partitions are led only once the metadata knows of it.
    pub(crate) incarnation: Uuid,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) ticks: Ticks,
    pub(crate) settings: Arc<LiveSettings>,
    /// Where leaders ask for another ISR.
    pub(crate) proposals: Proposals,
    /// Where it is said that a replica has a place.
    pub(crate) placements: Placements,
}

/// What stands in the way of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Broken {
    /// It is new, and has no log anywhere: any directory will do.
    Unmade,
    /// Its log is in this directory and cannot be opened. A second one, beside it, would be empty.
    Unopened(Uuid),
}

/// The store.
pub(crate) struct Store {
    config: StoreConfig,
    pub(crate) dirs: Vec<Arc<Dir>>,
    pub(crate) hosted: Hosted,
    /// Partitions that could not be opened or made. Tried again by upkeep.
    broken: Mutex<BTreeMap<(Uuid, PartitionIndex), Broken>>,
    /// Folders of deleted partitions, and when they may go, in ms since 1970.
    doomed: Mutex<Vec<(i64, std::path::PathBuf)>>,
    /// Where replicas are to be made that are not here yet, by topic and partition.
    preferred: Mutex<BTreeMap<(String, PartitionIndex), Uuid>>,
    /// Held while a move begins.
    beginning: Mutex<()>,
    /// Wakes whoever moves replicas.
    moves: Notify,
    /// Counts the times that partitions came to be after the metadata spoke of them.
    late: watch::Sender<u64>,
    /// The image that `broken` partitions are tried with.
    image: Mutex<Arc<Image>>,
    closed: AtomicBool,
    /// Directories that have failed.
    failed: watch::Sender<BTreeSet<Uuid>>,
    /// The cause, once the broker can store nothing any more.
    fatal: watch::Sender<Option<String>>,
}

impl Store {
    /// Could this partition not be opened?
    pub(crate) fn is_broken(&self, topic: Uuid, index: PartitionIndex) -> bool {
        self.broken.lock().contains_key(&(topic, index))
    }

    /// The disk, for work that blocks (see [`on_disk`]).
    pub(crate) fn disk(&self) -> Arc<dyn Disk> {
        Arc::clone(&self.config.disk)
    }

    /// The log directory with this id.
    pub(crate) fn dir(&self, id: Uuid) -> Option<&Arc<Dir>> {
        self.dirs.iter().find(|dir| dir.id == id)
    }

    /// The image that the store has taken in.
    pub(crate) fn image(&self) -> Arc<Image> {
        Arc::clone(&self.image.lock())
    }

    /// Directories that have failed. Tells of changes.
    pub(crate) fn failed_dirs(&self) -> watch::Receiver<BTreeSet<Uuid>> {
        self.failed.subscribe()
    }

    /// Becomes the cause once the last log directory has failed.
    pub(crate) fn fatal(&self) -> watch::Receiver<Option<String>> {
        self.fatal.subscribe()
    }

    /// Tells when partitions came to be that could not be made or opened at first.
    pub(crate) fn late(&self) -> watch::Receiver<u64> {
        self.late.subscribe()
    }

    /// What a topic's configs come to on this broker.
    fn topic_settings(&self, image: &Image, topic: &str) -> TopicSettings {
        let layers = self.config.settings.layers(image);
        let resource = ballast_core::image::ConfigResource::topic(topic);
        TopicSettings::resolve(image.configs(&resource).map(|configs| &**configs), &layers)
    }

    fn log_config(&self, settings: &TopicSettings) -> Arc<LogConfig> {
        Arc::new(log_config(settings, self.config.settings.now().log.producer_id_expiration_ms))
    }

    fn random_id(&self) -> Uuid {
        ballast_net::random_uuid(&*self.config.entropy)
    }

    fn now_ms(&self) -> i64 {
        self.config.clock.now_ms()
    }
}

/// Runs blocking work on the disk's threads. It starts now, not when it is awaited: several run side by side.
pub(crate) fn on_disk<T: Send + 'static, W: FnOnce() -> T + Send + 'static>(
    disk: &Arc<dyn Disk>,
    work: W,
) -> impl Future<Output = T> + Send + use<T, W> {
    let (done, result) = oneshot::channel();
    disk.spawn(Box::new(move || {
        // Whoever asked may have gone.
        let _ = done.send(work());
    }));
    async move { result.await.expect("a disk runs every job that it takes") }
}

/// Runs blocking work that only reads on the disk's threads for that: it never waits for a sync.
pub(crate) async fn on_readers<T: Send + 'static>(
    disk: &Arc<dyn Disk>,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let (done, result) = oneshot::channel();
    disk.spawn_read(Box::new(move || {
        // Whoever asked may have gone.
        let _ = done.send(work());
    }));
    result.await.expect("a disk runs every job that it takes")
}
