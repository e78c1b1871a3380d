//! C8, the part of each node alone: what it said survives a crash is there after it, and what it cut stays cut.

use std::collections::BTreeMap;

use ballast_wire::{BrokerId, Offset};

use crate::sim::evidence::Evidence;
use crate::sim::history::{BrokerEvent, Event};

/// What a node must find when it opens its metadata log again.
#[derive(Default)]
struct Said {
    vote: Option<(i64, BrokerId)>,
    bounds: Option<(Offset, Offset)>,
    /// The term of the last entry that it took at each index.
    terms: BTreeMap<Offset, i64>,
}

/// Votes that were told are remembered, and the log ends where the node said that a crash may leave it.
pub(super) fn nodes_remember(evidence: &Evidence) -> Vec<String> {
    let mut said: BTreeMap<BrokerId, Said> = BTreeMap::new();
    let mut found = Vec::new();
    for entry in &evidence.history {
        let Event::Broker { broker, what } = &entry.event else { continue };
        let said = said.entry(*broker).or_default();
        match what {
            BrokerEvent::Votes { term, candidate } => said.vote = Some((*term, *candidate)),
            BrokerEvent::MetadataBounds { from, upto } => said.bounds = Some((*from, *upto)),
            BrokerEvent::MetadataEntry { index, term } => {
                said.terms.insert(*index, *term);
            }
            BrokerEvent::MetadataOpens { end, last_term, term, candidate } => {
                let vote = (*term, *candidate);
                if let Some(told) = said.vote.filter(|told| *told > vote) {
                    found.push(format!(
                        "broker {broker} voted {told:?} (term, candidate), and at {} ms remembers {vote:?}",
                        entry.ms
                    ));
                }
                if let Some((from, upto)) = said.bounds.filter(|(from, upto)| end < from || end > upto) {
                    found.push(format!(
                        "a crash may leave the metadata log of broker {broker} with an end of {from} to {upto}, and at {} ms it ends at {end}",
                        entry.ms
                    ));
                }
                if let Some(taken) = said.terms.get(&(end - 1)).filter(|taken| *taken != last_term) {
                    found.push(format!(
                        "broker {broker} has taken entry {} of term {taken}, and at {} ms finds the one of term {last_term} that it had cut",
                        end - 1,
                        entry.ms
                    ));
                }
                said.vote = Some(vote);
                said.bounds = Some((*end, *end));
            }
            _ => {}
        }
    }
    found
}
