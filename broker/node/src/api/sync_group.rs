//! SyncGroup (key 14), versions 0–5.
//!
//! The leader brings everybody's assignment; the others wait for it. v3 static members (KIP-345); v5 protocol type and name,
//! compared with the group's.

use ballast_core::group::{Request, Response, SyncRequest};
use bytes::Bytes;
use kafka_protocol::messages::{SyncGroupRequest, SyncGroupResponse};

use super::call::Ctx;
use super::code;
use super::group::{self, own, own_nullable};
use super::view::text;
use crate::session::Operation;

/// First version that names the protocol, and must.
const PROTOCOL_FROM: i16 = 5;

pub(super) async fn handle(ctx: Ctx, request: SyncGroupRequest) -> SyncGroupResponse {
    let refused = |error| SyncGroupResponse::default().with_error_code(error);
    if ctx.version >= PROTOCOL_FROM && (request.protocol_type.is_none() || request.protocol_name.is_none()) {
        return refused(code::INCONSISTENT_GROUP_PROTOCOL);
    }
    if let Err(error) = group::check(&ctx, Operation::Read, &request.group_id) {
        return refused(error);
    }
    match group::ask(&ctx, &request.group_id, Request::Sync(sync(&request))).await {
        Ok(Response::Sync(Ok(synced))) => SyncGroupResponse::default()
            .with_protocol_type(synced.protocol_type.as_deref().map(text))
            .with_protocol_name(synced.protocol_name.as_deref().map(text))
            .with_assignment(synced.assignment),
        Ok(Response::Sync(Err(error))) => refused(code::of_group(&error)),
        Ok(other) => unreachable!("a sync was answered with {other:?}"),
        Err(error) => refused(error),
    }
}

fn sync(request: &SyncGroupRequest) -> SyncRequest {
    // Copied: what a group keeps must not hold on to the frame that it came in.
    let assignments = request.assignments.iter();
    let assignments = assignments.map(|row| (own(&row.member_id), Bytes::copy_from_slice(&row.assignment)));
    SyncRequest {
        group: own(&request.group_id),
        member_id: own(&request.member_id),
        instance_id: own_nullable(request.group_instance_id.as_ref()),
        generation: request.generation_id,
        protocol_type: own_nullable(request.protocol_type.as_ref()),
        protocol_name: own_nullable(request.protocol_name.as_ref()),
        assignments: assignments.collect(),
    }
}
