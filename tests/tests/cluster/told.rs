//! What any broker tells of leaders that are others: on its listeners, in hints (KIP-951), page by page, and after elections.

use ballast_broker::embed::{Broker, Cluster};
use ballast_tests::raw::messages::produce;
use ballast_tests::raw::rows::eventually;
use ballast_tests::raw::{Connection, Fetch, batch, fetch_row, name};
use ballast_wire::fetch::FetchResponse;
use ballast_wire::frame::{ApiKey, parse_response_header};
use ballast_wire::produce::ProduceResponse;
use kafka_protocol::messages::create_topics_request::{CreatableReplicaAssignment, CreatableTopic};
use kafka_protocol::messages::describe_topic_partitions_request::{Cursor, TopicRequest};
use kafka_protocol::messages::elect_leaders_request::TopicPartitions;
use kafka_protocol::messages::{
    CreateTopicsRequest, DescribeTopicPartitionsRequest, ElectLeadersRequest, FetchRequest, MetadataRequest,
};

use crate::ask::{await_partitions, ids, partitions, partitions_over};

const LEADER_NOT_AVAILABLE: i16 = 5;
const NOT_LEADER_OR_FOLLOWER: i16 = 6;
const LISTENER_NOT_FOUND: i16 = 72;
const PREFERRED_LEADER_NOT_AVAILABLE: i16 = 80;
const ELIGIBLE_LEADERS_NOT_AVAILABLE: i16 = 83;
const ELECTION_NOT_NEEDED: i16 = 84;
const PREFERRED: i8 = 0;
const UNCLEAN: i8 = 1;

/// A topic whose partitions have these replicas, once every broker knows who leads.
fn create(cluster: &Cluster, topic: &str, replicas: &[&[i32]]) {
    let assignment = |(index, brokers): (i32, &&[i32])| {
        let row = CreatableReplicaAssignment::default().with_partition_index(index);
        row.with_broker_ids(brokers.iter().map(|id| (*id).into()).collect())
    };
    let wish = CreatableTopic::default()
        .with_name(name(topic))
        .with_num_partitions(-1)
        .with_replication_factor(-1)
        .with_assignments((0..).zip(replicas).map(assignment).collect());
    let request = CreateTopicsRequest::default().with_timeout_ms(30_000).with_topics(vec![wish]);
    let row = Connection::open(cluster.broker(1).bootstrap()).call(7, &request).topics.remove(0);
    assert_eq!(row.error_code, 0, "{:?}", row.error_message);
    let led = |rows: &[crate::ask::Row]| {
        rows.len() == replicas.len() && rows.iter().zip(replicas).all(|(row, brokers)| row.leader_id.0 == brokers[0])
    };
    await_partitions(cluster, topic, "its first replicas lead", led);
}

/// `HOST:PORT` of a broker's listener.
fn listener(broker: &Broker, name: &str) -> String {
    let at = broker.listeners().iter().find(|at| at.listener == name).expect("it has this listener");
    format!("{}:{}", at.host, at.port)
}

#[test]
fn a_leader_that_is_not_on_a_listener_is_none_to_whoever_asks_there() {
    let both = "PLAINTEXT://127.0.0.1:0,SIDE://127.0.0.1:0";
    let cluster = Cluster::builder()
        .setting("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,SIDE:PLAINTEXT,CONTROLLER:PLAINTEXT")
        .setting("inter.broker.listener.name", "PLAINTEXT")
        .each(move |id, broker| if id < 3 { broker.setting("listeners", both) } else { broker })
        .start_blocking()
        .expect("it starts");
    create(&cluster, "orders", &[&[2, 3], &[3, 2]]);
    let mut side = Connection::open(&listener(cluster.broker(1), "SIDE"));
    for version in 0..=12 {
        let rows = partitions_over(&mut side, version, "orders");
        let code = if version >= 6 { LISTENER_NOT_FOUND } else { LEADER_NOT_AVAILABLE };
        let told = |row: &crate::ask::Row| (row.error_code, row.leader_id.0);
        assert_eq!((told(&rows[0]), told(&rows[1])), ((0, 2), (code, -1)), "v{version}");
        if version >= 5 {
            assert_eq!(ids(&rows[0].offline_replicas), [3], "v{version}: it cannot be asked here");
        }
        let brokers = side.call(version, &MetadataRequest::default().with_topics(Some(vec![]))).brokers;
        let mut there: Vec<i32> = brokers.iter().map(|broker| broker.node_id.0).collect();
        there.sort_unstable();
        if version >= 1 {
            assert_eq!(there, [1, 2], "v{version}");
        }
    }
    // The others have nothing to complain of.
    assert!(partitions(cluster.broker(3), "orders").iter().all(|row| row.error_code == 0));
    // Nor does a hint send anybody where he cannot go.
    let mut side = Connection::open(&listener(cluster.broker(2), "SIDE"));
    let (hint, at) = refused_produce(&mut side, 1);
    assert_eq!((hint, at), (Some((3, 0)), vec![]));
}

/// Leader and epoch, if there is a hint; ids and ports of the leaders that are told.
type Hint = (Option<(i32, i32)>, Vec<(i32, i32)>);

/// The hint of a refused produce to `orders`.
fn refused_produce(connection: &mut Connection, partition: i32) -> Hint {
    let (version, request) = (12, produce(-1, "orders", partition, Some(batch(&["a"]))));
    connection.start(version, &request);
    let frame = connection.frame();
    let (_, body) = parse_response_header(&frame, ApiKey::PRODUCE, version).expect("a header");
    let body = frame.slice(body.position()..);
    let answer = ProduceResponse::decode(version, &body).expect("an answer");
    let row = &answer.topics[0].partitions[0];
    assert_eq!(row.error_code, NOT_LEADER_OR_FOLLOWER);
    let hint = row.current_leader.map(|hint| (hint.leader_id, hint.leader_epoch));
    (hint, answer.node_endpoints.iter().map(|at| (at.node_id, at.port)).collect())
}

/// The same of a refused fetch.
fn refused_fetch(connection: &mut Connection, version: i16, partition: i32) -> Hint {
    let Fetch(request) = Fetch::of("orders", vec![fetch_row(partition, 0)]);
    let request = by_id(connection, request, version);
    connection.start(version, &request);
    let frame = connection.frame();
    let (_, body) = parse_response_header(&frame, ApiKey::FETCH, version).expect("a header");
    let body = frame.slice(body.position()..);
    let answer = FetchResponse::decode(version, &body).expect("an answer");
    let row = &answer.topics[0].partitions[0];
    assert_eq!(row.error_code, NOT_LEADER_OR_FOLLOWER, "v{version}");
    let hint = row.current_leader.map(|hint| (hint.leader_id, hint.leader_epoch));
    (hint, answer.node_endpoints.iter().map(|at| (at.node_id, at.port)).collect())
}

/// From version 13 on topics are named by id.
fn by_id(connection: &mut Connection, mut request: FetchRequest, version: i16) -> FetchRequest {
    if version >= 13 {
        let asked = kafka_protocol::messages::metadata_request::MetadataRequestTopic::default();
        let asked = MetadataRequest::default().with_topics(Some(vec![asked.with_name(Some(name("orders")))]));
        request.topics[0].topic_id = connection.call(12, &asked).topics[0].topic_id;
    }
    request
}

#[test]
fn hints_name_the_new_leader_where_it_is_as_soon_as_it_leads() {
    let cluster = Cluster::builder().start_blocking().expect("it starts");
    create(&cluster, "orders", &[&[1, 2], &[2, 3]]);
    let port = |id: i32| i32::from(cluster.broker(id).listeners()[0].port);
    for broker in [2, 3] {
        let mut connection = Connection::open(cluster.broker(broker).bootstrap());
        assert_eq!(refused_produce(&mut connection, 0), (Some((1, 0)), vec![(1, port(1))]), "at broker {broker}");
    }
    let mut third = Connection::open(cluster.broker(3).bootstrap());
    assert_eq!(refused_fetch(&mut third, 15, 0), (None, vec![]), "filled from v16 on");
    for version in [16, 17] {
        assert_eq!(refused_fetch(&mut third, version, 0), (Some((1, 0)), vec![(1, port(1))]), "v{version}");
    }
    cluster.broker(1).stop_blocking();
    let moved = |rows: &[crate::ask::Row]| rows[0].leader_id.0 == 2;
    await_partitions(&cluster, "orders", "broker 2 leads", moved);
    assert_eq!(refused_produce(&mut third, 0), (Some((2, 1)), vec![(2, port(2))]), "with the epoch after");
    assert_eq!(refused_fetch(&mut third, 16, 0), (Some((2, 1)), vec![(2, port(2))]));
}

#[test]
fn every_broker_pages_through_all_partitions_alike() {
    let cluster = Cluster::builder().topic("a", 4).topic("b", 1).topic("c", 3).start_blocking().expect("it starts");
    let page = |broker: &Broker, cursor: Option<Cursor>| {
        let topics = ["c", "a", "b", "missing"].map(|topic| TopicRequest::default().with_name(name(topic)));
        let request = DescribeTopicPartitionsRequest::default().with_topics(topics.to_vec()).with_cursor(cursor);
        Connection::open(broker.bootstrap()).call(0, &request.with_response_partition_limit(3))
    };
    let all = |broker: &Broker| {
        let (mut rows, mut cursor) = (Vec::new(), None);
        loop {
            let answer = page(broker, cursor);
            for topic in answer.topics {
                let name = topic.name.map(|name| name.to_string()).unwrap_or_default();
                rows.push((name.clone(), topic.error_code, -1, -1, Vec::new()));
                for row in topic.partitions {
                    let (index, leader, isr) = (row.partition_index, row.leader_id.0, ids(&row.isr_nodes));
                    rows.push((name.clone(), row.error_code, index, leader, isr));
                }
            }
            let Some(next) = answer.next_cursor else { return rows };
            let next_page =
                Cursor::default().with_topic_name(next.topic_name).with_partition_index(next.partition_index);
            cursor = Some(next_page);
        }
    };
    let first = eventually("all are in sync, and every broker says so", || {
        let told: Vec<_> = cluster.brokers().iter().map(all).collect();
        let whole = told[0].iter().filter(|row| row.2 >= 0).all(|row| row.4.len() == 3);
        (whole && told[1..].iter().all(|other| *other == told[0])).then(|| told[0].clone())
    });
    let partitions: Vec<(&str, i32)> =
        first.iter().filter(|row| row.2 >= 0).map(|row| (row.0.as_str(), row.2)).collect();
    assert_eq!(partitions, [("a", 0), ("a", 1), ("a", 2), ("a", 3), ("b", 0), ("c", 0), ("c", 1), ("c", 2)]);
    assert!(first.iter().any(|row| row.0 == "missing" && row.1 == 3));
}

/// ElectLeaders at a broker: the code of the one partition, `None` if it needed nothing.
fn elect(broker: &Broker, kind: i8, partition: Option<i32>) -> Option<i16> {
    let topic = |index| TopicPartitions::default().with_topic(name("orders")).with_partitions(vec![index]);
    let request = ElectLeadersRequest::default()
        .with_election_type(kind)
        .with_topic_partitions(partition.map(|index| vec![topic(index)]))
        .with_timeout_ms(30_000);
    let answer = Connection::open(broker.bootstrap()).call(2, &request);
    assert_eq!(answer.error_code, 0);
    let mut rows = answer.replica_election_results.into_iter().flat_map(|topic| topic.partition_result);
    rows.next().map(|row| row.error_code)
}

#[test]
fn leaders_are_elected_at_any_broker_as_they_were_preferred_or_uncleanly() {
    // Five, so that a majority is left without two.
    let builder = Cluster::builder().brokers(5).setting("auto.leader.rebalance.enable", "false");
    let cluster = builder.start_blocking().expect("it starts");
    create(&cluster, "orders", &[&[1, 2]]);
    let leader = |id: i32| move |rows: &[crate::ask::Row]| rows[0].leader_id.0 == id;
    let in_sync = |count| move |rows: &[crate::ask::Row]| rows[0].isr_nodes.len() == count;
    assert_eq!(elect(cluster.broker(3), PREFERRED, Some(0)), Some(ELECTION_NOT_NEEDED));
    assert_eq!(elect(cluster.broker(3), PREFERRED, None), None, "what needs nothing is left out");

    cluster.broker(1).stop_blocking();
    await_partitions(&cluster, "orders", "broker 2 leads", leader(2));
    assert_eq!(elect(cluster.broker(3), PREFERRED, Some(0)), Some(PREFERRED_LEADER_NOT_AVAILABLE));
    cluster.restart_blocking().expect("it comes back");
    await_partitions(&cluster, "orders", "both are in sync", in_sync(2));
    assert_eq!(elect(cluster.broker(2), PREFERRED, Some(0)), Some(0));
    await_partitions(&cluster, "orders", "broker 1 leads again", leader(1));

    // Broker 2 falls behind; then the only one in sync is lost, too.
    cluster.broker(2).kill();
    await_partitions(&cluster, "orders", "broker 1 is alone", in_sync(1));
    assert_eq!(elect(cluster.broker(3), UNCLEAN, Some(0)), Some(ELECTION_NOT_NEEDED), "it has a leader");
    cluster.broker(1).kill();
    await_partitions(&cluster, "orders", "nobody leads", leader(-1));
    assert_eq!(elect(cluster.broker(3), UNCLEAN, Some(0)), Some(ELIGIBLE_LEADERS_NOT_AVAILABLE), "both are gone");
    cluster.broker(2).restart_blocking().expect("it comes back");
    await_partitions(&cluster, "orders", "it is not trusted", leader(-1));
    assert_eq!(elect(cluster.broker(4), PREFERRED, Some(0)), Some(PREFERRED_LEADER_NOT_AVAILABLE));
    assert_eq!(elect(cluster.broker(4), UNCLEAN, None), Some(0));
    await_partitions(&cluster, "orders", "broker 2 leads", leader(2));
}
