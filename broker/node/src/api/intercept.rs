//! What may stand between connections and handlers: the hand of a test on its broker.
//!
//! A broker asks it before it serves a request, before it answers for a partition, and when it tells which versions it
//! speaks. Without one nothing is asked.
//!
//! Read next: `embed::intercept` (the one there is).

use std::sync::Arc;

use axum::Router;
use ballast_net::BoxFuture;
use ballast_wire::PartitionIndex;
use ballast_wire::frame::ApiKey;

use super::call::Call;
use super::code::Code;
use crate::net::conn::Answer;

/// How a handler is started.
pub(crate) type Start = fn(Call) -> BoxFuture<'static, Answer>;

/// See the module.
pub(crate) trait Intercept: Send + Sync {
    /// Serves a request by `handler`, or otherwise.
    fn serve(&self, call: Call, handler: Start) -> BoxFuture<'static, Answer>;

    /// What the answer shall say about a partition, or about a topic as a whole, instead of the truth.
    fn on_partition(&self, api: ApiKey, topic: &str, index: Option<PartitionIndex>) -> Option<Code>;

    /// The newest version of `api` that may be spoken, where that was limited.
    fn max_version(&self, api: ApiKey) -> Option<i16>;

    /// How it is told over HTTP what to do.
    fn routes(&self) -> Router;
}

/// What a broker is started with to be held by a test: made of an [`embed::Harness`](crate::embed::Harness).
#[derive(Clone)]
pub struct Interceptor(pub(crate) Arc<dyn Intercept>);
