//! LeaveGroup (key 13), versions 0–5.
//!
//! One member up to v2, whose error is that of the answer; many from v3 on, each with a row (KIP-345), a static one also by
//! its instance id alone: so operators remove one.

use ballast_core::group::{LeaveRequest, LeavingMember, LeftMember, Request, Response};
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::leave_group_response::MemberResponse;
use kafka_protocol::messages::{LeaveGroupRequest, LeaveGroupResponse};

use super::call::Ctx;
use super::code::{self, Code};
use super::group::{self, own, own_nullable};
use super::view::text;
use crate::session::Operation;

/// First version that lets many go.
const MANY_FROM: i16 = 3;

pub(super) async fn handle(ctx: Ctx, request: LeaveGroupRequest) -> LeaveGroupResponse {
    let response = LeaveGroupResponse::default();
    match leave(&ctx, &request).await {
        Err(error) => response.with_error_code(error),
        Ok(left) if ctx.version < MANY_FROM => response.with_error_code(left.first().map_or(code::NONE, code_of)),
        Ok(left) => response.with_members(left.iter().map(row).collect()),
    }
}

async fn leave(ctx: &Ctx, request: &LeaveGroupRequest) -> Result<Vec<LeftMember>, Code> {
    group::check(ctx, Operation::Read, &request.group_id)?;
    let single = MemberIdentity::default().with_member_id(request.member_id.clone());
    let members = if ctx.version < MANY_FROM { std::slice::from_ref(&single) } else { &request.members[..] };
    let leaving = |member: &MemberIdentity| LeavingMember {
        member_id: own(&member.member_id),
        instance_id: own_nullable(member.group_instance_id.as_ref()),
    };
    let leave = LeaveRequest { group: own(&request.group_id), members: members.iter().map(leaving).collect() };
    match group::ask(ctx, &request.group_id, Request::Leave(leave)).await? {
        Response::Leave(outcome) => outcome.map_err(|error| code::of_group(&error)),
        other => unreachable!("a leave was answered with {other:?}"),
    }
}

fn code_of(member: &LeftMember) -> Code {
    member.error.as_ref().map_or(code::NONE, code::of_group)
}

fn row(member: &LeftMember) -> MemberResponse {
    MemberResponse::default()
        .with_member_id(text(&member.member_id))
        .with_group_instance_id(member.instance_id.as_deref().map(text))
        .with_error_code(code_of(member))
}
