//! Settings that only Ballast has.

use super::super::setting::Scope::{Cluster, PerBroker, Topic};
use super::super::setting::Setting;
use super::build::{boolean, int, long, same, string};

pub(super) const OWN_BROKER: &[Setting] = &[
    long("ballast.disk.reserve.bytes", "-1").at_least(-1).used(
        "Free space in each data directory below which clients' writes are refused, so that the cluster can still be managed. -1 takes 1 GiB or 5 % of the file system, whichever is less.",
    ),
    boolean("ballast.drain.leaders", "false").scope(PerBroker).used(
        "Shall this broker hand its leaderships to other in-sync replicas, and lead only what nobody else can? Acts as a dynamic setting of one broker alone, and ends when the broker starts again. `ballast cluster drain` sets it.",
    ),
    string("ballast.http.listener", "127.0.0.1:9644")
        .used("Address of metrics, health, the JSON API and the console, `host:port`, or `off`. `--http` sets it."),
    int("ballast.sync.interval.ms", "1000").at_least(0).used(
        "How often data that is not on disk yet is synced in the background. 0 leaves it to the system. Acknowledgements never wait for it.",
    ),
    boolean("ballast.validate.compressed", "false")
        .scope(Cluster)
        .used("Default of the topic setting of the same name."),
    boolean("test.faults.enable", "false")
        .used("May faults be injected over HTTP? For test environments only."),
];

pub(super) const OWN_TOPIC: &[Setting] = &[boolean("ballast.validate.compressed", "false")
    .scope(Topic)
    .synonyms(&[same("ballast.validate.compressed")])
    .used("Open compressed batches as they arrive and judge their records, as Kafka does. Costs CPU.")];
