//! AlterConfigs (key 33), versions 0–2.
//!
//! Replaces all configs of each resource, as old clients do it: what a request does not name goes back to its default.
//! Resources as in IncrementalAlterConfigs, but for loggers (42, as in Kafka).

use ballast_core::controller::{ConfigEntry, Request};
use ballast_core::image::ConfigResource;
use kafka_protocol::messages::alter_configs_request::AlterConfigsResource;
use kafka_protocol::messages::alter_configs_response::AlterConfigsResourceResponse;
use kafka_protocol::messages::{AlterConfigsRequest, AlterConfigsResponse};

use super::call::Ctx;
use super::config_changes::{self, Named, Row, Step, Target};
use super::forward;

/// Version in which a request is sent on to the controller.
const NEWEST: i16 = 2;

pub(super) async fn handle(ctx: Ctx, request: AlterConfigsRequest) -> AlterConfigsResponse {
    let validate_only = request.validate_only;
    let sent = request.resources.clone();
    let resources = request.resources.into_iter().map(|resource| (named(&resource), resource)).collect();
    let judge = |target, resource: AlterConfigsResource| match target {
        Target::Metadata(key) => Ok(Step::Ask(key, entries(&resource))),
        Target::Loggers => Err(config_changes::unknown_type(resource.resource_type)),
    };
    let ask = |resources: Vec<(ConfigResource, Vec<ConfigEntry>)>| Request::AlterConfigs { resources, validate_only };
    let pass_on = async |asked: &[usize]| {
        let some = asked.iter().map(|at| sent[*at].clone()).collect();
        let request = AlterConfigsRequest::default().with_resources(some).with_validate_only(validate_only);
        let answer = forward::ask(&ctx, NEWEST, &request).await?;
        let rows = answer.responses.into_iter();
        Some(rows.map(|row| config_changes::result(row.error_code, row.error_message)).collect())
    };
    let rows = config_changes::change(&ctx, resources, judge, ask, pass_on).await;
    AlterConfigsResponse::default().with_responses(rows.into_iter().map(row).collect())
}

fn named(resource: &AlterConfigsResource) -> Named {
    Named { kind: resource.resource_type, name: resource.resource_name.clone() }
}

fn entries(resource: &AlterConfigsResource) -> Vec<ConfigEntry> {
    let entries = resource.configs.iter();
    entries.map(|config| (config.name.to_string(), config.value.as_ref().map(ToString::to_string))).collect()
}

fn row((resource, result): Row) -> AlterConfigsResourceResponse {
    let row = AlterConfigsResourceResponse::default().with_resource_type(resource.kind);
    let row = row.with_resource_name(resource.name);
    match result {
        Ok(()) => row.with_error_message(None),
        Err(refused) => row.with_error_code(refused.code).with_error_message(refused.words.map(Into::into)),
    }
}
