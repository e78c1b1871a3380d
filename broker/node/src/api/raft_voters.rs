//! What AddRaftVoter and RemoveRaftVoter share: any node is asked, whoever leads does it.

use std::time::Duration;

use ballast_wire::Uuid;
use kafka_protocol::protocol::Request;
use tokio::time::{Instant, sleep, timeout_at};

use super::call::Ctx;
use super::code::{self, Code};
use crate::drive::elsewhere;
use crate::quorum::{NodeId, Quorum, QuorumNode, VoterError};

/// Between two looks for a leader.
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// What is done to the voters.
pub(super) enum Change {
    /// The node there becomes one.
    Add(NodeId, QuorumNode),
    /// It votes no more.
    Remove(NodeId),
}

impl Change {
    /// Is it done, as far as this node knows?
    async fn is_done(&self, quorum: &Quorum) -> bool {
        match self {
            Change::Add(id, _) => quorum.has_voter(*id).await,
            // Of an id alone it cannot be told.
            Change::Remove(id) => id.directory != Uuid::ZERO && !quorum.has_voter(*id).await,
        }
    }

    async fn here(&self, quorum: &Quorum) -> Result<(), VoterError> {
        match self {
            Change::Add(id, at) => quorum.add_voter(*id, at.clone()).await,
            Change::Remove(id) => quorum.remove_voter(*id).await,
        }
    }
}

/// Who did it, or did not.
pub(super) enum By<A> {
    /// This node, which leads.
    Here(Result<(), VoterError>),
    /// The leader, with its answer.
    There(A),
    /// This node, and time was up.
    Late,
    /// Nobody answered until time was up.
    Nobody,
}

/// Lets the leader do it, wherever it is by then: the voters that are changed may cost it the lead. The second value: an
/// earlier question, whose answer was lost, did it, whatever the last answer says.
pub(super) async fn by_the_leader<R: Request>(
    ctx: &Ctx,
    request: &R,
    within: Duration,
    change: Change,
) -> (By<R::Response>, bool) {
    let until = Instant::now() + within;
    let quorum = &ctx.node.quorum;
    let was_done = change.is_done(quorum).await;
    let mut was_lost = false;
    loop {
        match timeout_at(until, change.here(quorum)).await {
            Ok(Err(VoterError::NotLeader)) if ctx.may_pass_on() => {}
            Ok(done) => return (By::Here(done), was_lost && !was_done && change.is_done(quorum).await),
            Err(_) => return (By::Late, false),
        }
        let left = until.saturating_duration_since(Instant::now());
        if let Some(answer) = elsewhere::ask_patiently(quorum, ctx.version, request, left).await {
            return (By::There(answer), was_lost && !was_done && change.is_done(quorum).await);
        }
        was_lost = true;
        if until.saturating_duration_since(Instant::now()) <= ASK_AGAIN {
            return (By::Nobody, false);
        }
        sleep(ASK_AGAIN).await;
    }
}

pub(super) fn code_of(error: &VoterError) -> Code {
    match error {
        VoterError::NotLeader => code::NOT_LEADER_OR_FOLLOWER,
        VoterError::Duplicate(_) => code::DUPLICATE_VOTER,
        VoterError::NotFound(_) => code::VOTER_NOT_FOUND,
        VoterError::Last(_) | VoterError::Voteless(_) => code::INVALID_REQUEST,
        VoterError::NotThere { .. } | VoterError::NotNow(_) => code::REQUEST_TIMED_OUT,
    }
}

/// Does the request name this cluster, or none?
pub(super) fn is_ours(ctx: &Ctx, cluster_id: Option<&str>) -> bool {
    let ours = ctx.node.metadata.image().cluster_id().map(|id| id.to_string());
    cluster_id.is_none_or(|given| ours.as_deref() == Some(given))
}
