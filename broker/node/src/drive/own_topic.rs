//! Topics that a broker has made without a client's CreateTopics: one that is written to before it is there, or the groups'.
//!
//! The controller of this process is asked if it leads, else the one that does, over its listener and in the broker's own name.
//!
//! Holds: a topic that was made is known here when the caller goes on, unless that takes too long.

use std::time::Duration;

use ballast_core::controller::{NewTopic, Request, Response, TopicError};
use ballast_wire::frame::ApiKey;
use kafka_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use kafka_protocol::messages::{CreateTopicsRequest, CreateTopicsResponse, TopicName};
use kafka_protocol::protocol::{Decodable as _, Encodable as _, StrBytes};
use tokio::time::timeout;

use super::controller::ControllerHandle;
use super::metadata::Metadata;
use crate::quorum::Quorum;

const VERSION: i16 = 7;
const TOPIC_ALREADY_EXISTS: i16 = 36;
/// How long this broker may take to hear of the topic.
const FOLLOW_MAX: Duration = Duration::from_secs(5);

/// Who is asked, and who has to know.
#[derive(Clone, Copy)]
pub(crate) struct Ways<'a> {
    pub(crate) controller: &'a ControllerHandle,
    pub(crate) quorum: &'a Quorum,
    pub(crate) metadata: &'a Metadata,
}

/// Has a topic made. That somebody else was faster is as good.
///
/// # Errors
/// What the controller says, or that there is none.
pub(crate) async fn make(ways: Ways<'_>, topic: NewTopic, timeout_ms: i32) -> Result<(), String> {
    let name = topic.name.clone();
    if *ways.quorum.leads().borrow() {
        here(ways, topic, timeout_ms).await?;
    } else {
        elsewhere(ways.quorum, topic, timeout_ms).await?;
    }
    let mut published = ways.metadata.watch();
    let known = published.wait_for(|_| ways.metadata.image().topic(&name).is_some());
    // Whoever asked looks again, and asks again.
    let _ = timeout(FOLLOW_MAX, known).await;
    Ok(())
}

async fn here(ways: Ways<'_>, topic: NewTopic, timeout_ms: i32) -> Result<(), String> {
    let request = Request::CreateTopics { topics: vec![topic], validate_only: false, timeout_ms };
    match ways.controller.ask(request).await.response {
        Response::CreateTopics(rows) => rows.into_iter().try_for_each(|(_, made)| match made {
            Ok(_) | Err(TopicError::Exists(_)) => Ok(()),
            Err(error) => Err(error.to_string()),
        }),
        Response::Refused(error) => Err(error.to_string()),
        other => unreachable!("CreateTopics was answered with {other:?}"),
    }
}

async fn elsewhere(quorum: &Quorum, topic: NewTopic, timeout_ms: i32) -> Result<(), String> {
    let request = CreateTopicsRequest::default().with_topics(vec![wire(topic)]).with_timeout_ms(timeout_ms);
    let mut body = Vec::new();
    request.encode(&mut body, VERSION).map_err(|error| error.to_string())?;
    let mut answer = quorum.forward_to_leader(ApiKey::CREATE_TOPICS, VERSION, body.into()).await?;
    let answer = CreateTopicsResponse::decode(&mut answer, VERSION).map_err(|error| error.to_string())?;
    answer.topics.into_iter().try_for_each(|row| match row.error_code {
        0 | TOPIC_ALREADY_EXISTS => Ok(()),
        code => Err(format!("error {code}: {}", row.error_message.as_deref().unwrap_or_default())),
    })
}

fn wire(topic: NewTopic) -> CreatableTopic {
    let text = |text: String| StrBytes::from_string(text);
    let configs = topic
        .configs
        .into_iter()
        .map(|(name, value)| CreatableTopicConfig::default().with_name(text(name)).with_value(value.map(text)));
    CreatableTopic::default()
        .with_name(TopicName(text(topic.name)))
        .with_num_partitions(topic.partitions)
        .with_replication_factor(topic.replication_factor)
        .with_configs(configs.collect())
}
