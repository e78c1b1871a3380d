//! What a leader knows that it is asked for, and what a request has to say about it (KIP-227, the asking side).
//!
//! ```text
//!            taken, with an id                      taken
//!  full -----------------------> incremental 1 ---------------> 2, 3, … (after i32::MAX again 1)
//!   ^  ^--- taken, without one        |
//!   +---- refused, lost, closed ------+
//! ```
//! Within a session a request names what is new or asked differently, and what is no longer asked for. A partition that the
//! leader leaves out of its answer has nothing new: the question about it stands.
//!
//! Holds: after a request that was taken, the leader's list is exactly the open questions. Full requests begin behind the
//! partition that gave records last, so that nobody starves where the leader keeps no sessions.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use ballast_wire::fetch::{FetchPartition, FetchTopic, ForgottenTopic};
use ballast_wire::{PartitionIndex, Uuid};

/// A partition.
pub(super) type Key = (Uuid, PartitionIndex);

const SESSION_ID_NOT_FOUND: i16 = 70;
const INVALID_SESSION_EPOCH: i16 = 71;
const SESSION_TOPIC_ID_ERROR: i16 = 106;
/// Opens a session.
const FIRST: i32 = 0;

struct Question {
    row: FetchPartition,
    /// The row that the leader's list has for it.
    listed: Option<FetchPartition>,
}

/// What a request says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Asking {
    pub(super) session_id: i32,
    pub(super) session_epoch: i32,
    pub(super) topics: Vec<FetchTopic<'static>>,
    pub(super) forgotten: Vec<ForgottenTopic<'static>>,
}

/// One fetcher's side of a session with one leader.
#[derive(Default)]
pub(super) struct Session {
    id: i32,
    epoch: i32,
    questions: BTreeMap<Key, Question>,
    /// Open questions that the leader's list lacks, or has otherwise.
    new: BTreeSet<Key>,
    /// What the leader's list has without a question.
    stale: BTreeMap<Key, FetchPartition>,
    /// The partition that gave records last.
    gave: Option<Key>,
}

impl Session {
    /// Asks about a partition, or asks differently.
    pub(super) fn ask(&mut self, key: Key, row: FetchPartition) {
        let listed = match self.questions.get(&key) {
            Some(question) => question.listed,
            None => self.stale.remove(&key),
        };
        if listed == Some(row) {
            self.new.remove(&key);
        } else {
            self.new.insert(key);
        }
        self.questions.insert(key, Question { row, listed });
    }

    /// Does not ask about it any more.
    pub(super) fn drop_question(&mut self, key: Key) {
        let Some(question) = self.questions.remove(&key) else { return };
        self.new.remove(&key);
        if let Some(row) = question.listed {
            self.stale.insert(key, row);
        }
    }

    /// Are there no open questions?
    pub(super) fn is_idle(&self) -> bool {
        self.questions.is_empty()
    }

    /// The partitions with an open question.
    pub(super) fn open(&self) -> Vec<Key> {
        self.questions.keys().copied().collect()
    }

    /// It gave records.
    pub(super) fn gave(&mut self, key: Key) {
        self.gave = Some(key);
    }

    /// The next request. It is either [`Session::taken`], [`Session::refused`] or [`Session::lost`] afterwards.
    pub(super) fn request(&mut self) -> Asking {
        let (session_id, session_epoch) = (self.id, self.epoch);
        if session_epoch == FIRST {
            let after = self.gave.unwrap_or((Uuid::ZERO, -1));
            let behind = self.questions.range((Bound::Excluded(after), Bound::Unbounded));
            let all = behind.chain(self.questions.range(..=after)).map(|(key, question)| (*key, question.row));
            return Asking { session_id, session_epoch, topics: by_topic(all), forgotten: Vec::new() };
        }
        let new = self.new.iter().filter_map(|key| Some((*key, self.questions.get(key)?.row)));
        let mut forgotten: Vec<ForgottenTopic<'static>> = Vec::new();
        for (id, index) in self.stale.keys() {
            if forgotten.last().is_none_or(|topic| topic.id != *id) {
                forgotten.push(ForgottenTopic { id: *id, ..ForgottenTopic::default() });
            }
            if let Some(topic) = forgotten.last_mut() {
                topic.partitions.push(*index);
            }
        }
        Asking { session_id, session_epoch, topics: by_topic(new), forgotten }
    }

    /// The leader took the request and names the session, 0 for none.
    pub(super) fn taken(&mut self, session_id: i32) {
        let was_full = self.epoch == FIRST;
        self.id = session_id;
        self.epoch = match (session_id, self.epoch) {
            (0, _) => FIRST,
            (_, i32::MAX) => 1,
            (_, epoch) => epoch + 1,
        };
        if self.epoch == FIRST {
            return self.forget();
        }
        self.stale.clear();
        let named = std::mem::take(&mut self.new);
        if was_full {
            self.questions.values_mut().for_each(|question| question.listed = Some(question.row));
        } else {
            for key in named {
                if let Some(question) = self.questions.get_mut(&key) {
                    question.listed = Some(question.row);
                }
            }
        }
    }

    /// The leader refused the whole request. True if that is about the session alone, and the questions stand.
    pub(super) fn refused(&mut self, code: i16) -> bool {
        if code == SESSION_ID_NOT_FOUND {
            self.id = 0;
        }
        self.lost();
        matches!(code, SESSION_ID_NOT_FOUND | INVALID_SESSION_EPOCH | SESSION_TOPIC_ID_ERROR)
    }

    /// Nobody knows what the leader's list is: the next request says all of it.
    pub(super) fn lost(&mut self) {
        self.epoch = FIRST;
        self.forget();
    }

    /// Another process answers from now on.
    pub(super) fn restart(&mut self) {
        self.id = 0;
        self.lost();
    }

    fn forget(&mut self) {
        self.stale.clear();
        self.new.clear();
        self.questions.values_mut().for_each(|question| question.listed = None);
    }
}

/// Rows in their order; those of a topic that follow each other share its entry.
fn by_topic(rows: impl Iterator<Item = (Key, FetchPartition)>) -> Vec<FetchTopic<'static>> {
    let mut topics: Vec<FetchTopic<'static>> = Vec::new();
    for ((id, _), row) in rows {
        if topics.last().is_none_or(|topic| topic.id != id) {
            topics.push(FetchTopic { id, ..FetchTopic::default() });
        }
        if let Some(topic) = topics.last_mut() {
            topic.partitions.push(row);
        }
    }
    topics
}

#[cfg(test)]
mod tests;
