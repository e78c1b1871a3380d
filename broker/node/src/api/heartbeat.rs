//! Heartbeat (key 12), versions 0–4.
//!
//! A member's sign of life, and how it learns of a rebalance (27). v3 static members (KIP-345).
//!
//! Holds: while its group is loaded a member hears that all is well, whoever it is: its session begins anew afterwards,
//! and clients do not expect 14 here (aiokafka gives up on it).

use ballast_core::group::{HeartbeatRequest as Beat, Request, Response};
use kafka_protocol::messages::{HeartbeatRequest, HeartbeatResponse};

use super::call::Ctx;
use super::code::{self, Code};
use super::group::{self, own, own_nullable};
use crate::session::Operation;

pub(super) async fn handle(ctx: Ctx, request: HeartbeatRequest) -> HeartbeatResponse {
    let error = beat(&ctx, &request).await.err().unwrap_or(code::NONE);
    HeartbeatResponse::default().with_error_code(error)
}

async fn beat(ctx: &Ctx, request: &HeartbeatRequest) -> Result<(), Code> {
    group::check(ctx, Operation::Read, &request.group_id)?;
    let beat = Beat {
        group: own(&request.group_id),
        member_id: own(&request.member_id),
        instance_id: own_nullable(request.group_instance_id.as_ref()),
        generation: request.generation_id,
    };
    match group::ask(ctx, &request.group_id, Request::Heartbeat(beat)).await {
        Ok(Response::Heartbeat(outcome)) => outcome.map_err(|error| code::of_group(&error)),
        Ok(other) => unreachable!("a heartbeat was answered with {other:?}"),
        Err(code::COORDINATOR_LOAD_IN_PROGRESS) => Ok(()),
        Err(error) => Err(error),
    }
}
