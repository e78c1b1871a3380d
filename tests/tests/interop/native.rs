//! rdkafka (librdkafka from Rust): the scenario of tests/interop/README.md, written here because these tests are Rust.

use std::collections::BTreeSet;
use std::time::Duration;

use rdkafka::admin::{
    AdminClient, AdminOptions, AlterConfig, NewTopic, OwnedResourceSpecifier, ResourceSpecifier, TopicReplication,
};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::error::KafkaError;
use rdkafka::message::Message as _;
use rdkafka::producer::{BaseRecord, DeliveryResult, Producer as _, ProducerContext, ThreadedProducer};
use rdkafka::types::RDKafkaErrorCode;
use rdkafka::{ClientContext, Offset, TopicPartitionList};

use crate::session::{Session, unique};

const CODECS: [&str; 5] = ["none", "gzip", "snappy", "lz4", "zstd"];
const PARTITIONS: i32 = 3;
const RETENTION_MS: &str = "3600000";
const MESSAGE_BYTES_MAX: usize = 20_000;
const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(200);
const POLLS_MAX: u32 = 300;

struct Rig {
    bootstrap: String,
    topic: String,
    group: String,
}

/// Runs the scenario.
pub(crate) fn rdkafka(session: &mut Session<'_>) {
    let topic = unique("rdkafka");
    let rig = Rig { bootstrap: session.bootstrap(), group: format!("{topic}-group"), topic };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be built");
    session.version(&format!("0.39 (librdkafka {})", rdkafka::util::get_rdkafka_version().1));
    session.step("create", || runtime.block_on(rig.create()));
    session.step("describe", || runtime.block_on(rig.describe()));
    session.step("alter-config", || runtime.block_on(rig.alter_config()));
    session.step("produce", || rig.produce_all());
    session.step("assign", || rig.assign());
    let mut members = Some((rig.member(), rig.member()));
    session.step("group", || {
        let (first, second) = members.as_ref().expect("both are members");
        rig.group(first, second)
    });
    let Some((first, second)) = members.take() else { return };
    session.step("rebalance", || {
        drop(second);
        until("one member holds everything", || poll(&first).is_none() && held(&first) == PARTITIONS as usize);
        String::new()
    });
    let producer = rig.producer(&[]);
    session.step("commit", || rig.commit(&first, &producer));
    session.restart();
    session.step("restart", || {
        rig.send(&producer, &after().into_iter().map(|value| (None, value)).collect::<Vec<_>>());
        assert_eq!(read(&first, 5), after(), "the member that lived through the restart");
        drop(first);
        String::new()
    });
    session.step("resume", || {
        assert_eq!(read(&rig.member(), 5), after(), "a new member");
        String::new()
    });
    refuse(session, &rig);
    session.step("delete", || runtime.block_on(rig.delete()));
}

fn refuse(session: &mut Session<'_>, rig: &Rig) {
    session.step("unknown-topic", || {
        let consumer = rig.member();
        let missing = format!("{}-missing", rig.topic);
        consumer.subscribe(&[&missing]).expect("subscribing needs no broker");
        refused(&consumer, RDKafkaErrorCode::UnknownTopicOrPartition)
    });
    session.step("too-large", || {
        let producer = rig.producer(&[]);
        let value = "x".repeat(5 * MESSAGE_BYTES_MAX);
        let errors = rig.try_send(&producer, &[(None, value)]);
        assert_eq!(errors, [RDKafkaErrorCode::MessageSizeTooLarge], "of the delivery");
        errors[0].to_string()
    });
    session.step("out-of-range", || {
        let consumer: BaseConsumer = rig.consumer().set("auto.offset.reset", "error").create().expect("good settings");
        let mut place = TopicPartitionList::new();
        place.add_partition_offset(&rig.topic, 0, Offset::Offset(1_000_000)).expect("an offset");
        consumer.assign(&place).expect("assigning needs no broker");
        refused(&consumer, RDKafkaErrorCode::AutoOffsetReset)
    });
}

impl Rig {
    fn config(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &self.bootstrap).set("broker.address.family", "v4");
        config
    }

    fn consumer(&self) -> ClientConfig {
        let mut config = self.config();
        config.set("group.id", &self.group).set("enable.auto.commit", "false").set("auto.offset.reset", "earliest");
        config.set("session.timeout.ms", "10000").set("max.poll.interval.ms", "15000");
        config
    }

    fn member(&self) -> BaseConsumer {
        let consumer: BaseConsumer = self.consumer().create().expect("the settings are good");
        consumer.subscribe(&[&self.topic]).expect("subscribing needs no broker");
        consumer
    }

    fn admin(&self) -> AdminClient<DefaultClientContext> {
        self.config().create().expect("an admin client needs no broker")
    }

    async fn create(&self) -> String {
        let topics =
            [NewTopic::new(&self.topic, PARTITIONS, TopicReplication::Fixed(1)).set("retention.ms", RETENTION_MS)];
        let made = self.admin().create_topics(&topics, &options()).await.expect("the broker answers");
        assert_eq!(made, [Ok(self.topic.clone())]);
        let again = self.admin().create_topics(&topics, &options()).await.expect("the broker answers");
        assert_eq!(again, [Err((self.topic.clone(), RDKafkaErrorCode::TopicAlreadyExists))]);
        "again: refused".to_owned()
    }

    async fn setting(&self, name: &str) -> Option<String> {
        let resources = [ResourceSpecifier::Topic(&self.topic)];
        let told = self.admin().describe_configs(&resources, &options()).await.expect("the broker answers");
        let resource = told.into_iter().next().expect("one answer for one question").expect("the topic is there");
        assert_eq!(resource.specifier, OwnedResourceSpecifier::Topic(self.topic.clone()));
        resource.get(name).and_then(|entry| entry.value.clone())
    }

    async fn describe(&self) -> String {
        let client = self.admin();
        let metadata = client.inner().fetch_metadata(Some(&self.topic), PATIENCE).expect("the broker answers");
        let partitions = metadata.topics()[0].partitions();
        assert_eq!(partitions.len(), PARTITIONS as usize);
        assert!(partitions.iter().all(|partition| partition.leader() >= 0), "a partition has no leader");
        assert_eq!(self.setting("retention.ms").await.as_deref(), Some(RETENTION_MS));
        String::new()
    }

    async fn alter_config(&self) -> String {
        let limit = MESSAGE_BYTES_MAX.to_string();
        // rdkafka has the older call alone, which replaces the whole set.
        let change = AlterConfig::new(ResourceSpecifier::Topic(&self.topic))
            .set("retention.ms", RETENTION_MS)
            .set("max.message.bytes", &limit);
        let told = self.admin().alter_configs(&[change], &options()).await.expect("the broker answers");
        assert_eq!(told, [Ok(OwnedResourceSpecifier::Topic(self.topic.clone()))]);
        assert_eq!(self.setting("max.message.bytes").await, Some(limit));
        String::new()
    }

    fn producer(&self, settings: &[(&str, &str)]) -> ThreadedProducer<Tally> {
        let mut config = self.config();
        for (key, value) in settings {
            config.set(*key, *value);
        }
        config.create_with_context(Tally).expect("the settings are good")
    }

    /// Sends all and gives the errors, in the order in which they came.
    fn try_send(
        &self,
        producer: &ThreadedProducer<Tally>,
        records: &[(Option<String>, String)],
    ) -> Vec<RDKafkaErrorCode> {
        let (tell, told) = std::sync::mpsc::channel();
        for (key, value) in records {
            let mut record = BaseRecord::with_opaque_to(&self.topic, Box::new(tell.clone())).payload(value);
            if let Some(key) = key {
                record = record.key(key);
            }
            producer.send(record).unwrap_or_else(|(error, _)| panic!("{error}"));
        }
        producer.flush(PATIENCE).expect("everything is delivered or refused in time");
        drop(tell);
        told.into_iter().flatten().collect()
    }

    fn send(&self, producer: &ThreadedProducer<Tally>, records: &[(Option<String>, String)]) {
        assert_eq!(self.try_send(producer, records), [], "of the deliveries");
    }

    fn produce_all(&self) -> String {
        for codec in CODECS {
            let settings = [("compression.type", codec), ("enable.idempotence", "true"), ("linger.ms", "5")];
            self.send(&self.producer(&settings), &records(codec));
        }
        CODECS.join(" ")
    }

    fn places(&self, offset: Offset) -> TopicPartitionList {
        let mut places = TopicPartitionList::new();
        for partition in 0..PARTITIONS {
            places.add_partition_offset(&self.topic, partition, offset).expect("an offset");
        }
        places
    }

    fn assign(&self) -> String {
        let consumer: BaseConsumer = self.consumer().set("check.crcs", "true").create().expect("good settings");
        consumer.assign(&self.places(Offset::Beginning)).expect("assigning needs no broker");
        let values = read(&consumer, all_values().len());
        assert_eq!(values, all_values());
        format!("{} records", values.len())
    }

    fn group(&self, first: &BaseConsumer, second: &BaseConsumer) -> String {
        let mut seen = BTreeSet::new();
        let all: BTreeSet<String> = all_values().into_iter().collect();
        until("two members share the partitions and see all records", || {
            seen.extend(poll(first));
            seen.extend(poll(second));
            let shared = held(first) > 0 && held(second) > 0 && held(first) + held(second) == PARTITIONS as usize;
            shared && seen == all
        });
        String::new()
    }

    fn commit(&self, first: &BaseConsumer, producer: &ThreadedProducer<Tally>) -> String {
        let mut ends = TopicPartitionList::new();
        for partition in 0..PARTITIONS {
            let (_, end) = first.fetch_watermarks(&self.topic, partition, PATIENCE).expect("the broker answers");
            ends.add_partition_offset(&self.topic, partition, Offset::Offset(end)).expect("an offset");
        }
        first.commit(&ends, CommitMode::Sync).expect("the commit is taken");
        let committed = first.committed_offsets(self.places(Offset::Invalid), PATIENCE).expect("the broker answers");
        assert_eq!(committed.to_topic_map(), ends.to_topic_map());
        first.seek_partitions(ends, PATIENCE).expect("the member holds them all");
        self.send(producer, &[(None, "before".to_owned())]);
        assert_eq!(read(first, 1), ["before"]);
        first.commit_consumer_state(CommitMode::Sync).expect("the commit is taken");
        String::new()
    }

    async fn delete(&self) -> String {
        let admin = self.admin();
        let told = admin.delete_topics(&[&self.topic], &options()).await.expect("the broker answers");
        assert_eq!(told, [Ok(self.topic.clone())]);
        let told = admin.delete_groups(&[&self.group], &options()).await.expect("the broker answers");
        assert_eq!(told, [Ok(self.group.clone())]);
        let again = admin.delete_topics(&[&self.topic], &options()).await.expect("the broker answers");
        assert_eq!(again, [Err((self.topic.clone(), RDKafkaErrorCode::UnknownTopicOrPartition))]);
        "again: refused".to_owned()
    }
}

/// Tells the error of a record's delivery to whoever sent it.
struct Tally;

impl ClientContext for Tally {}

impl ProducerContext for Tally {
    type DeliveryOpaque = Box<std::sync::mpsc::Sender<Option<RDKafkaErrorCode>>>;

    fn delivery(&self, result: &DeliveryResult<'_>, tell: Self::DeliveryOpaque) {
        let error = result.as_ref().err().and_then(|(error, _)| error.rdkafka_error_code());
        // The sender of a step that has failed is gone.
        let _ = tell.send(error);
    }
}

fn options() -> AdminOptions {
    AdminOptions::new().operation_timeout(Some(PATIENCE))
}

/// Ten records with keys and ten without.
fn records(codec: &str) -> Vec<(Option<String>, String)> {
    let padding = "ä".repeat(50);
    let keyed = (0..10).map(|i| (Some(format!("k{i}")), format!("{codec} keyed {i} {padding}")));
    keyed.chain((0..10).map(|i| (None, format!("{codec} plain {i} {padding}")))).collect()
}

fn all_values() -> Vec<String> {
    let mut values: Vec<String> = CODECS.iter().flat_map(|codec| records(codec)).map(|(_, value)| value).collect();
    values.sort();
    values
}

fn after() -> Vec<String> {
    (0..5).map(|i| format!("after {i}")).collect()
}

/// The next value, if one comes soon.
fn poll(consumer: &BaseConsumer) -> Option<String> {
    match consumer.poll(POLL)? {
        Ok(message) => Some(String::from_utf8_lossy(message.payload().unwrap_or_default()).into_owned()),
        // It says so while the broker restarts, and goes on trying.
        Err(KafkaError::MessageConsumption(
            RDKafkaErrorCode::AllBrokersDown | RDKafkaErrorCode::BrokerTransportFailure,
        )) => None,
        Err(error) => panic!("{error}"),
    }
}

/// Reads so many values and gives them in order of their text.
fn read(consumer: &BaseConsumer, count: usize) -> Vec<String> {
    let mut values = Vec::new();
    until("the records", || {
        values.extend(poll(consumer));
        values.len() >= count
    });
    values.sort();
    values
}

fn held(consumer: &BaseConsumer) -> usize {
    consumer.assignment().map_or(0, |list| list.count())
}

/// Asks until it is so; what is asked waits for the broker.
fn until(what: &str, mut ask: impl FnMut() -> bool) {
    assert!((0..POLLS_MAX).any(|_| ask()), "still not after {POLLS_MAX} polls: {what}");
}

/// Polls until an error comes, which must be this one.
fn refused(consumer: &BaseConsumer, wanted: RDKafkaErrorCode) -> String {
    for _ in 0..POLLS_MAX {
        match consumer.poll(POLL) {
            Some(Err(error)) => {
                let code = match error {
                    KafkaError::MessageConsumption(code) | KafkaError::MessageConsumptionFatal(code) => Some(code),
                    _ => error.rdkafka_error_code(),
                };
                assert_eq!(code, Some(wanted), "{error}");
                return error.to_string();
            }
            Some(Ok(message)) => panic!("offset {} was read", message.offset()),
            None => {}
        }
    }
    panic!("nothing was refused");
}
