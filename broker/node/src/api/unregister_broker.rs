//! UnregisterBroker (key 64), version 0.
//!
//! Makes the cluster forget a broker that is gone for good. A broker that is not known is 102.

use ballast_core::controller::{Request, Response};
use kafka_protocol::messages::{UnregisterBrokerRequest, UnregisterBrokerResponse};

use super::call::Ctx;
use super::code::{self, Code};
use super::controller::ask;
use super::view::text;
use crate::session::{Operation, Resource};

pub(super) async fn handle(ctx: Ctx, request: UnregisterBrokerRequest) -> UnregisterBrokerResponse {
    if !ctx.may(Operation::Alter, Resource::Cluster) {
        return refused(code::CLUSTER_AUTHORIZATION_FAILED, "Authorization failed.");
    }
    let timeout_ms = i32::try_from(ctx.node.settings.now().network.request_timeout_ms).unwrap_or(i32::MAX);
    match ask(&ctx, Request::UnregisterBroker { id: request.broker_id.0 }, timeout_ms).await {
        Ok(Response::UnregisterBroker(Ok(()))) => {
            UnregisterBrokerResponse::default().with_error_message(Some(text("")))
        }
        Ok(Response::UnregisterBroker(Err(error))) => refused(error.code(), &error.to_string()),
        Ok(Response::Refused(refusal)) => refused(refusal.code(), &refusal.to_string()),
        Ok(other) => unreachable!("UnregisterBroker was answered with {other:?}"),
        Err(_) => refused(code::REQUEST_TIMED_OUT, "The controller did not answer in time."),
    }
}

fn refused(error: Code, words: &str) -> UnregisterBrokerResponse {
    UnregisterBrokerResponse::default().with_error_code(error).with_error_message(Some(text(words)))
}
