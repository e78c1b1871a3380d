//! Leaders and followers: what each of them takes and refuses. Produce (key 0), Fetch (1) by readers and by replicas,
//! ListOffsets (2), OffsetForLeaderEpoch (23), DeleteRecords (21), DescribeProducers (61), AlterReplicaLogDirs (34).

use ballast_tests::raw::messages::produce;
use ballast_tests::raw::{Fetch, batch, fetch_row, name, text};
use ballast_tests::target::Topic;
use ballast_wire::frame::ApiKey;
use kafka_protocol::messages::alter_replica_log_dirs_request::{AlterReplicaLogDir, AlterReplicaLogDirTopic};
use kafka_protocol::messages::delete_records_request::{DeleteRecordsPartition, DeleteRecordsTopic};
use kafka_protocol::messages::describe_producers_request::TopicRequest;
use kafka_protocol::messages::fetch_request::{FetchPartition, ReplicaState};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::offset_for_leader_epoch_request::{OffsetForLeaderPartition, OffsetForLeaderTopic};
use kafka_protocol::messages::{
    AlterReplicaLogDirsRequest, DeleteRecordsRequest, DescribeLogDirsRequest, DescribeProducersRequest,
    ListOffsetsRequest, OffsetForLeaderEpochRequest, ProduceRequest,
};

use super::{RECORDS, single, spread};
use crate::case::{Case, accepted, refused};
use crate::cases::fetch;
use crate::side::Side;

const PRODUCE: ApiKey = ApiKey::PRODUCE;
const FETCH: ApiKey = ApiKey::FETCH;
const OFFSETS: ApiKey = ApiKey::LIST_OFFSETS;
const EPOCHS: ApiKey = ApiKey::OFFSET_FOR_LEADER_EPOCH;
const DELETE: ApiKey = ApiKey::DELETE_RECORDS;
const PRODUCERS: ApiKey = ApiKey::DESCRIBE_PRODUCERS;
const MOVES: ApiKey = ApiKey::ALTER_REPLICA_LOG_DIRS;
/// From here on a reader says where it is, and may be sent to a follower.
const RACKS: i16 = 11;
/// From here on a replica says who it is in a field of its own.
const STATES: i16 = 15;
/// Whom ListOffsets and Fetch know as somebody who looks into any replica.
const DEBUGGING: i32 = -2;
const LATEST: i64 = -1;

pub(super) const CASES: &[Case] = &[
    refused(PRODUCE, 6, "at a follower", |side, v| write(side, v, 2, spread, 0)).from(3),
    refused(PRODUCE, 6, "at a node without a replica", |side, v| write(side, v, 2, single, 0)).from(3),
    refused(PRODUCE, 3, "a partition that is nowhere", |side, v| write(side, v, 2, single, 7)).from(3),
    accepted(FETCH, "a reader at a follower", |side, v| read(side, v, 2, "", |_| fetch_row(0, 0))).from(RACKS),
    refused(FETCH, 6, "a reader at a follower, before there were racks", |side, v| {
        read(side, v, 2, "", |_| fetch_row(0, 0));
    })
    .to(RACKS - 1),
    accepted(FETCH, "a reader at the end of a follower", |side, v| read(side, v, 3, "", |_| fetch_row(0, RECORDS)))
        .from(RACKS),
    refused(FETCH, 1, "a reader beyond the end of a follower", |side, v| {
        read(side, v, 2, "", |_| fetch_row(0, RECORDS + 1));
    })
    .from(RACKS),
    refused(FETCH, 75, "a reader at a follower, in an epoch that is not yet", |side, v| {
        read(side, v, 2, "", |_| fetch_row(0, 0).with_current_leader_epoch(9));
    })
    .from(RACKS),
    accepted(FETCH, "a reader that a follower is near", |side, v| read(side, v, 1, "rack-2", |_| fetch_row(0, 0)))
        .from(RACKS),
    accepted(FETCH, "a reader that the leader is near", |side, v| read(side, v, 1, "rack-1", |_| fetch_row(0, 0)))
        .from(RACKS),
    accepted(FETCH, "a reader that nobody is near", |side, v| read(side, v, 1, "rack-9", |_| fetch_row(0, 0)))
        .from(RACKS),
    accepted(FETCH, "a reader at the follower that is near", |side, v| {
        read(side, v, 2, "rack-2", |_| fetch_row(0, 0));
    })
    .from(RACKS),
    refused(FETCH, 6, "a reader at a node without a replica", |side, v| {
        side.at(2);
        let topic = single(side);
        fetch::ask(side, v, Fetch::of(&topic.name, vec![fetch_row(0, 0)]), &topic);
    }),
    accepted(FETCH, "a replica that has everything", |side, v| {
        replicate(side, v, 1, 2, |_| replicated(RECORDS));
    }),
    refused(FETCH, 6, "a replica at a follower", |side, v| replicate(side, v, 2, 3, |_| replicated(RECORDS))),
    refused(FETCH, 6, "a broker that is no replica", |side, v| replicate(side, v, 1, 9, |_| replicated(RECORDS))),
    refused(FETCH, 75, "a replica in an epoch that is not yet", |side, v| {
        replicate(side, v, 1, 2, |_| replicated(RECORDS).with_current_leader_epoch(9));
    })
    .from(9),
    refused(FETCH, 1, "a replica beyond the end", |side, v| replicate(side, v, 1, 2, |_| replicated(RECORDS + 5))),
    refused(OFFSETS, 6, "of a follower", |side, v| offsets(side, v, 2, -1)),
    accepted(OFFSETS, "of a follower, to look into it", |side, v| offsets(side, v, 2, DEBUGGING)),
    accepted(OFFSETS, "a replica asks", |side, v| offsets(side, v, 1, 2)),
    refused(EPOCHS, 6, "of a follower", |side, v| epochs(side, v, 2, -1, 0)),
    accepted(EPOCHS, "a replica asks", |side, v| epochs(side, v, 1, 2, 0)).from(3),
    refused(EPOCHS, 75, "a replica asks in an epoch that is not yet", |side, v| epochs(side, v, 1, 2, 9)).from(3),
    refused(DELETE, 6, "at a follower", |side, v| {
        side.at(2);
        let topic = spread(side);
        let row = DeleteRecordsPartition::default().with_partition_index(0).with_offset(1);
        let topic = DeleteRecordsTopic::default().with_name(name(&topic.name)).with_partitions(vec![row]);
        side.ask(v, &DeleteRecordsRequest::default().with_timeout_ms(5000).with_topics(vec![topic]));
    }),
    accepted(PRODUCERS, "of a follower", |side, v| {
        side.at(2);
        let topic = spread(side);
        let topic = TopicRequest::default().with_name(name(&topic.name)).with_partition_indexes(vec![0]);
        side.ask(v, &DescribeProducersRequest::default().with_topics(vec![topic]));
    }),
    refused(MOVES, 9, "a replica of another node", |side, v| {
        side.at(2);
        let dirs = side.connection.call(1, &DescribeLogDirsRequest::default().with_topics(None));
        let topic = AlterReplicaLogDirTopic::default().with_name(name("single")).with_partitions(vec![0, 7]);
        let dir = AlterReplicaLogDir::default().with_path(dirs.results[0].log_dir.clone()).with_topics(vec![topic]);
        side.ask(v, &AlterReplicaLogDirsRequest::default().with_dirs(vec![dir]));
    }),
];

/// When node 1 has been away, and node 2 leads in a later epoch.
pub(super) const AFTERWARDS: &[Case] = &[
    refused(PRODUCE, 6, "at the leader of before", |side, v| write(side, v, 1, spread, 0)).from(3),
    accepted(FETCH, "a reader at the leader of before", |side, v| read(side, v, 1, "", |_| fetch_row(0, 0)))
        .from(RACKS),
    refused(FETCH, 74, "a reader in an epoch of before", |side, v| {
        read(side, v, 2, "", |_| fetch_row(0, 0).with_current_leader_epoch(0));
    })
    .from(9),
    refused(FETCH, 74, "a replica in an epoch of before", |side, v| {
        replicate(side, v, 2, 3, |_| replicated(RECORDS).with_current_leader_epoch(0));
    })
    .from(9),
    accepted(FETCH, "after a record of an epoch of before", |side, v| {
        read(side, v, 2, "", |_| fetch_row(0, RECORDS).with_last_fetched_epoch(0));
    })
    .from(12),
    accepted(EPOCHS, "where an epoch of before ended", |side, v| {
        side.at(2);
        ask_epochs(side, v, -1, -1);
    }),
    refused(EPOCHS, 74, "asked in an epoch of before", |side, v| {
        side.at(2);
        ask_epochs(side, v, -1, 0);
    }),
    accepted(OFFSETS, "of the leader of now", |side, v| offsets(side, v, 2, -1)),
    refused(OFFSETS, 6, "of the leader of before", |side, v| offsets(side, v, 1, -1)),
];

fn write(side: &mut Side, v: i16, node: u8, topic: fn(&mut Side) -> Topic, partition: i32) {
    side.at(node);
    let topic = topic(side);
    let mut request = produce(-1, &topic.name, partition, Some(batch(&["refused"])));
    if v >= 13 {
        request.topic_data[0].name = Default::default();
        request.topic_data[0].topic_id = topic.id;
    }
    side.ask::<ProduceRequest>(v, &request);
}

fn read(side: &mut Side, v: i16, node: u8, rack: &str, row: impl FnOnce(&Side) -> FetchPartition) {
    side.at(node);
    let topic = spread(side);
    let row = row(side);
    let mut asked = Fetch::of(&topic.name, vec![row]);
    asked.0.rack_id = text(rack);
    fetch::ask(side, v, asked, &topic);
}

/// What a replica says that has everything below `offset`.
fn replicated(offset: i64) -> FetchPartition {
    fetch_row(0, offset).with_log_start_offset(0)
}

/// Node `id` fetches from `node`, as far as the version lets it say who it is.
fn replicate(side: &mut Side, v: i16, node: u8, id: i32, row: impl FnOnce(&Side) -> FetchPartition) {
    side.at(node);
    let topic = spread(side);
    let row = row(side);
    let mut asked = Fetch::of(&topic.name, vec![row]);
    if v >= STATES {
        asked.0.replica_id = (-1).into();
        asked.0.replica_state = ReplicaState::default().with_replica_id(id.into()).with_replica_epoch(-1);
    } else {
        asked.0.replica_id = id.into();
    }
    fetch::ask(side, v, asked, &topic);
}

fn offsets(side: &mut Side, v: i16, node: u8, replica: i32) {
    side.at(node);
    let topic = spread(side);
    let row = ListOffsetsPartition::default().with_partition_index(0).with_timestamp(LATEST);
    let row = row.with_current_leader_epoch(-1);
    let topic = ListOffsetsTopic::default().with_name(name(&topic.name)).with_partitions(vec![row]);
    side.ask(v, &ListOffsetsRequest::default().with_replica_id(replica.into()).with_topics(vec![topic]));
}

fn epochs(side: &mut Side, v: i16, node: u8, replica: i32, current: i32) {
    side.at(node);
    spread(side);
    ask_epochs(side, v, replica, current);
}

fn ask_epochs(side: &mut Side, v: i16, replica: i32, current: i32) {
    let row =
        OffsetForLeaderPartition::default().with_partition(0).with_current_leader_epoch(current).with_leader_epoch(0);
    let topic = OffsetForLeaderTopic::default().with_topic(name("spread")).with_partitions(vec![row]);
    let request = OffsetForLeaderEpochRequest::default().with_topics(vec![topic]);
    side.ask(v, &if v >= 3 { request.with_replica_id(replica.into()) } else { request });
}
