//! rdkafka (librdkafka from Rust): the scenario of tests/interop/README.md, written here because these tests are Rust.

mod patience;
mod talk;

use std::collections::BTreeSet;

use rdkafka::admin::{AdminClient, AlterConfig, NewTopic, OwnedResourceSpecifier, ResourceSpecifier, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::producer::{BaseRecord, Producer as _, ThreadedProducer};
use rdkafka::types::RDKafkaErrorCode;
use rdkafka::{Offset, TopicPartitionList};

use self::patience::{POLLS_MAX, TRY_PAUSE, until};
use self::talk::{CODECS, PATIENCE, Tally, after, all_values, code, held, only, options, poll, read, records, refused};
use crate::session::{Session, unique};

const PARTITIONS: i32 = 3;
const RETENTION_MS: &str = "3600000";
const MESSAGE_BYTES_MAX: usize = 20_000;

struct Rig {
    bootstrap: String,
    topic: String,
    group: String,
    replicas: u8,
}

/// Runs the scenario.
pub(crate) fn rdkafka(session: &mut Session<'_>) {
    let topic = unique("rdkafka");
    let (bootstrap, replicas) = (session.bootstrap(), session.replicas());
    let rig = Rig { bootstrap, group: format!("{topic}-group"), topic, replicas };
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
        assert_eq!(rig.once(read(&first, &after())), after(), "the member that lived through the restart");
        drop(first);
        String::new()
    });
    session.step("resume", || {
        assert_eq!(rig.once(read(&rig.member(), &after())), after(), "a new member");
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
        // Nobody polls while a restart is waited for.
        let poll_ms_max = if self.replicas > 1 { "120000" } else { "15000" };
        // A member that could not take its leave must be missed before the next node goes down: then its session begins anew.
        let session_ms = if self.replicas > 1 { "6000" } else { "10000" };
        config.set("session.timeout.ms", session_ms).set("max.poll.interval.ms", poll_ms_max);
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
        let topics = [NewTopic::new(&self.topic, PARTITIONS, TopicReplication::Fixed(self.replicas.into()))
            .set("retention.ms", RETENTION_MS)];
        let exists = RDKafkaErrorCode::TopicAlreadyExists;
        let create = async || only(self.admin().create_topics(&topics, &options()).await);
        self.insist(Some(exists), create).await;
        self.refused(exists, create).await
    }

    async fn setting(&self, name: &str) -> Option<String> {
        let resources = [ResourceSpecifier::Topic(&self.topic)];
        let ask = async || {
            let told = self.admin().describe_configs(&resources, &options()).await.map_err(|error| code(&error))?;
            told.into_iter().next().expect("one answer for one question")
        };
        let resource = self.insist(None, ask).await.expect("nothing was heard before");
        assert_eq!(resource.specifier, OwnedResourceSpecifier::Topic(self.topic.clone()));
        resource.get(name).and_then(|entry| entry.value.clone())
    }

    /// It is so. A node that has just come back may be the one that has not heard yet.
    async fn settles(&self, name: &str, wanted: &str) {
        let mut told = self.setting(name).await;
        for _ in 0..POLLS_MAX {
            if self.replicas == 1 || told.as_deref() == Some(wanted) {
                break;
            }
            tokio::time::sleep(TRY_PAUSE).await;
            told = self.setting(name).await;
        }
        assert_eq!(told.as_deref(), Some(wanted), "{name}");
    }

    async fn describe(&self) -> String {
        let client = self.admin();
        let ask = async || {
            let told = client.inner().fetch_metadata(Some(&self.topic), PATIENCE).map_err(|error| code(&error))?;
            // A broker that has just come back may not have heard of it.
            match told.topics()[0].error() {
                None => Ok(told),
                Some(error) => Err(RDKafkaErrorCode::from(error)),
            }
        };
        let metadata = self.insist(None, ask).await.expect("nothing was heard before");
        let partitions = metadata.topics()[0].partitions();
        assert_eq!(partitions.len(), PARTITIONS as usize);
        assert!(partitions.iter().all(|partition| partition.leader() >= 0), "a partition has no leader");
        self.settles("retention.ms", RETENTION_MS).await;
        String::new()
    }

    async fn alter_config(&self) -> String {
        let limit = MESSAGE_BYTES_MAX.to_string();
        // rdkafka has the older call alone, which replaces the whole set.
        let change = || {
            AlterConfig::new(ResourceSpecifier::Topic(&self.topic))
                .set("retention.ms", RETENTION_MS)
                .set("max.message.bytes", &limit)
        };
        self.insist(None, async || only(self.admin().alter_configs(&[change()], &options()).await)).await;
        self.settles("max.message.bytes", &limit).await;
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
        let values = read(&consumer, &all_values());
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

    /// Commits the ends: a member that has just come back stands where it had committed before.
    fn commit_ends(&self, first: &BaseConsumer) -> TopicPartitionList {
        let mut ends = TopicPartitionList::new();
        for partition in 0..PARTITIONS {
            let ask = || first.fetch_watermarks(&self.topic, partition, PATIENCE);
            let (_, end) = self.insist_here(ask);
            ends.add_partition_offset(&self.topic, partition, Offset::Offset(end)).expect("an offset");
        }
        // A poll makes it a member again, if it has been thrown out.
        self.insist_here(|| {
            poll(first);
            first.commit(&ends, CommitMode::Sync)
        });
        ends
    }

    fn commit(&self, first: &BaseConsumer, producer: &ThreadedProducer<Tally>) -> String {
        let ends = self.commit_ends(first);
        let committed = self.insist_here(|| first.committed_offsets(self.places(Offset::Invalid), PATIENCE));
        assert_eq!(committed.to_topic_map(), ends.to_topic_map());
        self.insist_here(|| {
            poll(first);
            first.seek_partitions(ends.clone(), PATIENCE)
        });
        self.send(producer, &[(None, "before".to_owned())]);
        let before = ["before".to_owned()];
        assert_eq!(self.once(read(first, &before)), before);
        self.commit_ends(first);
        String::new()
    }

    async fn delete(&self) -> String {
        let (admin, gone) = (self.admin(), RDKafkaErrorCode::UnknownTopicOrPartition);
        let delete = async || only(admin.delete_topics(&[&self.topic], &options()).await);
        self.insist(Some(gone), delete).await;
        let delete_group = async || only(admin.delete_groups(&[&self.group], &options()).await);
        self.insist(Some(RDKafkaErrorCode::GroupIdNotFound), delete_group).await;
        self.refused(gone, delete).await
    }
}
