//! Checks of life: C10 a crash leaves something to start from, C13 brokers live, C14 all recovers.

use std::collections::{BTreeMap, BTreeSet};

use ballast_wire::{BrokerId, Offset};

use crate::sim::evidence::Evidence;
use crate::sim::history::{BrokerEvent, Event, Place};

/// How long recovering may take, in ms: ten times the longest timeout.
pub const RECOVERY_MS_MAX: i64 = 60_000;

/// What made a broker end by itself, and whether its disk had failed before.
fn endings(evidence: &Evidence) -> impl Iterator<Item = (BrokerId, &str, i64, bool)> {
    let mut troubled: BTreeSet<BrokerId> = BTreeSet::new();
    evidence.history.iter().filter_map(move |entry| match &entry.event {
        Event::Broker { broker, what: BrokerEvent::DiskTrouble } => {
            troubled.insert(*broker);
            None
        }
        Event::Broker { broker, what: BrokerEvent::GaveUp { cause } } => {
            Some((*broker, cause.as_str(), entry.ms, troubled.contains(broker)))
        }
        _ => None,
    })
}

/// Words of a broker that does not understand what is on its disk.
const STRANGE_DISK: [&str; 4] = ["corrupt", "cannot be read", "does not", "unreadable"];

/// C10.
pub(super) fn crashes_leave_a_start(evidence: &Evidence) -> Vec<String> {
    let strange = |cause: &str| STRANGE_DISK.iter().any(|word| cause.contains(word));
    endings(evidence)
        .filter(|(_, cause, _, troubled)| !troubled && strange(cause))
        .map(|(broker, cause, ms, _)| {
            format!("broker {broker} cannot start at {ms} ms from what a crash has left: {cause}")
        })
        .collect()
}

/// C13. A panic ends the simulation itself.
pub(super) fn brokers_live(evidence: &Evidence) -> Vec<String> {
    endings(evidence)
        .filter(|(.., troubled)| !troubled)
        .map(|(broker, cause, ms, _)| format!("broker {broker} gave up at {ms} ms although its disk is well: {cause}"))
        .collect()
}

/// C14.
pub(super) fn all_recovers(evidence: &Evidence) -> Vec<String> {
    let when = |wanted: &Event| evidence.history.iter().find(|entry| entry.event == *wanted).map(|entry| entry.ms);
    let Some(healed) = when(&Event::Healed) else { return vec!["the run never came to its calm".to_owned()] };
    match when(&Event::Recovered) {
        Some(recovered) if recovered - healed <= RECOVERY_MS_MAX => {}
        Some(recovered) => return vec![format!("recovering took {} ms, from {healed} ms on", recovered - healed)],
        None => return vec![format!("not recovered within the run: all was mended at {healed} ms")],
    }
    let mut found = unequal(evidence);
    found.extend(unread(evidence));
    found
}

/// All replicas are in sync by now and nothing is sent: they are equal.
fn unequal(evidence: &Evidence) -> Vec<String> {
    let mut first: BTreeMap<&Place, (BrokerId, &Vec<_>)> = BTreeMap::new();
    let mut found = Vec::new();
    for ((place, broker), log) in &evidence.logs {
        let (other, before) = *first.entry(place).or_insert((*broker, log));
        if before != log {
            let (a, b) = (before.len(), log.len());
            found.push(format!("{place} has {a} records on broker {other} and {b} on {broker}, or others"));
        }
    }
    found
}

fn unread(evidence: &Evidence) -> Vec<String> {
    let mut next: BTreeMap<(u32, &Place), Offset> = BTreeMap::new();
    for entry in &evidence.history {
        match &entry.event {
            Event::Read { reader, at, offset, .. } => next.insert((*reader, at), offset + 1),
            Event::Sought { reader, at, offset } => next.insert((*reader, at), *offset),
            _ => None,
        };
    }
    let end = |at: &Place| {
        let ends = evidence.logs.iter().filter(|((place, _), _)| place == at);
        ends.filter_map(|(_, log)| log.last()).map(|kept| kept.offset + 1).max().unwrap_or(0)
    };
    let behind = next.into_iter().filter(|((_, at), next)| *next < end(at));
    behind
        .map(|((reader, at), next)| format!("reader {reader} stands at {next} of {at}, which ends at {}", end(at)))
        .collect()
}
