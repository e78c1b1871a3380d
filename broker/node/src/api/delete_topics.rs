//! DeleteTopics (key 20), versions 1–6.
//!
//! By name, from v6 also by id; v5 adds error messages. A topic that the sender may not see looks as if it were not there
//! when it is asked for by id (100), and is refused by name (29).

use ballast_core::controller::{DeletedTopic, Request, Response, TopicRef};
use ballast_wire::Uuid;
use kafka_protocol::messages::delete_topics_response::DeletableTopicResult;
use kafka_protocol::messages::{DeleteTopicsRequest, DeleteTopicsResponse};

use super::call::Ctx;
use super::code::{self, Code};
use super::controller::ask;
use super::view::{self, topic_name};
use crate::session::{Operation, Resource};

pub(super) async fn handle(ctx: Ctx, request: DeleteTopicsRequest) -> DeleteTopicsResponse {
    let mut rows = Vec::new();
    let mut asked = Vec::new();
    for topic in wanted(&ctx, &request) {
        match denied(&ctx, &topic) {
            Some(error) => rows.push(row(&ctx, topic.name.as_deref(), topic.id, error, "Authorization failed.")),
            None => asked.push(topic),
        }
    }
    if !asked.is_empty() {
        rows.extend(delete(&ctx, asked, request.timeout_ms).await);
    }
    DeleteTopicsResponse::default().with_responses(rows)
}

async fn delete(ctx: &Ctx, topics: Vec<TopicRef>, timeout_ms: i32) -> Vec<DeletableTopicResult> {
    let all = |error: Code, words: &str| {
        topics.iter().map(|topic| row(ctx, topic.name.as_deref(), topic.id, error, words)).collect()
    };
    match ask(ctx, Request::DeleteTopics { topics: topics.clone(), timeout_ms }, timeout_ms).await {
        Ok(Response::DeleteTopics(results)) => results
            .into_iter()
            .map(|DeletedTopic { name, id, result }| match result {
                Ok(()) => row(ctx, name.as_deref(), id, code::NONE, ""),
                Err(error) => row(ctx, name.as_deref(), id, error.code(), &error.to_string()),
            })
            .collect(),
        Ok(Response::Refused(refusal)) => all(refusal.code(), &refusal.to_string()),
        Ok(other) => unreachable!("DeleteTopics was answered with {other:?}"),
        Err(_) => all(code::REQUEST_TIMED_OUT, "The controller did not answer in time."),
    }
}

fn wanted(ctx: &Ctx, request: &DeleteTopicsRequest) -> Vec<TopicRef> {
    if ctx.version < 6 {
        let names = request.topic_names.iter();
        return names.map(|name| TopicRef { name: Some(name.to_string()), id: Uuid::ZERO }).collect();
    }
    let states = request.topics.iter();
    states
        .map(|topic| TopicRef {
            name: topic.name.as_ref().map(|name| name.0.to_string()),
            id: view::own_id(topic.topic_id),
        })
        .collect()
}

/// The code for who may not delete the topic.
fn denied(ctx: &Ctx, topic: &TopicRef) -> Option<Code> {
    let image = ctx.node.metadata.image();
    let by_id = image.topic_by_id(topic.id).map(|topic| &*topic.name);
    let name = topic.name.as_deref().or(by_id)?;
    if ctx.may(Operation::Delete, Resource::Topic(name)) {
        return None;
    }
    let visible = topic.name.is_some() || ctx.may(Operation::Describe, Resource::Topic(name));
    Some(if visible { code::TOPIC_AUTHORIZATION_FAILED } else { code::UNKNOWN_TOPIC_ID })
}

fn row(ctx: &Ctx, name: Option<&str>, id: Uuid, error: Code, words: &str) -> DeletableTopicResult {
    // Only version 6 and above may leave the name out.
    let name = if ctx.version >= 6 { name } else { Some(name.unwrap_or("")) };
    DeletableTopicResult::default()
        .with_name(name.map(topic_name))
        .with_topic_id(view::id(id))
        .with_error_code(error)
        .with_error_message((error != code::NONE).then(|| view::text(words)))
}
