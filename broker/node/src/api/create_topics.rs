//! CreateTopics (key 19), versions 2–7.
//!
//! -1 partitions or replicas stand for the broker's defaults. v5 answers with counts and configs, v7 with the topic's id.
//! `validate_only` checks everything and changes nothing. Rows are matched by name; their order is not promised.

use ballast_core::controller::{CreatedTopic, NewTopic, Request, Response};
use ballast_core::settings::Row;
use ballast_wire::Uuid;
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::create_topics_response::{CreatableTopicConfigs, CreatableTopicResult};
use kafka_protocol::messages::{CreateTopicsRequest, CreateTopicsResponse};

use super::call::Ctx;
use super::code::{self, Code};
use super::controller::ask;
use super::view::{self, text, topic_name};
use crate::session::{Operation, Resource};

pub(super) async fn handle(ctx: Ctx, request: CreateTopicsRequest) -> CreateTopicsResponse {
    let topics = (0..).zip(request.topics).map(|(at, topic)| new_topic(topic, id_of(ctx.once, at)));
    let (allowed, denied): (Vec<_>, Vec<_>) = topics.partition(|topic| may_create(&ctx, &topic.name));
    let mut rows: Vec<_> = denied
        .iter()
        .map(|topic| error_row(&topic.name, code::TOPIC_AUTHORIZATION_FAILED, "Authorization failed.".to_owned()))
        .collect();
    let names: Vec<String> = allowed.iter().map(|topic| topic.name.clone()).collect();
    let all = |error: Code, words: &str| names.iter().map(|name| error_row(name, error, words.to_owned())).collect();
    let (validate_only, timeout_ms) = (request.validate_only, request.timeout_ms);
    let asked = Request::CreateTopics { topics: allowed, validate_only, timeout_ms };
    let answered: Vec<CreatableTopicResult> = match ask(&ctx, asked, timeout_ms).await {
        Ok(Response::CreateTopics(results)) => results
            .into_iter()
            .map(|(name, result)| match result {
                Ok(created) => created_row(&ctx, &name, created),
                Err(error) => error_row(&name, error.code(), error.to_string()),
            })
            .collect(),
        Ok(Response::Refused(refusal)) => all(refusal.code(), &refusal.to_string()),
        Ok(other) => unreachable!("CreateTopics was answered with {other:?}"),
        Err(_) => all(code::REQUEST_TIMED_OUT, "The controller did not answer in time."),
    };
    rows.extend(answered);
    CreateTopicsResponse::default().with_topics(rows)
}

fn may_create(ctx: &Ctx, topic: &str) -> bool {
    ctx.may(Operation::Create, Resource::Cluster) || ctx.may(Operation::Create, Resource::Topic(topic))
}

/// The id of the topic at this place in a request, which every copy of the request has; zero where the controller may choose.
fn id_of(once: Option<Uuid>, at: u32) -> Uuid {
    let Some(Uuid(mut bytes)) = once else { return Uuid::ZERO };
    for (byte, of_place) in bytes[12..].iter_mut().zip(at.to_be_bytes()) {
        *byte ^= of_place;
    }
    Uuid(bytes)
}

fn new_topic(topic: CreatableTopic, id: Uuid) -> NewTopic {
    let assignments = topic.assignments.iter();
    NewTopic {
        name: topic.name.to_string(),
        id,
        partitions: topic.num_partitions,
        replication_factor: topic.replication_factor,
        assignments: assignments
            .map(|row| (row.partition_index, row.broker_ids.iter().map(|id| id.0).collect()))
            .collect(),
        configs: topic
            .configs
            .into_iter()
            .map(|config| (config.name.to_string(), config.value.map(|value| value.to_string())))
            .collect(),
    }
}

fn error_row(name: &str, error: Code, words: String) -> CreatableTopicResult {
    CreatableTopicResult::default()
        .with_name(topic_name(name))
        .with_error_code(error)
        .with_error_message(Some(words.into()))
        .with_num_partitions(-1)
        .with_replication_factor(-1)
        .with_configs(Some(Vec::new()))
}

fn created_row(ctx: &Ctx, name: &str, created: CreatedTopic) -> CreatableTopicResult {
    let row = CreatableTopicResult::default().with_name(topic_name(name)).with_topic_id(view::id(created.id));
    // The library's own default is an empty text.
    let row = row.with_error_message(None);
    if !ctx.may(Operation::DescribeConfigs, Resource::Topic(name)) {
        let row = row.with_topic_config_error_code(code::TOPIC_AUTHORIZATION_FAILED);
        return row.with_num_partitions(-1).with_replication_factor(-1).with_configs(None);
    }
    row.with_num_partitions(created.partitions)
        .with_replication_factor(created.replication_factor)
        .with_configs(Some(created.configs.iter().map(config_row).collect()))
}

fn config_row(row: &Row) -> CreatableTopicConfigs {
    CreatableTopicConfigs::default()
        .with_name(text(&row.name))
        .with_value(row.value.as_deref().map(text))
        .with_read_only(row.read_only)
        .with_config_source(row.source.id())
        .with_is_sensitive(row.sensitive)
}
