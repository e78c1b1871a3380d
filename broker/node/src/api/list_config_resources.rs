//! ListConfigResources (key 74), versions 0–1.
//!
//! What there is to describe the configs of: v0 client metrics subscriptions, v1 any of topics, brokers, their loggers,
//! client metrics and groups that have configs of their own; all of them if none is named. An unknown type is 35.

use std::future::{Ready, ready};

use ballast_core::image::{Image, ResourceKind};
use kafka_protocol::messages::list_config_resources_response::ConfigResource;
use kafka_protocol::messages::{ListConfigResourcesRequest, ListConfigResourcesResponse};

use super::call::Ctx;
use super::code;
use super::config_changes::BROKER_LOGGER;
use super::view::text;
use crate::session::{Operation, Resource};

pub(super) fn handle(ctx: Ctx, request: ListConfigResourcesRequest) -> Ready<ListConfigResourcesResponse> {
    let response = ListConfigResourcesResponse::default();
    if !ctx.may(Operation::DescribeConfigs, Resource::Cluster) {
        return ready(response.with_error_code(code::CLUSTER_AUTHORIZATION_FAILED));
    }
    let every = || ResourceKind::ALL.map(ResourceKind::id).into_iter().chain([BROKER_LOGGER]);
    let asked = match ctx.version {
        0 => vec![ResourceKind::ClientMetrics.id()],
        _ if request.resource_types.is_empty() => every().collect(),
        _ => request.resource_types,
    };
    if !asked.iter().all(|kind| every().any(|known| known == *kind)) {
        return ready(response.with_error_code(code::UNSUPPORTED_VERSION));
    }
    let image = ctx.node.metadata.image();
    let kinds = every().filter(|kind| asked.contains(kind));
    let rows = kinds.flat_map(|kind| names(&image, kind).into_iter().map(move |name| row(ctx.version, kind, &name)));
    ready(response.with_config_resources(rows.collect()))
}

fn names(image: &Image, kind: i8) -> Vec<String> {
    match ResourceKind::from_id(kind) {
        Some(ResourceKind::Topic) => image.topics().map(|topic| topic.name.to_string()).collect(),
        // A broker, or its loggers.
        Some(ResourceKind::Broker) | None => image.brokers().map(|broker| broker.id.to_string()).collect(),
        Some(kind @ (ResourceKind::ClientMetrics | ResourceKind::Group)) => {
            let own = image.all_configs().filter(|(resource, _)| resource.kind == kind);
            own.map(|(resource, _)| resource.name.clone()).collect()
        }
    }
}

fn row(version: i16, kind: i8, name: &str) -> ConfigResource {
    let row = ConfigResource::default().with_resource_name(text(name));
    if version >= 1 { row.with_resource_type(kind) } else { row }
}
