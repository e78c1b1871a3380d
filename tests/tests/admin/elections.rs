//! ElectLeaders and ListPartitionReassignments on one node: there is nothing to elect and nothing to move.

use ballast_tests::raw::{Connection, name};
use ballast_tests::target::shared;
use kafka_protocol::messages::elect_leaders_request::TopicPartitions;
use kafka_protocol::messages::list_partition_reassignments_request::ListPartitionReassignmentsTopics;
use kafka_protocol::messages::{ElectLeadersRequest, ListPartitionReassignmentsRequest};

const PREFERRED: i8 = 0;
const UNCLEAN: i8 = 1;

const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;
const REQUEST_TIMED_OUT: i16 = 7;
const INVALID_REQUEST: i16 = 42;
const ELECTION_NOT_NEEDED: i16 = 84;

type Row = (String, i32, i16, Option<String>);

/// The answer's own code, and its rows by topic and partition.
fn elect(
    connection: &mut Connection,
    version: i16,
    kind: i8,
    partitions: &[(&str, &[i32])],
    timeout_ms: i32,
) -> (i16, Vec<Row>) {
    let topics = partitions
        .iter()
        .map(|(topic, indexes)| TopicPartitions::default().with_topic(name(topic)).with_partitions(indexes.to_vec()));
    let request =
        ElectLeadersRequest::default().with_topic_partitions(Some(topics.collect())).with_timeout_ms(timeout_ms);
    let request = if version >= 1 { request.with_election_type(kind) } else { request };
    let answer = connection.call(version, &request);
    let mut rows: Vec<Row> = Vec::new();
    for topic in answer.replica_election_results {
        for row in topic.partition_result {
            let words = row.error_message.map(|words| words.to_string());
            rows.push((topic.topic.to_string(), row.partition_id, row.error_code, words));
        }
    }
    rows.sort();
    (answer.error_code, rows)
}

#[test]
fn who_leads_already_needs_no_election() {
    let broker = shared();
    let mut connection = broker.connect();
    let topic = broker.topic("elected", 2, &[]).name;
    let words = || Some("Leader election not needed for topic partition.".to_owned());
    let not_needed: Vec<Row> = (0..2).map(|index| (topic.clone(), index, ELECTION_NOT_NEEDED, words())).collect();
    for (version, kind) in [(0, PREFERRED), (1, PREFERRED), (2, PREFERRED), (1, UNCLEAN), (2, UNCLEAN)] {
        let answer = elect(&mut connection, version, kind, &[(&topic, &[0, 1])], 5000);
        assert_eq!(answer, (0, not_needed.clone()), "v{version}, type {kind}");
    }
}

#[test]
fn an_election_that_cannot_be_is_refused_with_its_reason() {
    let broker = shared();
    let mut connection = broker.connect();
    let topic = broker.topic("unelected", 1, &[]).name;
    let (code, rows) = elect(&mut connection, 2, PREFERRED, &[("no-such-topic", &[0]), (&topic, &[9])], 5000);
    assert_eq!(code, 0);
    let unknown =
        |topic: &str, index, words: String| (topic.to_owned(), index, UNKNOWN_TOPIC_OR_PARTITION, Some(words));
    let no_topic = unknown("no-such-topic", 0, "No such topic as no-such-topic".to_owned());
    let no_partition = unknown(&topic, 9, format!("No such partition as {topic}-9"));
    assert_eq!(rows, [no_topic, no_partition]);
    let of_all = |code: i16, words: Option<&str>| (code, vec![(topic.clone(), 0, code, words.map(str::to_owned))]);
    let no_time = elect(&mut connection, 2, PREFERRED, &[(&topic, &[0])], 0);
    assert_eq!(no_time, of_all(REQUEST_TIMED_OUT, None));
    let no_kind = elect(&mut connection, 2, 7, &[(&topic, &[0])], 5000);
    assert_eq!(no_kind, of_all(INVALID_REQUEST, Some("Unknown election type 7")));
    let v0 = elect(&mut connection, 0, PREFERRED, &[(&topic, &[0])], 0);
    assert_eq!(v0, (0, vec![(topic.clone(), 0, REQUEST_TIMED_OUT, None)]), "v0 has no code of its own");
    assert_eq!(elect(&mut connection, 2, PREFERRED, &[], 5000), (0, vec![]), "no topic is not every topic");
}

#[test]
fn without_partitions_all_are_tried_and_those_that_need_nothing_are_left_out() {
    let broker = shared();
    let mut connection = broker.connect();
    let topic = broker.topic("every", 2, &[]).name;
    let request = ElectLeadersRequest::default().with_topic_partitions(None).with_timeout_ms(5000);
    let answer = connection.call(2, &request);
    assert_eq!(answer.error_code, 0);
    let of_topic = answer.replica_election_results.iter().find(|row| row.topic.as_str() == topic);
    assert_eq!(of_topic.expect("the topic is named").partition_result, []);
}

#[test]
fn nothing_is_being_moved() {
    let broker = shared();
    let mut connection = broker.connect();
    let topic = broker.topic("unmoved", 1, &[]).name;
    let asked = |topic: &str| {
        ListPartitionReassignmentsTopics::default().with_name(name(topic)).with_partition_indexes(vec![0, 9])
    };
    for topics in [None, Some(vec![]), Some(vec![asked(&topic), asked("no-such-topic")])] {
        let request = ListPartitionReassignmentsRequest::default().with_timeout_ms(5000).with_topics(topics);
        let answer = connection.call(0, &request);
        assert_eq!((answer.error_code, answer.error_message, answer.topics), (0, None, vec![]));
    }
}
