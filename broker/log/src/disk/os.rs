//! Calls of Linux that need a little care: opening when descriptors run out, telling files apart, writing all of many parts.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, IoSlice};
use std::os::unix::fs::MetadataExt as _;

use rustix::io::Errno;

use super::OpenMode;
use super::scarce::DESCRIPTORS;

/// How std opens a file in a mode.
pub(super) fn open_options(mode: OpenMode) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(mode != OpenMode::Read);
    options.create(mode == OpenMode::Create).create_new(mode == OpenMode::CreateNew);
    options
}

/// Does something that needs a descriptor, if only for a while; if the process has none left, some are given up first.
pub(super) fn with_descriptors<T>(open: impl Fn() -> io::Result<T>) -> io::Result<T> {
    match open() {
        Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::MFILE | Errno::NFILE)) => {
            DESCRIPTORS.trim(DESCRIPTORS.held() / 2);
            open()
        }
        opened => opened,
    }
}

/// Tells files apart: device, number, and time of birth, because a number is used again soon after its file is gone.
pub(super) fn identity(metadata: &Metadata) -> u64 {
    let born = metadata.created().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let born = born.map_or(0, |age| age.as_nanos() as u64);
    let mixed = metadata.dev().rotate_left(48) ^ metadata.ino().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ born
}

/// Writes all of `parts` at `position`; returns where they end.
pub(super) fn write_all(file: &File, position: u64, parts: &[IoSlice<'_>]) -> io::Result<u64> {
    let total: usize = parts.iter().map(|part| part.len()).sum();
    let end = position + total as u64;
    let mut written = write_some(file, position, parts)?;
    if written == total {
        return Ok(end);
    }
    // Cut short: by a signal, a full disk, or more parts than one call takes.
    let mut copy = parts.to_vec();
    let mut rest = &mut copy[..];
    let mut position = position;
    loop {
        position += written as u64;
        IoSlice::advance_slices(&mut rest, written);
        if position == end {
            return Ok(end);
        }
        written = write_some(file, position, rest)?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
    }
}

fn write_some(file: &File, position: u64, parts: &[IoSlice<'_>]) -> io::Result<usize> {
    /// What one call takes on Linux.
    const PARTS_MAX: usize = 1024;
    let parts = &parts[..parts.len().min(PARTS_MAX)];
    Ok(rustix::io::retry_on_intr(|| rustix::io::pwritev(file, parts, position))?)
}
