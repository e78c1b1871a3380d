//! DescribeConfigs (key 32), AlterConfigs (33), IncrementalAlterConfigs (44) and ListConfigResources (74).
//!
//! Settings of a topic and of a broker are compared wholly: names, values, sources, synonyms, types, flags, and whether
//! there is a documentation.

use ballast_tests::raw::{now_ms, text};
use ballast_wire::frame::ApiKey;
use kafka_protocol::messages::alter_configs_request::{AlterConfigsResource, AlterableConfig as ReplacedConfig};
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::incremental_alter_configs_request::{AlterConfigsResource as Changed, AlterableConfig};
use kafka_protocol::messages::{
    AlterConfigsRequest, DescribeConfigsRequest, DescribeConfigsResponse, IncrementalAlterConfigsRequest,
    ListConfigResourcesRequest,
};

use crate::case::{Case, Meets, accepted, refused};
use crate::side::Side;

const DESCRIBE: ApiKey = ApiKey::DESCRIBE_CONFIGS;
const REPLACE: ApiKey = ApiKey::ALTER_CONFIGS;
const CHANGE: ApiKey = ApiKey::INCREMENTAL_ALTER_CONFIGS;
const LIST: ApiKey = ApiKey::LIST_CONFIG_RESOURCES;

const TOPIC: i8 = 2;
const BROKER: i8 = 4;
const BROKER_LOGGER: i8 = 8;
const CLIENT_METRICS: i8 = 16;
const GROUP: i8 = 32;

const SET: i8 = 0;
const DELETE: i8 = 1;
const APPEND: i8 = 2;
const SUBTRACT: i8 = 3;

const OWN_PLACE: &[(&str, &str)] = &[
    ("*[advertised.listeners].*", "each broker has its own ports"),
    ("*[listeners].*", "each broker has its own ports"),
    ("*[controller.quorum.voters].*", "each broker has its own ports"),
    ("*[log.dirs].*", "each broker has its own folder"),
    ("*[process.roles].*", "a node of Kafka must be told that it is broker and controller in one"),
    ("*[broker.id].*", "a node of Kafka must be told its id"),
    ("*[controller.listener.names].*", "a node of Kafka must be told where its controller listens"),
    ("*[inter.broker.listener.name].*", "a node of Kafka must be told where its controller listens"),
    ("*[listener.security.protocol.map].*", "a node of Kafka must be told where its controller listens"),
];

pub(crate) const CASES: &[Case] = &[
    accepted(DESCRIBE, "a topic, wholly", |side, v| {
        side.letters();
        describe(side, v, TOPIC, "letters", None);
    }),
    accepted(DESCRIBE, "a broker, wholly", |side, v| describe(side, v, BROKER, "1", None)).aside(OWN_PLACE),
    accepted(DESCRIBE, "the brokers' defaults", |side, v| describe(side, v, BROKER, "", None)),
    accepted(DESCRIBE, "a group, wholly", |side, v| describe(side, v, GROUP, "a-group", None)),
    accepted(DESCRIBE, "two settings of a topic", |side, v| {
        side.letters();
        describe(side, v, TOPIC, "letters", Some(&["retention.ms", "no.such.config", "cleanup.policy"]));
    }),
    accepted(DESCRIBE, "a topic with settings of its own", |side, v| {
        let topic =
            side.fresh(1, &[("retention.ms", "1000"), ("cleanup.policy", "compact"), ("segment.bytes", "2097152")]);
        describe(side, v, TOPIC, &topic.name, None);
    }),
    accepted(DESCRIBE, "without synonyms", |side, v| {
        side.letters();
        side.ask(v, &DescribeConfigsRequest::default().with_resources(vec![resource(TOPIC, "letters", None)]));
    }),
    refused(DESCRIBE, 3, "a topic that is not there", |side, v| describe(side, v, TOPIC, "absent", None)),
    refused(DESCRIBE, 17, "a name that no topic can have", |side, v| describe(side, v, TOPIC, "a b", None)),
    refused(DESCRIBE, 42, "another broker", |side, v| describe(side, v, BROKER, "9", None)),
    refused(DESCRIBE, 42, "a broker that is no number", |side, v| describe(side, v, BROKER, "one", None)),
    refused(DESCRIBE, 42, "a kind of resource that there is not", |side, v| describe(side, v, 77, "x", None)),
    accepted(DESCRIBE, "client metrics", |side, v| describe(side, v, CLIENT_METRICS, "x", None)).meets(Meets::Anything),
    refused(DESCRIBE, 42, "the loggers of another broker", |side, v| describe(side, v, BROKER_LOGGER, "9", None)),
    accepted(CHANGE, "a topic's setting", |side, v| topic(side, v, &[(SET, "retention.ms", Some("1000"))])),
    accepted(CHANGE, "a topic's setting is taken back", |side, v| topic(side, v, &[(DELETE, "segment.bytes", None)])),
    accepted(CHANGE, "one more in a list", |side, v| topic(side, v, &[(APPEND, "cleanup.policy", Some("delete"))])),
    accepted(CHANGE, "one less in a list", |side, v| topic(side, v, &[(SUBTRACT, "cleanup.policy", Some("compact"))])),
    accepted(CHANGE, "a rehearsal", |side, v| {
        let topic = prepared(side);
        let request = change(TOPIC, &topic, &[(SET, "retention.ms", Some("1000"))]).with_validate_only(true);
        side.ask(v, &request);
        describe(side, 4, TOPIC, &topic, Some(OWN));
    }),
    accepted(CHANGE, "a setting of every broker", |side, v| {
        change_and_show(side, v, BROKER, "", &[(SET, "log.retention.ms", Some("86400000"))], &["log.retention.ms"]);
        change_and_show(side, v, BROKER, "", &[(DELETE, "log.retention.ms", None)], &["log.retention.ms"]);
    }),
    accepted(CHANGE, "a setting of one broker", |side, v| {
        let wanted = ["log.cleaner.threads", "log.retention.ms"];
        change_and_show(side, v, BROKER, "1", &[(SET, "log.retention.ms", Some("86400000"))], &wanted);
        change_and_show(side, v, BROKER, "1", &[(DELETE, "log.retention.ms", None)], &wanted);
    }),
    accepted(CHANGE, "a group's setting", |side, v| {
        let wanted = ["consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"];
        change_and_show(side, v, GROUP, "g", &[(SET, "consumer.session.timeout.ms", Some("50000"))], &wanted);
        change_and_show(side, v, GROUP, "g", &[(DELETE, "consumer.session.timeout.ms", None)], &wanted);
    }),
    refused(CHANGE, 40, "a setting that there is not", |side, v| topic(side, v, &[(SET, "no.such.config", Some("1"))])),
    refused(CHANGE, 40, "a value that is no number", |side, v| topic(side, v, &[(SET, "retention.ms", Some("soon"))])),
    refused(CHANGE, 40, "a value out of its range", |side, v| topic(side, v, &[(SET, "segment.bytes", Some("1"))])),
    refused(CHANGE, 40, "one more where there is no list", |side, v| {
        topic(side, v, &[(APPEND, "retention.ms", Some("1"))]);
    }),
    refused(CHANGE, 42, "no value", |side, v| topic(side, v, &[(SET, "retention.ms", None)])),
    refused(CHANGE, 42, "one setting twice", |side, v| {
        topic(side, v, &[(SET, "retention.ms", Some("1")), (SET, "retention.ms", Some("2"))]);
    }),
    refused(CHANGE, -1, "an operation that there is not", |side, v| topic(side, v, &[(9, "retention.ms", Some("1"))])),
    refused(CHANGE, 3, "a topic that is not there", |side, v| {
        side.ask(v, &change(TOPIC, "absent", &[(SET, "retention.ms", Some("1000"))]));
    }),
    refused(CHANGE, 42, "another broker", |side, v| {
        side.ask(v, &change(BROKER, "9", &[(SET, "log.retention.ms", Some("1000"))]));
    }),
    refused(CHANGE, 42, "a broker that is no number", |side, v| {
        side.ask(v, &change(BROKER, "one", &[(SET, "log.retention.ms", Some("1000"))]));
    }),
    refused(CHANGE, 42, "a setting that needs a restart", |side, v| {
        side.ask(v, &change(BROKER, "1", &[(SET, "num.partitions", Some("3"))]));
    }),
    refused(CHANGE, 42, "a kind of resource that there is not", |side, v| {
        side.ask(v, &change(77, "x", &[(SET, "retention.ms", Some("1000"))]));
    }),
    refused(CHANGE, 42, "one resource twice", |side, v| {
        let topic = prepared(side);
        let mut request = change(TOPIC, &topic, &[(SET, "retention.ms", Some("1000"))]);
        request.resources.push(request.resources[0].clone());
        side.ask(v, &request);
    }),
    accepted(REPLACE, "a topic's settings", |side, v| replace_and_show(side, v, &[("retention.ms", Some("1000"))])),
    accepted(REPLACE, "a topic's settings by nothing", |side, v| replace_and_show(side, v, &[])),
    refused(REPLACE, 40, "a setting that there is not", |side, v| {
        let topic = prepared(side);
        side.ask(v, &replace(TOPIC, &topic, &[("no.such.config", Some("1"))]));
    }),
    refused(REPLACE, 40, "a value that is no number", |side, v| {
        let topic = prepared(side);
        side.ask(v, &replace(TOPIC, &topic, &[("retention.ms", Some("soon"))]));
    }),
    refused(REPLACE, 42, "no value", |side, v| {
        let topic = prepared(side);
        side.ask(v, &replace(TOPIC, &topic, &[("retention.ms", None)]));
    }),
    refused(REPLACE, 3, "a topic that is not there", |side, v| {
        side.ask(v, &replace(TOPIC, "absent", &[("retention.ms", Some("1000"))]));
    }),
    accepted(LIST, "client metrics", |side, v| {
        side.ask(v, &ListConfigResourcesRequest::default());
    }),
    accepted(LIST, "groups", |side, v| list(side, v, GROUP)).from(1),
    accepted(LIST, "brokers", |side, v| list(side, v, BROKER)).from(1),
    accepted(LIST, "loggers", |side, v| list(side, v, BROKER_LOGGER)).from(1),
    accepted(LIST, "topics", |side, v| list(side, v, TOPIC)).from(1),
    refused(LIST, 35, "a kind of resource that there is not", |side, v| list(side, v, 77)).from(1),
];

/// How long a change that was accepted may stay unseen, in ms, before what is seen is compared.
const SEEN_MS_MAX: i64 = 2000;

/// What the topic of [`prepared`] is compared by.
const OWN: &[&str] = &["retention.ms", "segment.bytes", "cleanup.policy"];

/// A topic with settings of its own.
fn prepared(side: &mut Side) -> String {
    side.fresh(1, &[("segment.bytes", "2097152"), ("cleanup.policy", "compact")]).name
}

fn resource(kind: i8, name: &str, keys: Option<&[&str]>) -> DescribeConfigsResource {
    let keys = keys.map(|keys| keys.iter().map(|key| text(key)).collect());
    DescribeConfigsResource::default()
        .with_resource_type(kind)
        .with_resource_name(text(name))
        .with_configuration_keys(keys)
}

fn describe(side: &mut Side, v: i16, kind: i8, name: &str, keys: Option<&[&str]>) {
    let request = DescribeConfigsRequest::default()
        .with_resources(vec![resource(kind, name, keys)])
        .with_include_synonyms(true)
        .with_include_documentation(v >= 3);
    side.ask(v, &request);
}

fn change(kind: i8, name: &str, changes: &[(i8, &str, Option<&str>)]) -> IncrementalAlterConfigsRequest {
    let configs = changes.iter().map(|(operation, key, value)| {
        AlterableConfig::default().with_config_operation(*operation).with_name(text(key)).with_value(value.map(text))
    });
    let resource = Changed::default().with_resource_type(kind).with_resource_name(text(name));
    IncrementalAlterConfigsRequest::default().with_resources(vec![resource.with_configs(configs.collect())])
}

/// Changes a topic with settings of its own and shows them.
fn topic(side: &mut Side, v: i16, changes: &[(i8, &str, Option<&str>)]) {
    let topic = prepared(side);
    change_and_show(side, v, TOPIC, &topic, changes, OWN);
}

/// Changes settings, and shows them once the change can be seen: Kafka answers before its broker has heard of it.
fn change_and_show(side: &mut Side, v: i16, kind: i8, name: &str, changes: &[(i8, &str, Option<&str>)], keys: &[&str]) {
    let before = shown(side, kind, name, keys);
    let answer = side.ask(v, &change(kind, name, changes));
    let accepted = answer.is_some_and(|answer| answer.responses.iter().all(|row| row.error_code == 0));
    show(side, kind, name, keys, accepted.then_some(before));
}

/// Lets settings be compared as they are, or as soon as they are no longer as `before`.
fn show(side: &mut Side, kind: i8, name: &str, keys: &[&str], before: Option<DescribeConfigsResponse>) {
    if let Some(before) = before {
        let deadline = now_ms() + SEEN_MS_MAX;
        while shown(side, kind, name, keys) == before && now_ms() < deadline {}
    }
    describe(side, 4, kind, name, Some(keys));
}

fn shown(side: &mut Side, kind: i8, name: &str, keys: &[&str]) -> DescribeConfigsResponse {
    let request = DescribeConfigsRequest::default().with_resources(vec![resource(kind, name, Some(keys))]);
    side.call(4, &request)
}

/// Replaces the settings of a topic with settings of its own, and shows them.
fn replace_and_show(side: &mut Side, v: i16, configs: &[(&str, Option<&str>)]) {
    let topic = prepared(side);
    let before = shown(side, TOPIC, &topic, OWN);
    side.ask(v, &replace(TOPIC, &topic, configs));
    show(side, TOPIC, &topic, OWN, Some(before));
}

fn replace(kind: i8, name: &str, configs: &[(&str, Option<&str>)]) -> AlterConfigsRequest {
    let configs =
        configs.iter().map(|(key, value)| ReplacedConfig::default().with_name(text(key)).with_value(value.map(text)));
    let resource = AlterConfigsResource::default().with_resource_type(kind).with_resource_name(text(name));
    AlterConfigsRequest::default().with_resources(vec![resource.with_configs(configs.collect())])
}

fn list(side: &mut Side, v: i16, kind: i8) {
    side.ask(v, &ListConfigResourcesRequest::default().with_resource_types(vec![kind]));
}
