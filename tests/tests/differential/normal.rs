//! What is set aside in every answer before it is compared, and why.
//!
//! Two brokers cannot agree on ids that they draw, on clocks, on ports and on the words of an error. What such a field
//! *says* is compared nevertheless: whether it is set, and whether an id is the one that the same broker gave before.

use std::collections::BTreeMap;

use super::tree::Tree;

/// The id that means none.
pub(crate) const NO_ID: &str = "<no id>";

/// What is left of a field.
#[derive(Debug, Clone, Copy)]
enum Keep {
    /// Nothing: the fields are not comparable at all.
    Nothing,
    /// Whether it is set: null, -1, 0 and an empty text stay, anything else is `<set>`.
    WhetherSet,
    /// Whether there is a text: null stays, an empty one too.
    WhetherText,
}

/// Fields by name, in any answer.
const ASIDE: &[(&str, Keep, &str)] = &[
    ("port", Keep::Nothing, "two brokers cannot listen on one port"),
    ("cluster_id", Keep::WhetherSet, "each cluster has its own"),
    ("session_id", Keep::WhetherSet, "drawn by the broker; 0 means no session"),
    ("producer_id", Keep::WhetherSet, "given out in blocks; -1 means none"),
    ("log_append_time_ms", Keep::WhetherSet, "the broker's clock; -1 means that records keep their own time"),
    ("finalized_features_epoch", Keep::WhetherSet, "an offset of the metadata log"),
    ("log_dir", Keep::Nothing, "each broker has a folder of its own"),
    ("total_bytes", Keep::WhetherSet, "of the file system, while others write to it"),
    ("usable_bytes", Keep::WhetherSet, "of the file system, while others write to it"),
    ("error_message", Keep::WhetherText, "each says it in its own words"),
    ("err_msg", Keep::WhetherText, "each says it in its own words"),
    ("batch_index_error_message", Keep::WhetherText, "each says it in its own words"),
    ("documentation", Keep::WhetherText, "each says it in its own words"),
    ("voter_directory_id", Keep::Nothing, "drawn by the broker"),
    ("replica_directory_id", Keep::Nothing, "drawn by the broker"),
];

/// What is known of one broker's ids.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// From an id as it is printed to what it stands for.
    pub(crate) ids: BTreeMap<String, String>,
}

impl Known {
    /// Sets aside what cannot be compared, and takes `scope` out of the names that hold it.
    pub(crate) fn normalize(&self, tree: &mut Tree, scope: &str) {
        tree.change_leaves("", &mut |field, text| {
            *text = self.without_ids(text).replace(scope, "x");
            let Some((_, keep, _)) = ASIDE.iter().find(|(name, ..)| *name == field) else { return };
            let set = !["null", "-1", "0", "\"\""].contains(&text.as_str());
            *text = match keep {
                Keep::Nothing => "<aside>".to_owned(),
                Keep::WhetherSet if set => "<set>".to_owned(),
                Keep::WhetherText if set => "<text>".to_owned(),
                Keep::WhetherSet | Keep::WhetherText => std::mem::take(text),
            };
        });
    }

    /// Ids within a text, each replaced by what it stands for.
    fn without_ids(&self, text: &str) -> String {
        const ID_CHARS: usize = 36;
        let mut out = String::new();
        let mut rest = text;
        while let Some(start) = (0..rest.len()).find(|&at| is_id(rest.as_bytes().get(at..at + ID_CHARS))) {
            let id = &rest[start..start + ID_CHARS];
            out.push_str(&rest[..start]);
            out.push_str(match self.ids.get(id) {
                Some(known) => known,
                None if id.bytes().all(|byte| matches!(byte, b'0' | b'-')) => NO_ID,
                None => "<an id>",
            });
            rest = &rest[start + ID_CHARS..];
        }
        out + rest
    }
}

fn is_id(bytes: Option<&[u8]>) -> bool {
    let hyphen = |at: usize| matches!(at, 8 | 13 | 18 | 23);
    let fits = |(at, byte): (usize, &u8)| if hyphen(at) { *byte == b'-' } else { byte.is_ascii_hexdigit() };
    bytes.is_some_and(|bytes| bytes.iter().enumerate().all(fits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_replaced_by_what_they_stand_for() {
        let known = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
        let other = "7ba7b810-9dad-11d1-80b4-00c04fd430c8";
        let none = "00000000-0000-0000-0000-000000000000";
        let ids = Known { ids: [(known.to_owned(), "<id of a>".to_owned())].into() };
        assert_eq!(ids.without_ids(&format!("\"{known} {other} {none}\"")), "\"<id of a> <an id> <no id>\"");
        assert_eq!(ids.without_ids("é 1-2"), "é 1-2");
    }
}
