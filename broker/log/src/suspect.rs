//! The mark that a failed sync leaves in a log's folder, and what the next opening makes of it.
//!
//! The kernel reports a failed write-back once. After that the pages count as clean: reads show them, later syncs say that
//! all is well, and they are nowhere on the disk. A restart without a reboot would read them, find them whole, and call
//! them safe. The mark need not survive a crash of the machine: the pages do not either.
//!
//! ```text
//! sync fails ──► mark ──► next opening: read all past the recovery point, write the same bytes, sync ──► mark removed ──► scan
//! ```
//! Holds: where the mark is, nothing past the recovery point is believed before it was written and synced once more. It is
//! written *before* it is scanned: a page that leaves memory in between is then read from the disk as it is.

use std::io::IoSlice;

use ballast_wire::Offset;

use crate::disk::{FileKind, OpenMode};
use crate::error::{DiskContext, DiskError};
use crate::leftovers::Found;
use crate::names::{Part, Place, remove_if_there};
use crate::segment::SegmentFiles;

/// Name of the mark.
const SYNC_FAILED: &str = "sync-failed";
/// Bytes that are read and written again at once.
const STEP_BYTES: usize = 1 << 20;

/// Leaves the mark, if the disk takes it.
pub(crate) fn mark(place: &Place, cause: &DiskError) {
    let path = place.join(SYNC_FAILED);
    let text = format!("{cause}\nWhat the last syncs should have covered is written again when this log is opened.\n");
    let left = (|| {
        let file = place.disk.open(&path, OpenMode::Create, FileKind::Small)?;
        file.write_at(0, &[IoSlice::new(text.as_bytes())])?;
        file.sync()?;
        place.disk.sync_dir(&place.dir())
    })();
    // It is seen by the next life of this process even if it is not on the disk.
    if let Err(error) = left {
        tracing::warn!(path = %path.display(), %error, "the mark of a failed sync may not be there: reboot the machine before this broker is started again");
    }
}

/// If the mark is there: writes everything past the recovery point once more, syncs it, and removes the mark. Says how many
/// bytes that were.
///
/// # Errors
/// Whatever the disk says; the mark then stays.
pub(crate) fn write_again(place: &Place, found: &Found, recovery_point: Offset) -> Result<Option<u64>, DiskError> {
    let path = place.join(SYNC_FAILED);
    match place.disk.open(&path, OpenMode::Read, FileKind::Small) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        opened => drop(opened.doing("cannot open", &path)?),
    }
    // The segment that holds the recovery point, and all behind it.
    let first = found.segments.range(..=recovery_point).next_back().map_or(0, |(base, _)| *base);
    let mut bytes = 0;
    for (base, files) in found.segments.range(first..) {
        for part in parts_of(files) {
            bytes += rewrite(place, *base, part)?;
        }
    }
    place.sync()?;
    remove_if_there(place, &path)?;
    place.sync()?;
    Ok(Some(bytes))
}

fn parts_of(files: &SegmentFiles) -> impl Iterator<Item = Part> {
    let parts = [
        Some(Part::Log),
        files.offset_index_bytes.map(|_| Part::OffsetIndex),
        files.time_index_bytes.map(|_| Part::TimeIndex),
        files.txn_index_bytes.map(|_| Part::TxnIndex),
    ];
    parts.into_iter().flatten()
}

/// Writes a file's own bytes over it, and syncs them.
fn rewrite(place: &Place, base: Offset, part: Part) -> Result<u64, DiskError> {
    let path = place.path(base, part);
    let file = place.disk.open(&path, OpenMode::Write, FileKind::Small).doing("cannot open", &path)?;
    let len = file.len().doing("cannot read", &path)?;
    let mut buffer = vec![0; STEP_BYTES];
    let mut position = 0;
    while position < len {
        let step = (len - position).min(STEP_BYTES as u64) as usize;
        file.read_at(position, &mut buffer[..step]).doing("cannot read", &path)?;
        file.write_at(position, &[IoSlice::new(&buffer[..step])]).doing("cannot write", &path)?;
        position += step as u64;
    }
    file.sync().doing("cannot sync", &path)?;
    Ok(len)
}
