//! The features that this broker knows, and at which levels: clients choose protocols by them, so they are told truthfully.

/// One feature and the levels that we can work at.
pub(crate) struct Feature {
    pub(crate) name: &'static str,
    pub(crate) min: i16,
    pub(crate) max: i16,
}

/// Level of the metadata: Kafka 4.0-IV3. What it stands for is in docs/COMPATIBILITY.md.
pub(crate) const METADATA_LEVEL: i16 = 25;
/// Kafka's lowest level of the metadata that still counts (3.3-IV3).
const METADATA_LEVEL_MIN: i16 = 7;

/// By name. `transaction.version` and `group.version` stay 0 until transactions and KIP-848 groups exist.
pub(crate) const SUPPORTED: &[Feature] = &[
    Feature { name: "eligible.leader.replicas.version", min: 0, max: 0 },
    Feature { name: "group.version", min: 0, max: 0 },
    Feature { name: "metadata.version", min: METADATA_LEVEL_MIN, max: METADATA_LEVEL },
    Feature { name: "transaction.version", min: 0, max: 0 },
];

/// What a new cluster finalizes.
pub(crate) fn bootstrap() -> Vec<(String, i16)> {
    vec![("metadata.version".to_owned(), METADATA_LEVEL)]
}
