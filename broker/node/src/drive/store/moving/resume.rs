//! What a start makes of moves that were under way.
//!
//! ```text
//! plain folder, copy elsewhere            the move goes on
//! no plain folder, copy, `-delete` of     the exchange of names was cut short: the copy was whole and synced, and
//!   the same id                             takes the plain name now
//! no plain folder, copy alone             kept, out of the way: what it lacks is unknown
//! two plain folders                       the one that the metadata names, or the first; the other is kept out of the way
//! ```
//! Holds: a copy is scanned as a whole before it is trusted, whatever the last stop was like.

use std::collections::BTreeSet;
use std::sync::Arc;

use ballast_core::image::Image;
use ballast_log::dirs::{DirError, DirState, PartitionDir, read_partition_metadata};
use ballast_log::{Log, LogError, OpenFrom};
use ballast_wire::{PartitionIndex, Uuid};

use super::super::{Dir, Store};

/// A folder that was found, and where.
pub(in crate::drive::store) type Found = (Arc<Dir>, PartitionDir);

impl Store {
    /// Finishes exchanges of names among the folders that were found, and leaves one plain folder for each partition.
    pub(in crate::drive::store) fn settle_moves(&self, image: &Image, found: &mut [Found]) -> Result<(), DirError> {
        let retired: BTreeSet<(String, PartitionIndex, Uuid)> = found
            .iter()
            .filter_map(|(_, folder)| match folder.state {
                DirState::Delete(id) => Some((folder.topic.clone(), folder.partition, id)),
                _ => None,
            })
            .collect();
        let mut plain: BTreeSet<(String, PartitionIndex)> = BTreeSet::new();
        let named = |dir: &Dir, folder: &PartitionDir| {
            let state = image.topic(&folder.topic).and_then(|topic| topic.partition(folder.partition));
            state.and_then(|state| state.directory(self.config.me)) == Some(dir.id)
        };
        // Those that the metadata names come first.
        found.sort_by_key(|(dir, folder)| !named(dir, folder));
        for (dir, folder) in found.iter_mut().filter(|(_, folder)| folder.state == DirState::Plain) {
            if !plain.insert((folder.topic.clone(), folder.partition)) {
                tracing::error!(log_dir = %dir.path.display(), folder = %folder, "a replica is in two log directories; this one is kept out of the way");
                self.rename_found(dir, folder, DirState::Stray(self.random_id()))?;
            }
        }
        for (dir, folder) in found {
            let DirState::Future(id) = folder.state else { continue };
            let (topic, index) = (folder.topic.clone(), folder.partition);
            if plain.contains(&(topic.clone(), index)) {
                continue;
            }
            if retired.contains(&(topic.clone(), index, id)) {
                tracing::info!(log_dir = %dir.path.display(), folder = %folder, "a replica had moved here: its copy takes its place");
                self.rename_found(dir, folder, DirState::Plain)?;
                plain.insert((topic, index));
            } else {
                tracing::warn!(log_dir = %dir.path.display(), folder = %folder, "the copy of a replica that is nowhere is kept out of the way");
                self.rename_found(dir, folder, DirState::Stray(self.random_id()))?;
            }
        }
        Ok(())
    }

    fn rename_found(&self, dir: &Dir, folder: &mut PartitionDir, state: DirState) -> Result<(), DirError> {
        let renamed = PartitionDir::new(&folder.topic, folder.partition).with(state);
        let from = dir.path.join(folder.to_string());
        dir.with(|log_dir| log_dir.rename_partition(folder, &renamed))?;
        tracing::info!(from = %from.display(), to = %renamed, "renamed");
        *folder = renamed;
        Ok(())
    }

    /// Goes on with the copies that were found, now that the logs are open. Blocks.
    pub(in crate::drive::store) fn resume_moves(&self, image: &Image, copies: Vec<Found>) {
        for (dir, folder) in copies {
            if let Err(error) = self.resume(image, &dir, &folder) {
                tracing::error!(log_dir = %dir.path.display(), %folder, %error, "a replica's move cannot go on; it stays where it is");
            }
        }
    }

    fn resume(&self, image: &Image, dir: &Arc<Dir>, folder: &PartitionDir) -> Result<(), LogError> {
        let DirState::Future(id) = folder.state else { return Ok(()) };
        let path = dir.path.join(folder.to_string());
        let of = read_partition_metadata(&*self.config.disk, &path).ok().flatten();
        let topic = image.topic(&folder.topic).filter(|topic| of.is_none_or(|of| of == topic.id));
        let partition = topic.and_then(|topic| self.hosted.by_id(topic.id, folder.partition));
        let Some(partition) = partition.filter(|partition| partition.directory() != dir.id) else {
            // Its replica is gone, or was not opened. In the first case it would be a stray for ever.
            if topic.is_none_or(|topic| !self.is_broken(topic.id, folder.partition)) {
                self.doomed.lock().push((i64::MIN, path));
            }
            return Ok(());
        };
        let from = OpenFrom { clean: false, recovery_point: 0, log_start: 0 };
        let (log, _) = Log::open(self.disk(), path, partition.log.config(), from, self.now_ms(), &mut |_| {})?;
        tracing::info!(topic = %partition.topic, partition = partition.index, to = %dir.path.display(), copied = log.end(), end = partition.log.end(), "a replica goes on moving to another log directory");
        self.enter(partition, dir, log, id);
        Ok(())
    }
}
