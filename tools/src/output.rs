//! What commands print: aligned tables and units for people, JSON for programs.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::error::Failure;

/// How a column stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Left(&'static str),
    Right(&'static str),
}

/// A table without lines: columns two spaces apart, headings in capitals, nothing cut off.
pub(crate) fn table(columns: &[Column], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Disabled);
    let name = |column: &Column| match column {
        Column::Left(name) | Column::Right(name) => name.to_uppercase(),
    };
    table.set_header(columns.iter().map(name));
    for row in rows {
        table.add_row(row);
    }
    for (column, kind) in table.column_iter_mut().zip(columns) {
        column.set_padding((0, 2));
        if matches!(kind, Column::Right(_)) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n")
}

/// Prints text and a line end.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// Prints one JSON document.
pub(crate) fn print_json(document: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(document).map_err(Failure::new)?;
    print(&text)
}

/// Bytes as people read them: `999 B`, `1.5 KiB`, `20.0 GiB`.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let mut value = count as f64 / 1024.0;
    let mut unit = 0;
    // What would be printed as 1024.0 is 1.0 of the next unit.
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// A count with its thousands apart: `1,234,567`.
pub(crate) fn count(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut out = if value < 0 { "-".to_owned() } else { String::new() };
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count and what is counted: `1 record`, `2,000 records`.
pub(crate) fn plural(value: i64, noun: &str) -> String {
    format!("{} {noun}{}", count(value), if value == 1 { "" } else { "s" })
}

/// A span of time: `12 ms`, `3.4 s`, `2 m 5 s`.
pub(crate) fn duration(value: Duration) -> String {
    match value.as_secs() {
        0 => format!("{} ms", value.as_millis()),
        1..60 => format!("{:.1} s", value.as_secs_f64()),
        seconds => format!("{} m {} s", seconds / 60, seconds % 60),
    }
}

/// A time in ms since 1970, in UTC: `2026-11-29T22:16:05.123Z`; `-` for none.
pub(crate) fn time(ms: i64) -> String {
    match jiff::Timestamp::from_millisecond(ms) {
        Ok(time) if ms >= 0 => format!("{time:.3}"),
        _ => "-".to_owned(),
    }
}

/// Ids separated by commas; `-` for none.
pub(crate) fn ids(ids: &[i32]) -> String {
    if ids.is_empty() {
        return "-".to_owned();
    }
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    ids.join(",")
}

/// A counter on stderr, shown on a terminal only.
pub(crate) fn progress(message: &'static str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {msg} {human_pos} records, {per_sec}, {elapsed}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner());
    let bar = ProgressBar::new_spinner().with_style(style).with_message(message);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// How much of something known is done, on stderr, shown on a terminal only.
pub(crate) fn progress_of(total: u64, message: &'static str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg} [{bar:30}] {human_pos}/{human_len}, {elapsed}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(total).with_style(style).with_message(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_aligns_its_columns_and_leaves_no_spaces_at_line_ends() {
        let text = table(
            &[Column::Left("topic"), Column::Right("bytes"), Column::Left("isr")],
            [vec!["a".into(), "1,000".into(), "1".into()], vec!["longer".into(), "7".into(), "1,2".into()]],
        );
        assert_eq!(text, "TOPIC   BYTES  ISR\na       1,000  1\nlonger      7  1,2");
    }

    #[test]
    fn bytes_change_their_unit_where_people_expect_it() {
        let cases = [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1_048_575, "1.0 MiB"), (3 << 30, "3.0 GiB")];
        for (count, text) in cases {
            assert_eq!(bytes(count), text);
        }
        assert_eq!(bytes(u64::MAX), "16.0 EiB");
    }

    #[test]
    fn counts_have_their_thousands_apart() {
        assert_eq!([0, 999, 1000, -1_234_567].map(count), ["0", "999", "1,000", "-1,234,567"]);
        assert_eq!((plural(1, "record"), plural(0, "record")), ("1 record".to_owned(), "0 records".to_owned()));
        assert_eq!(count(i64::MIN), "-9,223,372,036,854,775,808");
    }

    #[test]
    fn times_are_utc_and_no_time_is_a_dash() {
        assert_eq!(time(1_700_000_000_123), "2023-11-14T22:13:20.123Z");
        assert_eq!((time(-1), time(i64::MAX)), ("-".to_owned(), "-".to_owned()));
    }
}
