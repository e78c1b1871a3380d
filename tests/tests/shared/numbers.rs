//! Numbers on their way through a broker: a writer that remembers what was acknowledged, and a reader that holds the broker to
//! it. Each number is written once, to the partition that it names itself.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::message::Message as _;
use rdkafka::producer::{DeliveryFuture, FutureProducer, FutureRecord};
use rdkafka::{Offset, TopicPartitionList};

pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);
pub(crate) const TOPIC: &str = "numbers";
pub(crate) const PARTITIONS: i32 = 3;
const IN_FLIGHT_MAX: usize = 500;
/// Records of each partition that are read again after each fault: more than were in flight.
const READ_AGAIN: i64 = 1_000;

/// Values that were acknowledged, each with where the broker said that it is.
pub(crate) type Acknowledged = BTreeMap<u64, (i32, i64)>;

/// A writer at work.
pub(crate) struct Writer {
    stop: Arc<AtomicBool>,
    /// The longest time between two acknowledgements since it was last asked for, in ms.
    gap_ms: Arc<AtomicU64>,
    written: Arc<AtomicU64>,
    task: tokio::task::JoinHandle<Acknowledged>,
}

impl Writer {
    /// Writes with idempotence and acks=all until it is told to stop.
    pub(crate) fn start(bootstrap: &str) -> Writer {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", bootstrap).set("enable.idempotence", "true").set("linger.ms", "1");
        config.set("message.timeout.ms", "120000").set("retry.backoff.ms", "20").set("reconnect.backoff.ms", "10");
        config.set("reconnect.backoff.max.ms", "50").set("broker.address.family", "v4");
        // A broker that was cut off must not be waited for as long as one that is slow.
        config.set("socket.timeout.ms", "5000").set("request.timeout.ms", "5000");
        let producer: FutureProducer = config.create().expect("the settings are good");
        let (stop, gap_ms, written) = (Arc::default(), Arc::default(), Arc::default());
        let writing = write(producer, Arc::clone(&stop), Arc::clone(&gap_ms), Arc::clone(&written));
        Writer { task: tokio::spawn(writing), stop, gap_ms, written }
    }

    /// The longest time between two acknowledgements since the last call, in ms.
    pub(crate) fn take_gap_ms(&self) -> u64 {
        self.gap_ms.swap(0, Ordering::Relaxed)
    }

    /// Waits until `more` further values are acknowledged.
    pub(crate) async fn goes_on(&self, more: u64, when: &str) {
        let from = self.written.load(Ordering::Relaxed);
        let enough = async {
            while self.written.load(Ordering::Relaxed) < from + more {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let waited = tokio::time::timeout(2 * TIMEOUT, enough).await;
        assert!(
            waited.is_ok(),
            "{when}: only {} values were acknowledged",
            self.written.load(Ordering::Relaxed) - from
        );
    }

    /// Waits for every acknowledgement.
    pub(crate) async fn finish(self) -> Acknowledged {
        self.stop.store(true, Ordering::Relaxed);
        self.task.await.expect("the writer does not panic")
    }
}

async fn settle(value: u64, delivery: DeliveryFuture, acknowledged: &mut Acknowledged) {
    let delivery = delivery.await.expect("the producer lives");
    let delivery = delivery.unwrap_or_else(|(error, _)| panic!("value {value} was not acknowledged: {error}"));
    acknowledged.insert(value, (delivery.partition, delivery.offset));
}

async fn write(
    producer: FutureProducer,
    stop: Arc<AtomicBool>,
    gap_ms: Arc<AtomicU64>,
    written: Arc<AtomicU64>,
) -> Acknowledged {
    let (mut acknowledged, mut in_flight) = (Acknowledged::new(), VecDeque::new());
    let mut value = 0;
    #[expect(clippy::disallowed_methods, reason = "foreign processes run on real time")]
    let now = Instant::now;
    let mut last = now();
    while !stop.load(Ordering::Relaxed) {
        let text = value.to_string();
        let record = FutureRecord::<(), _>::to(TOPIC).payload(&text).partition((value % PARTITIONS as u64) as i32);
        match producer.send_result(record) {
            Ok(delivery) => {
                in_flight.push_back((value, delivery));
                value += 1;
            }
            Err((error, _)) => panic!("value {value} was not taken: {error}"),
        }
        if in_flight.len() >= IN_FLIGHT_MAX
            && let Some((value, delivery)) = in_flight.pop_front()
        {
            settle(value, delivery, &mut acknowledged).await;
            gap_ms.fetch_max(last.elapsed().as_millis() as u64, Ordering::Relaxed);
            last = now();
            written.fetch_add(1, Ordering::Relaxed);
        }
        if value.is_multiple_of(20) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    for (value, delivery) in in_flight {
        settle(value, delivery, &mut acknowledged).await;
    }
    acknowledged
}

fn consumer(bootstrap: &str) -> BaseConsumer {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", bootstrap).set("group.id", "unused").set("check.crcs", "true");
    // Nothing to commit, and no group to ask: closing would wait for one.
    config.set("enable.auto.commit", "false").set("enable.auto.offset.store", "false");
    config.create().expect("the settings are good")
}

/// What a partition holds from `from` on, up to where it ends as this begins: the writer goes on meanwhile.
fn read_from(bootstrap: &str, topic: &str, partition: i32, from: i64) -> Vec<(i64, u64)> {
    // A broker that has just come back may not have heard yet who leads, and a consumer believes for long what it heard first.
    let (consumer, end) = ballast_tests::raw::rows::eventually("a leader says where it ends", || {
        let consumer = consumer(bootstrap);
        let told = consumer.fetch_watermarks(topic, partition, TIMEOUT);
        let (_, end) = told.inspect_err(|error| println!("partition {partition}: {error}")).ok()?;
        Some((consumer, end))
    });
    assert!(end >= from, "partition {partition} ended at {from} or later and now ends at {end}");
    let mut assignment = TopicPartitionList::new();
    assignment.add_partition_offset(topic, partition, Offset::Offset(from)).expect("an offset");
    consumer.assign(&assignment).expect("assigning needs no broker");
    let mut records: Vec<(i64, u64)> = Vec::new();
    while records.last().map_or(from, |(offset, _)| offset + 1) < end {
        let message = consumer.poll(TIMEOUT).expect("the broker answers in time");
        let message = message.unwrap_or_else(|error| panic!("partition {partition}: {error}"));
        let text = str::from_utf8(message.payload().expect("a value")).expect("a number");
        records.push((message.offset(), text.parse().expect("a number")));
    }
    records
}

/// What readers of a topic were shown, by partition and offset.
pub(crate) struct Seen {
    topic: String,
    shown: BTreeMap<i32, BTreeMap<i64, u64>>,
}

impl Seen {
    pub(crate) fn of(topic: &str) -> Seen {
        Seen { topic: topic.to_owned(), shown: BTreeMap::new() }
    }

    /// A reader was shown this.
    pub(crate) fn note(&mut self, partition: i32, offset: i64, value: u64, when: &str) {
        let before = *self.shown.entry(partition).or_default().entry(offset).or_insert(value);
        let topic = &self.topic;
        assert_eq!(before, value, "{when}: offset {offset} of {topic}-{partition} changed its meaning");
    }

    /// Reads what is new in each partition, and once more the records around the fault: those that recovery may touch.
    pub(crate) fn read_on(&mut self, bootstrap: &str, when: &str) {
        for partition in 0..PARTITIONS {
            let end =
                self.shown.get(&partition).and_then(|seen| seen.last_key_value()).map_or(0, |(offset, _)| offset + 1);
            self.read(bootstrap, partition, (end - READ_AGAIN).max(0), when);
        }
    }

    fn read(&mut self, bootstrap: &str, partition: i32, from: i64, when: &str) {
        for (offset, value) in read_from(bootstrap, &self.topic, partition, from) {
            self.note(partition, offset, value, when);
        }
    }

    /// Reads everything from the beginning: what was ever shown is there still, what was acknowledged is there once, and a
    /// partition's values rise as they were written.
    pub(crate) fn check(&mut self, bootstrap: &str, acknowledged: &Acknowledged) {
        let mut found: BTreeMap<u64, (i32, i64)> = BTreeMap::new();
        for partition in 0..PARTITIONS {
            let shown = self.shown.remove(&partition).unwrap_or_default();
            self.read(bootstrap, partition, 0, "at the end");
            let there = self.shown.entry(partition).or_default();
            for (offset, value) in shown {
                assert_eq!(there.get(&offset), Some(&value), "{partition}:{offset} was shown to a reader");
            }
            let mut last = None;
            for (offset, value) in there {
                let twice = found.insert(*value, (partition, *offset));
                assert_eq!(twice, None, "value {value} is there twice, again at {partition}:{offset}");
                assert!(last < Some(*value), "value {value} at {partition}:{offset} stands behind {last:?}");
                last = Some(*value);
            }
        }
        println!("{}: {} values acknowledged, {} found", self.topic, acknowledged.len(), found.len());
        for (value, place) in acknowledged {
            assert_eq!(found.get(value), Some(place), "value {value} was acknowledged at {place:?}");
        }
    }
}
