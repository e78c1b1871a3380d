//! C9: what lies beside a log says what the log says, so that whoever recovers from it comes to the same.

use std::collections::BTreeMap;

use ballast_wire::{BrokerId, Offset};

use crate::sim::beside::Beside;
use crate::sim::evidence::{Evidence, Kept};
use crate::sim::history::Place;

/// C9.
pub(super) fn files_agree(evidence: &Evidence) -> Vec<String> {
    let mut found = Vec::new();
    for (key, beside) in &evidence.beside {
        let Some(log) = evidence.logs.get(key) else { continue };
        found.extend(wrong_epochs(key, beside, log));
        found.extend(wrong_snapshots(key, beside, log));
    }
    found
}

/// Every record was written in the epoch that the checkpoint names for its offset.
fn wrong_epochs(key: &(Place, BrokerId), beside: &Beside, log: &[Kept]) -> Option<String> {
    let (place, broker) = key;
    log.iter().find_map(|kept| {
        let begun = beside.epochs.iter().rfind(|(_, start)| *start <= kept.offset);
        let named = begun.map(|(epoch, _)| *epoch);
        (named != Some(kept.leader_epoch)).then(|| {
            let (offset, epoch, epochs) = (kept.offset, kept.leader_epoch, &beside.epochs);
            format!("{place} on broker {broker}: offset {offset} was written in epoch {epoch}, and the checkpoint says {epochs:?}")
        })
    })
}

/// What a snapshot calls a producer's last record is a record of that producer, in a part of the log that is there.
fn wrong_snapshots(key: &(Place, BrokerId), beside: &Beside, log: &[Kept]) -> Vec<String> {
    let (place, broker) = key;
    let producers: BTreeMap<Offset, i64> = log.iter().map(|kept| (kept.offset, kept.producer_id)).collect();
    let start = log.first().map_or(0, |kept| kept.offset);
    let end = log.last().map_or(0, |kept| kept.offset + 1);
    let mut found = Vec::new();
    for (before, snapshot) in &beside.snapshots {
        if *before > end {
            found.push(format!(
                "{place} on broker {broker} ends at {end}, and has a snapshot of producers before {before}"
            ));
        }
        for (id, last) in snapshot.iter().filter(|(_, last)| *last >= start) {
            let owner = producers.get(last);
            if owner != Some(id) {
                found.push(format!(
                    "{place} on broker {broker}: the snapshot before {before} says that producer {id} wrote offset {last}, which is of {owner:?}"
                ));
            }
        }
    }
    found
}
