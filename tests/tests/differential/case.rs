//! A case: one situation, one request, in every version that both brokers have.

use ballast_wire::frame::ApiKey;

use super::side::Side;

/// What a case must meet on Apache Kafka, so that it cannot pass for another reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meets {
    /// Every code of the answer is 0.
    Success,
    /// This code is in the answer.
    Code(i16),
    /// The broker closes the connection.
    Close,
    /// Several answers, or one without a code.
    Anything,
}

/// One situation.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) key: ApiKey,
    /// Unlike that of other cases of the API.
    pub(crate) name: &'static str,
    pub(crate) meets: Meets,
    /// Is it the sound use of the API, which every version must have? What is meant to work may still meet a code: access
    /// lists, asked of a broker without security.
    pub(crate) is_sound: bool,
    /// Versions that it applies to, among those that both brokers have.
    pub(crate) versions: (i16, i16),
    /// Paths that are set aside, each with the reason; `*` stands for anything.
    pub(crate) aside: &'static [(&'static str, &'static str)],
    /// Prepares, asks, and lets the answer be compared.
    pub(crate) run: fn(&mut Side, i16),
}

/// A case of sound use, which meets no error.
pub(crate) const fn accepted(key: ApiKey, name: &'static str, run: fn(&mut Side, i16)) -> Case {
    Case { key, name, meets: Meets::Success, is_sound: true, versions: (0, i16::MAX), aside: &[], run }
}

/// A case that meets this error code.
pub(crate) const fn refused(key: ApiKey, code: i16, name: &'static str, run: fn(&mut Side, i16)) -> Case {
    Case { meets: Meets::Code(code), is_sound: false, ..accepted(key, name, run) }
}

impl Case {
    /// From this version on.
    pub(crate) const fn from(self, version: i16) -> Case {
        Case { versions: (version, self.versions.1), ..self }
    }

    /// Up to this version.
    pub(crate) const fn to(self, version: i16) -> Case {
        Case { versions: (self.versions.0, version), ..self }
    }

    /// Ends in this way instead.
    pub(crate) const fn meets(self, meets: Meets) -> Case {
        Case { meets, ..self }
    }

    /// Without these paths.
    pub(crate) const fn aside(self, aside: &'static [(&'static str, &'static str)]) -> Case {
        Case { aside, ..self }
    }
}

/// Does `text` fit `pattern`, in which `*` stands for any text?
pub(crate) fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut last = None;
    for part in parts {
        if let Some(part) = last.replace(part) {
            let Some((_, after)) = rest.split_once(part) else { return false };
            rest = after;
        }
    }
    last.map_or(rest.is_empty(), |last| rest.ends_with(last))
}

#[test]
fn a_star_stands_for_anything() {
    for (pattern, text) in [("a", "a"), ("a*", "a"), ("*b*d", "abcd"), ("a[*].x", "a[b].x"), ("*", ""), ("a*a", "aa")] {
        assert!(fits(pattern, text), "{pattern} {text}");
    }
    for (pattern, text) in [("a", "ab"), ("a*c", "ab"), ("*b*d", "acd"), ("a*a", "a")] {
        assert!(!fits(pattern, text), "{pattern} {text}");
    }
}
