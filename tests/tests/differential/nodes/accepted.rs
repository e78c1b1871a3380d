//! Differences of clusters that are meant to be, each with its reason; those of one broker (`accepted`) hold here as well.
//! docs/COMPATIBILITY.md shows both.

use ballast_wire::frame::ApiKey;

use crate::accepted::{Accepted, differs};

const TELLS: &str = "a voter that does not lead tells what it knows";
const AS_OF: &str = "a tag says from which record of the metadata on the answer is true";
const UNREACHABLE: &str = "nobody could reach it";

const QUORUM: ApiKey = ApiKey::DESCRIBE_QUORUM;
const INACTIVE: &str = "asked of a controller that is not active";
const NO_LISTENER: &str = "without a listener";

/// Every accepted difference, by key.
pub(crate) const ON_NODES: &[Accepted] = &[
    differs(QUORUM, INACTIVE, "nodes[*]", ("absent", "*"), TELLS),
    differs(QUORUM, INACTIVE, "*.current_voters[*]", ("absent", "*"), TELLS),
    differs(QUORUM, INACTIVE, "*.partitions[0].*", ("*", "*"), TELLS),
    differs(ApiKey::BROKER_REGISTRATION, NO_LISTENER, "error_code", ("0", "119"), UNREACHABLE),
    differs(ApiKey::ENVELOPE, "a request within", "unknown_tagged_fields", ("{}", "*"), AS_OF),
];
