//! DescribeConfigs (key 32), versions 1–4.
//!
//! Topics, this broker (by its own id; another one's is 42), the cluster's defaults (broker with an empty name), groups,
//! client metrics subscriptions and this broker's loggers. Every known setting has a row with value, source, type and
//! flags, and on request its synonyms and what it does (v3).

use std::collections::BTreeSet;
use std::future::{Ready, ready};

use ballast_core::controller::validate_topic_name;
use ballast_core::image::{ConfigResource, Image, ResourceKind};
use ballast_core::settings::{self, Row, Source};
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::describe_configs_response::{
    DescribeConfigsResourceResult, DescribeConfigsResult, DescribeConfigsSynonym,
};
use kafka_protocol::messages::{DescribeConfigsRequest, DescribeConfigsResponse};

use super::call::Ctx;
use super::code::{self, Code};
use super::config_changes::BROKER_LOGGER;
use super::view::text;
use crate::session::{Operation, Resource};

/// What the request wants to see of each row.
#[derive(Clone, Copy)]
struct Show {
    synonyms: bool,
    documentation: bool,
}

type Refused = (Code, String);

pub(super) fn handle(ctx: Ctx, request: DescribeConfigsRequest) -> Ready<DescribeConfigsResponse> {
    let image = ctx.node.metadata.image();
    let show = Show { synonyms: request.include_synonyms, documentation: request.include_documentation };
    // Whoever repeats itself is answered once: five bytes would ask for 37 KB each time.
    let mut seen = BTreeSet::new();
    let asked = request.resources.iter().filter(|resource| {
        seen.insert((resource.resource_type, &resource.resource_name, resource.configuration_keys.as_deref()))
    });
    let results = asked.map(|resource| {
        let result = DescribeConfigsResult::default()
            .with_resource_type(resource.resource_type)
            .with_resource_name(resource.resource_name.clone());
        match rows(&ctx, &image, resource) {
            Ok(rows) => {
                let wanted = |row: &Row| is_wanted(resource, &row.name);
                let rows = rows.iter().filter(|row| wanted(row)).map(|row| config_row(&ctx, show, row)).collect();
                result.with_error_message(Some(text(""))).with_configs(rows)
            }
            Err((error, words)) => result.with_error_code(error).with_error_message(Some(words.into())),
        }
    });
    ready(DescribeConfigsResponse::default().with_results(results.collect()))
}

/// No keys, or null, means all of them.
fn is_wanted(resource: &DescribeConfigsResource, name: &str) -> bool {
    let keys = resource.configuration_keys.as_deref().unwrap_or_default();
    keys.is_empty() || keys.iter().any(|key| key.as_str() == name)
}

fn rows(ctx: &Ctx, image: &Image, resource: &DescribeConfigsResource) -> Result<Vec<Row>, Refused> {
    let name = resource.resource_name.as_str();
    let live = &ctx.node.settings;
    let own = |resource: &ConfigResource| image.configs(resource).cloned();
    if resource.resource_type == BROKER_LOGGER {
        may(ctx, Resource::Cluster, code::CLUSTER_AUTHORIZATION_FAILED)?;
        return loggers(ctx, name);
    }
    match ResourceKind::from_id(resource.resource_type) {
        Some(ResourceKind::Topic) => {
            may(ctx, Resource::Topic(name), code::TOPIC_AUTHORIZATION_FAILED)?;
            validate_topic_name(name).map_err(|words| (code::INVALID_TOPIC_EXCEPTION, words))?;
            if image.topic(name).is_none() {
                return Err((code::UNKNOWN_TOPIC_OR_PARTITION, format!("The topic '{name}' does not exist.")));
            }
            let overrides = own(&ConfigResource::topic(name));
            Ok(settings::topic_rows(overrides.as_deref(), &live.layers(image)))
        }
        Some(ResourceKind::Broker) => {
            may(ctx, Resource::Cluster, code::CLUSTER_AUTHORIZATION_FAILED)?;
            if name.is_empty() {
                return Ok(settings::cluster_rows(own(&ConfigResource::cluster()).as_deref()));
            }
            own_id(ctx, name, " or empty string,")?;
            Ok(settings::broker_rows(&live.layers(image)))
        }
        Some(ResourceKind::Group) => {
            may(ctx, Resource::Group(name), code::GROUP_AUTHORIZATION_FAILED)?;
            if name.is_empty() {
                return Err((code::INVALID_REQUEST, "Group name must not be empty".to_owned()));
            }
            let overrides = own(&ConfigResource::group(name));
            Ok(settings::group_rows(overrides.as_deref(), &live.layers(image)))
        }
        Some(kind @ ResourceKind::ClientMetrics) => {
            may(ctx, Resource::Cluster, code::CLUSTER_AUTHORIZATION_FAILED)?;
            if name.is_empty() {
                return Err((code::INVALID_REQUEST, "Client metrics subscription name must not be empty".to_owned()));
            }
            let overrides = own(&ConfigResource { kind, name: name.to_owned() });
            Ok(settings::client_metrics_rows(overrides.as_deref()))
        }
        None => Err((code::INVALID_REQUEST, format!("Unsupported resource type: {}", resource.resource_type))),
    }
}

/// A broker's own settings and loggers are told by itself alone.
fn own_id(ctx: &Ctx, name: &str, expected: &str) -> Result<(), Refused> {
    let me = ctx.node.id;
    match name.parse::<i32>() {
        Ok(id) if id == me => Ok(()),
        Ok(id) => {
            Err((code::INVALID_REQUEST, format!("Unexpected broker id, expected {me}{expected} but received {id}")))
        }
        Err(_) => Err((code::INVALID_REQUEST, format!("Broker id must be an integer, but it is: {name}"))),
    }
}

fn loggers(ctx: &Ctx, name: &str) -> Result<Vec<Row>, Refused> {
    if name.is_empty() {
        return Err((code::INVALID_REQUEST, "Broker id must not be empty".to_owned()));
    }
    own_id(ctx, name, "")?;
    let rows = ctx.node.loggers.levels().into_iter().map(|(logger, level)| Row {
        name: logger,
        value: Some(level.name().to_owned()),
        source: Source::BrokerLogger,
        read_only: false,
        sensitive: false,
        kind: None,
        synonyms: Vec::new(),
        doc: "",
    });
    Ok(rows.collect())
}

fn may(ctx: &Ctx, resource: Resource<'_>, refused: Code) -> Result<(), Refused> {
    if ctx.may(Operation::DescribeConfigs, resource) {
        Ok(())
    } else {
        Err((refused, "Authorization failed.".to_owned()))
    }
}

fn config_row(ctx: &Ctx, show: Show, row: &Row) -> DescribeConfigsResourceResult {
    let synonyms = row.synonyms.iter().filter(|_| show.synonyms).map(|synonym| {
        let named = DescribeConfigsSynonym::default().with_name(text(&synonym.name));
        named.with_value(synonym.value.as_deref().map(text)).with_source(synonym.source.id())
    });
    let result = DescribeConfigsResourceResult::default()
        .with_name(text(&row.name))
        .with_value(row.value.as_deref().map(text))
        .with_read_only(row.read_only)
        .with_config_source(row.source.id())
        .with_is_sensitive(row.sensitive)
        .with_synonyms(synonyms.collect());
    if ctx.version < 3 {
        return result;
    }
    let documentation = (show.documentation && !row.doc.is_empty()).then(|| text(row.doc));
    result.with_config_type(row.kind_id()).with_documentation(documentation)
}
