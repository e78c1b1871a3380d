//! The active controller where it is another node: Kafka's requests to its controller listener.
//!
//! ```text
//! membership   BrokerRegistration, BrokerHeartbeat: a broker's own life
//! decide       what a broker asks by itself: AlterPartition, AllocateProducerIds, AssignReplicasToDirs, CreateTopics
//! ```
//! Holds: an answer is the leader's own; whoever does not lead, or cannot be reached, is told apart, and whoever asked asks
//! again.
//!
//! Read next: `envelope` (what a client asked, passed on in its name).

mod decide;
mod membership;

use std::time::Duration;

use ballast_wire::Uuid;
use ballast_wire::frame::ApiKey;
use bytes::Bytes;
use kafka_protocol::protocol::{Decodable as _, Request};
use tokio::time::timeout;

use crate::quorum::Quorum;

pub(crate) use decide::{Decided, decide};
pub(crate) use membership::{heartbeat, register};

/// Kafka's code of a controller that is none.
const NOT_CONTROLLER: i16 = 41;

/// Asks the leader of the quorum one of Kafka's APIs at its controller listener. `None`: it does not answer, or nobody else
/// leads.
pub(crate) async fn ask<R: Request>(
    quorum: &Quorum,
    version: i16,
    request: &R,
    within: Duration,
) -> Option<R::Response> {
    let (key, body) = encoded(version, request)?;
    decoded::<R>(version, timeout(within, quorum.ask_leader(key, version, body)).await.ok()?)
}

/// As [`ask`], where the leader may have to wait for others before it answers. Gives up as soon as somebody else leads.
pub(crate) async fn ask_patiently<R: Request>(
    quorum: &Quorum,
    version: i16,
    request: &R,
    within: Duration,
) -> Option<R::Response> {
    let (key, body) = encoded(version, request)?;
    decoded::<R>(version, timeout(within, quorum.forward_to_leader(key, version, body)).await.ok()?)
}

fn encoded<R: Request>(version: i16, request: &R) -> Option<(ApiKey, Bytes)> {
    let key = ApiKey(R::KEY);
    let mut body = Vec::new();
    let done = request.encode(&mut body, version);
    done.inspect_err(|error| tracing::error!(%key, %error, "a request to the leader does not encode")).ok()?;
    Some((key, body.into()))
}

fn decoded<R: Request>(version: i16, answer: Result<Bytes, String>) -> Option<R::Response> {
    let key = ApiKey(R::KEY);
    let mut answer = answer.inspect_err(|why| tracing::debug!(%key, why, "the leader does not answer")).ok()?;
    let response = R::Response::decode(&mut answer, version);
    response.inspect_err(|error| tracing::warn!(%key, %error, "the leader's answer does not decode")).ok()
}

fn id(id: &Uuid) -> uuid::Uuid {
    uuid::Uuid::from_bytes(id.0)
}
