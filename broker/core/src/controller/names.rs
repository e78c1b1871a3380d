//! Which topic names are allowed.

use crate::image::Image;

/// Longest name, in bytes.
const TOPIC_NAME_BYTES_MAX: usize = 249;

/// The metadata's own log.
pub(super) const CLUSTER_METADATA_TOPIC: &str = "__cluster_metadata";

/// May a topic be called `name`?
///
/// # Errors
/// Why not, in Kafka's words.
pub(super) fn validate(name: &str) -> Result<(), String> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let why = if name.is_empty() {
        "the empty string is not allowed".to_owned()
    } else if matches!(name, "." | "..") {
        format!("'{name}' is not allowed")
    } else if name.len() > TOPIC_NAME_BYTES_MAX {
        format!("the length of '{name}' is longer than the max allowed length {TOPIC_NAME_BYTES_MAX}")
    } else if !name.bytes().all(legal) {
        format!("'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'")
    } else {
        return Ok(());
    };
    Err(format!("Topic name is invalid: {why}"))
}

/// A topic whose name differs from `name` by `.` for `_` only: their metrics would share a name.
pub(super) fn collision<'a>(image: &'a Image, name: &str) -> Option<&'a str> {
    if !name.contains(['.', '_']) {
        return None;
    }
    let unified = |name: &str| name.replace('.', "_");
    let ours = unified(name);
    image.topics().map(|topic| &*topic.name).find(|other| *other != name && unified(other) == ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_kafka_allows() {
        for good in ["a", "a.b_c-D9", "__consumer_offsets", &"x".repeat(249)] {
            assert_eq!(validate(good), Ok(()), "{good}");
        }
        for bad in ["", ".", "..", "a/b", "a b", "ä", &"x".repeat(250)] {
            assert!(validate(bad).is_err_and(|why| why.starts_with("Topic name is invalid: ")), "{bad}");
        }
    }
}
