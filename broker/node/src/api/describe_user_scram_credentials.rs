//! DescribeUserScramCredentials (key 50), version 0.
//!
//! No user has SCRAM credentials here: all users are none (an empty answer), and a user that is named is not found (91).

use std::collections::BTreeSet;
use std::future::{Ready, ready};

use kafka_protocol::messages::describe_user_scram_credentials_response::DescribeUserScramCredentialsResult;
use kafka_protocol::messages::{DescribeUserScramCredentialsRequest, DescribeUserScramCredentialsResponse};

use super::call::Ctx;
use super::code;
use super::view::text;
use crate::session::{Operation, Resource};

pub(super) fn handle(
    ctx: Ctx,
    request: DescribeUserScramCredentialsRequest,
) -> Ready<DescribeUserScramCredentialsResponse> {
    let response = DescribeUserScramCredentialsResponse::default();
    if !ctx.may(Operation::Describe, Resource::Cluster) {
        let response = response.with_error_code(code::CLUSTER_AUTHORIZATION_FAILED);
        return ready(response.with_error_message(Some(text("Authorization failed."))));
    }
    let users = request.users.unwrap_or_default();
    let names: BTreeSet<&str> = users.iter().map(|user| user.name.as_str()).collect();
    let rows = names.into_iter().map(|name| {
        let comes_twice = users.iter().filter(|user| user.name.as_str() == name).count() > 1;
        let (error, words) = if comes_twice {
            let words = "Cannot describe SCRAM credentials for the same user twice in a single request";
            (code::DUPLICATE_RESOURCE, words)
        } else {
            (code::RESOURCE_NOT_FOUND, "Attempt to describe a user credential that does not exist")
        };
        let row = DescribeUserScramCredentialsResult::default().with_user(text(name)).with_error_code(error);
        row.with_error_message(Some(text(&format!("{words}: {name}"))))
    });
    ready(response.with_error_message(Some(text(""))).with_results(rows.collect()))
}
