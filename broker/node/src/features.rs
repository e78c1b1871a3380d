//! The features that this broker knows, and at which levels: clients choose protocols by them, so they are told truthfully.

use ballast_core::controller::Features;
use ballast_core::image::{FEATURE_ELR, FEATURE_METADATA, FeatureRange};

/// One feature and the levels that we can work at.
pub(crate) struct Feature {
    pub(crate) name: &'static str,
    pub(crate) min: i16,
    pub(crate) max: i16,
}

/// Level of the metadata: Kafka 4.0-IV3. What it stands for is in docs/COMPATIBILITY.md.
pub(crate) const METADATA_LEVEL: i16 = 25;
/// Level of eligible leader replicas (KIP-966): the only one that there is.
const ELR_LEVEL: i16 = 1;
/// By name. `transaction.version` and `group.version` stay 0 until transactions and KIP-848 groups exist.
pub(crate) const SUPPORTED: &[Feature] = &[
    // A cluster of an older Ballast is at 0 until somebody raises it.
    Feature { name: FEATURE_ELR, min: 0, max: ELR_LEVEL },
    Feature { name: "group.version", min: 0, max: 0 },
    // Lower levels are Kafka's past: no cluster of ours was ever at one, so none can be asked for.
    Feature { name: FEATURE_METADATA, min: METADATA_LEVEL, max: METADATA_LEVEL },
    Feature { name: "transaction.version", min: 0, max: 0 },
];

/// The levels as controller and registration take them.
pub(crate) fn ranges() -> Features {
    SUPPORTED.iter().map(|f| (f.name.to_owned(), FeatureRange { min: f.min, max: f.max })).collect()
}

/// What a new cluster finalizes.
pub(crate) fn bootstrap() -> Vec<(String, i16)> {
    vec![(FEATURE_METADATA.to_owned(), METADATA_LEVEL), (FEATURE_ELR.to_owned(), ELR_LEVEL)]
}
