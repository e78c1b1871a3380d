//! A topic's settings as the log takes them.

use ballast_core::settings::{CompressionType, TimestampType, TopicSettings};
use ballast_log::{CleanupPolicy, LogConfig, TopicCompression};
use ballast_wire::batch;

/// The log's plain struct. Numbers that the settings table keeps in range are not checked again.
pub(crate) fn log_config(settings: &TopicSettings, producer_id_expiration_ms: i64) -> LogConfig {
    let size = |bytes: i32| u64::try_from(bytes).unwrap_or(0);
    LogConfig {
        segment_bytes: size(settings.segment_bytes),
        segment_ms: settings.segment_ms,
        segment_jitter_ms: settings.segment_jitter_ms,
        index_interval_bytes: size(settings.index_interval_bytes),
        segment_index_bytes: size(settings.segment_index_bytes),
        retention_ms: settings.retention_ms,
        retention_bytes: settings.retention_bytes,
        cleanup: CleanupPolicy { delete: settings.cleanup_delete, compact: settings.cleanup_compact },
        file_delete_delay_ms: settings.file_delete_delay_ms,
        delete_retention_ms: settings.delete_retention_ms,
        max_message_bytes: size(settings.max_message_bytes),
        timestamp_type: match settings.message_timestamp_type {
            TimestampType::CreateTime => batch::TimestampType::CreateTime,
            TimestampType::LogAppendTime => batch::TimestampType::LogAppendTime,
        },
        timestamp_before_max_ms: settings.message_timestamp_before_max_ms,
        timestamp_after_max_ms: settings.message_timestamp_after_max_ms,
        flush_messages: settings.flush_messages,
        flush_ms: settings.flush_ms,
        compression: compression(settings),
        validate_compressed: settings.validate_compressed,
        max_decompressed_bytes: size(settings.max_decompressed_message_bytes),
        producer_id_expiration_ms,
        ..LogConfig::default()
    }
}

fn compression(settings: &TopicSettings) -> TopicCompression {
    let codec = |codec, level| TopicCompression::Codec { codec, level };
    // -1 stands for the codec's own default.
    let level = |level: i32| (level != -1).then_some(level);
    match settings.compression_type {
        CompressionType::Producer => TopicCompression::Producer,
        CompressionType::Uncompressed => codec(batch::Compression::None, None),
        CompressionType::Gzip => codec(batch::Compression::Gzip, level(settings.compression_gzip_level)),
        CompressionType::Snappy => codec(batch::Compression::Snappy, None),
        CompressionType::Lz4 => codec(batch::Compression::Lz4, level(settings.compression_lz4_level)),
        CompressionType::Zstd => codec(batch::Compression::Zstd, level(settings.compression_zstd_level)),
    }
}

#[cfg(test)]
mod tests {
    use ballast_core::settings::{Layers, Statics};

    use super::*;

    #[test]
    fn kafkas_defaults_are_the_logs_defaults() {
        let statics = Statics::default();
        let settings = TopicSettings::resolve(None, &Layers { broker: None, cluster: None, statics: &statics });
        let config = log_config(&settings, 86_400_000);
        assert_eq!(config, LogConfig::default());
    }
}
