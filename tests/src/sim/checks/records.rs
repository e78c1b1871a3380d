//! Checks of records: C1 none lost, C2 none twice, C4 stable offsets, C5 straight readers, C11 nothing invented.

use std::collections::BTreeMap;

use ballast_wire::{LeaderEpoch, Offset};

use crate::sim::evidence::{Evidence, Kept};
use crate::sim::history::{Event, Place, Value};

/// An acknowledged record, and when it was, in ms.
type Acked = (Offset, Value, i64);

fn lookup(log: &[Kept], offset: Offset) -> Option<&Kept> {
    log.binary_search_by_key(&offset, |kept| kept.offset).ok().map(|at| &log[at])
}

/// C1. At the end every replica is in sync (else C14 complains), so every replica has every acknowledged record, but
/// for an end of the log that a blackout took.
pub(super) fn none_lost(evidence: &Evidence) -> Vec<String> {
    let mut found = Vec::new();
    let mut sent: BTreeMap<Value, usize> = BTreeMap::new();
    // By partition and by how many blackouts lay before: offset, value, and when it was acknowledged.
    let mut exposed: BTreeMap<(&Place, usize), Vec<Acked>> = BTreeMap::new();
    for (index, entry) in evidence.history.iter().enumerate() {
        match &entry.event {
            Event::Sent { value, .. } => {
                sent.entry(*value).or_insert(index);
            }
            Event::Acked { at, value, offset } if *offset >= 0 => {
                let sent = sent.get(value).copied().unwrap_or(index);
                let blackouts = evidence.blackouts().of_place(at);
                let before = |moment: usize| blackouts.partition_point(|blackout| *blackout < moment);
                if before(sent) == before(index) {
                    exposed.entry((at, before(sent))).or_default().push((*offset, *value, entry.ms));
                }
            }
            _ => {}
        }
    }
    for ((at, before), mut records) in exposed {
        records.sort_unstable();
        let may_lose_an_end = before < evidence.blackouts().of_place(at).len();
        for ((_, broker), log) in evidence.logs.iter().filter(|((place, _), _)| place == at) {
            let is_lost =
                |(offset, value, _): &&Acked| lookup(log, *offset).is_none_or(|kept| kept.value != Some(*value));
            let whole = records.iter().rposition(|record| !is_lost(&record));
            let due = if may_lose_an_end { whole.map_or(0, |last| last + 1) } else { records.len() };
            for (offset, value, ms) in records[..due].iter().filter(is_lost) {
                let other = lookup(log, *offset);
                found.push(format!(
                    "{value:?} was acknowledged at {ms} ms as {at} offset {offset}; broker {broker} has {other:?} there"
                ));
            }
        }
    }
    found
}

/// When a value was first sent, and when it was acknowledged: indexes into the history.
#[derive(Default)]
struct Way {
    sent: Option<usize>,
    acked: Option<usize>,
}

fn ways(evidence: &Evidence) -> BTreeMap<Value, Way> {
    let mut ways: BTreeMap<Value, Way> = BTreeMap::new();
    for (index, entry) in evidence.history.iter().enumerate() {
        match &entry.event {
            Event::Sent { value, .. } => ways.entry(*value).or_default().sent.get_or_insert(index),
            Event::Acked { value, .. } => ways.entry(*value).or_default().acked.get_or_insert(index),
            _ => continue,
        };
    }
    ways
}

/// C2. A blackout takes what the log knew of its producers together with their records. Then it takes any sequence number, as
/// Kafka's does: of two batches that were both on their way it may take the second, where it had just refused the first.
pub(super) fn none_twice(evidence: &Evidence) -> Vec<String> {
    let mut found = Vec::new();
    let ways = ways(evidence);
    let may_swap = |at: &Place, first: u64, second: u64, producer: u32| {
        let way = |sequence| ways.get(&Value { producer, sequence });
        let (Some(first), Some(second)) = (way(first), way(second)) else { return false };
        let after_one = |index: usize| evidence.blackouts().of_place(at).first().is_some_and(|one| *one < index);
        let both = second.sent.is_some_and(|sent| first.acked.is_none_or(|acked| sent < acked));
        both && second.acked.is_some_and(after_one)
    };
    for ((place, broker), log) in evidence.logs.iter().filter(|((place, _), _)| !evidence.plain.contains(&place.topic))
    {
        let mut seen: BTreeMap<u32, (u64, Offset)> = BTreeMap::new();
        for kept in log {
            let Some(value) = kept.value else { continue };
            if let Some((before, at)) = seen.insert(value.producer, (value.sequence, kept.offset))
                && before >= value.sequence
                && (before == value.sequence || !may_swap(place, value.sequence, before, value.producer))
            {
                let producer = value.producer;
                found.push(format!(
                    "{place} on broker {broker}: producer {producer} has its value {before} at offset {at}, and then {} at {}",
                    value.sequence, kept.offset
                ));
            }
        }
    }
    found
}

/// C4. An offset that a blackout took is given anew, in a later leader epoch.
pub(super) fn offsets_are_stable(evidence: &Evidence) -> Vec<String> {
    let mut meaning: BTreeMap<(&Place, Offset, LeaderEpoch), (Option<Value>, String)> = BTreeMap::new();
    let mut found = Vec::new();
    let is_struck = |at: &Place| evidence.blackouts().struck(at);
    let mut says = |at, offset, epoch, value: Option<Value>, who: String| {
        let epoch = if is_struck(at) { epoch } else { 0 };
        let (first, before) = meaning.entry((at, offset, epoch)).or_insert_with(|| (value, who.clone()));
        if *first != value {
            found.push(format!("{at} offset {offset} is {first:?} to {before}, and {value:?} to {who}"));
        }
    };
    for entry in &evidence.history {
        match &entry.event {
            // Its epoch is not told.
            Event::Acked { at, value, offset } if *offset >= 0 && !is_struck(at) => {
                says(at, *offset, 0, Some(*value), format!("its producer at {} ms", entry.ms));
            }
            Event::Read { reader, at, offset, value, leader_epoch } => {
                says(at, *offset, *leader_epoch, *value, format!("reader {reader} at {} ms", entry.ms));
            }
            _ => {}
        }
    }
    for ((place, broker), log) in &evidence.logs {
        for kept in log {
            says(place, kept.offset, kept.leader_epoch, kept.value, format!("the disk of broker {broker}"));
        }
    }
    found
}

/// C5. Nothing is compacted here and nothing is transactional, so offsets have no gaps. A reader of a log that lost its
/// end goes back to where the log ends, and never on over a gap.
pub(super) fn readers_go_straight(evidence: &Evidence) -> Vec<String> {
    let mut next: BTreeMap<(u32, &Place), Offset> = BTreeMap::new();
    let mut found = Vec::new();
    let is_struck = |at: &Place| evidence.blackouts().struck(at);
    for entry in &evidence.history {
        match &entry.event {
            Event::Sought { reader, at, offset } => {
                next.insert((*reader, at), *offset);
            }
            Event::Read { reader, at, offset, .. } => {
                let due = next.insert((*reader, at), offset + 1);
                if let Some(due) = due.filter(|due| *offset > *due || (*offset < *due && !is_struck(at))) {
                    found.push(format!(
                        "reader {reader} was due to read {at} offset {due}, and got {offset} at {} ms",
                        entry.ms
                    ));
                }
            }
            Event::ReadFailed { reader, error } if error.contains("OFFSET_OUT_OF_RANGE") => {
                let is_named = |at: &Place| error.contains(&format!("{at} "));
                if !next.keys().any(|(of, at)| of == reader && is_named(at) && is_struck(at)) {
                    found.push(format!(
                        "reader {reader} was told at {} ms that what it had read is not there: {error}",
                        entry.ms
                    ));
                }
            }
            _ => {}
        }
    }
    found
}

/// C11.
pub(super) fn nothing_invented(evidence: &Evidence) -> Vec<String> {
    let invented = evidence.history.iter().filter_map(|entry| match &entry.event {
        Event::Read { reader, at, offset, value: None, .. } => {
            Some(format!("reader {reader} got bytes that nobody sent as {at} offset {offset} at {} ms", entry.ms))
        }
        _ => None,
    });
    invented.collect()
}
