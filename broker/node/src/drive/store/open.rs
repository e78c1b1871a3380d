//! Start-up: lock the log directories, then open every partition that the metadata gives to this broker.
//!
//! What lies on disk without being in the metadata is kept, but out of the way (`-stray`); what was being deleted is deleted.
//! After a clean stop no log body is read; after a crash every log is read from its recovery point on, in parallel.
//!
//! Holds:
//!   1. A directory whose disk fails goes offline, and the others are opened all the same, except for the first, which holds
//!      the metadata. One that belongs to somebody else, or that is damaged, stops the start.
//!   2. A stop counts as clean only if every log has what it was closed with: whoever has less must not keep its place in an
//!      ISR.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ballast_core::image::{Directories, Image, Partition as Replicas, Topic};
use ballast_log::dirs::{
    CheckpointKind, DirError, DirState, LogDir, Owner, PARTITION_METADATA_FILE, PartitionDir, read_partition_metadata,
    write_partition_metadata,
};
use ballast_log::{Log, LogError, OpenFrom, Progress, RecoveryReport};
use ballast_wire::{PartitionIndex, Uuid};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use super::dir::Offsets;
use super::moving::Found;
use super::{Broken, Dir, Store, StoreConfig, on_disk};
use crate::drive::hosted::Hosted;
use crate::drive::partition::{Partition, Place};

/// The metadata log's topic, which lives among the partitions but is opened by the quorum.
const METADATA_TOPIC: &str = "__cluster_metadata";

/// Why the store cannot start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    /// A log directory.
    #[error(transparent)]
    Dir(#[from] DirError),
    /// Nothing to store in.
    #[error("no log directory can be used")]
    NoDirectory,
}

/// What a start found.
#[derive(Debug, Default)]
pub(crate) struct Opened {
    pub(crate) partitions: usize,
    pub(crate) strays: usize,
    pub(crate) recovered: usize,
    /// Was every directory stopped cleanly, and is every log as it was closed? Its broker epoch, the least of them, if so.
    pub(crate) clean_epoch: Option<i64>,
}

/// How many logs a worker opened.
#[derive(Debug, Default)]
struct Worked {
    partitions: usize,
    /// Those that needed repair.
    recovered: usize,
    /// Those that could not be opened, or have lost an end.
    lessened: usize,
}

/// What a walk over the log directories found.
struct Scanned {
    jobs: Vec<Job>,
    /// Copies of replicas on their way to another directory.
    copies: Vec<Found>,
    opened: Opened,
}

/// One folder to open.
struct Job {
    dir: Arc<Dir>,
    topic: Arc<Topic>,
    index: PartitionIndex,
    from: OpenFrom,
    high: i64,
    /// Its folder does not say yet whose it is.
    is_unnamed: bool,
}

impl Store {
    /// Locks the log directories. No log is opened yet.
    pub(crate) fn new(config: StoreConfig, paths: &[PathBuf]) -> Result<Store, OpenError> {
        let mut dirs = Vec::new();
        for path in paths {
            let new_directory_id = ballast_net::random_uuid(&*config.entropy);
            let owner = Owner { node_id: config.me, cluster_id: None, new_directory_id };
            let dir = match LogDir::open(Arc::clone(&config.disk), path, owner) {
                Err(error @ DirError::Disk(_)) if !dirs.is_empty() => {
                    tracing::error!(log_dir = %path.display(), %error, "a log directory cannot be opened and is offline");
                    Dir::lost(path, new_directory_id)
                }
                opened => Dir::new(opened?),
            };
            dirs.push(Arc::new(dir));
        }
        if dirs.is_empty() {
            return Err(OpenError::NoDirectory);
        }
        Ok(Store {
            config,
            dirs,
            hosted: Hosted::default(),
            broken: Mutex::default(),
            doomed: Mutex::default(),
            preferred: Mutex::default(),
            beginning: Mutex::default(),
            moves: Notify::new(),
            late: watch::Sender::new(0),
            image: Mutex::default(),
            closed: AtomicBool::new(false),
            failed: watch::Sender::default(),
            fatal: watch::Sender::new(None),
        })
    }

    /// Writes down which cluster the directories belong to, or refuses to go on if they belong to another one.
    pub(crate) fn join_cluster(&self, cluster: Uuid) -> Result<(), OpenError> {
        for dir in &self.dirs {
            dir.with(|dir| dir.set_cluster_id(cluster))?;
        }
        Ok(())
    }

    /// Opens everything that `image` gives to this broker.
    pub(crate) async fn open_all(self: &Arc<Store>, image: Arc<Image>) -> Result<Opened, OpenError> {
        let this = Arc::clone(self);
        let at_image = Arc::clone(&image);
        let scanned = on_disk(&self.config.disk, move || this.scan(&at_image)).await;
        let Scanned { jobs, copies, mut opened } = scanned?;
        let jobs = Arc::new(Mutex::new(jobs));
        let workers = self.config.settings.now().log.recovery_threads_per_data_dir.max(1) * self.dirs.len();
        let running: Vec<_> = (0..workers)
            .map(|_| {
                let (this, jobs) = (Arc::clone(self), Arc::clone(&jobs));
                on_disk(&self.config.disk, move || this.work(&jobs))
            })
            .collect();
        let mut lessened = 0;
        for worker in running {
            let worked = worker.await;
            opened.partitions += worked.partitions;
            opened.recovered += worked.recovered;
            lessened += worked.lessened;
        }
        lessened += self.gone(&image);
        if lessened > 0 && opened.clean_epoch.take().is_some() {
            tracing::warn!(
                lessened,
                "logs have less than they were closed with: the last stop does not count as clean"
            );
        }
        let this = Arc::clone(self);
        on_disk(&self.config.disk, move || this.resume_moves(&image, copies)).await;
        Ok(opened)
    }

    fn scan(&self, image: &Image) -> Result<Scanned, OpenError> {
        let mut opened = Opened { clean_epoch: Some(i64::MAX), ..Opened::default() };
        let mut found = Vec::new();
        for dir in self.online_dirs() {
            let folders = self.unless_failed(dir, dir.with(LogDir::partitions))?.flatten().unwrap_or_default();
            let folders = folders.into_iter().filter(|folder| folder.topic != METADATA_TOPIC);
            found.extend(folders.map(|folder| (Arc::clone(dir), folder)));
        }
        self.settle_moves(image, &mut found)?;
        let (copies, found): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|(_, folder)| matches!(folder.state, DirState::Future(_)));
        let mut jobs = Vec::new();
        for dir in self.online_dirs() {
            let folders = found.iter().filter(|(of, _)| of.id == dir.id).map(|(_, folder)| folder);
            let of_dir = self.jobs_of(dir, folders, image, &mut opened);
            jobs.extend(self.unless_failed(dir, of_dir)?.unwrap_or_default());
        }
        Ok(Scanned { jobs, copies, opened })
    }

    fn jobs_of<'a>(
        &self,
        dir: &Arc<Dir>,
        folders: impl Iterator<Item = &'a PartitionDir>,
        image: &Image,
        opened: &mut Opened,
    ) -> Result<Vec<Job>, DirError> {
        let clean = dir.with(LogDir::take_clean_shutdown)?.flatten();
        opened.clean_epoch = opened.clean_epoch.zip(clean).map(|(epoch, mark)| epoch.min(mark.broker_epoch));
        let recovery_points = dir.read_offsets(CheckpointKind::RecoveryPoint)?;
        let log_starts = dir.read_offsets(CheckpointKind::LogStart)?;
        let highs = dir.read_offsets(CheckpointKind::HighWatermark)?;
        let at = |offsets: &Offsets, folder: &PartitionDir| {
            offsets.get(&(folder.topic.clone(), folder.partition)).copied().unwrap_or(0)
        };
        let mut jobs = Vec::new();
        for folder in folders {
            let Some((topic, is_unnamed)) = self.keep(dir, folder, image, opened)? else { continue };
            let recovery_point = at(&recovery_points, folder);
            let from = OpenFrom { clean: clean.is_some(), recovery_point, log_start: at(&log_starts, folder) };
            let (dir, high) = (Arc::clone(dir), at(&highs, folder));
            jobs.push(Job { dir, topic, index: folder.partition, from, high, is_unnamed });
        }
        Ok(jobs)
    }

    pub(super) fn online_dirs(&self) -> impl Iterator<Item = &Arc<Dir>> {
        self.dirs.iter().filter(|dir| !dir.is_offline())
    }

    /// What opening a directory gave. If its disk has failed it goes offline, and there is nothing.
    fn unless_failed<T>(&self, dir: &Dir, result: Result<T, DirError>) -> Result<Option<T>, DirError> {
        match result {
            Err(error @ DirError::Disk(_)) if dir.id != self.dirs[0].id => {
                self.dir_failed(dir, &error.to_string());
                Ok(None)
            }
            result => result.map(Some),
        }
    }

    /// The topic that a folder belongs to, and whether the folder does not say so yet; `None` if it is not to be opened.
    fn keep(
        &self,
        dir: &Dir,
        folder: &PartitionDir,
        image: &Image,
        opened: &mut Opened,
    ) -> Result<Option<(Arc<Topic>, bool)>, DirError> {
        let path = dir.path.join(folder.to_string());
        match folder.state {
            DirState::Plain => {}
            DirState::Delete(_) => {
                self.doomed.lock().push((i64::MIN, path));
                return Ok(None);
            }
            DirState::Future(_) | DirState::Stray(_) => return Ok(None),
        }
        let id = match read_partition_metadata(&*self.config.disk, &path) {
            // A crash may leave it empty before the log's first sync.
            Err(error @ DirError::Malformed { .. }) => {
                tracing::warn!("{error}");
                None
            }
            id => id?,
        };
        let is_mine = |topic: &&Arc<Topic>| id.map_or_else(|| self.is_empty(&path), |id| id == topic.id);
        let topic = image.topic(&folder.topic).filter(is_mine);
        let partition = topic.and_then(|topic| topic.partition(folder.partition));
        if let Some(topic) = topic.filter(|_| partition.is_some_and(|p| p.replicas.contains(&self.config.me))) {
            return Ok(Some((Arc::clone(topic), id.is_none())));
        }
        let stray = folder.with(DirState::Stray(self.random_id())).to_string();
        tracing::warn!(folder = %path.display(), renamed_to = %stray, "a partition that the metadata does not give to this broker");
        if let Err(error) = self.config.disk.rename(&path, &dir.path.join(stray)) {
            tracing::warn!(folder = %path.display(), %error, "cannot rename it");
        }
        opened.strays += 1;
        Ok(None)
    }

    /// Does a folder hold no records? Only those that were never synced, of whatever topic had the name, lie in a folder that
    /// does not say whose it is.
    fn is_empty(&self, folder: &Path) -> bool {
        let entries = self.config.disk.list(folder);
        entries.is_ok_and(|entries| entries.iter().all(|entry| entry.len == 0 || !entry.name.ends_with(".log")))
    }

    /// Opens jobs until none is left.
    fn work(&self, jobs: &Mutex<Vec<Job>>) -> Worked {
        let mut worked = Worked::default();
        loop {
            let next = jobs.lock().pop();
            let Some(job) = next else { return worked };
            worked.partitions += 1;
            match self.open_partition(&job) {
                Ok(report) => {
                    let is_cut = report.cut.is_some();
                    worked.recovered += usize::from(is_cut || !report.rebuilt_indexes.is_empty());
                    worked.lessened += usize::from(is_cut);
                }
                Err(error) => {
                    worked.lessened += 1;
                    tracing::error!(topic = %job.topic.name, partition = job.index, %error, "a partition cannot be opened");
                    self.broken.lock().insert((job.topic.id, job.index), Broken::Unopened(job.dir.id));
                }
            }
        }
    }

    fn open_partition(&self, job: &Job) -> Result<RecoveryReport, LogError> {
        let Job { dir, topic, index, from, high, is_unnamed } = job;
        let path = dir.path.join(PartitionDir::new(&topic.name, *index).to_string());
        let image = Arc::clone(&self.image.lock());
        let config = self.log_config(&self.topic_settings(&image, &topic.name));
        let mut told = |progress: Progress| tell_progress(&topic.name, *index, progress);
        let disk = Arc::clone(&self.config.disk);
        let (log, report) = Log::open(disk, path.clone(), config, *from, self.now_ms(), &mut told)?;
        tell_report(&topic.name, *index, &report);
        if *is_unnamed {
            self.name(&log, path, topic.id)?;
        }
        self.host(dir, topic, *index, log, *high);
        Ok(report)
    }

    /// Makes the folder and the empty log of a new partition. A folder that is there (a creation that a crash cut short, or
    /// one that failed half-way) is opened.
    pub(super) fn create_partition(
        &self,
        dir: &Arc<Dir>,
        topic: &Arc<Topic>,
        index: PartitionIndex,
    ) -> Result<(), LogError> {
        let path = dir.path.join(PartitionDir::new(&topic.name, index).to_string());
        let image = Arc::clone(&self.image.lock());
        let config = self.log_config(&self.topic_settings(&image, &topic.name));
        let disk = Arc::clone(&self.config.disk);
        let there = matches!(disk.list(&path), Ok(entries) if entries.iter().any(|entry| entry.name.ends_with(".log")));
        let log = if there {
            let from = OpenFrom { clean: false, recovery_point: 0, log_start: 0 };
            let (log, report) = Log::open(disk, path.clone(), config, from, self.now_ms(), &mut |_| {})?;
            tell_report(&topic.name, index, &report);
            log
        } else {
            Log::create(disk, path.clone(), config, 0, self.now_ms())?
        };
        self.name(&log, path, topic.id)?;
        self.host(dir, topic, index, log, 0);
        Ok(())
    }

    /// Writes into a log's folder which topic it belongs to.
    fn name(&self, log: &Log, path: PathBuf, topic: Uuid) -> Result<(), LogError> {
        write_partition_metadata(&*self.config.disk, &path, topic)
            .map_err(|error| LogError::Foreign { path, what: error.to_string() })?;
        log.owe_small(PARTITION_METADATA_FILE);
        Ok(())
    }

    /// May a replica's log lie in a directory that is offline? Then no second one is begun elsewhere, which would be empty.
    pub(crate) fn is_out_of_reach(&self, state: &Replicas) -> bool {
        let me = self.config.me;
        let Some(at) = state.directory(me) else { return false };
        let has_lost_some = self.dirs.iter().any(|dir| dir.is_offline());
        let is_online = self.online_dirs().any(|dir| dir.id == at);
        // Nobody was told where it lives, and nothing rests on what it has: it may begin anew.
        let is_new = state.partition_epoch == 0 || (state.adding.contains(&me) && !state.isr.contains(&me));
        has_lost_some && !is_online && !(Directories::reserved(at) && is_new)
    }

    fn host(&self, dir: &Dir, topic: &Topic, index: PartitionIndex, log: Log, high: i64) {
        let place = Place { topic: Arc::clone(&topic.name), topic_id: topic.id, index, directory: dir.id };
        let (disk, proposals) = (Arc::clone(&self.config.disk), self.config.proposals.clone());
        self.hosted.insert(Arc::new(Partition::new(place, log, disk, high, proposals)));
        dir.partitions.fetch_add(1, Ordering::Relaxed);
        self.config.placements.tell(topic.id, index);
    }

    /// The directory for a new partition: the one with the fewest, as Apache Kafka chooses.
    pub(super) fn least_used_dir(&self) -> Option<Arc<Dir>> {
        let used = |dir: &&Arc<Dir>| dir.partitions.load(Ordering::Relaxed);
        self.dirs.iter().filter(|dir| !dir.is_offline()).min_by_key(used).cloned()
    }

    /// How many partitions have lost their folder of which this broker is said to have everything.
    fn gone(&self, image: &Image) -> usize {
        let is_gone = |(topic, index): &(Uuid, PartitionIndex)| {
            let state = image.partition(*topic, *index);
            // Who was fenced meanwhile is eligible, and may lead as soon as it is back.
            let counted_on =
                |state: &Replicas| state.isr.contains(&self.config.me) || state.elr.contains(&self.config.me);
            let is_counted_on = |state: &&Arc<Replicas>| counted_on(state);
            !self.is_broken(*topic, *index) && state.filter(is_counted_on).is_some_and(|it| !self.is_out_of_reach(it))
        };
        self.missing(image).iter().filter(|key| is_gone(key)).count()
    }

    /// Names of the partitions that should be open and are not.
    pub(super) fn missing(&self, image: &Image) -> BTreeSet<(Uuid, PartitionIndex)> {
        let me = self.config.me;
        let mine = image.topics().flat_map(|topic| {
            let id = topic.id;
            topic.partitions().filter(move |(_, p)| p.replicas.contains(&me)).map(move |(index, _)| (id, index))
        });
        mine.filter(|(topic, index)| self.hosted.by_id(*topic, *index).is_none()).collect()
    }
}

/// Small logs are recovered faster than anybody reads.
const PROGRESS_FROM_BYTES: u64 = 64 << 20;

fn tell_progress(topic: &str, partition: PartitionIndex, progress: Progress) {
    let Progress { scanned_bytes, total_bytes, .. } = progress;
    if total_bytes < PROGRESS_FROM_BYTES {
        return;
    }
    tracing::info!(topic, partition, scanned_bytes, total_bytes, "recovering");
}

fn tell_report(topic: &str, partition: PartitionIndex, report: &RecoveryReport) {
    if let Some(bytes) = report.written_again_bytes {
        tracing::warn!(
            topic,
            partition,
            bytes,
            "a sync failed before the last stop: what it should have covered was written and synced again"
        );
    }
    if let Some(cut) = &report.cut {
        tracing::warn!(
            topic,
            partition,
            file = %cut.path.display(),
            position = cut.position,
            bytes = cut.bytes,
            segments = cut.segments,
            end = cut.end,
            reason = ?cut.reason,
            "recovery cut off what was not whole"
        );
    }
    if !report.rebuilt_indexes.is_empty() {
        tracing::info!(topic, partition, indexes = report.rebuilt_indexes.len(), "recovery built indexes again");
    }
}
