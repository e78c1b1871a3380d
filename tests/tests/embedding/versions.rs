//! An older broker: what it may not speak is neither advertised nor served.

use ballast_broker::embed::{Api, Broker};
use ballast_tests::raw::{Connection, Reply, batch, text};
use kafka_protocol::messages::create_topics_request::{CreatableReplicaAssignment, CreatableTopic};
use kafka_protocol::messages::{ApiVersionsRequest, CreateTopicsRequest};
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};

fn advertised(connection: &mut Connection) -> Vec<(Api, i16)> {
    let request = ApiVersionsRequest::default().with_client_software_name(text("versions"));
    let answer = connection.call(3, &request.with_client_software_version(text("1")));
    answer.api_keys.iter().map(|row| (Api(row.api_key), row.max_version)).collect()
}

#[test]
fn a_limited_version_is_the_newest_that_is_advertised_and_served() {
    let builder = Broker::builder().topic("t", 1).max_version(Api::PRODUCE, 7).max_version(Api::FETCH, 11);
    let broker = builder.start_blocking().unwrap();
    let mut connection = Connection::open(broker.bootstrap());
    let told = advertised(&mut connection);
    assert!(told.contains(&(Api::PRODUCE, 7)) && told.contains(&(Api::FETCH, 11)), "{told:?}");
    assert_eq!(connection.produce(7, "t", 0, batch(&["a"])).error_code, 0);
    let newer = ballast_tests::raw::messages::produce(-1, "t", 0, Some(batch(&["b"])));
    connection.start(9, &newer);
    assert_eq!(connection.reply(), Reply::Closed);
}

#[test]
fn an_api_below_its_oldest_version_is_gone() {
    let broker = Broker::builder().max_version(Api::INIT_PRODUCER_ID, -1).start_blocking().unwrap();
    let mut connection = Connection::open(broker.bootstrap());
    assert!(advertised(&mut connection).iter().all(|(api, _)| *api != Api::INIT_PRODUCER_ID));
    let request = kafka_protocol::messages::InitProducerIdRequest::default().with_transactional_id(None);
    connection.start(4, &request);
    assert_eq!(connection.reply(), Reply::Closed);
}

#[test]
fn a_client_without_the_api_that_it_needs_says_so() {
    let builder = Broker::builder().topic("t", 1).max_version(Api::INIT_PRODUCER_ID, -1);
    let broker = builder.start_blocking().unwrap();
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", broker.bootstrap()).set("enable.idempotence", "true");
    let producer: BaseProducer = config.create().unwrap();
    producer.send(BaseRecord::<(), _>::to("t").payload("x")).map_err(|(error, _)| error).unwrap();
    let cause = ballast_tests::raw::rows::eventually("the producer gives up with a cause", || {
        producer.poll(std::time::Duration::from_millis(10));
        producer.client().fatal_error()
    });
    assert!(cause.1.contains("Idempotent producer not supported"), "{cause:?}");
}

#[test]
fn a_group_consumer_without_group_apis_says_so_and_reads_nothing() {
    let builder = Broker::builder().topic("t", 1).max_version(Api::JOIN_GROUP, -1);
    let broker = builder.start_blocking().unwrap();
    Connection::open(broker.bootstrap()).append("t", 0, batch(&["a"]));
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", broker.bootstrap()).set("group.id", "g").set("auto.offset.reset", "earliest");
    let consumer: BaseConsumer = config.create().unwrap();
    consumer.subscribe(&["t"]).unwrap();
    let cause = ballast_tests::raw::rows::eventually("the consumer gives a cause", || {
        match consumer.poll(std::time::Duration::from_millis(10))? {
            Err(error) => Some(error.to_string()),
            Ok(_) => panic!("it consumes in a group that it cannot join"),
        }
    });
    assert!(cause.contains("feature not supported"), "{cause}");
}

#[test]
fn replicas_that_nobody_can_reach_are_refused() {
    let broker = Broker::builder().start_blocking().unwrap();
    let mut connection = Connection::open(broker.bootstrap());
    let mut create = |topic: CreatableTopic| {
        let request = CreateTopicsRequest::default().with_timeout_ms(10_000).with_topics(vec![topic]);
        connection.call(7, &request).topics[0].error_code
    };
    let topic = || CreatableTopic::default().with_name(ballast_tests::raw::name("t"));
    assert_eq!(create(topic().with_num_partitions(1).with_replication_factor(3)), 38);
    let assigned = CreatableReplicaAssignment::default().with_broker_ids(vec![1.into(), 2.into(), 3.into()]);
    let by_hand = topic().with_num_partitions(-1).with_replication_factor(-1).with_assignments(vec![assigned]);
    assert_eq!(create(by_hand), 39);
}
