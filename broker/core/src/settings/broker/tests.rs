//! A broker's settings, from properties to addresses and numbers.

use super::*;
use crate::settings::Statics;

fn resolve(given: &[(&str, &str)]) -> Result<BrokerSettings, String> {
    let pairs = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let (statics, _) = Statics::merge(pairs).expect("the values are valid one by one");
    let layers = Layers { broker: None, cluster: None, statics: &statics };
    BrokerSettings::resolve(&layers).map_err(|error| error.to_string())
}

fn texts(endpoints: &[Endpoint]) -> Vec<String> {
    endpoints.iter().map(ToString::to_string).collect()
}

#[test]
fn defaults_resolve_and_are_those_of_kafka() {
    let settings = resolve(&[]).expect("defaults are valid");
    assert_eq!(texts(&settings.node.listeners), ["PLAINTEXT://:9092"]);
    assert_eq!(texts(&settings.node.advertised), ["PLAINTEXT://:9092"]);
    assert_eq!(settings.node.inter_broker_listener, "PLAINTEXT");
    assert_eq!(settings.node.log_dirs, ["/tmp/kafka-logs"]);
    assert_eq!(settings.node.node_id, None);
    assert_eq!(settings.membership.session_timeout_ms, 9_000);
    assert_eq!(settings.membership.leader_imbalance_check_interval_ms, 300_000);
    assert_eq!(settings.groups.offsets_retention_ms, 7 * 24 * 3_600_000);
    assert_eq!(settings.log.disk_reserve_bytes, None);
    assert_eq!(settings.replication.leader_throttled_rate_bytes_per_second, i64::MAX);
}

#[test]
fn listeners_of_the_controller_are_kept_apart_and_never_advertised() {
    let settings = resolve(&[
        ("listeners", "INTERNAL://10.0.0.1:9093,EXTERNAL://:9092,CONTROLLER://10.0.0.1:9094"),
        ("advertised.listeners", "INTERNAL://10.0.0.1:9093,EXTERNAL://broker.example:19092"),
        ("listener.security.protocol.map", "INTERNAL:PLAINTEXT,EXTERNAL:SASL_SSL"),
        ("controller.listener.names", "controller"),
        ("inter.broker.listener.name", "INTERNAL"),
        ("controller.quorum.voters", "1@10.0.0.1:9094"),
    ])
    .expect("valid");
    assert_eq!(texts(&settings.node.controller_listeners), ["CONTROLLER://10.0.0.1:9094"]);
    assert_eq!(texts(&settings.node.advertised), ["INTERNAL://10.0.0.1:9093", "EXTERNAL://broker.example:19092"]);
    assert_eq!(settings.node.listeners[1].protocol, SecurityProtocol::SaslSsl);
    assert_eq!(settings.node.inter_broker_listener, "INTERNAL");
}

#[test]
fn an_address_for_all_interfaces_is_never_advertised() {
    for host in ["0.0.0.0", "[::]"] {
        let error = resolve(&[("listeners", &format!("PLAINTEXT://{host}:9092"))]).expect_err(host);
        assert!(error.contains("nonroutable meta-address"), "{error}");
        let listeners = format!("PLAINTEXT://{host}:9092");
        let fine = resolve(&[("listeners", &listeners), ("advertised.listeners", "PLAINTEXT://broker-1:0")]);
        assert_eq!(texts(&fine.expect("an own address is told").node.advertised), ["PLAINTEXT://broker-1:0"]);
    }
}

#[test]
fn addresses_that_contradict_each_other_are_refused() {
    for (given, why) in [
        (vec![("listeners", "PLAINTEXT://a:1,SSL://a:1")], "different port"),
        (vec![("advertised.listeners", "SSL://a:1")], "none of listeners"),
        (vec![("inter.broker.listener.name", "INTERNAL")], "not advertised"),
        (vec![("node.id", "1"), ("broker.id", "2")], "same value"),
        (
            vec![("listeners", "CONTROLLER://:1"), ("controller.listener.names", "CONTROLLER")],
            "no listener for clients",
        ),
        (vec![("max.connections.per.ip.overrides", "a:b")], "expected address:limit"),
        (vec![("listener.security.protocol.map", "A:B")], "the protocol is none of"),
    ] {
        let error = resolve(&given).expect_err(why);
        assert!(error.contains(why), "{error}");
    }
    let both_families = "PLAINTEXT://127.0.0.1:9092,SSL://[::1]:9092";
    assert!(resolve(&[("listeners", both_families)]).is_ok(), "one port on two address families");
}
