//! One request on its way to a handler and back: header read, body still bytes.
//!
//! Handlers whose messages are structs of `kafka-protocol` go through [`Call::typed`]; Produce and Fetch bring their own
//! bounded decoders. What does not decode closes the connection, as Apache Kafka does.

use std::future::{Future, ready};
use std::sync::Arc;

use ballast_net::BoxFuture;
use ballast_wire::frame::{ApiKey, Form, Writer, encode_response_header};
use ballast_wire::{LeaderEpoch, PartitionIndex, Uuid};
use bytes::Bytes;
use kafka_protocol::protocol::{Encodable, Request};

use super::Api;
use super::code::{self, Code};
use crate::drive::partition::{LeaderHint, Partition, Refused};
use crate::net::conn::Answer;
use crate::net::limits::Charge;
use crate::node::{Node, TopicKey, Whereabouts};
use crate::session::{Operation, Resource, Session};

/// Largest body that is decoded into structs. Produce and Fetch, which are larger, are not.
pub(crate) const STRUCT_BODY_BYTES_MAX: usize = 16 << 20;
/// Decoded structs take up to so many times the bytes of an honest body (measured: 33 to 38).
const DECODED_GROWTH: usize = 40;

/// Whom and what a request is about.
#[derive(Clone)]
pub(crate) struct Ctx {
    pub(crate) node: Arc<Node>,
    /// What is served on the listener that the request came in on.
    pub(crate) table: &'static [Api],
    pub(crate) key: ApiKey,
    pub(crate) session: Session,
    pub(crate) version: i16,
    /// The same in every copy of a request that another node has sent on: what makes topics takes their ids from it.
    pub(crate) once: Option<Uuid>,
}

impl Ctx {
    /// May the sender do this?
    pub(crate) fn may(&self, operation: Operation, resource: Resource<'_>) -> bool {
        self.node.authorizer.authorize(&self.session, operation, resource)
    }

    /// May the leader of the quorum be asked instead? Not for what came over a controller listener: two nodes that take each
    /// other for the leader would ask in circles.
    pub(crate) fn may_pass_on(&self) -> bool {
        !self.came_to_the_controller()
    }

    /// Did the request come in on a controller listener?
    pub(crate) fn came_to_the_controller(&self) -> bool {
        let settings = self.node.settings.now();
        settings.node.controller_listeners.iter().any(|listener| *listener.listener == *self.session.listener)
    }

    /// What a test wants the answer to say about a partition, or about a topic as a whole, instead of the truth.
    pub(crate) fn scripted(&self, topic: &str, index: Option<PartitionIndex>) -> Option<Code> {
        self.node.interceptor.as_ref()?.on_partition(self.key, topic, index)
    }

    /// A partition that this broker leads, in the epoch that the request names (-1 for none).
    pub(crate) fn led(&self, topic: &str, index: PartitionIndex, epoch: LeaderEpoch) -> Result<Arc<Partition>, Code> {
        self.here(topic, index, |partition| partition.check_leader(epoch))
    }

    /// A partition of which this broker has a replica, whether or not it leads; the epoch as in [`Ctx::led`].
    pub(crate) fn copied(
        &self,
        topic: &str,
        index: PartitionIndex,
        epoch: LeaderEpoch,
    ) -> Result<Arc<Partition>, Code> {
        self.here(topic, index, |partition| partition.check_replica(epoch))
    }

    fn here(
        &self,
        topic: &str,
        index: PartitionIndex,
        check: impl FnOnce(&Partition) -> Result<LeaderHint, Refused>,
    ) -> Result<Arc<Partition>, Code> {
        if let Some(code) = self.scripted(topic, Some(index)) {
            return Err(code);
        }
        match self.node.find(TopicKey::Name(topic), index) {
            Whereabouts::Here(partition) => match check(&partition) {
                Ok(_) => Ok(partition),
                Err(refused) => Err(code::of_refused(&refused)),
            },
            Whereabouts::Elsewhere(_) => Err(code::NOT_LEADER_OR_FOLLOWER),
            Whereabouts::Broken => Err(code::KAFKA_STORAGE_ERROR),
            Whereabouts::Unknown => Err(code::UNKNOWN_TOPIC_OR_PARTITION),
        }
    }
}

/// A request with its header read.
pub(crate) struct Call {
    pub(crate) ctx: Ctx,
    pub(crate) correlation_id: i32,
    pub(crate) body: Bytes,
    /// The frame's share of the memory budget, held until the answer is made.
    pub(crate) charge: Charge,
}

impl Call {
    /// Decodes the body, runs `handler`, encodes its response.
    pub(crate) fn typed<Req, H, F>(self, handler: H) -> BoxFuture<'static, Answer>
    where
        Req: Request + Send + 'static,
        Req::Response: Encodable + Send + 'static,
        H: FnOnce(Ctx, Req) -> F,
        F: Future<Output = Req::Response> + Send + 'static,
    {
        self.decoded(|body, version| Req::decode(body, version), handler)
    }

    /// As [`Call::typed`], for a version that `kafka-protocol` encodes but does not decode: `decode` does.
    pub(crate) fn decoded<Req, E, D, H, F>(mut self, decode: D, handler: H) -> BoxFuture<'static, Answer>
    where
        D: FnOnce(&mut Bytes, i16) -> Result<Req, E>,
        E: std::fmt::Display,
        Req: Request + Send + 'static,
        Req::Response: Encodable + Send + 'static,
        H: FnOnce(Ctx, Req) -> F,
        F: Future<Output = Req::Response> + Send + 'static,
    {
        let (key, version) = (self.ctx.key, self.ctx.version);
        let bytes = self.body.len();
        if bytes > STRUCT_BODY_BYTES_MAX || !self.charge.grow_to(bytes.saturating_mul(DECODED_GROWTH)) {
            return Box::pin(ready(Answer::Close(format!("a {key} request of {bytes} bytes is too large"))));
        }
        let request = match decode(&mut self.body, version) {
            Ok(request) => request,
            Err(error) => {
                return Box::pin(ready(Answer::Close(format!("a {key} v{version} request does not decode: {error}"))));
            }
        };
        self.body = Bytes::new();
        self.charge.shrink_to(bytes);
        let (correlation_id, charge) = (self.correlation_id, self.charge);
        let running = handler(self.ctx, request);
        Box::pin(async move {
            let response = running.await;
            drop(charge);
            encode(key, version, correlation_id, &response)
        })
    }
}

/// A whole response frame.
pub(crate) fn encode(key: ApiKey, version: i16, correlation_id: i32, response: &impl Encodable) -> Answer {
    let mut frame = Writer::frame();
    encode_response_header(&mut frame, key, version, correlation_id);
    let mut body = Vec::new();
    if let Err(error) = response.encode(&mut body, version) {
        // Our own mistake: a field that this version does not have. Tests encode every version of every response.
        tracing::error!(%key, version, %error, "a response does not encode");
        return Answer::Close(format!("the {key} v{version} response does not encode: {error}"));
    }
    frame.raw(&body);
    Answer::Send([frame.finish_frame(0).into()].into())
}

/// An answer to the oldest form of ApiVersions, for a version that we do not know.
pub(crate) fn plain_frame(correlation_id: i32, body: impl FnOnce(&mut Writer)) -> Answer {
    let mut frame = Writer::frame();
    frame.set_form(Form::Plain);
    frame.i32(correlation_id);
    body(&mut frame);
    Answer::Send([frame.finish_frame(0).into()].into())
}
