//! `meta.properties`: whose folder this is, in Java's properties format.
//!
//! Apache Kafka's keys (`version=1`, `cluster.id`, `node.id`, `directory.id`) and one of ours, `ballast.format`, which
//! says by which rules the folder was written. Kafka never writes that one, and that is how a folder of Kafka's is told
//! from ours. `cluster.id` is missing until the first committed entry of the metadata log has named the cluster.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use ballast_wire::{BrokerId, Uuid};

use super::error::Malformed;

/// The format that this Ballast writes, and the newest that it reads.
pub const FORMAT_VERSION: u32 = 1;

/// The version of the file that Kafka and we write; it says which keys there are.
const META_VERSION: u32 = 1;

const FORMAT_KEY: &str = "ballast.format";

/// Whose folder this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetaProperties {
    /// `node.id` of the broker.
    pub node_id: BrokerId,
    /// The folder's own id: a folder that was wiped comes back under another.
    pub directory_id: Uuid,
    /// The cluster, once it is known.
    pub cluster_id: Option<Uuid>,
}

impl fmt::Display for MetaProperties {
    /// The whole file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# Ballast writes this file and checks it at each start: whose folder this is.")?;
        writeln!(f, "node.id={}", self.node_id)?;
        writeln!(f, "directory.id={}", self.directory_id)?;
        writeln!(f, "version={META_VERSION}")?;
        if let Some(cluster_id) = self.cluster_id {
            writeln!(f, "cluster.id={cluster_id}")?;
        }
        writeln!(f, "{FORMAT_KEY}={FORMAT_VERSION}")
    }
}

/// Reads the file. The second value is our format, `None` in a file of Kafka's; when that is missing or from the future,
/// the other keys are read as far as they go, because the caller refuses the folder anyway.
pub(super) fn parse(text: &str) -> Result<(MetaProperties, Option<u32>), Malformed> {
    let keys = parse_properties(text)?;
    let format: Option<u32> = optional(&keys, FORMAT_KEY)?;
    if format.is_none_or(|format| format > FORMAT_VERSION) {
        let meta = MetaProperties { node_id: -1, directory_id: Uuid::ZERO, cluster_id: None };
        return Ok((meta, format));
    }
    let version: u32 = required(&keys, "version")?;
    if version != META_VERSION {
        return Err(Malformed::at(0, format!("version is {version}, expected {META_VERSION}")));
    }
    let meta = MetaProperties {
        node_id: required(&keys, "node.id")?,
        directory_id: required(&keys, "directory.id")?,
        cluster_id: optional(&keys, "cluster.id")?,
    };
    Ok((meta, format))
}

fn optional<T: FromStr>(keys: &BTreeMap<String, (usize, String)>, key: &str) -> Result<Option<T>, Malformed> {
    let Some((line, value)) = keys.get(key) else { return Ok(None) };
    value.parse().map(Some).map_err(|_| Malformed::at(*line, format!("{key} is {value:?}, which cannot be read")))
}

fn required<T: FromStr>(keys: &BTreeMap<String, (usize, String)>, key: &str) -> Result<T, Malformed> {
    optional(keys, key)?.ok_or_else(|| Malformed::at(0, format!("{key} is missing")))
}

/// Java's properties: comments, `=`, `:` or blanks between key and value, escapes, and lines that go on after a `\`.
/// Returns the line and the value of each key; the last one counts.
fn parse_properties(text: &str) -> Result<BTreeMap<String, (usize, String)>, Malformed> {
    let mut keys = BTreeMap::new();
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let line = line.trim_start();
        if line.is_empty() || line.starts_with(['#', '!']) {
            continue;
        }
        let mut whole = line.to_owned();
        while ends_in_escape(&whole) {
            whole.pop();
            let Some((_, next)) = lines.next() else { break };
            whole.push_str(next.trim_start());
        }
        let (key, value) = split(&whole);
        let number = index + 1;
        keys.insert(unescape(key, number)?, (number, unescape(value, number)?));
    }
    Ok(keys)
}

fn ends_in_escape(line: &str) -> bool {
    line.bytes().rev().take_while(|&byte| byte == b'\\').count() % 2 == 1
}

/// Key and value, still escaped.
fn split(line: &str) -> (&str, &str) {
    let mut escaped = false;
    let end = line.find(|c: char| {
        let is_end = !escaped && matches!(c, '=' | ':' | ' ' | '\t' | '\x0c');
        escaped = !escaped && c == '\\';
        is_end
    });
    let Some(end) = end else { return (line, "") };
    let rest = line[end..].trim_start();
    (&line[..end], rest.strip_prefix(['=', ':']).unwrap_or(rest).trim_start())
}

fn unescape(text: &str, line: usize) -> Result<String, Malformed> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('t') => out.push('\t'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('f') => out.push('\x0c'),
            Some('u') => {
                let digits: String = chars.by_ref().take(4).collect();
                let code = u32::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 4);
                let bad = || Malformed::at(line, format!("\\u{digits} is no character"));
                out.push(code.and_then(char::from_u32).ok_or_else(bad)?);
            }
            Some(other) => out.push(other),
            None => {}
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<(String, String)> {
        parse_properties(text).unwrap().into_iter().map(|(key, (_, value))| (key, value)).collect()
    }

    #[test]
    fn properties_are_read_as_java_reads_them() {
        let text = "# comment\n! another\n\n a = 1\nb:2\nc 3\nd\ne=x\\=y\\u0041\\\n   \\tz\nk\\ ey=v  \n";
        let expected = [("a", "1"), ("b", "2"), ("c", "3"), ("d", ""), ("e", "x=yA\tz"), ("k ey", "v  ")];
        assert_eq!(values(text), expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
        assert_eq!(parse_properties("a=\\u12").unwrap_err().to_string(), "line 1: \\u12 is no character");
    }

    #[test]
    fn a_file_reads_back_as_it_was_written() {
        for cluster_id in [None, Some(Uuid([7; 16]))] {
            let meta = MetaProperties { node_id: 3, directory_id: Uuid([9; 16]), cluster_id };
            assert_eq!(parse(&meta.to_string()), Ok((meta, Some(FORMAT_VERSION))));
        }
    }

    #[test]
    fn a_file_of_apache_kafka_has_no_format_of_ours() {
        let text = "#\n#Sun Nov 29 21:04:41 UTC 2026\nnode.id=1\ndirectory.id=RWCwaVersc3s4eOvzsMYUg\nversion=1\n\
                    cluster.id=MkU3OEVBNTcwNTJENDM2Qg\n";
        assert_eq!(parse(text).unwrap().1, None);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let head = "version=1\nballast.format=1\n";
        let wrong = [
            ("node.id=x\ndirectory.id=RWCwaVersc3s4eOvzsMYUg", "line 3: node.id is \"x\", which cannot be read"),
            ("node.id=1\ndirectory.id=short", "line 4: directory.id is \"short\", which cannot be read"),
            ("node.id=1", "line 0: directory.id is missing"),
        ];
        for (text, expected) in wrong {
            assert_eq!(parse(&format!("{head}{text}\n")).unwrap_err().to_string(), expected);
        }
        assert_eq!(parse("version=7\nballast.format=1").unwrap_err().to_string(), "line 0: version is 7, expected 1");
    }
}
