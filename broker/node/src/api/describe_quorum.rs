//! DescribeQuorum (key 55), versions 0–2.
//!
//! The metadata quorum as it is: leader, epoch, committed end, and for each voter and observer how far it is, as the
//! leader knows it; a broker that cannot reach the leader tells what it knows itself. A controller that does not lead refuses
//! (6), as Kafka's do: whoever begins at a controller asks it for the active one (DescribeCluster).
//! v2 adds directory ids, node listeners and error messages. Any partition but `__cluster_metadata`-0 is unknown (3).

use std::time::Duration;

use ballast_wire::NO_LEADER;
use kafka_protocol::messages::describe_quorum_request::{PartitionData as Asked, TopicData as AskedTopic};
use kafka_protocol::messages::describe_quorum_response::{Listener, Node, PartitionData, ReplicaState, TopicData};
use kafka_protocol::messages::{BrokerId, DescribeQuorumRequest, DescribeQuorumResponse};

use super::call::Ctx;
use super::code::{self, Code};
use super::view::{self, text};
use crate::drive::elsewhere;
use crate::quorum::{QuorumView, ReplicaView};
use crate::session::{Operation, Resource};

const METADATA_TOPIC: &str = "__cluster_metadata";

/// How long the leader may take to tell what it knows.
const LEADER_MAX: Duration = Duration::from_secs(2);

pub(super) async fn handle(ctx: Ctx, request: DescribeQuorumRequest) -> DescribeQuorumResponse {
    let response = DescribeQuorumResponse::default();
    if !ctx.may(Operation::Describe, Resource::Cluster) {
        return response.with_error_code(code::CLUSTER_AUTHORIZATION_FAILED);
    }
    let view = ctx.node.quorum.describe();
    if ctx.may_pass_on()
        && view.leader.is_some_and(|leader| leader != ctx.node.quorum.me())
        && let Some(there) = elsewhere::ask(&ctx.node.quorum, ctx.version, &request, LEADER_MAX).await
        && !is_of_no_leader(&there)
    {
        return there;
    }
    let topics = request.topics.iter().map(|topic| topic_row(&ctx, &view, topic));
    let response = response.with_topics(topics.collect());
    if ctx.version >= 2 && !is_of_no_leader(&response) { response.with_nodes(nodes(&ctx, &view)) } else { response }
}

/// Was it refused because whoever answers does not lead? Who was taken for the leader may have lost the lead.
fn is_of_no_leader(answer: &DescribeQuorumResponse) -> bool {
    let mut rows = answer.topics.iter().flat_map(|topic| &topic.partitions);
    rows.any(|row| row.error_code == code::NOT_LEADER_OR_FOLLOWER)
}

/// Where each member listens for controllers; one without such a listener has no row.
fn nodes(ctx: &Ctx, view: &QuorumView) -> Vec<Node> {
    let name = ctx.node.settings.now().node.controller_listeners.first().map(|listener| listener.listener.clone());
    let name = text(&name.unwrap_or_else(|| "CONTROLLER".to_owned()));
    let members = view.voters.iter().chain(&view.observers).filter(|member| !member.node.host.is_empty());
    let row = |member: &ReplicaView| {
        let listener = Listener::default().with_name(name.clone());
        let listener = listener.with_host(text(&member.node.host)).with_port(member.node.port);
        Node::default().with_node_id(BrokerId(member.id.node)).with_listeners(vec![listener])
    };
    members.map(row).collect()
}

fn topic_row(ctx: &Ctx, view: &QuorumView, topic: &AskedTopic) -> TopicData {
    let rows = topic.partitions.iter().map(|asked| partition_row(ctx, view, topic.topic_name.as_str(), asked));
    TopicData::default().with_topic_name(topic.topic_name.clone()).with_partitions(rows.collect())
}

fn partition_row(ctx: &Ctx, view: &QuorumView, topic: &str, asked: &Asked) -> PartitionData {
    let row = PartitionData::default().with_partition_index(asked.partition_index);
    if topic != METADATA_TOPIC || asked.partition_index != 0 {
        let words = "This server does not host this topic-partition.";
        return refused(ctx, row, code::UNKNOWN_TOPIC_OR_PARTITION, words);
    }
    if ctx.came_to_the_controller() && !*ctx.node.quorum.leads().borrow() {
        let words = "For requests intended only for the leader, this error indicates that the broker is not the current \
                     leader.";
        return refused(ctx, row, code::NOT_LEADER_OR_FOLLOWER, words);
    }
    let leader = view.leader.map(|leader| leader.node);
    let members = |members: &[ReplicaView]| members.iter().map(|member| member_row(ctx, member)).collect();
    row.with_leader_id(BrokerId(leader.unwrap_or(NO_LEADER)))
        .with_leader_epoch(i32::try_from(view.epoch).unwrap_or(i32::MAX))
        .with_high_watermark(offset(view.high_watermark))
        .with_current_voters(members(&view.voters))
        .with_observers(members(&view.observers))
}

fn refused(ctx: &Ctx, row: PartitionData, error: Code, words: &str) -> PartitionData {
    let row = row.with_error_code(error);
    if ctx.version >= 2 { row.with_error_message(Some(text(words))) } else { row }
}

fn member_row(ctx: &Ctx, member: &ReplicaView) -> ReplicaState {
    let row = ReplicaState::default().with_replica_id(BrokerId(member.id.node));
    let row = row.with_log_end_offset(member.log_end.map_or(-1, offset));
    let row = if ctx.version >= 2 { row.with_replica_directory_id(view::id(member.id.directory)) } else { row };
    if ctx.version < 1 {
        return row;
    }
    if member.id == ctx.node.quorum.me() {
        let now_ms = ctx.node.clock.now_ms();
        return row.with_last_fetch_timestamp(now_ms).with_last_caught_up_timestamp(now_ms);
    }
    // The leader pushes: what Kafka calls the last fetch is the last answer to it.
    row.with_last_fetch_timestamp(member.last_fetch_ms).with_last_caught_up_timestamp(member.last_caught_up_ms)
}

fn offset(index: u64) -> i64 {
    i64::try_from(index).unwrap_or(i64::MAX)
}
