//! Differences that are meant to be, each with its reason.
//!
//! An entry that nothing meets any more fails the test, so that the list says what is true. docs/COMPATIBILITY.md shows it.

use ballast_wire::frame::ApiKey;

use super::case::fits;
use super::run::Found;

/// One kind of difference. `*` stands for any text.
#[derive(Debug)]
pub(crate) struct Accepted {
    pub(crate) key: ApiKey,
    /// Versions, first and last.
    pub(crate) versions: (i16, i16),
    /// Names of cases.
    pub(crate) case: &'static str,
    /// Paths into the answer.
    pub(crate) path: &'static str,
    pub(crate) kafka: &'static str,
    pub(crate) ballast: &'static str,
    pub(crate) why: &'static str,
}

impl Accepted {
    /// Is this the difference that the entry means?
    pub(crate) fn covers(&self, found: &Found, version: i16) -> bool {
        let difference = &found.difference;
        self.key == found.key
            && (self.versions.0..=self.versions.1).contains(&version)
            && fits(self.case, found.case)
            && fits(self.path, &difference.path)
            && fits(self.kafka, &difference.kafka)
            && fits(self.ballast, &difference.ballast)
    }
}

/// Every accepted difference, by key.
pub(crate) const ACCEPTED: &[Accepted] = &[];
