//! What administrators ask for: topics, partitions, configs, elections.

use super::create::{create_partitions, create_topics};
use super::delete::delete_topics;
use super::draft::Draft;
use super::elect::elect_leaders;
use super::error::TopicError;
use super::request::{DeletedTopic, Request, Response};
use super::{Ask, configs, features};

/// Does it only ask what would happen?
pub(super) fn is_dry_run(request: &Request) -> bool {
    match request {
        Request::CreateTopics { validate_only, .. }
        | Request::CreatePartitions { validate_only, .. }
        | Request::IncrementalAlterConfigs { validate_only, .. }
        | Request::AlterConfigs { validate_only, .. }
        | Request::UpdateFeatures { validate_only, .. } => *validate_only,
        _ => false,
    }
}

/// Decides an administrator's request. One without any time is answered so, and nothing is done.
pub(super) fn decide(ask: &mut Ask<'_>, draft: &mut Draft<'_>, request: Request) -> Response {
    let topics_settings = &ask.settings.topics;
    match request {
        Request::CreateTopics { topics, timeout_ms, .. } if timeout_ms <= 0 => {
            Response::CreateTopics(topics.into_iter().map(|topic| (topic.name, Err(TopicError::TimedOut))).collect())
        }
        Request::CreateTopics { topics, .. } => {
            Response::CreateTopics(create_topics(draft, ask.entropy, topics_settings, &topics))
        }
        Request::DeleteTopics { topics, timeout_ms } if timeout_ms <= 0 => {
            let timed_out = topics.into_iter();
            Response::DeleteTopics(
                timed_out
                    .map(|topic| DeletedTopic { name: topic.name, id: topic.id, result: Err(TopicError::TimedOut) })
                    .collect(),
            )
        }
        Request::DeleteTopics { topics, .. } => {
            Response::DeleteTopics(delete_topics(draft, topics_settings.delete_topic_enable, &topics))
        }
        Request::CreatePartitions { topics, timeout_ms, .. } if timeout_ms <= 0 => Response::CreatePartitions(
            topics.into_iter().map(|topic| (topic.name, Err(TopicError::TimedOut))).collect(),
        ),
        Request::CreatePartitions { topics, .. } => {
            Response::CreatePartitions(create_partitions(draft, ask.entropy, &topics))
        }
        Request::IncrementalAlterConfigs { resources, .. } => {
            Response::AlterConfigs(configs::incremental(draft, &resources))
        }
        Request::AlterConfigs { resources, .. } => Response::AlterConfigs(configs::replace(draft, &resources)),
        Request::ElectLeaders { unclean, partitions } => {
            Response::ElectLeaders(elect_leaders(draft, unclean, partitions.as_deref()))
        }
        Request::UpdateFeatures { updates, .. } => {
            Response::UpdateFeatures(features::update(draft, ask.config, &updates))
        }
        Request::RegisterBroker(_)
        | Request::BrokerHeartbeat(_)
        | Request::UnregisterBroker { .. }
        | Request::AlterPartition(_)
        | Request::AssignReplicasToDirs { .. }
        | Request::AllocateProducerIds { .. } => unreachable!("{request:?} is no administrator's request"),
    }
}
