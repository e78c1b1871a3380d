//! What was acknowledged, what the last step may have done although it was not, and the comparison with what a start finds.

use std::collections::BTreeMap;

use ballast_broker::quorum::{Entry, LogId, Machine, Payload, Store, Vote};
use ballast_core::image::{Image, decode_records, encode_snapshot};
use openraft::RaftLogReader as _;
use openraft::storage::{RaftLogStorage as _, RaftStateMachine as _};

/// What the last step may have done.
#[derive(Debug)]
pub(crate) enum Doubt {
    Nothing,
    Vote(Vote),
    Append(Vec<Entry>),
    Truncate(u64),
    Purge(LogId),
}

/// What was acknowledged.
#[derive(Debug, Default)]
pub(crate) struct Model {
    pub(crate) vote: Option<Vote>,
    pub(crate) term: u64,
    pub(crate) purged: Option<LogId>,
    pub(crate) entries: BTreeMap<u64, Entry>,
    pub(crate) applied: Option<LogId>,
    pub(crate) snapshot: Option<LogId>,
    pub(crate) image: Image,
    /// The images that snapshots may hold, by index.
    pub(crate) images: BTreeMap<u64, Vec<u8>>,
}

impl Model {
    pub(crate) fn end(&self) -> u64 {
        self.entries.last_key_value().map_or_else(|| after(self.purged), |(index, _)| index + 1)
    }
}

pub(crate) fn after(last: Option<LogId>) -> u64 {
    last.map_or(0, |last| last.index + 1)
}

impl Model {
    /// Entries up to `upto` are committed.
    pub(crate) fn apply_upto(&mut self, upto: u64) {
        for (index, entry) in self.entries.range(after(self.applied)..=upto) {
            let Payload::Records(records) = &entry.payload else { panic!("only records are appended here") };
            self.image.apply(*index, &decode_records(records).unwrap());
            self.applied = Some(entry.log_id);
        }
    }

    /// Compares what a start found with what was acknowledged, and goes on from what was found.
    pub(crate) async fn check(&mut self, store: &mut Store, machine: &mut Machine, doubt: &Doubt, context: &str) {
        let vote = store.read_vote().await.unwrap();
        let doubted_vote = if let Doubt::Vote(vote) = doubt { Some(*vote) } else { None };
        assert!(vote == self.vote || (vote.is_some() && vote == doubted_vote), "{context}: vote {vote:?}");

        let state = store.get_log_state().await.unwrap();
        let doubted_purge = if let Doubt::Purge(upto) = doubt { Some(*upto) } else { None };
        let purged = state.last_purged_log_id;
        assert!(purged == self.purged || (purged.is_some() && purged == doubted_purge), "{context}: purged {purged:?}");

        let found = store.try_get_log_entries(..).await.unwrap();
        let first = after(purged);
        assert!(found.iter().map(|entry| entry.log_id.index).eq(first..first + found.len() as u64), "{context}: holes");
        assert_eq!(state.last_log_id, found.last().map(|entry| entry.log_id).or(purged), "{context}");
        self.check_entries(first, &found, doubt, context);

        let applied = machine.applied_state().await.unwrap().0;
        assert!(applied >= self.snapshot, "{context}: snapshot {applied:?} of {:?}", self.snapshot);
        assert!(after(applied) >= first, "{context}: nothing between {applied:?} and {first}");
        let image = applied.map(|applied| self.images[&applied.index].clone());
        let image = image.unwrap_or_else(|| encode_snapshot(&Image::default()));
        assert!(encode_snapshot(&machine.image()) == image, "{context}: the snapshot's image at {applied:?}");
        let committed = after(store.read_committed().await.unwrap());
        assert!(committed <= after(state.last_log_id).max(after(applied)), "{context}: committed {committed}");

        (self.vote, self.purged, self.snapshot) = (vote, purged, applied);
        self.entries = found.into_iter().map(|entry| (entry.log_id.index, entry)).collect();
        self.image = (*machine.image()).clone();
        // What was committed stays so, whatever the snapshot missed and the hint on disk forgot.
        let upto = committed.max(after(self.applied));
        self.applied = applied;
        if upto > after(applied) {
            machine.apply(store.try_get_log_entries(after(applied)..upto).await.unwrap()).await.unwrap();
            self.apply_upto(upto - 1);
        }
    }

    fn check_entries(&self, first: u64, found: &[Entry], doubt: &Doubt, context: &str) {
        let end = first + found.len() as u64;
        let sure_end = if let Doubt::Truncate(since) = doubt { *since } else { self.end() };
        assert!(end >= sure_end.max(first), "{context}: the log ends at {end}, {sure_end} was acknowledged");
        let appended = if let Doubt::Append(entries) = doubt { entries.as_slice() } else { &[] };
        for entry in found {
            let index = entry.log_id.index;
            let expected = self.entries.get(&index).or_else(|| appended.iter().find(|new| new.log_id.index == index));
            assert_eq!(Some(entry), expected, "{context}: entry {index}");
        }
    }
}
