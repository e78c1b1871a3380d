//! AddRaftVoter (key 80), version 0.
//!
//! Makes a node a voter of the metadata quorum, once it has caught up; asked of any node, done by the leader. 104 for another
//! cluster's id, 126 for an id that votes already, 42 without an address or for a broker alone, 7 where it does not
//! catch up in time or the voters are being changed. A directory id of zero stands for whichever the node has.
//! Not done: v1 (an answer before the change is committed).

use std::time::Duration;

use ballast_wire::Uuid;
use kafka_protocol::messages::{AddRaftVoterRequest, AddRaftVoterResponse};

use super::call::Ctx;
use super::code::{self, Code};
use super::raft_voters::{By, Change, by_the_leader, code_of, is_ours};
use super::view::text;
use crate::quorum::{NodeId, QuorumNode};
use crate::session::{Operation, Resource};

pub(super) async fn handle(ctx: Ctx, request: AddRaftVoterRequest) -> AddRaftVoterResponse {
    if !ctx.may(Operation::Alter, Resource::Cluster) {
        return refused(code::CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed.");
    }
    if !is_ours(&ctx, request.cluster_id.as_deref()) {
        return refused(code::INCONSISTENT_CLUSTER_ID, "The request names another cluster.");
    }
    let Some(listener) = request.listeners.first() else {
        return refused(
            code::INVALID_REQUEST,
            "Add voter request didn't include the endpoint for the default listener",
        );
    };
    let id = NodeId { node: request.voter_id, directory: Uuid(*request.voter_directory_id.as_bytes()) };
    let at = QuorumNode { host: listener.host.to_string(), port: listener.port };
    if id.node < 0 || at.host.is_empty() || at.port == 0 {
        return refused(code::INVALID_REQUEST, "Add voter request didn't include a valid voter");
    }
    let within = Duration::from_millis(u64::try_from(request.timeout_ms).unwrap_or(0).max(1000));
    let added = || AddRaftVoterResponse::default().with_error_message(None);
    match by_the_leader(&ctx, &request, within, Change::Add(id, at)).await {
        (By::Here(Ok(())), _) | (_, true) => added(),
        (By::Here(Err(error)), _) => refused(code_of(&error), &error.to_string()),
        (By::There(answer), _) => answer,
        (By::Late, _) => refused(code::REQUEST_TIMED_OUT, "The node did not catch up in time."),
        (By::Nobody, _) => refused(code::NOT_LEADER_OR_FOLLOWER, "The leader of the quorum does not answer."),
    }
}

fn refused(error: Code, words: &str) -> AddRaftVoterResponse {
    AddRaftVoterResponse::default().with_error_code(error).with_error_message(Some(text(words)))
}
