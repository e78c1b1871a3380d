//! The numbers in settings, as plain structs, one per subject: what the broker's drivers read.
//!
//! Holds: each field is filled from the one setting that its comment names. Fields whose setting can be changed at run time
//! are right for the moment; resolve again when the configs change.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::SettingError;
use super::endpoints::parse_ip_overrides;
use super::layers::Layers;

/// What a topic gets that nobody specified.
#[derive(Clone, Debug, PartialEq)]
pub struct TopicDefaults {
    /// `num.partitions`.
    pub num_partitions: i32,
    /// `default.replication.factor`.
    pub default_replication_factor: i32,
    /// `auto.create.topics.enable`.
    pub auto_create_topics_enable: bool,
    /// `delete.topic.enable`.
    pub delete_topic_enable: bool,
}

impl TopicDefaults {
    pub(super) fn resolve(layers: &Layers<'_>) -> TopicDefaults {
        TopicDefaults {
            num_partitions: layers.int("num.partitions"),
            default_replication_factor: layers.int("default.replication.factor"),
            auto_create_topics_enable: layers.boolean("auto.create.topics.enable"),
            delete_topic_enable: layers.boolean("delete.topic.enable"),
        }
    }
}

/// Work on logs that is not a topic's own.
#[derive(Clone, Debug, PartialEq)]
pub struct LogSettings {
    /// `log.retention.check.interval.ms`.
    pub retention_check_interval_ms: u64,
    /// `log.initial.task.delay.ms`.
    pub initial_task_delay_ms: u64,
    /// `log.flush.offset.checkpoint.interval.ms`.
    pub flush_offset_checkpoint_interval_ms: u64,
    /// `log.flush.start.offset.checkpoint.interval.ms`.
    pub flush_start_offset_checkpoint_interval_ms: u64,
    /// `ballast.sync.interval.ms`.
    pub sync_interval_ms: u64,
    /// `num.recovery.threads.per.data.dir`.
    pub recovery_threads_per_data_dir: usize,
    /// `log.cleaner.enable`.
    pub cleaner_enable: bool,
    /// `log.cleaner.threads`.
    pub cleaner_threads: usize,
    /// `log.cleaner.dedupe.buffer.size`.
    pub cleaner_dedupe_buffer_bytes: usize,
    /// `log.cleaner.io.buffer.load.factor`.
    pub cleaner_io_buffer_load_factor: f64,
    /// `log.cleaner.io.buffer.size`.
    pub cleaner_io_buffer_bytes: usize,
    /// `log.cleaner.io.max.bytes.per.second`.
    pub cleaner_io_max_bytes_per_second: f64,
    /// `log.cleaner.backoff.ms`.
    pub cleaner_backoff_ms: u64,
    /// `log.dir.failure.timeout.ms`.
    pub dir_failure_timeout_ms: u64,
    /// `ballast.disk.reserve.bytes`; `None` where it is -1.
    pub disk_reserve_bytes: Option<u64>,
    /// `producer.id.expiration.ms`.
    pub producer_id_expiration_ms: i64,
    /// `producer.id.expiration.check.interval.ms`.
    pub producer_id_expiration_check_interval_ms: u64,
}

impl LogSettings {
    pub(super) fn resolve(layers: &Layers<'_>) -> LogSettings {
        LogSettings {
            retention_check_interval_ms: layers.millis("log.retention.check.interval.ms"),
            initial_task_delay_ms: layers.millis("log.initial.task.delay.ms"),
            flush_offset_checkpoint_interval_ms: layers.millis("log.flush.offset.checkpoint.interval.ms"),
            flush_start_offset_checkpoint_interval_ms: layers.millis("log.flush.start.offset.checkpoint.interval.ms"),
            sync_interval_ms: layers.millis("ballast.sync.interval.ms"),
            recovery_threads_per_data_dir: layers.count("num.recovery.threads.per.data.dir"),
            cleaner_enable: layers.boolean("log.cleaner.enable"),
            cleaner_threads: layers.count("log.cleaner.threads"),
            cleaner_dedupe_buffer_bytes: layers.count("log.cleaner.dedupe.buffer.size"),
            cleaner_io_buffer_load_factor: layers.double("log.cleaner.io.buffer.load.factor"),
            cleaner_io_buffer_bytes: layers.count("log.cleaner.io.buffer.size"),
            cleaner_io_max_bytes_per_second: layers.double("log.cleaner.io.max.bytes.per.second"),
            cleaner_backoff_ms: layers.millis("log.cleaner.backoff.ms"),
            dir_failure_timeout_ms: layers.millis("log.dir.failure.timeout.ms"),
            disk_reserve_bytes: layers.unless_negative("ballast.disk.reserve.bytes"),
            producer_id_expiration_ms: layers.long("producer.id.expiration.ms"),
            producer_id_expiration_check_interval_ms: layers.millis("producer.id.expiration.check.interval.ms"),
        }
    }
}

/// Replicas, followers and fetching.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicationSettings {
    /// `num.replica.fetchers`.
    pub num_replica_fetchers: usize,
    /// `replica.fetch.max.bytes`.
    pub fetch_max_bytes_per_partition: i32,
    /// `replica.fetch.response.max.bytes`.
    pub fetch_response_max_bytes: i32,
    /// `replica.fetch.wait.max.ms`.
    pub fetch_wait_max_ms: i32,
    /// `replica.fetch.min.bytes`.
    pub fetch_min_bytes: i32,
    /// `replica.fetch.backoff.ms`.
    pub fetch_backoff_ms: u64,
    /// `replica.socket.timeout.ms`.
    pub socket_timeout_ms: u64,
    /// `socket.connection.setup.timeout.ms`.
    pub connection_setup_timeout_ms: u64,
    /// `socket.connection.setup.timeout.max.ms`.
    pub connection_setup_timeout_max_ms: u64,
    /// `replica.lag.time.max.ms`.
    pub lag_time_max_ms: u64,
    /// `replica.high.watermark.checkpoint.interval.ms`.
    pub high_watermark_checkpoint_interval_ms: u64,
    /// `replica.selector.class`.
    pub selector_class: Option<String>,
    /// `fetch.max.bytes`.
    pub client_fetch_max_bytes: i32,
    /// `max.incremental.fetch.session.cache.slots`.
    pub fetch_session_slots: usize,
    /// `leader.replication.throttled.rate`.
    pub leader_throttled_rate_bytes_per_second: i64,
    /// `follower.replication.throttled.rate`.
    pub follower_throttled_rate_bytes_per_second: i64,
    /// `num.replica.alter.log.dirs.threads`.
    pub alter_log_dirs_threads: Option<usize>,
    /// `replica.alter.log.dirs.io.max.bytes.per.second`.
    pub alter_log_dirs_bytes_per_second: u64,
}

impl ReplicationSettings {
    pub(super) fn resolve(layers: &Layers<'_>) -> ReplicationSettings {
        ReplicationSettings {
            num_replica_fetchers: layers.count("num.replica.fetchers"),
            fetch_max_bytes_per_partition: layers.int("replica.fetch.max.bytes"),
            fetch_response_max_bytes: layers.int("replica.fetch.response.max.bytes"),
            fetch_wait_max_ms: layers.int("replica.fetch.wait.max.ms"),
            fetch_min_bytes: layers.int("replica.fetch.min.bytes"),
            fetch_backoff_ms: layers.millis("replica.fetch.backoff.ms"),
            socket_timeout_ms: layers.millis("replica.socket.timeout.ms"),
            connection_setup_timeout_ms: layers.millis("socket.connection.setup.timeout.ms"),
            connection_setup_timeout_max_ms: layers.millis("socket.connection.setup.timeout.max.ms"),
            lag_time_max_ms: layers.millis("replica.lag.time.max.ms"),
            high_watermark_checkpoint_interval_ms: layers.millis("replica.high.watermark.checkpoint.interval.ms"),
            selector_class: layers.text_or_null("replica.selector.class"),
            client_fetch_max_bytes: layers.int("fetch.max.bytes"),
            fetch_session_slots: layers.count("max.incremental.fetch.session.cache.slots"),
            leader_throttled_rate_bytes_per_second: layers.long("leader.replication.throttled.rate"),
            follower_throttled_rate_bytes_per_second: layers.long("follower.replication.throttled.rate"),
            alter_log_dirs_threads: layers
                .number_or_null("num.replica.alter.log.dirs.threads")
                .and_then(|threads| usize::try_from(threads).ok()),
            alter_log_dirs_bytes_per_second: layers
                .unless_negative("replica.alter.log.dirs.io.max.bytes.per.second")
                .unwrap_or(0),
        }
    }
}

/// How brokers and controller keep sight of each other, and what the controller does by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct MembershipSettings {
    /// `broker.heartbeat.interval.ms`.
    pub heartbeat_interval_ms: u64,
    /// `broker.session.timeout.ms`.
    pub session_timeout_ms: u64,
    /// `initial.broker.registration.timeout.ms`.
    pub initial_registration_timeout_ms: u64,
    /// `controlled.shutdown.enable`.
    pub controlled_shutdown_enable: bool,
    /// `auto.leader.rebalance.enable`.
    pub auto_leader_rebalance_enable: bool,
    /// `leader.imbalance.check.interval.seconds`, in milliseconds.
    pub leader_imbalance_check_interval_ms: u64,
    /// `unclean.leader.election.interval.ms`.
    pub unclean_leader_election_interval_ms: u64,
}

impl MembershipSettings {
    pub(super) fn resolve(layers: &Layers<'_>) -> MembershipSettings {
        MembershipSettings {
            heartbeat_interval_ms: layers.millis("broker.heartbeat.interval.ms"),
            session_timeout_ms: layers.millis("broker.session.timeout.ms"),
            initial_registration_timeout_ms: layers.millis("initial.broker.registration.timeout.ms"),
            controlled_shutdown_enable: layers.boolean("controlled.shutdown.enable"),
            auto_leader_rebalance_enable: layers.boolean("auto.leader.rebalance.enable"),
            leader_imbalance_check_interval_ms: layers
                .millis("leader.imbalance.check.interval.seconds")
                .saturating_mul(1000),
            unclean_leader_election_interval_ms: layers.millis("unclean.leader.election.interval.ms"),
        }
    }
}

/// Groups and their committed offsets.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupSettings {
    /// `offsets.topic.num.partitions`.
    pub offsets_topic_num_partitions: i32,
    /// `offsets.topic.replication.factor`.
    pub offsets_topic_replication_factor: i16,
    /// `offsets.topic.segment.bytes`.
    pub offsets_topic_segment_bytes: i32,
    /// `offsets.topic.compression.codec`.
    pub offsets_topic_compression_codec: i32,
    /// `offsets.load.buffer.size`.
    pub offsets_load_buffer_bytes: usize,
    /// `offsets.retention.minutes`, in milliseconds.
    pub offsets_retention_ms: u64,
    /// `offsets.retention.check.interval.ms`.
    pub offsets_retention_check_interval_ms: u64,
    /// `offsets.commit.timeout.ms`.
    pub offsets_commit_timeout_ms: u64,
    /// `offset.metadata.max.bytes`.
    pub offset_metadata_max_bytes: usize,
    /// `group.initial.rebalance.delay.ms`.
    pub initial_rebalance_delay_ms: u64,
    /// `group.min.session.timeout.ms`.
    pub min_session_timeout_ms: i32,
    /// `group.max.session.timeout.ms`.
    pub max_session_timeout_ms: i32,
    /// `group.max.size`.
    pub max_size: usize,
}

impl GroupSettings {
    pub(super) fn resolve(layers: &Layers<'_>) -> GroupSettings {
        GroupSettings {
            offsets_topic_num_partitions: layers.int("offsets.topic.num.partitions"),
            offsets_topic_replication_factor: layers.short("offsets.topic.replication.factor"),
            offsets_topic_segment_bytes: layers.int("offsets.topic.segment.bytes"),
            offsets_topic_compression_codec: layers.int("offsets.topic.compression.codec"),
            offsets_load_buffer_bytes: layers.count("offsets.load.buffer.size"),
            offsets_retention_ms: layers.millis("offsets.retention.minutes").saturating_mul(60_000),
            offsets_retention_check_interval_ms: layers.millis("offsets.retention.check.interval.ms"),
            offsets_commit_timeout_ms: layers.millis("offsets.commit.timeout.ms"),
            offset_metadata_max_bytes: layers.count("offset.metadata.max.bytes"),
            initial_rebalance_delay_ms: layers.millis("group.initial.rebalance.delay.ms"),
            min_session_timeout_ms: layers.int("group.min.session.timeout.ms"),
            max_session_timeout_ms: layers.int("group.max.session.timeout.ms"),
            max_size: layers.count("group.max.size"),
        }
    }
}

/// Transactions.
#[derive(Clone, Debug, PartialEq)]
pub struct TransactionSettings {
    /// `transaction.state.log.num.partitions`.
    pub state_log_num_partitions: i32,
    /// `transaction.state.log.replication.factor`.
    pub state_log_replication_factor: i16,
    /// `transaction.state.log.min.isr`.
    pub state_log_min_isr: i32,
    /// `transaction.state.log.segment.bytes`.
    pub state_log_segment_bytes: i32,
    /// `transaction.state.log.load.buffer.size`.
    pub state_log_load_buffer_bytes: usize,
    /// `transaction.max.timeout.ms`.
    pub max_timeout_ms: i32,
    /// `transactional.id.expiration.ms`.
    pub transactional_id_expiration_ms: u64,
    /// `transaction.abort.timed.out.transaction.cleanup.interval.ms`.
    pub abort_timed_out_interval_ms: u64,
    /// `transaction.remove.expired.transaction.cleanup.interval.ms`.
    pub remove_expired_interval_ms: u64,
    /// `transaction.partition.verification.enable`.
    pub partition_verification_enable: bool,
}

impl TransactionSettings {
    pub(super) fn resolve(layers: &Layers<'_>) -> TransactionSettings {
        TransactionSettings {
            state_log_num_partitions: layers.int("transaction.state.log.num.partitions"),
            state_log_replication_factor: layers.short("transaction.state.log.replication.factor"),
            state_log_min_isr: layers.int("transaction.state.log.min.isr"),
            state_log_segment_bytes: layers.int("transaction.state.log.segment.bytes"),
            state_log_load_buffer_bytes: layers.count("transaction.state.log.load.buffer.size"),
            max_timeout_ms: layers.int("transaction.max.timeout.ms"),
            transactional_id_expiration_ms: layers.millis("transactional.id.expiration.ms"),
            abort_timed_out_interval_ms: layers.millis("transaction.abort.timed.out.transaction.cleanup.interval.ms"),
            remove_expired_interval_ms: layers.millis("transaction.remove.expired.transaction.cleanup.interval.ms"),
            partition_verification_enable: layers.boolean("transaction.partition.verification.enable"),
        }
    }
}

/// How rates are measured.
#[derive(Clone, Debug, PartialEq)]
pub struct QuotaSettings {
    /// `quota.window.num`.
    pub window_num: usize,
    /// `quota.window.size.seconds`, in milliseconds.
    pub window_size_ms: u64,
    /// `replication.quota.window.num`.
    pub replication_window_num: usize,
    /// `replication.quota.window.size.seconds`, in milliseconds.
    pub replication_window_size_ms: u64,
}

impl QuotaSettings {
    pub(super) fn resolve(layers: &Layers<'_>) -> QuotaSettings {
        QuotaSettings {
            window_num: layers.count("quota.window.num"),
            window_size_ms: layers.millis("quota.window.size.seconds").saturating_mul(1000),
            replication_window_num: layers.count("replication.quota.window.num"),
            replication_window_size_ms: layers.millis("replication.quota.window.size.seconds").saturating_mul(1000),
        }
    }
}

/// The metadata quorum.
#[derive(Clone, Debug, PartialEq)]
pub struct QuorumSettings {
    /// `controller.quorum.election.timeout.ms`.
    pub election_timeout_ms: u64,
    /// `controller.quorum.fetch.timeout.ms`.
    pub fetch_timeout_ms: u64,
    /// `controller.quorum.election.backoff.max.ms`.
    pub election_backoff_max_ms: u64,
    /// `controller.quorum.request.timeout.ms`.
    pub request_timeout_ms: u64,
    /// `metadata.log.max.record.bytes.between.snapshots`.
    pub snapshot_after_bytes: i64,
    /// `metadata.log.max.snapshot.interval.ms`.
    pub snapshot_interval_ms: u64,
}

impl QuorumSettings {
    pub(super) fn resolve(layers: &Layers<'_>) -> QuorumSettings {
        QuorumSettings {
            election_timeout_ms: layers.millis("controller.quorum.election.timeout.ms"),
            fetch_timeout_ms: layers.millis("controller.quorum.fetch.timeout.ms"),
            election_backoff_max_ms: layers.millis("controller.quorum.election.backoff.max.ms"),
            request_timeout_ms: layers.millis("controller.quorum.request.timeout.ms"),
            snapshot_after_bytes: layers.long("metadata.log.max.record.bytes.between.snapshots"),
            snapshot_interval_ms: layers.millis("metadata.log.max.snapshot.interval.ms"),
        }
    }
}

/// Sockets, connections and requests.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkSettings {
    /// `socket.send.buffer.bytes`; `None` where it is -1.
    pub send_buffer_bytes: Option<u64>,
    /// `socket.request.max.bytes`.
    pub request_max_bytes: usize,
    /// `socket.listen.backlog.size`.
    pub listen_backlog: i32,
    /// `max.connections`.
    pub max_connections: usize,
    /// `listener.name.<listener>.max.connections`, by the listener's name in upper case.
    pub max_connections_of_listeners: BTreeMap<String, usize>,
    /// `max.connections.per.ip`.
    pub max_connections_per_ip: usize,
    /// `max.connections.per.ip.overrides`: limit by address.
    pub max_connections_per_ip_overrides: BTreeMap<IpAddr, usize>,
    /// `max.connection.creation.rate`, per second.
    pub max_connection_creation_rate: u64,
    /// `connections.max.idle.ms`.
    pub connections_max_idle_ms: u64,
    /// `queued.max.request.bytes`; `None` where it is -1.
    pub queued_max_request_bytes: Option<u64>,
    /// `request.timeout.ms`.
    pub request_timeout_ms: u64,
    /// `max.request.partition.size.limit`.
    pub max_request_partitions: usize,
    /// `connection.failed.authentication.delay.ms`.
    pub failed_authentication_delay_ms: u64,
    /// `connections.max.reauth.ms`.
    pub max_reauth_ms: u64,
    /// `sasl.enabled.mechanisms`.
    pub sasl_enabled_mechanisms: Vec<String>,
    /// `sasl.server.max.receive.size`.
    pub sasl_max_receive_bytes: usize,
}

impl NetworkSettings {
    pub(super) fn resolve(layers: &Layers<'_>) -> Result<NetworkSettings, SettingError> {
        Ok(NetworkSettings {
            send_buffer_bytes: layers.unless_negative("socket.send.buffer.bytes"),
            request_max_bytes: layers.count("socket.request.max.bytes"),
            listen_backlog: layers.int("socket.listen.backlog.size"),
            max_connections: layers.count("max.connections"),
            max_connections_of_listeners: layers
                .of_listeners("max.connections")
                .into_iter()
                .map(|(listener, most)| (listener, usize::try_from(most.number("max.connections")).unwrap_or(0)))
                .collect(),
            max_connections_per_ip: layers.count("max.connections.per.ip"),
            max_connections_per_ip_overrides: parse_ip_overrides(
                &layers.text_or_null("max.connections.per.ip.overrides").unwrap_or_default(),
            )?,
            max_connection_creation_rate: layers.millis("max.connection.creation.rate"),
            connections_max_idle_ms: layers.millis("connections.max.idle.ms"),
            queued_max_request_bytes: layers.unless_negative("queued.max.request.bytes"),
            request_timeout_ms: layers.millis("request.timeout.ms"),
            max_request_partitions: layers.count("max.request.partition.size.limit"),
            failed_authentication_delay_ms: layers.millis("connection.failed.authentication.delay.ms"),
            max_reauth_ms: layers.millis("connections.max.reauth.ms"),
            sasl_enabled_mechanisms: layers.list("sasl.enabled.mechanisms"),
            sasl_max_receive_bytes: layers.count("sasl.server.max.receive.size"),
        })
    }
}
