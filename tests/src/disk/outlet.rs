//! A [`SimDisk`] behind one lasting handle: a machine whose power fails, and comes back with what survived.
//!
//! Holds: a life of the broker that began before the power failed gets nothing more done, because its files are those of the
//! generation before.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ballast_log::disk::{DirEntry, Disk, DiskFile, FileKind, Job, OpenMode, Space};
use parking_lot::Mutex;

use super::{Crash, SimDisk};

/// See the module. Clones are handles of the same machine.
#[derive(Debug, Clone)]
pub struct Outlet(Arc<Mutex<SimDisk>>);

impl Outlet {
    /// A machine whose disk has `folder`, for good, and nothing in it.
    ///
    /// # Panics
    /// Never: an empty disk takes a folder.
    #[must_use]
    pub fn new(seed: u64, folder: &Path) -> Outlet {
        let disk = SimDisk::new(seed);
        disk.create_dir(folder).expect("an empty disk takes a folder");
        for above in folder.ancestors() {
            disk.sync_dir(above).expect("it is there");
        }
        Outlet(Arc::new(Mutex::new(disk)))
    }

    /// The same handle as the trait object that a broker takes.
    #[must_use]
    pub fn shared(&self) -> Arc<dyn Disk> {
        Arc::new(self.clone())
    }

    /// The disk as it is now.
    #[must_use]
    pub fn now(&self) -> SimDisk {
        self.0.lock().clone()
    }

    /// Power fails: what `crash` says is lost. Whoever starts now finds the rest.
    pub fn fails(&self, crash: Crash) {
        let mut disk = self.0.lock();
        *disk = disk.crash(crash);
    }

    /// What every file in a folder whose name ends with `ending` holds, by name, one after another.
    ///
    /// # Errors
    /// There is no such folder.
    pub fn contents(&self, folder: &Path, ending: &str) -> io::Result<Vec<u8>> {
        let disk = self.now();
        let files = disk.list(folder)?.into_iter().filter(|entry| entry.name.ends_with(ending));
        let paths: Vec<PathBuf> = files.map(|entry| folder.join(entry.name)).collect();
        paths.iter().map(|path| disk.peek(path)).collect::<io::Result<Vec<_>>>().map(|files| files.concat())
    }
}

impl Disk for Outlet {
    fn open(&self, path: &Path, mode: OpenMode, kind: FileKind) -> io::Result<Arc<dyn DiskFile>> {
        self.now().open(path, mode, kind)
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.now().create_dir(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        self.now().list(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.now().rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.now().remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.now().remove_dir(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.now().sync_dir(path)
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        self.now().sync_file(path)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        self.now().lock(path)
    }

    fn space(&self, path: &Path) -> io::Result<Space> {
        self.now().space(path)
    }

    fn spawn(&self, job: Job) {
        self.now().spawn(job);
    }

    fn spawn_read(&self, job: Job) {
        self.now().spawn_read(job);
    }

    fn is_durable(&self) -> bool {
        true
    }
}
