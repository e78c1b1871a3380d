//! What the handlers of groups share: permissions, and the way to a group's coordinator.

use std::sync::Arc;

use ballast_core::group::{Request, Response};
use kafka_protocol::protocol::StrBytes;

use super::call::Ctx;
use super::code::{self, Code};
use super::view;
use crate::drive::coordinator::Coordinator;
use crate::session::{Operation, Resource};

/// Operations on a group, by their bit.
const GROUP_OPERATIONS: &[(Operation, u32)] = &[
    (Operation::Read, 3),
    (Operation::Delete, 6),
    (Operation::Describe, 8),
    (Operation::DescribeConfigs, 10),
    (Operation::AlterConfigs, 11),
];

/// May the sender do this to a group?
///
/// # Errors
/// 30 if not.
pub(super) fn check(ctx: &Ctx, operation: Operation, group: &str) -> Result<(), Code> {
    if ctx.may(operation, Resource::Group(group)) { Ok(()) } else { Err(code::GROUP_AUTHORIZATION_FAILED) }
}

/// The sender's rights on a group, as a bit for each operation.
pub(super) fn operations(ctx: &Ctx, group: &str) -> i32 {
    view::bits(ctx, GROUP_OPERATIONS, Resource::Group(group))
}

/// The coordinator of a group on this broker.
///
/// # Errors
/// 16 if it is not here.
pub(super) fn coordinator(ctx: &Ctx, group: &str) -> Result<Arc<Coordinator>, Code> {
    ctx.node.coordinators.of(group).map_err(code::of_unavailable)
}

/// Asks a group's coordinator, and waits for as long as the group takes.
///
/// # Errors
/// 14, 15 or 16 if nobody answers; 15 also when what was asked is not committed within `offsets.commit.timeout.ms`: whether it
/// will be is then open.
pub(super) async fn ask(ctx: &Ctx, group: &str, request: Request) -> Result<Response, Code> {
    coordinator(ctx, group)?.ask(request).await.map_err(code::of_unavailable)
}

/// A text that outlives its request's frame.
pub(super) fn own(text: &StrBytes) -> Arc<str> {
    Arc::from(text.as_str())
}

/// A text that may be null.
pub(super) fn own_nullable(text: Option<&StrBytes>) -> Option<Arc<str>> {
    text.map(own)
}
