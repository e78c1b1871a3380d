//! Checkpoints: small text files with a version, a count, and one entry a line.
//!
//! ```text
//! 0                      0
//! 2                      2
//! orders 0 3300          0 0
//! orders 1 17            2 35
//! topic partition offset epoch first_offset
//! ```
//! Read strictly: these files decide what is recovered, what is served and what is deleted, and they are replaced whole,
//! so one that does not add up was not written by us.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::str::FromStr;

use ballast_wire::{LeaderEpoch, Offset, PartitionIndex};

use super::error::Malformed;

/// The four offset checkpoints of a log directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckpointKind {
    /// Below it everything is synced: recovery begins there.
    RecoveryPoint,
    /// The high watermark of each partition.
    HighWatermark,
    /// The first offset that may be read, where it lies above the first segment's base.
    LogStart,
    /// The first offset that the cleaner has not seen.
    Cleaner,
}

impl CheckpointKind {
    /// The name of its file.
    #[must_use]
    pub fn file_name(self) -> &'static str {
        match self {
            CheckpointKind::RecoveryPoint => "recovery-point-offset-checkpoint",
            CheckpointKind::HighWatermark => "replication-offset-checkpoint",
            CheckpointKind::LogStart => "log-start-offset-checkpoint",
            CheckpointKind::Cleaner => "cleaner-offset-checkpoint",
        }
    }

    /// What it costs to remove a broken one.
    pub(super) fn without_it(self) -> &'static str {
        match self {
            CheckpointKind::RecoveryPoint => "every log is then read from its beginning, once",
            CheckpointKind::HighWatermark => "followers then ask their leaders what is committed",
            CheckpointKind::LogStart => "records that were deleted within a segment then come back",
            CheckpointKind::Cleaner => "compacted logs are then cleaned from their beginning",
        }
    }
}

/// One line of an offset checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CheckpointEntry {
    /// Name of the topic.
    pub topic: String,
    /// Which of its partitions.
    pub partition: PartitionIndex,
    /// What is remembered.
    pub offset: Offset,
}

/// The text of an offset checkpoint.
#[must_use]
pub fn format_offsets<'a>(entries: impl IntoIterator<Item = (&'a str, PartitionIndex, Offset)>) -> String {
    format_lines(entries, |text, (topic, partition, offset)| writeln!(text, "{topic} {partition} {offset}"))
}

/// The text of a leader epoch checkpoint.
#[must_use]
pub fn format_epochs(entries: impl IntoIterator<Item = (LeaderEpoch, Offset)>) -> String {
    format_lines(entries, |text, (epoch, start)| writeln!(text, "{epoch} {start}"))
}

fn format_lines<T>(
    entries: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut String, T) -> std::fmt::Result,
) -> String {
    let (mut lines, mut count) = (String::new(), 0);
    for entry in entries {
        write(&mut lines, entry).expect("writing into a string cannot fail");
        count += 1;
    }
    format!("0\n{count}\n{lines}")
}

/// Reads an offset checkpoint; an empty text has no entries.
///
/// # Errors
/// It is not what [`format_offsets`] writes: wrong version or count, a line that is not an entry, a partition twice.
pub fn parse_offsets(text: &str) -> Result<Vec<CheckpointEntry>, Malformed> {
    let mut entries = Vec::new();
    let mut seen = BTreeSet::new();
    for (line, content) in entry_lines(text)? {
        let mut words = content.split(' ');
        let (Some(topic), Some(partition), Some(offset), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(Malformed::at(line, format!("{content:?} is not \"topic partition offset\"")));
        };
        let partition = not_negative(partition, "partition", line)?;
        let offset = not_negative(offset, "offset", line)?;
        if topic.is_empty() || !seen.insert((topic, partition)) {
            return Err(Malformed::at(line, format!("{topic:?} {partition} has no name or stands there twice")));
        }
        entries.push(CheckpointEntry { topic: topic.to_owned(), partition, offset });
    }
    Ok(entries)
}

/// Reads a leader epoch checkpoint: `(epoch, first offset)`. An empty text has no entries.
///
/// # Errors
/// It is not what [`format_epochs`] writes; among others, epochs and offsets must rise.
pub fn parse_epochs(text: &str) -> Result<Vec<(LeaderEpoch, Offset)>, Malformed> {
    let mut entries: Vec<(LeaderEpoch, Offset)> = Vec::new();
    for (line, content) in entry_lines(text)? {
        let Some((epoch, start)) = content.split_once(' ') else {
            return Err(Malformed::at(line, format!("{content:?} is not \"epoch offset\"")));
        };
        let entry = (not_negative(epoch, "epoch", line)?, not_negative(start, "offset", line)?);
        if let Some(last) = entries.last().filter(|last| entry.0 <= last.0 || entry.1 <= last.1) {
            return Err(Malformed::at(line, format!("epoch {} at {} does not follow {last:?}", entry.0, entry.1)));
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// Checks version and count; returns the entries' lines with their numbers.
fn entry_lines(text: &str) -> Result<impl Iterator<Item = (usize, &str)>, Malformed> {
    let mut lines = text.lines();
    if text.is_empty() {
        return Ok((3..).zip(lines));
    }
    let version = lines.next().unwrap_or_default();
    if version != "0" {
        return Err(Malformed::at(1, format!("the version is {version:?}, expected 0")));
    }
    let count: usize = not_negative(lines.next().unwrap_or_default(), "count", 2)?;
    let found = lines.clone().count();
    if found != count {
        return Err(Malformed::at(2, format!("{count} entries are announced and {found} are there")));
    }
    if !text.ends_with('\n') {
        return Err(Malformed::at(2 + count, "the last line has no end"));
    }
    Ok((3..).zip(lines))
}

fn not_negative<T: FromStr + Default + PartialOrd>(word: &str, what: &str, line: usize) -> Result<T, Malformed> {
    let number = word.parse().ok().filter(|number| *number >= T::default());
    number.ok_or_else(|| Malformed::at(line, format!("the {what} is {word:?}, expected a number from 0 up")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn checkpoints_have_apache_kafkas_bytes() {
        assert_eq!(format_offsets([("rolled", 0, 3300), ("idem", 0, 9)]), "0\n2\nrolled 0 3300\nidem 0 9\n");
        assert_eq!(format_offsets([]), "0\n0\n");
        assert_eq!(format_epochs([(0, 0), (2, 35)]), "0\n2\n0 0\n2 35\n");
        let text = "0\n4\nrolled 0 3300\ncompacted 0 0\n__transaction_state 1 5\nidem 0 9\n";
        assert_eq!(parse_offsets(text).unwrap()[2].topic, "__transaction_state");
        assert_eq!(parse_epochs("0\n2\n0 0\n2 35\n").unwrap(), [(0, 0), (2, 35)]);
        assert_eq!((parse_offsets("").unwrap(), parse_epochs("0\n0\n").unwrap()), (vec![], vec![]));
    }

    #[test]
    fn what_does_not_add_up_is_told_with_its_line() {
        let offsets = [
            ("1\n0\n", "line 1: the version is \"1\", expected 0"),
            ("0\n", "line 2: the count is \"\", expected a number from 0 up"),
            ("0\n2\na 0 1\n", "line 2: 2 entries are announced and 1 are there"),
            ("0\n1\na 0 1\nb 0 1\n", "line 2: 1 entries are announced and 2 are there"),
            ("0\n1\na 0 1", "line 3: the last line has no end"),
            ("0\n1\na 0\n", "line 3: \"a 0\" is not \"topic partition offset\""),
            ("0\n1\na 0 1 2\n", "line 3: \"a 0 1 2\" is not \"topic partition offset\""),
            ("0\n2\na 0 1\na x 1\n", "line 4: the partition is \"x\", expected a number from 0 up"),
            ("0\n1\na 0 -1\n", "line 3: the offset is \"-1\", expected a number from 0 up"),
            ("0\n2\na 0 1\na 0 2\n", "line 4: \"a\" 0 has no name or stands there twice"),
        ];
        for (text, expected) in offsets {
            assert_eq!(parse_offsets(text).unwrap_err().to_string(), expected);
        }
        assert_eq!(
            parse_epochs("0\n2\n3 5\n3 9\n").unwrap_err().to_string(),
            "line 4: epoch 3 at 9 does not follow (3, 5)"
        );
        assert_eq!(
            parse_epochs("0\n2\n3 5\n4 5\n").unwrap_err().to_string(),
            "line 4: epoch 4 at 5 does not follow (3, 5)"
        );
    }

    proptest! {
        #[test]
        fn offsets_read_back_as_they_were_written(
            entries in prop::collection::btree_map(("[a-zA-Z0-9._-]{1,20}", 0..i32::MAX), 0..i64::MAX, 0..20)
        ) {
            let text = format_offsets(entries.iter().map(|((topic, partition), offset)| (&**topic, *partition, *offset)));
            let read = parse_offsets(&text).unwrap();
            prop_assert!(read.into_iter().map(|entry| ((entry.topic, entry.partition), entry.offset)).eq(entries));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[ 0-9a\n-]{0,60}") {
            drop((parse_offsets(&text), parse_epochs(&text)));
        }
    }
}
