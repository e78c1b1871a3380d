//! Who asks the active controller to be let in, and must not be.

use ballast_broker::embed::Cluster;
use ballast_tests::raw::{Connection, text};
use kafka_protocol::messages::broker_registration_request::{Feature, Listener};
use kafka_protocol::messages::{
    ApiVersionsRequest, BrokerHeartbeatRequest, BrokerRegistrationRequest, DescribeQuorumRequest, MetadataRequest,
};
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid;

use crate::ask::{await_partitions, ids};

const NOT_CONTROLLER: i16 = 41;
const STALE_BROKER_EPOCH: i16 = 77;
const DUPLICATE_BROKER_REGISTRATION: i16 = 101;
const INCONSISTENT_CLUSTER_ID: i16 = 104;
const INVALID_REGISTRATION: i16 = 119;

struct Rig {
    cluster: Cluster,
    /// The controller listeners, the active controller's first.
    controllers: Vec<Connection>,
    /// What a broker of this cluster with the id 9 asks.
    good: BrokerRegistrationRequest,
}

fn rig() -> Rig {
    let cluster = Cluster::builder().topic("orders", 3).start_blocking().expect("it starts");
    let active = cluster.controller_blocking().expect("somebody decides");
    let mut client = Connection::open(cluster.broker(active).bootstrap());
    let mut nodes = client.call(2, &DescribeQuorumRequest::default()).nodes;
    nodes.sort_by_key(|node| node.node_id.0 != active);
    let at = nodes.iter().map(|node| format!("{}:{}", node.listeners[0].host, node.listeners[0].port));
    let controllers = at.map(|at| Connection::open(&at)).collect();
    let asked =
        ApiVersionsRequest::default().with_client_software_name(text("t")).with_client_software_version(text("1"));
    let features = client.call(4, &asked).supported_features.into_iter().map(|feature| {
        let range = Feature::default().with_name(feature.name);
        range.with_min_supported_version(feature.min_version).with_max_supported_version(feature.max_version)
    });
    let metadata = client.call(12, &MetadataRequest::default().with_topics(Some(vec![])));
    let at = Listener::default().with_name(text("PLAINTEXT")).with_host(text("127.0.0.1")).with_port(9);
    let good = BrokerRegistrationRequest::default()
        .with_broker_id(9.into())
        .with_cluster_id(metadata.cluster_id.expect("a cluster has an id"))
        .with_incarnation_id(Uuid::from_u128(0x900))
        .with_listeners(vec![at])
        .with_features(features.collect())
        .with_log_dirs(vec![Uuid::from_u128(0x9000)])
        .with_previous_broker_epoch(-1);
    Rig { cluster, controllers, good }
}

impl Rig {
    /// The code and the epoch that the active controller answers.
    fn register(&mut self, request: &BrokerRegistrationRequest) -> (i16, i64) {
        let answer = self.controllers[0].call(4, request);
        (answer.error_code, answer.broker_epoch)
    }
}

#[test]
fn a_second_broker_of_an_id_and_one_of_another_cluster_are_turned_away() {
    let mut rig = rig();
    let good = rig.good.clone();
    for id in 1..=3 {
        let twin = good.clone().with_broker_id(id.into());
        assert_eq!(rig.register(&twin), (DUPLICATE_BROKER_REGISTRATION, -1), "broker {id} is alive");
    }
    let other = StrBytes::from_static_str("AAAAAAAAAAAAAAAAAAAAAA");
    assert_eq!(rig.register(&good.clone().with_cluster_id(other)), (INCONSISTENT_CLUSTER_ID, -1));
    let reserved = good.clone().with_log_dirs(vec![Uuid::from_u128(1)]);
    assert_eq!(rig.register(&reserved), (INVALID_REGISTRATION, -1), "a directory id that means something else");
    assert_eq!(rig.register(&good.clone().with_log_dirs(vec![])).0, INVALID_REGISTRATION);
    assert_eq!(rig.register(&good.clone().with_features(vec![])).0, INVALID_REGISTRATION, "no metadata.version");
    let passive = rig.controllers[1].call(4, &good);
    assert_eq!(passive.error_code, NOT_CONTROLLER);

    // None of it has disturbed anybody.
    let whole = |rows: &[crate::ask::Row]| rows.iter().all(|row| row.isr_nodes.len() == 3);
    let rows = await_partitions(&rig.cluster, "orders", "all are in sync", whole);
    let mut leaders: Vec<i32> = rows.iter().map(|row| row.leader_id.0).collect();
    leaders.sort_unstable();
    assert_eq!(leaders, [1, 2, 3]);
    assert!(rows.iter().all(|row| ids(&row.offline_replicas).is_empty()));
}

#[test]
fn only_the_present_life_of_a_broker_shows_signs_of_life() {
    let mut rig = rig();
    let good = rig.good.clone();
    let (code, epoch) = rig.register(&good);
    assert_eq!(code, 0);
    assert_eq!(rig.register(&good), (0, epoch), "the same life may ask twice");
    let beat = |epoch, id: i32| {
        let beat = BrokerHeartbeatRequest::default().with_broker_id(id.into()).with_broker_epoch(epoch);
        beat.with_current_metadata_offset(i64::MAX)
    };
    let answer = rig.controllers[0].call(1, &beat(epoch, 9));
    assert_eq!((answer.error_code, answer.is_fenced, answer.should_shut_down), (0, false, false));
    for other in [epoch - 1, epoch + 1, -1] {
        let answer = rig.controllers[0].call(1, &beat(other, 9));
        assert_eq!(answer.error_code, STALE_BROKER_EPOCH, "epoch {other}, not {epoch}");
    }
    assert_eq!(
        rig.controllers[0].call(1, &beat(0, 77)).error_code,
        STALE_BROKER_EPOCH,
        "a broker that is not registered"
    );
    // It leads nothing, so it may go at once; its next life is let in without waiting for its session.
    let leaves = beat(epoch, 9).with_want_shut_down(true);
    let answer = rig.controllers[0].call(1, &leaves);
    assert_eq!((answer.error_code, answer.is_fenced, answer.should_shut_down), (0, true, true));
    let next = good.with_incarnation_id(Uuid::from_u128(0x901)).with_previous_broker_epoch(epoch);
    let (code, later) = rig.register(&next);
    assert!(code == 0 && later > epoch, "{code}: epoch {later} after {epoch}");
}
