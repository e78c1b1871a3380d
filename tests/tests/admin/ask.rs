//! One question about configs and its answer, in plain types.

use ballast_tests::raw::{Connection, text};
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::{
    AlterConfigsRequest, DescribeConfigsRequest, IncrementalAlterConfigsRequest, MetadataRequest,
    alter_configs_request, incremental_alter_configs_request,
};

pub(crate) const TOPIC: i8 = 2;
pub(crate) const BROKER: i8 = 4;
pub(crate) const BROKER_LOGGER: i8 = 8;
pub(crate) const CLIENT_METRICS: i8 = 16;
pub(crate) const GROUP: i8 = 32;

pub(crate) const SET: i8 = 0;
pub(crate) const DELETE: i8 = 1;
pub(crate) const APPEND: i8 = 2;
pub(crate) const SUBTRACT: i8 = 3;

pub(crate) const DYNAMIC_TOPIC: i8 = 1;
pub(crate) const DYNAMIC_BROKER: i8 = 2;
pub(crate) const DYNAMIC_DEFAULT_BROKER: i8 = 3;
pub(crate) const STATIC_BROKER: i8 = 4;
pub(crate) const DEFAULT: i8 = 5;
pub(crate) const DYNAMIC_BROKER_LOGGER: i8 = 6;
pub(crate) const DYNAMIC_CLIENT_METRICS: i8 = 7;
pub(crate) const DYNAMIC_GROUP: i8 = 8;

/// A key, what to do with it, and the value.
pub(crate) type Change<'a> = (&'a str, i8, Option<&'a str>);

/// An error code and its words.
pub(crate) type Told = (i16, Option<String>);

/// One row of DescribeConfigs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) value: Option<String>,
    pub(crate) source: i8,
    pub(crate) read_only: bool,
    pub(crate) sensitive: bool,
    pub(crate) kind: i8,
    /// Name, value and source of each.
    pub(crate) synonyms: Vec<(String, Option<String>, i8)>,
    pub(crate) documentation: Option<String>,
}

/// The id of the node that a connection leads to.
pub(crate) fn node(connection: &mut Connection) -> String {
    let brokers = connection.call(12, &MetadataRequest::default().with_topics(Some(vec![]))).brokers;
    brokers[0].node_id.0.to_string()
}

/// Asks for changes of several resources: a row for each.
pub(crate) fn change_all(
    connection: &mut Connection,
    resources: &[(i8, &str, &[Change<'_>])],
    validate_only: bool,
) -> Vec<(i8, String, Told)> {
    let resources = resources.iter().map(|(kind, name, changes)| {
        let changes = changes.iter().map(|(key, op, value)| {
            incremental_alter_configs_request::AlterableConfig::default()
                .with_name(text(key))
                .with_config_operation(*op)
                .with_value(value.map(text))
        });
        incremental_alter_configs_request::AlterConfigsResource::default()
            .with_resource_type(*kind)
            .with_resource_name(text(name))
            .with_configs(changes.collect())
    });
    let request = IncrementalAlterConfigsRequest::default().with_resources(resources.collect());
    let rows = connection.call(1, &request.with_validate_only(validate_only)).responses.into_iter();
    rows.map(|row| {
        let told = (row.error_code, row.error_message.map(|words| words.to_string()));
        (row.resource_type, row.resource_name.to_string(), told)
    })
    .collect()
}

/// Changes one resource.
pub(crate) fn change(connection: &mut Connection, kind: i8, name: &str, changes: &[Change<'_>]) -> Told {
    change_all(connection, &[(kind, name, changes)], false).remove(0).2
}

/// Changes one key, which must succeed.
pub(crate) fn set(connection: &mut Connection, kind: i8, name: &str, key: &str, value: Option<&str>) {
    let op = if value.is_some() { SET } else { DELETE };
    assert_eq!(change(connection, kind, name, &[(key, op, value)]), (0, None), "{key}={value:?} of {kind} {name:?}");
}

/// Replaces all configs of one resource, the old way.
pub(crate) fn replace(connection: &mut Connection, kind: i8, name: &str, configs: &[(&str, Option<&str>)]) -> Told {
    let configs = configs.iter().map(|(key, value)| {
        alter_configs_request::AlterableConfig::default().with_name(text(key)).with_value(value.map(text))
    });
    let resource = alter_configs_request::AlterConfigsResource::default()
        .with_resource_type(kind)
        .with_resource_name(text(name))
        .with_configs(configs.collect());
    let row = connection.call(2, &AlterConfigsRequest::default().with_resources(vec![resource])).responses.remove(0);
    (row.error_code, row.error_message.map(|words| words.to_string()))
}

/// Describes some keys of a resource, or all of them.
pub(crate) fn describe(
    connection: &mut Connection,
    kind: i8,
    name: &str,
    keys: &[&str],
) -> Result<Vec<(String, Row)>, Told> {
    let keys = keys.iter().map(|key| text(key)).collect();
    let resource = DescribeConfigsResource::default()
        .with_resource_type(kind)
        .with_resource_name(text(name))
        .with_configuration_keys(Some(keys));
    let request = DescribeConfigsRequest::default().with_include_synonyms(true).with_include_documentation(true);
    let result = connection.call(4, &request.with_resources(vec![resource])).results.remove(0);
    let words = result.error_message.map(|words| words.to_string());
    if result.error_code != 0 {
        return Err((result.error_code, words));
    }
    assert_eq!(words.as_deref(), Some(""), "a success has an empty message");
    let rows = result.configs.into_iter().map(|row| {
        let synonyms = row.synonyms.into_iter();
        let synonyms = synonyms.map(|s| (s.name.to_string(), s.value.map(|value| value.to_string()), s.source));
        let shown = Row {
            value: row.value.map(|value| value.to_string()),
            source: row.config_source,
            read_only: row.read_only,
            sensitive: row.is_sensitive,
            kind: row.config_type,
            synonyms: synonyms.collect(),
            documentation: row.documentation.map(|words| words.to_string()),
        };
        (row.name.to_string(), shown)
    });
    Ok(rows.collect())
}

/// The row of one key.
pub(crate) fn row(connection: &mut Connection, kind: i8, name: &str, key: &str) -> Row {
    let mut rows = describe(connection, kind, name, &[key]).unwrap_or_else(|told| panic!("{kind} {name:?}: {told:?}"));
    assert_eq!(rows.len(), 1, "{key} of {kind} {name:?}: {rows:?}");
    rows.remove(0).1
}

/// Value and source of one key; `None` where it is not listed.
pub(crate) fn value(connection: &mut Connection, kind: i8, name: &str, key: &str) -> Option<(Option<String>, i8)> {
    let rows = describe(connection, kind, name, &[key]).unwrap_or_else(|told| panic!("{kind} {name:?}: {told:?}"));
    rows.into_iter().next().map(|(_, row)| (row.value, row.source))
}
