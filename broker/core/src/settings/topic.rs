//! A topic's settings as they are in force: plain numbers for the log, the replica and the controller.

use super::layers::{Configs, Layers};
use super::setting::{Scope, Setting};
use super::{SettingError, Source, Value, broker_setting, nearest_topic_setting, topic_setting, topic_settings};

/// How the broker stores batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompressionType {
    /// As the producer sent them.
    Producer,
    /// Not compressed.
    Uncompressed,
    /// gzip.
    Gzip,
    /// snappy.
    Snappy,
    /// lz4.
    Lz4,
    /// zstd.
    Zstd,
}

/// Whose time a record carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampType {
    /// The producer's.
    CreateTime,
    /// The broker's.
    LogAppendTime,
}

/// Replicas of a topic that a replication throttle holds back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ThrottledReplicas {
    /// None.
    #[default]
    None,
    /// Every replica of every partition.
    All,
    /// These, as (partition, broker).
    Some(Vec<(i32, i32)>),
}

impl ThrottledReplicas {
    /// Is the replica of `partition` on `broker` held back?
    #[must_use]
    pub fn contains(&self, partition: i32, broker: i32) -> bool {
        match self {
            ThrottledReplicas::None => false,
            ThrottledReplicas::All => true,
            ThrottledReplicas::Some(pairs) => pairs.contains(&(partition, broker)),
        }
    }

    fn from_items(items: &[String]) -> ThrottledReplicas {
        match items {
            [] => ThrottledReplicas::None,
            [one] if one == "*" => ThrottledReplicas::All,
            [one] if one == "none" => ThrottledReplicas::None,
            _ => ThrottledReplicas::Some(
                items.iter().filter_map(|item| item.split_once(':')).filter_map(pair_of_numbers).collect(),
            ),
        }
    }
}

fn pair_of_numbers((partition, broker): (&str, &str)) -> Option<(i32, i32)> {
    Some((partition.parse().ok()?, broker.parse().ok()?))
}

/// All that a topic's configs say, each under Kafka's name.
#[derive(Clone, Debug, PartialEq)]
pub struct TopicSettings {
    /// `cleanup.policy` holds `delete`.
    pub cleanup_delete: bool,
    /// `cleanup.policy` holds `compact`.
    pub cleanup_compact: bool,
    /// `compression.type`.
    pub compression_type: CompressionType,
    /// `compression.gzip.level`.
    pub compression_gzip_level: i32,
    /// `compression.lz4.level`.
    pub compression_lz4_level: i32,
    /// `compression.zstd.level`.
    pub compression_zstd_level: i32,
    /// `delete.retention.ms`.
    pub delete_retention_ms: i64,
    /// `file.delete.delay.ms`.
    pub file_delete_delay_ms: i64,
    /// `flush.messages`; 1 asks for a sync before each acknowledgement.
    pub flush_messages: i64,
    /// `flush.ms`.
    pub flush_ms: i64,
    /// `follower.replication.throttled.replicas`.
    pub follower_throttled_replicas: ThrottledReplicas,
    /// `index.interval.bytes`.
    pub index_interval_bytes: i32,
    /// `leader.replication.throttled.replicas`.
    pub leader_throttled_replicas: ThrottledReplicas,
    /// `max.compaction.lag.ms`.
    pub max_compaction_lag_ms: i64,
    /// `max.message.bytes`.
    pub max_message_bytes: i32,
    /// `message.timestamp.after.max.ms`.
    pub message_timestamp_after_max_ms: i64,
    /// `message.timestamp.before.max.ms`.
    pub message_timestamp_before_max_ms: i64,
    /// `message.timestamp.type`.
    pub message_timestamp_type: TimestampType,
    /// `min.cleanable.dirty.ratio`.
    pub min_cleanable_dirty_ratio: f64,
    /// `min.compaction.lag.ms`.
    pub min_compaction_lag_ms: i64,
    /// `min.insync.replicas`.
    pub min_insync_replicas: i32,
    /// `preallocate`.
    pub preallocate: bool,
    /// `retention.bytes`; -1 is no limit.
    pub retention_bytes: i64,
    /// `retention.ms`; -1 is no limit.
    pub retention_ms: i64,
    /// `segment.bytes`.
    pub segment_bytes: i32,
    /// `segment.index.bytes`.
    pub segment_index_bytes: i32,
    /// `segment.jitter.ms`.
    pub segment_jitter_ms: i64,
    /// `segment.ms`.
    pub segment_ms: i64,
    /// `unclean.leader.election.enable`.
    pub unclean_leader_election_enable: bool,
    /// `max.decompressed.message.bytes`.
    pub max_decompressed_message_bytes: i32,
    /// `ballast.validate.compressed`.
    pub validate_compressed: bool,
}

impl TopicSettings {
    /// What is in force for a topic with these configs of its own.
    #[must_use]
    pub fn resolve(overrides: Option<&Configs>, layers: &Layers<'_>) -> TopicSettings {
        let look = Look { overrides, layers };
        let policy = look.list("cleanup.policy");
        TopicSettings {
            cleanup_delete: policy.iter().any(|policy| policy == "delete"),
            cleanup_compact: policy.iter().any(|policy| policy == "compact"),
            compression_type: compression_type(&look.text("compression.type")),
            compression_gzip_level: look.int("compression.gzip.level"),
            compression_lz4_level: look.int("compression.lz4.level"),
            compression_zstd_level: look.int("compression.zstd.level"),
            delete_retention_ms: look.long("delete.retention.ms"),
            file_delete_delay_ms: look.long("file.delete.delay.ms"),
            flush_messages: look.long("flush.messages"),
            flush_ms: look.long("flush.ms"),
            follower_throttled_replicas: look.throttled("follower.replication.throttled.replicas"),
            index_interval_bytes: look.int("index.interval.bytes"),
            leader_throttled_replicas: look.throttled("leader.replication.throttled.replicas"),
            max_compaction_lag_ms: look.long("max.compaction.lag.ms"),
            max_message_bytes: look.int("max.message.bytes"),
            message_timestamp_after_max_ms: look.long("message.timestamp.after.max.ms"),
            message_timestamp_before_max_ms: look.long("message.timestamp.before.max.ms"),
            message_timestamp_type: match look.text("message.timestamp.type").as_str() {
                "LogAppendTime" => TimestampType::LogAppendTime,
                _ => TimestampType::CreateTime,
            },
            min_cleanable_dirty_ratio: look.double("min.cleanable.dirty.ratio"),
            min_compaction_lag_ms: look.long("min.compaction.lag.ms"),
            min_insync_replicas: look.int("min.insync.replicas"),
            preallocate: look.boolean("preallocate"),
            retention_bytes: look.long("retention.bytes"),
            retention_ms: look.long("retention.ms"),
            segment_bytes: look.int_if_any("internal.segment.bytes").unwrap_or_else(|| look.int("segment.bytes")),
            segment_index_bytes: look.int("segment.index.bytes"),
            segment_jitter_ms: look.long("segment.jitter.ms"),
            segment_ms: look.long("segment.ms"),
            unclean_leader_election_enable: look.boolean("unclean.leader.election.enable"),
            max_decompressed_message_bytes: look.int("max.decompressed.message.bytes"),
            validate_compressed: look.boolean("ballast.validate.compressed"),
        }
    }

    /// Judges all configs of a topic together, and says what would be in force.
    ///
    /// # Errors
    /// A name that is unknown, a value that is not valid, or two that contradict each other.
    pub fn validate(overrides: &Configs, layers: &Layers<'_>) -> Result<TopicSettings, SettingError> {
        for (name, text) in overrides {
            let setting = topic_setting(name).ok_or_else(|| SettingError::Unknown {
                scope: "topic",
                name: name.clone(),
                nearest: nearest_topic_setting(name),
            })?;
            setting.parse(text)?;
        }
        let settings = TopicSettings::resolve(Some(overrides), layers);
        if settings.min_compaction_lag_ms > settings.max_compaction_lag_ms {
            return Err(SettingError::Conflict(format!(
                "conflict topic config setting min.compaction.lag.ms ({}) > max.compaction.lag.ms ({})",
                settings.min_compaction_lag_ms, settings.max_compaction_lag_ms
            )));
        }
        if overrides.get("remote.storage.enable").is_some_and(|text| text.trim().eq_ignore_ascii_case("true")) {
            return Err(SettingError::Conflict(
                "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."
                    .to_owned(),
            ));
        }
        Ok(settings)
    }
}

fn compression_type(text: &str) -> CompressionType {
    match text {
        "uncompressed" => CompressionType::Uncompressed,
        "gzip" => CompressionType::Gzip,
        "snappy" => CompressionType::Snappy,
        "lz4" => CompressionType::Lz4,
        "zstd" => CompressionType::Zstd,
        _ => CompressionType::Producer,
    }
}

/// The value in force for one topic or group setting: its own, else the first broker setting of its family that is set
/// anywhere, else the default.
pub(super) fn in_force(setting: &Setting, overrides: Option<&Configs>, layers: &Layers<'_>) -> Option<(Source, Value)> {
    let own_source = if setting.scope == Scope::Group { Source::Group } else { Source::Topic };
    let own = overrides.and_then(|configs| configs.get(setting.name)).and_then(|text| setting.parse(text).ok());
    if let Some(value) = own {
        return Some((own_source, value));
    }
    let inherited = setting.synonyms.iter().find_map(|synonym| {
        let broker = broker_setting(synonym.name)?;
        let (source, value) = layers.found(broker)?;
        Some((source, scaled(value, synonym.factor)))
    });
    // One without a default of its own (a group's assignor) has that of the broker's setting.
    let of_broker = || setting.synonyms.iter().find_map(|synonym| broker_setting(synonym.name)?.default_value());
    inherited.or_else(|| Some((Source::Default, setting.default_value().or_else(of_broker)?)))
}

/// One number of a topic's settings, without resolving the others.
///
/// # Panics
/// The topic settings have no number called `name`.
#[must_use]
pub fn topic_number(name: &str, overrides: Option<&Configs>, layers: &Layers<'_>) -> i64 {
    Look { overrides, layers }.long(name)
}

/// One switch of a topic's settings, without resolving the others.
///
/// # Panics
/// The topic settings have nothing called `name`.
#[must_use]
pub fn topic_flag(name: &str, overrides: Option<&Configs>, layers: &Layers<'_>) -> bool {
    Look { overrides, layers }.boolean(name)
}

/// Hours and minutes become milliseconds; a negative number means "no limit" in every unit.
fn scaled(value: Value, factor: i64) -> Value {
    match value {
        Value::Number(number) if factor != 1 && number < 0 => Value::Number(-1),
        Value::Number(number) => Value::Number(number.saturating_mul(factor)),
        other => other,
    }
}

struct Look<'a> {
    overrides: Option<&'a Configs>,
    layers: &'a Layers<'a>,
}

impl Look<'_> {
    /// `None` for what has neither a value nor a default.
    fn value_if_any(&self, name: &str) -> Option<Value> {
        let setting = topic_settings().find(|setting| setting.name == name);
        let setting = setting.unwrap_or_else(|| panic!("{name} is not in the settings table"));
        in_force(setting, self.overrides, self.layers).map(|(_, value)| value)
    }

    fn value(&self, name: &str) -> Value {
        self.value_if_any(name).unwrap_or_else(|| panic!("{name} has neither a value nor a default"))
    }

    fn long(&self, name: &str) -> i64 {
        self.value(name).number(name)
    }

    fn int_if_any(&self, name: &str) -> Option<i32> {
        self.value_if_any(name).map(|_| self.int(name))
    }

    fn int(&self, name: &str) -> i32 {
        let number = self.long(name);
        i32::try_from(number).unwrap_or_else(|_| panic!("{name} is {number}, which its type should have kept out"))
    }

    fn text(&self, name: &str) -> String {
        self.value(name).text()
    }

    fn boolean(&self, name: &str) -> bool {
        self.value(name) == Value::Boolean(true)
    }

    fn double(&self, name: &str) -> f64 {
        match self.value(name) {
            Value::Double(double) => double,
            other => panic!("{name} is {other:?}, not a fraction"),
        }
    }

    fn list(&self, name: &str) -> Vec<String> {
        match self.value(name) {
            Value::List(items) => items,
            other => panic!("{name} is {other:?}, not a list"),
        }
    }

    fn throttled(&self, name: &str) -> ThrottledReplicas {
        ThrottledReplicas::from_items(&self.list(name))
    }
}
