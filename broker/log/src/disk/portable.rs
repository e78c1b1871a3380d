//! A disk for every Unix: std's calls, no reservation, no maps. Laptops embed it, and Linux tests it.
//!
//! Every open file keeps its descriptor, and every view is read by `pread` when it is used: simple, and good enough for
//! where nobody counts either.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, IoSlice};
use std::ops::Range;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;
use std::sync::Arc;

use ballast_wire::{Chunk, FileRange};
use bytes::Bytes;

use super::pool::Pool;
use super::{DirEntry, Disk, DiskFile, FileKind, Job, OpenMode, Space};

/// See the module.
#[derive(Debug)]
pub struct PortableDisk {
    durable: bool,
    pool: Pool,
    readers: Pool,
}

impl PortableDisk {
    /// A disk; one that is not `durable` skips its syncs. Has at most one thread, and one that reads.
    #[must_use]
    pub fn new(durable: bool) -> Arc<PortableDisk> {
        Arc::new(PortableDisk { durable, pool: Pool::new(1), readers: Pool::new(1) })
    }
}

impl Disk for PortableDisk {
    fn open(&self, path: &Path, mode: OpenMode, _kind: FileKind) -> io::Result<Arc<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true).write(mode != OpenMode::Read);
        options.create(mode == OpenMode::Create).create_new(mode == OpenMode::CreateNew);
        let file = Arc::new(options.open(path)?);
        Ok(Arc::new(PortableFile { path: path.into(), file, durable: self.durable }))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        std::fs::create_dir_all(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        list(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_dir_all(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        if self.durable { File::open(path)?.sync_all() } else { Ok(()) }
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        if self.durable { File::open(path)?.sync_data() } else { Ok(()) }
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        lock(path)
    }

    fn space(&self, path: &Path) -> io::Result<Space> {
        space(path)
    }

    fn spawn(&self, job: Job) {
        self.pool.spawn(job);
    }

    fn spawn_read(&self, job: Job) {
        self.readers.spawn(job);
    }

    fn is_durable(&self) -> bool {
        self.durable
    }
}

#[derive(Debug)]
struct PortableFile {
    path: Box<Path>,
    /// Chunks hold clones: more than one means that somebody views the file.
    file: Arc<File>,
    durable: bool,
}

impl DiskFile for PortableFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn write_at(&self, position: u64, parts: &[IoSlice<'_>]) -> io::Result<()> {
        let mut position = position;
        for part in parts {
            self.file.write_all_at(part, position)?;
            position += part.len() as u64;
        }
        Ok(())
    }

    fn read_at(&self, position: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, position)
    }

    fn view(&self, range: Range<u64>) -> io::Result<Chunk> {
        let data_end = self.len()?;
        if range.start > range.end || range.end > data_end {
            let path = self.path.display();
            let text = format!("{path} has {data_end} bytes: no view of {} to {}", range.start, range.end);
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text));
        }
        if range.is_empty() {
            return Ok(Chunk::Owned(Bytes::new()));
        }
        let len = (range.end - range.start) as usize;
        let range = FileRange { file: Arc::clone(&self.file), position: range.start, len };
        Ok(Chunk::File { range, mapped: None })
    }

    fn is_resident(&self, _range: Range<u64>) -> bool {
        true
    }

    fn is_viewed(&self) -> bool {
        Arc::strong_count(&self.file) > 1
    }

    fn reserve(&self, _upto: u64) -> io::Result<()> {
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let had = self.len()?;
        assert!(
            len >= had || !self.is_viewed(),
            "{} is cut from {had} to {len} bytes while it is viewed",
            self.path.display()
        );
        self.file.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        if self.durable { self.file.sync_data() } else { Ok(()) }
    }

    fn set_kind(&self, _kind: FileKind) {}
}

/// What is in a folder, by name. Entries that vanish meanwhile are left out.
pub(super) fn list(path: &Path) -> io::Result<Vec<DirEntry>> {
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let metadata = match entry.metadata() {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let is_dir = metadata.is_dir();
        entries.push(DirEntry {
            name: entry.file_name().to_string_lossy().into_owned(),
            is_dir,
            len: if is_dir { 0 } else { metadata.len() },
            modified_ms: metadata.mtime() * 1000 + metadata.mtime_nsec() / 1_000_000,
        });
    }
    entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

/// Locks a file, which is made if missing, until the value is dropped or the process ends.
pub(super) fn lock(path: &Path) -> io::Result<Box<dyn Send + Sync>> {
    loop {
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // Its last holder may have removed it after we opened it: a lock on a file without a name keeps nobody out.
        match std::fs::metadata(path) {
            Ok(named) if named.ino() == file.metadata()?.ino() => return Ok(Box::new(file)),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
}

/// Room on the file system of `path`.
pub(super) fn space(path: &Path) -> io::Result<Space> {
    let numbers = rustix::fs::statvfs(path)?;
    Ok(Space {
        total_bytes: numbers.f_blocks.saturating_mul(numbers.f_frsize),
        available_bytes: numbers.f_bavail.saturating_mul(numbers.f_frsize),
    })
}
