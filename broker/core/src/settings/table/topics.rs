//! Topic settings. All can be changed while the topic is in use.
//!
//! Names, types, defaults and ranges are those of Kafka 4.4; the texts are ours.

use super::super::setting::Scope::Topic;
use super::super::setting::Setting;
use super::super::setting::Valid;
use super::build::{boolean, double, int, int_or_null, list, long, same, string, times};

pub(super) const TOPICS: &[Setting] = &[
    list("cleanup.policy", "delete").valid(Valid::ListOf(&["compact", "delete"])).scope(Topic).synonyms(&[same("log.cleanup.policy")]).used("What happens to old data: `delete`, `compact`, both, or nothing (empty)."),
    int("compression.gzip.level", "-1").valid(Valid::RangeOr(1, 9, -1)).scope(Topic).synonyms(&[same("compression.gzip.level")]).used("Level when the broker compresses with gzip."),
    int("compression.lz4.level", "9").between(1, 17).scope(Topic).synonyms(&[same("compression.lz4.level")]).used("Level when the broker compresses with lz4."),
    string("compression.type", "producer").valid(Valid::OneOf(&["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"])).scope(Topic).synonyms(&[same("compression.type")]).used("How batches are stored: as the producer sent them, or with this codec."),
    int("compression.zstd.level", "3").between(-131_072, 22).scope(Topic).synonyms(&[same("compression.zstd.level")]).used("Level when the broker compresses with zstd."),
    long("delete.retention.ms", "86400000").at_least(0).scope(Topic).synonyms(&[same("log.cleaner.delete.retention.ms")]).used("How long a tombstone of a compacted topic stays after it was first cleaned."),
    boolean("errors.deadletterqueue.group.enable", "false").scope(Topic),
    long("file.delete.delay.ms", "60000").at_least(0).scope(Topic).synonyms(&[same("log.segment.delete.delay.ms")]).used("How long a deleted segment's file stays on disk."),
    long("flush.messages", "9223372036854775807").at_least(1).scope(Topic).synonyms(&[same("log.flush.interval.messages")]).used("Records after which the log is synced. 1 makes every acknowledgement wait for a sync, shared by all that wait."),
    long("flush.ms", "9223372036854775807").at_least(0).scope(Topic).synonyms(&[same("log.flush.interval.ms"), same("log.flush.scheduler.interval.ms")]).used("Longest time that records stay unsynced."),
    list("follower.replication.throttled.replicas", "").valid(Valid::ThrottledReplicas).scope(Topic).used("Replicas whose fetching is throttled, `partition:broker`, or `*`."),
    int("index.interval.bytes", "4096").at_least(0).scope(Topic).synonyms(&[same("log.index.interval.bytes")]).used("Bytes between two entries of the offset index."),
    int_or_null("internal.segment.bytes").scope(Topic).hidden(),
    list("leader.replication.throttled.replicas", "").valid(Valid::ThrottledReplicas).scope(Topic).used("Replicas whose serving is throttled, `partition:broker`, or `*`."),
    long("local.retention.bytes", "-2").at_least(-2).scope(Topic).synonyms(&[same("log.local.retention.bytes")]),
    long("local.retention.ms", "-2").at_least(-2).scope(Topic).synonyms(&[same("log.local.retention.ms")]),
    long("max.compaction.lag.ms", "9223372036854775807").at_least(1).scope(Topic).synonyms(&[same("log.cleaner.max.compaction.lag.ms")]).used("A record is compacted after this long at the latest."),
    int("max.decompressed.message.bytes", "2147483639").between(1, 2_147_483_639).scope(Topic).synonyms(&[same("max.decompressed.message.bytes")]).used("Most bytes that a compressed batch opens to where it is opened; a small batch opens to 32 MiB at most, a large one to 16 times its size."),
    int("max.message.bytes", "1048588").at_least(0).scope(Topic).synonyms(&[same("message.max.bytes")]).used("Largest batch, as it is sent."),
    long("message.timestamp.after.max.ms", "3600000").at_least(0).scope(Topic).synonyms(&[same("log.message.timestamp.after.max.ms")]).used("How far a record's time may lie ahead of the broker's."),
    long("message.timestamp.before.max.ms", "9223372036854775807").at_least(0).scope(Topic).synonyms(&[same("log.message.timestamp.before.max.ms")]).used("How far a record's time may lie behind the broker's."),
    string("message.timestamp.type", "CreateTime").valid(Valid::OneOf(&["CreateTime", "LogAppendTime"])).scope(Topic).synonyms(&[same("log.message.timestamp.type")]).used("`CreateTime` keeps the producer's time, `LogAppendTime` puts the broker's."),
    double("min.cleanable.dirty.ratio", "0.5").valid(Valid::Fraction(0.0, 1.0)).scope(Topic).synonyms(&[same("log.cleaner.min.cleanable.ratio")]).used("A log is compacted once this part of it was written since the last time."),
    long("min.compaction.lag.ms", "0").at_least(0).scope(Topic).synonyms(&[same("log.cleaner.min.compaction.lag.ms")]).used("A record stays as it is for at least this long."),
    int("min.insync.replicas", "1").at_least(1).scope(Topic).synonyms(&[same("min.insync.replicas")]).used("Replicas that must be in sync for a write with acks=all."),
    boolean("preallocate", "false").scope(Topic).synonyms(&[same("log.preallocate")]).used("Is a segment's file reserved at full size when it is created?"),
    long("remote.copy.lag.bytes", "-1").at_least(-1).scope(Topic).synonyms(&[same("log.remote.copy.lag.bytes")]),
    long("remote.copy.lag.ms", "0").at_least(-1).scope(Topic).synonyms(&[same("log.remote.copy.lag.ms")]),
    boolean("remote.log.copy.disable", "false").scope(Topic),
    boolean("remote.log.delete.on.disable", "false").scope(Topic),
    boolean("remote.storage.enable", "false").scope(Topic),
    long("retention.bytes", "-1").scope(Topic).synonyms(&[same("log.retention.bytes")]).used("Size above which a partition's oldest segments go; -1 for no limit."),
    long("retention.ms", "604800000").at_least(-1).scope(Topic).synonyms(&[same("log.retention.ms"), times("log.retention.minutes", 60000), times("log.retention.hours", 3600000)]).used("Age above which a partition's oldest segments go; -1 for no limit."),
    int("segment.bytes", "1073741824").at_least(1_048_576).scope(Topic).synonyms(&[same("log.segment.bytes")]).used("Size at which a segment is sealed. Smaller means finer retention, more open files."),
    int("segment.index.bytes", "10485760").at_least(4).scope(Topic).synonyms(&[same("log.index.size.max.bytes")]).used("Largest size of a segment's offset index."),
    long("segment.jitter.ms", "0").at_least(0).scope(Topic).synonyms(&[same("log.roll.jitter.ms"), times("log.roll.jitter.hours", 3600000)]).used("Segments are sealed up to this much earlier, at random, so that not all roll at once."),
    long("segment.ms", "604800000").at_least(1).scope(Topic).synonyms(&[same("log.roll.ms"), times("log.roll.hours", 3600000)]).used("Age at which a segment is sealed even if it is not full."),
    boolean("unclean.leader.election.enable", "false").scope(Topic).synonyms(&[same("unclean.leader.election.enable")]).used("May a replica that is not in sync lead when no other is left? Loses records."),
];
