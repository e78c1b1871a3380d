//! Settings of sockets, threads, quotas and metrics.
//!
//! Names, types, defaults and ranges are those of Kafka 4.4; the texts are ours. Kafka can change listeners while it runs;
//! here they are read at start.

use super::super::setting::Scope::{Cluster, PerBroker};
use super::super::setting::Setting;
use super::build::{class_or_null, int, list, list_or_null, long, string, string_or_null};

pub(super) const SERVER: &[Setting] = &[
    list_or_null("advertised.listeners").used("Addresses that clients are told, where they differ from `listeners`. `--advertise` sets the one for clients."),
    class_or_null("alter.config.policy.class.name"),
    int("background.threads", "10").at_least(1).scope(Cluster),
    class_or_null("client.quota.callback.class"),
    list("config.providers", "").scope(Cluster),
    int("connection.failed.authentication.delay.ms", "100").at_least(0).used("How long a failed login waits for its close."),
    long("connections.max.idle.ms", "600000").used("An idle connection is closed after this long."),
    list("cordoned.log.dirs", "").scope(PerBroker),
    class_or_null("create.topic.policy.class.name"),
    int("delete.records.purgatory.purge.interval.requests", "1"),
    list_or_null("early.start.listeners"),
    string_or_null("inter.broker.listener.name").used("The listener that brokers use among themselves."),
    int("kafka.metrics.polling.interval.secs", "10").at_least(1),
    list("kafka.metrics.reporters", ""),
    string("listener.security.protocol.map", "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT").used("Security protocol of each listener name, `NAME:PROTOCOL`."),
    list("listeners", "PLAINTEXT://:9092").used("Addresses to listen on, `NAME://host:port`. An empty host is every interface, port 0 a free port. `--listen` sets the one for clients."),
    int("max.connection.creation.rate", "2147483647").at_least(0).scope(Cluster).used("New connections per second at most."),
    int("max.connections", "2147483647").at_least(0).scope(Cluster).used("Connections that the broker keeps open at most; with a listener's prefix, that the listener does."),
    int("max.connections.per.ip", "2147483647").at_least(0).scope(Cluster).used("Connections from one address at most."),
    string("max.connections.per.ip.overrides", "").scope(Cluster).used("Other limits for single addresses, `host:limit`."),
    int("max.request.partition.size.limit", "2000").at_least(1).used("Partitions that one DescribeTopicPartitions answer holds at most."),
    list("metric.reporters", "org.apache.kafka.common.metrics.JmxReporter").scope(Cluster),
    int("metrics.num.samples", "2").at_least(1),
    string("metrics.recording.level", "INFO"),
    long("metrics.sample.window.ms", "30000").at_least(1),
    int("num.io.threads", "8").at_least(1).scope(Cluster),
    int("num.network.threads", "3").at_least(1).scope(Cluster),
    int("producer.purgatory.purge.interval.requests", "1000"),
    long("queued.max.request.bytes", "-1").used("Memory for requests that are being read or handled; -1 lets the broker choose."),
    int("queued.max.requests", "500").at_least(1),
    int("quota.window.num", "11").at_least(1).used("Samples that client quotas are measured over."),
    int("quota.window.size.seconds", "1").at_least(1).used("Length of a sample of client quotas."),
    int("request.timeout.ms", "30000").used("How long a broker waits for another node's answer."),
    long("socket.connection.setup.timeout.max.ms", "30000").used("How long a follower dials a leader at most."),
    long("socket.connection.setup.timeout.ms", "10000").used("How long a follower dials a leader; each failure in a row doubles it."),
    int("socket.listen.backlog.size", "50").at_least(1).used("Connections that may wait to be accepted."),
    // Not used: the system sizes receive buffers. 100 KiB doubled the latency of batches of 1 MB (docs/PERFORMANCE.md).
    int("socket.receive.buffer.bytes", "102400"),
    int("socket.request.max.bytes", "104857600").at_least(1).used("Largest request. A longer frame closes its connection."),
    int("socket.send.buffer.bytes", "102400").used("Send buffer of client sockets; -1 leaves it to the system."),
    int("telemetry.max.bytes", "1048576").at_least(1),
];
