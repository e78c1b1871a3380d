//! The disk as the log sees it: one of the three places where the world comes in.
//!
//! Everything that touches a file goes through [`Disk`] and [`DiskFile`], so that a double (in `ballast-tests`) can lose
//! unsynced sectors, tear writes, fill up, fail any call, and refuse the writes of a killed broker.
//!
//! What an implementation promises:
//!   1. A write that returned `Ok` is seen by every later read. It survives a crash of the machine only after `sync` of
//!      its file, and a new name only after `sync_dir` of its folder.
//!   2. A write that failed may have left any part of its bytes; the caller cuts back with `set_len`.
//!   3. A `sync` that failed is final for that file: nothing is retried, the caller takes the log directory offline.
//!   4. A [`Chunk`] from `view` stays readable while it lives, whatever happens to the name. The bytes under it never
//!      change: nobody rewrites or shortens a range that a view may hold (see `is_viewed`).
//!   5. Descriptors and maps are the implementation's business: a `DiskFile` may be closed and opened again behind the
//!      caller's back, but never with unsynced writes, because an error is reported only to descriptors that were open.
//!      It is found again by its path: after a file, or a folder above it, got another name, open it anew. One that is
//!      not the same file any more answers `NotFound`, never another file's bytes. (What was `ActiveLog` all along is
//!      never closed.)
//!
//! Read next: `real` (Linux), `portable` (std's calls only), `scarce` (who gives up a descriptor or map).

#[cfg(target_os = "linux")]
mod os;
mod pool;
mod portable;
#[cfg(target_os = "linux")]
mod real;
#[cfg(target_os = "linux")]
mod real_file;
#[cfg(target_os = "linux")]
mod scarce;
#[cfg(test)]
mod tests;
mod together;

use std::fmt::Debug;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ballast_wire::Chunk;

pub use portable::PortableDisk;
#[cfg(target_os = "linux")]
pub use real::{DiskOptions, RealDisk};
#[cfg(target_os = "linux")]
pub use scarce::{DiskLimits, held, set_limits};

/// What a file is for. Decides whether its descriptor is kept and how its map is advised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A segment that is appended to: keeps its descriptor, mapped over its reservation.
    ActiveLog,
    /// A sealed segment: opened and mapped on demand.
    SealedLog,
    /// An index: opened and mapped on demand, read at random.
    Index,
    /// Anything small.
    Small,
}

/// How to open a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// It must exist; reading only.
    Read,
    /// It must exist.
    Write,
    /// Made if it is missing.
    Create,
    /// It must not exist.
    CreateNew,
}

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// Its name, without the folder. Names that are not UTF-8 are shown with replacement characters and cannot be opened.
    pub name: String,
    /// Is it a folder?
    pub is_dir: bool,
    /// Length in bytes of a file.
    pub len: u64,
    /// Last change in ms since 1970.
    pub modified_ms: i64,
}

/// Room on a file system, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Space {
    /// Size of the file system.
    pub total_bytes: u64,
    /// What an unprivileged process may still use.
    pub available_bytes: u64,
}

/// How much [`DiskFile::warm`] reads at once; it lies on the stack.
const WARM_STEP_BYTES: u64 = 16 << 10;

/// Work for the disk's own threads.
pub type Job = Box<dyn FnOnce() + Send>;

/// A disk.
pub trait Disk: Send + Sync + Debug {
    /// Opens a file. `kind` says what it is for and does not change what may be done with it. A file that is written has
    /// one object at a time: lengths are remembered, not asked for again.
    fn open(&self, path: &Path, mode: OpenMode, kind: FileKind) -> io::Result<Arc<dyn DiskFile>>;

    /// Makes a folder and those above it. Fine if it is there.
    fn create_dir(&self, path: &Path) -> io::Result<()>;

    /// What is in a folder, sorted by name.
    fn list(&self, path: &Path) -> io::Result<Vec<DirEntry>>;

    /// Gives a file or folder another name, replacing a file that has it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    fn remove_file(&self, path: &Path) -> io::Result<()>;

    /// Removes a folder and all that is in it.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;

    /// Makes the names in a folder survive a crash.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;

    /// Makes the contents of a small file survive a crash that was written and closed since. A descriptor for each file that
    /// waits for its sync would be too many; the kernel tells an error of writing back to whoever opens the file next.
    fn sync_file(&self, path: &Path) -> io::Result<()>;

    /// Takes an exclusive lock on a file, which it makes if missing, for as long as the value lives.
    /// `WouldBlock` when another process, or another lock of this one, holds it.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>>;

    /// How much room there is where `path` lies.
    fn space(&self, path: &Path) -> io::Result<Space>;

    /// Runs `work`, which syncs many files and folders, and syncs them together instead of one by one where the disk can:
    /// once this has returned `Ok`, everything that `work` synced on this thread on the file system of `path` survives a
    /// crash. Before that, none of it need, so nobody may be told.
    fn together(&self, path: &Path, work: &mut dyn FnMut()) -> io::Result<()> {
        let _ = path;
        work();
        Ok(())
    }

    /// Runs `job` on a thread of the disk, in no promised order. A simulated disk may run it before this returns:
    /// hold no lock that the job takes.
    fn spawn(&self, job: Job);

    /// As [`Disk::spawn`], for a job that reads and never syncs: it waits for other reads at most, however long a sync
    /// takes.
    fn spawn_read(&self, job: Job);

    /// Does `sync` mean anything here? Not on an ephemeral disk, whose data goes with its owner.
    fn is_durable(&self) -> bool;
}

/// An open file.
#[expect(clippy::len_without_is_empty, reason = "a length is asked of the disk, which may fail")]
pub trait DiskFile: Send + Sync + Debug {
    /// Where it is, or was when it was opened.
    fn path(&self) -> &Path;

    /// Length in bytes: where the data ends, not what is reserved.
    fn len(&self) -> io::Result<u64>;

    /// Writes all of `parts`, one after another, at `position`. On an error any part may have been written.
    fn write_at(&self, position: u64, parts: &[IoSlice<'_>]) -> io::Result<()>;

    /// Fills `buffer` from `position`; a file that ends early is `UnexpectedEof`.
    fn read_at(&self, position: u64, buffer: &mut [u8]) -> io::Result<()>;

    /// The bytes of `range`, which must lie below the end of the data, to be read or sent later.
    fn view(&self, range: Range<u64>) -> io::Result<Chunk>;

    /// Is the range in memory, so that reading it stalls nobody? A guess is allowed.
    fn is_resident(&self, range: Range<u64>) -> bool;

    /// Brings the range into memory and waits for that: work for [`Disk::spawn`], before a cold range is sent.
    ///
    /// # Errors
    /// As [`DiskFile::read_at`].
    fn warm(&self, range: Range<u64>) -> io::Result<()> {
        let mut scratch = [0; WARM_STEP_BYTES as usize];
        let mut position = range.start;
        while position < range.end {
            let step = (range.end - position).min(WARM_STEP_BYTES);
            self.read_at(position, &mut scratch[..step as usize])?;
            position += step;
        }
        Ok(())
    }

    /// Does anybody still hold a [`Chunk`] of this file?
    fn is_viewed(&self) -> bool;

    /// Reserves room up to `upto` bytes without changing the length. An error of kind `StorageFull` is a plain refusal.
    fn reserve(&self, upto: u64) -> io::Result<()>;

    /// Sets the length and gives back what was reserved beyond it. Shortening a file that is viewed is the caller's bug.
    fn set_len(&self, len: u64) -> io::Result<()>;

    /// Makes what was written survive a crash of the machine (`fdatasync`). Nothing on an ephemeral disk.
    fn sync(&self) -> io::Result<()>;

    /// Tells what the file is for from now on: a sealed segment gives up its descriptor when others need it.
    fn set_kind(&self, kind: FileKind);
}

/// Reads a whole small file.
///
/// # Errors
/// Whatever the disk says; `InvalidData` for a file over `limit_bytes`.
pub fn read_small(disk: &dyn Disk, path: &Path, limit_bytes: u64) -> io::Result<Vec<u8>> {
    let file = disk.open(path, OpenMode::Read, FileKind::Small)?;
    let len = file.len()?;
    if len > limit_bytes {
        let text = format!("{} has {len} bytes, expected at most {limit_bytes}", path.display());
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    let mut bytes = vec![0; len as usize];
    file.read_at(0, &mut bytes)?;
    Ok(bytes)
}

/// Replaces a small file so that after a crash either the old or the new one is there, whole: `.tmp`, sync, rename,
/// sync of the folder.
///
/// # Errors
/// Whatever the disk says; the old file is then still there, or already the new one if only the last step failed.
pub fn replace_small(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (tmp, file) = write_beside(disk, path, bytes)?;
    file.sync()?;
    drop(file);
    disk.rename(&tmp, path)?;
    disk.sync_dir(path.parent().unwrap_or(Path::new(".")))
}

/// As [`replace_small`], but synced by the caller later, by [`Disk::sync_file`] and then its folder. Until then a crash may
/// leave the old one, the new one, or part of the new one.
///
/// # Errors
/// Whatever the disk says; the old file is then still there.
pub fn replace_unsynced(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (tmp, file) = write_beside(disk, path, bytes)?;
    drop(file);
    disk.rename(&tmp, path)
}

/// Writes `bytes` to `path` with `.tmp` behind it.
fn write_beside(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<(PathBuf, Arc<dyn DiskFile>)> {
    let mut tmp = path.as_os_str().to_owned();
    tmp.push(".tmp");
    let tmp = PathBuf::from(tmp);
    let file = disk.open(&tmp, OpenMode::Create, FileKind::Small)?;
    file.set_len(0)?;
    file.write_at(0, &[IoSlice::new(bytes)])?;
    Ok((tmp, file))
}
