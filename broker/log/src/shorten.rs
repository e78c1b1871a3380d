//! A segment's file is cut: in place, or by a shorter copy where somebody may still read what goes.
//!
//! Holds: the name stands for the old file or for the whole copy, whatever happens in between.

use std::io::IoSlice;

use crate::disk::{DiskFile, FileKind, OpenMode};
use crate::error::{DiskContext, DiskError};
use crate::names::{Stage, staged};
use crate::segment::Segment;

/// How much of a file is copied at once, in bytes.
const COPY_BYTES: usize = 1 << 20;

/// Makes a segment's file end at `bytes`: in place if nobody holds it, else by a shorter copy under the same name.
/// The caller holds the cut lock.
pub(crate) fn shorten(segment: &Segment, bytes: u64, kind: FileKind) -> Result<(), DiskError> {
    let file = segment.file()?;
    let sealed_len = file.len().doing("cannot stat", file.path())?;
    if sealed_len == bytes || !file.is_viewed() {
        return file.set_len(bytes).doing("cannot cut", file.path());
    }
    let disk = &segment.place.disk;
    let path = segment.path();
    let tmp = staged(&path, Stage::Tmp);
    let copy = disk.open(&tmp, OpenMode::Create, kind).doing("cannot make", &tmp)?;
    copy.set_len(0).doing("cannot empty", &tmp)?;
    copy_bytes(&*file, &*copy, bytes)?;
    // The name changes to something that is whole, or not at all.
    copy.sync().doing("cannot sync", &tmp)?;
    drop(copy);
    disk.rename(&tmp, &path).doing("cannot rename", &tmp)?;
    segment.place.sync()?;
    segment.replace_file(None);
    segment.open_file(kind)?;
    Ok(())
}

fn copy_bytes(from: &dyn DiskFile, to: &dyn DiskFile, bytes: u64) -> Result<(), DiskError> {
    let mut buffer = vec![0; COPY_BYTES.min(bytes as usize)];
    let mut position = 0;
    while position < bytes {
        let piece = (bytes - position).min(COPY_BYTES as u64) as usize;
        from.read_at(position, &mut buffer[..piece]).doing("cannot read", from.path())?;
        to.write_at(position, &[IoSlice::new(&buffer[..piece])]).doing("cannot write", to.path())?;
        position += piece as u64;
    }
    Ok(())
}
