//! What a step may touch beside the group that it is about.
//!
//! Holds: appends leave in the order of their tickets; an answer that has nothing to wait for leaves at once.

use super::flight::{After, Flight};
use super::records::Record;
use super::timers::{TimerKey, Timers};
use super::{Effect, GroupConfig, GroupId, MemberId, RequestId, Response, Ticket};
use crate::machine::Tick;

/// One step's surroundings.
pub(super) struct Turn<'a> {
    pub(super) now: Tick,
    pub(super) wall_ms: i64,
    pub(super) config: &'a GroupConfig,
    pub(super) timers: &'a mut Timers,
    pub(super) flight: &'a mut Flight,
    pub(super) out: &'a mut Vec<Effect>,
}

impl Turn<'_> {
    /// Answers at once.
    pub(super) fn answer(&mut self, id: RequestId, response: Response) {
        self.out.push(Effect::Answer { id, response });
    }

    /// Waits with an answer no longer.
    pub(super) fn give_up(&mut self, id: RequestId) {
        self.out.push(Effect::GiveUp { id });
    }

    /// Answers when everything that a group has on its way is committed; at once if that is nothing.
    pub(super) fn answer_when_committed(&mut self, group: &GroupId, id: RequestId, response: Response) {
        match self.flight.newest(group) {
            Some(ticket) => self.flight.after(ticket, After::Answer { id, response }),
            None => self.answer(id, response),
        }
    }

    /// Appends records, in as many batches as they need. Returns the last one's ticket.
    ///
    /// # Panics
    /// If there are none.
    pub(super) fn append(&mut self, records: Vec<Record>) -> Ticket {
        assert!(!records.is_empty(), "an append has at least one record");
        let (mut batch, mut bytes) = (Vec::new(), 0);
        for record in records {
            let size = record.size_max();
            if !batch.is_empty() && bytes + size > self.config.batch_bytes_max {
                self.append_batch(std::mem::take(&mut batch));
                bytes = 0;
            }
            bytes += size;
            batch.push(record);
        }
        self.append_batch(batch)
    }

    fn append_batch(&mut self, records: Vec<Record>) -> Ticket {
        let ticket = self.flight.push(records.clone());
        self.out.push(Effect::Append { ticket, records });
        ticket
    }

    /// Do these records fit in one batch?
    pub(super) fn fits(&self, records: &[Record]) -> bool {
        records.iter().map(Record::size_max).sum::<usize>() <= self.config.batch_bytes_max
    }

    /// Gives a member so much time.
    pub(super) fn start_session(&mut self, group: &GroupId, member: &MemberId, timeout_ms: u64) {
        let key = TimerKey::Session { group: group.clone(), member: member.clone() };
        self.timers.set(key, self.now.saturating_add(timeout_ms));
    }

    /// Waits for a member no longer.
    pub(super) fn end_session(&mut self, group: &GroupId, member: &MemberId) {
        self.timers.cancel(&TimerKey::Session { group: group.clone(), member: member.clone() });
    }

    /// Sets a group's deadline.
    pub(super) fn set_timer(&mut self, key: TimerKey, after_ms: u64) {
        self.timers.set(key, self.now.saturating_add(after_ms));
    }
}
