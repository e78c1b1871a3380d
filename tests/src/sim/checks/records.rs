//! Checks of records: C1 none lost, C2 none twice, C4 stable offsets, C5 straight readers, C11 nothing invented.

use std::collections::BTreeMap;

use ballast_wire::Offset;

use crate::sim::evidence::{Evidence, Kept};
use crate::sim::history::{Event, Place, Value};

fn lookup(log: &[Kept], offset: Offset) -> Option<&Kept> {
    log.binary_search_by_key(&offset, |kept| kept.offset).ok().map(|at| &log[at])
}

/// C1. At the end every replica is in sync (else C14 complains), so every replica has every acknowledged record.
pub(super) fn none_lost(evidence: &Evidence) -> Vec<String> {
    let mut found = Vec::new();
    for entry in &evidence.history {
        let Event::Acked { at, value, offset } = &entry.event else { continue };
        if evidence.is_fragile(at) || *offset < 0 {
            continue;
        }
        for ((place, broker), log) in &evidence.logs {
            if place != at {
                continue;
            }
            match lookup(log, *offset) {
                Some(kept) if kept.value == Some(*value) => {}
                other => found.push(format!(
                    "{value:?} was acknowledged at {} ms as {place} offset {offset}; broker {broker} has {other:?} there",
                    entry.ms
                )),
            }
        }
    }
    found
}

/// C2.
pub(super) fn none_twice(evidence: &Evidence) -> Vec<String> {
    let mut found = Vec::new();
    // A log that lost its end has lost what it knew of its producers there.
    for ((place, broker), log) in evidence.logs.iter().filter(|((place, _), _)| !evidence.is_fragile(place)) {
        let mut seen: BTreeMap<u32, (u64, Offset)> = BTreeMap::new();
        for kept in log {
            let Some(value) = kept.value else { continue };
            if let Some((before, at)) = seen.insert(value.producer, (value.sequence, kept.offset))
                && before >= value.sequence
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

/// C4.
pub(super) fn offsets_are_stable(evidence: &Evidence) -> Vec<String> {
    let mut meaning: BTreeMap<(&Place, Offset), (Option<Value>, String)> = BTreeMap::new();
    let mut found = Vec::new();
    let mut says = |at, offset, value: Option<Value>, who: String| {
        let (first, before) = meaning.entry((at, offset)).or_insert_with(|| (value, who.clone()));
        if *first != value {
            found.push(format!("{at} offset {offset} is {first:?} to {before}, and {value:?} to {who}"));
        }
    };
    for entry in &evidence.history {
        match &entry.event {
            Event::Acked { at, value, offset } if *offset >= 0 && !evidence.is_fragile(at) => {
                says(at, *offset, Some(*value), format!("its producer at {} ms", entry.ms));
            }
            Event::Read { reader, at, offset, value, .. } if !evidence.is_fragile(at) => {
                says(at, *offset, *value, format!("reader {reader} at {} ms", entry.ms));
            }
            _ => {}
        }
    }
    for ((place, broker), log) in &evidence.logs {
        if !evidence.is_fragile(place) {
            log.iter().for_each(|kept| says(place, kept.offset, kept.value, format!("the disk of broker {broker}")));
        }
    }
    found
}

/// C5. Nothing is compacted here and nothing is transactional, so offsets have no gaps.
pub(super) fn readers_go_straight(evidence: &Evidence) -> Vec<String> {
    let mut next: BTreeMap<(u32, &Place), Offset> = BTreeMap::new();
    let mut found = Vec::new();
    for entry in &evidence.history {
        match &entry.event {
            Event::Sought { reader, at, offset } => {
                next.insert((*reader, at), *offset);
            }
            Event::Read { reader, at, offset, .. } => {
                let due = next.insert((*reader, at), offset + 1);
                if due.is_some_and(|due| due != *offset) && !evidence.is_fragile(at) {
                    let due = due.unwrap_or_default();
                    found.push(format!(
                        "reader {reader} was due to read {at} offset {due}, and got {offset} at {} ms",
                        entry.ms
                    ));
                }
            }
            Event::ReadFailed { reader, error }
                if error.contains("OFFSET_OUT_OF_RANGE") && evidence.fragile.is_empty() =>
            {
                found.push(format!(
                    "reader {reader} was told at {} ms that what it had read is not there: {error}",
                    entry.ms
                ));
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
