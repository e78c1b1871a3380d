//! `__consumer_offsets`: how it is made, and who may touch it.

use ballast_tests::raw::groups::commit;
use ballast_tests::raw::rows::{FETCH, PRODUCE, batches_of};
use ballast_tests::raw::{Fetch, batch, fetch_row, name, text};
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{DescribeConfigsRequest, FindCoordinatorRequest, MetadataRequest};

use crate::group;

const TOPIC: &str = "__consumer_offsets";

#[test]
fn it_has_kafkas_shape() {
    let Some((broker, _)) = group("shape") else { return };
    let mut connection = broker.connect();
    let wanted = MetadataRequestTopic::default().with_name(Some(name(TOPIC)));
    let told = connection.call(9, &MetadataRequest::default().with_topics(Some(vec![wanted]))).topics.remove(0);
    assert_eq!((told.error_code, told.is_internal, told.partitions.len()), (0, true, 50));
    let resource = DescribeConfigsResource::default().with_resource_type(2).with_resource_name(text(TOPIC));
    let mut told = connection.call(4, &DescribeConfigsRequest::default().with_resources(vec![resource])).results;
    let own: std::collections::BTreeMap<String, String> = told
        .remove(0)
        .configs
        .into_iter()
        .filter(|config| config.config_source == 1)
        .map(|config| (config.name.to_string(), config.value.unwrap_or_default().to_string()))
        .collect();
    let expected = [("cleanup.policy", "compact"), ("compression.type", "producer"), ("segment.bytes", "104857600")];
    assert_eq!(own, expected.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
}

#[test]
fn clients_may_not_write_to_it() {
    let Some((broker, _)) = group("write") else { return };
    let mut connection = broker.connect();
    assert_eq!(connection.produce(PRODUCE, TOPIC, 0, batch(&["x"])).error_code, 17);
}

#[test]
fn commits_lie_in_the_partition_that_the_groups_hash_names() {
    let Some((broker, _)) = group("hash") else { return };
    let mut connection = broker.connect();
    // "a".hashCode() is 97.
    let topic = broker.topic("hash", 1, &[]).name;
    let end = connection.bounds(TOPIC, 97 % 50).1;
    assert_eq!(connection.commit(9, &commit("a", "", -1, &topic, &[(0, 1, None)])), [0]);
    assert_eq!(connection.bounds(TOPIC, 97 % 50).1, end + 1);
    let row = connection.fetched(FETCH, &Fetch::of(TOPIC, vec![fetch_row(97 % 50, end)]));
    let batches = batches_of(&row);
    let last = batches.last().expect("the commit");
    let head = (last.producer_id(), last.producer_epoch(), last.base_sequence(), last.attributes().0);
    assert_eq!(head, (-1, -1, 0, 0), "as Apache Kafka's coordinator writes");
}

#[test]
fn the_first_question_for_a_coordinator_makes_it() {
    let Some(broker) = ballast_tests::target::with(&["offsets.topic.num.partitions=7"]) else { return };
    let mut connection = broker.connect();
    let metadata = |connection: &mut ballast_tests::raw::Connection| {
        let wanted = MetadataRequestTopic::default().with_name(Some(name(TOPIC)));
        let request = MetadataRequest::default().with_topics(Some(vec![wanted])).with_allow_auto_topic_creation(false);
        connection.call(9, &request).topics.remove(0)
    };
    let told = metadata(&mut connection);
    assert_eq!((told.error_code, told.is_internal), (3, true), "not before anybody needs it");
    let request = FindCoordinatorRequest::default().with_coordinator_keys(vec![text("g")]);
    let first = connection.call(4, &request).coordinators.remove(0).error_code;
    assert!([0, 15].contains(&first), "{first}");
    connection.coordinator("g");
    assert_eq!(metadata(&mut connection).partitions.len(), 7);
}
