//! The consumer as a whole against scripted brokers, on paused time.

use std::collections::BTreeMap;

use ballast_wire::batch::{BatchBuilder, Compression};
use ballast_wire::fetch::{FetchRequest, FetchResponse, FetchedPartition, FetchedTopic};
use ballast_wire::frame::{ApiKey, Pieces};
use ballast_wire::shared::CurrentLeader;
use bytes::Bytes;
use kafka_protocol::messages::list_offsets_response::{ListOffsetsPartitionResponse, ListOffsetsTopicResponse};
use kafka_protocol::messages::{ListOffsetsRequest, ListOffsetsResponse};
use parking_lot::Mutex;

use super::*;
use crate::fake::{Asked, Fake, Reply};

const SECOND: Duration = Duration::from_secs(1);

/// What the script does with one fetch.
#[derive(Clone, Copy)]
enum Verdict {
    Serve,
    /// Code of the whole answer.
    Fail(i16),
    /// Code and leader hint of every partition.
    Hint(i16, i32, i32),
    /// The broker that is nearer, of every partition, and no records.
    Nearer(i32),
    Close,
    /// Serves with one byte of each batch turned.
    Rot,
}

/// Brokers 1 and 2 with topic "t" of two partitions; each holds batches of two records from offset 0 (partition 1: 10).
#[derive(Default)]
struct Store {
    /// (base offset, batch) of each partition.
    logs: BTreeMap<i32, Vec<(i64, Bytes)>>,
    /// Positions that the session knows.
    session: BTreeMap<i32, i64>,
    /// Session id and epoch, partitions named, of each fetch.
    seen: Vec<(u16, i32, i32, Vec<i32>)>,
}

impl Store {
    fn append(&mut self, partition: i32, values: &[&str]) {
        let log = self.logs.entry(partition).or_default();
        let base = log.last().map_or(i64::from(partition) * 10, |(base, _)| base + 2);
        let mut builder = BatchBuilder::new(Compression::Lz4).base_offset(base).leader_epoch(5);
        for value in values {
            builder.push(1_000, None, Some(value.as_bytes()), &[]);
        }
        log.push((base, builder.finish()));
    }

    fn end(&self, partition: i32) -> i64 {
        self.logs[&partition].last().map_or(0, |(base, _)| base + 2)
    }

    fn row(&self, partition: i32, offset: i64, verdict: Verdict) -> FetchedPartition<Vec<ballast_wire::Chunk>> {
        let mut row = FetchedPartition::failed(partition, 0);
        row.high_watermark = self.end(partition);
        if let Verdict::Hint(code, leader_id, leader_epoch) = verdict {
            row.error_code = code;
            row.current_leader = Some(CurrentLeader { leader_id, leader_epoch });
            return row;
        }
        if let Verdict::Nearer(id) = verdict {
            row.preferred_read_replica = id;
            return row;
        }
        if offset < i64::from(partition) * 10 || offset > self.end(partition) {
            row.error_code = 1;
            return row;
        }
        // One whole batch, and a piece of the next.
        let mut rest = self.logs[&partition].iter().filter(|(base, _)| base + 1 >= offset).map(|(_, batch)| batch);
        if let Some(batch) = rest.next() {
            let mut bytes = batch.to_vec();
            if matches!(verdict, Verdict::Rot) {
                *bytes.last_mut().unwrap() ^= 1;
            }
            bytes.extend(rest.next().map(|next| &next[..30]).unwrap_or_default());
            row.records = vec![bytes.into()];
        }
        row
    }

    fn answer(&mut self, asked: &Asked, verdict: Verdict) -> Reply {
        let request = FetchRequest::decode(asked.version, &asked.body).unwrap();
        if request.session_epoch == 0 {
            self.session.clear();
        }
        let mut named = Vec::new();
        for row in request.topics.iter().flat_map(|topic| &topic.partitions) {
            // Broker 2 is asked as a follower, too.
            assert!(row.current_leader_epoch == 5 || (asked.port, row.current_leader_epoch) == (2, 6));
            self.session.insert(row.index, row.fetch_offset);
            named.push(row.index);
        }
        self.seen.push((asked.port, request.session_id, request.session_epoch, named));
        let rows: Vec<_> =
            self.session.iter().map(|(partition, offset)| self.row(*partition, *offset, verdict)).collect();
        let mut answer = FetchResponse { session_id: 77, ..FetchResponse::default() };
        match verdict {
            Verdict::Close => return Reply::Close,
            Verdict::Fail(code) => (answer.error_code, answer.session_id) = (code, 0),
            _ => {
                let id = ballast_wire::Uuid(1u128.to_be_bytes());
                let name = if asked.version > 12 { "".into() } else { "t".into() };
                answer.topics = vec![FetchedTopic { name, id, partitions: rows }];
            }
        }
        let mut body = Pieces::body(ApiKey::FETCH, asked.version);
        answer.encode(asked.version, &mut body);
        let bytes: Vec<u8> = body.finish().iter().flat_map(|piece| piece.bytes().unwrap()).collect();
        // A broker with nothing to say waits.
        Reply::Later(Duration::from_millis(1), bytes.into())
    }
}

fn list_offsets(store: &Store, asked: &Asked) -> Reply {
    let request: ListOffsetsRequest = asked.decode();
    let rows = request.topics[0].partitions.iter().map(|row| {
        let offset = match row.timestamp {
            -2 => i64::from(row.partition_index) * 10,
            -1 => store.end(row.partition_index),
            ms if ms <= 1_000 => store.end(row.partition_index) - 2,
            _ => -1,
        };
        ListOffsetsPartitionResponse::default().with_partition_index(row.partition_index).with_offset(offset)
    });
    let topic = ListOffsetsTopicResponse::default().with_name(request.topics[0].name.clone());
    let topic = topic.with_partitions(rows.collect());
    Reply::of(&ListOffsetsResponse::default().with_topics(vec![topic]), asked.version)
}

fn brokers(judge: impl Fn(usize, &Asked) -> Verdict + Send + Sync + 'static) -> (Arc<Fake>, Arc<Mutex<Store>>) {
    let store = Arc::new(Mutex::new(Store::default()));
    for values in [["a", "b"], ["c", "d"], ["e", "f"]] {
        store.lock().append(0, &values);
        store.lock().append(1, &values);
    }
    let shared = store.clone();
    let fake = Fake::new(move |asked| match asked.key {
        ApiKey::FETCH => {
            let mut store = shared.lock();
            let verdict = judge(store.seen.len(), asked);
            Some(store.answer(asked, verdict))
        }
        ApiKey::LIST_OFFSETS => Some(list_offsets(&shared.lock(), asked)),
        _ => None,
    });
    fake.versions.lock().retain(|(key, ..)| *key != 1);
    fake.versions.lock().push((1, 4, 18));
    fake.set_topology(&[1, 2], "t", &[(1, 5), (1, 5)]);
    (fake, store)
}

async fn consumer(fake: &Arc<Fake>, assignment: &[(&str, i32, StartAt)], reset: OffsetReset) -> Consumer {
    let config = ConsumerConfig { offset_reset: reset, ..ConsumerConfig::default() };
    let mut consumer = Consumer::new(fake.cluster(&[1]), config);
    consumer.assign(assignment).await.unwrap();
    consumer
}

/// Reads until everything is read; gives offset and value by partition.
async fn drain(consumer: &mut Consumer) -> BTreeMap<i32, Vec<(i64, String)>> {
    let mut read: BTreeMap<i32, Vec<(i64, String)>> = BTreeMap::new();
    while !consumer.is_at_end() {
        for fetched in consumer.poll(SECOND).await.unwrap() {
            let values = fetched
                .records
                .iter()
                .map(|record| (record.offset, String::from_utf8(record.value.clone().unwrap().to_vec()).unwrap()));
            read.entry(fetched.partition).or_default().extend(values);
        }
    }
    read
}

fn all(base: i64) -> Vec<(i64, String)> {
    ["a", "b", "c", "d", "e", "f"].iter().enumerate().map(|(at, v)| (base + at as i64, (*v).to_owned())).collect()
}

#[tokio::test(start_paused = true)]
async fn every_record_is_read_once_and_in_order_in_one_session() {
    let (fake, store) = brokers(|_, _| Verdict::Serve);
    let mut consumer =
        consumer(&fake, &[("t", 0, StartAt::Beginning), ("t", 1, StartAt::Offset(13))], OffsetReset::None).await;
    assert_eq!(drain(&mut consumer).await, [(0, all(0)), (1, all(10)[3..].to_vec())].into());
    tokio::time::sleep(Duration::from_millis(1)).await;
    let seen = store.lock().seen.clone();
    assert_eq!(seen[0], (1, 0, 0, vec![0, 1]));
    assert_eq!(seen[1], (1, 77, 1, vec![0, 1]));
    assert_eq!(seen[3], (1, 77, 3, vec![0]), "partition 1 had nothing new to say, so it is not named again");
}

#[tokio::test(start_paused = true)]
async fn times_and_ends_are_looked_up_when_they_are_assigned() {
    let (fake, store) = brokers(|_, _| Verdict::Serve);
    let starts = [("t", 0, StartAt::Time(1_000)), ("t", 1, StartAt::Time(9_999))];
    let mut consumer = consumer(&fake, &starts, OffsetReset::None).await;
    assert_eq!(
        (consumer.position("t", 0), consumer.position("t", 1)),
        (Some(4), Some(16)),
        "nothing is that late: the end"
    );
    store.lock().append(1, &["new", "newer"]);
    let read = drain(&mut consumer).await;
    assert_eq!(read[&0], all(0)[4..]);
    assert_eq!(read[&1].iter().map(|(offset, _)| *offset).collect::<Vec<_>>(), [16, 17]);
}

#[tokio::test(start_paused = true)]
async fn a_broken_connection_loses_nothing_and_repeats_nothing() {
    let (fake, _) = brokers(|n, _| if n % 2 == 1 { Verdict::Close } else { Verdict::Serve });
    let mut consumer = consumer(&fake, &[("t", 0, StartAt::Beginning)], OffsetReset::None).await;
    assert_eq!(drain(&mut consumer).await[&0], all(0));
}

#[tokio::test(start_paused = true)]
async fn a_session_that_the_broker_has_forgotten_is_begun_anew() {
    let (fake, store) = brokers(|n, _| if n == 1 { Verdict::Fail(70) } else { Verdict::Serve });
    let mut consumer = consumer(&fake, &[("t", 0, StartAt::Beginning)], OffsetReset::None).await;
    assert_eq!(drain(&mut consumer).await[&0], all(0));
    let epochs: Vec<i32> = store.lock().seen.iter().map(|(_, _, epoch, _)| *epoch).collect();
    assert_eq!(epochs[..4], [0, 1, 0, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_hinted_leader_is_followed_at_once() {
    let judge = |n, asked: &Asked| if asked.port == 1 && n > 0 { Verdict::Hint(6, 2, 6) } else { Verdict::Serve };
    let (fake, _) = brokers(judge);
    let mut consumer = consumer(&fake, &[("t", 0, StartAt::Beginning)], OffsetReset::None).await;
    let started = Instant::now();
    assert_eq!(drain(&mut consumer).await[&0], all(0));
    assert!(started.elapsed() < Duration::from_millis(50), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_nearer_replica_that_metadata_does_not_have_yet_is_looked_for_with_pauses() {
    let (fake, store) = brokers(|_, asked| if asked.port == 1 { Verdict::Nearer(2) } else { Verdict::Serve });
    fake.set_topology(&[1], "t", &[(1, 5), (1, 5)]);
    let mut consumer = consumer(&fake, &[("t", 0, StartAt::Beginning)], OffsetReset::None).await;
    assert!(consumer.poll(SECOND).await.unwrap().is_empty());
    let asked = store.lock().seen.len();
    assert!((2..=20).contains(&asked), "{asked} fetches in a second");
    fake.set_topology(&[1, 2], "t", &[(1, 5), (1, 5)]);
    assert_eq!(drain(&mut consumer).await[&0], all(0));
}

#[tokio::test(start_paused = true)]
async fn an_offset_out_of_range_is_reset_by_policy_or_told() {
    let (fake, _) = brokers(|_, _| Verdict::Serve);
    let start = [("t", 1, StartAt::Offset(5))];
    let mut resetting = consumer(&fake, &start, OffsetReset::Earliest).await;
    assert_eq!(drain(&mut resetting).await[&1], all(10));
    let mut strict = consumer(&fake, &start, OffsetReset::None).await;
    let error = strict.poll(SECOND).await.unwrap_err();
    assert_eq!(error.to_string(), "reading t-1 at offset 5: OFFSET_OUT_OF_RANGE (1)");
}

#[tokio::test(start_paused = true)]
async fn a_rotten_batch_is_told_and_not_skipped() {
    let (fake, _) = brokers(|_, _| Verdict::Rot);
    let mut consumer = consumer(&fake, &[("t", 0, StartAt::Beginning)], OffsetReset::Earliest).await;
    let error = consumer.poll(SECOND).await.unwrap_err();
    assert!(error.to_string().contains("checksum"), "{error}");
    assert_eq!(consumer.position("t", 0), Some(0));
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_lasts_is_told_after_the_api_timeout() {
    let (fake, _) = brokers(|_, _| Verdict::Close);
    let mut consumer = consumer(&fake, &[("t", 0, StartAt::Offset(0))], OffsetReset::None).await;
    let started = Instant::now();
    let error = loop {
        if let Err(error) = consumer.poll(SECOND).await {
            break error;
        }
    };
    assert!(matches!(error, ClientError::Disconnected { .. }), "{error}");
    assert!((60 * SECOND..90 * SECOND).contains(&started.elapsed()), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_partition_that_is_not_there_is_refused_when_it_is_assigned() {
    let (fake, _) = brokers(|_, _| Verdict::Serve);
    let mut consumer = consumer(&fake, &[], OffsetReset::None).await;
    let error = consumer.assign(&[("t", 9, StartAt::End)]).await.unwrap_err();
    let refused = "topic t has 2 partitions, numbered from 0: there is no partition 9";
    assert_eq!(error.to_string(), refused);
}

/// A consumer may live in a task of its own.
#[test]
fn its_futures_may_move_between_threads() {
    fn is_send<T: Send>(_: T) {}
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let _guard = runtime.enter();
    let fake = Fake::new(|_| None);
    let mut consumer = Consumer::new(fake.cluster(&[1]), ConsumerConfig::default());
    is_send(consumer.poll(SECOND));
}
