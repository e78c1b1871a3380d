//! The real disk, on Linux.
//!
//! Names are plain calls of std; what is worth reading is in `real_file` (bytes) and `pool` (threads). An ephemeral disk
//! neither syncs nor reserves: its data goes with its owner.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::os::with_descriptors;
use super::pool::Pool;
use super::real_file::{Abilities, RealFile};
use super::{DirEntry, Disk, DiskFile, FileKind, Job, OpenMode, Space, portable, together};

/// How a [`RealDisk`] behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskOptions {
    /// Do syncs mean something?
    pub durable: bool,
    /// Is room reserved ahead where the log asks for it?
    pub reserve: bool,
    /// Threads at most for what may sync.
    pub io_threads: usize,
    /// Threads at most, apart from those, that read what is cold.
    pub read_threads: usize,
}

impl Default for DiskOptions {
    fn default() -> DiskOptions {
        DiskOptions { durable: true, reserve: true, io_threads: 4, read_threads: 2 }
    }
}

/// See the module.
#[derive(Debug)]
pub struct RealDisk {
    abilities: Abilities,
    pool: Pool,
    readers: Pool,
    /// Folders whose file systems are synced as a whole. They stay open: an error of a file system is reported once to every
    /// descriptor that was open when it happened.
    watched: Mutex<BTreeMap<PathBuf, Arc<File>>>,
}

impl RealDisk {
    /// A disk. Its threads start when there is work for them and are joined when the last handle is dropped.
    #[must_use]
    pub fn new(options: DiskOptions) -> Arc<RealDisk> {
        let abilities = Abilities { durable: options.durable, reserves: options.reserve };
        let (pool, readers) = (Pool::new(options.io_threads), Pool::new(options.read_threads));
        Arc::new(RealDisk { abilities, pool, readers, watched: Mutex::default() })
    }

    /// A disk whose data need not outlive the process: no sync, no reservation, one thread of each kind.
    #[must_use]
    pub fn ephemeral() -> Arc<RealDisk> {
        RealDisk::new(DiskOptions { durable: false, reserve: false, io_threads: 1, read_threads: 1 })
    }
}

impl RealDisk {
    fn watched(&self, folder: &Path) -> io::Result<Arc<File>> {
        let mut watched = self.watched.lock();
        if let Some(open) = watched.get(folder) {
            return Ok(Arc::clone(open));
        }
        let open = Arc::new(open_to_sync(folder)?);
        watched.insert(folder.to_owned(), Arc::clone(&open));
        Ok(open)
    }
}

/// A descriptor for a short while, which others give one up for if none is left.
fn open_to_sync(path: &Path) -> io::Result<File> {
    with_descriptors(|| File::open(path))
}

impl Disk for RealDisk {
    fn open(&self, path: &Path, mode: OpenMode, kind: FileKind) -> io::Result<Arc<dyn DiskFile>> {
        Ok(RealFile::open(path, mode, kind, self.abilities)?)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        std::fs::create_dir_all(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        with_descriptors(|| portable::list(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        with_descriptors(|| std::fs::remove_dir_all(path))
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        if self.abilities.durable && !together::are_put_off() { open_to_sync(path)?.sync_all() } else { Ok(()) }
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        if self.abilities.durable && !together::are_put_off() { open_to_sync(path)?.sync_data() } else { Ok(()) }
    }

    fn together(&self, path: &Path, work: &mut dyn FnMut()) -> io::Result<()> {
        if !self.abilities.durable {
            work();
            return Ok(());
        }
        let folder = self.watched(path)?;
        together::put_off(work);
        Ok(rustix::fs::syncfs(&*folder)?)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        let lock = portable::lock(path)?;
        if let Some(folder) = path.parent().filter(|_| self.abilities.durable) {
            // A folder that is locked is one whose files will be synced together.
            self.watched(folder)?;
        }
        Ok(lock)
    }

    fn space(&self, path: &Path) -> io::Result<Space> {
        portable::space(path)
    }

    fn spawn(&self, job: Job) {
        self.pool.spawn(job);
    }

    fn spawn_read(&self, job: Job) {
        self.readers.spawn(job);
    }

    fn is_durable(&self) -> bool {
        self.abilities.durable
    }
}
