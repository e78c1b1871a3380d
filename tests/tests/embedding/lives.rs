//! Stopped, killed, paused, restarted: what clients see, and what is still there.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::Duration;

use ballast_broker::embed::{Broker, Fault};
use ballast_tests::raw::rows::{eventually, records_of};
use ballast_tests::raw::{Connection, Reply, batch};

const TOPIC: &str = "orders";

fn broker() -> Broker {
    Broker::builder().ephemeral().topic(TOPIC, 1).start_blocking().expect("a broker starts")
}

fn connect(broker: &Broker) -> Connection {
    Connection::open(broker.bootstrap())
}

fn values(broker: &Broker) -> Vec<String> {
    let row = connect(broker).fetch(TOPIC, 0, 0);
    records_of(&row).into_iter().map(|(_, value)| value).collect()
}

fn is_refused(broker: &Broker) -> bool {
    TcpStream::connect(broker.bootstrap()).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
}

#[test]
fn a_broker_comes_with_its_topics_and_its_identity() {
    let builder = Broker::builder().node_id(7).rack("r1").topic("a", 1);
    let broker = builder.topic_with("b", 3, &[("retention.ms", "1000")]).start_blocking().unwrap();
    let request = kafka_protocol::messages::MetadataRequest::default().with_topics(None);
    let metadata = connect(&broker).call(12, &request);
    let topics: Vec<_> = metadata.topics.iter().map(|topic| topic.partitions.len()).collect();
    assert_eq!(topics, [1, 3]);
    let node = &metadata.brokers[0];
    assert_eq!((node.node_id.0, node.rack.as_deref()), (7, Some("r1")));
    assert_eq!(format!("{}:{}", &*node.host, node.port), broker.bootstrap());
}

#[test]
fn a_restart_with_clients_connected_keeps_port_and_records() {
    let broker = broker();
    let before = broker.bootstrap().to_owned();
    let mut connection = connect(&broker);
    connection.append(TOPIC, 0, batch(&["one"]));
    broker.restart_blocking().unwrap();
    assert_eq!(connection.reply(), Reply::Closed, "the old life's connections are gone");
    assert_eq!(broker.bootstrap(), before);
    assert_eq!(values(&broker), ["one"]);
    connect(&broker).append(TOPIC, 0, batch(&["two"]));
    assert_eq!(values(&broker), ["one", "two"]);
}

#[test]
fn a_stopped_broker_refuses_connections_and_nobody_takes_its_port() {
    let broker = broker();
    broker.stop_blocking();
    assert!(!broker.is_running() && is_refused(&broker));
    let others: Vec<Broker> = (0..3).map(|_| Broker::builder().start_blocking().unwrap()).collect();
    assert!(others.iter().all(|other| other.bootstrap() != broker.bootstrap()));
    broker.restart_blocking().unwrap();
    assert!(broker.is_running());
    connect(&broker).append(TOPIC, 0, batch(&["again"]));
}

#[test]
fn what_was_acknowledged_before_a_kill_is_there_after_it() {
    let broker = broker();
    let mut connection = connect(&broker);
    for number in 0..20 {
        connection.append(TOPIC, 0, batch(&[&number.to_string()]));
    }
    broker.kill();
    assert!(!broker.is_running() && is_refused(&broker));
    assert_eq!(connection.reply(), Reply::Closed);
    let clean = broker.data_dir().join(".kafka_cleanshutdown");
    assert!(!clean.exists(), "a killed broker has not stopped cleanly");
    broker.restart_blocking().unwrap();
    let expected: Vec<String> = (0..20).map(|number| number.to_string()).collect();
    assert_eq!(values(&broker), expected);
}

#[test]
fn a_stop_in_order_is_marked_clean_and_a_data_dir_outlives_its_broker() {
    let folder = tempfile::tempdir().unwrap();
    let builder = || Broker::builder().data_dir(folder.path().join("data")).topic(TOPIC, 1);
    let broker = builder().start_blocking().unwrap();
    connect(&broker).append(TOPIC, 0, batch(&["kept"]));
    drop(broker);
    assert!(folder.path().join("data/.kafka_cleanshutdown").exists(), "dropping it stops it in order");
    assert_eq!(values(&builder().start_blocking().unwrap()), ["kept"]);
}

#[test]
fn a_paused_broker_takes_connections_and_answers_when_it_goes_on() {
    let broker = broker();
    let mut old = connect(&broker);
    old.append(TOPIC, 0, batch(&["one"]));
    broker.pause();
    let request = ballast_tests::raw::messages::produce(-1, TOPIC, 0, Some(batch(&["two"])));
    let of_old = old.start(9, &request);
    let mut new = connect(&broker);
    let of_new = new.start(9, &request);
    assert_eq!(old.reply_within(Duration::from_millis(50)), Reply::Silence);
    assert_eq!(new.reply_within(Duration::from_millis(50)), Reply::Silence);
    broker.resume();
    for (connection, correlation_id) in [(&mut old, of_old), (&mut new, of_new)] {
        let answer = connection.finish::<kafka_protocol::messages::ProduceRequest>(9, correlation_id);
        assert_eq!(answer.responses[0].partition_responses[0].error_code, 0);
    }
}

#[test]
fn a_paused_broker_can_be_stopped_killed_restarted_and_dropped() {
    let broker = broker();
    broker.pause();
    broker.stop_blocking();
    broker.restart_blocking().unwrap();
    broker.pause();
    broker.pause();
    broker.restart_blocking().unwrap();
    broker.pause();
    broker.kill();
    broker.pause();
    broker.resume();
    broker.restart_blocking().unwrap();
    connect(&broker).append(TOPIC, 0, batch(&["alive"]));
    broker.pause();
    drop(broker);
}

#[test]
fn a_failed_sync_ends_the_broker_with_its_cause_and_the_next_life_recovers() {
    let builder = Broker::builder().durable().topic_with(TOPIC, 1, &[("flush.messages", "1")]);
    let broker = builder.start_blocking().unwrap();
    let mut connection = connect(&broker);
    connection.append(TOPIC, 0, batch(&["one"]));
    let id = broker.fault(Fault::fail_next_sync()).unwrap();
    let request = ballast_tests::raw::messages::produce(-1, TOPIC, 0, Some(batch(&["two"])));
    connection.start(9, &request);
    let cause = eventually("the last log directory fails the broker", || broker.failure());
    assert!(cause.contains("a fault fails the sync"), "{cause}");
    assert_eq!(broker.fired(id), 1);
    assert!(!broker.is_running());
    broker.restart_blocking().unwrap();
    assert_eq!(broker.failure(), None);
    // What is recovered counts as written once it has been synced.
    eventually("the acknowledged record is there", || (values(&broker).first()? == "one").then_some(()));
    connect(&broker).append(TOPIC, 0, batch(&["three"]));
}

#[test]
fn every_listener_keeps_its_port() {
    let listeners = "INSIDE://127.0.0.1:0,OUTSIDE://127.0.0.1:0";
    let builder = Broker::builder().setting("listeners", listeners).setting("inter.broker.listener.name", "INSIDE");
    let builder = builder.setting("listener.security.protocol.map", "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT");
    let broker = builder.http("127.0.0.1:0".parse().unwrap()).start_blocking().unwrap();
    let ports: Vec<u16> = broker.listeners().iter().map(|listener| listener.port).collect();
    let http = broker.http().unwrap();
    broker.restart_blocking().unwrap();
    for port in ports.iter().chain([&http.port()]) {
        TcpStream::connect(("127.0.0.1", *port)).unwrap();
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_broker_lives_beside_any_runtime_and_may_be_dropped_on_it() {
    let broker = Broker::builder().topic(TOPIC, 1).start().await.unwrap();
    broker.restart().await.unwrap();
    broker.stop().await;
    broker.restart().await.unwrap();
    let starting = Broker::builder().start();
    let given_up = tokio::time::timeout(Duration::from_micros(1), starting).await;
    drop((given_up, broker));
}
