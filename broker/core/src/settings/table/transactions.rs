//! Settings of transactions and idempotent producers.
//!
//! Names, types, defaults and ranges are those of Kafka 4.4; the texts are ours.

use super::super::setting::Scope::Cluster;
use super::super::setting::Setting;
use super::build::{boolean, int, short};

pub(super) const TRANSACTIONS: &[Setting] = &[
    int("add.partitions.to.txn.retry.backoff.max.ms", "100").at_least(0),
    int("add.partitions.to.txn.retry.backoff.ms", "20").at_least(1),
    int("producer.id.expiration.check.interval.ms", "600000")
        .at_least(1)
        .hidden()
        .used("How often silent producers are looked for."),
    int("producer.id.expiration.ms", "86400000")
        .at_least(1)
        .scope(Cluster)
        .used("A producer that has been silent this long is forgotten."),
    int("transaction.abort.timed.out.transaction.cleanup.interval.ms", "10000")
        .at_least(1)
        .used("How often transactions that ran out of time are aborted."),
    int("transaction.max.timeout.ms", "900000")
        .at_least(1)
        .used("Longest transaction timeout that a producer may ask for."),
    boolean("transaction.partition.verification.enable", "true")
        .scope(Cluster)
        .used("Is a partition checked to be part of its transaction before the first write?"),
    int("transaction.remove.expired.transaction.cleanup.interval.ms", "3600000")
        .at_least(1)
        .used("How often expired transactional ids are removed."),
    int("transaction.state.log.load.buffer.size", "5242880")
        .at_least(1)
        .used("Bytes read at once while a coordinator loads."),
    int("transaction.state.log.min.isr", "2").at_least(1).used("`min.insync.replicas` of `__transaction_state`."),
    int("transaction.state.log.num.partitions", "50")
        .at_least(1)
        .used("Partitions of `__transaction_state`, when it is created."),
    short("transaction.state.log.replication.factor", "3")
        .at_least(1)
        .used("Replicas of `__transaction_state`, when it is created."),
    int("transaction.state.log.segment.bytes", "104857600").at_least(1).used("Segment size of `__transaction_state`."),
    boolean("transaction.two.phase.commit.enable", "false"),
    int("transactional.id.expiration.ms", "604800000")
        .at_least(1)
        .used("A transactional id that has been silent this long is forgotten."),
];
