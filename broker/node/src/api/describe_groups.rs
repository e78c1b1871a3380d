//! DescribeGroups (key 15), versions 0–6.
//!
//! State, protocol and members of classic groups. v3 the sender's rights; v4 instance ids. A group that is not there is `Dead`
//! without an error up to v5, and not found (69) from v6 on.

use std::future::{Ready, ready};

use ballast_core::group::{DescribedMember, GroupView};
use kafka_protocol::messages::describe_groups_response::{DescribedGroup, DescribedGroupMember};
use kafka_protocol::messages::{DescribeGroupsRequest, DescribeGroupsResponse, GroupId};

use super::call::Ctx;
use super::code::{self, Code};
use super::group;
use super::view::{OPERATIONS_UNASKED, text};
use crate::session::Operation;

/// First version that says that a group is missing.
const NOT_FOUND_FROM: i16 = 6;
/// First version with instance ids.
const INSTANCES_FROM: i16 = 4;
/// State of a group that is not there.
const DEAD: &str = "Dead";

pub(super) fn handle(ctx: Ctx, request: DescribeGroupsRequest) -> Ready<DescribeGroupsResponse> {
    let with_operations = request.include_authorized_operations;
    let groups = request.groups.into_iter().map(|id| {
        let row = row(&ctx, &id);
        let operations = if with_operations && row.error_code == code::NONE {
            group::operations(&ctx, &id)
        } else {
            OPERATIONS_UNASKED
        };
        row.with_group_id(id).with_authorized_operations(operations)
    });
    ready(DescribeGroupsResponse::default().with_groups(groups.collect()))
}

fn row(ctx: &Ctx, id: &GroupId) -> DescribedGroup {
    let found =
        group::check(ctx, Operation::Describe, id).and_then(|()| group::coordinator(ctx, id)).and_then(|here| {
            here.read(|shard| shard.group(id).map(|group| told(ctx, &group))).map_err(code::of_unavailable)
        });
    match found {
        Ok(Some(group)) => group,
        Ok(None) if ctx.version >= NOT_FOUND_FROM => {
            let row = refused(code::GROUP_ID_NOT_FOUND).with_group_state(text(DEAD));
            row.with_error_message(Some(text(&format!("Group {} not found.", id.as_str()))))
        }
        Ok(None) => refused(code::NONE).with_group_state(text(DEAD)),
        Err(error) => refused(error),
    }
}

fn refused(error: Code) -> DescribedGroup {
    DescribedGroup::default().with_error_code(error)
}

fn told(ctx: &Ctx, group: &GroupView<'_>) -> DescribedGroup {
    DescribedGroup::default()
        .with_group_state(text(group.state().as_str()))
        .with_protocol_type(text(group.protocol_type()))
        .with_protocol_data(text(group.protocol_data()))
        .with_members(group.members().into_iter().map(|row| member(ctx, row)).collect())
}

fn member(ctx: &Ctx, member: DescribedMember) -> DescribedGroupMember {
    let row = DescribedGroupMember::default()
        .with_member_id(text(&member.member_id))
        .with_client_id(text(&member.client_id))
        .with_client_host(text(&member.client_host))
        .with_member_metadata(member.metadata)
        .with_member_assignment(member.assignment);
    if ctx.version >= INSTANCES_FROM {
        row.with_group_instance_id(member.instance_id.as_deref().map(text))
    } else {
        row
    }
}
