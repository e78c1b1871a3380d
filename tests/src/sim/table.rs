//! What many runs were like, as docs/TESTING.md tells it: seeds by shape, faults by class, records, time.

use std::collections::BTreeMap;
use std::fmt;

use super::faults::Class;
use super::history::Event;
use super::run::{Outcome, Scenario};
use super::shape::Shape;

/// Sums over runs; it displays as two tables.
#[derive(Debug, Clone, Default)]
pub struct Table {
    shapes: BTreeMap<Shape, Row>,
    struck: BTreeMap<Class, u64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Row {
    seeds: u64,
    simulated_ms: i64,
    faults: u64,
    acknowledged: u64,
    /// The fewest that one seed had.
    fewest: Option<u64>,
    read: u64,
    blackouts: u64,
    failed: u64,
}

impl Table {
    /// How many runs are in it.
    #[must_use]
    pub fn seeds(&self) -> u64 {
        self.shapes.values().map(|row| row.seeds).sum()
    }

    /// Adds one run.
    pub fn add(&mut self, scenario: &Scenario, outcome: &Outcome) {
        let row = self.shapes.entry(scenario.shape).or_default();
        let count = |wanted: fn(&Event) -> bool| {
            outcome.evidence.history.iter().filter(|entry| wanted(&entry.event)).count() as u64
        };
        let acknowledged = count(|event| matches!(event, Event::Acked { .. }));
        row.seeds += 1;
        row.simulated_ms += outcome.lasted_ms;
        row.faults += outcome.struck.values().sum::<u64>();
        row.acknowledged += acknowledged;
        row.fewest = Some(row.fewest.map_or(acknowledged, |fewest| fewest.min(acknowledged)));
        row.read += count(|event| matches!(event, Event::Read { .. }));
        row.blackouts += outcome.evidence.blackouts().count() as u64;
        row.failed += u64::from(!outcome.violations.is_empty());
        for (class, times) in &outcome.struck {
            *self.struck.entry(*class).or_default() += times;
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| shape | seeds | simulated s | faults | acknowledged (fewest in a seed) | read | partitions that lost an end to power | failed |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|---|")?;
        for (shape, row) in &self.shapes {
            let Row { seeds, simulated_ms, faults, acknowledged, fewest, read, blackouts, failed } = row;
            let (simulated_s, fewest) = (simulated_ms / 1_000, fewest.unwrap_or(0));
            writeln!(
                f,
                "| {shape:?} | {seeds} | {simulated_s} | {faults} | {acknowledged} ({fewest}) | {read} | {blackouts} | {failed} |"
            )?;
        }
        writeln!(f, "\n| fault | times |\n|---|---|")?;
        self.struck.iter().try_for_each(|(class, times)| writeln!(f, "| {class:?} | {times} |"))
    }
}
