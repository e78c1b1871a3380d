//! Settings of identity, membership and the metadata quorum.
//!
//! Names, types, defaults and ranges are those of Kafka 4.4; the texts are ours.

use super::super::setting::Setting;
use super::super::setting::Valid;
use super::build::{boolean, int, int_or_null, list, list_or_null, long, string_or_null};

pub(super) const CLUSTER: &[Setting] = &[
    boolean("auto.leader.rebalance.enable", "true").used("Are leaderships given back to preferred replicas?"),
    int("broker.heartbeat.interval.ms", "2000").used("How often a broker tells the controller that it lives."),
    int("broker.id", "-1").used("Older name of `node.id`."),
    string_or_null("broker.rack").used("The rack or zone of this broker. Replicas of a partition are spread over racks; consumers can be served by a replica in theirs."),
    int("broker.session.timeout.ms", "9000").used("A broker that has been silent this long is fenced."),
    boolean("controlled.shutdown.enable", "true").used("Does a broker hand over its leaderships before it stops?"),
    list_or_null("controller.listener.names").used("Listeners that belong to the metadata quorum. `--controller` sets one."),
    long("controller.performance.always.log.threshold.ms", "2000").at_least(0).hidden(),
    long("controller.performance.sample.period.ms", "60000").at_least(100).hidden(),
    int("controller.quorum.append.linger.ms", "25").at_least(0),
    boolean("controller.quorum.auto.join.enable", "false"),
    list("controller.quorum.bootstrap.servers", "").used("Controllers that a node asks to be taken in, `host:port`, where `controller.quorum.voters` does not list them. A node that names only itself begins a quorum of its own."),
    int("controller.quorum.election.backoff.max.ms", "1000").at_least(0).used("Longest random wait before an election, beside what the other two times ask for; before the first, at most a quarter of `controller.quorum.fetch.timeout.ms`."),
    int("controller.quorum.election.timeout.ms", "1000").at_least(0).used("How long a candidate waits for votes at least, before it tries again."),
    int("controller.quorum.fetch.max.bytes", "1048576").at_least(1),
    int("controller.quorum.fetch.snapshot.max.bytes", "1048576").at_least(1),
    int("controller.quorum.fetch.timeout.ms", "2000").at_least(0).used("How long a voter hears nothing of its leader before it becomes a candidate, with a random wait beside. A leader whom no majority has answered for as long decides nothing any more."),
    int("controller.quorum.request.timeout.ms", "2000").at_least(0).used("How long a node waits for another to be reached or to answer, where it asks to be taken in, for who is there, or for how far the metadata is. How long the leader waits for a follower follows from the heartbeat."),
    int("controller.quorum.retry.backoff.ms", "20").at_least(0),
    list("controller.quorum.voters", "").used("The voters of the metadata quorum, `id@host:port`. `--quorum` sets it."),
    int("controller.quota.window.num", "11").at_least(1),
    int("controller.quota.window.size.seconds", "1").at_least(1),
    int("controller.socket.timeout.ms", "30000"),
    int("initial.broker.registration.timeout.ms", "60000").used("How long a starting broker tries to register."),
    long("internal.metadata.delete.delay.millis", "60000").hidden(),
    int_or_null("internal.metadata.log.segment.bytes").hidden(),
    int("internal.metadata.max.batch.size.in.bytes", "8388608").hidden(),
    long("leader.imbalance.check.interval.seconds", "300").at_least(1).used("How often leaderships are given back to preferred replicas."),
    string_or_null("metadata.log.dir"),
    long("metadata.log.max.record.bytes.between.snapshots", "20971520").at_least(1).used("Bytes of metadata after which a snapshot is taken."),
    long("metadata.log.max.snapshot.interval.ms", "3600000").at_least(0).used("A snapshot is taken at least this often while metadata changes."),
    int("metadata.log.segment.bytes", "1073741824").at_least(8_388_608),
    long("metadata.log.segment.ms", "604800000"),
    int("metadata.max.idle.interval.ms", "500").at_least(0),
    long("metadata.max.retention.bytes", "104857600"),
    long("metadata.max.retention.ms", "604800000"),
    int_or_null("node.id").at_least(0).used("This node's id, unique in the cluster. `--node-id` sets it."),
    list_or_null("process.roles").valid(Valid::ListOf(&["broker", "controller"])).used("What this node does. `controller`: it votes in the metadata quorum, and has no clients and no records. `broker`: it serves clients, and listens to the quorum without a vote; one without a controller listener gets one on a free port of its first listener's host, because the leader sends it the metadata. Without a value it does both."),
    long("server.max.startup.time.ms", "9223372036854775807").at_least(0).hidden(),
    long("unclean.leader.election.interval.ms", "300000").at_least(1).hidden().used("How often leaderless partitions that allow it are looked through for an unclean election."),
    boolean("unstable.api.versions.enable", "false").hidden(),
    boolean("unstable.feature.versions.enable", "false").hidden(),
];
