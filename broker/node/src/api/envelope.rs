//! Envelope (key 58), version 0, on controller listeners: a client's request that another broker has sent on.
//!
//! It is served as if the client had sent it here. Who may act for the cluster may say who the client is (31 otherwise).
//! ```text
//! 41  a node that does not lead: the broker looks for who does        97  a principal that nobody can read
//! 42  an address that is none; an API that is not the controller's
//! 35  what the client has sent: no request at all, of an unknown API or version, or with a body that does not decode
//! ```
//! As in Kafka 35 tells a fault of what is inside from one of the envelope itself.

use std::sync::Arc;

use ballast_net::BoxFuture;
use ballast_wire::Chunk;
use ballast_wire::frame::RequestHeader;
use bytes::Bytes;
use kafka_protocol::messages::EnvelopeResponse;

use super::call::{Call, Ctx, encode};
use super::code::{self, Code};
use super::{By, TABLE};
use crate::drive::envelope::{Forwarded, NotOpened, Opened, open, seal};
use crate::net::conn::Answer;
use crate::session::{Operation, Resource, Session};

/// Bytes of a frame before its header.
const LENGTH_BYTES: usize = 4;

pub(super) fn start(call: Call) -> BoxFuture<'static, Answer> {
    let (key, version, correlation_id) = (call.ctx.key, call.ctx.version, call.correlation_id);
    let node = Arc::clone(&call.ctx.node);
    let begun = begin(call);
    Box::pin(async move {
        let answered = match begun {
            Err(code) => Err(code),
            Ok(running) => match running.await {
                Answer::Send(pieces) => joined(pieces.iter()).ok_or(code::UNKNOWN_SERVER_ERROR),
                // The body did not decode.
                Answer::Silent | Answer::Close(_) | Answer::Away(_) => Err(code::UNSUPPORTED_VERSION),
            },
        };
        let index = node.metadata.image().index();
        let response: EnvelopeResponse = seal(answered.map(|answer| Forwarded { answer, index }));
        encode(key, version, correlation_id, &response)
    })
}

fn begin(call: Call) -> Result<BoxFuture<'static, Answer>, Code> {
    if !call.ctx.may(Operation::ClusterAction, Resource::Cluster) {
        return Err(code::CLUSTER_AUTHORIZATION_FAILED);
    }
    if !call.ctx.node.is_controller() {
        return Err(code::NOT_CONTROLLER);
    }
    let Opened { request, principal, host, once } = open(call.body).map_err(|why| match why {
        NotOpened::Form => code::INVALID_REQUEST,
        NotOpened::Principal => code::PRINCIPAL_DESERIALIZATION_FAILURE,
    })?;
    let (header, body) = RequestHeader::parse(&request).map_err(|_| code::UNSUPPORTED_VERSION)?;
    kafka_protocol::messages::ApiKey::try_from(header.key.0).map_err(|()| code::UNSUPPORTED_VERSION)?;
    let api = TABLE.iter().find(|api| api.key == header.key && api.by != By::Node).ok_or(code::INVALID_REQUEST)?;
    if !(api.min..=api.max).contains(&header.version) {
        return Err(code::UNSUPPORTED_VERSION);
    }
    let session = Session {
        principal: principal.into(),
        host,
        client_id: header.client_id.as_deref().unwrap_or_default().into(),
        listener: call.ctx.session.listener,
    };
    let ctx = Ctx { node: call.ctx.node, table: TABLE, key: header.key, session, version: header.version, once };
    let correlation_id = header.correlation_id;
    let body = request.slice(body.position()..);
    Ok((api.start)(Call { ctx, correlation_id, body, charge: call.charge }))
}

/// A frame without its length.
fn joined<'a>(pieces: impl Iterator<Item = &'a Chunk>) -> Option<Bytes> {
    let mut whole = Vec::new();
    for piece in pieces {
        whole.extend_from_slice(&piece.bytes().ok()?);
    }
    (whole.len() >= LENGTH_BYTES).then(|| Bytes::from(whole).slice(LENGTH_BYTES..))
}
