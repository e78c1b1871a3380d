//! What the controller brought about, told in the log and counted.
//!
//! Holds: a line says what, why, and for a loss also what it waits for. What happens to many partitions at once is one line
//! with their number and a few names; each of them has a line of its own at `debug`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ballast_core::controller::{Event, FencedBecause, Standing};
use ballast_wire::NO_LEADER;

use super::named::Named;
use super::registration::RefusedBrokers;

/// What the controller of this node has done since the node started.
#[derive(Debug, Default)]
pub(crate) struct ControllerStats {
    /// Does it decide now?
    pub(crate) is_active: AtomicBool,
    /// Brokers that were fenced for their silence.
    pub(crate) timed_out_heartbeats: AtomicU64,
    /// Leaders that were elected though they may lack acknowledged records.
    pub(crate) unclean_elections: AtomicU64,
    /// Leaders that were elected out of the eligible replicas (KIP-966).
    pub(crate) eligible_elections: AtomicU64,
    /// Registrations that were refused, each told once.
    pub(crate) refused_brokers: RefusedBrokers,
}

impl ControllerStats {
    /// Takes in what came about together.
    pub(super) fn tell(&self, events: &[Event]) {
        for event in events {
            self.count(event);
            tell_of_broker(event);
            tell_of_partition(event);
        }
        tell_of_elections(events);
    }

    fn count(&self, event: &Event) {
        let counter = match event {
            Event::Fenced { why: FencedBecause::Silent(_), .. } => &self.timed_out_heartbeats,
            Event::Elected { standing: Standing::Eligible, .. } => &self.eligible_elections,
            Event::Elected { standing: Standing::LastKnown | Standing::Unclean, .. } => &self.unclean_elections,
            Event::Elected { standing: Standing::InSync, .. }
            | Event::Fenced { .. }
            | Event::Unfenced { .. }
            | Event::Stopping { .. }
            | Event::Leaderless { .. } => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

fn tell_of_broker(event: &Event) {
    match event {
        Event::Fenced { broker, why: why @ FencedBecause::Silent(_) } => {
            tracing::warn!(broker, %why, "a broker is fenced; it is let in again with its next heartbeat");
        }
        Event::Fenced { broker, why } => tracing::info!(broker, %why, "a broker is fenced"),
        Event::Unfenced { broker } => {
            tracing::info!(broker, "a broker is unfenced: it is alive and knows its registration");
        }
        Event::Stopping { broker } => tracing::info!(broker, "a broker hands over what it leads, in order to stop"),
        Event::Elected { .. } | Event::Leaderless { .. } => {}
    }
}

fn tell_of_partition(event: &Event) {
    match event {
        Event::Elected { topic, index, from, to, leader_epoch, standing } => {
            tracing::debug!(%topic, partition = index, from, to, leader_epoch, %standing, "a leader is elected");
        }
        Event::Leaderless { topic, index, from, waits_for } => {
            tracing::debug!(%topic, partition = index, from, ?waits_for, "a partition has no leader");
        }
        Event::Fenced { .. } | Event::Unfenced { .. } | Event::Stopping { .. } => {}
    }
}

fn tell_of_elections(events: &[Event]) {
    let of = |wanted: fn(&Event) -> bool| events.iter().filter(move |event| wanted(event));
    let clean = of(|event| matches!(event, Event::Elected { standing, .. } if standing.is_clean())).count();
    if clean > 0 {
        tracing::info!(partitions = clean, "leaders are elected; none of them lacks an acknowledged record");
    }
    let unclean = names(of(|event| matches!(event, Event::Elected { standing, .. } if !standing.is_clean())));
    if !unclean.is_empty() {
        tracing::warn!(partitions = unclean.count(), named = %unclean, "leaders are elected that were not in sync: acknowledged records may be lost");
    }
    let leaderless = names(of(|event| matches!(event, Event::Leaderless { .. })));
    if !leaderless.is_empty() {
        tracing::warn!(partitions = leaderless.count(), named = %leaderless, "partitions have no leader; `ballast cluster describe` says what would help");
    }
}

/// The partitions of these events.
fn names<'a>(events: impl Iterator<Item = &'a Event>) -> Named {
    let mut named = Named::default();
    for event in events {
        match event {
            Event::Elected { topic, index, from: NO_LEADER, to, standing, .. } => {
                named.push(|| format!("{topic}-{index} (broker {to}, {standing})"));
            }
            Event::Elected { topic, index, from, to, standing, .. } => {
                named.push(|| format!("{topic}-{index} (broker {to} after {from}, {standing})"));
            }
            Event::Leaderless { topic, index, from, waits_for } => {
                named.push(|| format!("{topic}-{index} (led by {from}, waits for any of {waits_for:?})"));
            }
            Event::Fenced { .. } | Event::Unfenced { .. } | Event::Stopping { .. } => {}
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elected(index: i32, standing: Standing) -> Event {
        Event::Elected { topic: "t".into(), index, from: NO_LEADER, to: 2, leader_epoch: 1, standing }
    }

    #[test]
    fn what_may_lose_records_is_counted_apart_from_what_cannot() {
        let stats = ControllerStats::default();
        let silent = Event::Fenced { broker: 1, why: FencedBecause::Silent(9_001) };
        let stopped = Event::Fenced { broker: 3, why: FencedBecause::Stopped };
        let standings = [Standing::InSync, Standing::Eligible, Standing::LastKnown, Standing::Unclean];
        let elections = standings.iter().map(|standing| elected(0, *standing));
        stats.tell(&[silent, stopped].into_iter().chain(elections).collect::<Vec<_>>());
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counts = [&stats.timed_out_heartbeats, &stats.eligible_elections, &stats.unclean_elections].map(count);
        assert_eq!(counts, [1, 1, 2]);
    }

    #[test]
    fn a_line_names_a_few_partitions_and_counts_the_others() {
        let many: Vec<Event> = (0..12).map(|index| elected(index, Standing::Unclean)).collect();
        let line = names(many.iter()).to_string();
        assert!(line.starts_with("t-0 (broker 2, unclean), t-1 "), "{line}");
        assert!(line.ends_with("t-9 (broker 2, unclean), and 2 more"), "{line}");
        assert!(names([].iter()).is_empty());
    }
}
