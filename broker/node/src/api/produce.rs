//! Produce (key 0), versions 3–13; advertised from 0 (KAFKA-18659: librdkafka looks for version 0 before it compresses).
//!
//! Queues one batch for each partition, in the order of the connection's requests, before the next request starts; then
//! writes what is queued by then, and waits as `acks` says, at most `timeout_ms`.
//! v5 log start; v7 zstd; v8 record errors; v9 flexible; v10 leader hints (KIP-951); v13 topic ids.
//! acks=0: no answer, and the connection closes if anything failed.
//! A partition named twice: one row, the last batch counts.
//! Not done: transactions. A transactional batch is refused with 53, as InitProducerId with a transactional id is.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ballast_log::validate::{Origin, validate};
use ballast_log::{AppendError, RecordError};
use ballast_net::BoxFuture;
use ballast_wire::batch::BatchView;
use ballast_wire::frame::{ApiKey, Pieces};
use ballast_wire::produce::{self, ProduceRequest, ProduceResponse, ProducedPartition, ProducedTopic};
use ballast_wire::shared::CurrentLeader;
use ballast_wire::{PartitionIndex, Uuid};
use bytes::Bytes;
use tokio::time::timeout;

use super::call::{Call, Ctx};
use super::code::{self, Code};
use super::view;
use crate::drive::partition::{LeaderHint, Partition, ProduceError, Produced, Refused};
use crate::drive::waiters::{Kept, Until};
use crate::net::conn::Answer;
use crate::node::{TopicKey, Whereabouts};
use crate::session::{Operation, Resource};

const HINTS_FROM: i16 = 10;
const IDS_FROM: i16 = 13;
const ALL: i16 = -1;
/// The client id that Apache Kafka lets write to internal topics.
const ADMIN_CLIENT: &str = "__admin_client";

/// What has become of one partition so far.
enum State {
    Done(ProducedPartition<'static>),
    Waiting(Arc<Partition>, Produced),
}

struct Row {
    index: PartitionIndex,
    hint: Option<LeaderHint>,
    state: State,
}

struct Topic {
    name: String,
    id: Uuid,
    rows: Vec<Row>,
}

/// Starts a produce: everything has its place in the logs when this returns, and is written when the answer is polled first.
pub(super) fn start(call: Call) -> BoxFuture<'static, Answer> {
    let Call { ctx, correlation_id, body, charge, .. } = call;
    let request = match ProduceRequest::decode(ctx.version, &body) {
        Ok(request) => request,
        Err(error) => {
            let why = format!("a Produce v{} request does not decode: {error}", ctx.version);
            return Box::pin(std::future::ready(Answer::Close(why)));
        }
    };
    let (acks, timeout_ms) = (request.acks, u64::try_from(request.timeout_ms).unwrap_or(0));
    let topics = append_all(&ctx, &request);
    drop(request);
    Box::pin(async move {
        write_all(&ctx, &topics);
        // The batches are in the logs, or refused: the request's memory can go.
        drop((body, charge));
        let topics = settle(topics, Duration::from_millis(timeout_ms)).await;
        if has_errors(&topics) {
            ctx.node.metrics.failed_produce_requests.fetch_add(1, Ordering::Relaxed);
        }
        if acks == 0 {
            return silent(&topics);
        }
        answer(&ctx, correlation_id, topics)
    })
}

fn append_all(ctx: &Ctx, request: &ProduceRequest<'_>) -> Vec<Topic> {
    let refused = for_all(request);
    let mut topics = Vec::new();
    for topic in &request.topics {
        let name = match ctx.version {
            IDS_FROM.. => ctx.node.topic_name(topic.id).as_deref().map(str::to_owned),
            _ => Some(topic.name.as_ref().to_owned()),
        };
        let last: BTreeMap<PartitionIndex, &Option<Bytes>> =
            topic.partitions.iter().map(|partition| (partition.index, &partition.records)).collect();
        let rows = last.into_iter().map(|(index, records)| {
            let appended = match (&name, refused) {
                (None, _) => Err(Failure::plain(code::UNKNOWN_TOPIC_ID)),
                (Some(name), refused) => append_one(ctx, request.acks, name, index, records.as_ref(), refused),
            };
            row(index, appended)
        });
        let rows = rows.collect();
        topics.push(Topic { name: name.unwrap_or_default(), id: topic.id, rows });
    }
    topics
}

fn write_all(ctx: &Ctx, topics: &[Topic]) {
    for row in topics.iter().flat_map(|topic| &topic.rows) {
        if let State::Waiting(partition, produced) = &row.state {
            partition.write(&produced.appended, ctx.node.clock.now_ms(), ctx.node.ticks.now());
        }
    }
}

/// What is wrong with the request as a whole.
fn for_all(request: &ProduceRequest<'_>) -> Option<Code> {
    if !matches!(request.acks, ALL | 0 | 1) {
        return Some(code::INVALID_REQUIRED_ACKS);
    }
    let batches = request.topics.iter().flat_map(|topic| &topic.partitions).filter_map(|p| p.records.as_ref());
    let is_transactional =
        |records: &Bytes| BatchView::parse(records).is_ok_and(|batch| batch.attributes().is_transactional());
    batches.into_iter().any(is_transactional).then_some(code::TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
}

/// Why a partition's batch was not appended.
struct Failure {
    code: Code,
    hint: Option<LeaderHint>,
    log_start_offset: i64,
    records: Vec<RecordError>,
    message: Option<String>,
}

impl Failure {
    fn plain(code: Code) -> Failure {
        Failure { code, hint: None, log_start_offset: -1, records: Vec::new(), message: None }
    }

    fn elsewhere(hint: LeaderHint) -> Failure {
        Failure { hint: Some(hint), ..Failure::plain(code::NOT_LEADER_OR_FOLLOWER) }
    }

    fn of(partition: &Partition, error: ProduceError) -> Failure {
        let plain = Failure::plain(code::of_produce(&error));
        let message = Some(error.to_string());
        // Kafka tells the log start with causes that lie in the records or the producer's state, not with the others.
        let log_start_offset = match &error {
            ProduceError::Append(
                AppendError::InvalidRecord { .. }
                | AppendError::InvalidTimestamp { .. }
                | AppendError::OutOfOrderSequence { .. }
                | AppendError::InvalidProducerEpoch { .. }
                | AppendError::InvalidTxnState { .. },
            ) => partition.log.start(),
            _ => -1,
        };
        match error {
            ProduceError::Refused(Refused::NotLeader(hint)) => Failure { message, ..Failure::elsewhere(hint) },
            ProduceError::Append(
                AppendError::InvalidRecord { records, .. } | AppendError::InvalidTimestamp { records, .. },
            ) => Failure { records, log_start_offset, message, ..plain },
            _ => Failure { log_start_offset, message, ..plain },
        }
    }
}

fn append_one(
    ctx: &Ctx,
    acks: i16,
    topic: &str,
    index: PartitionIndex,
    records: Option<&Bytes>,
    refused: Option<Code>,
) -> Result<(Arc<Partition>, Produced), Failure> {
    if !ctx.may(Operation::Write, Resource::Topic(topic)) {
        return Err(Failure::plain(code::TOPIC_AUTHORIZATION_FAILED));
    }
    if let Some(code) = ctx.scripted(topic, Some(index)) {
        return Err(Failure::plain(code));
    }
    let partition = match ctx.node.find(TopicKey::Name(topic), index) {
        Whereabouts::Here(partition) => partition,
        Whereabouts::Elsewhere(hint) => return Err(Failure::elsewhere(hint)),
        Whereabouts::Broken => return Err(Failure::plain(code::KAFKA_STORAGE_ERROR)),
        Whereabouts::Unknown => return Err(Failure::plain(code::UNKNOWN_TOPIC_OR_PARTITION)),
    };
    if let Some(code) = refused {
        return Err(Failure::plain(code));
    }
    let is_internal = view::is_internal(topic);
    if is_internal && &*ctx.session.client_id != ADMIN_CLIENT {
        return Err(Failure::plain(code::INVALID_TOPIC_EXCEPTION));
    }
    let has_room = is_internal || ctx.node.store.dir(partition.directory()).is_some_and(|dir| dir.has_room());
    if !has_room {
        let message = "The log directory has less room than ballast.disk.reserve.bytes.".to_owned();
        return Err(Failure { message: Some(message), ..Failure::plain(code::KAFKA_STORAGE_ERROR) });
    }
    let Some(records) = records else { return Err(Failure::plain(code::INVALID_RECORD)) };
    match append(ctx, acks, &partition, records) {
        Ok(produced) => Ok((partition, produced)),
        Err(error) => Err(Failure::of(&partition, error)),
    }
}

fn append(ctx: &Ctx, acks: i16, partition: &Arc<Partition>, records: &Bytes) -> Result<Produced, ProduceError> {
    let now_ms = ctx.node.clock.now_ms();
    let origin = Origin::Client { produce_version: ctx.version, transactions_v2: false };
    partition.traffic.produce_requests.fetch_add(1, Ordering::Relaxed);
    let batch = validate(records, &partition.log.config(), origin, now_ms)?;
    let until = if acks == ALL { Until::Committed } else { Until::Published };
    let (bytes, count) = (batch.size_bytes(), u64::try_from(batch.records_count()).unwrap_or(0));
    let produced = partition.enqueue(batch, until, now_ms)?;
    if !produced.appended.duplicate {
        partition.traffic.bytes_in.fetch_add(bytes, Ordering::Relaxed);
        partition.traffic.records_in.fetch_add(count, Ordering::Relaxed);
    }
    Ok(produced)
}

fn row(index: PartitionIndex, appended: Result<(Arc<Partition>, Produced), Failure>) -> Row {
    match appended {
        Ok((partition, produced)) => Row { index, hint: None, state: State::Waiting(partition, produced) },
        Err(failure) => Row { index, hint: failure.hint, state: State::Done(refused_row(index, failure)) },
    }
}

fn refused_row(index: PartitionIndex, failure: Failure) -> ProducedPartition<'static> {
    let mut row = ProducedPartition::refused(index, failure.code);
    row.log_start_offset = failure.log_start_offset;
    row.error_message = failure.message.map(Cow::Owned);
    let error =
        |error: RecordError| produce::RecordError { batch_index: error.index, message: Some(error.message.into()) };
    row.record_errors = failure.records.into_iter().map(error).collect();
    row
}

/// Waits for every partition, all within one time.
async fn settle(mut topics: Vec<Topic>, time: Duration) -> Vec<Topic> {
    let until = tokio::time::Instant::now() + time;
    for row in topics.iter_mut().flat_map(|topic| &mut topic.rows) {
        if let State::Waiting(_, produced) = &mut row.state {
            let outcome = match produced.wait.try_recv() {
                Ok(outcome) => Ok(outcome),
                Err(_) => wait(produced, until).await,
            };
            row.state = State::Done(settled_row(row.index, produced, outcome));
        }
    }
    topics
}

/// The code when the wait itself failed.
async fn wait(produced: &mut Produced, until: tokio::time::Instant) -> Result<Result<Kept, AppendError>, Code> {
    let left = until.saturating_duration_since(tokio::time::Instant::now());
    match timeout(left, &mut produced.wait).await {
        Ok(Ok(outcome)) => Ok(outcome),
        // The partition went away with everybody who waited for it.
        Ok(Err(_)) => Err(code::NOT_LEADER_OR_FOLLOWER),
        Err(_) => Err(code::REQUEST_TIMED_OUT),
    }
}

fn settled_row(
    index: PartitionIndex,
    produced: &Produced,
    outcome: Result<Result<Kept, AppendError>, Code>,
) -> ProducedPartition<'static> {
    let failed = match outcome {
        Ok(Ok(Kept::Asked)) => None,
        Ok(Ok(Kept::ByTooFew)) => Some(code::NOT_ENOUGH_REPLICAS_AFTER_APPEND),
        Ok(Err(error)) => Some(code::of_append(&error)),
        Err(code) => Some(code),
    };
    let mut row = ProducedPartition::refused(index, failed.unwrap_or(code::NONE));
    if failed.is_none() {
        row.base_offset = produced.appended.base_offset;
        row.log_append_time_ms = produced.appended.log_append_time_ms;
        row.log_start_offset = produced.appended.log_start_offset;
    }
    row
}

fn done(topics: &[Topic]) -> impl Iterator<Item = (&Topic, &ProducedPartition<'static>)> {
    topics.iter().flat_map(|topic| topic.rows.iter().map(move |row| (topic, row))).filter_map(|(topic, row)| match &row
        .state
    {
        State::Done(produced) => Some((topic, produced)),
        State::Waiting(..) => None,
    })
}

fn has_errors(topics: &[Topic]) -> bool {
    done(topics).any(|(_, row)| row.error_code != code::NONE)
}

/// acks=0: an error can only be told by closing the connection.
fn silent(topics: &[Topic]) -> Answer {
    match done(topics).find(|(_, row)| row.error_code != code::NONE) {
        Some((topic, row)) => Answer::Close(format!(
            "a produce with acks=0 to {}-{} failed with error {}",
            topic.name, row.index, row.error_code
        )),
        None => Answer::Silent,
    }
}

fn answer(ctx: &Ctx, correlation_id: i32, topics: Vec<Topic>) -> Answer {
    let mut leaders = BTreeSet::new();
    let mut produced = Vec::new();
    for topic in topics {
        let mut partitions = Vec::new();
        for row in topic.rows {
            let State::Done(mut partition) = row.state else { continue };
            if let Some(hint) = row.hint.filter(|_| ctx.version >= HINTS_FROM) {
                leaders.insert(hint.leader);
                let (leader_id, leader_epoch) = (hint.leader, hint.leader_epoch);
                partition.current_leader = Some(CurrentLeader { leader_id, leader_epoch });
            }
            partitions.push(partition);
        }
        produced.push(ProducedTopic { name: Cow::Owned(topic.name), id: topic.id, partitions });
    }
    let node_endpoints = view::endpoints(ctx, &leaders);
    let response = ProduceResponse { topics: produced, throttle_time_ms: 0, node_endpoints };
    let mut frame = Pieces::response_frame(ApiKey::PRODUCE, ctx.version, correlation_id);
    response.encode(ctx.version, &mut frame);
    Answer::Send(frame.finish_frame())
}
