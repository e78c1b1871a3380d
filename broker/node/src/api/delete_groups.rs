//! DeleteGroups (key 42), versions 0–2.
//!
//! A row per group. Only groups without members are deleted (68), with everything that they have committed.

use ballast_core::group::{Request, Response};
use kafka_protocol::messages::delete_groups_response::DeletableGroupResult;
use kafka_protocol::messages::{DeleteGroupsRequest, DeleteGroupsResponse};

use super::call::Ctx;
use super::code::{self, Code};
use super::group;
use crate::session::Operation;

pub(super) async fn handle(ctx: Ctx, request: DeleteGroupsRequest) -> DeleteGroupsResponse {
    let mut results = Vec::new();
    for id in request.groups_names {
        let error = delete(&ctx, &id).await.err().unwrap_or(code::NONE);
        results.push(DeletableGroupResult::default().with_group_id(id).with_error_code(error));
    }
    DeleteGroupsResponse::default().with_results(results)
}

async fn delete(ctx: &Ctx, id: &str) -> Result<(), Code> {
    group::check(ctx, Operation::Delete, id)?;
    match group::ask(ctx, id, Request::DeleteGroup { group: id.into() }).await? {
        Response::DeleteGroup(outcome) => outcome.map_err(|error| code::of_group(&error)),
        other => unreachable!("a deletion was answered with {other:?}"),
    }
}
