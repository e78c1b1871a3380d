//! Automatic creation, where the broker's own switch is off.

use ballast_tests::raw::rows::{PRODUCE, eventually};
use ballast_tests::raw::{Connection, batch, name};
use ballast_tests::target::{unique, with};
use kafka_protocol::messages::MetadataRequest;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;

fn code(connection: &mut Connection, topic: &str, create: bool) -> i16 {
    let row = MetadataRequestTopic::default().with_name(Some(name(topic)));
    let request = MetadataRequest::default().with_topics(Some(vec![row])).with_allow_auto_topic_creation(create);
    connection.call(12, &request).topics[0].error_code
}

#[test]
fn the_brokers_switch_wins_over_the_clients_wish() {
    let Some(broker) = with(&["auto.create.topics.enable=false"]) else { return };
    let mut connection = broker.connect();
    let topic = unique("wished-for");
    for _ in 0..3 {
        assert_eq!(code(&mut connection, &topic, true), 3);
    }
    assert_eq!(code(&mut connection, "bad name!", true), 17);
    assert_eq!(connection.produce(PRODUCE, &topic, 0, batch(&["a"])).error_code, 3);
    let listed = connection.call(12, &MetadataRequest::default().with_topics(None)).topics;
    assert!(listed.iter().all(|row| row.name.as_ref().is_none_or(|name| name.as_str() != topic)), "{listed:?}");
}

#[test]
fn automatic_creation_takes_the_brokers_number_of_partitions() {
    let Some(broker) = with(&["num.partitions=3"]) else { return };
    let mut connection = broker.connect();
    let topic = unique("automatic");
    assert_eq!(code(&mut connection, &topic, true), 3);
    eventually("the topic is created", || (code(&mut connection, &topic, true) == 0).then_some(()));
    for partition in 0..3 {
        eventually("the partition is led", || {
            (connection.offset_at(&topic, partition, -1).error_code == 0).then_some(())
        });
        connection.append(&topic, partition, batch(&["a"]));
    }
    assert_eq!(connection.offset_at(&topic, 3, -1).error_code, 3);
}
