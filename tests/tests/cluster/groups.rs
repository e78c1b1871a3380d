//! Groups move with the leadership of their partition: members and committed offsets are where the new leader is.

use std::time::Duration;

use ballast_broker::embed::Cluster;
use ballast_tests::raw::Connection;
use ballast_tests::raw::groups::{Member, commit};
use ballast_tests::raw::rows::eventually;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{FindCoordinatorRequest, MetadataRequest, TopicName};
use kafka_protocol::protocol::StrBytes;

const TOPIC: &str = "orders";
const GROUP: &str = "billing";
const NOT_COORDINATOR: i16 = 16;
const COORDINATOR_NOT_AVAILABLE: i16 = 15;

fn cluster() -> Cluster {
    let builder = Cluster::builder().setting("group.min.session.timeout.ms", "1000").topic(TOPIC, 1);
    builder.setting("offsets.topic.num.partitions", "3").start_blocking().expect("it starts")
}

/// Node id of the group's coordinator, as a broker that is up tells it.
fn coordinator(cluster: &Cluster) -> i32 {
    eventually("there is a coordinator that is up", || {
        let up = cluster.brokers().iter().find(|broker| broker.is_running())?;
        let request = FindCoordinatorRequest::default().with_coordinator_keys(vec![StrBytes::from_static_str(GROUP)]);
        let answer = Connection::open(up.bootstrap()).call(4, &request);
        let row = answer.coordinators.into_iter().next()?;
        (row.error_code == 0 && cluster.broker(row.node_id.0).is_running()).then_some(row.node_id.0)
    })
}

fn connect(cluster: &Cluster, id: i32) -> Connection {
    Connection::open(cluster.broker(id).bootstrap())
}

#[test]
fn a_group_goes_on_where_it_was_when_its_coordinator_is_killed() {
    let cluster = cluster();
    let first = coordinator(&cluster);
    let mut member = Member::new(connect(&cluster, first), GROUP).timeouts(30_000, 30_000);
    member.settle_alone();
    assert_eq!(member.commit(TOPIC, 0, 7), 0);
    cluster.broker(first).kill();
    let second = coordinator(&cluster);
    assert_ne!(second, first);
    member.connection = connect(&cluster, second);
    eventually("the new coordinator knows the member", || (member.heartbeat() == 0).then_some(()));
    assert_eq!(member.connection.committed(GROUP, TOPIC, &[0])[0].committed_offset, 7);
    assert_eq!(member.commit(TOPIC, 0, 8), 0, "in the same generation");
}

#[test]
fn a_broker_that_does_not_coordinate_a_group_says_so() {
    let cluster = cluster();
    let it = coordinator(&cluster);
    let mut member = Member::new(connect(&cluster, it), GROUP);
    member.settle_alone();
    for other in (1..=3).filter(|id| *id != it) {
        member.connection = connect(&cluster, other);
        assert_eq!(member.heartbeat(), NOT_COORDINATOR);
    }
}

#[test]
fn a_coordinator_with_too_few_replicas_in_sync_takes_nothing_in_and_forgets_nobody() {
    let cluster = Cluster::builder()
        .setting("offsets.topic.num.partitions", "1")
        .setting("offsets.topic.replication.factor", "2")
        .setting("offsets.retention.check.interval.ms", "50")
        .setting("min.insync.replicas", "2")
        .topic(TOPIC, 1)
        .start_blocking()
        .expect("it starts");
    let it = coordinator(&cluster);
    let mut member = Member::new(connect(&cluster, it), GROUP).timeouts(30_000, 30_000);
    member.settle_alone();
    // A commit of another group, to expire while nothing can be written.
    let short = commit("short", "", -1, TOPIC, &[(0, 7, None)]).with_retention_time_ms(1);
    assert_eq!(member.connection.commit(2, &short), [0]);
    let other = replicas(&cluster, it).into_iter().find(|id| *id != it).expect("there are two");
    cluster.broker(other).kill();
    let refused = commit(GROUP, &member.id, member.generation, TOPIC, &[(0, 8, None)]);
    eventually("nothing is taken in", || {
        let answer = member.connection.call(8, &refused);
        (answer.topics[0].partitions[0].error_code == COORDINATOR_NOT_AVAILABLE).then_some(())
    });
    for _ in 0..20 {
        assert_eq!(member.heartbeat(), 0, "the group is not loaded again");
        std::thread::sleep(Duration::from_millis(10));
    }
    cluster.restart_blocking().expect("it comes back");
    eventually("commits are taken in again", || (member.commit(TOPIC, 0, 9) == 0).then_some(()));
    assert_eq!(member.heartbeat(), 0, "in the same generation");
}

/// Where the coordinators' partition is.
fn replicas(cluster: &Cluster, ask: i32) -> Vec<i32> {
    let topic =
        MetadataRequestTopic::default().with_name(Some(TopicName(StrBytes::from_static_str("__consumer_offsets"))));
    let request = MetadataRequest::default().with_topics(Some(vec![topic]));
    let answer = connect(cluster, ask).call(12, &request);
    answer.topics[0].partitions[0].replica_nodes.iter().map(|id| id.0).collect()
}
