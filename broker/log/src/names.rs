//! Names of the files in a log's folder: twenty digits of base offset, what it is, and a suffix while it changes.
//!
//! Holds: `parse(name(base, kind)) == (base, kind, None)`; whatever does not parse is not ours and is left alone.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ballast_wire::Offset;
use parking_lot::RwLock;

use crate::disk::{DirEntry, Disk};
use crate::error::{DiskContext, DiskError};

/// The leader epochs and where each begins.
pub(crate) const LEADER_EPOCH_CHECKPOINT: &str = "leader-epoch-checkpoint";

/// What a file of a segment holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Log,
    OffsetIndex,
    TimeIndex,
    TxnIndex,
    /// Producer state before the offset in its name.
    Snapshot,
}

impl Part {
    pub(crate) const ALL: [Part; 5] = [Part::Log, Part::OffsetIndex, Part::TimeIndex, Part::TxnIndex, Part::Snapshot];

    fn extension(self) -> &'static str {
        match self {
            Part::Log => "log",
            Part::OffsetIndex => "index",
            Part::TimeIndex => "timeindex",
            Part::TxnIndex => "txnindex",
            Part::Snapshot => "snapshot",
        }
    }
}

/// Why a name has a suffix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Being written, to be renamed over the file without the suffix.
    Tmp,
    /// Being written by the cleaner.
    Cleaned,
    /// Written whole by the cleaner, about to take its place.
    Swap,
    /// To be unlinked.
    Deleted,
}

impl Stage {
    const ALL: [Stage; 4] = [Stage::Tmp, Stage::Cleaned, Stage::Swap, Stage::Deleted];

    fn suffix(self) -> &'static str {
        match self {
            Stage::Tmp => ".tmp",
            Stage::Cleaned => ".cleaned",
            Stage::Swap => ".swap",
            Stage::Deleted => ".deleted",
        }
    }
}

/// A file's name, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) base: Offset,
    pub(crate) part: Part,
    pub(crate) stage: Option<Stage>,
}

/// The name of one file of the segment that begins at `base`.
pub(crate) fn file_name(base: Offset, part: Part) -> String {
    format!("{base:020}.{}", part.extension())
}

/// Takes a name apart; `None` if it is not a segment's.
pub(crate) fn parse(name: &str) -> Option<Name> {
    let (plain, stage) = strip_stage(name);
    let (digits, extension) = plain.split_once('.')?;
    if digits.len() != 20 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part = Part::ALL.into_iter().find(|part| part.extension() == extension)?;
    Some(Name { base: digits.parse().ok()?, part, stage })
}

/// The name without its suffix, and what the suffix says.
pub(crate) fn strip_stage(name: &str) -> (&str, Option<Stage>) {
    for stage in Stage::ALL {
        if let Some(plain) = name.strip_suffix(stage.suffix()) {
            return (plain, Some(stage));
        }
    }
    (name, None)
}

/// A path with a suffix behind its whole name.
pub(crate) fn staged(path: &Path, stage: Stage) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(stage.suffix());
    PathBuf::from(name)
}

/// Where a log lives: its disk, and its folder, which may be renamed while it is open.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) disk: Arc<dyn Disk>,
    dir: RwLock<PathBuf>,
}

impl Place {
    pub(crate) fn new(disk: Arc<dyn Disk>, dir: PathBuf) -> Place {
        Place { disk, dir: RwLock::new(dir) }
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.dir.read().clone()
    }

    /// Gives the folder another name. Nobody looks for it meanwhile.
    pub(crate) fn rename(&self, to: &Path) -> Result<(), DiskError> {
        let mut dir = self.dir.write();
        self.disk.rename(&dir, to).doing("cannot rename", &dir)?;
        *dir = to.to_owned();
        Ok(())
    }

    /// Makes the names in the folder survive a crash.
    pub(crate) fn sync(&self) -> Result<(), DiskError> {
        let dir = self.dir.read();
        self.disk.sync_dir(&dir).doing("cannot sync", &dir)
    }

    /// Makes a small file in the folder survive a crash. One that is gone owes nothing.
    pub(crate) fn sync_file(&self, name: &str) -> Result<(), DiskError> {
        let path = self.dir.read().join(name);
        match self.disk.sync_file(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            synced => synced.doing("cannot sync", &path),
        }
    }

    /// Makes the folder's own name survive a crash.
    pub(crate) fn sync_parent(&self) -> Result<(), DiskError> {
        let dir = self.dir.read();
        let Some(parent) = dir.parent() else { return Ok(()) };
        self.disk.sync_dir(parent).doing("cannot sync", parent)
    }

    /// What is in the folder, by name.
    pub(crate) fn list(&self) -> Result<Vec<DirEntry>, DiskError> {
        let dir = self.dir.read();
        self.disk.list(&dir).doing("cannot list", &dir)
    }

    /// The path of one file of a segment.
    pub(crate) fn path(&self, base: Offset, part: Part) -> PathBuf {
        self.dir.read().join(file_name(base, part))
    }

    /// The path of any other file.
    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.dir.read().join(name)
    }
}

/// Removes a file; fine if it is not there.
pub(crate) fn remove_if_there(place: &Place, path: &Path) -> Result<bool, DiskError> {
    match place.disk.remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).doing("cannot remove", path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_as_they_were_written() {
        for part in Part::ALL {
            let name = file_name(3072, part);
            assert_eq!(parse(&name), Some(Name { base: 3072, part, stage: None }));
            for stage in Stage::ALL {
                let staged = staged(Path::new(&name), stage);
                assert_eq!(parse(staged.to_str().unwrap()), Some(Name { base: 3072, part, stage: Some(stage) }));
            }
        }
        assert_eq!(file_name(0, Part::Log), "00000000000000000000.log");
    }

    #[test]
    fn foreign_names_are_not_ours() {
        let foreign = [
            "leader-epoch-checkpoint",
            "partition.metadata",
            "1.log",
            "0000000000000000000x.log",
            "00000000000000000000",
        ];
        for name in foreign {
            assert_eq!(parse(name), None, "{name}");
        }
        assert_eq!(parse("99999999999999999999.log"), None, "an offset above i64::MAX");
    }
}
