//! Read-only maps of files: the one place in Ballast with `unsafe`.
//!
//! A map may reach beyond the end of the data (the active segment is mapped over its reservation, so that it is mapped
//! once and not after each append). Pages beyond the end raise SIGBUS when they are touched, therefore nothing hands out
//! a slice without being told where the data ends now, and checking it.
//!
//! Always holds:
//!   1. A slice lies within the map and below the end of the data at the time it was made.
//!   2. A slice holds its map, and a map the token that counts the views of its file.
//!
//! Read next: `disk/real_file.rs` (who decides what is mapped).

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use memmap2::{Advice, MmapOptions, MmapRaw};

/// A read-only map of the first bytes of a file.
#[derive(Debug)]
pub(crate) struct Map {
    raw: MmapRaw,
    /// Shared by all maps of one file: as long as a clone lives, so does a map of it.
    _views: Arc<()>,
}

/// Part of a map, as the owner of a [`Bytes`].
struct Slice {
    map: Arc<Map>,
    range: Range<usize>,
}

impl Map {
    /// Maps the first `len` bytes of `file`, which may be more than it has. `random` tells the kernel not to read ahead:
    /// one touched byte of an index costs up to 1 MiB of page cache otherwise.
    ///
    /// # Errors
    /// Whatever `mmap` says: `ENOMEM` when the process has `vm.max_map_count` maps.
    pub(crate) fn new(file: &File, len: u64, random: bool, views: Arc<()>) -> io::Result<Map> {
        let raw = MmapOptions::new().len(len as usize).map_raw_read_only(file)?;
        if random {
            raw.advise(Advice::Random)?;
        }
        Ok(Map { raw, _views: views })
    }

    /// Does the map cover everything below `end`?
    pub(crate) fn covers(&self, end: u64) -> bool {
        end <= self.raw.len() as u64
    }

    /// The bytes of `range`. `data_end` is where the file's data ends now.
    pub(crate) fn slice(self: &Arc<Map>, range: Range<u64>, data_end: u64) -> Bytes {
        assert!(range.start <= range.end, "a slice from {} to {}", range.start, range.end);
        assert!(range.end <= data_end, "a slice to {} of a file with {data_end} bytes", range.end);
        assert!(self.covers(range.end), "a slice to {} of a map of {} bytes", range.end, self.raw.len());
        Bytes::from_owner(Slice { map: Arc::clone(self), range: range.start as usize..range.end as usize })
    }
}

impl AsRef<[u8]> for Slice {
    fn as_ref(&self) -> &[u8] {
        let first = self.map.raw.as_ptr().wrapping_add(self.range.start);
        // SAFETY: the range lies within the map and below the end of the data (`Map::slice` asserts both), and the map
        // lives as long as `self`. The bytes do not change while the slice lives, and stay below the end:
        //  - a file is only appended to; what lies below its end is neither rewritten nor cut while it is viewed
        //    (`disk/mod.rs`, promise 4; `RealFile::set_len` asserts it for cutting);
        //  - deletion and renaming change the name only: the inode lives until this map is dropped;
        //  - another process could still cut the file: `dirs` holds the lock of the folder for our lifetime.
        #[expect(unsafe_code, reason = "bytes of a map, without copying them")]
        unsafe {
            std::slice::from_raw_parts(first, self.range.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn map_of(bytes: &[u8], map_len: u64) -> Arc<Map> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        Arc::new(Map::new(&file, map_len, true, Arc::default()).unwrap())
    }

    #[test]
    fn a_slice_outlives_the_file_and_every_other_handle_of_the_map() {
        let map = map_of(b"0123456789", 10);
        let slice = map.slice(2..5, 10);
        drop(map);
        assert_eq!(slice, "234");
    }

    #[test]
    #[should_panic(expected = "a slice to 11 of a file with 10 bytes")]
    fn a_slice_beyond_the_data_is_refused_even_where_the_map_goes_on() {
        map_of(b"0123456789", 1 << 20).slice(0..11, 10);
    }
}
