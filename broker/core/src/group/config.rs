//! What the broker's settings say about groups.
//!
//! Holds: plain numbers; the driver reads the settings table and feeds changes in as `Event::Configured`.

/// Settings of all groups of a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupConfig {
    /// `group.min.session.timeout.ms`.
    pub min_session_timeout_ms: i32,
    /// `group.max.session.timeout.ms`.
    pub max_session_timeout_ms: i32,
    /// `group.initial.rebalance.delay.ms`.
    pub initial_rebalance_delay_ms: u64,
    /// `group.max.size`: members of a group at most.
    pub max_size: usize,
    /// `offset.metadata.max.bytes`: characters, as Kafka counts them (UTF-16 units).
    pub metadata_max_chars: usize,
    /// `offsets.retention.minutes`, in milliseconds.
    pub retention_ms: i64,
    /// `offsets.retention.check.interval.ms`.
    pub retention_check_interval_ms: u64,
    /// `max.message.bytes` of `__consumer_offsets`: what one append may hold.
    pub batch_bytes_max: usize,
}

impl Default for GroupConfig {
    /// Kafka's defaults.
    fn default() -> GroupConfig {
        GroupConfig {
            min_session_timeout_ms: 6_000,
            max_session_timeout_ms: 1_800_000,
            initial_rebalance_delay_ms: 3_000,
            max_size: i32::MAX as usize,
            metadata_max_chars: 4_096,
            retention_ms: 10_080 * 60 * 1_000,
            retention_check_interval_ms: 600_000,
            batch_bytes_max: 1_048_588,
        }
    }
}
