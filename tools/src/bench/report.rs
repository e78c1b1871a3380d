//! What a bench has found, as a table for people or a document for programs.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Serialize, Serializer};

use crate::error::Failure;
use crate::output::{Column, count, plural, print, print_json, table};

/// A record's way is at most this long, in µs; what takes longer counts as this.
const LATENCY_US_MAX: u64 = 10 * 60 * 1_000_000;

/// Times in µs, exact to three digits.
pub(super) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LATENCY_US_MAX, 3).expect("the bounds are in order")
}

/// Counts a time.
pub(super) fn record(histogram: &mut Histogram<u64>, span: Duration) {
    let us = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
    histogram.saturating_record(us.max(1));
}

#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) bench: &'static str,
    pub(super) topic: String,
    pub(super) partitions: usize,
    /// How it was set up.
    #[serde(serialize_with = "as_object")]
    pub(super) settings: Vec<(&'static str, String)>,
    pub(super) records: u64,
    /// That were refused or given up.
    pub(super) failed: u64,
    /// Of the values.
    pub(super) bytes: u64,
    pub(super) seconds: f64,
    pub(super) records_per_second: f64,
    pub(super) mib_per_second: f64,
    /// `null` where none is measured.
    pub(super) latency_ms: Option<Latency>,
}

#[derive(Debug, Serialize)]
pub(super) struct Latency {
    mean: f64,
    p50: f64,
    p95: f64,
    p99: f64,
    p99_9: f64,
    max: f64,
}

impl Latency {
    /// `None` if nothing was counted.
    pub(super) fn of(histogram: &Histogram<u64>) -> Option<Latency> {
        let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1_000.0;
        (!histogram.is_empty()).then(|| Latency {
            mean: histogram.mean() / 1_000.0,
            p50: at(0.5),
            p95: at(0.95),
            p99: at(0.99),
            p99_9: at(0.999),
            max: histogram.max() as f64 / 1_000.0,
        })
    }
}

fn as_object<S: Serializer>(settings: &[(&'static str, String)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(settings.iter().map(|(name, value)| (name, value)))
}

impl Report {
    /// With the figures that follow from the others.
    pub(super) fn with_rates(mut self, elapsed: Duration) -> Report {
        // A bench that was interrupted at once has lasted some time, too.
        self.seconds = elapsed.as_secs_f64().max(1e-6);
        self.records_per_second = self.records as f64 / self.seconds;
        self.mib_per_second = self.bytes as f64 / self.seconds / f64::from(1 << 20);
        self
    }

    pub(super) fn print(&self, json: bool) -> Result<(), Failure> {
        if json {
            return print_json(self);
        }
        let settings: Vec<String> = self.settings.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let partitions = plural(self.partitions as i64, "partition");
        print(&format!("bench {}  topic {}  {partitions}  {}", self.bench, self.topic, settings.join("  ")))?;
        let mut columns = vec![
            Column::Right("records"),
            Column::Right("seconds"),
            Column::Right("records/s"),
            Column::Right("MiB/s"),
        ];
        let mut cells = vec![
            count(self.records as i64),
            format!("{:.1}", self.seconds),
            count(self.records_per_second as i64),
            format!("{:.1}", self.mib_per_second),
        ];
        if let Some(latency) = &self.latency_ms {
            for (name, value) in [
                ("p50 ms", latency.p50),
                ("p95 ms", latency.p95),
                ("p99 ms", latency.p99),
                ("p99.9 ms", latency.p99_9),
                ("max ms", latency.max),
            ] {
                columns.push(Column::Right(name));
                cells.push(format!("{value:.2}"));
            }
        }
        print(&table(&columns, [cells]))?;
        if self.failed > 0 {
            print(&format!("{} not written", plural(self.failed as i64, "record")))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_exact_to_three_digits_and_none_is_none() {
        let mut times = histogram();
        assert!(Latency::of(&times).is_none());
        (1..=1000u64).for_each(|ms| record(&mut times, Duration::from_millis(ms)));
        let latency = Latency::of(&times).unwrap();
        for (found, expected) in
            [(latency.p50, 500.0), (latency.p99, 990.0), (latency.max, 1000.0), (latency.mean, 500.5)]
        {
            assert!((found - expected).abs() < expected / 500.0, "{found} is not {expected}");
        }
        record(&mut times, Duration::from_secs(1 << 40));
        record(&mut times, Duration::ZERO);
    }
}
