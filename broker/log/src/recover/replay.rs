//! Producers and epochs from headers alone: what opening a log needs to know of the batches it does not scan.

use std::sync::Arc;

use ballast_wire::Offset;
use ballast_wire::batch::{BatchError, BatchView};

use super::Recovery;
use crate::error::{DiskError, ReadError};
use crate::header::Header;
use crate::names::{Part, Place, parse};
use crate::producer::snapshot;
use crate::producer::state::Producers;
use crate::scan::{HEADERS_WINDOW_BYTES, Scanner};
use crate::segment::Segment;
use crate::validate::{Marker, marker_of};

/// The producers at `end`: from the newest good snapshot at or below it, and the batches since.
pub(crate) fn replay(place: &Place, segments: &[Arc<Segment>], end: Offset) -> Result<Producers, ReadError> {
    let (mut producers, from) = newest_snapshot(place, end)?;
    for (index, segment) in segments.iter().enumerate() {
        let is_below = segments.get(index + 1).is_some_and(|next| next.base <= from);
        if is_below || segment.bytes() == 0 {
            continue;
        }
        if segment.base >= end {
            break;
        }
        let file = segment.file()?;
        let mut scanner = Scanner::new(&*file, segment.bytes(), HEADERS_WINDOW_BYTES);
        let mut position = segment.hint(from, &mut scanner)?;
        while let Some(header) = scanner.batch(position)?.filter(|header| header.base_offset < end) {
            if header.has_producer() && header.base_offset >= from {
                let marker = marker_at(&mut scanner, position, &header)?;
                let damaged = |cause| ReadError::Damaged { path: segment.path(), position, cause };
                producers.apply(&header, marker.map_err(damaged)?);
            }
            position += header.size;
        }
    }
    Ok(producers)
}

/// The newest snapshot at or below `end` that is good, and its offset; nothing from offset 0 without one.
fn newest_snapshot(place: &Place, end: Offset) -> Result<(Producers, Offset), DiskError> {
    for entry in place.list()?.iter().rev() {
        let Some(name) = parse(&entry.name) else { continue };
        if name.part != Part::Snapshot || name.stage.is_some() || name.base > end {
            continue;
        }
        let path = place.join(&entry.name);
        match snapshot::load(&*place.disk, &path)? {
            Ok(producers) => return Ok((producers, name.base)),
            Err(reason) => {
                tracing::warn!(path = %path.display(), reason, "a producer snapshot is damaged, replaying more");
            }
        }
    }
    Ok((Producers::default(), Offset::MIN))
}

/// What the control batch at `position` ends; `None` for any other batch.
pub(super) fn marker_at(
    scanner: &mut Scanner<'_>,
    position: u64,
    header: &Header,
) -> Result<Result<Option<Marker>, BatchError>, DiskError> {
    // Markers are small: what does not fit the smallest window is none.
    if !header.attributes.is_control() || header.size > HEADERS_WINDOW_BYTES as u64 || !scanner.fits(header.size) {
        return Ok(Ok(None));
    }
    let bytes = scanner.bytes(position, header.size as usize)?;
    Ok(BatchView::parse(bytes).and_then(|batch| marker_of(&batch)))
}

impl Recovery<'_> {
    /// Learns the epochs of a segment that is not scanned.
    pub(super) fn walk_epochs(&mut self, segment: &Segment) -> Result<(), ReadError> {
        if segment.bytes() == 0 {
            return Ok(());
        }
        let file = segment.file()?;
        let mut scanner = Scanner::new(&*file, segment.bytes(), HEADERS_WINDOW_BYTES);
        let mut position = 0;
        while let Some(header) = scanner.batch(position)? {
            self.epochs.assign(header.leader_epoch, header.base_offset);
            position += header.size;
        }
        Ok(())
    }
}
