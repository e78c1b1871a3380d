//! C7: in one generation a partition of a group has one owner, a member of an old generation commits nothing once a newer
//! one has, and what was committed last stays.

use std::collections::BTreeMap;

use ballast_wire::Offset;

use crate::sim::evidence::Evidence;
use crate::sim::history::{Event, Place};

/// C7.
pub(super) fn one_owner(evidence: &Evidence) -> Vec<String> {
    let mut found = two_owners(evidence);
    found.extend(zombies(evidence));
    found.extend(lost_commits(evidence));
    found
}

/// Where the history begins that the group's coordinator still has to know.
fn since_the_last_blackout(evidence: &Evidence) -> usize {
    evidence.blackouts().last_of_topic("__consumer_offsets").map_or(0, |index| index + 1)
}

/// Answers that were on their way as power failed are of before: no client waits longer for one than this, in ms.
const ON_THE_WAY_MS_MAX: i64 = 2_000;

/// Where the history begins that speaks of nothing but what the coordinator decided since.
fn decided_since_the_last_blackout(evidence: &Evidence) -> usize {
    let Some(blackout) = evidence.blackouts().last_of_topic("__consumer_offsets") else { return 0 };
    let settled_ms = evidence.history[blackout].ms + ON_THE_WAY_MS_MAX;
    evidence.history.partition_point(|entry| entry.ms <= settled_ms)
}

fn two_owners(evidence: &Evidence) -> Vec<String> {
    let mut owners: BTreeMap<(i32, &Place), u32> = BTreeMap::new();
    let mut found = Vec::new();
    // A group whose generations a blackout took counts them again.
    for entry in &evidence.history[decided_since_the_last_blackout(evidence)..] {
        let Event::Assigned { member, generation, partitions, .. } = &entry.event else { continue };
        for place in partitions {
            let owner = *owners.entry((*generation, place)).or_insert(*member);
            if owner != *member {
                found.push(format!("members {owner} and {member} both own {place} in generation {generation}"));
            }
        }
    }
    found
}

/// A commit that was asked for after a newer generation had committed the same partition must fail.
fn zombies(evidence: &Evidence) -> Vec<String> {
    let mut newest: BTreeMap<&Place, i32> = BTreeMap::new();
    // What was newest when each member asked.
    let mut asked: BTreeMap<(u32, i32), BTreeMap<&Place, i32>> = BTreeMap::new();
    let mut found = Vec::new();
    for entry in &evidence.history[since_the_last_blackout(evidence)..] {
        match &entry.event {
            Event::Committing { member, generation, .. } => {
                asked.insert((*member, *generation), newest.clone());
            }
            Event::Committed { member, generation, offsets, .. } => {
                // An answer to what was asked before a blackout may be on its way as it comes.
                let Some(then) = asked.remove(&(*member, *generation)) else { continue };
                for (place, _) in offsets {
                    if let Some(newer) = then.get(place).filter(|newer| *newer > generation) {
                        found.push(format!(
                            "member {member} committed {place} in generation {generation} at {} ms, after generation {newer} had",
                            entry.ms
                        ));
                    }
                    let newest = newest.entry(place).or_insert(*generation);
                    *newest = (*newest).max(*generation);
                }
            }
            _ => {}
        }
    }
    found
}

/// What the group has at the end is what was committed last, or what somebody asked for afterwards.
fn lost_commits(evidence: &Evidence) -> Vec<String> {
    let is_question = |event: &Event| matches!(event, Event::AskingCommitted { .. });
    let question = evidence.history.iter().rposition(|entry| is_question(&entry.event)).unwrap_or(0);
    let since = since_the_last_blackout(evidence);
    let mut last: BTreeMap<&Place, (usize, Offset)> = BTreeMap::new();
    let mut asked: BTreeMap<(u32, i32), usize> = BTreeMap::new();
    for (at, entry) in evidence.history[..question].iter().enumerate() {
        match &entry.event {
            Event::Committing { member, generation, .. } => {
                asked.insert((*member, *generation), at);
            }
            Event::Committed { member, generation, offsets, .. } => {
                let asked_at = asked.get(&(*member, *generation)).copied().unwrap_or(at);
                if asked_at < since {
                    continue;
                }
                for (place, offset) in offsets {
                    last.insert(place, (asked_at, *offset));
                }
            }
            _ => {}
        }
    }
    let finally = evidence.history.iter().rev().find_map(|entry| match &entry.event {
        Event::FinallyCommitted { offsets, .. } => Some(offsets),
        _ => None,
    });
    let Some(finally) = finally else { return Vec::new() };
    let is_there = |place: &Place, offset: Offset| finally.iter().any(|(other, has)| other == place && *has == offset);
    let asked_later = |place: &Place, since: usize| {
        evidence.history[since..].iter().any(|entry| match &entry.event {
            Event::Committing { offsets, .. } => {
                offsets.iter().any(|(other, offset)| other == place && is_there(place, *offset))
            }
            _ => false,
        })
    };
    let lost =
        last.into_iter().filter(|(place, (since, offset))| !is_there(place, *offset) && !asked_later(place, *since));
    lost.map(|(place, (_, offset))| {
        format!("{offset} was the last commit of {place}, and at the end the group has {finally:?}")
    })
    .collect()
}
