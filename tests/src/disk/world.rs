//! What the generations of a double share: names, files, room, orders for faults, dice.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ballast_log::disk::{DirEntry, Job, OpenMode, Space};

use super::Crash;
use super::faults::{Call, Faults};
use super::file::FileData;
use super::names::{FileRef, Names, Node};
use super::rng::Rng;

/// Size of the disk while no capacity is set.
const UNLIMITED_BYTES: u64 = 1 << 40;

pub(super) struct World {
    pub(super) names: Names,
    pub(super) faults: Faults,
    pub(super) capacity: Option<u64>,
    pub(super) used: u64,
    pub(super) now_ms: i64,
    pub(super) resident: bool,
    pub(super) held_jobs: Option<VecDeque<Job>>,
    rng: Rng,
    locks: BTreeSet<PathBuf>,
    /// Generations up to here are dead.
    killed_upto: u64,
    /// This generation dies before the call with this number.
    last_call: Option<(u64, u64)>,
    /// What makes a generation die so many calls later.
    omen: Option<Omen>,
}

/// See [`super::SimDisk::kill_at`].
struct Omen {
    generation: u64,
    steps: VecDeque<(Call, &'static str)>,
    calls_left: u64,
}

impl World {
    pub(super) fn new(seed: u64) -> World {
        World {
            names: Names::default(),
            faults: Faults::default(),
            capacity: None,
            used: 0,
            now_ms: 0,
            resident: true,
            held_jobs: None,
            rng: Rng::new(seed),
            locks: BTreeSet::new(),
            killed_upto: 0,
            last_call: None,
            omen: None,
        }
    }

    /// Lets only the living generation in.
    fn admit(&self, generation: u64) -> io::Result<()> {
        if !self.is_dead(generation) {
            return Ok(());
        }
        Err(io::Error::new(
            io::ErrorKind::BrokenPipe,
            format!("generation {generation} of this disk's user was killed"),
        ))
    }

    pub(super) fn is_dead(&self, generation: u64) -> bool {
        let is_past = |(mortal, call)| mortal == generation && self.faults.total() >= call;
        generation <= self.killed_upto || self.last_call.is_some_and(is_past)
    }

    pub(super) fn kill_after(&mut self, generation: u64, calls: u64) {
        self.last_call = Some((generation, self.faults.total() + calls));
    }

    pub(super) fn kill_at(&mut self, generation: u64, steps: &[(Call, &'static str)], calls_left: u64) {
        self.omen = Some(Omen { generation, steps: steps.iter().copied().collect(), calls_left });
    }

    /// Lets a call of the living generation in.
    pub(super) fn begin(&mut self, generation: u64, call: Call, path: &Path) -> io::Result<()> {
        self.admit(generation)?;
        let path = path.to_string_lossy();
        let omen = self.omen.as_mut().filter(|omen| omen.generation == generation);
        let Some(omen) = omen else { return Ok(()) };
        if omen.steps.front().is_some_and(|(awaited, part)| *awaited == call && path.contains(*part)) {
            omen.steps.pop_front();
        }
        if omen.steps.is_empty() {
            let calls = omen.calls_left + 1;
            self.omen = None;
            self.kill_after(generation, calls);
        }
        Ok(())
    }

    pub(super) fn kill(&mut self, generation: u64) {
        if generation > self.killed_upto {
            self.killed_upto = generation;
            self.locks.clear();
        }
    }

    pub(super) fn lose(&mut self, crash: Crash) {
        self.faults.end_of_life();
        self.held_jobs = None;
        let files = self.names.lose(crash, &mut self.rng);
        for file in &files {
            file.lock().links = 0;
        }
        self.used = 0;
        for file in &files {
            let mut file = file.lock();
            file.links += 1;
            if file.links == 1 {
                file.lose(crash, &mut self.rng);
                self.used += file.allocated();
            }
        }
    }

    pub(super) fn open(&mut self, path: &Path, mode: OpenMode) -> io::Result<FileRef> {
        match (self.names.file(path), mode) {
            (Ok(_), OpenMode::CreateNew) => Err(io::ErrorKind::AlreadyExists.into()),
            (Err(error), OpenMode::Create | OpenMode::CreateNew) if error.kind() == io::ErrorKind::NotFound => {
                let file = FileRef::default();
                file.lock().modified_ms = self.now_ms;
                file.lock().links = 1;
                self.names.put_file(path, &file)?;
                Ok(file)
            }
            (found, _) => found,
        }
    }

    pub(super) fn list(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        let entry = |(name, node): (String, Node)| match node {
            Node::Dir(_) => DirEntry { name, is_dir: true, len: 0, modified_ms: 0 },
            Node::File(file) => {
                let file = file.lock();
                DirEntry { name, is_dir: false, len: file.len(), modified_ms: file.modified_ms }
            }
        };
        Ok(self.names.list(path)?.into_iter().map(entry).collect())
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        if from == to {
            return self.names.file(from).map(drop);
        }
        let replaced = self.names.rename(from, to)?;
        self.unlink(replaced);
        Ok(())
    }

    pub(super) fn remove_file(&mut self, path: &Path) -> io::Result<()> {
        let file = self.names.remove_file(path)?;
        self.unlink([file]);
        Ok(())
    }

    pub(super) fn remove_dir(&mut self, path: &Path) -> io::Result<()> {
        let files = self.names.remove_dir(path)?;
        self.unlink(files);
        Ok(())
    }

    fn unlink(&mut self, files: impl IntoIterator<Item = FileRef>) {
        for file in files {
            let mut file = file.lock();
            file.links -= 1;
            if file.links == 0 {
                self.used -= file.allocated();
            }
        }
    }

    pub(super) fn lock(&mut self, path: &Path) -> io::Result<()> {
        self.open(path, OpenMode::Create)?;
        if self.locks.insert(path.to_owned()) { Ok(()) } else { Err(io::ErrorKind::WouldBlock.into()) }
    }

    pub(super) fn unlock(&mut self, generation: u64, path: &Path) {
        if self.admit(generation).is_ok() {
            self.locks.remove(path);
        }
    }

    pub(super) fn space(&self) -> Space {
        let total_bytes = self.capacity.unwrap_or(UNLIMITED_BYTES);
        Space { total_bytes, available_bytes: total_bytes.saturating_sub(self.used) }
    }

    /// Writes what there is room for.
    pub(super) fn write(&mut self, file: &FileRef, position: u64, bytes: &[u8]) -> io::Result<()> {
        let mut file = file.lock();
        let may_end = file.allocated().saturating_add(self.space().available_bytes);
        let fits = (may_end.saturating_sub(position)).min(bytes.len() as u64) as usize;
        let had = file.allocated();
        if fits > 0 {
            file.write(position, &bytes[..fits]);
            file.modified_ms = self.now_ms;
        }
        self.grew(&file, had);
        if fits < bytes.len() { Err(super::Trouble::Full.error()) } else { Ok(()) }
    }

    /// A write that fails for another cause: a random first part of it got through.
    pub(super) fn tear(&mut self, file: &FileRef, position: u64, bytes: &[u8]) {
        let through = self.rng.up_to(bytes.len() as u64) as usize;
        // Whether even that part found room changes nothing: the call fails.
        drop(self.write(file, position, &bytes[..through]));
    }

    pub(super) fn reserve(&mut self, file: &FileRef, upto: u64) -> io::Result<()> {
        let mut file = file.lock();
        let had = file.allocated();
        if upto.saturating_sub(had) > self.space().available_bytes {
            return Err(super::Trouble::Full.error());
        }
        file.reserve(upto);
        self.grew(&file, had);
        Ok(())
    }

    pub(super) fn set_len(&mut self, file: &FileRef, len: u64) {
        let mut file = file.lock();
        let had = file.allocated();
        file.set_len(len);
        file.modified_ms = self.now_ms;
        self.grew(&file, had);
    }

    fn grew(&mut self, file: &FileData, had: u64) {
        if file.links > 0 {
            self.used = self.used - had + file.allocated();
        }
    }

    pub(super) fn spawn(&mut self, job: Job) -> Option<Job> {
        match &mut self.held_jobs {
            Some(held) => {
                held.push_back(job);
                None
            }
            None => Some(job),
        }
    }
}

/// Held by whoever locked a path.
pub(super) struct Lock {
    pub(super) world: Arc<parking_lot::Mutex<World>>,
    pub(super) generation: u64,
    pub(super) path: PathBuf,
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.world.lock().unlock(self.generation, &self.path);
    }
}
