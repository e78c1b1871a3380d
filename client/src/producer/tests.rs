//! The producer as a whole against scripted brokers that keep a log and a producer's state, on paused time.

use std::collections::BTreeMap;
use std::time::Duration;

use ballast_wire::batch::{BatchView, Compression};
use ballast_wire::frame::{ApiKey, Form, Writer};
use ballast_wire::produce::{ProduceRequest, ProduceResponse, ProducedPartition, ProducedTopic};
use ballast_wire::shared::CurrentLeader;
use bytes::Bytes;
use kafka_protocol::messages::InitProducerIdResponse;

use super::*;
use crate::ErrorCode;
use crate::fake::{Asked, Fake, Reply};

/// What the script says to one batch.
enum Verdict {
    Write,
    /// Writes it and loses the answer with the connection.
    WriteAndClose,
    Close,
    Refuse(i16),
    Hint(i32, i32),
}

/// Partition logs: values in the order in which they were written, with producer state.
#[derive(Default)]
struct Logs {
    values: BTreeMap<i32, Vec<String>>,
    next_sequence: BTreeMap<(i32, i16), i32>,
    sent: Vec<(u16, i16, i32)>,
}

impl Logs {
    /// Appends as a broker does; gives the code and the base offset.
    fn append(&mut self, partition: i32, batch: &Bytes) -> (i16, i64) {
        let view = BatchView::parse(batch).unwrap();
        view.verify_checksum().unwrap();
        let log = self.values.entry(partition).or_default();
        let base = log.len() as i64;
        if view.producer_id() >= 0 {
            let next = self.next_sequence.entry((partition, view.producer_epoch())).or_default();
            if view.base_sequence() < *next {
                return (46, -1);
            }
            if view.base_sequence() > *next {
                return (45, -1);
            }
            *next += view.records_count();
        }
        let body = view.open(1 << 20).unwrap();
        for record in view.records_in(&body) {
            log.push(String::from_utf8(record.unwrap().value.unwrap_or_default().to_vec()).unwrap());
        }
        (0, base)
    }
}

/// Brokers 1 and 2 with topic "t", whose batches are judged by `judge` (count of requests so far).
fn brokers(judge: impl Fn(usize, &Asked) -> Verdict + Send + Sync + 'static) -> (Arc<Fake>, Arc<Mutex<Logs>>) {
    let logs = Arc::new(Mutex::new(Logs::default()));
    let (shared, count) = (logs.clone(), AtomicUsize::new(0));
    let fake = Fake::new(move |asked| match asked.key {
        ApiKey::INIT_PRODUCER_ID => {
            Some(Reply::of(&InitProducerIdResponse::default().with_producer_id(9.into()), asked.version))
        }
        ApiKey::PRODUCE => {
            let verdict = judge(count.fetch_add(1, Ordering::Relaxed), asked);
            Some(produce(&mut shared.lock(), asked, &verdict))
        }
        _ => None,
    });
    fake.set_topology(&[1, 2], "t", &[(1, 5), (1, 5)]);
    (fake, logs)
}

fn produce(logs: &mut Logs, asked: &Asked, verdict: &Verdict) -> Reply {
    let request = ProduceRequest::decode(asked.version, &asked.body).unwrap();
    let mut topics = Vec::new();
    for topic in &request.topics {
        let mut rows = Vec::new();
        for row in &topic.partitions {
            let batch = row.records.as_ref().unwrap();
            let view = BatchView::parse(batch).unwrap();
            logs.sent.push((asked.port, view.producer_epoch(), view.base_sequence()));
            let mut answer = ProducedPartition::refused(row.index, 0);
            match verdict {
                Verdict::Write | Verdict::WriteAndClose => {
                    (answer.error_code, answer.base_offset) = logs.append(row.index, batch);
                }
                Verdict::Close => {}
                Verdict::Refuse(code) => answer.error_code = *code,
                Verdict::Hint(leader_id, leader_epoch) => {
                    answer.error_code = 6;
                    answer.current_leader = Some(CurrentLeader { leader_id: *leader_id, leader_epoch: *leader_epoch });
                }
            }
            rows.push(answer);
        }
        topics.push(ProducedTopic { name: topic.name.clone(), id: topic.id, partitions: rows });
    }
    if matches!(verdict, Verdict::Close | Verdict::WriteAndClose) {
        return Reply::Close;
    }
    if request.acks == 0 {
        return Reply::Nothing;
    }
    let answer = ProduceResponse { topics, ..ProduceResponse::default() };
    let mut body = Writer::new(Form::of(ApiKey::PRODUCE.is_flexible(asked.version)));
    answer.encode(asked.version, &mut body);
    Reply::Body(body.finish())
}

fn producer(fake: &Arc<Fake>, change: impl FnOnce(&mut ProducerConfig)) -> Producer {
    fake.versions.lock().retain(|(key, ..)| *key != 0);
    fake.versions.lock().push((0, 0, 13));
    let mut config = ProducerConfig { linger: Duration::ZERO, ..ProducerConfig::default() };
    change(&mut config);
    Producer::new(fake.cluster(&[1]), config).unwrap()
}

fn value(text: &str) -> NewRecord<'_> {
    NewRecord { value: Some(text.as_bytes()), partition: Some(0), ..NewRecord::default() }
}

/// Sends "0", "1", … so that each makes a batch of its own.
async fn send_apart(producer: &Producer, count: usize) -> Vec<Delivery> {
    let mut deliveries = Vec::new();
    for n in 0..count {
        deliveries.push(producer.send("t", value(&n.to_string())).await.unwrap());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    deliveries
}

fn numbers(count: usize) -> Vec<String> {
    (0..count).map(|n| n.to_string()).collect()
}

#[tokio::test(start_paused = true)]
async fn records_are_delivered_with_their_offsets() {
    let (fake, logs) = brokers(|_, _| Verdict::Write);
    let producer = producer(&fake, |config| config.compression = Compression::Zstd);
    let deliveries = send_apart(&producer, 20).await;
    producer.flush().await.unwrap();
    for (n, delivery) in deliveries.into_iter().enumerate() {
        assert_eq!(delivery.wait().await.unwrap().offset, n as i64);
    }
    assert_eq!(logs.lock().values[&0], numbers(20));
    assert_eq!(producer.counts(), (20, 0));
    assert_eq!(fake.asked_for(ApiKey::PRODUCE)[0].version, 13);
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_and_a_lost_request_write_nothing_twice_and_nothing_out_of_order() {
    let (fake, logs) = brokers(|n, _| match n {
        3 => Verdict::WriteAndClose,
        5 | 6 => Verdict::Close,
        _ => Verdict::Write,
    });
    let producer = producer(&fake, |_| {});
    send_apart(&producer, 12).await;
    producer.flush().await.unwrap();
    assert_eq!(logs.lock().values[&0], numbers(12));
}

#[tokio::test(start_paused = true)]
async fn a_hinted_leader_is_followed_at_once_without_asking_for_metadata() {
    let (fake, logs) = brokers(|_, asked| if asked.port == 1 { Verdict::Hint(2, 6) } else { Verdict::Write });
    let producer = producer(&fake, |_| {});
    send_apart(&producer, 3).await;
    let asked_before = fake.asked_for(ApiKey::METADATA).len();
    let started = tokio::time::Instant::now();
    producer.flush().await.unwrap();
    assert_eq!(logs.lock().values[&0], numbers(3));
    assert!(started.elapsed() < Duration::from_millis(50), "{:?}", started.elapsed());
    assert_eq!(fake.asked_for(ApiKey::METADATA).len(), asked_before);
}

#[tokio::test(start_paused = true)]
async fn a_new_leader_is_found_by_metadata_when_nobody_hints() {
    let (fake, logs) = brokers(|_, asked| if asked.port == 1 { Verdict::Refuse(6) } else { Verdict::Write });
    let producer = producer(&fake, |_| {});
    producer.send("t", value("0")).await.unwrap();
    fake.set_topology(&[1, 2], "t", &[(2, 6), (1, 5)]);
    producer.flush().await.unwrap();
    assert_eq!(logs.lock().values[&0], numbers(1));
    assert_eq!(logs.lock().sent.last(), Some(&(2, 0, 0)));
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_sends_us_away_and_names_itself_makes_us_ask_for_metadata() {
    let (fake, logs) = brokers(|_, asked| if asked.port == 1 { Verdict::Hint(1, 5) } else { Verdict::Write });
    let producer = producer(&fake, |_| {});
    producer.send("t", value("0")).await.unwrap();
    fake.set_topology(&[1, 2], "t", &[(2, 6), (1, 5)]);
    producer.flush().await.unwrap();
    assert_eq!(logs.lock().values[&0], numbers(1));
}

#[tokio::test(start_paused = true)]
async fn flush_tells_the_first_failure_and_later_records_go_on_in_a_new_epoch() {
    let (fake, logs) = brokers(|n, _| if n == 1 { Verdict::Refuse(87) } else { Verdict::Write });
    let producer = producer(&fake, |_| {});
    let deliveries = send_apart(&producer, 3).await;
    let error = producer.flush().await.unwrap_err();
    assert_eq!(error.to_string(), "writing to t-0: INVALID_RECORD (87)");
    assert_eq!(deliveries[1].clone().wait().await.unwrap_err().code(), Some(ErrorCode(87)));
    producer.flush().await.unwrap();
    assert_eq!(logs.lock().values[&0], ["0", "2"]);
    assert_eq!(logs.lock().sent.last(), Some(&(1, 1, 0)));
    assert_eq!(producer.counts(), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn without_acks_records_count_as_delivered_when_they_are_sent() {
    let (fake, logs) = brokers(|_, _| Verdict::Write);
    let producer = producer(&fake, |config| (config.acks, config.idempotence) = (Acks::None, false));
    let delivery = producer.send("t", value("0")).await.unwrap();
    assert_eq!(delivery.wait().await.unwrap().offset, -1);
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(logs.lock().values[&0], numbers(1));
    assert!(fake.asked_for(ApiKey::INIT_PRODUCER_ID).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_full_buffer_makes_send_wait_and_then_fail_after_max_block() {
    let (fake, _) = brokers(|_, _| Verdict::Refuse(5));
    let producer = producer(&fake, |config| {
        config.buffer_bytes = 1_000;
        config.max_block = Duration::from_secs(2);
    });
    let large = "x".repeat(900);
    producer.send("t", value(&large)).await.unwrap();
    let started = tokio::time::Instant::now();
    let error = producer.send("t", value(&large)).await.err().unwrap();
    assert!(matches!(error, ClientError::TimedOut { .. }), "{error}");
    assert_eq!(started.elapsed(), Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_delivered_is_given_up_at_its_delivery_timeout() {
    let (fake, _) = brokers(|_, _| Verdict::Refuse(19));
    let producer = producer(&fake, |config| config.delivery_timeout = Duration::from_secs(3));
    let started = tokio::time::Instant::now();
    let delivery = producer.send("t", value("0")).await.unwrap();
    let error = delivery.wait().await.unwrap_err();
    assert!(error.to_string().contains("NOT_ENOUGH_REPLICAS"), "{error}");
    assert!(started.elapsed() >= Duration::from_secs(3) && started.elapsed() < Duration::from_secs(6));
}

#[tokio::test(start_paused = true)]
async fn a_partition_that_is_not_there_is_refused_and_dropping_the_producer_gives_the_rest_up() {
    let (fake, _) = brokers(|_, _| Verdict::Refuse(5));
    let producer = producer(&fake, |_| {});
    let record = NewRecord { partition: Some(7), ..NewRecord::default() };
    assert!(matches!(producer.send("t", record).await, Err(ClientError::BadRequest(_))));
    let delivery = producer.send("t", value("0")).await.unwrap();
    drop(producer);
    assert_eq!(delivery.wait().await, Err(ClientError::Closed));
}

#[tokio::test(start_paused = true)]
async fn records_without_a_key_fill_a_batch_before_they_move_on() {
    let (fake, logs) = brokers(|_, _| Verdict::Write);
    let producer = producer(&fake, |config| config.linger = Duration::from_millis(5));
    let text = "x".repeat(100);
    for _ in 0..1_000 {
        let record = NewRecord { value: Some(text.as_bytes()), ..NewRecord::default() };
        producer.send("t", record).await.unwrap();
    }
    producer.flush().await.unwrap();
    let (batches, counts) = {
        let logs = logs.lock();
        (logs.sent.len(), logs.values.values().map(Vec::len).collect::<Vec<_>>())
    };
    assert!(batches < 12, "{batches} batches for 100 KB");
    assert_eq!(counts.len(), 2, "both partitions had turns: {counts:?}");
}
