//! The calls of `Disk` and `DiskFile`, as the double answers them: count, fail if so ordered, else ask the world.

use std::io::{self, IoSlice};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ballast_log::disk::{DirEntry, Disk, DiskFile, FileKind, Job, OpenMode, Space};
use ballast_wire::Chunk;

use super::SimDisk;
use super::faults::Call;
use super::names::FileRef;
use super::world::Lock;

impl Disk for SimDisk {
    fn open(&self, path: &Path, mode: OpenMode, _kind: FileKind) -> io::Result<Arc<dyn DiskFile>> {
        let file = self.enter(Call::Open, path)?.open(path, mode)?;
        Ok(Arc::new(SimFile { disk: self.clone(), path: path.to_owned(), file, writable: mode != OpenMode::Read }))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.enter(Call::CreateDir, path)?.names.create_dir(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        self.enter(Call::List, path)?.list(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.enter(Call::Rename, from)?.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.enter(Call::RemoveFile, path)?.remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.enter(Call::RemoveDir, path)?.remove_dir(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.enter(Call::SyncDir, path)?.names.sync_dir(path)
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        let mut world = self.world.lock();
        world.begin(self.generation, Call::Sync, path)?;
        let file = world.names.file(path)?;
        if let Err(error) = world.faults.verdict(Call::Sync, path) {
            file.lock().fail_sync();
            return Err(error);
        }
        file.lock().sync();
        Ok(())
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        self.enter(Call::Lock, path)?.lock(path)?;
        let world = Arc::clone(&self.world);
        Ok(Box::new(Lock { world, generation: self.generation, path: path.to_owned() }))
    }

    fn space(&self, path: &Path) -> io::Result<Space> {
        Ok(self.enter(Call::Space, path)?.space())
    }

    fn spawn(&self, job: Job) {
        let job = self.world.lock().spawn(job);
        if let Some(job) = job {
            job();
        }
    }

    fn spawn_read(&self, job: Job) {
        job();
    }

    fn is_durable(&self) -> bool {
        true
    }
}

/// An open file of the double.
struct SimFile {
    disk: SimDisk,
    path: PathBuf,
    file: FileRef,
    writable: bool,
}

impl std::fmt::Debug for SimFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SimFile({}, {:?})", self.path.display(), self.disk)
    }
}

impl SimFile {
    fn must_be_writable(&self) -> io::Result<()> {
        if self.writable {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{} was opened to be read", self.path.display())))
    }
}

impl DiskFile for SimFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn len(&self) -> io::Result<u64> {
        let _world = self.disk.enter(Call::Len, &self.path)?;
        Ok(self.file.lock().len())
    }

    fn write_at(&self, position: u64, parts: &[IoSlice<'_>]) -> io::Result<()> {
        self.must_be_writable()?;
        let bytes = parts.iter().map(|part| &**part).collect::<Vec<&[u8]>>().concat();
        let mut world = self.disk.world.lock();
        world.begin(self.disk.generation, Call::Write, &self.path)?;
        if let Err(error) = world.faults.verdict(Call::Write, &self.path) {
            world.tear(&self.file, position, &bytes);
            return Err(error);
        }
        world.write(&self.file, position, &bytes)
    }

    fn read_at(&self, position: u64, buffer: &mut [u8]) -> io::Result<()> {
        let _world = self.disk.enter(Call::Read, &self.path)?;
        let file = self.file.lock();
        buffer.copy_from_slice(file.read(position..position + buffer.len() as u64)?);
        Ok(())
    }

    fn view(&self, range: Range<u64>) -> io::Result<Chunk> {
        let _world = self.disk.enter(Call::View, &self.path)?;
        Ok(self.file.lock().view(range)?.into())
    }

    fn is_resident(&self, _range: Range<u64>) -> bool {
        self.disk.world.lock().resident
    }

    fn is_viewed(&self) -> bool {
        self.file.lock().is_viewed()
    }

    fn reserve(&self, upto: u64) -> io::Result<()> {
        self.must_be_writable()?;
        self.disk.enter(Call::Reserve, &self.path)?.reserve(&self.file, upto)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.must_be_writable()?;
        self.disk.enter(Call::SetLen, &self.path)?.set_len(&self.file, len);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut world = self.disk.world.lock();
        world.begin(self.disk.generation, Call::Sync, &self.path)?;
        if let Err(error) = world.faults.verdict(Call::Sync, &self.path) {
            self.file.lock().fail_sync();
            return Err(error);
        }
        self.file.lock().sync();
        Ok(())
    }

    fn set_kind(&self, _kind: FileKind) {}
}
