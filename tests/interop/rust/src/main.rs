//! rskafka: the scenario of ../../README.md, as far as a client without groups has it.

use std::collections::BTreeMap;
use std::io::BufRead as _;
use std::sync::Arc;
use std::time::Duration;

use rskafka::client::controller::ControllerClient;
use rskafka::client::error::{Error, ProtocolError};
use rskafka::client::partition::{Compression, OffsetAt, PartitionClient, UnknownTopicHandling};
use rskafka::client::{Client, ClientBuilder};
use rskafka::record::Record;

type Told = Result<String, Box<dyn std::error::Error>>;

const PARTITIONS: i32 = 3;
const WAIT_MS: i32 = 10_000;
const CODECS: [(&str, Compression); 5] = [
    ("none", Compression::NoCompression),
    ("gzip", Compression::Gzip),
    ("snappy", Compression::Snappy),
    ("lz4", Compression::Lz4),
    ("zstd", Compression::Zstd),
];

struct Rig {
    client: Client,
    controller: ControllerClient,
    topic: String,
    replicas: i16,
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    println!("version 0.6.0");
    let client = ClientBuilder::new(arguments[0].split(',').map(str::to_owned).collect()).build().await.expect("the broker is there");
    let controller = client.controller_client().expect("a client makes others");
    let rig = Rig { client, controller, topic: arguments[1].clone(), replicas: arguments[2].parse().expect("a number") };
    say("create", rig.create().await);
    say("describe", rig.describe().await);
    none("alter-config", "no call for settings");
    say("produce", rig.produce().await);
    say("assign", rig.assign().await);
    for step in ["group", "rebalance", "commit"] {
        none(step, "no groups");
    }
    say("restart", rig.go_on().await);
    none("resume", "no groups");
    say("unknown-topic", rig.unknown_topic().await);
    say("too-large", rig.too_large().await);
    say("out-of-range", rig.out_of_range().await);
    say("delete", rig.delete().await);
}

fn say(step: &str, told: Told) {
    match told {
        Ok(detail) => println!("step {step} ok {}", detail.replace('\n', " ")),
        Err(error) => println!("step {step} fail {}", error.to_string().replace('\n', " ")),
    }
}

fn none(step: &str, reason: &str) {
    println!("step {step} none {reason}");
}

/// The answer must be this refusal.
fn refused<T>(answer: Result<T, Error>, wanted: ProtocolError) -> Told {
    match answer {
        Ok(_) => Err("nothing was refused".into()),
        Err(Error::ServerError { protocol_error, .. }) if protocol_error == wanted => Ok(protocol_error.to_string()),
        Err(other) => Err(format!("another error: {other}").into()),
    }
}

fn record(key: Option<String>, value: String) -> Record {
    Record {
        key: key.map(String::into_bytes),
        value: Some(value.into_bytes()),
        headers: BTreeMap::new(),
        timestamp: chrono::Utc::now(),
    }
}

/// Ten records with keys and ten without.
fn records(codec: &str) -> Vec<Record> {
    let padding = "ä".repeat(50);
    let keyed = (0..10).map(|i| record(Some(format!("k{i}")), format!("{codec} keyed {i} {padding}")));
    keyed.chain((0..10).map(|i| record(None, format!("{codec} plain {i} {padding}")))).collect()
}

fn all_values() -> Vec<Vec<u8>> {
    let mut values: Vec<_> = CODECS.iter().flat_map(|(codec, _)| records(codec)).filter_map(|r| r.value).collect();
    values.sort();
    values
}

impl Rig {
    async fn partition(&self, partition: i32) -> Result<Arc<PartitionClient>, Error> {
        self.client.partition_client(&self.topic, partition, UnknownTopicHandling::Retry).await.map(Arc::new)
    }

    async fn create(&self) -> Told {
        self.controller.create_topic(&self.topic, PARTITIONS, self.replicas, WAIT_MS).await?;
        let again = self.controller.create_topic(&self.topic, PARTITIONS, self.replicas, WAIT_MS).await;
        refused(again, ProtocolError::TopicAlreadyExists)
    }

    async fn describe(&self) -> Told {
        let topics = self.client.list_topics().await?;
        let topic = topics.iter().find(|topic| topic.name == self.topic).ok_or("it is not listed")?;
        if topic.partitions.len() != PARTITIONS as usize {
            return Err(format!("{topic:?}").into());
        }
        Ok(String::new())
    }

    async fn produce(&self) -> Told {
        for (at, (codec, compression)) in CODECS.into_iter().enumerate() {
            let partition = self.partition(at as i32 % PARTITIONS).await?;
            partition.produce(records(codec), compression).await?;
        }
        Ok(CODECS.map(|(codec, _)| codec).join(" "))
    }

    /// Every value of the topic.
    async fn values(&self) -> Result<Vec<Vec<u8>>, Error> {
        let mut values = Vec::new();
        for partition in 0..PARTITIONS {
            let partition = self.partition(partition).await?;
            let end = partition.get_offset(OffsetAt::Latest).await?;
            let mut next = partition.get_offset(OffsetAt::Earliest).await?;
            while next < end {
                let (batch, _) = partition.fetch_records(next, 1..1_000_000, 1_000).await?;
                next = batch.last().map_or(next, |last| last.offset + 1);
                values.extend(batch.into_iter().filter_map(|record| record.record.value));
            }
        }
        values.sort();
        Ok(values)
    }

    async fn assign(&self) -> Told {
        let values = self.values().await?;
        if values != all_values() {
            return Err(format!("{} values", values.len()).into());
        }
        Ok(format!("{} records", values.len()))
    }

    async fn go_on(&self) -> Told {
        let partition = self.partition(0).await?;
        println!("restart please");
        let mut answer = String::new();
        std::io::stdin().lock().read_line(&mut answer)?;
        if answer.trim() != "restarted" {
            return Err(format!("asked for a restart, was told {answer:?}").into());
        }
        // The client that lived through it.
        let sending = partition.produce(vec![record(None, "after".to_owned())], Compression::NoCompression);
        tokio::time::timeout(Duration::from_secs(60), sending).await??;
        let mut wanted = all_values();
        wanted.push(b"after".to_vec());
        wanted.sort();
        let values = self.values().await?;
        if values != wanted {
            return Err(format!("{} values", values.len()).into());
        }
        Ok(String::new())
    }

    async fn unknown_topic(&self) -> Told {
        let missing = format!("{}-missing", self.topic);
        let answer = self.client.partition_client(missing, 0, UnknownTopicHandling::Error).await;
        refused(answer, ProtocolError::UnknownTopicOrPartition)
    }

    async fn too_large(&self) -> Told {
        // No call for settings: the broker's own limit is exceeded.
        let large = record(None, "x".repeat(2_000_000));
        let answer = self.partition(0).await?.produce(vec![large], Compression::NoCompression).await;
        refused(answer, ProtocolError::MessageTooLarge)
    }

    async fn out_of_range(&self) -> Told {
        let answer = self.partition(0).await?.fetch_records(1_000_000, 1..1_000_000, 1_000).await;
        refused(answer, ProtocolError::OffsetOutOfRange)
    }

    async fn delete(&self) -> Told {
        self.controller.delete_topic(&self.topic, WAIT_MS).await?;
        refused(self.controller.delete_topic(&self.topic, WAIT_MS).await, ProtocolError::UnknownTopicOrPartition)
    }
}
