//! OffsetCommit (key 8), versions 2–10.
//!
//! v2–4 retention time; v6 leader epochs; v7 static members (KIP-345); v9 tells that a group is missing (69); v10 topic ids.
//! A row per partition: what may not be read (29) or is not there (3, by id 100) is told so, the rest goes to the group's
//! coordinator. Waits at most `offsets.commit.timeout.ms` (15).

mod by_id;

use ballast_core::group::{CommitPartition, CommitTopic, OffsetCommitRequest as Commit, Request, Response, TopicRow};
use ballast_core::image::{Image, Topic};
use ballast_net::BoxFuture;
use ballast_wire::Uuid;
use bytes::Bytes;
use kafka_protocol::messages::offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use kafka_protocol::messages::offset_commit_response::{OffsetCommitResponsePartition, OffsetCommitResponseTopic};
use kafka_protocol::messages::{OffsetCommitRequest, OffsetCommitResponse};
use kafka_protocol::protocol::Decodable as _;

use super::call::{Call, Ctx};
use super::code::{self, Code};
use super::group::{self, own, own_nullable};
use super::view;
use crate::net::conn::Answer;
use crate::session::{Operation, Resource};

/// First version that names topics by id.
const IDS_FROM: i16 = 10;
/// Versions with a retention time.
const RETENTION_UNTIL: i16 = 4;
/// First version that knows of missing groups.
const GROUP_ID_NOT_FOUND_FROM: i16 = 9;

pub(super) fn start(call: Call) -> BoxFuture<'static, Answer> {
    call.decoded(decode, handle)
}

/// Reads a request of any version.
pub(crate) fn decode(body: &mut Bytes, version: i16) -> Result<OffsetCommitRequest, String> {
    if version < IDS_FROM {
        OffsetCommitRequest::decode(body, version).map_err(|error| error.to_string())
    } else {
        by_id::decode(body, version).map_err(|error| error.to_string())
    }
}

/// A partition of the request: what is already known of it, and where it stands in what the coordinator is asked.
struct Row {
    index: i32,
    code: Code,
    is_asked: bool,
}

async fn handle(ctx: Ctx, request: OffsetCommitRequest) -> OffsetCommitResponse {
    let image = ctx.node.metadata.image();
    let allowed = group::check(&ctx, Operation::Read, &request.group_id);
    let mut asked = Vec::new();
    let mut rows: Vec<Vec<Row>> = Vec::new();
    for topic in &request.topics {
        let found = allowed.and_then(|()| find(&ctx, &image, topic));
        let (topic_rows, commit) = judge(topic, found);
        rows.push(topic_rows);
        asked.extend(commit);
    }
    if !asked.is_empty() {
        let outcome = ask(&ctx, &request, asked).await;
        settle(&mut rows, outcome);
    }
    let topics = request.topics.iter().zip(rows).map(|(topic, rows)| {
        let rows = rows.into_iter().map(|row| {
            OffsetCommitResponsePartition::default().with_partition_index(row.index).with_error_code(row.code)
        });
        let response = OffsetCommitResponseTopic::default().with_name(topic.name.clone());
        response.with_topic_id(topic.topic_id).with_partitions(rows.collect())
    });
    OffsetCommitResponse::default().with_topics(topics.collect())
}

/// The topic, if it is there and the sender may read it.
fn find<'a>(ctx: &Ctx, image: &'a Image, topic: &OffsetCommitRequestTopic) -> Result<&'a Topic, Code> {
    let found = if ctx.version < IDS_FROM {
        if !ctx.may(Operation::Read, Resource::Topic(&topic.name)) {
            return Err(code::TOPIC_AUTHORIZATION_FAILED);
        }
        image.topic(&topic.name).ok_or(code::UNKNOWN_TOPIC_OR_PARTITION)?
    } else {
        let found = image.topic_by_id(view::own_id(topic.topic_id)).ok_or(code::UNKNOWN_TOPIC_ID)?;
        if !ctx.may(Operation::Read, Resource::Topic(&found.name)) {
            return Err(code::TOPIC_AUTHORIZATION_FAILED);
        }
        found
    };
    Ok(found)
}

/// The rows of a topic, and what of it the coordinator is asked for.
fn judge(topic: &OffsetCommitRequestTopic, found: Result<&Topic, Code>) -> (Vec<Row>, Option<CommitTopic>) {
    let mut commits = Vec::new();
    let judge = |partition: &OffsetCommitRequestPartition| {
        let index = partition.partition_index;
        let known = found.and_then(|topic| topic.partition(index).ok_or(code::UNKNOWN_TOPIC_OR_PARTITION));
        if known.is_ok() {
            commits.push(commit(partition));
        }
        Row { index, code: known.err().unwrap_or(code::NONE), is_asked: known.is_ok() }
    };
    let rows = topic.partitions.iter().map(judge).collect();
    let asked = found.ok().filter(|_| !commits.is_empty());
    let (name, id) = asked.map(|topic| (std::sync::Arc::clone(&topic.name), topic.id)).unzip();
    (rows, name.zip(id).map(|(name, id): (_, Uuid)| CommitTopic { name, id, partitions: commits }))
}

fn commit(partition: &OffsetCommitRequestPartition) -> CommitPartition {
    CommitPartition {
        index: partition.partition_index,
        offset: partition.committed_offset,
        leader_epoch: partition.committed_leader_epoch,
        metadata: partition.committed_metadata.as_ref().map(ToString::to_string),
    }
}

async fn ask(ctx: &Ctx, request: &OffsetCommitRequest, topics: Vec<CommitTopic>) -> Result<Vec<TopicRow>, Code> {
    let retention_ms = Some(request.retention_time_ms).filter(|ms| ctx.version <= RETENTION_UNTIL && *ms >= 0);
    let commit = Commit {
        group: own(&request.group_id),
        member_id: own(&request.member_id),
        instance_id: own_nullable(request.group_instance_id.as_ref()),
        generation: request.generation_id_or_member_epoch,
        retention_ms,
        knows_group_id_not_found: ctx.version >= GROUP_ID_NOT_FOUND_FROM,
        topics,
    };
    match group::ask(ctx, &request.group_id, Request::OffsetCommit(commit)).await? {
        Response::OffsetCommit(outcome) => outcome.map_err(|error| code::of_group(&error)),
        other => unreachable!("a commit was answered with {other:?}"),
    }
}

/// Gives each row that was asked for its answer: a row of its own, or the error of all.
fn settle(rows: &mut [Vec<Row>], outcome: Result<Vec<TopicRow>, Code>) {
    let mut asked = rows.iter_mut().flatten().filter(|row| row.is_asked);
    match outcome {
        Err(error) => asked.for_each(|row| row.code = error),
        Ok(topics) => {
            for answer in topics.iter().flat_map(|topic| &topic.partitions) {
                let row = asked.next().expect("a coordinator answers no more than it is asked");
                assert_eq!(row.index, answer.index, "a coordinator answers in the order in which it is asked");
                row.code = answer.error.as_ref().map_or(code::NONE, code::of_group);
            }
        }
    }
}
