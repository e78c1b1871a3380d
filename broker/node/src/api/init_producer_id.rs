//! InitProducerId (key 22), versions 0–5.
//!
//! Without a transactional id: a fresh producer id with epoch 0, out of a block that the controller gave to this broker.
//! v3+ may name the id and epoch that the producer had (KIP-360); an idempotent producer gets a fresh id all the same.
//! Not done: transactions. A request with a transactional id is refused for good (53), because a retriable answer would
//! leave the client waiting for ever.

use kafka_protocol::messages::{InitProducerIdRequest, InitProducerIdResponse, ProducerId};

use super::call::Ctx;
use super::code;
use crate::session::{Operation, Resource};

pub(super) async fn handle(ctx: Ctx, request: InitProducerIdRequest) -> InitProducerIdResponse {
    let refused = |error| {
        let response = InitProducerIdResponse::default().with_error_code(error);
        response.with_producer_id(ProducerId(-1)).with_producer_epoch(-1)
    };
    match request.transactional_id.as_ref().map(|id| id.as_str()) {
        Some("") => return refused(code::INVALID_REQUEST),
        Some(_) => return refused(code::TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        None => {}
    }
    let may = ctx.may(Operation::IdempotentWrite, Resource::Cluster)
        || ctx.node.metadata.image().topics().any(|topic| ctx.may(Operation::Write, Resource::Topic(&topic.name)));
    if !may {
        return refused(code::CLUSTER_AUTHORIZATION_FAILED);
    }
    let has_id = request.producer_id.0 >= 0;
    if ctx.version >= 3 && has_id != (request.producer_epoch >= 0) {
        return refused(code::INVALID_REQUEST);
    }
    let node = &ctx.node;
    match node.producer_ids.next(&node.controller, node.id, node.broker_epoch()).await {
        Some(id) => InitProducerIdResponse::default().with_producer_id(ProducerId(id)).with_producer_epoch(0),
        // The controller did not give a block: the client asks again.
        None => refused(code::COORDINATOR_LOAD_IN_PROGRESS),
    }
}
