//! Settings of consumer, share and streams groups and of committed offsets.
//!
//! Names, types, defaults and ranges are those of Kafka 4.4; the texts are ours.

use super::super::setting::Scope::Cluster;
use super::super::setting::Setting;
use super::super::setting::Valid;
use super::build::{boolean, class_or_null, int, list, long, short, string};

pub(super) const GROUPS: &[Setting] = &[
    boolean("errors.deadletterqueue.auto.create.topics.enable", "false").scope(Cluster),
    string("errors.deadletterqueue.topic.name.prefix", "dlq.").scope(Cluster),
    int("group.consumer.assignment.interval.ms", "1000").at_least(0).scope(Cluster),
    boolean("group.consumer.assignor.offload.enable", "true").scope(Cluster).hidden(),
    list("group.consumer.assignors", "uniform,range"),
    int("group.consumer.heartbeat.interval.ms", "5000").at_least(1),
    int("group.consumer.max.assignment.interval.ms", "15000").at_least(0),
    int("group.consumer.max.heartbeat.interval.ms", "15000").at_least(1),
    int("group.consumer.max.session.timeout.ms", "60000").at_least(1),
    int("group.consumer.max.size", "2147483647").at_least(1),
    string("group.consumer.migration.policy", "bidirectional").valid(Valid::OneOfIgnoreCase(&[
        "DISABLED",
        "DOWNGRADE",
        "UPGRADE",
        "BIDIRECTIONAL",
    ])),
    int("group.consumer.min.assignment.interval.ms", "0").at_least(0),
    int("group.consumer.min.heartbeat.interval.ms", "5000").at_least(1),
    int("group.consumer.min.session.timeout.ms", "45000").at_least(1),
    int("group.consumer.regex.refresh.interval.ms", "600000").at_least(10_000).hidden(),
    int("group.consumer.session.timeout.ms", "45000").at_least(1),
    int("group.coordinator.append.linger.ms", "-1").at_least(-1),
    int("group.coordinator.background.threads", "2").at_least(1),
    int("group.coordinator.cached.buffer.max.bytes", "1048588").at_least(524_288).scope(Cluster),
    list("group.coordinator.rebalance.protocols", "classic,consumer,streams")
        .valid(Valid::ListOf(&["consumer", "classic", "share", "streams"])),
    int("group.coordinator.threads", "4").at_least(1),
    int("group.initial.rebalance.delay.ms", "3000")
        .used("How long the first rebalance of an empty group waits for more members."),
    int("group.max.session.timeout.ms", "1800000").used("Longest session timeout that a classic member may ask for."),
    int("group.max.size", "2147483647").at_least(1).used("Members of a classic group at most."),
    int("group.min.session.timeout.ms", "6000").used("Shortest session timeout that a classic member may ask for."),
    int("group.share.assignment.interval.ms", "1000").at_least(0).scope(Cluster),
    boolean("group.share.assignor.offload.enable", "true").scope(Cluster).hidden(),
    list("group.share.assignors", "simple"),
    int("group.share.delivery.count.limit", "5").between(2, 10),
    string("group.share.dlq.manager.class.name", "org.apache.kafka.server.share.dlq.DefaultShareGroupDLQManager")
        .hidden(),
    int("group.share.heartbeat.interval.ms", "5000").at_least(1),
    int("group.share.initialize.retry.interval.ms", "30000").at_least(1).hidden(),
    int("group.share.max.assignment.interval.ms", "15000").at_least(0),
    int("group.share.max.delivery.count.limit", "10").between(5, 25),
    int("group.share.max.heartbeat.interval.ms", "15000").at_least(1),
    int("group.share.max.partition.max.record.locks", "4000").between(2_000, 10_000),
    int("group.share.max.record.lock.duration.ms", "60000").between(30_000, 3_600_000),
    int("group.share.max.session.timeout.ms", "60000").at_least(1),
    int("group.share.max.share.sessions", "2000").at_least(1),
    int("group.share.max.size", "200").between(1, 1_000),
    int("group.share.min.assignment.interval.ms", "0").at_least(0),
    int("group.share.min.delivery.count.limit", "2").between(2, 5),
    int("group.share.min.heartbeat.interval.ms", "5000").at_least(1),
    int("group.share.min.partition.max.record.locks", "100").between(100, 2_000),
    int("group.share.min.record.lock.duration.ms", "15000").between(1_000, 30_000),
    int("group.share.min.session.timeout.ms", "45000").at_least(1),
    int("group.share.partition.max.record.locks", "2000").between(100, 10_000),
    string("group.share.persister.class.name", "org.apache.kafka.server.share.persister.DefaultStatePersister")
        .hidden(),
    int("group.share.record.lock.duration.ms", "30000").between(1_000, 3_600_000),
    int("group.share.session.timeout.ms", "45000").at_least(1),
    long("group.streams.acceptable.recovery.lag", "10000").at_least(0).hidden(),
    int("group.streams.assignment.interval.ms", "1000").at_least(0).scope(Cluster),
    boolean("group.streams.assignor.offload.enable", "true").scope(Cluster).hidden(),
    list("group.streams.assignors", "sticky"),
    int("group.streams.heartbeat.interval.ms", "5000").at_least(1),
    int("group.streams.initial.rebalance.delay.ms", "3000").at_least(0),
    int("group.streams.max.assignment.interval.ms", "15000").at_least(0),
    int("group.streams.max.heartbeat.interval.ms", "15000").at_least(1),
    int("group.streams.max.session.timeout.ms", "60000").at_least(1),
    int("group.streams.max.size", "2147483647").at_least(1),
    int("group.streams.max.standby.replicas", "2").at_least(0),
    int("group.streams.max.warmup.replicas", "20").at_least(0).hidden(),
    int("group.streams.min.assignment.interval.ms", "0").at_least(0),
    int("group.streams.min.heartbeat.interval.ms", "5000").at_least(1),
    int("group.streams.min.session.timeout.ms", "45000").at_least(1),
    int("group.streams.min.task.offset.interval.ms", "15000").at_least(1).hidden(),
    int("group.streams.num.standby.replicas", "0").at_least(0),
    int("group.streams.num.warmup.replicas", "2").at_least(0).hidden(),
    list("group.streams.rack.aware.assignment.tags", ""),
    int("group.streams.session.timeout.ms", "45000").at_least(1),
    int("group.streams.task.offset.interval.ms", "60000").at_least(1).hidden(),
    class_or_null("group.streams.topology.description.plugin.class"),
    int("offset.metadata.max.bytes", "4096").used("Longest text that a commit may carry."),
    int("offsets.commit.timeout.ms", "5000")
        .at_least(1)
        .used("How long a change of a group (a commit, an assignment) waits to be replicated."),
    int("offsets.load.buffer.size", "5242880").at_least(1).used("Bytes read at once while a coordinator loads."),
    long("offsets.retention.check.interval.ms", "600000").at_least(1).used("How often expired offsets are looked for."),
    int("offsets.retention.minutes", "10080")
        .at_least(1)
        .used("Committed offsets of a group that has been empty this long are dropped."),
    int("offsets.topic.compression.codec", "0")
        .used("Compression of `__consumer_offsets`: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd."),
    int("offsets.topic.num.partitions", "50")
        .at_least(1)
        .used("Partitions of `__consumer_offsets`, when it is created."),
    short("offsets.topic.replication.factor", "3")
        .at_least(1)
        .used("Replicas of `__consumer_offsets`, when it is created; fewer if fewer brokers are alive then."),
    int("offsets.topic.segment.bytes", "104857600").at_least(1).used("Segment size of `__consumer_offsets`."),
    int("share.coordinator.append.linger.ms", "-1").at_least(-1),
    int("share.coordinator.cached.buffer.max.bytes", "1048588").at_least(524_288).scope(Cluster),
    int("share.coordinator.cold.partition.snapshot.interval.ms", "300000").at_least(1).hidden(),
    int("share.coordinator.load.buffer.size", "5242880").at_least(1),
    int("share.coordinator.snapshot.update.records.per.snapshot", "500").between(0, 500),
    int("share.coordinator.state.topic.compression.codec", "0"),
    short("share.coordinator.state.topic.min.isr", "2").at_least(1),
    int("share.coordinator.state.topic.num.partitions", "50").at_least(1),
    int("share.coordinator.state.topic.prune.interval.ms", "300000").at_least(1).hidden(),
    short("share.coordinator.state.topic.replication.factor", "3").at_least(1),
    int("share.coordinator.state.topic.segment.bytes", "104857600").at_least(1),
    int("share.coordinator.threads", "1").at_least(1),
    int("share.coordinator.write.timeout.ms", "5000").at_least(1),
    int("share.fetch.purgatory.purge.interval.requests", "1000"),
];
