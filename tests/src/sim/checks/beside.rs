//! C9: what lies beside a log says what the log says, so that whoever recovers from it comes to the same.

use std::collections::BTreeMap;

use ballast_wire::{BrokerId, Offset, ProducerId};

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

/// A snapshot names every producer of the records before it, with its last record, as far as the log is there; and no other.
fn wrong_snapshots(key: &(Place, BrokerId), beside: &Beside, log: &[Kept]) -> Vec<String> {
    let (place, broker) = key;
    let start = log.first().map_or(0, |kept| kept.offset);
    let end = log.last().map_or(0, |kept| kept.offset + 1);
    let mut found = Vec::new();
    for (before, snapshot) in &beside.snapshots {
        if *before > end {
            found.push(format!(
                "{place} on broker {broker} ends at {end}, and has a snapshot of producers before {before}"
            ));
        }
        let records = log.iter().filter(|kept| kept.offset < *before && kept.producer_id >= 0);
        let wrote: BTreeMap<ProducerId, Offset> = records.map(|kept| (kept.producer_id, kept.offset)).collect();
        let named: BTreeMap<ProducerId, Offset> = snapshot.iter().copied().filter(|(_, last)| *last >= start).collect();
        if wrote != named {
            found.push(format!(
                "{place} on broker {broker}: the snapshot before {before} says that producers wrote last {named:?}, and the log {wrote:?}"
            ));
        }
    }
    found
}
