//! BrokerHeartbeat (key 63), versions 0–1, on controller listeners.
//!
//! A broker's sign of life, answered with whether it is caught up, fenced, and may stop: 77 for an epoch that is not the
//! present one and for a broker that is not registered, 41 where this node does not lead.
//! v1 names log directories that have failed. Not done: v2 (cordoned directories).

use ballast_core::controller::{BrokerHeartbeat, Request, Response};
use ballast_wire::Uuid;
use kafka_protocol::messages::{BrokerHeartbeatRequest, BrokerHeartbeatResponse};

use super::call::Ctx;
use super::code::{self, Code};
use crate::session::{Operation, Resource};

pub(super) async fn handle(ctx: Ctx, request: BrokerHeartbeatRequest) -> BrokerHeartbeatResponse {
    let refused = |error: Code| BrokerHeartbeatResponse::default().with_error_code(error);
    if !ctx.may(Operation::ClusterAction, Resource::Cluster) {
        return refused(code::CLUSTER_AUTHORIZATION_FAILED);
    }
    let heartbeat = BrokerHeartbeat {
        id: request.broker_id.0,
        epoch: request.broker_epoch,
        metadata_index: u64::try_from(request.current_metadata_offset).unwrap_or(0),
        want_fence: request.want_fence,
        want_shutdown: request.want_shut_down,
        offline_dirs: request.offline_log_dirs.iter().map(|dir| Uuid(*dir.as_bytes())).collect(),
    };
    match ctx.node.controller.ask_here(Request::BrokerHeartbeat(heartbeat)).await.response {
        Response::BrokerHeartbeat(Ok(reply)) => BrokerHeartbeatResponse::default()
            .with_is_caught_up(reply.is_caught_up)
            .with_is_fenced(reply.is_fenced)
            .with_should_shut_down(reply.should_shut_down),
        Response::BrokerHeartbeat(Err(error)) => refused(error.code()),
        Response::Refused(refusal) => refused(refusal.code()),
        other => unreachable!("BrokerHeartbeat was answered with {other:?}"),
    }
}
