//! AllocateProducerIds (key 67), version 0, on controller listeners.
//!
//! Gives a broker a block of producer ids that nobody else gets: 77 for a broker epoch that is not the present one and for
//! a broker that is not registered, 41 where this node does not lead.

use ballast_core::controller::{Request, Response};
use kafka_protocol::messages::{AllocateProducerIdsRequest, AllocateProducerIdsResponse};

use super::call::Ctx;
use super::code::{self, Code};
use crate::session::{Operation, Resource};

pub(super) async fn handle(ctx: Ctx, request: AllocateProducerIdsRequest) -> AllocateProducerIdsResponse {
    let refused = |error: Code| AllocateProducerIdsResponse::default().with_error_code(error);
    if !ctx.may(Operation::ClusterAction, Resource::Cluster) {
        return refused(code::CLUSTER_AUTHORIZATION_FAILED);
    }
    let asked = Request::AllocateProducerIds { broker: request.broker_id.0, broker_epoch: request.broker_epoch };
    match ctx.node.controller.ask_here(asked).await.response {
        Response::AllocateProducerIds(Ok(ids)) => AllocateProducerIdsResponse::default()
            .with_producer_id_start(ids.first.into())
            .with_producer_id_len(ids.len),
        Response::AllocateProducerIds(Err(error)) => refused(error.code()),
        Response::Refused(refusal) => refused(refusal.code()),
        other => unreachable!("AllocateProducerIds was answered with {other:?}"),
    }
}
