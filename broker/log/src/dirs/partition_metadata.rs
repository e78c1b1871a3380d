//! `partition.metadata`: which topic a partition's folder belongs to, whatever its name says.

use ballast_wire::Uuid;

use super::error::Malformed;

/// Name of the file.
pub const PARTITION_METADATA_FILE: &str = "partition.metadata";

/// The text of the file; Kafka ends it without a new line, and so do we.
#[must_use]
pub fn format_partition_metadata(topic_id: Uuid) -> String {
    format!("version: 0\ntopic_id: {topic_id}")
}

/// Reads the file.
///
/// # Errors
/// It is not what [`format_partition_metadata`] writes, or names no topic.
pub fn parse_partition_metadata(text: &str) -> Result<Uuid, Malformed> {
    let mut lines = text.lines();
    let version = lines.next().unwrap_or_default();
    if version != "version: 0" {
        return Err(Malformed::at(1, format!("{version:?} is not \"version: 0\"")));
    }
    let line = lines.next().unwrap_or_default();
    let id = line.strip_prefix("topic_id: ").and_then(|id| id.parse().ok()).filter(|id: &Uuid| !id.is_zero());
    match (id, lines.next()) {
        (Some(id), None) => Ok(id),
        (None, _) => Err(Malformed::at(2, format!("{line:?} is not \"topic_id: …\""))),
        (Some(_), Some(more)) => Err(Malformed::at(3, format!("{more:?} follows the topic's id"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partition_metadata_has_apache_kafkas_bytes() {
        let id: Uuid = "B1ir9pOXTCWP68mXL26rAg".parse().unwrap();
        let text = "version: 0\ntopic_id: B1ir9pOXTCWP68mXL26rAg";
        assert_eq!(format_partition_metadata(id), text);
        assert_eq!((parse_partition_metadata(text), text.len()), (Ok(id), 43));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let wrong = [
            ("", "line 1: \"\" is not \"version: 0\""),
            ("version: 0\ntopic_id: x", "line 2: \"topic_id: x\" is not \"topic_id: …\""),
            (
                "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA",
                "line 2: \"topic_id: AAAAAAAAAAAAAAAAAAAAAA\" is not \"topic_id: …\"",
            ),
            ("version: 0\ntopic_id: B1ir9pOXTCWP68mXL26rAg\nx", "line 3: \"x\" follows the topic's id"),
        ];
        for (text, expected) in wrong {
            assert_eq!(parse_partition_metadata(text).unwrap_err().to_string(), expected);
        }
    }
}
