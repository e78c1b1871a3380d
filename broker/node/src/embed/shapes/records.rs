//! Produce and Fetch: decoded and encoded by `ballast-wire`, as their handlers do.
//!
//! A refused Fetch keeps its session: the client starts it anew, as it does after any error at the top (KIP-227). Before
//! v13 every partition says the error as well. A refused Produce that wants no acknowledgement closes the connection.

use std::borrow::Cow;
use std::future::ready;

use ballast_core::fetch_session::TopicKey;
use ballast_net::BoxFuture;
use ballast_wire::ErrorCode;
use ballast_wire::fetch::{FetchRequest, FetchResponse, FetchTopic, FetchedPartition, FetchedTopic};
use ballast_wire::frame::{ApiKey, Pieces};
use ballast_wire::produce::{ProduceRequest, ProduceResponse, ProduceTopic, ProducedPartition, ProducedTopic};

use super::{Named, Row, Topic};
use crate::api::call::Call;
use crate::net::conn::Answer;

pub(super) const PRODUCE: Row = Row { key: ApiKey::PRODUCE, refuse: refuse_produce, topics: produced };
pub(super) const FETCH: Row = Row { key: ApiKey::FETCH, refuse: refuse_fetch, topics: fetched };

/// From this version on topics are named by id alone. The same for both.
const IDS_FROM: i16 = 13;

fn refuse_produce(call: Call, code: ErrorCode) -> BoxFuture<'static, Answer> {
    Box::pin(ready(produce_answer(&call, code)))
}

fn produce_answer(call: &Call, code: ErrorCode) -> Answer {
    let version = call.ctx.version;
    let request = match ProduceRequest::decode(version, &call.body) {
        Ok(request) => request,
        Err(error) => return Answer::Close(format!("a Produce v{version} request does not decode: {error}")),
    };
    if request.acks == 0 {
        return Answer::Close(format!("a produce with acks=0 fails with {code}"));
    }
    let refused = |topic: ProduceTopic<'_>| ProducedTopic {
        name: Cow::Owned(topic.name.into_owned()),
        id: topic.id,
        partitions: topic.partitions.iter().map(|one| ProducedPartition::refused(one.index, code.0)).collect(),
    };
    let topics = request.topics.into_iter().map(refused).collect();
    let response = ProduceResponse { topics, throttle_time_ms: 0, node_endpoints: Vec::new() };
    let mut frame = Pieces::response_frame(ApiKey::PRODUCE, version, call.correlation_id);
    response.encode(version, &mut frame);
    Answer::Send(frame.finish_frame())
}

fn refuse_fetch(call: Call, code: ErrorCode) -> BoxFuture<'static, Answer> {
    Box::pin(ready(fetch_answer(&call, code)))
}

fn fetch_answer(call: &Call, code: ErrorCode) -> Answer {
    let version = call.ctx.version;
    let request = match FetchRequest::decode(version, &call.body) {
        Ok(request) => request,
        Err(error) => return Answer::Close(format!("a Fetch v{version} request does not decode: {error}")),
    };
    let session_id = request.session_id;
    let refused = |topic: FetchTopic<'_>| FetchedTopic {
        name: Cow::Owned(topic.name.into_owned()),
        id: topic.id,
        partitions: topic.partitions.iter().map(|one| FetchedPartition::failed(one.index, code.0)).collect(),
    };
    let topics = if version < IDS_FROM {
        request.topics.into_iter().map(refused).collect::<Vec<FetchedTopic<'_>>>()
    } else {
        Vec::new()
    };
    let response =
        FetchResponse { throttle_time_ms: 0, error_code: code.0, session_id, topics, node_endpoints: Vec::new() };
    let mut frame = Pieces::response_frame(ApiKey::FETCH, version, call.correlation_id);
    response.encode(version, &mut frame);
    Answer::Send(frame.finish_frame())
}

fn produced(call: &Call) -> Vec<Named> {
    let Ok(request) = ProduceRequest::decode(call.ctx.version, &call.body) else { return Vec::new() };
    let named = |topic: &ProduceTopic<'_>| Named {
        topic: named_topic(call, &topic.name, topic.id),
        partitions: topic.partitions.iter().map(|partition| partition.index).collect(),
    };
    request.topics.iter().map(named).collect()
}

/// What the request names, and what its session reads besides: an incremental fetch names only what has changed.
fn fetched(call: &Call) -> Vec<Named> {
    let Ok(request) = FetchRequest::decode(call.ctx.version, &call.body) else { return Vec::new() };
    let mut all: Vec<Named> = Vec::new();
    let mut add = |topic: Topic, partition: i32| match all.iter_mut().find(|named| named.topic == topic) {
        Some(named) if named.partitions.contains(&partition) => {}
        Some(named) => named.partitions.push(partition),
        None => all.push(Named { topic, partitions: vec![partition] }),
    };
    for topic in &request.topics {
        for partition in &topic.partitions {
            add(named_topic(call, &topic.name, topic.id), partition.index);
        }
    }
    let sessions = call.ctx.node.fetch_sessions.lock();
    for key in sessions.wanted_in(request.session_id) {
        let topic = match key.topic {
            TopicKey::Name(name) => Topic::Name(name.to_string()),
            TopicKey::Id(id) => Topic::Id(id),
        };
        add(topic, key.index);
    }
    all
}

fn named_topic(call: &Call, name: &str, id: ballast_wire::Uuid) -> Topic {
    if call.ctx.version >= IDS_FROM { Topic::Id(id) } else { Topic::Name(name.to_owned()) }
}
