//! Which file is what, by its name.

use std::path::{Path, PathBuf};

use crate::error::Failure;

/// What a file of a log directory holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Record batches: a segment, or a snapshot of the metadata.
    Batches,
    OffsetIndex,
    TimeIndex,
    TxnIndex,
    ProducerSnapshot,
    /// `leader-epoch-checkpoint`, the four offset checkpoints, `partition.metadata`, `meta.properties`: lines of text.
    Text,
}

/// Suffixes that a file has while it is being replaced or deleted.
const PASSING: [&str; 3] = [".deleted", ".cleaned", ".swap"];

/// What the file at `path` holds, if its name says.
pub(super) fn kind(path: &Path) -> Option<Kind> {
    let name = path.file_name()?.to_str()?;
    let name = PASSING.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("log" | "checkpoint") => Some(Kind::Batches),
        Some("index") => Some(Kind::OffsetIndex),
        Some("timeindex") => Some(Kind::TimeIndex),
        Some("txnindex") => Some(Kind::TxnIndex),
        Some("snapshot") => Some(Kind::ProducerSnapshot),
        Some("metadata" | "properties") => Some(Kind::Text),
        _ if name.ends_with("-checkpoint") || name == "quorum-state" => Some(Kind::Text),
        _ => None,
    }
}

/// Is this a file that a log directory has? Those with offsets in them are named by one.
pub(super) fn belongs(path: &Path) -> bool {
    match kind(path) {
        Some(Kind::Text) => true,
        Some(_) => base_offset(path).is_some(),
        None => false,
    }
}

/// The base offset in the name of a segment's file.
pub(super) fn base_offset(path: &Path) -> Option<i64> {
    let name = path.file_name()?.to_str()?;
    let digits = name.split(['.', '-']).next()?;
    (digits.len() == 20).then(|| digits.parse().ok()).flatten()
}

/// The entries of a folder in the order of their names.
pub(super) fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let read = std::fs::read_dir(folder).map_err(|e| Failure::at(folder, e))?;
    let paths: Result<Vec<PathBuf>, _> = read.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.map_err(|e| Failure::at(folder, e))?;
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_names() {
        for (name, expected) in [
            ("00000000000000000000.log", Some(Kind::Batches)),
            ("00000000000000000000.index.deleted", Some(Kind::OffsetIndex)),
            ("00000000000000000028-0000000001.checkpoint", Some(Kind::Batches)),
            ("00000000000000000035.snapshot", Some(Kind::ProducerSnapshot)),
            ("leader-epoch-checkpoint", Some(Kind::Text)),
            ("replication-offset-checkpoint", Some(Kind::Text)),
            ("meta.properties", Some(Kind::Text)),
            (".lock", None),
            ("notes.txt", None),
        ] {
            assert_eq!(kind(Path::new(name)), expected, "{name}");
        }
        assert_eq!(base_offset(Path::new("/d/00000000000000000028-0000000001.checkpoint")), Some(28));
        assert_eq!(base_offset(Path::new("leader-epoch-checkpoint")), None);
        assert!(belongs(Path::new("00000000000000000000.log")) && !belongs(Path::new("build.log")));
    }
}
