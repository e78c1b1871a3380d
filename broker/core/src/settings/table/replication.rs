//! Settings of replicas and of fetching.
//!
//! Names, types, defaults and ranges are those of Kafka 4.4; the texts are ours.

use super::super::setting::Scope::Cluster;
use super::super::setting::Setting;
use super::build::{boolean, int, int_or_null, long, string_or_null};

pub(super) const REPLICATION: &[Setting] = &[
    int("alter.log.dirs.replication.quota.window.num", "11").at_least(1),
    int("alter.log.dirs.replication.quota.window.size.seconds", "1").at_least(1),
    int("default.replication.factor", "1").used("Replicas of a partition whose creator did not say."),
    int("fetch.max.bytes", "57671680").at_least(1_024).used("Bytes that one fetch answer holds at most."),
    int("fetch.purgatory.purge.interval.requests", "1000"),
    long("follower.replication.throttled.rate", "9223372036854775807").at_least(0).scope(Cluster).hidden().used("Bytes per second that this broker fetches for throttled replicas."),
    long("leader.replication.throttled.rate", "9223372036854775807").at_least(0).scope(Cluster).hidden().used("Bytes per second that this broker sends for throttled replicas."),
    int("max.incremental.fetch.session.cache.slots", "1000").at_least(0).used("Fetch sessions that are kept at most."),
    int("min.insync.replicas", "1").at_least(1).scope(Cluster).used("Default of the topic setting of the same name. With eligible leader replicas on, it can be changed for the whole cluster only."),
    int_or_null("num.replica.alter.log.dirs.threads").used("Replicas that are copied to another log directory at once. As many as there are directories where it is not set."),
    int("num.replica.fetchers", "1").at_least(1).scope(Cluster).used("Connections to each leader that followers fetch over."),
    long("replica.alter.log.dirs.io.max.bytes.per.second", "9223372036854775807").at_least(0).scope(Cluster).hidden().used("Bytes per second that replicas are copied with from one log directory to another, on this broker; 0 stops them."),
    int("replica.fetch.backoff.ms", "1000").at_least(0).used("How long a follower waits after an error, at most: the first waits are shorter."),
    int("replica.fetch.max.bytes", "1048576").at_least(0).used("Bytes that a follower asks of each partition."),
    int("replica.fetch.min.bytes", "1").used("Bytes that end the wait of a follower's fetch."),
    int("replica.fetch.response.max.bytes", "10485760").at_least(0).used("Bytes that a follower asks of each leader at once."),
    int("replica.fetch.wait.max.ms", "500").used("How long a follower's fetch may wait for news."),
    long("replica.high.watermark.checkpoint.interval.ms", "5000").used("How often the high watermarks are written down."),
    long("replica.lag.time.max.ms", "30000").used("A follower that has not caught up for this long leaves the ISR."),
    string_or_null("replica.selector.class").used("`org.apache.kafka.common.replica.RackAwareReplicaSelector` lets consumers fetch from a replica in their rack."),
    int("replica.socket.receive.buffer.bytes", "65536"),
    int("replica.socket.timeout.ms", "30000").used("How long a follower waits for a leader's answer."),
    int("replication.quota.window.num", "11").at_least(1).used("Samples that replication throttles are measured over."),
    int("replication.quota.window.size.seconds", "1").at_least(1).used("Length of a sample of replication throttles."),
    boolean("unclean.leader.election.enable", "false").scope(Cluster).used("Default of the topic setting of the same name."),
];
