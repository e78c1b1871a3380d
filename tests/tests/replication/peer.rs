//! A broker that is only as much of one as a leader sees: it registers, shows signs of life, and fetches.
//!
//! Holds: it does nothing by itself. Its session lasts longer than any test, so that it is alive until it asks to be fenced.

use ballast_broker::embed::Cluster;
use ballast_tests::raw::rows::{eventually, rows_of};
use ballast_tests::raw::{Connection, fetch_row, name, text};
use kafka_protocol::messages::broker_registration_request::{Feature, Listener};
use kafka_protocol::messages::create_topics_request::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig,
};
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic, ReplicaState};
use kafka_protocol::messages::fetch_response::PartitionData;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::metadata_response::MetadataResponsePartition;
use kafka_protocol::messages::{
    ApiVersionsRequest, BrokerHeartbeatRequest, BrokerRegistrationRequest, CreateTopicsRequest, DescribeQuorumRequest,
    FetchRequest, MetadataRequest,
};
use uuid::Uuid;

/// The broker that leads.
pub(crate) const LEADER: i32 = 1;
/// Newest version of Fetch.
pub(crate) const FETCH: i16 = 18;

/// One broker, with these settings besides.
pub(crate) fn leader(settings: &[(&str, &str)]) -> Cluster {
    let builder = Cluster::builder().brokers(1).setting("broker.session.timeout.ms", "600000");
    let builder = builder.setting("replica.lag.time.max.ms", "600000");
    let builder = settings.iter().fold(builder, |builder, (key, value)| builder.setting(key, value));
    builder.start_blocking().expect("a broker starts")
}

/// A registered broker.
pub(crate) struct Peer {
    pub(crate) id: i32,
    /// Its broker epoch.
    pub(crate) epoch: i64,
    controller: Connection,
    leader: Connection,
}

impl Peer {
    /// Registers, and is let in. `rack` may be empty.
    pub(crate) fn join(cluster: &Cluster, id: i32, rack: &str) -> Peer {
        let mut leader = Connection::open(cluster.broker(LEADER).bootstrap());
        let nodes = leader.call(2, &DescribeQuorumRequest::default()).nodes;
        let listener = &nodes[0].listeners[0];
        let mut controller = Connection::open(&format!("{}:{}", listener.host, listener.port));
        let features = leader.call(
            4,
            &ApiVersionsRequest::default().with_client_software_name(text("t")).with_client_software_version(text("1")),
        );
        let features = features.supported_features.iter().map(|feature| {
            let range = Feature::default().with_name(feature.name.clone());
            range.with_min_supported_version(feature.min_version).with_max_supported_version(feature.max_version)
        });
        let metadata = leader.call(12, &MetadataRequest::default().with_topics(Some(vec![])));
        let at = Listener::default().with_name(text("PLAINTEXT")).with_host(text("127.0.0.1")).with_port(9);
        let registration = BrokerRegistrationRequest::default()
            .with_broker_id(id.into())
            .with_cluster_id(metadata.cluster_id.expect("a cluster has an id"))
            .with_incarnation_id(Uuid::from_u128(0x100 + id as u128))
            .with_listeners(vec![at])
            .with_features(features.collect())
            .with_rack((!rack.is_empty()).then(|| text(rack)))
            .with_log_dirs(vec![Uuid::from_u128(0x1000 + id as u128)])
            .with_previous_broker_epoch(-1);
        let registered = controller.call(4, &registration);
        assert_eq!(registered.error_code, 0);
        let mut peer = Peer { id, epoch: registered.broker_epoch, controller, leader };
        peer.beat(false);
        peer
    }

    /// A sign of life, with which it is let in or asks to be shut out.
    pub(crate) fn beat(&mut self, want_fence: bool) {
        let request = BrokerHeartbeatRequest::default()
            .with_broker_id(self.id.into())
            .with_broker_epoch(self.epoch)
            .with_current_metadata_offset(i64::MAX)
            .with_want_fence(want_fence);
        let answer = self.controller.call(1, &request);
        assert_eq!((answer.error_code, answer.is_fenced), (0, want_fence));
    }

    /// What it asks of partition 0 when it has everything below `offset`, and does not wait.
    pub(crate) fn request(&self, topic: Uuid, row: FetchPartition) -> FetchRequest {
        let topic = FetchTopic::default().with_topic_id(topic).with_partitions(vec![row]);
        let state = ReplicaState::default().with_replica_id(self.id.into()).with_replica_epoch(self.epoch);
        FetchRequest::default()
            .with_replica_state(state)
            .with_min_bytes(1)
            .with_max_bytes(10 << 20)
            .with_session_epoch(-1)
            .with_topics(vec![topic])
    }

    /// Fetches without waiting.
    pub(crate) fn fetch(&mut self, topic: Uuid, offset: i64) -> PartitionData {
        let request = self.request(topic, row(offset));
        self.fetched(&request)
    }

    /// Sends a fetch, and gives the one row of its answer.
    pub(crate) fn fetched(&mut self, request: &FetchRequest) -> PartitionData {
        let response = self.leader.call(FETCH, request);
        assert_eq!(response.error_code, 0);
        rows_of(&response).remove(0).1
    }

    /// Sends a fetch whose answer [`Peer::answer`] takes.
    pub(crate) fn ask(&mut self, request: &FetchRequest) -> i32 {
        self.leader.start(FETCH, request)
    }

    /// The one row of the answer.
    pub(crate) fn answer(&mut self, asked: i32) -> PartitionData {
        rows_of(&self.leader.finish::<FetchRequest>(FETCH, asked)).remove(0).1
    }
}

/// A replica's row: it has everything from 0 to `offset`.
pub(crate) fn row(offset: i64) -> FetchPartition {
    fetch_row(0, offset).with_log_start_offset(0).with_current_leader_epoch(0)
}

/// A topic of one partition on these brokers, once the real one leads it.
pub(crate) fn create(connection: &mut Connection, topic: &str, replicas: &[i32], configs: &[(&str, &str)]) -> Uuid {
    let id = make(connection, topic, replicas, configs);
    eventually("the leader leads", || (connection.offset_at(topic, 0, -2).error_code == 0).then_some(()));
    id
}

/// The same, led by the first of these brokers, which is not the real one.
pub(crate) fn create_led_elsewhere(connection: &mut Connection, topic: &str, replicas: &[i32]) -> Uuid {
    let id = make(connection, topic, replicas, &[]);
    eventually("it is known who leads", || (state(connection, topic).leader_id.0 == replicas[0]).then_some(()));
    id
}

fn make(connection: &mut Connection, topic: &str, replicas: &[i32], configs: &[(&str, &str)]) -> Uuid {
    let brokers = replicas.iter().map(|id| (*id).into()).collect();
    let assignment = CreatableReplicaAssignment::default().with_partition_index(0).with_broker_ids(brokers);
    let configs = configs
        .iter()
        .map(|(key, value)| CreatableTopicConfig::default().with_name(text(key)).with_value(Some(text(value))));
    let wish = CreatableTopic::default()
        .with_name(name(topic))
        .with_num_partitions(-1)
        .with_replication_factor(-1)
        .with_assignments(vec![assignment])
        .with_configs(configs.collect());
    let request = CreateTopicsRequest::default().with_timeout_ms(10_000).with_topics(vec![wish]);
    let created = connection.call(7, &request).topics.remove(0);
    assert_eq!(created.error_code, 0, "{topic}: {:?}", created.error_message);
    created.topic_id
}

/// Partition 0 of a topic as the metadata has it.
pub(crate) fn state(connection: &mut Connection, topic: &str) -> MetadataResponsePartition {
    let asked = MetadataRequestTopic::default().with_name(Some(name(topic)));
    let request = MetadataRequest::default().with_topics(Some(vec![asked]));
    connection.call(12, &request).topics.remove(0).partitions.remove(0)
}

/// The ISR of partition 0, once it is this one.
pub(crate) fn await_isr(connection: &mut Connection, topic: &str, isr: &[i32]) {
    eventually(&format!("the ISR becomes {isr:?}"), || {
        let now: Vec<i32> = state(connection, topic).isr_nodes.iter().map(|id| id.0).collect();
        (now == isr).then_some(())
    });
}
