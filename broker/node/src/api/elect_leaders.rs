//! ElectLeaders (key 43), versions 0–2.
//!
//! Preferred elections, from v1 also unclean ones. Without partitions every partition is tried, and those that need
//! nothing are left out: their topics come with an empty list, as in Kafka. v1 adds an error for the request as a whole.

use std::collections::BTreeMap;

use ballast_core::controller::{Request, Response};
use kafka_protocol::messages::elect_leaders_response::{PartitionResult, ReplicaElectionResult};
use kafka_protocol::messages::{ElectLeadersRequest, ElectLeadersResponse};

use super::call::Ctx;
use super::code::{self, Code};
use super::controller::ask;
use super::view::{text, topic_name};
use crate::session::{Operation, Resource};

/// Kafka's numbers of the kinds of elections.
const PREFERRED: i8 = 0;
const UNCLEAN: i8 = 1;

type Rows = BTreeMap<String, Vec<PartitionResult>>;

pub(super) async fn handle(ctx: Ctx, request: ElectLeadersRequest) -> ElectLeadersResponse {
    let partitions: Option<Vec<(String, i32)>> = request.topic_partitions.as_ref().map(|topics| {
        let pairs =
            topics.iter().flat_map(|topic| topic.partitions.iter().map(|index| (topic.topic.to_string(), *index)));
        pairs.collect()
    });
    let kind = if ctx.version >= 1 { request.election_type } else { PREFERRED };
    let all = |error, words: Option<String>| refused(&ctx, partitions.as_deref().unwrap_or_default(), error, words);
    if !ctx.may(Operation::Alter, Resource::Cluster) {
        return all(code::CLUSTER_AUTHORIZATION_FAILED, Some("Authorization failed.".to_owned()));
    }
    if ![PREFERRED, UNCLEAN].contains(&kind) {
        return all(code::INVALID_REQUEST, Some(format!("Unknown election type {kind}")));
    }
    if request.timeout_ms <= 0 {
        return all(code::REQUEST_TIMED_OUT, None);
    }
    let asked = Request::ElectLeaders { unclean: kind == UNCLEAN, partitions: partitions.clone() };
    match ask(&ctx, asked, request.timeout_ms).await {
        Ok(Response::ElectLeaders(results)) => {
            let mut rows = Rows::new();
            if partitions.is_none() {
                rows = ctx.node.metadata.image().topics().map(|topic| (topic.name.to_string(), Vec::new())).collect();
            }
            for (topic, index, result) in results {
                let (error, words) = match result {
                    Ok(()) => (code::NONE, None),
                    Err(error) => (error.code(), Some(error.to_string())),
                };
                rows.entry(topic).or_default().push(row(index, error, words.as_deref()));
            }
            response(rows)
        }
        Ok(Response::Refused(refusal)) => all(refusal.code(), Some(refusal.to_string())),
        Ok(other) => unreachable!("ElectLeaders was answered with {other:?}"),
        Err(_) => all(code::REQUEST_TIMED_OUT, None),
    }
}

fn refused(ctx: &Ctx, partitions: &[(String, i32)], error: Code, words: Option<String>) -> ElectLeadersResponse {
    let mut rows = Rows::new();
    for (topic, index) in partitions {
        rows.entry(topic.clone()).or_default().push(row(*index, error, words.as_deref()));
    }
    let response = response(rows);
    if ctx.version >= 1 { response.with_error_code(error) } else { response }
}

fn row(index: i32, error: Code, words: Option<&str>) -> PartitionResult {
    PartitionResult::default().with_partition_id(index).with_error_code(error).with_error_message(words.map(text))
}

fn response(rows: Rows) -> ElectLeadersResponse {
    let rows = rows.into_iter().map(|(topic, partitions)| {
        ReplicaElectionResult::default().with_topic(topic_name(&topic)).with_partition_result(partitions)
    });
    ElectLeadersResponse::default().with_replica_election_results(rows.collect())
}
