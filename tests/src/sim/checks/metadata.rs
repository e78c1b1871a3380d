//! Checks of metadata: C8 one log everywhere, C16 what is made is made once.

use std::collections::BTreeMap;

use ballast_wire::Uuid;

use crate::sim::evidence::Evidence;
use crate::sim::history::Event;

/// C8. At the end everything that anybody has is committed or about to be: two logs agree where both have an entry.
pub(super) fn logs_agree(evidence: &Evidence) -> Vec<String> {
    let mut first: BTreeMap<i64, (i32, &[u8])> = BTreeMap::new();
    let mut found = Vec::new();
    for (broker, entries) in &evidence.metadata {
        for (index, bytes) in entries {
            let (other, before) = *first.entry(*index).or_insert((*broker, bytes));
            if without_stamp(before) != without_stamp(bytes) {
                found.push(format!("entry {index} of the metadata log differs between brokers {other} and {broker}"));
            }
        }
    }
    found
}

/// A batch without its checksum and timestamps: each node stamps the entries that it writes with its own clock.
fn without_stamp(batch: &[u8]) -> Vec<u8> {
    let mut batch = batch.to_vec();
    for range in [17..21, 27..43] {
        if let Some(bytes) = batch.get_mut(range) {
            bytes.fill(0);
        }
    }
    batch
}

/// C16.
pub(super) fn made_once(evidence: &Evidence) -> Vec<String> {
    let mut found = Vec::new();
    let mut ids: BTreeMap<&str, Uuid> = BTreeMap::new();
    let mut names: BTreeMap<Uuid, &str> = BTreeMap::new();
    for entry in &evidence.history {
        let (Event::TopicMade { name, id } | Event::TopicListed { name, id }) = &entry.event else { continue };
        let first = *ids.entry(name).or_insert(*id);
        if first != *id {
            found.push(format!("topic {name} is {first} and {id}, and nobody deleted it"));
        }
        let other = *names.entry(*id).or_insert(name);
        if other != name {
            found.push(format!("topics {other} and {name} have one id, {id}"));
        }
    }
    let mut owners: BTreeMap<i64, u32> = BTreeMap::new();
    for kept in evidence.logs.values().flatten().filter(|kept| kept.producer_id >= 0) {
        let Some(value) = kept.value else { continue };
        let owner = *owners.entry(kept.producer_id).or_insert(value.producer);
        if owner != value.producer {
            found.push(format!("producers {owner} and {} were given one id, {}", value.producer, kept.producer_id));
        }
    }
    found
}
