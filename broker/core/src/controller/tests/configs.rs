//! IncrementalAlterConfigs and AlterConfigs.

use ballast_wire::NO_LEADER;

use super::rig::Rig;
use crate::controller::{ConfigChange, ConfigError, ConfigOp, Request, Response};
use crate::image::{ConfigResource, ResourceKind};

fn alter(rig: &mut Rig, resource: ConfigResource, changes: &[(&str, ConfigOp, Option<&str>)]) -> i16 {
    let change = |(key, op, value): &(&str, ConfigOp, Option<&str>)| ConfigChange {
        key: (*key).to_owned(),
        op: *op,
        value: value.map(str::to_owned),
    };
    let resources = vec![(resource, changes.iter().map(change).collect())];
    code(rig.ask(Request::IncrementalAlterConfigs { resources, validate_only: false }))
}

fn code(response: Response) -> i16 {
    match response {
        Response::AlterConfigs(rows) => rows[0].1.as_ref().map_or_else(ConfigError::code, |()| 0),
        other => panic!("{other:?}"),
    }
}

fn value(rig: &Rig, resource: &ConfigResource, key: &str) -> Option<String> {
    rig.image.configs(resource)?.get(key).cloned()
}

use ConfigOp::{Append, Delete, Set, Subtract};

#[test]
fn values_are_set_deleted_appended_and_subtracted() {
    let mut rig = Rig::with_brokers(false, &[1], &[]);
    rig.topic("t", &[&[1]]);
    let t = ConfigResource::topic("t");
    let policy = |rig: &Rig| value(rig, &ConfigResource::topic("t"), "cleanup.policy");
    assert_eq!(alter(&mut rig, t.clone(), &[("cleanup.policy", Append, Some("compact"))]), 0);
    assert_eq!(policy(&rig).as_deref(), Some("delete,compact"), "what is appended to is the default");
    assert_eq!(alter(&mut rig, t.clone(), &[("cleanup.policy", Append, Some("compact"))]), 0);
    assert_eq!(policy(&rig).as_deref(), Some("delete,compact"));
    assert_eq!(alter(&mut rig, t.clone(), &[("cleanup.policy", Subtract, Some("delete,compact"))]), 0);
    assert_eq!(policy(&rig).as_deref(), Some(""));
    assert_eq!(alter(&mut rig, t.clone(), &[("cleanup.policy", Delete, None), ("retention.ms", Set, Some("1"))]), 0);
    assert_eq!((policy(&rig), value(&rig, &t, "retention.ms").as_deref()), (None, Some("1")));
    assert_eq!(alter(&mut rig, t.clone(), &[("no.such", Delete, None)]), 0, "deleting what is not there succeeds");
}

#[test]
fn changes_that_cannot_be_are_refused_as_in_kafka() {
    let mut rig = Rig::with_brokers(false, &[1], &[]);
    rig.topic("t", &[&[1]]);
    let t = || ConfigResource::topic("t");
    let broker = |name: &str| ConfigResource { kind: ResourceKind::Broker, name: name.to_owned() };
    let metrics = |name: &str| ConfigResource { kind: ResourceKind::ClientMetrics, name: name.to_owned() };
    let long = "0:1,".repeat(8_192);
    for (code, resource, change) in [
        (42, t(), ("leader.replication.throttled.replicas", Set, Some(long.as_str()))),
        (40, t(), ("no.such", Set, Some("1"))),
        (40, t(), ("retention.ms", Set, Some("x"))),
        (42, t(), ("retention.ms", Set, None)),
        (40, t(), ("retention.ms", Append, Some("1"))),
        (3, ConfigResource::topic("none"), ("retention.ms", Set, Some("1"))),
        (17, ConfigResource::topic("a/b"), ("retention.ms", Set, Some("1"))),
        (42, broker("x"), ("log.retention.ms", Set, Some("1"))),
        (42, broker(""), ("log.retention.ms", Set, Some("x"))),
        (42, broker("1"), ("num.partitions", Set, Some("1"))),
        (42, broker(""), ("ssl.keystore.location", Set, Some("/k"))),
        (42, ConfigResource::topic(""), ("retention.ms", Set, Some("1"))),
        (42, broker("1"), ("num.io.threads", Set, Some("17"))),
        (42, broker("1"), ("num.io.threads", Set, Some("3"))),
        (0, broker("1"), ("num.io.threads", Set, Some("16"))),
        (0, broker("1"), ("num.io.threads", Set, Some("32"))),
        (42, broker("1"), ("log.cleaner.dedupe.buffer.size", Set, Some("1000"))),
        (42, broker("1"), ("max.connections.per.ip.overrides", Set, Some("somewhere:5"))),
        (0, broker("1"), ("max.connections.per.ip.overrides", Set, Some("localhost:5,[::2]:6"))),
        (40, broker("1"), ("log.segment.bytes", Append, Some("5"))),
        (0, metrics("m"), ("interval.ms", Set, Some("1000"))),
        (0, metrics("m"), ("match", Set, Some("client_id=a.*,client_source_port=1"))),
        (40, metrics("m"), ("match", Set, Some("colour=red"))),
        (40, metrics("m"), ("metrics", Append, Some("x."))),
        (42, metrics("m"), ("interval.ms", Set, Some("1"))),
        (42, metrics("m"), ("no.such", Set, Some("1"))),
        (42, metrics(""), ("interval.ms", Set, Some("1000"))),
        (0, broker(""), ("what.is.this", Set, Some("1"))),
        (0, broker("1"), ("log.retention.ms", Set, Some("1"))),
        (42, ConfigResource::group(""), ("consumer.session.timeout.ms", Set, Some("1"))),
        (40, ConfigResource::group("g"), ("no.such", Set, Some("1"))),
        (0, ConfigResource::group("g"), ("consumer.session.timeout.ms", Set, Some("50000"))),
    ] {
        assert_eq!(alter(&mut rig, resource.clone(), &[change]), code, "{resource:?} {change:?}");
    }
    let twice = [("retention.ms", Set, Some("1")), ("retention.ms", Delete, None)];
    assert_eq!(alter(&mut rig, t(), &twice), 42);
    let resources = vec![(t(), vec![]), (t(), vec![])];
    let Response::AlterConfigs(rows) = rig.ask(Request::IncrementalAlterConfigs { resources, validate_only: false })
    else {
        panic!("no answer")
    };
    assert!(rows.iter().all(|(_, result)| result.as_ref().is_err_and(|error| error.code() == 42)), "{rows:?}");
}

#[test]
fn the_older_request_replaces_everything() {
    let mut rig = Rig::with_brokers(false, &[1], &[]);
    rig.topic("t", &[&[1]]);
    let t = ConfigResource::topic("t");
    alter(&mut rig, t.clone(), &[("retention.ms", Set, Some("1")), ("segment.ms", Set, Some("2"))]);
    let entries = vec![("segment.ms".to_owned(), Some("3".to_owned()))];
    assert_eq!(code(rig.ask(Request::AlterConfigs { resources: vec![(t.clone(), entries)], validate_only: false })), 0);
    let configs: Vec<(String, String)> =
        rig.image.configs(&t).expect("one is left").iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    assert_eq!(configs, [("segment.ms".to_owned(), "3".to_owned())]);
}

//@ KIP-966: with eligible leader replicas, min.insync.replicas is the same on every broker.
#[test]
fn with_elr_the_minimum_is_the_clusters() {
    let mut rig = Rig::with_brokers(true, &[1], &[]);
    let change = ("min.insync.replicas", Set, Some("2"));
    assert_eq!(alter(&mut rig, ConfigResource::broker(1), &[change]), 40);
    assert_eq!(alter(&mut rig, ConfigResource::cluster(), &[("min.insync.replicas", Delete, None)]), 40);
    assert_eq!(alter(&mut rig, ConfigResource::cluster(), &[change]), 0);
}

#[test]
fn a_lower_minimum_empties_the_elr() {
    let mut rig = Rig::with_brokers(true, &[1, 2], &[("min.insync.replicas", "2")]);
    let topic = rig.topic("t", &[&[1, 2]]);
    rig.fence(2);
    assert_eq!((rig.partition(topic, 0).isr, rig.partition(topic, 0).elr), (vec![1], vec![2]));
    assert_eq!(alter(&mut rig, ConfigResource::topic("t"), &[("min.insync.replicas", Set, Some("1"))]), 0);
    assert_eq!(rig.partition(topic, 0).elr, []);
}

#[test]
fn leave_to_elect_uncleanly_takes_effect_at_once() {
    let mut rig = Rig::with_brokers(false, &[1, 2], &[]);
    let topic = rig.topic("t", &[&[1, 2]]);
    rig.ask_isr(topic, 0, &[1]).expect("2 falls behind");
    rig.fence(1);
    assert_eq!(rig.partition(topic, 0).leader, NO_LEADER);
    assert_eq!(
        alter(&mut rig, ConfigResource::topic("t"), &[("unclean.leader.election.enable", Set, Some("true"))]),
        0
    );
    assert_eq!(rig.partition(topic, 0).leader, 2);
}
