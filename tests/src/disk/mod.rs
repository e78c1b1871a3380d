//! The faulty double of a disk: in memory, seeded, and as unkind as a real one may be.
//!
//! A [`SimDisk`] is a handle of one *generation* (one life of the broker's process) on a shared world. It counts every
//! call, and can fail any of them, fill up, fail a sync, and refuse the calls of a killed generation. What was written
//! but not synced is remembered by 512-byte sector, and names that no `sync_dir` covered by folder, so that
//! [`SimDisk::crash`] can lose them, all or by a coin.
//!
//! ```text
//! generation 1 ── writes, syncs ──► crash(Tear) ──► generation 2 sees what survived
//!       └─ from here on every call of generation 1 fails
//! ```
//! Always holds:
//!   1. Equal seeds and equal calls give equal results, crashes included.
//!   2. What a `sync` that returned `Ok` covered survives every crash, once the names above it are synced too.
//!   3. A sync that failed leaves its sectors in memory alone: reads see them, a later sync says `Ok` and does not save
//!      them, as on Linux. Only writing them again makes them like any other.
//!   4. Shortening a file that somebody still views is a bug of the caller, and panics.
//!
//! Read next: `file` (sectors), `names` (folders), `faults` (what can be ordered), `outlet` (a disk that a broker keeps
//! over its lives).

mod faults;
mod file;
mod handle;
mod names;
mod outlet;
mod rng;
#[cfg(test)]
mod tests;
mod world;

use std::io;
use std::path::Path;
use std::sync::Arc;

use ballast_log::disk::{Disk, Job};
use parking_lot::{Mutex, MutexGuard};

pub use faults::{Call, Repeat, Trouble};
pub use outlet::Outlet;

use self::world::World;

/// What a crash takes along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crash {
    /// The process dies and the machine lives on (`kill -9`): everything written is still there.
    Process,
    /// Power fails, and nothing unsynced survives: no sector, no name.
    LoseUnsynced,
    /// Power fails, and a coin is thrown for each unsynced sector; of the unsynced changes to a folder a random number
    /// of the first ones survives, and a file may end anywhere between its synced and its last length.
    Tear,
    /// Power fails when nearly all was written: names and lengths are there, and of the unsynced sectors one in sixteen
    /// is not.
    Fray,
}

/// A disk in memory; see the module.
#[derive(Clone)]
pub struct SimDisk {
    world: Arc<Mutex<World>>,
    generation: u64,
}

impl std::fmt::Debug for SimDisk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SimDisk(generation {})", self.generation)
    }
}

impl SimDisk {
    /// An empty disk without limits or faults. `seed` decides what torn writes and crashes leave behind.
    #[must_use]
    pub fn new(seed: u64) -> SimDisk {
        SimDisk { world: Arc::new(Mutex::new(World::new(seed))), generation: 1 }
    }

    /// The same handle as the trait object that the log takes.
    #[must_use]
    pub fn shared(&self) -> Arc<dyn Disk> {
        Arc::new(self.clone())
    }

    /// Fails the call that comes after `n` others, counted from now on over all kinds of calls.
    pub fn fail_call(&self, n: u64, trouble: Trouble, repeat: Repeat) {
        self.world.lock().faults.at_count(n, trouble, repeat);
    }

    /// Fails calls of one kind on paths that contain `path_part` (`""` for all).
    pub fn fail(&self, call: Call, path_part: &str, trouble: Trouble, repeat: Repeat) {
        self.world.lock().faults.on(call, path_part, trouble, repeat);
    }

    /// Takes back every fault that was ordered. What a failed sync lost stays lost.
    pub fn heal(&self) {
        self.world.lock().faults.heal();
    }

    /// Has the fault of the last [`SimDisk::fail_call`] been reached? The loop "fail call n, for every n" ends when not.
    #[must_use]
    pub fn fault_was_reached(&self) -> bool {
        self.world.lock().faults.count_was_reached()
    }

    /// Calls made so far, of all generations.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.world.lock().faults.total()
    }

    /// Calls of one kind made so far, of all generations.
    #[must_use]
    pub fn calls_of(&self, call: Call) -> u64 {
        self.world.lock().faults.total_of(call)
    }

    /// How many bytes of files fit (contents or reservation, whichever is longer); `None` for no limit. May fall below
    /// what is in use.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.world.lock().capacity = bytes;
    }

    /// Bytes in use, as the capacity counts them.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        self.world.lock().used
    }

    /// The time that changes of files are stamped with, in ms since 1970.
    pub fn set_now_ms(&self, now_ms: i64) {
        self.world.lock().now_ms = now_ms;
    }

    /// What `is_resident` answers from now on (at first, that all is in memory).
    pub fn set_resident(&self, resident: bool) {
        self.world.lock().resident = resident;
    }

    /// Keeps jobs instead of running them inside `spawn`, until [`SimDisk::run_jobs`]. Jobs that only read are run as ever.
    pub fn hold_jobs(&self) {
        self.world.lock().held_jobs.get_or_insert_default();
    }

    /// Runs the jobs that were held, and those that they spawn, and holds no more. Says how many ran.
    pub fn run_jobs(&self) -> usize {
        let mut ran = 0;
        while let Some(job) = self.next_job() {
            job();
            ran += 1;
        }
        self.world.lock().held_jobs = None;
        ran
    }

    fn next_job(&self) -> Option<Job> {
        self.world.lock().held_jobs.as_mut()?.pop_front()
    }

    /// What failed syncs of a file left in memory alone leaves it, as when memory runs short: reads see the disk.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn evict(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let file = self.world.lock().names.file(path.as_ref())?;
        file.lock().evict();
        Ok(())
    }

    /// From here on every call of this generation fails. Its locks are free.
    pub fn kill(&self) {
        self.world.lock().kill(self.generation);
    }

    /// As [`SimDisk::kill`], but once `n` more calls of any kind were made: a process dies between any two of them.
    pub fn kill_after(&self, n: u64) {
        self.world.lock().kill_after(self.generation, n);
    }

    /// As [`SimDisk::kill_after`], counted from the last of these calls, which come one after another with others
    /// between them, each on a path that contains the words beside it: a process dies at a telling moment.
    pub fn kill_at(&self, steps: &[(Call, &'static str)], n: u64) {
        self.world.lock().kill_at(self.generation, steps, n);
    }

    /// Was this generation killed?
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.world.lock().is_dead(self.generation)
    }

    /// The next life of a process that was killed while the machine lived on: everything written is there.
    #[must_use]
    pub fn reopen(&self) -> SimDisk {
        self.crash(Crash::Process)
    }

    /// Kills this generation, loses what `crash` says, and hands over what survived. Faults and held jobs are gone.
    #[must_use]
    pub fn crash(&self, crash: Crash) -> SimDisk {
        let mut world = self.world.lock();
        world.kill(self.generation);
        world.lose(crash);
        SimDisk { world: Arc::clone(&self.world), generation: self.generation + 1 }
    }

    /// What a file holds now, without a call being counted.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn peek(&self, path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
        let file = self.world.lock().names.file(path.as_ref())?;
        Ok(file.lock().bytes().to_vec())
    }

    /// Changes bytes behind the broker's back, on the platter: bit rot. No call is counted.
    ///
    /// # Errors
    /// `NotFound`, `UnexpectedEof` for bytes beyond the end.
    pub fn rot(&self, path: impl AsRef<Path>, position: u64, bytes: &[u8]) -> io::Result<()> {
        let file = self.world.lock().names.file(path.as_ref())?;
        file.lock().rot(position, bytes)
    }

    /// Counts a call and says whether it goes through.
    fn enter(&self, call: Call, path: &Path) -> io::Result<MutexGuard<'_, World>> {
        let mut world = self.world.lock();
        world.begin(self.generation, call, path)?;
        world.faults.verdict(call, path)?;
        Ok(world)
    }
}
