//! librdkafka (through rdkafka) against a real broker process: create, produce, consume, restart, look up by time.

use std::collections::BTreeMap;
use std::time::Duration;

use ballast_tests::process::Serve;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::message::{Header, Headers as _, Message as _, OwnedHeaders};
use rdkafka::producer::{FutureProducer, FutureRecord, Producer as _};
use rdkafka::types::RDKafkaErrorCode;
use rdkafka::{Offset, TopicPartitionList};

const TIMEOUT: Duration = Duration::from_secs(30);

fn client(broker: &Serve) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", &broker.bootstrap).set("broker.address.family", "v4");
    config
}

fn admin(broker: &Serve) -> AdminClient<DefaultClientContext> {
    client(broker).create().expect("an admin client needs no broker")
}

async fn create(broker: &Serve, topic: &str, partitions: i32) {
    let topics = [NewTopic::new(topic, partitions, TopicReplication::Fixed(1))];
    let results = admin(broker).create_topics(&topics, &AdminOptions::new().operation_timeout(Some(TIMEOUT))).await;
    assert_eq!(results.expect("the broker answers"), [Ok(topic.to_owned())]);
}

fn producer(broker: &Serve, settings: &[(&str, &str)]) -> FutureProducer {
    let mut config = client(broker);
    for (key, value) in settings {
        config.set(*key, *value);
    }
    config.create().expect("the settings are good")
}

async fn send(producer: &FutureProducer, topic: &str, partition: Option<i32>, key: &str, value: &str) -> (i32, i64) {
    let mut record = FutureRecord::to(topic).key(key).payload(value);
    if let Some(partition) = partition {
        record = record.partition(partition);
    }
    let delivered = producer.send(record, TIMEOUT).await;
    let delivery = delivered.unwrap_or_else(|(error, _)| panic!("{topic} {key}: {error}"));
    (delivery.partition, delivery.offset)
}

/// Every (offset, key, value) of a partition, from `from` to its end.
fn read(broker: &Serve, topic: &str, partition: i32, from: Offset) -> Vec<(i64, String, String)> {
    let mut config = client(broker);
    config.set("group.id", "unused").set("enable.partition.eof", "true");
    config.set("check.crcs", "true");
    let consumer: BaseConsumer = config.create().expect("the settings are good");
    let mut assignment = TopicPartitionList::new();
    assignment.add_partition_offset(topic, partition, from).expect("an offset");
    consumer.assign(&assignment).expect("assigning needs no broker");
    let mut records = Vec::new();
    loop {
        match consumer.poll(TIMEOUT).expect("the broker answers in time") {
            Ok(message) => {
                let text = |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
                records.push((message.offset(), text(message.key()), text(message.payload())));
            }
            Err(rdkafka::error::KafkaError::PartitionEOF(_)) => return records,
            Err(error) => panic!("{topic}-{partition}: {error}"),
        }
    }
}

#[tokio::test]
async fn records_come_back_as_they_were_sent_in_every_codec_and_after_a_restart() {
    let mut broker = Serve::start(&[]);
    create(&broker, "codecs", 1).await;
    let mut sent = Vec::new();
    for codec in ["none", "gzip", "snappy", "lz4", "zstd"] {
        let producer = producer(&broker, &[("compression.type", codec), ("linger.ms", "5")]);
        let values: Vec<String> = (0..20).map(|i| format!("{codec} {i} {}", "x".repeat(100))).collect();
        let sending = values.iter().map(|value| send(&producer, "codecs", Some(0), codec, value));
        for (offset, value) in futures_in_order(sending).await.into_iter().map(|(_, offset)| offset).zip(&values) {
            sent.push((offset, codec.to_owned(), value.clone()));
        }
    }
    sent.sort();
    assert_eq!(sent.len(), 100);
    assert_eq!(read(&broker, "codecs", 0, Offset::Beginning), sent);

    assert!(broker.stop().success(), "{}", broker.log());
    broker.restart();
    assert_eq!(read(&broker, "codecs", 0, Offset::Beginning), sent, "after a clean stop");
    broker.kill();
    broker.restart();
    assert_eq!(read(&broker, "codecs", 0, Offset::Beginning), sent, "after kill -9");
    let (_, offset) = send(&producer(&broker, &[]), "codecs", Some(0), "k", "after").await;
    assert_eq!(offset, 100, "offsets go on where they ended");
}

/// Awaits all, starting them in order: librdkafka batches what is sent together.
async fn futures_in_order<T>(futures: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut pending: Vec<_> = futures.map(Box::pin).collect();
    let mut results: Vec<Option<T>> = pending.iter().map(|_| None).collect();
    std::future::poll_fn(|cx| {
        for (future, result) in pending.iter_mut().zip(&mut results) {
            if result.is_none()
                && let std::task::Poll::Ready(value) = future.as_mut().poll(cx)
            {
                *result = Some(value);
            }
        }
        if results.iter().all(Option::is_some) { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    results.into_iter().flatten().collect()
}

#[tokio::test]
async fn keys_stay_together_and_keyless_records_spread() {
    let broker = Serve::start(&[]);
    create(&broker, "spread", 4).await;
    let producer = producer(&broker, &[("partitioner", "murmur2_random"), ("sticky.partitioning.linger.ms", "0")]);
    let mut by_key = BTreeMap::<String, i32>::new();
    for i in 0..60 {
        let key = format!("key-{}", i % 12);
        let (partition, _) = send(&producer, "spread", None, &key, &i.to_string()).await;
        assert_eq!(*by_key.entry(key.clone()).or_insert(partition), partition, "{key} changed its partition");
    }
    let total: usize = (0..4).map(|partition| read(&broker, "spread", partition, Offset::Beginning).len()).sum();
    assert_eq!(total, 60);
    let used: std::collections::BTreeSet<i32> = by_key.into_values().collect();
    assert!(used.len() > 1, "twelve keys on one partition of four");
}

#[tokio::test]
async fn an_idempotent_producer_and_headers_work() {
    let broker = Serve::start(&[]);
    create(&broker, "idempotent", 1).await;
    let producer = producer(&broker, &[("enable.idempotence", "true"), ("linger.ms", "0")]);
    for i in 0..50 {
        let headers = OwnedHeaders::new().insert(Header { key: "n", value: Some(&i.to_string()) });
        let value = i.to_string();
        let record = FutureRecord::<(), _>::to("idempotent").payload(&value).headers(headers);
        let delivery = producer.send(record, TIMEOUT).await.unwrap_or_else(|(error, _)| panic!("{error}"));
        assert_eq!(delivery.offset, i64::from(i));
    }
    let consumer: BaseConsumer = client(&broker).set("group.id", "unused").create().expect("the settings are good");
    let mut assignment = TopicPartitionList::new();
    assignment.add_partition_offset("idempotent", 0, Offset::Offset(49)).expect("an offset");
    consumer.assign(&assignment).expect("assigning needs no broker");
    let message = consumer.poll(TIMEOUT).expect("in time").expect("a record");
    let headers = message.headers().expect("it was sent with headers");
    assert_eq!(headers.get(0), Header { key: "n", value: Some(b"49".as_slice()) });
}

#[tokio::test]
async fn offsets_are_found_by_time() {
    let broker = Serve::start(&[]);
    create(&broker, "times", 1).await;
    let producer = producer(&broker, &[]);
    for (offset, timestamp) in [1000, 3000, 2000, 5000].into_iter().enumerate() {
        let record = FutureRecord::<(), _>::to("times").payload("x").timestamp(timestamp).partition(0);
        let delivery = producer.send(record, TIMEOUT).await.unwrap_or_else(|(error, _)| panic!("{error}"));
        assert_eq!(delivery.offset, offset as i64);
    }
    let consumer: BaseConsumer = client(&broker).set("group.id", "unused").create().expect("the settings are good");
    for (timestamp, expected) in [(1, 0), (1000, 0), (1001, 1), (3001, 3), (5000, 3), (5001, -1)] {
        let mut asked = TopicPartitionList::new();
        asked.add_partition_offset("times", 0, Offset::Offset(timestamp)).expect("an offset");
        let found = consumer.offsets_for_times(asked, TIMEOUT).expect("the broker answers");
        let offset = found.find_partition("times", 0).expect("it was asked for").offset();
        let expected = if expected < 0 { Offset::End } else { Offset::Offset(expected) };
        assert_eq!(offset, expected, "asked for {timestamp}");
    }
    assert_eq!(consumer.fetch_watermarks("times", 0, TIMEOUT).expect("the broker answers"), (0, 4));
}

#[tokio::test]
async fn errors_arrive_as_errors() {
    let broker = Serve::start(&["auto.create.topics.enable=false"]);
    create(&broker, "there", 2).await;
    let admin = admin(&broker);
    let options = AdminOptions::new().operation_timeout(Some(TIMEOUT));
    let again = [NewTopic::new("there", 2, TopicReplication::Fixed(1))];
    let results = admin.create_topics(&again, &options).await.expect("the broker answers");
    assert_eq!(results, [Err(("there".to_owned(), RDKafkaErrorCode::TopicAlreadyExists))]);
    let results = admin.delete_topics(&["missing"], &options).await.expect("the broker answers");
    assert_eq!(results, [Err(("missing".to_owned(), RDKafkaErrorCode::UnknownTopicOrPartition))]);

    let producer = producer(&broker, &[("message.timeout.ms", "3000")]);
    let record = FutureRecord::<(), _>::to("missing").payload("x");
    let (error, _) = producer.send(record, TIMEOUT).await.expect_err("nobody makes the topic");
    // librdkafka keeps looking for the topic until its own time is up.
    let told =
        [RDKafkaErrorCode::MessageTimedOut, RDKafkaErrorCode::UnknownTopic, RDKafkaErrorCode::UnknownTopicOrPartition];
    assert!(error.rdkafka_error_code().is_some_and(|code| told.contains(&code)), "{error}");

    let results = admin.delete_topics(&["there"], &options).await.expect("the broker answers");
    assert_eq!(results, [Ok("there".to_owned())]);
    create(&broker, "there", 1).await;
    assert_eq!(read(&broker, "there", 0, Offset::Beginning), [], "a topic made again is empty");
}

#[tokio::test]
async fn a_topic_is_made_by_the_first_produce() {
    let broker = Serve::start(&["num.partitions=3"]);
    let producer = producer(&broker, &[("allow.auto.create.topics", "true")]);
    let (_, offset) = send(&producer, "made", None, "k", "v").await;
    assert_eq!(offset, 0);
    let metadata = producer.client().fetch_metadata(Some("made"), TIMEOUT).expect("the broker answers");
    assert_eq!(metadata.topics()[0].partitions().len(), 3);
}
