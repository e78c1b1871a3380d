//! A disk that is slow, full, or fails a sync when it is told to, around one that works; and that is gone with its broker.
//!
//! Once the broker was killed every call fails, so that nothing reaches the files that a killed process would not have
//! written. Jobs are counted: after [`Harness::await_jobs`] none of them holds anything of the disk any more.

use std::io::{self, ErrorKind, IoSlice};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use ballast_log::disk::{DirEntry, Disk, DiskFile, FileKind, Job, OpenMode, Space};
use ballast_wire::Chunk;

use super::faults::DiskCall;
use super::harness::Harness;

/// The folder of the metadata log: no fault of a topic's disk meets it.
const METADATA_FOLDER: &str = "__cluster_metadata-0";

impl Harness {
    /// `disk` with the faults around it.
    #[must_use]
    pub fn disk(self: &Arc<Harness>, disk: Arc<dyn Disk>) -> Arc<dyn Disk> {
        Arc::new(FaultyDisk::new(disk, Arc::clone(self)))
    }
}

/// See the module.
#[derive(Debug)]
struct FaultyDisk {
    inner: Arc<dyn Disk>,
    harness: Arc<Harness>,
}

impl FaultyDisk {
    fn new(inner: Arc<dyn Disk>, harness: Arc<Harness>) -> FaultyDisk {
        let is_durable = inner.is_durable();
        harness.faults().syncs.store(is_durable, std::sync::atomic::Ordering::Relaxed);
        FaultyDisk { inner, harness }
    }

    fn counted(&self, job: Job) -> Job {
        let place = self.harness.job();
        Box::new(move || {
            job();
            drop(place);
        })
    }

    fn alive(&self) -> io::Result<&dyn Disk> {
        alive(&self.harness)?;
        Ok(&*self.inner)
    }
}

fn alive(harness: &Harness) -> io::Result<()> {
    if harness.is_dead() { Err(io::Error::other("the broker was killed")) } else { Ok(()) }
}

impl Disk for FaultyDisk {
    fn open(&self, path: &Path, mode: OpenMode, kind: FileKind) -> io::Result<Arc<dyn DiskFile>> {
        let inner = self.alive()?.open(path, mode, kind)?;
        Ok(Arc::new(FaultyFile { segment_of: segment_of(path), inner, harness: Arc::clone(&self.harness) }))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.alive()?.create_dir(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        self.alive()?.list(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.alive()?.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.alive()?.remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.alive()?.remove_dir(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.alive()?.sync_dir(path)
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        self.alive()?.sync_file(path)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        self.alive()?.lock(path)
    }

    fn space(&self, path: &Path) -> io::Result<Space> {
        self.alive()?.space(path)
    }

    fn together(&self, path: &Path, work: &mut dyn FnMut()) -> io::Result<()> {
        self.alive()?.together(path, work)
    }

    fn spawn(&self, job: Job) {
        self.inner.spawn(self.counted(job));
    }

    fn spawn_read(&self, job: Job) {
        self.inner.spawn_read(self.counted(job));
    }

    fn is_durable(&self) -> bool {
        self.inner.is_durable()
    }
}

/// The partition folder whose segment this file is; `None` for any other file, and for the metadata log.
fn segment_of(path: &Path) -> Option<Box<str>> {
    let folder = path.parent()?.file_name()?.to_str()?;
    let is_segment = path.extension().is_some_and(|extension| extension == "log");
    (is_segment && folder != METADATA_FOLDER).then(|| folder.into())
}

#[derive(Debug)]
struct FaultyFile {
    inner: Arc<dyn DiskFile>,
    harness: Arc<Harness>,
    segment_of: Option<Box<str>>,
}

impl FaultyFile {
    /// Lets the rules act on a call, before it is made.
    fn before(&self, call: DiskCall<'_>) -> io::Result<()> {
        let verdict = self.harness.faults().on_disk(call);
        if !verdict.delay.is_zero() {
            // A slow disk keeps the thread that called it, as a real one does.
            std::thread::sleep(verdict.delay);
        }
        alive(&self.harness)?;
        if verdict.full {
            return Err(io::Error::new(ErrorKind::StorageFull, "a fault fills the disk"));
        }
        if verdict.fail {
            return Err(io::Error::other("a fault fails the sync"));
        }
        Ok(())
    }

    fn append(&self) -> DiskCall<'_> {
        self.segment_of.as_deref().map_or(DiskCall::Move, |folder| DiskCall::Append { folder })
    }
}

impl DiskFile for FaultyFile {
    fn path(&self) -> &Path {
        self.inner.path()
    }

    fn len(&self) -> io::Result<u64> {
        alive(&self.harness)?;
        self.inner.len()
    }

    fn write_at(&self, position: u64, parts: &[IoSlice<'_>]) -> io::Result<()> {
        self.before(self.append())?;
        self.inner.write_at(position, parts)
    }

    fn read_at(&self, position: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.before(DiskCall::Move)?;
        self.inner.read_at(position, buffer)
    }

    fn view(&self, range: Range<u64>) -> io::Result<Chunk> {
        self.before(DiskCall::Move)?;
        self.inner.view(range)
    }

    fn is_resident(&self, range: Range<u64>) -> bool {
        self.inner.is_resident(range)
    }

    fn warm(&self, range: Range<u64>) -> io::Result<()> {
        self.before(DiskCall::Move)?;
        self.inner.warm(range)
    }

    fn is_viewed(&self) -> bool {
        self.inner.is_viewed()
    }

    fn reserve(&self, upto: u64) -> io::Result<()> {
        self.before(self.append())?;
        self.inner.reserve(upto)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.before(DiskCall::Move)?;
        self.inner.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.before(self.segment_of.as_deref().map_or(DiskCall::Move, |folder| DiskCall::Sync { folder }))?;
        self.inner.sync()
    }

    fn set_kind(&self, kind: FileKind) {
        self.inner.set_kind(kind);
    }
}

#[cfg(test)]
mod tests {
    use ballast_log::disk::RealDisk;

    use super::*;
    use crate::embed::Fault;
    use crate::embed::faults::{FaultError, Faults};

    struct Rig {
        folder: tempfile::TempDir,
        harness: Arc<Harness>,
        disk: Arc<dyn Disk>,
    }

    fn rig(inner: Arc<dyn Disk>) -> Rig {
        let harness = Harness::new(Arc::new(Faults::default()));
        let disk = harness.disk(inner);
        Rig { folder: tempfile::tempdir().unwrap(), harness, disk }
    }

    impl Rig {
        fn segment(&self, folder: &str) -> Arc<dyn DiskFile> {
            let folder = self.folder.path().join(folder);
            self.disk.create_dir(&folder).unwrap();
            let path = folder.join("00000000000000000000.log");
            self.disk.open(&path, OpenMode::Create, FileKind::ActiveLog).unwrap()
        }
    }

    fn write(file: &Arc<dyn DiskFile>) -> io::Result<()> {
        file.write_at(0, &[IoSlice::new(b"abc")])
    }

    #[test]
    fn a_full_disk_refuses_segments_of_topics_and_nothing_else() {
        let rig = rig(RealDisk::ephemeral());
        let (topic, metadata) = (rig.segment("orders-0"), rig.segment(METADATA_FOLDER));
        let id = rig.harness.faults().plant(Fault::disk_full()).unwrap();
        assert_eq!(write(&topic).unwrap_err().kind(), ErrorKind::StorageFull);
        assert_eq!(topic.reserve(1 << 20).unwrap_err().kind(), ErrorKind::StorageFull);
        write(&metadata).unwrap();
        topic.set_len(0).unwrap();
        assert_eq!(rig.harness.faults().fired(id), 2);
        rig.harness.faults().clear();
        write(&topic).unwrap();
    }

    #[test]
    fn a_sync_fails_once_where_syncs_mean_something() {
        let durable = rig(RealDisk::new(ballast_log::disk::DiskOptions::default()));
        let file = durable.segment("orders-0");
        durable.harness.faults().plant(Fault::fail_next_sync()).unwrap();
        file.sync().unwrap_err();
        file.sync().unwrap();
        let ephemeral = rig(RealDisk::ephemeral());
        let refused = ephemeral.harness.faults().plant(Fault::fail_next_sync());
        assert_eq!(refused, Err(FaultError::NothingSyncs));
    }

    #[test]
    fn nothing_reaches_the_files_of_a_killed_broker() {
        let rig = rig(RealDisk::ephemeral());
        let file = rig.segment("orders-0");
        write(&file).unwrap();
        rig.harness.die();
        write(&file).unwrap_err();
        file.set_len(0).unwrap_err();
        rig.disk.remove_dir(rig.folder.path()).unwrap_err();
        rig.disk.rename(file.path(), &rig.folder.path().join("other")).unwrap_err();
        assert_eq!(std::fs::read(file.path()).unwrap(), b"abc");
    }

    #[test]
    fn jobs_are_over_when_they_have_been_waited_for() {
        let rig = rig(RealDisk::ephemeral());
        let held = Arc::new(());
        for _ in 0..50 {
            let held = Arc::clone(&held);
            rig.disk.spawn(Box::new(move || drop(held)));
        }
        rig.harness.await_jobs();
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
