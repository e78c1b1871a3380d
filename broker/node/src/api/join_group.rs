//! JoinGroup (key 11), versions 0–9.
//!
//! Waits until the group has come together, or the rebalance timeout is over. v1 rebalance timeout; v4 sends a new member away
//! with an id first (79, KIP-394); v5 static members (KIP-345); v9 lets a returning static leader skip the assignment
//! (KIP-814). A connection's next request waits meanwhile, as in Apache Kafka.

use ballast_core::group::{JoinRequest, JoinResponse, Protocol, Request, Response};
use kafka_protocol::messages::join_group_response::JoinGroupResponseMember;
use kafka_protocol::messages::{JoinGroupRequest, JoinGroupResponse};
use kafka_protocol::protocol::StrBytes;

use super::call::Ctx;
use super::code::{self, Code};
use super::group::{self, own, own_nullable};
use super::view::text;
use crate::session::Operation;

/// First version with a rebalance timeout of its own.
const REBALANCE_TIMEOUT_FROM: i16 = 1;
/// First version that must bring a member id.
const MEMBER_ID_FROM: i16 = 4;
/// First version whose protocol type and name may be null.
const NULL_PROTOCOL_FROM: i16 = 7;
/// First version that can be told to skip the assignment.
const SKIP_ASSIGNMENT_FROM: i16 = 9;

pub(super) async fn handle(ctx: Ctx, request: JoinGroupRequest) -> JoinGroupResponse {
    if let Err(error) = group::check(&ctx, Operation::Read, &request.group_id) {
        return refused(&ctx, error, request.member_id);
    }
    let (group_id, member_id) = (request.group_id.clone(), request.member_id.clone());
    match group::ask(&ctx, &group_id, Request::Join(Box::new(join(&ctx, request)))).await {
        Ok(Response::Join(joined)) => response(&ctx, joined),
        Ok(other) => unreachable!("a join was answered with {other:?}"),
        Err(error) => refused(&ctx, error, member_id),
    }
}

fn join(ctx: &Ctx, request: JoinGroupRequest) -> JoinRequest {
    let mut random = [0; 16];
    ctx.node.entropy.fill(&mut random);
    let rebalance_timeout_ms =
        if ctx.version >= REBALANCE_TIMEOUT_FROM { request.rebalance_timeout_ms } else { request.session_timeout_ms };
    // Copied: what a group keeps must not hold on to the frame that it came in.
    let protocol = |protocol: &kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol| Protocol {
        name: own(&protocol.name),
        metadata: bytes::Bytes::copy_from_slice(&protocol.metadata),
    };
    JoinRequest {
        group: own(&request.group_id),
        member_id: own(&request.member_id),
        instance_id: own_nullable(request.group_instance_id.as_ref()),
        client_id: std::sync::Arc::clone(&ctx.session.client_id),
        client_host: format!("/{}", ctx.session.host).into(),
        session_timeout_ms: request.session_timeout_ms,
        rebalance_timeout_ms,
        protocol_type: own(&request.protocol_type),
        protocols: request.protocols.iter().map(protocol).collect(),
        random,
        requires_member_id: ctx.version >= MEMBER_ID_FROM,
        can_skip_assignment: ctx.version >= SKIP_ASSIGNMENT_FROM,
    }
}

fn response(ctx: &Ctx, joined: JoinResponse) -> JoinGroupResponse {
    if let Some(error) = joined.error {
        return refused(ctx, code::of_group(&error), text(&joined.member_id));
    }
    let member = |member: ballast_core::group::JoinedMember| {
        let row = JoinGroupResponseMember::default().with_member_id(text(&member.member_id));
        row.with_group_instance_id(member.instance_id.as_deref().map(text)).with_metadata(member.metadata)
    };
    let members: Vec<JoinGroupResponseMember> = joined.members.into_iter().map(member).collect();
    JoinGroupResponse::default()
        .with_generation_id(joined.generation)
        .with_protocol_type(joined.protocol_type.as_deref().map(text))
        .with_protocol_name(named(ctx, joined.protocol_name.as_deref()))
        .with_leader(text(&joined.leader))
        .with_skip_assignment(joined.skip_assignment)
        .with_member_id(text(&joined.member_id))
        .with_members(members)
}

fn refused(ctx: &Ctx, error: Code, member_id: StrBytes) -> JoinGroupResponse {
    JoinGroupResponse::default()
        .with_error_code(error)
        .with_generation_id(-1)
        .with_protocol_name(named(ctx, None))
        .with_member_id(member_id)
}

/// Older versions have no null.
fn named(ctx: &Ctx, name: Option<&str>) -> Option<StrBytes> {
    if ctx.version >= NULL_PROTOCOL_FROM { name.map(text) } else { Some(text(name.unwrap_or(""))) }
}
