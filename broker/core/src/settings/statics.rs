//! A node's static settings: the file, the environment and the flags, merged.

use std::collections::BTreeMap;

/// Static settings by name, as text that has been found valid. What is not in it has its default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statics(BTreeMap<String, String>);

impl Statics {
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
