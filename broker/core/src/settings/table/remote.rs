//! Settings of tiered storage. Ballast keeps all data on its own disks, so none has an effect.
//!
//! Names, types, defaults and ranges are those of Kafka 4.4; the texts are ours.

use super::super::setting::Scope::Cluster;
use super::super::setting::Setting;
use super::super::setting::Valid;
use super::build::{boolean, double, int, long, string, string_or_null};

pub(super) const REMOTE: &[Setting] = &[
    boolean("follower.fetch.last.tiered.offset.enable", "false").scope(Cluster),
    long("log.local.retention.bytes", "-2").at_least(-2).scope(Cluster),
    long("log.local.retention.ms", "-2").at_least(-2).scope(Cluster),
    long("log.remote.copy.lag.bytes", "-1").at_least(-1).scope(Cluster),
    long("log.remote.copy.lag.ms", "0").at_least(-1).scope(Cluster),
    int("remote.fetch.max.wait.ms", "500").at_least(1).scope(Cluster),
    long("remote.list.offsets.request.timeout.ms", "30000").at_least(1).scope(Cluster),
    long("remote.log.index.file.cache.total.size.bytes", "1073741824").at_least(1).scope(Cluster),
    long("remote.log.index.file.cache.ttl.ms", "900000").at_least(-1).hidden(),
    int("remote.log.manager.copier.thread.pool.size", "10").at_least(1).scope(Cluster),
    long("remote.log.manager.copy.max.bytes.per.second", "9223372036854775807").at_least(1).scope(Cluster),
    int("remote.log.manager.copy.quota.window.num", "11").at_least(1),
    int("remote.log.manager.copy.quota.window.size.seconds", "1").at_least(1),
    int("remote.log.manager.expiration.thread.pool.size", "10").at_least(1).scope(Cluster),
    long("remote.log.manager.fetch.max.bytes.per.second", "9223372036854775807").at_least(1).scope(Cluster),
    int("remote.log.manager.fetch.quota.window.num", "11").at_least(1),
    int("remote.log.manager.fetch.quota.window.size.seconds", "1").at_least(1),
    int("remote.log.manager.follower.thread.pool.size", "2").at_least(1).scope(Cluster),
    long("remote.log.manager.task.interval.ms", "30000").at_least(1),
    long("remote.log.manager.task.retry.backoff.max.ms", "30000").at_least(1).hidden(),
    long("remote.log.manager.task.retry.backoff.ms", "500").at_least(1).hidden(),
    double("remote.log.manager.task.retry.jitter", "0.2").valid(Valid::Fraction(0.0, 0.5)).hidden(),
    int("remote.log.manager.thread.pool.size", "2").at_least(1),
    int("remote.log.metadata.custom.metadata.max.bytes", "128").at_least(0),
    string(
        "remote.log.metadata.manager.class.name",
        "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager",
    )
    .valid(Valid::NonEmpty),
    string_or_null("remote.log.metadata.manager.class.path"),
    string("remote.log.metadata.manager.impl.prefix", "rlmm.config.").valid(Valid::NonEmpty),
    string_or_null("remote.log.metadata.manager.listener.name").valid(Valid::NonEmpty),
    int("remote.log.reader.max.pending.tasks", "100").at_least(1),
    int("remote.log.reader.threads", "10").at_least(1).scope(Cluster),
    string_or_null("remote.log.storage.manager.class.name").valid(Valid::NonEmpty),
    string_or_null("remote.log.storage.manager.class.path"),
    string("remote.log.storage.manager.impl.prefix", "rsm.config.").valid(Valid::NonEmpty),
    boolean("remote.log.storage.system.enable", "false"),
];
