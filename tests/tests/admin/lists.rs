//! What consoles ask for in their first second and is mostly empty: resources, producers, access lists, SCRAM users.

use ballast_tests::raw::batches::idempotent;
use ballast_tests::raw::rows::eventually;
use ballast_tests::raw::{Connection, batch, name, text};
use ballast_tests::target::{shared, unique};
use kafka_protocol::messages::describe_producers_request::TopicRequest;
use kafka_protocol::messages::describe_user_scram_credentials_request::UserName;
use kafka_protocol::messages::{
    DescribeAclsRequest, DescribeProducersRequest, DescribeUserScramCredentialsRequest, ListConfigResourcesRequest,
};

use crate::ask::{BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC, node, set};

const UNSUPPORTED_VERSION: i16 = 35;
const SECURITY_DISABLED: i16 = 54;
const RESOURCE_NOT_FOUND: i16 = 91;
const DUPLICATE_RESOURCE: i16 = 92;

fn list(connection: &mut Connection, version: i16, kinds: &[i8]) -> (i16, Vec<(i8, String)>) {
    let request = ListConfigResourcesRequest::default().with_resource_types(kinds.to_vec());
    let answer = connection.call(version, &request);
    let rows = answer.config_resources.iter().map(|row| (row.resource_type, row.resource_name.to_string()));
    (answer.error_code, rows.collect())
}

#[test]
fn resources_are_listed_by_type() {
    let broker = shared();
    let mut connection = broker.connect();
    let me = node(&mut connection);
    let topic = broker.topic("listed", 1, &[]).name;
    let (group, metrics) = (unique("listed"), unique("listed"));
    set(&mut connection, GROUP, &group, "consumer.session.timeout.ms", Some("46000"));
    set(&mut connection, CLIENT_METRICS, &metrics, "interval.ms", Some("1000"));
    let all = [(TOPIC, topic), (BROKER, me.clone()), (BROKER_LOGGER, me), (CLIENT_METRICS, metrics), (GROUP, group)];
    for (kind, resource) in &all {
        let rows = eventually("it is listed", || {
            let (code, rows) = list(&mut connection, 1, &[*kind]);
            assert_eq!(code, 0);
            rows.contains(&(*kind, resource.clone())).then_some(rows)
        });
        assert!(rows.iter().all(|(other, _)| other == kind), "of one type: {rows:?}");
    }
    let (_, every) = list(&mut connection, 1, &[]);
    assert!(all.iter().all(|row| every.contains(row)), "no type is every type: {every:?}");
    let (_, twice) = list(&mut connection, 1, &[BROKER, BROKER]);
    assert_eq!(twice.len(), 1, "{twice:?}");
    let (code, old) = list(&mut connection, 0, &[]);
    assert_eq!(code, 0);
    assert!(old.iter().any(|(_, name)| *name == all[3].1), "v0 lists client metrics: {old:?}");
    for unknown in [&[3][..], &[TOPIC, 77]] {
        assert_eq!(list(&mut connection, 1, unknown), (UNSUPPORTED_VERSION, vec![]));
    }
}

#[test]
fn a_leader_tells_the_producers_that_it_remembers() {
    let broker = shared();
    let mut connection = broker.connect();
    let topic = broker.topic("producers", 1, &[]).name;
    let (id, epoch) = connection.producer();
    connection.append(&topic, 0, idempotent((id, epoch), 0, &["a", "b"]));
    connection.append(&topic, 0, batch(&["from nobody"]));
    let asked = |topic: &str, partitions: &[i32]| {
        TopicRequest::default().with_name(name(topic)).with_partition_indexes(partitions.to_vec())
    };
    let topics = vec![asked(&topic, &[0, 9]), asked("no-such-topic", &[0]), asked("a b", &[0])];
    let answer = connection.call(0, &DescribeProducersRequest::default().with_topics(topics));
    let rows = answer.topics.iter().flat_map(|topic| topic.partitions.iter().map(|row| (topic.name.as_str(), row)));
    let rows: Vec<_> = rows.collect();
    let codes: Vec<_> = rows.iter().map(|(topic, row)| (*topic, row.partition_index, row.error_code)).collect();
    assert_eq!(codes, [(topic.as_str(), 0, 0), (&topic, 9, 3), ("no-such-topic", 0, 3), ("a b", 0, 17)]);
    let known = &rows[0].1.active_producers;
    assert_eq!(known.len(), 1, "{known:?}");
    let producer = &known[0];
    assert_eq!((producer.producer_id.0, producer.producer_epoch), (id, i32::from(epoch)));
    assert_eq!((producer.last_sequence, producer.current_txn_start_offset), (1, -1));
    assert!(producer.last_timestamp > 0, "{producer:?}");
}

#[test]
fn without_an_authorizer_access_lists_are_disabled() {
    let broker = shared();
    let mut connection = broker.connect();
    for version in 1..=3 {
        let request = DescribeAclsRequest::default()
            .with_resource_type_filter(1)
            .with_pattern_type_filter(1)
            .with_operation(1)
            .with_permission_type(1);
        let answer = connection.call(version, &request);
        let words = Some("No Authorizer is configured on the broker");
        assert_eq!((answer.error_code, answer.error_message.as_deref()), (SECURITY_DISABLED, words), "v{version}");
    }
}

#[test]
fn nobody_has_scram_credentials() {
    let broker = shared();
    let mut connection = broker.connect();
    let mut ask = |users: Option<&[&str]>| {
        let users = users.map(|users| users.iter().map(|user| UserName::default().with_name(text(user))).collect());
        let answer = connection.call(0, &DescribeUserScramCredentialsRequest::default().with_users(users));
        assert_eq!((answer.error_code, answer.error_message.as_deref()), (0, Some("")));
        let rows = answer.results.iter().map(|row| {
            assert_eq!(row.credential_infos, []);
            (row.user.to_string(), row.error_code, row.error_message.as_ref().map(ToString::to_string))
        });
        rows.collect::<Vec<_>>()
    };
    assert_eq!(ask(None), []);
    assert_eq!(ask(Some(&[])), []);
    let unknown = Some("Attempt to describe a user credential that does not exist: alice".to_owned());
    assert_eq!(ask(Some(&["alice"])), [("alice".to_owned(), RESOURCE_NOT_FOUND, unknown)]);
    let twice = Some("Cannot describe SCRAM credentials for the same user twice in a single request: alice".to_owned());
    assert_eq!(ask(Some(&["alice", "alice"])), [("alice".to_owned(), DUPLICATE_RESOURCE, twice)]);
}
