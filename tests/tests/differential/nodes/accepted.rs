//! Differences of clusters that are meant to be, each with its reason; those of one broker (`accepted`) hold here as well.
//! docs/COMPATIBILITY.md shows both.

use ballast_wire::frame::ApiKey;

use crate::accepted::{Accepted, differs};

const AS_OF: &str = "a tag says from which record of the metadata on the answer is true";
const UNREACHABLE: &str = "nobody could reach it";

const NO_LISTENER: &str = "without a listener";

/// Every accepted difference, by key.
pub(crate) const ON_NODES: &[Accepted] = &[
    differs(ApiKey::BROKER_REGISTRATION, NO_LISTENER, "error_code", ("0", "119"), UNREACHABLE),
    differs(ApiKey::ENVELOPE, "a request within", "unknown_tagged_fields", ("{}", "*"), AS_OF),
];
