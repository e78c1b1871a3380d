//! IncrementalAlterConfigs (key 44), versions 0–1.
//!
//! Sets, deletes, appends to and subtracts from single configs of topics, brokers, the cluster (a broker with an empty
//! name), groups and client metrics, and the levels of this broker's loggers. `validate_only` checks everything and changes
//! nothing. Resources stand or fall alone; all changes of one resource are made or none. An answer means that the change is
//! in force on this broker.

use ballast_core::controller::{ConfigChange, ConfigOp, Request};
use ballast_core::image::ConfigResource;
use kafka_protocol::messages::incremental_alter_configs_request::AlterConfigsResource;
use kafka_protocol::messages::incremental_alter_configs_response::AlterConfigsResourceResponse;
use kafka_protocol::messages::{IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse};

use super::call::Ctx;
use super::config_changes::{self, Named, Refused, Row, Step, Target};
use super::{code, forward};
use crate::loggers::LevelChange;

/// Version in which a request is sent on to the controller.
const NEWEST: i16 = 1;

pub(super) async fn handle(ctx: Ctx, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse {
    let validate_only = request.validate_only;
    let resources: Vec<_> = request.resources.into_iter().map(|resource| (named(&resource), resource)).collect();
    let (node, sent) = (&ctx.node, resources.iter().map(|(_, resource)| resource.clone()).collect::<Vec<_>>());
    let judge = |target, resource: AlterConfigsResource| {
        let changes = changes(&resource)?;
        match target {
            Target::Metadata(key) => Ok(Step::Ask(key, changes)),
            Target::Loggers => match node.loggers.change(&level_changes(&changes), validate_only) {
                Ok(()) => Ok(Step::Done),
                Err(error) => Err(Refused::new(code::of_loggers(&error), error.to_string())),
            },
        }
    };
    let ask = |resources: Vec<(ConfigResource, Vec<ConfigChange>)>| Request::IncrementalAlterConfigs {
        resources,
        validate_only,
    };
    let pass_on = async |asked: &[usize]| {
        let some = asked.iter().map(|at| sent[*at].clone()).collect();
        let request = IncrementalAlterConfigsRequest::default().with_resources(some).with_validate_only(validate_only);
        let answer = forward::ask(&ctx, NEWEST, &request).await?;
        let rows = answer.responses.into_iter();
        Some(rows.map(|row| config_changes::result(row.error_code, row.error_message)).collect())
    };
    let rows = config_changes::change(&ctx, resources, judge, ask, pass_on).await;
    IncrementalAlterConfigsResponse::default().with_responses(rows.into_iter().map(row).collect())
}

fn named(resource: &AlterConfigsResource) -> Named {
    Named { kind: resource.resource_type, name: resource.resource_name.clone() }
}

fn changes(resource: &AlterConfigsResource) -> Result<Vec<ConfigChange>, Refused> {
    let changes = resource.configs.iter().map(|config| {
        // Kafka fails on a number that it does not know, and says no more than that.
        let op = ConfigOp::from_id(config.config_operation).ok_or(Refused::silent(code::UNKNOWN_SERVER_ERROR))?;
        Ok(ConfigChange { key: config.name.to_string(), op, value: config.value.as_ref().map(ToString::to_string) })
    });
    changes.collect()
}

fn level_changes(changes: &[ConfigChange]) -> Vec<LevelChange<'_>> {
    let changes = changes.iter();
    changes.map(|change| LevelChange { logger: &change.key, op: change.op, level: change.value.as_deref() }).collect()
}

fn row((resource, result): Row) -> AlterConfigsResourceResponse {
    let row = AlterConfigsResourceResponse::default().with_resource_type(resource.kind);
    let row = row.with_resource_name(resource.name);
    match result {
        Ok(()) => row.with_error_message(None),
        Err(refused) => row.with_error_code(refused.code).with_error_message(refused.words.map(Into::into)),
    }
}
