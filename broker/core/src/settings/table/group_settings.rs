//! Settings of single groups.
//!
//! Names, types, defaults and ranges are those of Kafka 4.4; the texts are ours.

use super::super::setting::Scope::Group;
use super::super::setting::Setting;
use super::super::setting::Valid;
use super::build::{boolean, int, list, long, same, string, string_or_null};

pub(super) const GROUP_SETTINGS: &[Setting] = &[
    int("consumer.assignment.interval.ms", "1000")
        .at_least(0)
        .scope(Group)
        .synonyms(&[same("group.consumer.assignment.interval.ms")]),
    boolean("consumer.assignor.offload.enable", "true")
        .scope(Group)
        .synonyms(&[same("group.consumer.assignor.offload.enable")])
        .hidden(),
    int("consumer.heartbeat.interval.ms", "5000")
        .at_least(1)
        .scope(Group)
        .synonyms(&[same("group.consumer.heartbeat.interval.ms")]),
    int("consumer.session.timeout.ms", "45000")
        .at_least(1)
        .scope(Group)
        .synonyms(&[same("group.consumer.session.timeout.ms")]),
    boolean("errors.deadletterqueue.copy.record.enable", "false").scope(Group),
    string("errors.deadletterqueue.topic.name", "").scope(Group),
    int("share.assignment.interval.ms", "1000")
        .at_least(0)
        .scope(Group)
        .synonyms(&[same("group.share.assignment.interval.ms")]),
    boolean("share.assignor.offload.enable", "true")
        .scope(Group)
        .synonyms(&[same("group.share.assignor.offload.enable")])
        .hidden(),
    string("share.auto.offset.reset", "latest").scope(Group),
    int("share.delivery.count.limit", "5")
        .at_least(2)
        .scope(Group)
        .synonyms(&[same("group.share.delivery.count.limit")]),
    int("share.heartbeat.interval.ms", "5000")
        .at_least(1)
        .scope(Group)
        .synonyms(&[same("group.share.heartbeat.interval.ms")]),
    string("share.isolation.level", "read_uncommitted")
        .valid(Valid::OneOf(&["read_committed", "read_uncommitted"]))
        .scope(Group),
    int("share.partition.max.record.locks", "2000")
        .at_least(100)
        .scope(Group)
        .synonyms(&[same("group.share.partition.max.record.locks")]),
    int("share.record.lock.duration.ms", "30000")
        .at_least(1_000)
        .scope(Group)
        .synonyms(&[same("group.share.record.lock.duration.ms")]),
    boolean("share.renew.acknowledge.enable", "true").scope(Group),
    int("share.session.timeout.ms", "45000")
        .at_least(1)
        .scope(Group)
        .synonyms(&[same("group.share.session.timeout.ms")]),
    long("streams.acceptable.recovery.lag", "10000")
        .at_least(0)
        .scope(Group)
        .synonyms(&[same("group.streams.acceptable.recovery.lag")])
        .hidden(),
    int("streams.assignment.interval.ms", "1000")
        .at_least(0)
        .scope(Group)
        .synonyms(&[same("group.streams.assignment.interval.ms")]),
    string_or_null("streams.assignor.name").scope(Group).synonyms(&[same("group.streams.assignors")]),
    boolean("streams.assignor.offload.enable", "true")
        .scope(Group)
        .synonyms(&[same("group.streams.assignor.offload.enable")])
        .hidden(),
    int("streams.heartbeat.interval.ms", "5000")
        .at_least(1)
        .scope(Group)
        .synonyms(&[same("group.streams.heartbeat.interval.ms")]),
    int("streams.initial.rebalance.delay.ms", "3000")
        .at_least(0)
        .scope(Group)
        .synonyms(&[same("group.streams.initial.rebalance.delay.ms")]),
    int("streams.num.standby.replicas", "0")
        .at_least(0)
        .scope(Group)
        .synonyms(&[same("group.streams.num.standby.replicas")]),
    int("streams.num.warmup.replicas", "2")
        .at_least(0)
        .scope(Group)
        .synonyms(&[same("group.streams.num.warmup.replicas")])
        .hidden(),
    list("streams.rack.aware.assignment.tags", "")
        .scope(Group)
        .synonyms(&[same("group.streams.rack.aware.assignment.tags")]),
    int("streams.session.timeout.ms", "45000")
        .at_least(1)
        .scope(Group)
        .synonyms(&[same("group.streams.session.timeout.ms")]),
    int("streams.task.offset.interval.ms", "60000")
        .at_least(1)
        .scope(Group)
        .synonyms(&[same("group.streams.task.offset.interval.ms")])
        .hidden(),
];
