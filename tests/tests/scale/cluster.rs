//! Many partitions in a cluster: made, led and deleted on three nodes (their folders are renamed at once, and none of
//! them costs a sync of its own), and in the image of a broker that votes on nothing.

use std::net::TcpListener;
use std::path::Path;

use ballast_tests::nodes::Nodes;
use ballast_tests::process::Serve;
use ballast_tests::raw::rows::eventually_within;
use ballast_tests::raw::{Connection, name};
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::{CreateTopicsRequest, DeleteTopicsRequest, MetadataRequest};

use super::{partitions_of, timed};

const WHOLE: usize = 10_000;
const PARTITIONS_PER_TOPIC: usize = 250;
const TIMEOUT_MS: i32 = 120_000;

fn eventually(what: &str, question: impl FnMut() -> Option<()>) {
    eventually_within(i64::from(TIMEOUT_MS), what, question);
}

fn names(partitions: usize) -> Vec<String> {
    let topics = (partitions / PARTITIONS_PER_TOPIC).max(1);
    (0..topics).map(|number| format!("many-{number}")).collect()
}

fn make(connection: &mut Connection, topics: &[String], replicas: i16) {
    let topic = |topic: &String| {
        let topic = CreatableTopic::default().with_name(name(topic)).with_replication_factor(replicas);
        topic.with_num_partitions(PARTITIONS_PER_TOPIC as i32)
    };
    for topics in topics.chunks(4) {
        let request = CreateTopicsRequest::default().with_topics(topics.iter().map(topic).collect());
        let answer = connection.call(7, &request.with_timeout_ms(TIMEOUT_MS));
        let codes: Vec<i16> = answer.topics.iter().map(|row| row.error_code).collect();
        assert_eq!(codes, vec![0; topics.len()], "{:?}", answer.topics[0].error_message);
    }
}

fn delete(connection: &mut Connection, topics: &[String]) {
    let request = DeleteTopicsRequest::default().with_topic_names(topics.iter().map(|topic| name(topic)).collect());
    let answer = connection.call(5, &request.with_timeout_ms(TIMEOUT_MS));
    assert!(answer.responses.iter().all(|row| row.error_code == 0), "{:?}", answer.responses);
}

/// Partitions that this node knows, if all of them are led.
fn led(at: &str) -> Option<usize> {
    let answer = Connection::open(at).call(12, &MetadataRequest::default().with_topics(None));
    let mut rows = answer.topics.iter().flat_map(|topic| &topic.partitions);
    rows.all(|row| row.error_code == 0).then(|| answer.topics.iter().map(|topic| topic.partitions.len()).sum())
}

/// Folders of partitions that nobody deletes.
fn folders(data: &Path) -> usize {
    let names = std::fs::read_dir(data).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("many-") && !name.ends_with("-delete")).count()
}

#[test]
fn partitions_on_three_nodes_are_made_led_and_deleted() {
    let mut nodes = Nodes::start(3, None, &["log.segment.delete.delay.ms=1000"]);
    let topics = names(partitions_of(WHOLE));
    let count = topics.len() * PARTITIONS_PER_TOPIC;
    let at: Vec<String> = nodes.ids().map(|id| nodes.node(id).bootstrap.clone()).collect();
    timed(&format!("{count} partitions of three replicas made, led on every node"), || {
        make(&mut Connection::open(&at[0]), &topics, 3);
        at.iter().for_each(|at| eventually("all are led", || (led(at) == Some(count)).then_some(())));
    });
    let data: Vec<_> = nodes.ids().map(|id| nodes.data(id)).collect();
    assert_eq!(data.iter().map(|data| folders(data)).sum::<usize>(), 3 * count);
    let half = topics.len() / 2;
    timed("half of them deleted, and gone at the node that was asked", || {
        delete(&mut Connection::open(&at[0]), &topics[..half]);
        assert_eq!(led(&at[0]), Some(count - half * PARTITIONS_PER_TOPIC));
    });
    timed("their folders have other names on every node", || {
        for data in &data {
            let left = count - half * PARTITIONS_PER_TOPIC;
            eventually("folders are renamed", || (folders(data) == left).then_some(()));
        }
    });
    timed("clean stop of a node with the other half", || assert!(nodes.node_mut(3).stop().success()));
    timed("its start", || nodes.restart(&[3]));
}

#[test]
fn a_broker_alone_starts_with_many_partitions_in_its_image() {
    let folder = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let node = |id: usize, role: &str, listeners: &str| {
        let settings = [
            format!("process.roles={role}"),
            format!("node.id={id}"),
            format!("listeners={listeners}"),
            "controller.listener.names=CONTROLLER".to_owned(),
            format!("controller.quorum.voters=1@127.0.0.1:{port}"),
        ];
        let pairs: Vec<String> = settings.into_iter().flat_map(|setting| ["--set".to_owned(), setting]).collect();
        Serve::launch(Vec::new(), &folder.path().join(id.to_string()), "127.0.0.1:0", &pairs)
    };
    let _controller = node(1, "controller", &format!("CONTROLLER://127.0.0.1:{port}")).awaited();
    let mut broker = node(2, "broker", "PLAINTEXT://127.0.0.1:0").awaited();
    let topics = names(partitions_of(WHOLE));
    let count = topics.len() * PARTITIONS_PER_TOPIC;
    timed(&format!("{count} partitions made"), || make(&mut Connection::open(&broker.bootstrap), &topics, 1));
    let other = timed("a broker without any starts and knows them", || {
        let other = node(3, "broker", "PLAINTEXT://127.0.0.1:0").awaited();
        assert_eq!(led(&other.bootstrap), Some(count));
        other
    });
    timed("clean stop of the one that has them", || assert!(broker.stop().success()));
    timed("its start, until all are led again", || {
        broker.restart();
        eventually("all are led", || (led(&other.bootstrap) == Some(count)).then_some(()));
    });
    broker.kill();
    timed("its start after a kill, until all are led again", || {
        broker.restart();
        eventually("all are led", || (led(&other.bootstrap) == Some(count)).then_some(()));
    });
}
