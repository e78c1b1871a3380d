//! A simulated host's disk: [`SimDisk`] with threads that take their time.
//!
//! The double runs a job at once, inside the call that asks for it. Here a job becomes a task of the host's runtime, which
//! begins after the time that a disk would take: between asking and doing, others run, and the process may die.

use std::io::{self, IoSlice};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ballast_log::disk::{DirEntry, Disk, DiskFile, FileKind, Job, OpenMode, Space};

use ballast_wire::Chunk;

use super::dice::Dice;
use crate::disk::SimDisk;

/// Most that a job waits on a disk that is well, in ms.
const USUAL_WAIT_MS_MAX: u64 = 2;

/// How slow a host's disk is. Clones share it, over all lives of the process.
#[derive(Debug, Clone, Default)]
pub struct Pace(Arc<AtomicU64>);

impl Pace {
    /// From now on each job waits up to `ms` longer.
    pub fn set_extra_ms(&self, ms: u64) {
        self.0.store(ms, Ordering::Relaxed);
    }
}

/// A mistake that a broker could make with its disk, made for it here: the checks must find it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mistake {
    /// None.
    #[default]
    None,
    /// It syncs no folder.
    NoFolderSync,
    /// It syncs no file of its partitions, although topics ask for that before they acknowledge.
    NoPartitionSync,
    /// It syncs neither the votes nor the entries of its metadata log.
    NoMetadataSync,
}

impl Mistake {
    /// Is this sync left out?
    fn skips(self, path: &Path, is_folder: bool) -> bool {
        let of_metadata = path.to_string_lossy().contains("__cluster_metadata");
        match self {
            Mistake::None => false,
            Mistake::NoFolderSync => is_folder,
            Mistake::NoPartitionSync => !is_folder && !of_metadata,
            Mistake::NoMetadataSync => !is_folder && of_metadata,
        }
    }
}

/// See the module.
#[derive(Debug)]
pub struct HostDisk {
    disk: SimDisk,
    pace: Pace,
    dice: Dice,
    mistake: Mistake,
}

/// A file whose syncs may be left out.
#[derive(Debug)]
struct Careless {
    file: Arc<dyn DiskFile>,
    mistake: Mistake,
}

impl DiskFile for Careless {
    fn path(&self) -> &Path {
        self.file.path()
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn write_at(&self, position: u64, parts: &[IoSlice<'_>]) -> io::Result<()> {
        self.file.write_at(position, parts)
    }

    fn read_at(&self, position: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_at(position, buffer)
    }

    fn view(&self, range: Range<u64>) -> io::Result<Chunk> {
        self.file.view(range)
    }

    fn is_resident(&self, range: Range<u64>) -> bool {
        self.file.is_resident(range)
    }

    fn is_viewed(&self) -> bool {
        self.file.is_viewed()
    }

    fn reserve(&self, upto: u64) -> io::Result<()> {
        self.file.reserve(upto)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        if self.mistake.skips(self.file.path(), false) { Ok(()) } else { self.file.sync() }
    }

    fn set_kind(&self, kind: FileKind) {
        self.file.set_kind(kind);
    }
}

impl HostDisk {
    /// The disk of one life of a process.
    #[must_use]
    pub fn new(disk: SimDisk, pace: Pace, dice: Dice, mistake: Mistake) -> HostDisk {
        HostDisk { disk, pace, dice, mistake }
    }

    fn later(&self, job: Job) {
        // A process that ends drops its tasks outside of any runtime, and some ask for one thing more: nobody will do it.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let extra = self.pace.0.load(Ordering::Relaxed);
        let wait = Duration::from_millis(self.dice.between(0, USUAL_WAIT_MS_MAX) + self.dice.between(extra / 2, extra));
        runtime.spawn(async move {
            if !wait.is_zero() {
                tokio::time::sleep(wait).await;
            }
            job();
        });
    }
}

impl Disk for HostDisk {
    fn open(&self, path: &Path, mode: OpenMode, kind: FileKind) -> io::Result<Arc<dyn DiskFile>> {
        let file = self.disk.open(path, mode, kind)?;
        Ok(if self.mistake == Mistake::None { file } else { Arc::new(Careless { file, mistake: self.mistake }) })
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.disk.create_dir(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        self.disk.list(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.disk.remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.disk.remove_dir(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        if self.mistake.skips(path, true) { Ok(()) } else { self.disk.sync_dir(path) }
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        if self.mistake.skips(path, false) { Ok(()) } else { self.disk.sync_file(path) }
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        self.disk.lock(path)
    }

    fn space(&self, path: &Path) -> io::Result<Space> {
        self.disk.space(path)
    }

    fn spawn(&self, job: Job) {
        self.later(job);
    }

    fn spawn_read(&self, job: Job) {
        self.later(job);
    }

    fn is_durable(&self) -> bool {
        true
    }
}
