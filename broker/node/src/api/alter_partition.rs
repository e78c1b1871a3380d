//! AlterPartition (key 56), version 3, on controller listeners.
//!
//! A leader asks for other ISRs, with the epochs of the brokers in them. For the request as a whole: 77 for a broker epoch
//! that is not the present one and for a broker that is not registered, 41 where this node does not lead. Each row has the
//! partition as it is now, or why it did not change (kafka's codes: 3, 41, 42, 74, 95, 100, 107, 108).
//! Not done: v2, which cannot tell one life of a broker from another.

use std::collections::BTreeMap;

use ballast_core::controller::{AlterPartition, AlteredPartition, IsrChange, Request, Response};
use kafka_protocol::messages::alter_partition_response::{PartitionData, TopicData};
use kafka_protocol::messages::{AlterPartitionRequest, AlterPartitionResponse, BrokerId};

use super::call::Ctx;
use super::code::{self, Code};
use super::view;
use crate::session::{Operation, Resource};

pub(super) async fn handle(ctx: Ctx, request: AlterPartitionRequest) -> AlterPartitionResponse {
    let refused = |error: Code| AlterPartitionResponse::default().with_error_code(error);
    if !ctx.may(Operation::ClusterAction, Resource::Cluster) {
        return refused(code::CLUSTER_AUTHORIZATION_FAILED);
    }
    match ctx.node.controller.ask_here(Request::AlterPartition(asked(&request))).await.response {
        Response::AlterPartition(Ok(rows)) => AlterPartitionResponse::default().with_topics(topics(rows)),
        Response::AlterPartition(Err(error)) => {
            tracing::info!(broker = request.broker_id.0, %error, "a change of ISRs was refused");
            refused(error.code())
        }
        Response::Refused(refusal) => refused(refusal.code()),
        other => unreachable!("AlterPartition was answered with {other:?}"),
    }
}

fn asked(request: &AlterPartitionRequest) -> AlterPartition {
    let rows = request.topics.iter().flat_map(|topic| {
        topic.partitions.iter().map(|row| IsrChange {
            topic: view::own_id(topic.topic_id),
            index: row.partition_index,
            leader_epoch: row.leader_epoch,
            partition_epoch: row.partition_epoch,
            isr: row.new_isr_with_epochs.iter().map(|member| (member.broker_id.0, member.broker_epoch)).collect(),
            recovery: row.leader_recovery_state,
        })
    });
    AlterPartition { broker: request.broker_id.0, broker_epoch: request.broker_epoch, partitions: rows.collect() }
}

fn topics(rows: Vec<AlteredPartition>) -> Vec<TopicData> {
    let mut topics: BTreeMap<_, Vec<PartitionData>> = BTreeMap::new();
    for row in rows {
        let data = PartitionData::default().with_partition_index(row.index);
        let data = match row.result {
            Ok(state) => data
                .with_leader_id(BrokerId(state.leader))
                .with_leader_epoch(state.leader_epoch)
                .with_isr(state.isr.into_iter().map(BrokerId).collect())
                .with_leader_recovery_state(state.recovery)
                .with_partition_epoch(state.partition_epoch),
            Err(error) => data.with_error_code(error.code()),
        };
        topics.entry(row.topic).or_default().push(data);
    }
    let topic = |(id, rows)| TopicData::default().with_topic_id(view::id(id)).with_partitions(rows);
    topics.into_iter().map(topic).collect()
}
