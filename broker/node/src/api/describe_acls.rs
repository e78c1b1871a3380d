//! DescribeAcls (key 29), versions 1–3.
//!
//! There are no access lists: SECURITY_DISABLED (54), which consoles and tools expect of a broker without an authorizer.

use std::future::{Ready, ready};

use kafka_protocol::messages::{DescribeAclsRequest, DescribeAclsResponse};

use super::call::Ctx;
use super::code;
use super::view::text;
use crate::session::{Operation, Resource};

pub(super) fn handle(ctx: Ctx, _: DescribeAclsRequest) -> Ready<DescribeAclsResponse> {
    let (error, words) = if ctx.may(Operation::Describe, Resource::Cluster) {
        (code::SECURITY_DISABLED, "No Authorizer is configured on the broker")
    } else {
        (code::CLUSTER_AUTHORIZATION_FAILED, "Authorization failed.")
    };
    ready(DescribeAclsResponse::default().with_error_code(error).with_error_message(Some(text(words))))
}
