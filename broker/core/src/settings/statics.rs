//! A node's static settings: the file, the environment and the flags, merged.
//!
//! Holds: every text of a known name is valid. Unknown names are kept, because DescribeConfigs lists them.

use std::collections::BTreeMap;
use std::fmt;

use super::setting::Use;
use super::{SettingError, broker_setting, nearest_broker_setting, topic_setting};

/// Static settings by name, as text. What is not in it has its default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statics(BTreeMap<String, String>);

/// Something that the operator should know, though the node starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Kafka has this setting; here it changes nothing.
    Unused {
        /// Its name.
        name: String,
    },
    /// Nobody knows this setting.
    Unknown {
        /// Its name.
        name: String,
        /// The known name that is most like it, or that does for brokers what this one does for topics.
        nearest: Option<&'static str>,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Unused { name } => write!(f, "{name} has no effect in Ballast"),
            Notice::Unknown { name, nearest: Some(nearest) } => {
                write!(f, "{name} is not a known setting; did you mean {nearest}?")
            }
            Notice::Unknown { name, nearest: None } => write!(f, "{name} is not a known setting"),
        }
    }
}

impl Statics {
    /// Merges pairs of names and values; a later pair wins over an earlier one with the same name. Give them in the order
    /// file, environment, flags.
    ///
    /// # Errors
    /// Every value that is not valid, so that all can be put right at once.
    pub fn merge(
        pairs: impl IntoIterator<Item = (String, String)>,
    ) -> Result<(Statics, Vec<Notice>), Vec<SettingError>> {
        let mut merged: BTreeMap<String, String> = pairs.into_iter().collect();
        name_the_node_twice(&mut merged);
        let (mut notices, mut errors) = (Vec::new(), Vec::new());
        for (name, text) in &merged {
            match broker_setting(name) {
                Some(setting) => {
                    errors.extend(setting.parse(text).err());
                    if setting.used == Use::Known {
                        notices.push(Notice::Unused { name: name.clone() });
                    }
                }
                None => notices.push(Notice::Unknown { name: name.clone(), nearest: meant(name) }),
            }
        }
        if errors.is_empty() { Ok((Statics(merged), notices)) } else { Err(errors) }
    }

    /// The text that was given for `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// All that was given.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// As in Kafka, `node.id` and its older name `broker.id` each stand for the other where only one is given.
fn name_the_node_twice(merged: &mut BTreeMap<String, String>) {
    for (one, other) in [("node.id", "broker.id"), ("broker.id", "node.id")] {
        if let Some(id) = merged.get(one).cloned() {
            merged.entry(other.to_owned()).or_insert(id);
        }
    }
}

/// A topic's setting in a broker's file means the broker setting that gives its default.
fn meant(name: &str) -> Option<&'static str> {
    let for_brokers = topic_setting(name).and_then(|setting| setting.synonyms.first()).map(|synonym| synonym.name);
    for_brokers.or_else(|| nearest_broker_setting(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(given: &[(&str, &str)]) -> Vec<(String, String)> {
        given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_later_pair_wins() {
        let (statics, notices) =
            Statics::merge(pairs(&[("num.partitions", "1"), ("num.partitions", "3")])).expect("valid");
        assert_eq!(statics.get("num.partitions"), Some("3"));
        assert_eq!(notices, []);
    }

    #[test]
    fn a_node_has_its_id_under_both_names() {
        for (given, both) in [("node.id", "7"), ("broker.id", "8")] {
            let (statics, _) = Statics::merge(pairs(&[(given, both)])).expect("valid");
            assert_eq!((statics.get("node.id"), statics.get("broker.id")), (Some(both), Some(both)));
        }
    }

    #[test]
    fn known_but_unused_and_unknown_names_are_noticed() {
        let given = pairs(&[("num.io.threads", "8"), ("num.partition", "1"), ("retention.ms", "1"), ("zzz", "1")]);
        let (_, notices) = Statics::merge(given).expect("valid");
        let said: Vec<String> = notices.iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "num.io.threads has no effect in Ballast",
                "num.partition is not a known setting; did you mean num.partitions?",
                "retention.ms is not a known setting; did you mean log.retention.ms?",
                "zzz is not a known setting",
            ]
        );
    }

    #[test]
    fn every_malformed_value_is_reported() {
        let errors = Statics::merge(pairs(&[("num.partitions", "0"), ("log.roll.ms", "x"), ("node.id", "1")]));
        assert_eq!(errors.expect_err("two are wrong").len(), 2);
    }
}
