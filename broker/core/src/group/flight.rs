//! What is on its way to the log, and what waits for it.
//!
//! ```text
//!   committed            front .. back                      next
//!  (committed.rs)   appended, in the order of tickets     ticket
//! ```
//! Holds:
//!   1. Tickets in the queue follow each other without a gap.
//!   2. `ahead` has a group exactly while records of it are in the queue, and names the newest value of each offset there.
//!
//! Read next: turn.rs (who appends), committed.rs (where records go when they are committed).

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;

use ballast_wire::{PartitionIndex, Uuid};

use super::committed::{Committed, CommittedGroup};
use super::records::Record;
use super::{Generation, GroupId, MemberId, RequestId, Response, Ticket};

/// What is to be done once records are committed.
#[derive(Debug)]
pub(super) enum After {
    /// Give an answer.
    Answer {
        /// To which request.
        id: RequestId,
        /// The answer.
        response: Response,
    },
    /// The leader's assignment is written: hand it out.
    Assigned {
        /// Group.
        group: GroupId,
        /// By whom it was brought: a later one overrides.
        generation: Generation,
        /// Everybody's.
        assignments: BTreeMap<MemberId, Bytes>,
    },
    /// A static member's new id is written: tell it.
    StaticIsBack {
        /// Group.
        group: GroupId,
        /// The new id.
        member: MemberId,
        /// The member's Join.
        id: RequestId,
        /// The leader before the id changed.
        leader_before: Option<MemberId>,
        /// May the answer say `skip_assignment`?
        can_skip: bool,
    },
}

#[derive(Debug)]
struct Append {
    ticket: Ticket,
    records: Vec<Record>,
    after: Vec<After>,
}

/// The newest of a group, if it is not committed yet.
#[derive(Debug, Default)]
struct Ahead {
    newest: Ticket,
    /// By topic and partition: the ticket that wrote it, and the topic id there; `None` for a tombstone.
    offsets: BTreeMap<(Arc<str>, PartitionIndex), (Ticket, Option<Uuid>)>,
}

/// The queue.
#[derive(Debug, Default)]
pub(super) struct Flight {
    next: Ticket,
    queue: VecDeque<Append>,
    ahead: BTreeMap<GroupId, Ahead>,
}

impl Flight {
    /// Takes in what is being appended.
    pub(super) fn push(&mut self, records: Vec<Record>) -> Ticket {
        let ticket = self.next;
        self.next += 1;
        for record in &records {
            let ahead = self.ahead.entry(record.group().clone()).or_default();
            ahead.newest = ticket;
            if let Record::Offset { topic, partition, value, .. } = record {
                let topic_id = value.as_ref().map(|value| value.topic_id);
                ahead.offsets.insert((topic.clone(), *partition), (ticket, topic_id));
            }
        }
        self.queue.push_back(Append { ticket, records, after: Vec::new() });
        ticket
    }

    /// Leaves word for when an append is committed.
    pub(super) fn after(&mut self, ticket: Ticket, after: After) {
        let oldest = self.queue.front().map_or(self.next, |append| append.ticket);
        let found = ticket.checked_sub(oldest).and_then(|at| self.queue.get_mut(at as usize));
        found.expect("only what is on its way is waited for").after.push(after);
    }

    /// The newest append that a group waits for.
    pub(super) fn newest(&self, group: &GroupId) -> Option<Ticket> {
        self.ahead.get(group).map(|ahead| ahead.newest)
    }

    /// Commits the oldest append if it is not newer than `ticket`, and says what is to be done now.
    pub(super) fn commit_next(&mut self, ticket: Ticket, committed: &mut Committed) -> Option<Vec<After>> {
        if self.queue.front()?.ticket > ticket {
            return None;
        }
        let append = self.queue.pop_front()?;
        for record in append.records {
            self.forget(&record, append.ticket);
            committed.apply(record);
        }
        Some(append.after)
    }

    /// What waits for this append and for those before it, and will wait no longer. They stay on their way.
    pub(super) fn give_up(&mut self, ticket: Ticket) -> Vec<After> {
        let late = self.queue.iter_mut().take_while(|append| append.ticket <= ticket);
        late.flat_map(|append| std::mem::take(&mut append.after)).collect()
    }

    fn forget(&mut self, record: &Record, ticket: Ticket) {
        let Some(ahead) = self.ahead.get_mut(record.group()) else { return };
        if ahead.newest == ticket {
            self.ahead.remove(record.group());
        } else if let Record::Offset { topic, partition, .. } = record {
            let key = (topic.clone(), *partition);
            if ahead.offsets.get(&key).is_some_and(|(newest, _)| *newest == ticket) {
                ahead.offsets.remove(&key);
            }
        }
    }

    /// Is an offset's newest value still on its way?
    pub(super) fn is_ahead(&self, group: &GroupId, topic: &Arc<str>, partition: PartitionIndex) -> bool {
        self.ahead.get(group).is_some_and(|ahead| ahead.offsets.contains_key(&(topic.clone(), partition)))
    }

    /// Is an offset of the group on its way, and not only deletions?
    pub(super) fn has_offsets(&self, group: &GroupId) -> bool {
        let ahead = self.ahead.get(group);
        ahead.is_some_and(|ahead| ahead.offsets.values().any(|(_, topic_id)| topic_id.is_some()))
    }

    /// Topic id of an offset as it will be once everything is committed; `None` if there will be none.
    pub(super) fn latest(
        &self,
        committed: Option<&CommittedGroup>,
        group: &GroupId,
        topic: &Arc<str>,
        partition: PartitionIndex,
    ) -> Option<Uuid> {
        let ahead = self.ahead.get(group).and_then(|ahead| ahead.offsets.get(&(topic.clone(), partition)));
        match ahead {
            Some((_, topic_id)) => *topic_id,
            None => Some(committed?.offsets.get(topic)?.get(&partition)?.topic_id),
        }
    }

    /// Every offset that a group will have once everything is committed, with its topic id.
    pub(super) fn all_latest(
        &self,
        committed: Option<&CommittedGroup>,
        group: &GroupId,
    ) -> Vec<(Arc<str>, PartitionIndex, Uuid)> {
        let mut all = BTreeMap::new();
        for (topic, partitions) in committed.into_iter().flat_map(|committed| &committed.offsets) {
            all.extend(partitions.iter().map(|(index, value)| ((topic.clone(), *index), Some(value.topic_id))));
        }
        for (key, (_, topic_id)) in self.ahead.get(group).into_iter().flat_map(|ahead| &ahead.offsets) {
            all.insert(key.clone(), *topic_id);
        }
        all.into_iter().filter_map(|((topic, index), topic_id)| Some((topic, index, topic_id?))).collect()
    }

    /// Requests whose answers wait here.
    pub(super) fn waiting(&self) -> impl Iterator<Item = RequestId> {
        self.queue.iter().flat_map(|append| &append.after).filter_map(|after| match after {
            After::Answer { id, .. } => Some(*id),
            // These wait in their members as well.
            After::Assigned { .. } | After::StaticIsBack { .. } => None,
        })
    }

    pub(super) fn check(&self) {
        let first = self.next - self.queue.len() as Ticket;
        for (at, append) in self.queue.iter().enumerate() {
            assert_eq!(append.ticket, first + at as Ticket, "ticket {} stands at {at}", append.ticket);
        }
        for (group, ahead) in &self.ahead {
            let is_there = self.queue.iter().any(|append| {
                append.ticket == ahead.newest && append.records.iter().any(|record| record.group() == group)
            });
            assert!(is_there, "group {group} waits for ticket {}, which has nothing of it", ahead.newest);
        }
    }
}
