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

/// A difference in every version.
pub(crate) const fn differs(
    key: ApiKey,
    case: &'static str,
    path: &'static str,
    sides: (&'static str, &'static str),
    why: &'static str,
) -> Accepted {
    Accepted { key, versions: (0, i16::MAX), case, path, kafka: sides.0, ballast: sides.1, why }
}

const WORDS: &str = "a refusal says why";
const NOT_SERVED: &str = "what is not served is not advertised";
const OWN_SETTING: &str = "a setting that Ballast alone has";
const OLDER_METADATA: &str = "stands for the records and rules of a 4.0 cluster";

const WITHOUT_WORDS: &str = "a setting that has no effect is shown without words";

const ANY_TEXT: (&str, &str) = ("null", "<text>");
const OURS_ALONE: (&str, &str) = ("absent", "*");

/// Every accepted difference, by key.
pub(crate) const ACCEPTED: &[Accepted] = &[
    differs(ApiKey::PRODUCE, "*", "*.error_message", ANY_TEXT, WORDS),
    differs(
        ApiKey::PRODUCE,
        "a codec that there is not",
        "*.error_code",
        ("-1", "87"),
        "a client does not send it again",
    ),
    differs(
        ApiKey::PRODUCE,
        "a codec that there is not",
        "*.log_start_offset",
        ("-1", "0"),
        "87 comes with the log's start",
    ),
    differs(ApiKey::API_VERSIONS, "what is served", "api_keys[*]", ("*", "absent"), NOT_SERVED),
    differs(
        ApiKey::API_VERSIONS,
        "what is served",
        "api_keys[*].max_version",
        ("*", "*"),
        "the library of schemas is a version behind",
    ),
    differs(ApiKey::API_VERSIONS, "a version that nobody knows", "", ("*", "*"), "as above, for ApiVersions itself"),
    differs(ApiKey::API_VERSIONS, "what is served", "*_features[metadata.version].*", ("*", "25"), OLDER_METADATA),
    differs(ApiKey::API_VERSIONS, "what is served", "*_features[*]", ("*", "absent"), NOT_SERVED),
    differs(ApiKey::API_VERSIONS, "what is served", "supported_features[*].max_version", ("*", "0"), NOT_SERVED),
    differs(ApiKey::CREATE_TOPICS, "*", "*.configs[ballast.*]", OURS_ALONE, OWN_SETTING),
    differs(ApiKey::DESCRIBE_CONFIGS, "*", "*.configs[ballast.*]", OURS_ALONE, OWN_SETTING),
    differs(ApiKey::DESCRIBE_CONFIGS, "*", "*.configs[test.faults.enable]", OURS_ALONE, OWN_SETTING),
    differs(ApiKey::DESCRIBE_CONFIGS, "*", "*.documentation", ("<text>", "null"), WITHOUT_WORDS),
    differs(ApiKey::DESCRIBE_CONFIGS, "a topic that is not there", "*.error_message", ("\"\"", "<text>"), WORDS),
    differs(ApiKey::CREATE_PARTITIONS, "of a topic that is not there", "*.error_message", ANY_TEXT, WORDS),
    differs(
        ApiKey::INCREMENTAL_ALTER_CONFIGS,
        "a group's setting",
        "*.documentation",
        ("<text>", "null"),
        WITHOUT_WORDS,
    ),
];
