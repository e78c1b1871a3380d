//! kill -9 under an idempotent librdkafka producer: nothing acknowledged is missing, nothing is there twice, and no offset
//! has two meanings.
//!
//! Each round reads what is new and what lies just before the kill; the end reads everything once more.
//!
//! A few rounds by default. The long run: `BALLAST_ROUNDS=200 cargo test -p ballast-tests --test kill_nine -- --nocapture`.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ballast_tests::process::Serve;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::message::Message as _;
use rdkafka::producer::{DeliveryFuture, FutureProducer, FutureRecord};
use rdkafka::{Offset, TopicPartitionList};

const TIMEOUT: Duration = Duration::from_secs(60);
const PARTITIONS: i32 = 3;
const IN_FLIGHT_MAX: usize = 500;
/// Records of each partition that are read again after each kill: more than were in flight.
const READ_AGAIN: i64 = 1_000;

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Values that were acknowledged, each with where the broker said that it is.
type Acknowledged = BTreeMap<u64, (i32, i64)>;

async fn settle(value: u64, delivery: DeliveryFuture, acknowledged: &mut Acknowledged) {
    let delivery = delivery.await.expect("the producer lives");
    let delivery = delivery.unwrap_or_else(|(error, _)| panic!("value {value} was not acknowledged: {error}"));
    acknowledged.insert(value, (delivery.partition, delivery.offset));
}

/// Sends numbers until told to stop, then waits for every acknowledgement.
async fn write(producer: FutureProducer, stop: Arc<AtomicBool>) -> Acknowledged {
    let (mut acknowledged, mut in_flight) = (Acknowledged::new(), VecDeque::new());
    let mut value = 0;
    while !stop.load(Ordering::Relaxed) {
        let text = value.to_string();
        let record = FutureRecord::<(), _>::to("numbers").payload(&text).partition((value % PARTITIONS as u64) as i32);
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

async fn create(broker: &Serve) {
    let admin: AdminClient<_> =
        ClientConfig::new().set("bootstrap.servers", &broker.bootstrap).create().expect("the settings are good");
    let topic = [NewTopic::new("numbers", PARTITIONS, TopicReplication::Fixed(1))];
    let created = admin.create_topics(&topic, &AdminOptions::new()).await.expect("the broker answers");
    assert_eq!(created, [Ok("numbers".to_owned())]);
}

/// What a partition holds from `from` on, up to where it ends as this begins: the writer goes on meanwhile.
fn read_from(bootstrap: &str, partition: i32, from: i64) -> Vec<(i64, u64)> {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", bootstrap).set("group.id", "unused").set("check.crcs", "true");
    // Nothing to commit, and no group to ask: closing would wait for one.
    config.set("enable.auto.commit", "false").set("enable.auto.offset.store", "false");
    let consumer: BaseConsumer = config.create().expect("the settings are good");
    let (_, end) = consumer.fetch_watermarks("numbers", partition, TIMEOUT).expect("the broker answers");
    assert!(end >= from, "partition {partition} ended at {from} or later and now ends at {end}");
    let mut assignment = TopicPartitionList::new();
    assignment.add_partition_offset("numbers", partition, Offset::Offset(from)).expect("an offset");
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

/// What readers were shown, by partition and offset.
#[derive(Default)]
struct Seen(BTreeMap<i32, BTreeMap<i64, u64>>);

impl Seen {
    /// Reads what is new in each partition, and once more the records around the kill: those that recovery may touch.
    fn read_on(&mut self, bootstrap: &str, when: &str) {
        for partition in 0..PARTITIONS {
            let end = self.0.get(&partition).and_then(|seen| seen.last_key_value()).map_or(0, |(offset, _)| offset + 1);
            self.read(bootstrap, partition, (end - READ_AGAIN).max(0), when);
        }
    }

    fn read(&mut self, bootstrap: &str, partition: i32, from: i64, when: &str) {
        let seen = self.0.entry(partition).or_default();
        for (offset, value) in read_from(bootstrap, partition, from) {
            let before = *seen.entry(offset).or_insert(value);
            assert_eq!(before, value, "{when}: offset {offset} of partition {partition} changed its meaning");
        }
    }

    /// Reads everything from the beginning: what was ever shown is there still, and what was acknowledged is there once.
    fn check(&mut self, bootstrap: &str, acknowledged: &Acknowledged) {
        let mut found: BTreeMap<u64, (i32, i64)> = BTreeMap::new();
        for partition in 0..PARTITIONS {
            let shown = self.0.remove(&partition).unwrap_or_default();
            self.read(bootstrap, partition, 0, "at the end");
            let there = &self.0[&partition];
            for (offset, value) in shown {
                assert_eq!(there.get(&offset), Some(&value), "{partition}:{offset} was shown to a reader");
            }
            for (offset, value) in there {
                let twice = found.insert(*value, (partition, *offset));
                assert_eq!(twice, None, "value {value} is there twice, again at {partition}:{offset}");
            }
        }
        println!("{} values acknowledged, {} found", acknowledged.len(), found.len());
        for (value, place) in acknowledged {
            assert_eq!(found.get(value), Some(place), "value {value} was acknowledged at {place:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_or_doubled_by_kill_nine() {
    let rounds = number("BALLAST_ROUNDS", 5);
    let mut random = number("BALLAST_SEED", 1);
    println!("replay: BALLAST_ROUNDS={rounds} BALLAST_SEED={random} cargo test -p ballast-tests --test kill_nine");
    let mut broker = Serve::start(&["log.segment.bytes=1048576"]);
    create(&broker).await;
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", &broker.bootstrap).set("enable.idempotence", "true").set("linger.ms", "1");
    config.set("message.timeout.ms", "120000").set("retry.backoff.ms", "20").set("reconnect.backoff.ms", "10");
    config.set("reconnect.backoff.max.ms", "50").set("broker.address.family", "v4");
    let producer: FutureProducer = config.create().expect("the settings are good");
    let stop = Arc::new(AtomicBool::new(false));
    let writing = tokio::spawn(write(producer, Arc::clone(&stop)));
    let mut seen = Seen::default();
    for round in 0..rounds {
        // An LCG: where in the traffic the kill falls.
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        tokio::time::sleep(Duration::from_millis(100 + (random >> 33) % 300)).await;
        broker.kill();
        broker.restart();
        seen.read_on(&broker.bootstrap, &format!("round {round}"));
    }
    stop.store(true, Ordering::Relaxed);
    let acknowledged = writing.await.expect("the writer does not panic");
    seen.check(&broker.bootstrap, &acknowledged);
}
