//! What a controller's listener is asked, by brokers: BrokerRegistration (key 62), BrokerHeartbeat (63), AlterPartition (56),
//! AllocateProducerIds (67), AssignReplicasToDirs (73), Envelope (58); by administrators: DescribeCluster (60), DescribeQuorum
//! (55), CreateTopics (19) at a controller, and UnregisterBroker (64) at a broker.

use ballast_tests::raw::connection::encoded;
use ballast_tests::raw::text;
use ballast_wire::frame::ApiKey;
use bytes::Bytes;
use kafka_protocol::messages::alter_partition_request::{BrokerState, PartitionData, TopicData};
use kafka_protocol::messages::assign_replicas_to_dirs_request::{
    DirectoryData, PartitionData as AssignedPartition, TopicData as AssignedTopic,
};
use kafka_protocol::messages::{
    AllocateProducerIdsRequest, AlterPartitionRequest, ApiVersionsRequest, AssignReplicasToDirsRequest,
    DescribeClusterRequest, EnvelopeRequest, IncrementalAlterConfigsRequest, UnregisterBrokerRequest,
};
use uuid::Uuid;

use super::stranger::{self, ID, beat, registration};
use super::told::{OWN_LOG, counted, create, quorum};
use super::{controller, spread};
use crate::case::{Case, accepted, refused};
use crate::side::Side;

const REGISTER: ApiKey = ApiKey::BROKER_REGISTRATION;
const BEAT: ApiKey = ApiKey::BROKER_HEARTBEAT;
const ALTER: ApiKey = ApiKey::ALTER_PARTITION;
const IDS: ApiKey = ApiKey::ALLOCATE_PRODUCER_IDS;
const DIRS: ApiKey = ApiKey::ASSIGN_REPLICAS_TO_DIRS;
const ENVELOPE: ApiKey = ApiKey::ENVELOPE;
const CLUSTER: ApiKey = ApiKey::DESCRIBE_CLUSTER;
const CREATE: ApiKey = ApiKey::CREATE_TOPICS;
const UNREGISTER: ApiKey = ApiKey::UNREGISTER_BROKER;
/// DescribeCluster asks for controllers.
const CONTROLLERS: i8 = 2;

const EPOCH: &[(&str, &str)] = &[("broker_epoch", "an offset of the metadata log")];
const ADDRESSES: &[(&str, &str)] = &[("controller_id", "each quorum elects its own")];

/// In this order: the broker that cases register has to be there before it is asked about.
pub(super) const CASES: &[Case] = &[
    accepted(CLUSTER, "the controllers, asked of one", |side, v| {
        at(side, true);
        side.ask(v, &DescribeClusterRequest::default().with_endpoint_type(CONTROLLERS));
    })
    .from(1)
    .aside(ADDRESSES),
    refused(CLUSTER, 114, "the brokers, asked of a controller", |side, v| {
        at(side, true);
        side.ask(v, &DescribeClusterRequest::default());
    })
    .from(1),
    accepted(super::told::QUORUM, "asked of the active controller", |side, v| {
        at(side, true);
        quorum(side, v);
    })
    .aside(OWN_LOG),
    refused(super::told::QUORUM, 6, "asked of a controller that is not active", |side, v| {
        at(side, false);
        quorum(side, v);
    }),
    accepted(CREATE, "at the active controller", |side, v| {
        at(side, true);
        let topic = side.unique("topic");
        create(side, v, counted(&topic, 1, 3));
    }),
    refused(CREATE, 41, "at a controller that is not active", |side, v| {
        at(side, false);
        create(side, v, counted("nowhere", 1, 3));
    }),
    refused(REGISTER, 104, "in another cluster", |side, v| {
        let sound = registration(side);
        register(side, v, sound.with_cluster_id(text("elsewhere")));
    }),
    refused(REGISTER, 119, "without features", |side, v| {
        let sound = registration(side);
        register(side, v, sound.with_features(vec![]));
    }),
    refused(REGISTER, 35, "without the level that the cluster has", |side, v| {
        let mut sound = registration(side);
        let level = sound.features.iter_mut().find(|feature| feature.name.as_str() == "metadata.version");
        level.expect("every broker has it").max_supported_version = 7;
        register(side, v, sound);
    }),
    refused(REGISTER, 119, "without a directory", |side, v| {
        let sound = registration(side);
        register(side, v, sound.with_log_dirs(vec![]));
    }),
    accepted(REGISTER, "without a listener", |side, v| {
        let sound = registration(side);
        register(side, v, sound.with_listeners(vec![]));
    })
    .aside(EPOCH),
    refused(REGISTER, 101, "under the id of a broker that lives", |side, v| {
        let sound = registration(side);
        register(side, v, sound.with_broker_id(2.into()));
    }),
    refused(REGISTER, 41, "at a controller that is not active", |side, v| {
        let sound = registration(side);
        at(side, false);
        side.ask(v, &versioned(v, sound));
    }),
    accepted(REGISTER, "a broker", |side, v| {
        let sound = registration(side);
        at(side, true);
        let told = side.ask(v, &versioned(v, sound));
        side.stranger_epoch = told.expect("it is answered").broker_epoch;
    })
    .aside(EPOCH),
    accepted(REGISTER, "a broker again, in the same life", |side, v| {
        let sound = registration(side);
        at(side, true);
        let told = side.ask(v, &versioned(v, sound));
        side.stranger_epoch = told.expect("it is answered").broker_epoch;
    })
    .aside(EPOCH),
    accepted(BEAT, "a broker that is let in", |side, v| {
        at(side, true);
        let sign = beat(side.stranger_epoch, false);
        side.ask(v, &sign);
    }),
    accepted(BEAT, "a broker that asks to be shut out", |side, v| {
        stranger::join(side);
        let sign = beat(side.stranger_epoch, true);
        side.ask(v, &sign);
    }),
    refused(BEAT, 77, "of a life before", |side, v| {
        at(side, true);
        side.ask(v, &beat(1, false));
    }),
    refused(BEAT, 77, "a broker that is not registered", |side, v| {
        at(side, true);
        side.ask(v, &beat(1, false).with_broker_id(7.into()));
    }),
    refused(BEAT, 41, "at a controller that is not active", |side, v| {
        at(side, false);
        let sign = beat(side.stranger_epoch, false);
        side.ask(v, &sign);
    }),
    accepted(ALTER, "a replica falls out", |side, v| {
        alter(side, v, |row| row);
    }),
    accepted(ALTER, "a replica falls out and comes back", |side, v| {
        let topic = alter(side, v, |row| row);
        let row = in_sync(side, &[9, 1]).with_partition_epoch(1);
        ask(side, v, topic, row);
    }),
    accepted(ALTER, "nothing changes", |side, v| {
        alter(side, v, |row| row.with_new_isr_with_epochs(states(&[9, 1, 2])));
    }),
    refused(ALTER, 77, "by a broker of a life before", |side, v| {
        let topic = stranger::led_by_it(side);
        let row = in_sync(side, &[9, 1]);
        let epoch = std::mem::replace(&mut side.stranger_epoch, 1);
        ask(side, v, topic.id, row);
        side.stranger_epoch = epoch;
    }),
    refused(ALTER, 74, "in an epoch of before", |side, v| {
        alter(side, v, |row| row.with_leader_epoch(-1));
    }),
    refused(ALTER, 41, "in an epoch that is not yet", |side, v| {
        alter(side, v, |row| row.with_leader_epoch(5));
    }),
    refused(ALTER, 95, "of a partition that has changed", |side, v| {
        alter(side, v, |row| row.with_partition_epoch(-1));
    }),
    refused(ALTER, 42, "without the leader", |side, v| {
        alter(side, v, |row| row.with_new_isr_with_epochs(states(&[1, 2])));
    }),
    refused(ALTER, 42, "with nobody", |side, v| {
        alter(side, v, |row| row.with_new_isr_with_epochs(vec![]));
    }),
    refused(ALTER, 42, "with a broker that is no replica", |side, v| {
        alter(side, v, |row| row.with_new_isr_with_epochs(states(&[9, 1, 3])));
    }),
    refused(ALTER, 107, "with a replica of a life before", |side, v| {
        alter(side, v, |mut row| {
            row.new_isr_with_epochs[1].broker_epoch = 1;
            row
        });
    }),
    refused(ALTER, 3, "a partition that is not there", |side, v| {
        alter(side, v, |row| row.with_partition_index(7));
    }),
    refused(ALTER, 100, "an id that no topic has", |side, v| {
        stranger::join(side);
        let row = in_sync(side, &[9]);
        ask(side, v, Uuid::from_u128(7), row);
    }),
    refused(ALTER, 42, "of what another leads", |side, v| {
        let topic = spread(side).id;
        stranger::join(side);
        let row = in_sync(side, &[1, 2]);
        ask(side, v, topic, row);
    }),
    refused(ALTER, 41, "at a controller that is not active", |side, v| {
        let topic = spread(side).id;
        at(side, false);
        let row = in_sync(side, &[9, 1]);
        ask(side, v, topic, row);
    }),
    accepted(IDS, "a block", |side, v| {
        stranger::join(side);
        let request = AllocateProducerIdsRequest::default().with_broker_id(ID.into());
        let request = request.with_broker_epoch(side.stranger_epoch);
        side.ask(v, &request);
    })
    .aside(&[("producer_id_start", "as many as brokers have asked for before")]),
    refused(IDS, 77, "by a broker of a life before", |side, v| {
        at(side, true);
        side.ask(v, &AllocateProducerIdsRequest::default().with_broker_id(ID.into()).with_broker_epoch(1));
    }),
    accepted(DIRS, "a replica in its directory", |side, v| {
        let topic = stranger::led_by_it(side).id;
        assign(side, v, topic, 0x1009, 0);
    }),
    refused(DIRS, 3, "a partition that is not there", |side, v| {
        let topic = stranger::led_by_it(side).id;
        assign(side, v, topic, 0x1009, 7);
    }),
    refused(DIRS, 100, "an id that no topic has", |side, v| {
        stranger::join(side);
        assign(side, v, Uuid::from_u128(7), 0x1009, 0);
    }),
    refused(DIRS, 77, "by a broker of a life before", |side, v| {
        stranger::join(side);
        let epoch = std::mem::replace(&mut side.stranger_epoch, 1);
        assign(side, v, Uuid::from_u128(7), 0x1009, 0);
        side.stranger_epoch = epoch;
    }),
    accepted(ENVELOPE, "a request within", |side, v| {
        at(side, true);
        let body = encoded(1, &IncrementalAlterConfigsRequest::default());
        side.ask(v, &envelope(ANONYMOUS, [&FLEXIBLE_HEADER[..], &body].concat()));
    }),
    refused(ENVELOPE, 42, "a request within that a broker answers itself", |side, v| {
        at(side, true);
        let body = encoded(0, &ApiVersionsRequest::default());
        side.ask(v, &envelope(ANONYMOUS, [&PLAIN_HEADER[..], &body].concat()));
    }),
    refused(ENVELOPE, 35, "with nothing within", |side, v| {
        at(side, true);
        side.ask(v, &envelope(ANONYMOUS, Vec::new()));
    }),
    refused(ENVELOPE, 35, "a request within that ends with its header", |side, v| {
        at(side, true);
        side.ask(v, &envelope(ANONYMOUS, FLEXIBLE_HEADER.to_vec()));
    }),
    refused(ENVELOPE, 35, "an API within that nobody knows", |side, v| {
        at(side, true);
        side.ask(v, &envelope(ANONYMOUS, [&[0x30, 0x39][..], &PLAIN_HEADER[2..]].concat()));
    }),
    refused(ENVELOPE, 42, "from an address that is none", |side, v| {
        at(side, true);
        let body = encoded(1, &IncrementalAlterConfigsRequest::default());
        let within = envelope(ANONYMOUS, [&FLEXIBLE_HEADER[..], &body].concat());
        side.ask(v, &within.with_client_host_address(Bytes::from_static(&[127, 0])));
    }),
    refused(ENVELOPE, 97, "in nobody's name", |side, v| {
        at(side, true);
        let body = encoded(0, &ApiVersionsRequest::default());
        side.ask(v, &envelope(b"", [&PLAIN_HEADER[..], &body].concat()));
    }),
    refused(ENVELOPE, 41, "at a controller that is not active", |side, v| {
        at(side, false);
        let body = encoded(0, &UnregisterBrokerRequest::default().with_broker_id(7.into()));
        side.ask(v, &envelope(ANONYMOUS, [&UNREGISTER_HEADER[..], &body].concat()));
    }),
    refused(UNREGISTER, 102, "a broker that is not registered", |side, v| {
        side.ask(v, &UnregisterBrokerRequest::default().with_broker_id(7.into()));
    }),
    // The last one: it is needed no more.
    accepted(UNREGISTER, "a broker that is shut out", |side, v| {
        stranger::join(side);
        let sign = beat(side.stranger_epoch, true);
        side.call(1, &sign);
        side.at(1);
        side.ask(v, &UnregisterBrokerRequest::default().with_broker_id(ID.into()));
    }),
];

/// From now on the active controller is asked, or one that is not.
fn at(side: &mut Side, active: bool) {
    let controller = controller(side, active);
    side.turn_to(controller);
}

fn register(side: &mut Side, v: i16, request: kafka_protocol::messages::BrokerRegistrationRequest) {
    at(side, true);
    side.ask(v, &versioned(v, request));
}

/// Without what the version has no room for.
fn versioned(
    v: i16,
    request: kafka_protocol::messages::BrokerRegistrationRequest,
) -> kafka_protocol::messages::BrokerRegistrationRequest {
    if v < 3 { request.with_previous_broker_epoch(-1) } else { request }
}

/// Replicas in sync, each in whatever life it has.
fn states(ids: &[i32]) -> Vec<BrokerState> {
    ids.iter().map(|id| BrokerState::default().with_broker_id((*id).into()).with_broker_epoch(-1)).collect()
}

fn in_sync(_: &Side, ids: &[i32]) -> PartitionData {
    PartitionData::default().with_new_isr_with_epochs(states(ids))
}

/// The stranger says that it and node 1 are in sync, or what `change` makes of that, of a topic of its own.
fn alter(side: &mut Side, v: i16, change: impl FnOnce(PartitionData) -> PartitionData) -> Uuid {
    let topic = stranger::led_by_it(side).id;
    let row = change(in_sync(side, &[9, 1]));
    ask(side, v, topic, row);
    topic
}

fn ask(side: &mut Side, v: i16, topic: Uuid, row: PartitionData) {
    let topic = TopicData::default().with_topic_id(topic).with_partitions(vec![row]);
    let request = AlterPartitionRequest::default().with_broker_id(ID.into()).with_broker_epoch(side.stranger_epoch);
    side.ask(v, &request.with_topics(vec![topic]));
}

fn assign(side: &mut Side, v: i16, topic: Uuid, dir: u128, partition: i32) {
    let partition = AssignedPartition::default().with_partition_index(partition);
    let topic = AssignedTopic::default().with_topic_id(topic).with_partitions(vec![partition]);
    let dir = DirectoryData::default().with_id(Uuid::from_u128(dir)).with_topics(vec![topic]);
    let request = AssignReplicasToDirsRequest::default().with_broker_id(ID.into());
    side.ask(v, &request.with_broker_epoch(side.stranger_epoch).with_directories(vec![dir]));
}

/// A principal as brokers write it: version 0, `User`, `ANONYMOUS`, not by a token, no tags.
const ANONYMOUS: &[u8] = b"\x00\x00\x05User\x0aANONYMOUS\x00\x00";
/// ApiVersions 0, correlation id 7, no client id.
const PLAIN_HEADER: [u8; 10] = [0, 18, 0, 0, 0, 0, 0, 7, 0xff, 0xff];
/// UnregisterBroker 0, the same, no tags.
const UNREGISTER_HEADER: [u8; 11] = [0, 64, 0, 0, 0, 0, 0, 7, 0xff, 0xff, 0];
/// IncrementalAlterConfigs 1, the same, no tags.
const FLEXIBLE_HEADER: [u8; 11] = [0, 44, 0, 1, 0, 0, 0, 7, 0xff, 0xff, 0];

fn envelope(principal: &'static [u8], data: Vec<u8>) -> EnvelopeRequest {
    EnvelopeRequest::default()
        .with_request_data(data.into())
        .with_request_principal(Some(Bytes::from_static(principal)))
        .with_client_host_address(Bytes::from_static(&[127, 0, 0, 1]))
}
