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

const CONTROLLERS: (&str, &str) = ("controller.listener.names", "CONTROLLER");
const VOTERS: (&str, &str) = ("controller.quorum.voters", "1@a:9093,2@b:9093");

#[test]
fn a_dedicated_controller_has_no_listener_for_clients() {
    let roles = ("process.roles", "controller");
    let settings =
        resolve(&[roles, ("node.id", "2"), VOTERS, CONTROLLERS, ("listeners", "CONTROLLER://b:9093")]).expect("valid");
    assert_eq!(settings.node.roles, Roles { broker: false, controller: true });
    assert!(settings.node.listeners.is_empty() && settings.node.advertised.is_empty());
    assert_eq!(texts(&settings.node.controller_listeners), ["CONTROLLER://b:9093"]);
}

#[test]
fn a_broker_alone_gets_a_controller_listener_where_it_is_advertised() {
    let given = [
        ("process.roles", "broker"),
        ("node.id", "3"),
        VOTERS,
        CONTROLLERS,
        ("listeners", "PLAINTEXT://0.0.0.0:9092"),
        ("advertised.listeners", "PLAINTEXT://broker-3:9092"),
    ];
    let node = resolve(&given).expect("valid").node;
    assert_eq!(node.roles, Roles { broker: true, controller: false });
    assert_eq!(texts(&node.controller_listeners), ["CONTROLLER://0.0.0.0:0"]);
    assert_eq!(texts(&node.advertised_controllers), ["CONTROLLER://broker-3:0"]);
    assert_eq!(texts(&node.advertised), ["PLAINTEXT://broker-3:9092"], "clients are not told");
}

#[test]
fn roles_that_the_other_settings_contradict_are_refused_in_kafkas_words() {
    let (broker, controller, both) =
        (("process.roles", "broker"), ("process.roles", "controller"), ("process.roles", "broker,controller"));
    let listener = ("listeners", "CONTROLLER://a:9093");
    let (first, third) = (("node.id", "1"), ("node.id", "3"));
    for (given, why) in [
        (vec![both, first], "either controller.quorum.bootstrap.servers must contain"),
        (vec![("process.roles", "broker,broker"), first, VOTERS], "Duplicate role names found in `process.roles`"),
        (
            vec![controller, third, VOTERS, CONTROLLERS, listener],
            "the node id 3 must be included in the set of voters controller.quorum.voters=Set(1, 2)",
        ),
        (vec![both, third, VOTERS, CONTROLLERS], "the node id 3 must be included"),
        (vec![controller, first, VOTERS], "must contain at least one value appearing in the 'listeners'"),
        (
            vec![controller, first, VOTERS, listener, ("controller.listener.names", "CONTROLLER,OTHER")],
            "must only contain values appearing in the 'listeners'",
        ),
        (
            vec![controller, first, VOTERS, CONTROLLERS, ("listeners", "CONTROLLER://a:9093,PLAINTEXT://a:9092")],
            "must only contain KRaft controller listeners",
        ),
        (vec![broker, first, VOTERS, CONTROLLERS], "the node id 1 must not be included in the set of voters"),
        (vec![("controller.quorum.bootstrap.servers", "a")], "the port is missing"),
        (vec![("controller.quorum.bootstrap.servers", "0.0.0.0:1")], "nobody can be reached"),
    ] {
        let error = resolve(&given).expect_err(why);
        assert!(error.contains(why), "{error}");
    }
}
