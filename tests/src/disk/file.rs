//! One file of the double: its bytes now, and enough of its past to go back to the last sync.
//!
//! ```text
//! sector      0        1        2        3
//! bytes    |synced  |synced  |new     |new  |        <- reads see this
//! before                     |old     |(none)        <- what a crash may bring back
//! ```
//! A sector that is not in `before` holds what the last sync covered. One that a failed sync should have covered is `lost`:
//! reads see it, no sync saves it, and only writing it again makes it like any other.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::Crash;
use super::rng::Rng;

/// What a disk writes whole or not at all, in bytes.
const SECTOR_BYTES: u64 = 512;

/// A file's contents.
#[derive(Debug, Default)]
pub(super) struct FileData {
    bytes: Vec<u8>,
    /// Sectors that changed since the last sync, as they were then: short or empty where the file ended.
    before: BTreeMap<u64, Vec<u8>>,
    synced_len: u64,
    reserved: u64,
    /// Sectors that a failed sync left in memory alone, as they are on the disk.
    lost: BTreeMap<u64, Vec<u8>>,
    /// How many folders name it. It takes room while there is one.
    pub(super) links: u32,
    pub(super) modified_ms: i64,
    viewers: Arc<()>,
}

/// Bytes of a view, which say that they are held.
struct Viewed {
    bytes: Vec<u8>,
    _viewer: Arc<()>,
}

impl AsRef<[u8]> for Viewed {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl FileData {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Bytes that it takes on the disk.
    pub(super) fn allocated(&self) -> u64 {
        self.len().max(self.reserved)
    }

    pub(super) fn read(&self, range: Range<u64>) -> io::Result<&[u8]> {
        let range = range.start as usize..range.end as usize;
        self.bytes.get(range).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    pub(super) fn view(&self, range: Range<u64>) -> io::Result<Bytes> {
        let bytes = self.read(range)?.to_vec();
        Ok(Bytes::from_owner(Viewed { bytes, _viewer: Arc::clone(&self.viewers) }))
    }

    pub(super) fn is_viewed(&self) -> bool {
        Arc::strong_count(&self.viewers) > 1
    }

    pub(super) fn write(&mut self, position: u64, bytes: &[u8]) {
        let end = position + bytes.len() as u64;
        self.remember(position.min(self.len())..end);
        if end > self.len() {
            self.bytes.resize(end as usize, 0);
        }
        self.bytes[position as usize..end as usize].copy_from_slice(bytes);
    }

    pub(super) fn reserve(&mut self, upto: u64) {
        self.reserved = self.reserved.max(upto);
    }

    pub(super) fn set_len(&mut self, len: u64) {
        let viewers = Arc::strong_count(&self.viewers) - 1;
        assert!(len >= self.len() || viewers == 0, "cut from {} to {len} bytes under {viewers} views", self.len());
        self.remember(len.min(self.len())..len.max(self.len()));
        self.bytes.resize(len as usize, 0);
        self.reserved = 0;
    }

    pub(super) fn sync(&mut self) {
        self.before.clear();
        self.synced_len = self.len();
    }

    /// What is unsynced counts as clean from now on, and is not on the disk.
    pub(super) fn fail_sync(&mut self) {
        self.lost.append(&mut self.before);
    }

    /// Memory is needed for something else: what is only there, and counts as clean, goes.
    pub(super) fn evict(&mut self) {
        for (sector, old) in std::mem::take(&mut self.lost) {
            self.put_back(sector, old, self.len());
        }
    }

    pub(super) fn rot(&mut self, position: u64, bytes: &[u8]) -> io::Result<()> {
        self.read(position..position + bytes.len() as u64)?;
        self.bytes[position as usize..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    /// Keeps what the sectors of `range` hold, unless they changed before.
    fn remember(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        for sector in range.start / SECTOR_BYTES..=(range.end - 1) / SECTOR_BYTES {
            let start = ((sector * SECTOR_BYTES) as usize).min(self.bytes.len());
            let end = (((sector + 1) * SECTOR_BYTES) as usize).min(self.bytes.len());
            let lost = self.lost.remove(&sector);
            let old = || lost.unwrap_or_else(|| self.bytes[start..end].to_vec());
            self.before.entry(sector).or_insert_with(old);
        }
    }

    /// A sector holds again what it held, in a file of `len` bytes.
    fn put_back(&mut self, sector: u64, old: Vec<u8>, len: u64) {
        let start = sector * SECTOR_BYTES;
        let end = (start + SECTOR_BYTES).min(len);
        for (at, byte) in (start..end).zip(old.into_iter().chain(std::iter::repeat(0))) {
            self.bytes[at as usize] = byte;
        }
    }

    /// Becomes what a crash leaves.
    pub(super) fn lose(&mut self, crash: Crash, rng: &mut Rng) {
        let last_len = self.len();
        let len = match crash {
            Crash::Process => return,
            Crash::LoseUnsynced => self.synced_len,
            Crash::Tear => surviving_len(self.synced_len, last_len, rng),
            Crash::Fray => last_len,
        };
        self.bytes.resize(len as usize, 0);
        let mut unsynced = std::mem::take(&mut self.before);
        unsynced.append(&mut self.lost);
        for (sector, old) in unsynced {
            // A sector that the last truncation cut off has nothing new to keep.
            let survives = |rng: &mut Rng| match crash {
                Crash::Process | Crash::LoseUnsynced => false,
                Crash::Tear => rng.coin(),
                Crash::Fray => rng.up_to(15) > 0,
            };
            let keep = sector * SECTOR_BYTES < last_len && survives(rng);
            if !keep {
                self.put_back(sector, old, len);
            }
        }
        self.synced_len = len;
        self.reserved = 0;
    }
}

/// Either end, or anything between them.
fn surviving_len(synced: u64, last: u64, rng: &mut Rng) -> u64 {
    let (short, long) = (synced.min(last), synced.max(last));
    match rng.up_to(3) {
        0 => short,
        1 => long,
        _ => short + rng.up_to(long - short),
    }
}
