//! Checks of leadership, over what brokers say as they do it: C6 one leader per epoch, C12 the truth of the ISR.

use std::collections::{BTreeMap, BTreeSet};

use ballast_wire::{BrokerId, LeaderEpoch, Offset, PartitionEpoch};

use crate::sim::evidence::Evidence;
use crate::sim::history::{BrokerEvent, Event, Place};

/// C6.
pub(super) fn one_per_epoch(evidence: &Evidence) -> Vec<String> {
    let mut leaders: BTreeMap<(&Place, LeaderEpoch), BrokerId> = BTreeMap::new();
    let mut highs: BTreeMap<(&Place, LeaderEpoch, BrokerId), Offset> = BTreeMap::new();
    let mut found = Vec::new();
    for entry in &evidence.history {
        let Event::Broker { broker, what } = &entry.event else { continue };
        let ms = entry.ms;
        match what {
            BrokerEvent::Leads { at, leader_epoch } => {
                let first = *leaders.entry((at, *leader_epoch)).or_insert(*broker);
                if first != *broker {
                    found.push(format!(
                        "brokers {first} and {broker} both lead {at} in epoch {leader_epoch} at {ms} ms"
                    ));
                }
            }
            BrokerEvent::High { at, leader_epoch, high, .. } => {
                let before = highs.insert((at, *leader_epoch, *broker), *high);
                if let Some(before) = before.filter(|before| before > high) {
                    found.push(format!(
                        "the watermark of {at} fell from {before} to {high} on broker {broker} at {ms} ms"
                    ));
                }
            }
            _ => {}
        }
    }
    found
}

/// C12, the other half: a replica that has what is committed never cuts it. It has it if it was in the ISR as that was
/// committed: whoever was not may have written something else there. One that died, or ended by itself, begins anew with what
/// its disk has.
pub(super) fn committed_stays(evidence: &Evidence) -> Vec<String> {
    let mut ends: BTreeMap<(BrokerId, &Place), Offset> = BTreeMap::new();
    let mut highs: BTreeMap<(BrokerId, &Place), Offset> = BTreeMap::new();
    let mut found = Vec::new();
    for (index, entry) in evidence.history.iter().enumerate() {
        let Event::Broker { broker, what } = &entry.event else { continue };
        match what {
            BrokerEvent::High { at, high, isr, .. } => {
                for member in isr {
                    let highest = highs.entry((*member, at)).or_insert(*high);
                    *highest = (*highest).max(*high);
                }
            }
            BrokerEvent::Ends { at, end } => {
                let before = ends.insert((*broker, at), *end).unwrap_or(0);
                if let Some(high) = highs.get(&(*broker, at)).filter(|high| before >= **high && end < *high) {
                    found.push(format!(
                        "broker {broker} cuts {at} from {before} to {end} at {} ms, and {high} is committed",
                        entry.ms
                    ));
                }
            }
            BrokerEvent::Died { .. } => {
                highs.retain(|(of, at), _| of != broker && !evidence.blackouts().of_place(at).contains(&index));
                ends.retain(|(of, _), _| of != broker);
            }
            BrokerEvent::Isr { at, .. } if evidence.blackouts().of_place(at).contains(&index) => {
                highs.retain(|(_, of), _| *of != at);
            }
            BrokerEvent::GaveUp { .. } => {
                highs.retain(|(of, _), _| of != broker);
                ends.retain(|(of, _), _| of != broker);
            }
            _ => {}
        }
    }
    found
}

/// C12, at every watermark that a leader publishes. A broker that died may have lost its log's end, and stays in the ISR until
/// the controller hears of it: it counts again once it has everything, as far as a blackout has left it.
pub(super) fn isr_is_true(evidence: &Evidence) -> Vec<String> {
    let mut ends: BTreeMap<(BrokerId, &Place), Offset> = BTreeMap::new();
    let mut highs: BTreeMap<&Place, Offset> = BTreeMap::new();
    let mut died: BTreeSet<(BrokerId, &Place)> = BTreeSet::new();
    // The newest ISR that anybody has heard of: its leader may not know yet that it is in place.
    let mut newest: BTreeMap<&Place, (PartitionEpoch, LeaderEpoch, &[BrokerId])> = BTreeMap::new();
    let mut found = Vec::new();
    for (index, entry) in evidence.history.iter().enumerate() {
        let Event::Broker { broker, what } = &entry.event else { continue };
        match what {
            BrokerEvent::Ends { at, end } => {
                let key = (*broker, at);
                if !died.contains(&key) || *end >= highs.get(at).copied().unwrap_or(0) {
                    died.remove(&key);
                    ends.insert(key, *end);
                }
            }
            BrokerEvent::Died { .. } => {
                highs.retain(|at, _| !evidence.blackouts().of_place(at).contains(&index));
                died.extend(ends.keys().filter(|(of, _)| of == broker));
                ends.retain(|(of, _), _| of != broker);
            }
            BrokerEvent::Isr { at, leader_epoch, partition_epoch, isr } => {
                let heard = (*partition_epoch, *leader_epoch, isr.as_slice());
                let newest = newest.entry(at).or_insert(heard);
                *newest = (*newest).max(heard);
                if evidence.blackouts().of_place(at).contains(&index) {
                    highs.remove(at);
                }
            }
            BrokerEvent::High { at, leader_epoch, high, isr } => {
                let highest = highs.entry(at).or_insert(*high);
                *highest = (*highest).max(*high);
                let behind = |member: &&BrokerId| ends.get(&(**member, at)).is_some_and(|end| end < high);
                let heard_of = newest.get(at).filter(|(_, epoch, _)| epoch == leader_epoch);
                let heard_of = heard_of.map_or(&[][..], |(.., isr)| *isr);
                if let Some(member) = isr.iter().chain(heard_of).find(behind) {
                    let end = ends[&(*member, at)];
                    found.push(format!(
                        "the watermark of {at} is {high} at {} ms, and broker {member} of its ISR {isr:?} ends at {end}",
                        entry.ms
                    ));
                }
            }
            _ => {}
        }
    }
    found
}
