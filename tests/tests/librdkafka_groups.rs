//! librdkafka (through rdkafka) in consumer groups, against a real broker process: sharing, rebalancing, committing, resuming.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ballast_tests::process::Serve;
use ballast_tests::raw::Connection;
use ballast_tests::raw::rows::eventually;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::message::Message as _;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};

const TIMEOUT: Duration = Duration::from_secs(30);
const PARTITIONS: i32 = 6;

fn consumer(broker: &Serve, group: &str, settings: &[(&str, &str)]) -> BaseConsumer {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", &broker.bootstrap).set("broker.address.family", "v4").set("group.id", group);
    config.set("auto.offset.reset", "earliest").set("enable.auto.commit", "false");
    config.set("session.timeout.ms", "6000").set("heartbeat.interval.ms", "100");
    for (key, value) in settings {
        config.set(*key, *value);
    }
    let consumer: BaseConsumer = config.create().expect("the settings are good");
    consumer.subscribe(&["t"]).expect("subscribing needs no broker");
    consumer
}

/// Writes the numbers of a range, spread over the partitions.
fn write(broker: &Serve, numbers: std::ops::Range<i32>) {
    let producer: BaseProducer =
        ClientConfig::new().set("bootstrap.servers", &broker.bootstrap).create().expect("the settings are good");
    for number in numbers {
        let text = number.to_string();
        let record = BaseRecord::<(), _>::to("t").payload(&text).partition(number % PARTITIONS);
        producer.send(record).map_err(|(error, _)| error).expect("there is room");
    }
    producer.flush(TIMEOUT).expect("everything is delivered");
}

/// Polls every consumer until `done` says so of what each has read: number, how often.
fn read(consumers: &[&BaseConsumer], done: impl Fn(&BTreeMap<i32, usize>) -> bool) -> BTreeMap<i32, usize> {
    let mut seen = BTreeMap::new();
    eventually("everything is read", || {
        for consumer in consumers {
            while let Some(message) = consumer.poll(Duration::from_millis(5)) {
                let message = message.expect("the broker serves");
                let text = String::from_utf8_lossy(message.payload().expect("it has a value")).into_owned();
                *seen.entry(text.parse().expect("it is a number")).or_default() += 1;
            }
        }
        done(&seen).then_some(())
    });
    seen
}

fn assigned(consumer: &BaseConsumer) -> BTreeSet<i32> {
    let list = consumer.assignment().expect("a consumer knows its assignment");
    list.elements().iter().map(rdkafka::topic_partition_list::TopicPartitionListElem::partition).collect()
}

/// Waits until the consumers share the topic, each partition once, and nobody has nothing.
fn shared(consumers: &[&BaseConsumer]) {
    eventually("the partitions are shared", || {
        for consumer in consumers {
            let none = consumer.poll(Duration::from_millis(5));
            assert!(none.is_none_or(|message| message.is_ok()), "the broker serves");
        }
        let parts: Vec<_> = consumers.iter().map(|consumer| assigned(consumer)).collect();
        let all: BTreeSet<i32> = parts.iter().flatten().copied().collect();
        let count: usize = parts.iter().map(BTreeSet::len).sum();
        (count == PARTITIONS as usize && all.len() == count && parts.iter().all(|part| !part.is_empty())).then_some(())
    });
}

/// Leaves before it ends. rdkafka must not be dropped in the middle of a rebalance: its destructor then waits for ever for a
/// thread of its own, which has ended.
fn leave(consumer: BaseConsumer) {
    consumer.unsubscribe();
    eventually("it has nothing left", || {
        let message = consumer.poll(Duration::from_millis(5));
        assert!(message.is_none_or(|message| message.is_ok()), "the broker serves");
        assigned(&consumer).is_empty().then_some(())
    });
}

fn broker(settings: &[&str]) -> Serve {
    let broker = Serve::start(settings);
    Connection::open(&broker.bootstrap).create_topic("t", PARTITIONS, &[]);
    broker
}

#[test]
fn two_consumers_share_a_topic_and_resume_where_they_committed_after_a_restart() {
    for settings in [&[][..], &[("partition.assignment.strategy", "cooperative-sticky")]] {
        let mut broker = broker(&["group.initial.rebalance.delay.ms=100"]);
        let first = consumer(&broker, "g", settings);
        write(&broker, 0..300);
        let seen = read(&[&first], |seen| seen.len() == 300);
        assert!(seen.values().all(|times| *times == 1), "alone it reads everything once");
        first.commit_consumer_state(CommitMode::Sync).expect("it commits");

        let second = consumer(&broker, "g", settings);
        shared(&[&first, &second]);
        write(&broker, 300..600);
        let seen = read(&[&first, &second], |seen| seen.len() == 300);
        assert_eq!((*seen.keys().next().expect("some"), seen.values().max()), (300, Some(&1)), "both read on, once");
        for consumer in [&first, &second] {
            consumer.commit_consumer_state(CommitMode::Sync).expect("it commits");
        }
        leave(first);
        leave(second);

        assert!(broker.stop().success(), "{}", broker.log());
        broker.restart();
        broker.kill();
        broker.restart();
        write(&broker, 600..700);
        let third = consumer(&broker, "g", settings);
        let seen = read(&[&third], |seen| seen.len() == 100);
        assert_eq!((seen.keys().next(), seen.values().max()), (Some(&600), Some(&1)), "nothing is read again");
    }
}

#[test]
fn the_default_commits_by_itself() {
    let broker = broker(&["group.initial.rebalance.delay.ms=0"]);
    let first = consumer(&broker, "g", &[("enable.auto.commit", "true")]);
    write(&broker, 0..60);
    read(&[&first], |seen| seen.len() == 60);
    // Closing commits what was read.
    drop(first);
    write(&broker, 60..90);
    let second = consumer(&broker, "g", &[("enable.auto.commit", "true")]);
    let seen = read(&[&second], |seen| seen.len() == 30);
    assert_eq!(seen.keys().next(), Some(&60));
}

#[test]
fn groups_whose_members_come_and_go_read_everything_once_when_they_stand_still() {
    let broker = broker(&["group.initial.rebalance.delay.ms=0"]);
    let groups = ["one", "two", "three"];
    let named = |number: usize| format!("static-{number}");
    let make = |group: &str, number: usize| {
        // Each third has a name of its own.
        let name = named(number);
        let settings = [("group.instance.id", name.as_str())];
        consumer(&broker, group, if number.is_multiple_of(3) { &settings } else { &[] })
    };
    let mut members: Vec<Vec<BaseConsumer>> =
        groups.iter().map(|group| (0..3).map(|number| make(group, number)).collect()).collect();
    for turn in 0..9 {
        for (group, members) in groups.iter().zip(&mut members) {
            let at = turn % 3;
            leave(members.remove(at));
            members.insert(at, make(group, turn * 3 + at));
            for member in members.iter() {
                let message = member.poll(Duration::from_millis(20));
                assert!(message.is_none_or(|message| message.is_ok()), "the broker serves");
            }
        }
    }
    for members in &members {
        shared(&members.iter().collect::<Vec<_>>());
    }
    write(&broker, 0..300);
    for (group, members) in groups.iter().zip(&members) {
        let seen = read(&members.iter().collect::<Vec<_>>(), |seen| seen.len() == 300);
        assert!(seen.values().all(|times| *times == 1), "{group} read something twice: {seen:?}");
    }
    members.into_iter().flatten().for_each(leave);
}
