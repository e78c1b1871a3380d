//! What the store knows of the log without reading it: where it begins and ends, and its newest entries.
//!
//! ```text
//!  purged | first                                    end
//!  -------|--------------------|----------------------|
//!   gone    on disk only         on disk (or in line to be written) and here
//! ```
//! Holds:
//!   1. first <= end, and `first` is the index after `purged` once anything was purged.
//!   2. The newest entries are contiguous and end at `end`; entries that are not written yet are always among them.

use std::collections::VecDeque;

use super::super::entry::Entry;
use super::super::types::{LogId, next_index};

/// Entries kept in memory at most, and their bytes.
const RECENT_MAX: usize = 10_000;
const RECENT_BYTES_MAX: usize = 32 << 20;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Entries {
    purged: Option<LogId>,
    last: Option<LogId>,
    first: u64,
    recent: VecDeque<Entry>,
    recent_bytes: usize,
}

impl Entries {
    /// An empty log that goes on after `purged`.
    pub(super) fn after(purged: Option<LogId>) -> Entries {
        Entries { purged, last: purged, first: next_index(purged.as_ref()), ..Entries::default() }
    }

    /// The last entry that was purged.
    pub(super) fn purged(&self) -> Option<LogId> {
        self.purged
    }

    /// The last entry, or the last one purged.
    pub(super) fn last(&self) -> Option<LogId> {
        self.last
    }

    /// Index of the first entry.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Index of the next entry.
    pub(super) fn end(&self) -> u64 {
        next_index(self.last.as_ref()).max(self.first)
    }

    /// Index of the first entry in memory, [`Entries::end`] if there is none.
    pub(super) fn recent_from(&self) -> u64 {
        self.recent.front().map_or(self.end(), |entry| entry.log_id.index)
    }

    /// Nothing was ever here, so that the first entry may have any index.
    pub(super) fn is_untouched(&self) -> bool {
        self.purged.is_none() && self.last.is_none()
    }

    /// Adds the next entry. Those below `written` may leave memory.
    pub(super) fn push(&mut self, entry: Entry, written: u64) {
        let index = entry.log_id.index;
        if self.is_untouched() {
            self.first = index;
        }
        assert_eq!(index, self.end(), "entry {index} cannot follow the end {}", self.end());
        self.last = Some(entry.log_id);
        self.recent_bytes += entry.size_bytes();
        self.recent.push_back(entry);
        while self.recent.len() > RECENT_MAX || self.recent_bytes > RECENT_BYTES_MAX {
            match self.recent.front() {
                Some(oldest) if oldest.log_id.index < written => self.forget_front(),
                _ => break,
            }
        }
    }

    /// The entries from `from` up to `to` that are in memory.
    pub(super) fn recent(&self, from: u64, to: u64) -> Vec<Entry> {
        let recent_from = self.recent_from();
        let skip = from.saturating_sub(recent_from) as usize;
        let take = to.saturating_sub(from.max(recent_from)) as usize;
        self.recent.iter().skip(skip).take(take).cloned().collect()
    }

    /// Drops the entries from `since` on. The caller tells the last one that remains, if it is not in memory.
    pub(super) fn truncate(&mut self, since: u64) {
        while self.recent.back().is_some_and(|entry| entry.log_id.index >= since) {
            if let Some(entry) = self.recent.pop_back() {
                self.recent_bytes -= entry.size_bytes();
            }
        }
        self.last = self.recent.back().map(|entry| entry.log_id).or(self.purged);
        self.first = self.first.min(since);
    }

    /// What [`Entries::truncate`] could not know.
    pub(super) fn set_last(&mut self, last: LogId) {
        self.last = Some(last);
    }

    /// The entries up to and including `upto` are gone.
    pub(super) fn purge(&mut self, upto: LogId) {
        while self.recent.front().is_some_and(|entry| entry.log_id.index <= upto.index) {
            self.forget_front();
        }
        self.purged = self.purged.max(Some(upto));
        self.first = self.first.max(upto.index + 1);
        if self.last.is_none_or(|last| last.index <= upto.index) {
            self.last = Some(upto);
        }
    }

    fn forget_front(&mut self) {
        if let Some(entry) = self.recent.pop_front() {
            self.recent_bytes -= entry.size_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use openraft::LeaderId;

    use super::super::super::entry::Payload;
    use super::super::super::types::NodeId;
    use super::*;

    fn log_id(index: u64) -> LogId {
        LogId { leader_id: LeaderId::new(1, NodeId::from(1)), index }
    }

    fn entry(index: u64) -> Entry {
        Entry { log_id: log_id(index), payload: Payload::Blank }
    }

    fn indexes(entries: &[Entry]) -> Vec<u64> {
        entries.iter().map(|entry| entry.log_id.index).collect()
    }

    fn with(range: std::ops::Range<u64>) -> Entries {
        let mut entries = Entries::default();
        range.for_each(|index| entries.push(entry(index), 0));
        entries
    }

    #[test]
    fn entries_that_are_not_written_stay_in_memory_however_many_they_are() {
        let mut entries = with(0..RECENT_MAX as u64 + 5);
        assert_eq!(entries.recent_from(), 0);
        entries.push(entry(RECENT_MAX as u64 + 5), 3);
        assert_eq!(entries.recent_from(), 3, "those below 3 are written");
    }

    #[test]
    fn a_range_gives_what_is_there_of_it() {
        let entries = with(5..10);
        assert_eq!(indexes(&entries.recent(0, 7)), [5, 6]);
        assert_eq!(indexes(&entries.recent(8, 20)), [8, 9]);
        assert!(entries.recent(7, 7).is_empty());
        assert_eq!((entries.first(), entries.end()), (5, 10));
    }

    #[test]
    fn a_purge_beyond_the_end_moves_the_end_along() {
        let mut entries = with(0..3);
        entries.purge(log_id(7));
        assert_eq!((entries.first(), entries.end(), entries.last()), (8, 8, Some(log_id(7))));
        entries.push(entry(8), 0);
        assert_eq!((entries.first(), entries.end()), (8, 9));
    }

    #[test]
    fn a_truncation_down_to_what_was_purged_leaves_that_as_the_last() {
        let mut entries = with(0..9);
        entries.purge(log_id(3));
        entries.truncate(6);
        assert_eq!((entries.last(), entries.end()), (Some(log_id(5)), 6));
        entries.truncate(4);
        assert_eq!((entries.last(), entries.end()), (Some(log_id(3)), 4));
    }
}
