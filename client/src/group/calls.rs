//! The requests of a member, in every version that brokers offer.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use kafka_protocol::messages::{
    GroupId, HeartbeatRequest, JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest, LeaveGroupResponse,
    SyncGroupRequest,
};
use kafka_protocol::protocol::StrBytes;

use super::assign::Candidate;
use super::config::GroupConfig;
use super::driver::check;
use super::member::{Attempt, Identity, Input, Joined};
use super::protocol::Subscription;
use crate::{ClientError, Cluster, Connection, ErrorCode, Target};

const PROTOCOL_TYPE: &str = "consumer";
/// First versions with a field.
const JOIN_REBALANCE_TIMEOUT: i16 = 1;
const JOIN_REASON: i16 = 8;
const SYNC_PROTOCOL: i16 = 5;
const LEAVE_MANY: i16 = 3;
const LEAVE_REASON: i16 = 5;

/// All that a join says.
pub(super) struct Join {
    pub(super) config: Arc<GroupConfig>,
    pub(super) topics: Arc<[String]>,
    pub(super) member_id: String,
    pub(super) generation: i32,
}

/// Joins; comes back when all members have.
pub(super) async fn join(link: &Connection, attempt: Attempt, call: Join, limit: Duration) -> Input {
    let answer = link.call_versioned(|version| join_request(version, &call), limit).await;
    let what = format!("joining group {}", call.config.group_id);
    match answer {
        Err(error) => Input::Joined(attempt, Err(error)),
        Ok((_, answer)) if answer.error_code == ErrorCode::MEMBER_ID_REQUIRED.0 && !answer.member_id.is_empty() => {
            Input::Named(attempt, answer.member_id.to_string())
        }
        Ok((_, answer)) => Input::Joined(attempt, check(what, answer.error_code).map(|()| joined(answer))),
    }
}

fn join_request(version: i16, call: &Join) -> JoinGroupRequest {
    let config = &call.config;
    let subscription = Subscription {
        generation: call.generation,
        rack: config.rack.clone(),
        ..Subscription::to(call.topics.to_vec())
    };
    let protocols = config.assignors.iter().map(|assignor| {
        JoinGroupRequestProtocol::default()
            .with_name(StrBytes::from_static_str(assignor.name()))
            .with_metadata(subscription.encode())
    });
    let request = JoinGroupRequest::default()
        .with_group_id(group_id(&config.group_id))
        .with_session_timeout_ms(ms(config.session_timeout))
        .with_member_id(text(&call.member_id))
        .with_group_instance_id(config.instance_id.as_deref().map(text))
        .with_protocol_type(StrBytes::from_static_str(PROTOCOL_TYPE))
        .with_protocols(protocols.collect())
        .with_reason((version >= JOIN_REASON && call.generation >= 0).then(|| text("the group is rebalancing")));
    // Version 0 has no such field: the session's timeout counts for both.
    let rebalance_ms = if version >= JOIN_REBALANCE_TIMEOUT { ms(config.poll_interval_max) } else { -1 };
    request.with_rebalance_timeout_ms(rebalance_ms)
}

fn joined(answer: JoinGroupResponse) -> Joined {
    let candidate = |member: kafka_protocol::messages::join_group_response::JoinGroupResponseMember| {
        let id = member.member_id.to_string();
        let subscription = Subscription::decode(&member.metadata).unwrap_or_else(|error| {
            // The others shall not stand still because of it.
            tracing::warn!(member = id, %error, "a member's subscription cannot be read: it gets nothing");
            Subscription::to(Vec::new())
        });
        Candidate { id, instance_id: member.group_instance_id.map(|id| id.to_string()), subscription }
    };
    Joined {
        generation: answer.generation_id,
        member_id: answer.member_id.to_string(),
        leader: answer.leader.to_string(),
        protocol: answer.protocol_name.map(|name| name.to_string()).unwrap_or_default(),
        members: answer.members.into_iter().map(candidate).collect(),
        skip_assignment: answer.skip_assignment,
    }
}

/// Hands in the assignments, as the leader, and gets our own; comes back when the leader has.
pub(super) async fn sync(
    link: &Connection,
    config: &GroupConfig,
    who: &Identity,
    protocol: &str,
    assignments: Vec<(String, Bytes)>,
    limit: Duration,
) -> Result<Bytes, ClientError> {
    let row = |(member, bytes): &(String, Bytes)| {
        SyncGroupRequestAssignment::default().with_member_id(text(member)).with_assignment(bytes.clone())
    };
    let build = |version| {
        let named = version >= SYNC_PROTOCOL;
        SyncGroupRequest::default()
            .with_group_id(group_id(&config.group_id))
            .with_generation_id(who.generation)
            .with_member_id(text(&who.member_id))
            .with_group_instance_id(config.instance_id.as_deref().map(text))
            .with_protocol_type(named.then(|| StrBytes::from_static_str(PROTOCOL_TYPE)))
            .with_protocol_name(named.then(|| text(protocol)))
            .with_assignments(assignments.iter().map(row).collect())
    };
    let (_, answer) = link.call_versioned(build, limit).await?;
    check(format!("getting an assignment in group {}", config.group_id), answer.error_code)?;
    Ok(answer.assignment)
}

/// Says that we are alive.
pub(super) async fn heartbeat(
    link: &Connection,
    config: &GroupConfig,
    who: &Identity,
    limit: Duration,
) -> Result<(), ClientError> {
    let build = |_| {
        HeartbeatRequest::default()
            .with_group_id(group_id(&config.group_id))
            .with_generation_id(who.generation)
            .with_member_id(text(&who.member_id))
            .with_group_instance_id(config.instance_id.as_deref().map(text))
    };
    let (_, answer) = link.call_versioned(build, limit).await?;
    check(format!("heartbeat of group {}", config.group_id), answer.error_code)
}

/// Says good-bye. Not over the member's own connection, where a join may be waiting for the others.
pub(super) fn leave<'a>(
    cluster: &'a Cluster,
    group: &'a str,
    member_id: &'a str,
) -> impl Future<Output = Result<(), ClientError>> + use<'a> {
    let build = move |version| {
        let request = LeaveGroupRequest::default().with_group_id(group_id(group));
        if version < LEAVE_MANY {
            return request.with_member_id(text(member_id));
        }
        let reason = (version >= LEAVE_REASON).then(|| text("the consumer is being closed"));
        request.with_members(vec![MemberIdentity::default().with_member_id(text(member_id)).with_reason(reason)])
    };
    async move {
        let what = format!("leaving group {group}");
        let outcome = |answer: &LeaveGroupResponse| check(what.as_str(), answer.error_code);
        cluster.call(Target::Coordinator(group), &what, build, outcome).await.map(|_| ())
    }
}

fn ms(span: Duration) -> i32 {
    i32::try_from(span.as_millis()).unwrap_or(i32::MAX)
}

fn text(value: &str) -> StrBytes {
    StrBytes::from_string(value.to_owned())
}

fn group_id(group: &str) -> GroupId {
    GroupId(text(group))
}
