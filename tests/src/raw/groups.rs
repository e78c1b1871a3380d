//! Requests of consumer groups, and a member that speaks them one by one.
//!
//! A [`Member`] does nothing by itself: no heartbeat, no rejoin. It remembers its id and generation, as every client must.
//! Assignments are plain text here; the broker does not look into them.

use bytes::Bytes;
use kafka_protocol::messages::join_group_request::JoinGroupRequestProtocol;
use kafka_protocol::messages::leave_group_request::MemberIdentity;
use kafka_protocol::messages::leave_group_response::MemberResponse;
use kafka_protocol::messages::offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use kafka_protocol::messages::offset_fetch_request::{OffsetFetchRequestGroup, OffsetFetchRequestTopics};
use kafka_protocol::messages::offset_fetch_response::{OffsetFetchResponseGroup, OffsetFetchResponsePartitions};
use kafka_protocol::messages::sync_group_request::SyncGroupRequestAssignment;
use kafka_protocol::messages::{
    FindCoordinatorRequest, GroupId, HeartbeatRequest, JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest,
    OffsetCommitRequest, OffsetFetchRequest, SyncGroupRequest, SyncGroupResponse,
};

use super::Connection;
use super::messages::{name, text};
use super::rows::eventually;

/// Highest version of JoinGroup.
pub const JOIN: i16 = 9;
/// Highest version of SyncGroup.
pub const SYNC: i16 = 5;
/// Highest version of Heartbeat.
pub const HEARTBEAT: i16 = 4;
/// Highest version of LeaveGroup.
pub const LEAVE: i16 = 5;
/// Highest version of OffsetCommit whose topics are named.
pub const COMMIT: i16 = 9;
/// Highest version of OffsetFetch whose topics are named.
pub const OFFSETS: i16 = 9;

/// A group's id in a message.
#[must_use]
pub fn group_id(group: &str) -> GroupId {
    text(group).into()
}

/// A consumer that joins, without an id if `member` is empty, with the protocol `range`.
#[must_use]
pub fn join(group: &str, member: &str) -> JoinGroupRequest {
    JoinGroupRequest::default()
        .with_group_id(group_id(group))
        .with_member_id(text(member))
        .with_session_timeout_ms(10_000)
        .with_rebalance_timeout_ms(10_000)
        .with_protocol_type(text("consumer"))
        .with_protocols(vec![protocol("range", "subscription")])
}

/// A protocol that a joining member knows.
#[must_use]
pub fn protocol(name: &str, metadata: &str) -> JoinGroupRequestProtocol {
    JoinGroupRequestProtocol::default().with_name(text(name)).with_metadata(Bytes::copy_from_slice(metadata.as_bytes()))
}

/// A sync with what each member gets; empty from followers.
#[must_use]
pub fn sync(group: &str, member: &str, generation: i32, assignments: &[(&str, &str)]) -> SyncGroupRequest {
    let row = |(member, assignment): &(&str, &str)| {
        let bytes = Bytes::copy_from_slice(assignment.as_bytes());
        SyncGroupRequestAssignment::default().with_member_id(text(member)).with_assignment(bytes)
    };
    SyncGroupRequest::default()
        .with_group_id(group_id(group))
        .with_member_id(text(member))
        .with_generation_id(generation)
        .with_protocol_type(Some(text("consumer")))
        .with_protocol_name(Some(text("range")))
        .with_assignments(assignments.iter().map(row).collect())
}

/// A sign of life.
#[must_use]
pub fn heartbeat(group: &str, member: &str, generation: i32) -> HeartbeatRequest {
    HeartbeatRequest::default()
        .with_group_id(group_id(group))
        .with_member_id(text(member))
        .with_generation_id(generation)
}

/// Commits one offset of each partition, each with a text.
#[must_use]
pub fn commit(
    group: &str,
    member: &str,
    generation: i32,
    topic: &str,
    rows: &[(i32, i64, Option<&str>)],
) -> OffsetCommitRequest {
    let rows = rows.iter().map(|(partition, offset, metadata)| {
        OffsetCommitRequestPartition::default()
            .with_partition_index(*partition)
            .with_committed_offset(*offset)
            .with_committed_metadata(metadata.map(text))
    });
    let topic = OffsetCommitRequestTopic::default().with_name(name(topic)).with_partitions(rows.collect());
    OffsetCommitRequest::default()
        .with_group_id(group_id(group))
        .with_member_id(text(member))
        .with_generation_id_or_member_epoch(generation)
        .with_topics(vec![topic])
}

impl Connection {
    /// Asks who coordinates a group until somebody does.
    ///
    /// # Panics
    /// If nobody does.
    pub fn coordinator(&mut self, group: &str) -> i32 {
        let request = FindCoordinatorRequest::default().with_coordinator_keys(vec![text(group)]);
        eventually("a coordinator", || {
            let found = self.call(4, &request).coordinators.remove(0);
            (found.error_code == 0).then_some(found.node_id.0)
        })
    }

    /// Sends a group's request, again while its coordinator loads (14) or is not there yet (16).
    ///
    /// # Panics
    /// If that does not end.
    pub fn grouped<R>(&mut self, code: impl Fn(&R) -> i16, mut send: impl FnMut(&mut Connection) -> R) -> R {
        eventually("a group's coordinator", || {
            let answer = send(self);
            (![14, 15, 16].contains(&code(&answer))).then_some(answer)
        })
    }

    /// Commits and gives the code of each row.
    pub fn commit(&mut self, version: i16, request: &OffsetCommitRequest) -> Vec<i16> {
        let response = self.grouped(
            |response: &kafka_protocol::messages::OffsetCommitResponse| {
                response.topics.iter().flat_map(|topic| &topic.partitions).map(|row| row.error_code).next().unwrap_or(0)
            },
            |connection| connection.call(version, request),
        );
        response.topics.iter().flat_map(|topic| topic.partitions.iter().map(|row| row.error_code)).collect()
    }

    /// What a group has committed of these partitions of a topic (version 9).
    ///
    /// # Panics
    /// If the answer as a whole is an error.
    pub fn committed(&mut self, group: &str, topic: &str, partitions: &[i32]) -> Vec<OffsetFetchResponsePartitions> {
        let topic = OffsetFetchRequestTopics::default().with_name(name(topic));
        let found = self.offsets(group, Some(vec![topic.with_partition_indexes(partitions.to_vec())]));
        assert_eq!(found.error_code, 0, "{group}: {found:?}");
        found.topics.into_iter().flat_map(|topic| topic.partitions).collect()
    }

    /// What a group has committed of these topics, of all for `None` (version 9).
    pub fn offsets(&mut self, group: &str, topics: Option<Vec<OffsetFetchRequestTopics>>) -> OffsetFetchResponseGroup {
        let wanted = OffsetFetchRequestGroup::default().with_group_id(group_id(group)).with_topics(topics);
        let request = OffsetFetchRequest::default().with_groups(vec![wanted]);
        self.grouped(
            |found: &OffsetFetchResponseGroup| found.error_code,
            |connection| connection.call(OFFSETS, &request).groups.remove(0),
        )
    }

    /// Takes members out of a group and gives their rows; each is (member id, instance id).
    ///
    /// # Panics
    /// If the answer as a whole is an error.
    pub fn leave(&mut self, group: &str, members: &[(&str, Option<&str>)]) -> Vec<MemberResponse> {
        let row = |(member, instance): &(&str, Option<&str>)| {
            MemberIdentity::default().with_member_id(text(member)).with_group_instance_id(instance.map(text))
        };
        let request = LeaveGroupRequest::default().with_group_id(group_id(group));
        let response = self.call(LEAVE, &request.with_members(members.iter().map(row).collect()));
        assert_eq!(response.error_code, 0, "{group}: {response:?}");
        response.members
    }
}

/// A member of a group on a connection of its own.
#[derive(Debug)]
pub struct Member {
    /// Its connection.
    pub connection: Connection,
    /// Its group.
    pub group: String,
    /// What the coordinator calls it; empty before its first answer.
    pub id: String,
    /// Its name as a static member.
    pub instance: Option<String>,
    /// The generation that it last joined.
    pub generation: i32,
    /// How it joins; group, member and instance are filled in.
    pub how: JoinGroupRequest,
}

impl Member {
    /// One that has not joined yet.
    #[must_use]
    pub fn new(connection: Connection, group: &str) -> Member {
        let how = join(group, "");
        Member { connection, group: group.to_owned(), id: String::new(), instance: None, generation: -1, how }
    }

    /// With a name of its own.
    #[must_use]
    pub fn instance(mut self, instance: &str) -> Member {
        self.instance = Some(instance.to_owned());
        self
    }

    /// With these timeouts in ms.
    #[must_use]
    pub fn timeouts(mut self, session_ms: i32, rebalance_ms: i32) -> Member {
        self.how.session_timeout_ms = session_ms;
        self.how.rebalance_timeout_ms = rebalance_ms;
        self
    }

    /// Sends a join, without waiting; with an id if it does not have one yet.
    pub fn start_join(&mut self) -> i32 {
        if self.id.is_empty() && self.instance.is_none() {
            let first = self.how.clone();
            let answer = self
                .connection
                .grouped(|answer: &JoinGroupResponse| answer.error_code, |connection| connection.call(JOIN, &first));
            assert_eq!(answer.error_code, 79, "{answer:?}");
            self.id = answer.member_id.to_string();
        }
        let mut request = self.how.clone().with_member_id(text(&self.id));
        request.group_instance_id = self.instance.as_deref().map(text);
        self.connection.start(JOIN, &request)
    }

    /// The answer to the join that [`Member::start_join`] sent.
    ///
    /// # Panics
    /// If it is refused.
    pub fn finish_join(&mut self, correlation_id: i32) -> JoinGroupResponse {
        let answer = self.connection.finish::<JoinGroupRequest>(JOIN, correlation_id);
        assert_eq!(answer.error_code, 0, "{answer:?}");
        self.id = answer.member_id.to_string();
        self.generation = answer.generation_id;
        answer
    }

    /// Joins, and waits until the group has come together.
    ///
    /// # Panics
    /// If it is refused.
    pub fn join(&mut self) -> JoinGroupResponse {
        let correlation_id = self.start_join();
        self.finish_join(correlation_id)
    }

    /// Sends a sync, without waiting.
    pub fn start_sync(&mut self, assignments: &[(&str, &str)]) -> i32 {
        let mut request = sync(&self.group, &self.id, self.generation, assignments);
        request.group_instance_id = self.instance.as_deref().map(text);
        self.connection.start(SYNC, &request)
    }

    /// The answer to the sync that [`Member::start_sync`] sent.
    pub fn finish_sync(&mut self, correlation_id: i32) -> SyncGroupResponse {
        self.connection.finish::<SyncGroupRequest>(SYNC, correlation_id)
    }

    /// Syncs and waits for its assignment.
    pub fn sync(&mut self, assignments: &[(&str, &str)]) -> SyncGroupResponse {
        let correlation_id = self.start_sync(assignments);
        self.finish_sync(correlation_id)
    }

    /// Joins an empty group and takes everything.
    ///
    /// # Panics
    /// If it is refused, or not alone.
    pub fn settle_alone(&mut self) {
        let joined = self.join();
        assert_eq!(joined.leader, joined.member_id, "somebody else is there");
        let me = self.id.clone();
        assert_eq!(self.sync(&[(&me, "everything")]).error_code, 0);
    }

    /// The code of a heartbeat.
    pub fn heartbeat(&mut self) -> i16 {
        let mut request = heartbeat(&self.group, &self.id, self.generation);
        request.group_instance_id = self.instance.as_deref().map(text);
        self.connection.call(HEARTBEAT, &request).error_code
    }

    /// Commits one offset; the code.
    pub fn commit(&mut self, topic: &str, partition: i32, offset: i64) -> i16 {
        let mut request = commit(&self.group, &self.id, self.generation, topic, &[(partition, offset, None)]);
        request.group_instance_id = self.instance.as_deref().map(text);
        self.connection.commit(COMMIT, &request)[0]
    }
}
