//! ListOffsets (key 2) and OffsetForLeaderEpoch (key 23).

use ballast_tests::raw::name;
use ballast_wire::frame::ApiKey;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::offset_for_leader_epoch_request::{OffsetForLeaderPartition, OffsetForLeaderTopic};
use kafka_protocol::messages::{ListOffsetsRequest, OffsetForLeaderEpochRequest};

use crate::case::{Case, accepted, refused};
use crate::side::Side;

const LIST: ApiKey = ApiKey::LIST_OFFSETS;
const EPOCH: ApiKey = ApiKey::OFFSET_FOR_LEADER_EPOCH;

pub(crate) const CASES: &[Case] = &[
    accepted(LIST, "latest", |side, v| at(side, v, |_| -1)),
    accepted(LIST, "earliest", |side, v| at(side, v, |_| -2)),
    accepted(LIST, "the newest record", |side, v| at(side, v, |_| -3)).from(7),
    accepted(LIST, "earliest on this node", |side, v| at(side, v, |_| -4)).from(8),
    accepted(LIST, "latest on tiered storage", |side, v| at(side, v, |_| -5)).from(9),
    accepted(LIST, "earliest that is not yet on tiered storage", |side, v| at(side, v, |_| -6)).from(11),
    accepted(LIST, "the time of a record", |side, v| at(side, v, |now| now + 4000)),
    accepted(LIST, "a time between two records", |side, v| at(side, v, |now| now + 3500)),
    accepted(LIST, "a time before all records", |side, v| at(side, v, |_| 0)),
    accepted(LIST, "a time after all records", |side, v| at(side, v, |now| now + 6000)),
    accepted(LIST, "latest that is committed", |side, v| {
        let request = list("letters", vec![row(0, -1), row(1, -1)]).with_isolation_level(1);
        side.ask(v, &request);
    })
    .from(2),
    accepted(LIST, "a replica that debugs", |side, v| {
        side.ask(v, &list("letters", vec![row(0, -1)]).with_replica_id((-2).into()));
    }),
    accepted(LIST, "in the leader's epoch", |side, v| {
        side.ask(v, &list("letters", vec![row(0, -1).with_current_leader_epoch(0)]));
    })
    .from(4),
    accepted(LIST, "after records were deleted", |side, v| {
        let topic = side.fresh(1, &[]);
        let batch = side.batch_at(0, &["a", "b", "c"]);
        side.connection.append(&topic.name, 0, batch);
        side.connection.delete_records(&topic.name, 0, 2);
        let rows = vec![row(0, -2)];
        side.ask(v, &list(&topic.name, rows));
        side.ask(v, &list(&topic.name, vec![row(0, 0)]));
    }),
    refused(LIST, 35, "the newest record, before it had a number", |side, v| at(side, v, |_| -3)).to(6),
    refused(LIST, 35, "earliest on this node, before it had a number", |side, v| at(side, v, |_| -4)).to(7),
    refused(LIST, 35, "latest on tiered storage, before it had a number", |side, v| at(side, v, |_| -5)).to(8),
    refused(LIST, 35, "a number that means nothing", |side, v| at(side, v, |_| -9)),
    refused(LIST, 3, "a partition that is not there", |side, v| {
        side.ask(v, &list("letters", vec![row(7, -1)]));
    }),
    refused(LIST, 3, "a topic that is not there", |side, v| {
        side.ask(v, &list("absent", vec![row(0, -1)]));
    }),
    refused(LIST, 42, "one partition twice", |side, v| {
        side.ask(v, &list("letters", vec![row(0, -1), row(0, -2)]));
    }),
    refused(LIST, 75, "an epoch that is not yet", |side, v| {
        side.ask(v, &list("letters", vec![row(0, -1).with_current_leader_epoch(9)]));
    })
    .from(4),
    accepted(EPOCH, "the end of the leader's epoch", |side, v| end(side, v, "letters", 0, -1, 0)),
    accepted(EPOCH, "an epoch that never was", |side, v| end(side, v, "letters", 0, -1, 5)),
    accepted(EPOCH, "an epoch before all", |side, v| end(side, v, "letters", 0, -1, -1)),
    accepted(EPOCH, "in the leader's epoch", |side, v| end(side, v, "letters", 0, 0, 0)),
    accepted(EPOCH, "an empty partition", |side, v| end(side, v, "letters", 1, -1, 0)),
    refused(EPOCH, 75, "an epoch of the leader that is not yet", |side, v| end(side, v, "letters", 0, 9, 0)),
    refused(EPOCH, 3, "a partition that is not there", |side, v| end(side, v, "letters", 7, -1, 0)),
    refused(EPOCH, 3, "a topic that is not there", |side, v| end(side, v, "absent", 0, -1, 0)),
];

fn row(partition: i32, timestamp: i64) -> ListOffsetsPartition {
    ListOffsetsPartition::default()
        .with_partition_index(partition)
        .with_timestamp(timestamp)
        .with_current_leader_epoch(-1)
}

fn list(topic: &str, rows: Vec<ListOffsetsPartition>) -> ListOffsetsRequest {
    let topic = ListOffsetsTopic::default().with_name(name(topic)).with_partitions(rows);
    ListOffsetsRequest::default().with_replica_id((-1).into()).with_topics(vec![topic])
}

/// Asks for a time or special number in both partitions of the letters.
fn at(side: &mut Side, v: i16, timestamp: impl FnOnce(i64) -> i64) {
    side.letters();
    let timestamp = timestamp(side.now_ms);
    side.ask(v, &list("letters", vec![row(0, timestamp), row(1, timestamp)]));
}

fn end(side: &mut Side, v: i16, topic: &str, partition: i32, current: i32, epoch: i32) {
    let row = OffsetForLeaderPartition::default()
        .with_partition(partition)
        .with_current_leader_epoch(current)
        .with_leader_epoch(epoch);
    let topic = OffsetForLeaderTopic::default().with_topic(name(topic)).with_partitions(vec![row]);
    let request = OffsetForLeaderEpochRequest::default().with_topics(vec![topic]);
    side.ask(v, &if v >= 3 { request.with_replica_id((-1).into()) } else { request });
}
