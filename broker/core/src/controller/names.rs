//! Which topic names are allowed.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::image::Image;

/// Longest name, in bytes.
const TOPIC_NAME_BYTES_MAX: usize = 249;

/// The metadata's own log.
pub(super) const CLUSTER_METADATA_TOPIC: &str = "__cluster_metadata";

/// May a topic be called `name`?
///
/// # Errors
/// Why not, in Kafka's words.
pub fn validate(name: &str) -> Result<(), String> {
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

/// The topics that a new name could collide with: their metrics would share a name, because metrics write `_` for `.`.
pub(super) struct Collisions(BTreeMap<String, Arc<str>>);

impl Collisions {
    /// Those of `image`. Only names with a `.` or a `_` can collide, so without one in `names` nothing is looked up.
    pub(super) fn of<'a>(image: &Image, mut names: impl Iterator<Item = &'a str>) -> Collisions {
        if !names.any(can_collide) {
            return Collisions(BTreeMap::new());
        }
        let topics = image.topics().map(|topic| &topic.name).filter(|name| can_collide(name));
        Collisions(topics.map(|name| (unified(name), Arc::clone(name))).collect())
    }

    /// The topic that `name` collides with.
    pub(super) fn with(&self, name: &str) -> Option<&str> {
        self.0.get(&unified(name)).map(|other| &**other)
    }
}

fn can_collide(name: &str) -> bool {
    name.contains(['.', '_'])
}

fn unified(name: &str) -> String {
    name.replace('.', "_")
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
