//! What a log needs to know about its topic: a plain struct, filled in by whoever keeps the settings.
//!
//! Holds: every field is Kafka's topic config of the same name (dots become underscores) and the default is Kafka's. Ranges
//! are checked where settings are set, not here; the log survives any value.

use ballast_wire::batch::{Compression, TimestampType};

/// What happens to old records. Both off means: keep for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CleanupPolicy {
    /// Whole segments go when they are too old or too many.
    pub delete: bool,
    /// Records go when a later one has the same key.
    pub compact: bool,
}

/// How batches are compressed on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TopicCompression {
    /// As the producer sent them.
    Producer,
    /// With this codec; a batch that has another one is opened and packed again.
    Codec {
        /// The codec; `None` stores plain records.
        codec: Compression,
        /// Level in the codec's own scale; `None` is its default.
        level: Option<i32>,
    },
}

/// The settings of one log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogConfig {
    /// Size in bytes at which the active segment is sealed. No batch may be larger.
    pub segment_bytes: u64,
    /// Age in ms at which it is sealed, by record timestamps.
    pub segment_ms: i64,
    /// At most so many ms are taken off `segment_ms`, a different number for each segment.
    pub segment_jitter_ms: i64,
    /// Bytes between two index entries.
    pub index_interval_bytes: u64,
    /// Size in bytes of an index at which the segment is sealed.
    pub segment_index_bytes: u64,
    /// Age in ms of the newest record at which a segment is deleted; -1 never.
    pub retention_ms: i64,
    /// Size in bytes of the log above which its oldest segments are deleted; -1 never.
    pub retention_bytes: i64,
    /// What happens to old records.
    pub cleanup: CleanupPolicy,
    /// How long in ms a deleted file keeps its bytes under the name `….deleted`.
    pub file_delete_delay_ms: i64,
    /// How long in ms a tombstone outlives the first cleaning that met it.
    pub delete_retention_ms: i64,
    /// Largest batch in bytes, as received and again as rewritten.
    pub max_message_bytes: u64,
    /// Whose clock sets the timestamps.
    pub timestamp_type: TimestampType,
    /// How far in ms a producer's timestamp may lie behind the broker's clock.
    pub timestamp_before_max_ms: i64,
    /// How far in ms it may lie ahead.
    pub timestamp_after_max_ms: i64,
    /// Records after which the log wants to be synced.
    pub flush_messages: i64,
    /// Age in ms of an unsynced record at which it wants to be synced.
    pub flush_ms: i64,
    /// How batches are compressed on disk.
    pub compression: TopicCompression,
    /// Are compressed batches opened and their records judged as well? (`ballast.validate.compressed`)
    pub validate_compressed: bool,
    /// Most bytes that one compressed batch may open to. (`max.decompressed.message.bytes`)
    pub max_decompressed_bytes: u64,
    /// How long in ms after its last write a producer is remembered. (broker config `producer.id.expiration.ms`)
    pub producer_id_expiration_ms: i64,
    /// Keep the state of idempotent producers? Off for the metadata log.
    pub producer_state: bool,
    /// Refuse holes between batches? On for the metadata log only: compaction and followers make holes elsewhere.
    pub contiguous: bool,
}

/// A compressed batch may open to this many bytes in memory whatever its size.
const OPENED_BYTES_FREE: u64 = 32 << 20;
/// Above that, to so many times its own size: honest records rarely pack tighter, bombs do.
const OPENED_GROWTH_MAX: u64 = 16;

impl LogConfig {
    /// Most bytes that a batch of `batch_bytes` is opened to: `max.decompressed.message.bytes`, and no more memory than
    /// its size justifies.
    #[must_use]
    pub fn opened_bytes_max(&self, batch_bytes: usize) -> usize {
        let justified = (batch_bytes as u64).saturating_mul(OPENED_GROWTH_MAX).max(OPENED_BYTES_FREE);
        usize::try_from(justified.min(self.max_decompressed_bytes)).unwrap_or(usize::MAX)
    }
}

impl Default for LogConfig {
    fn default() -> LogConfig {
        LogConfig {
            segment_bytes: 1 << 30,
            segment_ms: 604_800_000,
            segment_jitter_ms: 0,
            index_interval_bytes: 4096,
            segment_index_bytes: 10 << 20,
            retention_ms: 604_800_000,
            retention_bytes: -1,
            cleanup: CleanupPolicy { delete: true, compact: false },
            file_delete_delay_ms: 60_000,
            delete_retention_ms: 86_400_000,
            max_message_bytes: 1_048_588,
            timestamp_type: TimestampType::CreateTime,
            timestamp_before_max_ms: i64::MAX,
            timestamp_after_max_ms: 3_600_000,
            flush_messages: i64::MAX,
            flush_ms: i64::MAX,
            compression: TopicCompression::Producer,
            validate_compressed: false,
            max_decompressed_bytes: 2_147_483_639,
            producer_id_expiration_ms: 86_400_000,
            producer_state: true,
            contiguous: false,
        }
    }
}
