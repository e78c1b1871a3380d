//! Between a connection and a handler: requests are written down, and the rules have their say.
//!
//! A request that is delayed is served at once; only its answer waits, so that what it does keeps its place among the
//! connection's requests. Nothing is answered any more once the broker was killed.

use std::sync::Arc;

use axum::Router;
use ballast_net::BoxFuture;
use ballast_wire::PartitionIndex;
use ballast_wire::frame::ApiKey;

use super::faults::{End, Recorded};
use super::harness::Harness;
use super::{http, shapes};
use crate::api::call::Call;
use crate::api::code::Code;
use crate::api::intercept::{Intercept, Interceptor, Start};
use crate::net::conn::Answer;

impl From<&Arc<Harness>> for Interceptor {
    fn from(harness: &Arc<Harness>) -> Interceptor {
        Interceptor(Arc::new(Hand(Arc::clone(harness))))
    }
}

/// What the broker sees of a harness.
struct Hand(Arc<Harness>);

impl Intercept for Hand {
    fn serve(&self, call: Call, handler: Start) -> BoxFuture<'static, Answer> {
        serve(&self.0, call, handler)
    }

    fn on_partition(&self, api: ApiKey, topic: &str, index: Option<PartitionIndex>) -> Option<Code> {
        self.0.faults().on_partition(api, topic, index).map(|code| code.0)
    }

    fn max_version(&self, api: ApiKey) -> Option<i16> {
        self.0.max_version(api)
    }

    fn routes(&self) -> Router {
        http::routes(Arc::clone(self.0.faults()))
    }
}

/// Serves a request by `handler`, or as the rules say.
fn serve(harness: &Arc<Harness>, call: Call, handler: Start) -> BoxFuture<'static, Answer> {
    let faults = harness.faults();
    let api = call.ctx.key;
    let topics = if faults.asks_for_topics(api) { shapes::topics(&call) } else { Vec::new() };
    let verdict = faults.on_request(Recorded {
        api,
        version: call.ctx.version,
        client_id: call.ctx.session.client_id.as_ref().to_owned(),
        correlation_id: call.correlation_id,
        topics,
    });
    let harness = Arc::clone(harness);
    let mut stopping = call.ctx.node.stopping.subscribe();
    let served = match verdict.end {
        Some(End::Fail(code)) => shapes::refuse(call, code),
        Some(End::Drop) => closed(api, "a fault drops the connection"),
        Some(End::Lose) | None => handler(call),
    };
    Box::pin(async move {
        let answer = served.await;
        if !verdict.delay.is_zero() {
            tokio::select! {
                biased;
                // A sender that is gone means the same as a stop.
                _ = stopping.wait_for(|stopping| *stopping) => {}
                () = tokio::time::sleep(verdict.delay) => {}
            }
        }
        match verdict.end {
            _ if harness.is_dead() => Answer::Close("the broker was killed".to_owned()),
            Some(End::Lose) => Answer::Close(format!("{api}: a fault loses the answer")),
            _ => answer,
        }
    })
}

fn closed(api: ApiKey, why: &str) -> BoxFuture<'static, Answer> {
    Box::pin(std::future::ready(Answer::Close(format!("{api}: {why}"))))
}
