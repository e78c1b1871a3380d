//! Producers of librdkafka at work while the broker misbehaves, restarts and goes away.

use std::time::Duration;

use ballast_broker::embed::{Api, Broker, ErrorCode, Fault};
use ballast_tests::raw::Connection;
use ballast_tests::raw::rows::records_of;
use rdkafka::config::ClientConfig;
use rdkafka::producer::{FutureProducer, FutureRecord};

const TOPIC: &str = "orders";
const TIMEOUT: Duration = Duration::from_secs(30);

fn producer(broker: &Broker, settings: &[(&str, &str)]) -> FutureProducer {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", broker.bootstrap()).set("broker.address.family", "v4");
    config
        .set("retry.backoff.ms", "10")
        .set("reconnect.backoff.ms", "10")
        .set("topic.metadata.refresh.fast.interval.ms", "20");
    for (name, value) in settings {
        config.set(*name, *value);
    }
    config.create().expect("the settings are good")
}

async fn send(producer: &FutureProducer, value: &str) {
    let sent = producer.send(FutureRecord::<(), _>::to(TOPIC).payload(value).partition(0), TIMEOUT).await;
    sent.unwrap_or_else(|(error, _)| panic!("{value}: {error}"));
}

fn values(broker: &Broker) -> Vec<String> {
    let row = Connection::open(broker.bootstrap()).fetch(TOPIC, 0, 0);
    records_of(&row).into_iter().map(|(_, value)| value).collect()
}

#[tokio::test]
async fn a_producer_tries_again_after_not_leader() {
    let broker = Broker::builder().topic(TOPIC, 1).start().await.unwrap();
    let fault = Fault::fail_next(Api::PRODUCE, ErrorCode::NOT_LEADER_OR_FOLLOWER, 2).on_partition(TOPIC, 0);
    let id = broker.fault(fault).unwrap();
    broker.record();
    send(&producer(&broker, &[]), "retried").await;
    assert_eq!(broker.fired(id), 2);
    assert_eq!(values(&broker), ["retried"]);
    let produces = broker.requests().into_iter().filter(|request| request.api == Api::PRODUCE);
    let about: Vec<_> = produces.map(|request| request.topics).collect();
    assert_eq!(about, vec![vec![(TOPIC.to_owned(), vec![0])]; 3], "two refused, one served");
}

#[tokio::test]
async fn an_idempotent_producer_whose_answer_is_lost_writes_once() {
    let broker = Broker::builder().topic(TOPIC, 1).start().await.unwrap();
    let producer = producer(&broker, &[("enable.idempotence", "true")]);
    send(&producer, "before").await;
    let id = broker.fault(Fault::lose_answer(Api::PRODUCE)).unwrap();
    send(&producer, "lost and found").await;
    assert_eq!(broker.fired(id), 1);
    assert_eq!(values(&broker), ["before", "lost and found"]);
}

#[tokio::test]
async fn a_producer_goes_on_over_a_restart_a_kill_and_a_pause() {
    let broker = Broker::builder().topic(TOPIC, 1).start().await.unwrap();
    let producer = producer(&broker, &[("enable.idempotence", "true")]);
    send(&producer, "first life").await;
    broker.restart().await.unwrap();
    send(&producer, "after a restart").await;
    broker.kill();
    broker.restart().await.unwrap();
    send(&producer, "after a kill").await;
    broker.pause();
    let waiting = tokio::spawn(async move { send(&producer, "over a pause").await });
    broker.resume();
    waiting.await.unwrap();
    assert_eq!(values(&broker), ["first life", "after a restart", "after a kill", "over a pause"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropping_a_broker_while_producers_run_ends_it_and_nothing_else() {
    for _ in 0..5 {
        let broker = Broker::builder().topic(TOPIC, 1).start().await.unwrap();
        let running: Vec<_> = (0..2)
            .map(|_| {
                let producer = producer(&broker, &[("linger.ms", "0"), ("message.timeout.ms", "1000")]);
                tokio::spawn(async move {
                    loop {
                        let record = FutureRecord::<(), _>::to(TOPIC).payload("x").partition(0);
                        if producer.send(record, TIMEOUT).await.is_err() {
                            return;
                        }
                    }
                })
            })
            .collect();
        let id = broker.fault(Fault::delay(Api::PRODUCE, Duration::ZERO)).unwrap();
        while broker.fired(id) < 20 {
            tokio::task::yield_now().await;
        }
        drop(broker);
        for producer in running {
            producer.await.unwrap();
        }
    }
}
