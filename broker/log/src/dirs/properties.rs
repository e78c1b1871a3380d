//! `meta.properties`: whose folder this is, in Java's properties format.
//!
//! Apache Kafka's keys (`version=1`, `cluster.id`, `node.id`, `directory.id`) and one of ours, `ballast.format`, which
//! says by which rules the folder was written. Kafka never writes that one, and that is how a folder of Kafka's is told
//! from ours. `cluster.id` is missing until the first committed entry of the metadata log has named the cluster.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use ballast_wire::{BrokerId, Uuid, properties};

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
    let keys = properties::parse(text).map_err(|error| Malformed::at(error.line, r"\u without four digits"))?;
    let keys: BTreeMap<_, _> = keys.into_iter().map(|entry| (entry.key, (entry.line, entry.value))).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

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
