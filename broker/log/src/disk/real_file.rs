//! A file on a Linux disk: written by `pwritev`, read through maps, its descriptor and map held only while they pay.
//!
//! ```text
//! 0                     len             reserved         end of the map
//! |----------------------|- - - - - - - - -|- - - - - - - - - |
//!  may be viewed          blocks on the     addresses only
//!                         disk, no length
//! ```
//! Always holds:
//!   1. `len` is the length of the file: only this object writes it, and the folder is locked.
//!   2. A file without a descriptor has nothing unsynced. One that must give its descriptor up is synced first; if that
//!      fails, its next `sync` says so.
//!   3. A descriptor or map is given up only while no [`Chunk`] and no call uses it, so counting them finds every view.
//!   4. A file that was closed is found again by its path, and only if it is the same file: one that was renamed or
//!      replaced in the meantime answers `NotFound`.
//!
//! Read next: `scarce` (who gives up what), `../map.rs`.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use ballast_wire::{Chunk, FileRange};
use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use rustix::fs::FallocateFlags;
use rustix::io::{Errno, ReadWriteFlags};

use super::os::{identity, open_options, with_descriptors, write_all};
use super::scarce::{DESCRIPTORS, Holder, Holders, MAPS, Resource, Verdict};
use super::{DiskFile, FileKind, OpenMode};
use crate::map::Map;

/// From here on a chunk carries its file, so that it can be sent by `sendfile`; in bytes.
pub(super) const SENDFILE_BYTES_MIN: u64 = 64 << 10;
/// The smallest map of a file that grows, in bytes of addresses.
const MAP_BYTES_MIN: u64 = 64 << 10;
/// How far apart pages are probed for residency, in bytes: no more than the kernel reads ahead.
const PROBE_STEP_BYTES: u64 = 128 << 10;

/// What a disk lets its files do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Abilities {
    /// Syncs mean something.
    pub(super) durable: bool,
    /// Room is reserved ahead.
    pub(super) reserves: bool,
}

/// See the module.
pub(super) struct RealFile {
    path: Box<Path>,
    myself: Weak<RealFile>,
    state: Mutex<State>,
    /// Held during a sync: whoever comes second hears how the first one went.
    sync_turn: Mutex<()>,
    /// Used since the list of holders last looked: one mark for each resource.
    descriptor_used: AtomicBool,
    map_used: AtomicBool,
    abilities: Abilities,
}

/// A descriptor. Calls hold this, chunks hold what is inside: so the two can be told apart.
#[derive(Debug)]
struct Open {
    file: Arc<File>,
}

/// Small on purpose: a broker has some ten thousands of these.
struct State {
    open: Option<Arc<Open>>,
    map: Option<Arc<Map>>,
    /// Cloned into every map of this file, also into those that were replaced.
    views: Option<Arc<()>>,
    len: u64,
    reserved: u64,
    identity: u64,
    kind: FileKind,
    writable: bool,
    /// Something was written since the last sync began.
    unsynced: bool,
    sync_failed: bool,
    /// It was viewed before: a map begins to pay.
    viewed_before: bool,
    listed_descriptor: bool,
    listed_map: bool,
}

impl std::fmt::Debug for RealFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RealFile({})", self.path.display())
    }
}

impl Holder for RealFile {
    /// Not what is in use, was used lately, or (without `may_sync`) has something unsynced.
    fn give_up(&self, resource: Resource, may_sync: bool) -> Verdict {
        let Some(mut state) = self.state.try_lock() else { return Verdict::Spared };
        match resource {
            Resource::Descriptor => self.give_up_descriptor(&mut state, may_sync),
            Resource::Map => self.give_up_map(&mut state),
        }
    }
}

impl RealFile {
    /// Opens a file. One that exists and may give up its descriptor is only looked at: the first use opens it.
    pub(super) fn open(path: &Path, mode: OpenMode, kind: FileKind, abilities: Abilities) -> io::Result<Arc<RealFile>> {
        let lazy = is_lazy(kind) && matches!(mode, OpenMode::Read | OpenMode::Write);
        let (open, metadata) = if lazy {
            (None, std::fs::metadata(path)?)
        } else {
            let file = with_descriptors(|| open_options(mode).open(path))?;
            let metadata = file.metadata()?;
            (Some(Arc::new(Open { file: Arc::new(file) })), metadata)
        };
        let state = State {
            open: None,
            map: None,
            views: None,
            len: metadata.len(),
            reserved: 0,
            identity: identity(&metadata),
            kind,
            writable: mode != OpenMode::Read,
            unsynced: false,
            sync_failed: false,
            viewed_before: false,
            listed_descriptor: false,
            listed_map: false,
        };
        let file = Arc::new_cyclic(|myself| RealFile {
            path: path.into(),
            myself: Weak::clone(myself),
            state: Mutex::new(state),
            sync_turn: Mutex::new(()),
            descriptor_used: AtomicBool::new(true),
            map_used: AtomicBool::new(false),
            abilities,
        });
        if let Some(open) = open {
            file.install(&mut file.state.lock(), open);
        }
        Ok(file)
    }

    fn give_up_descriptor(&self, state: &mut State, may_sync: bool) -> Verdict {
        let Some(open) = state.open.as_ref().filter(|_| is_lazy(state.kind)) else {
            state.listed_descriptor = false;
            return Verdict::HadNone;
        };
        let in_use = Arc::strong_count(open) > 1 || Arc::strong_count(&open.file) > 1;
        if in_use || self.descriptor_used.swap(false, Ordering::Relaxed) || (state.unsynced && !may_sync) {
            return Verdict::Spared;
        }
        if state.unsynced && self.abilities.durable {
            state.sync_failed |= rustix::fs::fdatasync(&*open.file).is_err();
        }
        state.unsynced = false;
        state.open = None;
        state.listed_descriptor = false;
        DESCRIPTORS.released();
        Verdict::GaveUp
    }

    fn give_up_map(&self, state: &mut State) -> Verdict {
        let Some(map) = &state.map else {
            state.listed_map = false;
            return Verdict::HadNone;
        };
        if Arc::strong_count(map) > 1 || self.map_used.swap(false, Ordering::Relaxed) {
            return Verdict::Spared;
        }
        state.map = None;
        state.listed_map = false;
        MAPS.released();
        Verdict::GaveUp
    }

    /// The descriptor, opened if need be.
    fn descriptor(&self, state: &mut State) -> io::Result<Arc<Open>> {
        self.descriptor_used.store(true, Ordering::Relaxed);
        if let Some(open) = &state.open {
            return Ok(Arc::clone(open));
        }
        let mode = if state.writable { OpenMode::Write } else { OpenMode::Read };
        let file = with_descriptors(|| open_options(mode).open(&self.path))?;
        if identity(&file.metadata()?) != state.identity {
            let text = format!("{} is another file now than the one that was opened", self.path.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, text));
        }
        let open = Arc::new(Open { file: Arc::new(file) });
        self.install(state, Arc::clone(&open));
        Ok(open)
    }

    fn install(&self, state: &mut State, open: Arc<Open>) {
        state.open = Some(open);
        if is_lazy(state.kind) {
            self.enlist(&DESCRIPTORS, &mut state.listed_descriptor);
        }
    }

    fn enlist(&self, holders: &Holders, listed: &mut bool) {
        let enlist = !std::mem::replace(listed, true);
        holders.took(enlist.then(|| Weak::clone(&self.myself) as Weak<dyn Holder>));
    }

    /// A map that covers everything below `end`, or nothing if there cannot be one now.
    fn map(&self, state: &mut State, end: u64) -> io::Result<Option<Arc<Map>>> {
        self.map_used.store(true, Ordering::Relaxed);
        if let Some(map) = state.map.as_ref().filter(|map| map.covers(end)) {
            return Ok(Some(Arc::clone(map)));
        }
        if MAPS.limit() == 0 {
            return Ok(None);
        }
        let open = self.descriptor(state)?;
        let grows = state.writable && state.kind != FileKind::SealedLog;
        let room = (2 * state.len).next_power_of_two().max(MAP_BYTES_MIN).max(state.reserved);
        let map_len = if grows { room } else { state.len };
        let views = Arc::clone(state.views.get_or_insert_default());
        match Map::new(&open.file, map_len, state.kind == FileKind::Index, views) {
            Ok(map) => {
                let map = Arc::new(map);
                if state.map.replace(Arc::clone(&map)).is_none() {
                    self.enlist(&MAPS, &mut state.listed_map);
                }
                Ok(Some(map))
            }
            Err(error) => {
                let (path, maps) = (self.path.display(), MAPS.held());
                tracing::warn!(%path, %error, maps, "cannot map a file: it is read without (is vm.max_map_count too low?)");
                // Fewer maps from now on: what others need is not ours to use up.
                MAPS.trim(maps / 2);
                Ok(None)
            }
        }
    }

    fn writable(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.state.lock();
        if state.writable {
            return Ok(state);
        }
        Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{} was opened to be read", self.path.display())))
    }
}

impl DiskFile for RealFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.state.lock().len)
    }

    fn write_at(&self, position: u64, parts: &[IoSlice<'_>]) -> io::Result<()> {
        let mut state = self.writable()?;
        let open = self.descriptor(&mut state)?;
        state.unsynced = true;
        drop(state);
        let written = write_all(&open.file, position, parts);
        let mut state = self.state.lock();
        match written {
            Ok(end) => state.len = state.len.max(end),
            Err(_) => state.len = open.file.metadata()?.len(),
        }
        written.map(drop)
    }

    fn read_at(&self, position: u64, buffer: &mut [u8]) -> io::Result<()> {
        let open = self.descriptor(&mut self.state.lock())?;
        open.file.read_exact_at(buffer, position)
    }

    fn view(&self, range: Range<u64>) -> io::Result<Chunk> {
        let mut state = self.state.lock();
        if range.start > range.end || range.end > state.len {
            let (path, len) = (self.path.display(), state.len);
            let text = format!("{path} has {len} bytes: no view of {} to {}", range.start, range.end);
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text));
        }
        if range.is_empty() {
            return Ok(Chunk::Owned(Bytes::new()));
        }
        let len = range.end - range.start;
        let is_small = len < SENDFILE_BYTES_MIN;
        // Mapping costs as much as copying a little once: a map pays from the second look on.
        let is_first = !std::mem::replace(&mut state.viewed_before, true);
        let map = if is_small && is_first && state.map.is_none() { None } else { self.map(&mut state, range.end)? };
        let mapped = map.map(|map| map.slice(range.clone(), state.len));
        match mapped {
            Some(bytes) if is_small && state.open.is_none() => Ok(Chunk::Owned(bytes)),
            mapped => {
                let file = Arc::clone(&self.descriptor(&mut state)?.file);
                Ok(Chunk::File { range: FileRange { file, position: range.start, len: len as usize }, mapped })
            }
        }
    }

    fn is_resident(&self, range: Range<u64>) -> bool {
        let Ok(open) = self.descriptor(&mut self.state.lock()) else { return true };
        if range.is_empty() {
            return true;
        }
        let mut probes = (range.start..range.end).step_by(PROBE_STEP_BYTES as usize).chain([range.end - 1]);
        probes.all(|position| {
            let mut byte = [0];
            let probe =
                rustix::io::preadv2(&*open.file, &mut [IoSliceMut::new(&mut byte)], position, ReadWriteFlags::NOWAIT);
            // A file system that cannot say so, or an error: whoever reads it will see.
            probe != Err(Errno::AGAIN)
        })
    }

    fn is_viewed(&self) -> bool {
        let state = self.state.lock();
        let chunks = state.open.as_ref().is_some_and(|open| Arc::strong_count(&open.file) > 1);
        let slices = state.map.as_ref().is_some_and(|map| Arc::strong_count(map) > 1);
        let maps = state.views.as_ref().map_or(0, |views| Arc::strong_count(views) - 1);
        chunks || slices || maps > usize::from(state.map.is_some())
    }

    fn reserve(&self, upto: u64) -> io::Result<()> {
        if !self.abilities.reserves {
            return Ok(());
        }
        let mut state = self.writable()?;
        let from = state.len.max(state.reserved);
        if upto <= from {
            return Ok(());
        }
        let open = self.descriptor(&mut state)?;
        match rustix::fs::fallocate(&*open.file, FallocateFlags::KEEP_SIZE, from, upto - from) {
            Ok(()) => state.reserved = upto,
            // The file system has no such thing: appends will say when it is full.
            Err(Errno::OPNOTSUPP) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        if self.is_viewed() {
            let had = self.state.lock().len;
            assert!(len >= had, "{} is cut from {had} to {len} bytes while it is viewed", self.path.display());
        }
        let mut state = self.writable()?;
        let open = self.descriptor(&mut state)?;
        open.file.set_len(len)?;
        state.unsynced |= state.len != len;
        state.len = len;
        state.reserved = 0;
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let _turn = self.sync_turn.lock();
        let mut state = self.state.lock();
        if state.sync_failed {
            return Err(io::Error::other(format!("an earlier sync of {} failed", self.path.display())));
        }
        let Some(open) = state.open.clone().filter(|_| state.unsynced) else { return Ok(()) };
        if super::together::are_put_off() {
            // It stays marked: whoever syncs it later does so for itself.
            return Ok(());
        }
        state.unsynced = false;
        drop(state);
        if !self.abilities.durable {
            return Ok(());
        }
        let synced = rustix::fs::fdatasync(&*open.file);
        if synced.is_err() {
            self.state.lock().sync_failed = true;
        }
        synced.map_err(io::Error::from)
    }

    fn set_kind(&self, kind: FileKind) {
        let mut state = self.state.lock();
        let (was_lazy, has_descriptor) = (is_lazy(state.kind), state.open.is_some());
        state.kind = kind;
        match (was_lazy, is_lazy(kind)) {
            (false, true) if has_descriptor => self.enlist(&DESCRIPTORS, &mut state.listed_descriptor),
            (true, false) if has_descriptor => DESCRIPTORS.released(),
            _ => {}
        }
    }
}

impl Drop for RealFile {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        if state.open.is_some() && is_lazy(state.kind) {
            DESCRIPTORS.released();
        }
        if state.map.is_some() {
            MAPS.released();
        }
    }
}

/// May a file of this kind give up its descriptor?
fn is_lazy(kind: FileKind) -> bool {
    matches!(kind, FileKind::SealedLog | FileKind::Index)
}
