//! ListGroups (key 16), versions 0–5.
//!
//! The groups that this broker coordinates and the sender may see; clients ask every broker. v4 filters by state and tells it,
//! v5 filters by type and tells it. Filters do not look at case; what they do not know matches nothing. While a coordinator
//! loads, the answer says so (14) and lists the rest.

use std::future::{Ready, ready};

use ballast_core::group::GroupView;
use kafka_protocol::messages::list_groups_response::ListedGroup;
use kafka_protocol::messages::{ListGroupsRequest, ListGroupsResponse};
use kafka_protocol::protocol::StrBytes;

use super::call::Ctx;
use super::code;
use super::view::text;
use crate::drive::coordinator::Unavailable;
use crate::session::{Operation, Resource};

/// First version that tells a group's state.
const STATE_FROM: i16 = 4;
/// First version that tells a group's type.
const TYPE_FROM: i16 = 5;
/// The type of every group here.
const CLASSIC: &str = "classic";

pub(super) fn handle(ctx: Ctx, request: ListGroupsRequest) -> Ready<ListGroupsResponse> {
    let sees_all = ctx.may(Operation::Describe, Resource::Cluster);
    let mut response = ListGroupsResponse::default();
    for coordinator in ctx.node.coordinators.all() {
        let listed = coordinator.read(|shard| {
            let wanted = shard.groups().filter(|group| is_wanted(&request, group));
            wanted.map(|group| row(&ctx, &group)).collect::<Vec<_>>()
        });
        match listed {
            Ok(rows) => response.groups.extend(rows),
            Err(Unavailable::Loading) => response.error_code = code::COORDINATOR_LOAD_IN_PROGRESS,
            // It went to another broker a moment ago.
            Err(Unavailable::NotCoordinator | Unavailable::NotAvailable) => {}
        }
    }
    response.groups.retain(|row| sees_all || ctx.may(Operation::Describe, Resource::Group(&row.group_id)));
    ready(response)
}

fn is_wanted(request: &ListGroupsRequest, group: &GroupView<'_>) -> bool {
    let passes = |filter: &[StrBytes], value: &str| {
        filter.is_empty() || filter.iter().any(|wanted| wanted.eq_ignore_ascii_case(value))
    };
    passes(&request.states_filter, group.state().as_str()) && passes(&request.types_filter, CLASSIC)
}

fn row(ctx: &Ctx, group: &GroupView<'_>) -> ListedGroup {
    let row =
        ListedGroup::default().with_group_id(text(group.id()).into()).with_protocol_type(text(group.protocol_type()));
    let row = if ctx.version >= STATE_FROM { row.with_group_state(text(group.state().as_str())) } else { row };
    if ctx.version >= TYPE_FROM { row.with_group_type(text(CLASSIC)) } else { row }
}
