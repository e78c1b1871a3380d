//! Requests that the active controller decides on, where that is another node: they go there in an envelope, and the
//! client has its answer once this broker has taken in what it rests on.
//!
//! Who cannot be reached in time is not there: the handler then runs here and says, in its own words, that this node is
//! not the controller (41). Clients ask again.
//!
//! Read next: `drive::envelope` (what an envelope holds), `envelope` (the other end).

use std::time::Duration;

use ballast_net::BoxFuture;
use ballast_wire::Chunk;
use ballast_wire::frame::{ApiKey, RequestHeader, Writer, parse_response_header};
use bytes::Bytes;
use kafka_protocol::protocol::{Decodable as _, Request};
use tokio::time::timeout;

use super::call::{Call, Ctx};
use crate::drive::envelope::{self, Forwarded, Sender};
use crate::net::conn::Answer;

/// How long this broker may take to take in what the controller has decided. Then the client is answered all the same.
const FOLLOW_MAX: Duration = Duration::from_secs(5);

/// Serves a call of an API that is the controller's: here if this node leads, else where the controller is.
pub(super) fn start(call: Call) -> BoxFuture<'static, Answer> {
    let api = call.ctx.table.iter().find(|api| api.key == call.ctx.key);
    let local = api.expect("a call comes from its listener's table").start;
    if !is_elsewhere(&call.ctx) {
        return local(call);
    }
    Box::pin(async move {
        match forwarded(&call.ctx, call.correlation_id, &call.body).await {
            Some(answer) => framed(&answer),
            None => local(call).await,
        }
    })
}

/// Asks the active controller, elsewhere, in the name of the client of `ctx`. `None`: it is here, or nowhere.
pub(super) async fn ask<R: Request>(ctx: &Ctx, version: i16, request: &R) -> Option<R::Response> {
    if !is_elsewhere(ctx) {
        return None;
    }
    let (ctx, mut body) = (Ctx { key: ApiKey(R::KEY), version, ..ctx.clone() }, Vec::new());
    request
        .encode(&mut body, version)
        .inspect_err(|error| tracing::error!(%error, "a request does not encode"))
        .ok()?;
    let answer = forwarded(&ctx, 0, &body).await?;
    let (_, body) = parse_response_header(&answer, ctx.key, version).ok()?;
    R::Response::decode(&mut answer.slice(body.position()..), version).ok()
}

fn is_elsewhere(ctx: &Ctx) -> bool {
    !ctx.node.is_controller() && ctx.may_pass_on()
}

async fn forwarded(ctx: &Ctx, correlation_id: i32, body: &[u8]) -> Option<Bytes> {
    let client_id = Some(&*ctx.session.client_id).filter(|id| !id.is_empty()).map(Into::into);
    let mut request = Writer::frame();
    RequestHeader { key: ctx.key, version: ctx.version, correlation_id, client_id }.encode(&mut request);
    request.raw(body);
    let sender = Sender { principal: &ctx.session.principal, host: ctx.session.host };
    let within = Duration::from_millis(ctx.node.settings.now().network.request_timeout_ms);
    // Without the length.
    let request = request.finish_frame(0).slice(size_of::<i32>()..);
    let once = ballast_net::random_uuid(&*ctx.node.entropy);
    let Forwarded { answer, index } = envelope::forward(&ctx.node.quorum, request, &sender, once, within).await?;
    if timeout(FOLLOW_MAX, ctx.node.metadata.wait_for(index)).await.is_err() {
        tracing::warn!(index, "a client is answered before this broker has taken in what the controller decided");
    }
    Some(answer)
}

fn framed(answer: &Bytes) -> Answer {
    let mut frame = Writer::frame();
    frame.raw(answer);
    Answer::Send([Chunk::from(frame.finish_frame(0))].into())
}
