//! Settings of logs: mostly the defaults of topic settings.
//!
//! Names, types, defaults and ranges are those of Kafka 4.4; the texts are ours.

use super::super::setting::Scope::Cluster;
use super::super::setting::Setting;
use super::super::setting::Valid;
use super::build::{boolean, double, int, int_or_null, list, list_or_null, long, long_or_null, string};

pub(super) const LOGS: &[Setting] = &[
    boolean("auto.create.topics.enable", "true").used("May a client's look-up create a topic that does not exist?"),
    int("compression.gzip.level", "-1")
        .valid(Valid::RangeOr(1, 9, -1))
        .scope(Cluster)
        .used("Default of the topic setting of the same name."),
    int("compression.lz4.level", "9")
        .between(1, 17)
        .scope(Cluster)
        .used("Default of the topic setting of the same name."),
    string("compression.type", "producer")
        .valid(Valid::OneOf(&["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"]))
        .scope(Cluster)
        .used("Default of the topic setting of the same name."),
    int("compression.zstd.level", "3")
        .between(-131_072, 22)
        .scope(Cluster)
        .used("Default of the topic setting of the same name."),
    boolean("delete.topic.enable", "true").used("May topics be deleted?"),
    long("log.cleaner.backoff.ms", "15000")
        .at_least(0)
        .scope(Cluster)
        .used("How long the cleaner sleeps when there is nothing to clean."),
    long("log.cleaner.dedupe.buffer.size", "134217728")
        .scope(Cluster)
        .used("Memory for the table of keys of all cleaner threads."),
    long("log.cleaner.delete.retention.ms", "86400000")
        .at_least(0)
        .scope(Cluster)
        .used("Default of `delete.retention.ms`."),
    boolean("log.cleaner.enable", "true")
        .used("Does the log cleaner run? Without it compacted topics are not compacted."),
    double("log.cleaner.io.buffer.load.factor", "0.9").scope(Cluster).used("How full the table of keys may get."),
    int("log.cleaner.io.buffer.size", "524288")
        .at_least(0)
        .scope(Cluster)
        .used("Read and write buffers of all cleaner threads."),
    double("log.cleaner.io.max.bytes.per.second", "1.7976931348623157E308")
        .scope(Cluster)
        .used("The cleaner reads and writes no more than this."),
    long("log.cleaner.max.compaction.lag.ms", "9223372036854775807")
        .at_least(1)
        .scope(Cluster)
        .used("Default of `max.compaction.lag.ms`."),
    double("log.cleaner.min.cleanable.ratio", "0.5")
        .valid(Valid::Fraction(0.0, 1.0))
        .scope(Cluster)
        .used("Default of `min.cleanable.dirty.ratio`."),
    long("log.cleaner.min.compaction.lag.ms", "0")
        .at_least(0)
        .scope(Cluster)
        .used("Default of `min.compaction.lag.ms`."),
    int("log.cleaner.threads", "1").at_least(0).scope(Cluster).used("Logs that are compacted at the same time."),
    list("log.cleanup.policy", "delete")
        .valid(Valid::ListOf(&["compact", "delete"]))
        .scope(Cluster)
        .used("Default of `cleanup.policy`."),
    list("log.dir", "/tmp/kafka-logs").used("Data directory, where `log.dirs` is not set."),
    long("log.dir.failure.timeout.ms", "30000")
        .at_least(1)
        .used("How long a broker that cannot tell the controller of a failed directory goes on."),
    list_or_null("log.dirs")
        .used("Data directories. New partitions go to the one with the fewest. `--data-dir` sets it."),
    long("log.flush.interval.messages", "9223372036854775807")
        .at_least(1)
        .scope(Cluster)
        .used("Default of `flush.messages`."),
    long_or_null("log.flush.interval.ms").scope(Cluster).used("Default of `flush.ms`."),
    int("log.flush.offset.checkpoint.interval.ms", "60000")
        .at_least(0)
        .used("How often the recovery points are written down."),
    long("log.flush.scheduler.interval.ms", "9223372036854775807")
        .used("Default of `flush.ms`, where `log.flush.interval.ms` is not set."),
    int("log.flush.start.offset.checkpoint.interval.ms", "60000")
        .at_least(0)
        .used("How often the log start offsets are written down."),
    int("log.index.interval.bytes", "4096").at_least(0).scope(Cluster).used("Default of `index.interval.bytes`."),
    int("log.index.size.max.bytes", "10485760").at_least(4).scope(Cluster).used("Default of `segment.index.bytes`."),
    long("log.initial.task.delay.ms", "30000")
        .at_least(0)
        .hidden()
        .used("How long after the start the background work on logs begins."),
    long("log.message.timestamp.after.max.ms", "3600000")
        .at_least(0)
        .scope(Cluster)
        .used("Default of `message.timestamp.after.max.ms`."),
    long("log.message.timestamp.before.max.ms", "9223372036854775807")
        .at_least(0)
        .scope(Cluster)
        .used("Default of `message.timestamp.before.max.ms`."),
    string("log.message.timestamp.type", "CreateTime")
        .valid(Valid::OneOf(&["CreateTime", "LogAppendTime"]))
        .scope(Cluster)
        .used("Default of `message.timestamp.type`."),
    boolean("log.preallocate", "false").scope(Cluster).used("Default of `preallocate`."),
    long("log.retention.bytes", "-1").scope(Cluster).used("Default of `retention.bytes`."),
    long("log.retention.check.interval.ms", "300000")
        .at_least(1)
        .used("How often logs are looked through for segments that may go."),
    int("log.retention.hours", "168")
        .used("Default of `retention.ms` in hours, where neither milliseconds nor minutes are set."),
    int_or_null("log.retention.minutes")
        .used("Default of `retention.ms` in minutes, where `log.retention.ms` is not set."),
    long_or_null("log.retention.ms").scope(Cluster).used("Default of `retention.ms`."),
    int("log.roll.hours", "168").at_least(1).used("Default of `segment.ms` in hours, where `log.roll.ms` is not set."),
    int("log.roll.jitter.hours", "0")
        .at_least(0)
        .used("Default of `segment.jitter.ms` in hours, where `log.roll.jitter.ms` is not set."),
    long_or_null("log.roll.jitter.ms").scope(Cluster).used("Default of `segment.jitter.ms`."),
    long_or_null("log.roll.ms").scope(Cluster).used("Default of `segment.ms`."),
    int("log.segment.bytes", "1073741824").at_least(1_048_576).scope(Cluster).used("Default of `segment.bytes`."),
    long("log.segment.delete.delay.ms", "60000").at_least(0).scope(Cluster).used("Default of `file.delete.delay.ms`."),
    int("max.decompressed.message.bytes", "2147483639")
        .between(1, 2_147_483_639)
        .scope(Cluster)
        .used("Default of the topic config of that name."),
    int("message.max.bytes", "1048588").at_least(0).scope(Cluster).used("Default of `max.message.bytes`."),
    int("num.partitions", "1").at_least(1).used("Partitions of a topic whose creator did not say."),
    int("num.recovery.threads.per.data.dir", "2")
        .at_least(1)
        .scope(Cluster)
        .used("Logs that are recovered at the same time in each data directory."),
];
