//! CreatePartitions (key 37), versions 0–3.
//!
//! `count` is the number of partitions that a topic shall have in all. Records stay where they are: keys that hash to a
//! partition may go to another one from now on.

use ballast_core::controller::{MorePartitions, Request, Response};
use kafka_protocol::messages::create_partitions_request::CreatePartitionsTopic;
use kafka_protocol::messages::create_partitions_response::CreatePartitionsTopicResult;
use kafka_protocol::messages::{CreatePartitionsRequest, CreatePartitionsResponse};

use super::call::Ctx;
use super::code::{self, Code};
use super::controller::ask;
use super::view::topic_name;
use crate::session::{Operation, Resource};

pub(super) async fn handle(ctx: Ctx, request: CreatePartitionsRequest) -> CreatePartitionsResponse {
    let (allowed, denied): (Vec<_>, Vec<_>) = request
        .topics
        .into_iter()
        .map(more_partitions)
        .partition(|topic| ctx.may(Operation::Alter, Resource::Topic(&topic.name)));
    let mut rows: Vec<_> = denied
        .iter()
        .map(|topic| row(&topic.name, code::TOPIC_AUTHORIZATION_FAILED, Some("Authorization failed.".to_owned())))
        .collect();
    let names: Vec<String> = allowed.iter().map(|topic| topic.name.clone()).collect();
    let all = |error: Code, words: &str| names.iter().map(|name| row(name, error, Some(words.to_owned()))).collect();
    let (validate_only, timeout_ms) = (request.validate_only, request.timeout_ms);
    let asked = Request::CreatePartitions { topics: allowed, validate_only, timeout_ms };
    let answered: Vec<_> = match ask(&ctx, asked, timeout_ms).await {
        Ok(Response::CreatePartitions(results)) => results
            .into_iter()
            .map(|(name, result)| match result {
                Ok(()) => row(&name, code::NONE, None),
                Err(error) => row(&name, error.code(), Some(error.to_string())),
            })
            .collect(),
        Ok(Response::Refused(refusal)) => all(refusal.code(), &refusal.to_string()),
        Ok(other) => unreachable!("CreatePartitions was answered with {other:?}"),
        Err(_) => all(code::REQUEST_TIMED_OUT, "The controller did not answer in time."),
    };
    rows.extend(answered);
    CreatePartitionsResponse::default().with_results(rows)
}

fn more_partitions(topic: CreatePartitionsTopic) -> MorePartitions {
    let by_hand = topic
        .assignments
        .map(|rows| rows.into_iter().map(|row| row.broker_ids.into_iter().map(|id| id.0).collect()).collect());
    MorePartitions { name: topic.name.to_string(), count: topic.count, assignments: by_hand }
}

fn row(name: &str, error: Code, words: Option<String>) -> CreatePartitionsTopicResult {
    CreatePartitionsTopicResult::default()
        .with_name(topic_name(name))
        .with_error_code(error)
        .with_error_message(words.map(Into::into))
}
