//! What was promised to whom: every watermark that was shown and every record that was acknowledged, and what must hold
//! of them.
//!
//! Claims (reliability's names): C1 no acknowledged record is lost · C4 an offset below a watermark means one record
//! for ever · C6 one leader in a leader epoch, and its watermark never goes back · C12 whoever may be elected has
//! everything committed. The first claim that breaks is kept in words.

use std::collections::BTreeMap;

use ballast_wire::{BrokerId, LeaderEpoch, Offset};

use super::log::SimLog;

#[derive(Debug, Default)]
pub(super) struct History {
    /// The value at each offset below the highest watermark ever shown.
    committed: Vec<u64>,
    /// Acknowledged to a producer at acks=all.
    acked: Vec<(Offset, u64)>,
    leaders: BTreeMap<LeaderEpoch, (BrokerId, Offset)>,
    /// How often something happened that does not happen in every run.
    pub(super) seen: BTreeMap<&'static str, usize>,
    pub(super) violation: Option<String>,
}

impl History {
    pub(super) fn saw(&mut self, event: &'static str) {
        *self.seen.entry(event).or_default() += 1;
    }

    /// One above the last offset that anybody was shown.
    pub(super) fn committed_end(&self) -> Offset {
        self.committed.len() as Offset
    }

    pub(super) fn acked_count(&self) -> usize {
        self.acked.len()
    }

    pub(super) fn last_acked(&self) -> Option<u64> {
        self.acked.last().map(|(_, value)| *value)
    }

    fn broken(&mut self, words: String) {
        if self.violation.is_none() {
            self.violation = Some(words);
        }
    }

    /// A leader begins. It has to have all that was ever shown and all that was ever acknowledged, unless it hears so late of
    /// its leadership that the next leader has begun: it commits nothing, because nobody follows it any more.
    pub(super) fn leads(&mut self, broker: BrokerId, epoch: LeaderEpoch, high: Offset, log: &SimLog) {
        if let Some((other, _)) = self.leaders.insert(epoch, (broker, high))
            && other != broker
        {
            self.broken(format!("C6: brokers {other} and {broker} lead in epoch {epoch}"));
        }
        if self.leaders.keys().any(|later| *later > epoch) {
            return self.saw("a leader begins after the next one");
        }
        self.holds_all(&format!("C12: broker {broker}, the leader of epoch {epoch},"), log);
    }

    /// Does the log hold all that was promised (and not deleted)?
    pub(super) fn holds_all(&mut self, who: &str, log: &SimLog) {
        let shown = (0..).zip(self.committed.iter().copied());
        let promised = self.acked.iter().copied().chain(shown);
        let lost = promised
            .filter(|(offset, _)| *offset >= log.start())
            .find(|(offset, value)| log.at(*offset).is_none_or(|record| record.value != *value));
        if let Some((offset, value)) = lost {
            let found = log.at(offset);
            self.broken(format!("{who} lacks value {value} at offset {offset}: {found:?}, it ends at {}", log.end()));
        }
    }

    /// The cheap half of `holds_all`, for every step: the last record shown.
    pub(super) fn holds_last(&mut self, who: &str, log: &SimLog, end: Offset) {
        let Some(value) = self.committed.last().copied() else { return };
        let last = self.committed_end() - 1;
        let has = last < log.start() || log.at(last).is_some_and(|record| record.value == value);
        if !has || end <= last {
            self.broken(format!(
                "C12: {who} has up to {end}, {last} was committed with value {value}: {:?}",
                log.at(last)
            ));
        }
    }

    /// A broker shows a watermark to its consumers: everything between `from` and `to` can be read from its log.
    pub(super) fn shown(&mut self, broker: BrokerId, from: Offset, to: Offset, log: &SimLog) {
        for offset in from.max(log.start())..to {
            let Some(record) = log.at(offset) else {
                return self.broken(format!("C4: broker {broker} shows {offset}, which it does not have"));
            };
            match self.committed.get(offset as usize) {
                Some(value) if *value != record.value => {
                    let words = format!("C4: offset {offset} was {value}, broker {broker} shows {}", record.value);
                    return self.broken(words);
                }
                Some(_) => {}
                None if offset == self.committed_end() => self.committed.push(record.value),
                None => return self.broken(format!("C4: broker {broker} shows {offset} before what lies below")),
            }
        }
    }

    /// A leader's watermark moves.
    pub(super) fn leader_shows(&mut self, broker: BrokerId, epoch: LeaderEpoch, to: Offset, log: &SimLog) {
        let Some((leader, high)) = self.leaders.get_mut(&epoch) else {
            return self.broken(format!("C6: broker {broker} leads in epoch {epoch} unseen"));
        };
        let (leader, from) = (*leader, std::mem::replace(high, to));
        if leader != broker || to < from {
            self.broken(format!("C6: broker {broker} moves the watermark of epoch {epoch} from {from} to {to}"));
        }
        self.shown(broker, from, to, log);
    }

    pub(super) fn acked(&mut self, offset: Offset, value: u64) {
        self.acked.push((offset, value));
    }

    /// Fails the run for a reason of its own.
    pub(super) fn fail(&mut self, words: String) {
        self.broken(words);
    }
}
