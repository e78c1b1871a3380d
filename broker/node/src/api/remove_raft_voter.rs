//! RemoveRaftVoter (key 81), version 0.
//!
//! Removes a voter from the metadata quorum; asked of any node, done by the leader. 104 for another cluster's id, 127 for an
//! id and directory that do not vote together, 42 for the last voter, 7 where the voters are being changed. The node goes on
//! as a learner.

use std::time::Duration;

use ballast_wire::Uuid;
use kafka_protocol::messages::{RemoveRaftVoterRequest, RemoveRaftVoterResponse};

use super::call::Ctx;
use super::code::{self, Code};
use super::raft_voters::{By, Change, by_the_leader, code_of, is_ours};
use super::view::text;
use crate::quorum::NodeId;
use crate::session::{Operation, Resource};

pub(super) async fn handle(ctx: Ctx, request: RemoveRaftVoterRequest) -> RemoveRaftVoterResponse {
    if !ctx.may(Operation::Alter, Resource::Cluster) {
        return refused(code::CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.");
    }
    if !is_ours(&ctx, request.cluster_id.as_deref()) {
        return refused(code::INCONSISTENT_CLUSTER_ID, "The request names another cluster.");
    }
    let id = NodeId { node: request.voter_id, directory: Uuid(*request.voter_directory_id.as_bytes()) };
    let within = Duration::from_millis(ctx.node.settings.now().network.request_timeout_ms);
    let removed = || RemoveRaftVoterResponse::default().with_error_message(None);
    match by_the_leader(&ctx, &request, within, Change::Remove(id)).await {
        (By::Here(Ok(())), _) | (_, true) => removed(),
        (By::Here(Err(error)), _) => refused(code_of(&error), &error.to_string()),
        (By::There(answer), _) => answer,
        (By::Late, _) => refused(code::REQUEST_TIMED_OUT, "The change was not committed in time."),
        (By::Nobody, _) => refused(code::NOT_LEADER_OR_FOLLOWER, "The leader of the quorum does not answer."),
    }
}

fn refused(error: Code, words: &str) -> RemoveRaftVoterResponse {
    RemoveRaftVoterResponse::default().with_error_code(error).with_error_message(Some(text(words)))
}
