//! What interrupted work left in a folder: removed, or completed.
//!
//! ```text
//! .tmp .deleted .cleaned   removed
//! .swap                    written whole by the cleaner: everything it replaces is removed, then it takes its name;
//!                          unless a .cleaned at or below it says that its set is not complete
//! index without a log, snapshot that is neither a segment's nor the newest    removed
//! ```
//! Holds: each step can be interrupted and done again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ballast_wire::Offset;

use crate::disk::{DirEntry, FileKind, OpenMode};
use crate::error::{DiskContext, DiskError};
use crate::names::{Name, Part, Place, Stage, parse, remove_if_there, strip_stage};
use crate::recover::RecoveryReport;
use crate::scan::{HEADERS_WINDOW_BYTES, Scanner, Step};
use crate::segment::SegmentFiles;

/// What is in the folder, tidied.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) segments: BTreeMap<Offset, SegmentFiles>,
    pub(crate) snapshots: BTreeSet<Offset>,
}

/// Tidies the folder and tells what is in it.
pub(crate) fn tidy(place: &Place, report: &mut RecoveryReport) -> Result<Found, DiskError> {
    let entries = place.list()?;
    let staged = entries.iter().any(|entry| strip_stage(&entry.name).1.is_some());
    let entries = if staged {
        settle(place, &entries, report)?;
        place.list()?
    } else {
        entries
    };
    let mut found = Found::default();
    for entry in &entries {
        let Some(Name { base, part: Part::Log, stage: None }) = parse(&entry.name) else { continue };
        let files = SegmentFiles { log_bytes: entry.len, modified_ms: entry.modified_ms, ..Default::default() };
        found.segments.insert(base, files);
    }
    for entry in &entries {
        let Some(Name { base, part, stage: None }) = parse(&entry.name) else { continue };
        match (part, found.segments.get_mut(&base)) {
            (Part::Log, _) => {}
            (Part::Snapshot, _) => drop(found.snapshots.insert(base)),
            (Part::OffsetIndex, Some(files)) => files.offset_index_bytes = Some(entry.len),
            (Part::TimeIndex, Some(files)) => files.time_index_bytes = Some(entry.len),
            (Part::TxnIndex, Some(files)) => files.txn_index_bytes = Some(entry.len),
            (_, None) => remove(place, &entry.name, report)?,
        }
    }
    let newest = found.snapshots.last().copied();
    for base in found.snapshots.clone() {
        if Some(base) != newest && !found.segments.contains_key(&base) {
            remove_if_there(place, &place.path(base, Part::Snapshot))?;
            found.snapshots.remove(&base);
        }
    }
    Ok(found)
}

fn remove(place: &Place, name: &str, report: &mut RecoveryReport) -> Result<(), DiskError> {
    let path = place.join(name);
    if remove_if_there(place, &path)? {
        report.leftovers.push(path);
    }
    Ok(())
}

/// Deals with every name that has a suffix.
fn settle(place: &Place, entries: &[DirEntry], report: &mut RecoveryReport) -> Result<(), DiskError> {
    let is_swap = |name: &&Name| name.stage == Some(Stage::Swap);
    let names: Vec<Name> = entries.iter().filter_map(|entry| parse(&entry.name)).collect();
    let unfinished = names.iter().filter(|name| name.stage == Some(Stage::Cleaned)).map(|name| name.base).min();
    for entry in entries {
        let incomplete = parse(&entry.name)
            .filter(|name| is_swap(&name))
            .is_some_and(|name| unfinished.is_some_and(|unfinished| name.base >= unfinished));
        match strip_stage(&entry.name).1 {
            Some(Stage::Tmp | Stage::Deleted | Stage::Cleaned) => remove(place, &entry.name, report)?,
            Some(Stage::Swap) if incomplete => remove(place, &entry.name, report)?,
            _ => {}
        }
    }
    let swaps: BTreeSet<Offset> = names
        .iter()
        .filter(is_swap)
        .map(|name| name.base)
        .filter(|base| unfinished.is_none_or(|unfinished| *base < unfinished))
        .collect();
    let (Some(first), Some(last)) = (swaps.first().copied(), swaps.last().copied()) else { return Ok(()) };
    let end = match names.iter().find(|name| name.base == last && name.part == Part::Log && is_swap(name)) {
        Some(_) => end_of(place, last)?,
        // Its log took its name already, so everything it replaces was removed before.
        None => last,
    };
    for entry in entries {
        let Some(name) = parse(&entry.name) else { continue };
        let has_twin = names.iter().any(|twin| is_swap(&twin) && (twin.base, twin.part) == (name.base, name.part));
        if name.stage.is_none() && (first..end).contains(&name.base) && !has_twin && !is_named(&names, &name) {
            remove(place, &entry.name, report)?;
        }
    }
    take_names(place, entries, &swaps, report)
}

/// Is it part of a swapped-in segment whose log took its name before we were interrupted?
fn is_named(names: &[Name], file: &Name) -> bool {
    let of = |part: Part, stage: Option<Stage>| Name { base: file.base, part, stage };
    let index_waits = [Part::OffsetIndex, Part::TimeIndex, Part::TxnIndex]
        .into_iter()
        .any(|part| names.contains(&of(part, Some(Stage::Swap))));
    index_waits && !names.contains(&of(Part::Log, Some(Stage::Swap)))
}

/// Renames `….swap` to the plain name, indexes first, so that a log never stands beside another's index.
fn take_names(
    place: &Place,
    entries: &[DirEntry],
    swaps: &BTreeSet<Offset>,
    report: &mut RecoveryReport,
) -> Result<(), DiskError> {
    let mut waiting: Vec<(&DirEntry, Name)> = entries
        .iter()
        .filter_map(|entry| Some((entry, parse(&entry.name)?)))
        .filter(|(_, name)| name.stage == Some(Stage::Swap) && swaps.contains(&name.base))
        .collect();
    waiting.sort_by_key(|(_, name)| (name.part == Part::Log, name.base));
    for (entry, _) in waiting {
        let from = place.join(&entry.name);
        let to = place.join(strip_stage(&entry.name).0);
        place.disk.rename(&from, &to).doing("cannot rename", &from)?;
        report.leftovers.push(from);
    }
    place.sync()
}

/// One above the last offset of a swapped-in log.
fn end_of(place: &Place, base: Offset) -> Result<Offset, DiskError> {
    let path = crate::names::staged(&place.path(base, Part::Log), Stage::Swap);
    let file = place.disk.open(Path::new(&path), OpenMode::Read, FileKind::SealedLog).doing("cannot open", &path)?;
    let bytes = file.len().doing("cannot stat", &path)?;
    let mut scanner = Scanner::new(&*file, bytes, HEADERS_WINDOW_BYTES);
    let (mut position, mut end) = (0, base.saturating_add(1));
    while let Step::Batch(header) = scanner.step(position)? {
        end = end.max(header.end());
        position += header.size;
    }
    Ok(end)
}
