//! DescribeCluster, DescribeTopicPartitions and DescribeLogDirs of one node.

use ballast_tests::raw::batches::batch_of_bytes;
use ballast_tests::raw::{Connection, name};
use ballast_tests::target::{Topic, shared, unique};
use ballast_wire::frame::ApiKey;
use kafka_protocol::messages::describe_log_dirs_request::DescribableLogDirTopic;
use kafka_protocol::messages::describe_topic_partitions_request::{Cursor, TopicRequest};
use kafka_protocol::messages::{
    ApiVersionsRequest, DescribeClusterRequest, DescribeLogDirsRequest, DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse, MetadataRequest,
};

#[test]
fn a_cluster_of_one_describes_itself() {
    let broker = shared();
    let mut connection = broker.connect();
    let metadata = connection.call(12, &MetadataRequest::default().with_topics(Some(vec![])));
    for version in 0..=2 {
        let response = connection.call(version, &DescribeClusterRequest::default());
        assert_eq!(response.error_code, 0, "v{version}");
        assert_eq!(Some(&response.cluster_id), metadata.cluster_id.as_ref(), "v{version}");
        let [node] = &response.brokers[..] else { panic!("v{version}: {:?}", response.brokers) };
        assert_eq!(format!("{}:{}", node.host, node.port), broker.bootstrap, "v{version}");
        assert_eq!(response.controller_id, node.broker_id, "v{version}");
        assert_eq!(response.cluster_authorized_operations, i32::MIN, "v{version}: not asked for");
        let asked = DescribeClusterRequest::default().with_include_cluster_authorized_operations(true);
        assert_eq!(connection.call(version, &asked).cluster_authorized_operations, 8096, "v{version}");
    }
}

#[test]
fn a_broker_does_not_describe_controllers() {
    let broker = shared();
    let mut connection = broker.connect();
    for (kind, expected) in [(1, 0), (2, 114), (3, 115), (0, 115)] {
        let request = DescribeClusterRequest::default().with_endpoint_type(kind);
        let response = connection.call(1, &request);
        assert_eq!(response.error_code, expected, "endpoint type {kind}");
    }
}

fn describe(
    connection: &mut Connection,
    topics: &[&str],
    limit: i32,
    cursor: Option<(&str, i32)>,
) -> DescribeTopicPartitionsResponse {
    let rows = topics.iter().map(|topic| TopicRequest::default().with_name(name(topic)));
    let cursor =
        cursor.map(|(topic, partition)| Cursor::default().with_topic_name(name(topic)).with_partition_index(partition));
    let request = DescribeTopicPartitionsRequest::default()
        .with_topics(rows.collect())
        .with_response_partition_limit(limit)
        .with_cursor(cursor);
    connection.call(0, &request)
}

/// Topic, code and partitions of each row.
fn seen(response: &DescribeTopicPartitionsResponse) -> Vec<(String, i16, Vec<i32>)> {
    let rows = response.topics.iter().map(|topic| {
        let name = topic.name.as_ref().map(|name| name.to_string()).unwrap_or_default();
        (name, topic.error_code, topic.partitions.iter().map(|row| row.partition_index).collect())
    });
    rows.collect()
}

#[test]
fn topics_are_described_page_by_page() {
    let broker = shared();
    let stem = unique("paged");
    let mut connection = broker.connect();
    let (a, b) = (format!("{stem}-a"), format!("{stem}-b"));
    connection.create_topic(&b, 3, &[]);
    connection.create_topic(&a, 2, &[]);
    let all = describe(&mut connection, &[&b, &a], 2000, None);
    assert_eq!(seen(&all), [(a.clone(), 0, vec![0, 1]), (b.clone(), 0, vec![0, 1, 2])], "in the order of their names");
    assert!(all.next_cursor.is_none());
    let row = &all.topics[0].partitions[0];
    assert_eq!((row.error_code, row.leader_epoch, row.offline_replicas.len()), (0, 0, 0));
    assert_eq!((&row.replica_nodes, &row.isr_nodes), (&vec![row.leader_id], &vec![row.leader_id]));

    let mut cursor: Option<(String, i32)> = None;
    let mut pages = Vec::new();
    loop {
        let from = cursor.as_ref().map(|(topic, partition)| (topic.as_str(), *partition));
        let page = describe(&mut connection, &[&a, &b], 2, from);
        pages.push(seen(&page));
        assert!(pages.len() < 10, "the pages do not end: {pages:?}");
        let Some(next) = page.next_cursor else { break };
        cursor = Some((next.topic_name.to_string(), next.partition_index));
    }
    assert_eq!(pages[0], [(a, 0, vec![0, 1])]);
    assert_eq!(pages[1..].concat(), [(b.clone(), 0, vec![0, 1]), (b, 0, vec![2])]);
}

#[test]
fn topics_that_are_not_there_are_described_as_such() {
    let broker = shared();
    let mut connection = broker.connect();
    let absent = unique("absent");
    assert_eq!(seen(&describe(&mut connection, &[&absent], 10, None)), [(absent, 3, vec![])]);
    assert_eq!(seen(&describe(&mut connection, &["a b"], 10, None)), [("a b".to_owned(), 17, vec![])]);
    let Topic { name, .. } = broker.topic("listed", 1, &[]);
    let listed = seen(&describe(&mut connection, &[], 2000, None));
    assert!(listed.contains(&(name, 0, vec![0])), "no name means every topic: {listed:?}");
}

#[test]
fn log_directories_tell_what_they_hold() {
    let broker = shared();
    let mut connection = broker.connect();
    let advertised = connection.call(0, &ApiVersionsRequest::default()).api_keys;
    assert!(
        advertised.iter().any(|entry| entry.api_key == ApiKey::DESCRIBE_LOG_DIRS.0),
        "DescribeLogDirs is not served"
    );
    let Topic { name: topic, .. } = broker.topic("sized", 2, &[]);
    connection.append(&topic, 1, batch_of_bytes(5000));
    for version in 1..=4 {
        let row = DescribableLogDirTopic::default().with_topic(name(&topic)).with_partitions(vec![0, 1, 7]);
        let absent = DescribableLogDirTopic::default().with_topic(name(&unique("absent"))).with_partitions(vec![0]);
        let request = DescribeLogDirsRequest::default().with_topics(Some(vec![row, absent]));
        let response = connection.call(version, &request);
        assert_eq!(response.error_code, 0, "v{version}");
        let [folder] = &response.results[..] else { panic!("v{version}: {:?}", response.results) };
        assert!(folder.error_code == 0 && folder.log_dir.starts_with('/'), "v{version}: {folder:?}");
        if version >= 4 {
            assert!(folder.total_bytes >= folder.usable_bytes && folder.usable_bytes > 0, "{folder:?}");
        }
        let [found] = &folder.topics[..] else { panic!("v{version}: {:?}", folder.topics) };
        let mut sizes: Vec<_> = found
            .partitions
            .iter()
            .map(|row| (row.partition_index, row.partition_size, row.offset_lag, row.is_future_key))
            .collect();
        sizes.sort_unstable();
        assert_eq!(sizes, [(0, 0, 0, false), (1, 5000, 0, false)], "v{version}");
    }
    let all = connection.call(4, &DescribeLogDirsRequest::default().with_topics(None));
    let named = all.results.iter().flat_map(|folder| &folder.topics).any(|row| row.name.as_str() == topic);
    assert!(named, "a null list means every topic");
}
