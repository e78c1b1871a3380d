//! What came out: a line of a table for each figure as soon as it is known, and JSON with every value at the end.

use std::io::Write as _;

use serde_json::{Value, json};

use super::both::Both;
use crate::stats::three_digits;

/// Every figure so far.
pub(super) struct Report {
    rows: Vec<Row>,
}

/// One figure of one load.
pub(super) struct Row {
    bench: &'static str,
    case: String,
    figure: String,
    values: Both<f64>,
}

impl Row {
    /// A figure of both.
    pub(super) fn new(bench: &'static str, case: &str, figure: &str, values: Both<f64>) -> Row {
        Row { bench, case: case.to_owned(), figure: figure.to_owned(), values }
    }

    /// Ratios of the turns that belong together.
    fn ratios(&self) -> Vec<f64> {
        self.values.ours.iter().zip(&self.values.theirs).map(|(ours, theirs)| ours / theirs).collect()
    }

    fn line(&self) -> String {
        format!(
            "{:<34} {:<30} {:<25} {:<25} {}",
            self.case,
            self.figure,
            spread(&self.values.ours),
            spread(&self.values.theirs),
            spread(&self.ratios())
        )
    }

    fn json(&self) -> Value {
        json!({
            "bench": self.bench,
            "case": self.case,
            "figure": self.figure,
            "ballast": self.values.ours,
            "kafka": self.values.theirs,
            "ratios": self.ratios(),
        })
    }
}

impl Report {
    pub(super) fn new() -> Report {
        Report { rows: Vec::new() }
    }

    /// Keeps a figure and shows it.
    pub(super) fn add(&mut self, row: Row) {
        if self.rows.last().is_none_or(|last| last.bench != row.bench) {
            println!("\n{}   (median [least..most]; ratios of neighbouring turns)", row.bench);
            println!("{:<34} {:<30} {:<25} {:<25} Ballast/Kafka", "", "", "Ballast", "Kafka");
        }
        println!("{}", row.line());
        // A run takes long: whoever waits sees each figure when it is known.
        let _ = std::io::stdout().flush();
        self.rows.push(row);
    }

    /// Every value, as a JSON array of figures.
    pub(super) fn json(&self) -> String {
        Value::Array(self.rows.iter().map(Row::json).collect()).to_string()
    }
}

/// Median, least and most, or a dash where nothing was measured.
fn spread(values: &[f64]) -> String {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (sorted.first(), sorted.last()) else { return "-".to_owned() };
    let middle = sorted.len() / 2;
    let median =
        if sorted.len().is_multiple_of(2) { f64::midpoint(sorted[middle - 1], sorted[middle]) } else { sorted[middle] };
    format!("{} [{}..{}]", three_digits(median), three_digits(*least), three_digits(*most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_shows_median_least_and_most_and_ratios_of_turns_that_belong_together() {
        let values = Both { ours: vec![2.0, 8.0, 3.0], theirs: vec![1.0, 2.0, 3.0] };
        let row = Row::new("P4", "load", "MB/s", values);
        assert_eq!(row.ratios(), [2.0, 4.0, 1.0]);
        assert_eq!(spread(&row.values.ours), "3.00 [2.00..8.00]");
        assert_eq!(spread(&row.ratios()), "2.00 [1.00..4.00]");
        assert_eq!(row.json()["ballast"], json!([2.0, 8.0, 3.0]));
    }

    #[test]
    fn a_peer_that_is_not_there_is_a_dash() {
        let row = Row::new("P4", "load", "MB/s", Both { ours: vec![2.0, 4.0], theirs: vec![] });
        assert_eq!(spread(&row.values.ours), "3.00 [2.00..4.00]");
        assert_eq!((spread(&row.values.theirs), spread(&row.ratios())), ("-".to_owned(), "-".to_owned()));
    }
}
