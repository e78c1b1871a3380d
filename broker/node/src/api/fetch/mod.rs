//! Fetch (key 1), versions 4–18.
//!
//! Waits until `min_bytes` are readable or `max_wait_ms` passes; an error in any partition answers at once, as does a log
//! that has parted from the asker's. Uncommitted reads stop at the high watermark, committed reads at the last stable
//! offset. v7 sessions · v9 fences by leader epoch · v12 divergence · v13 topic ids · v15 replica state · v16 leader hints.
//! v11 racks: consumers read from followers too, and are sent to the one in their rack (KIP-392).
//!
//! Read next: `pass` (what was found, and what is looked at again), `read` (one look), `session` (what an incremental
//! fetch asks for and is told).

mod nearest;
mod pass;
mod read;
mod reader;
mod replica;
mod session;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ballast_net::BoxFuture;
use ballast_wire::Chunk;
use ballast_wire::fetch::{FetchRequest, FetchResponse, FetchedPartition, FetchedTopic};
use ballast_wire::frame::{ApiKey, Pieces};
use ballast_wire::shared::CurrentLeader;
use tokio::time::{Instant, sleep_until};

use self::pass::{Looked, News, Pass, Row};
use self::read::Reading;
use self::reader::{Follower, Reader, Wanted};
use self::session::{Opened, Plan};
use super::call::{Call, Ctx};
use super::code;
use super::view::endpoints;
use crate::drive::partition::FetchGuard;
use crate::drive::waiters::{Awaits, Ear};
use crate::net::conn::Answer;
use crate::session::{Operation, Resource};

const IDS_FROM: i16 = 13;
const HINTS_FROM: i16 = 16;
const RACKS_FROM: i16 = 11;
/// How long a watermark that a replica lacks waits for records to travel with: under load they come sooner, and telling it
/// by itself would double the number of fetches. One that is only expected is looked for then, and after twice as long each
/// time.
const NEWS_AFTER: Duration = Duration::from_millis(5);
const CONSUMER: i32 = -1;
const READ_COMMITTED: i8 = 1;
const ISOLATION_LEVELS: std::ops::RangeInclusive<i8> = 0..=1;

/// How long a fetch waits, and for how much.
#[derive(Clone, Copy)]
struct Patience {
    max_wait: Duration,
    min_bytes: usize,
}

/// Starts a fetch.
pub(super) fn start(call: Call) -> BoxFuture<'static, Answer> {
    let Call { ctx, correlation_id, body, charge, .. } = call;
    let request = match FetchRequest::decode(ctx.version, &body) {
        Ok(request) => request,
        Err(error) => {
            let why = format!("a Fetch v{} request does not decode: {error}", ctx.version);
            return Box::pin(std::future::ready(Answer::Close(why)));
        }
    };
    let is_replica = request.replica_id >= 0;
    if is_replica && !ctx.may(Operation::ClusterAction, Resource::Cluster) {
        let answer = refused(&ctx, correlation_id, code::CLUSTER_AUTHORIZATION_FAILED);
        return Box::pin(std::future::ready(answer));
    }
    let max_bytes = request.max_bytes.min(ctx.node.settings.now().replication.client_fetch_max_bytes).max(0) as usize;
    let reader = reader(&ctx, &request, max_bytes);
    let patience = Patience {
        max_wait: Duration::from_millis(u64::try_from(request.max_wait_ms).unwrap_or(0)),
        min_bytes: (request.min_bytes.max(0) as usize).min(max_bytes),
    };
    let (level, session_id) = (request.isolation_level, request.session_id);
    let opened = session::open(&ctx, &request, is_replica);
    drop(request);
    drop((body, charge));
    Box::pin(async move {
        match opened {
            Opened::Refused(code) => refused(&ctx, correlation_id, code),
            Opened::Plan(plan) if !ISOLATION_LEVELS.contains(&level) && !plan.wanted.is_empty() => {
                senseless(&ctx, correlation_id, session_id, &plan.wanted)
            }
            Opened::Plan(plan) => {
                let pass = wait(&ctx, reader, patience, &plan.wanted).await;
                count(&ctx, &pass, is_replica);
                if pass.rows.iter().any(|row| row.fetched.error_code != code::NONE) {
                    ctx.node.metrics.failed_fetch_requests.fetch_add(1, Ordering::Relaxed);
                }
                answer(&ctx, correlation_id, plan, pass, is_replica)
            }
        }
    })
}

fn reader(ctx: &Ctx, request: &FetchRequest<'_>, max_bytes: usize) -> Reader {
    let follower =
        (request.replica_id >= 0).then_some(Follower { id: request.replica_id, epoch: request.replica_epoch });
    let any_replica = request.replica_id == CONSUMER && ctx.version >= RACKS_FROM;
    let has_rack = any_replica && !request.rack_id.is_empty() && nearest::is_on(ctx);
    Reader {
        follower,
        any_replica,
        rack: has_rack.then(|| request.rack_id.as_ref().into()),
        is_first_pass: true,
        read_committed: request.isolation_level == READ_COMMITTED,
        makes_no_sense: request.max_bytes < 0,
        max_bytes,
    }
}

/// Counts what goes out.
fn count(ctx: &Ctx, pass: &Pass, is_replica: bool) {
    for row in &pass.rows {
        let Some(Looked { partition, .. }) = &row.read else { continue };
        let bytes = row.fetched.records.iter().map(Chunk::len).sum::<usize>() as u64;
        let counter = if is_replica { &ctx.node.metrics.replication_bytes_out } else { &partition.traffic.bytes_out };
        counter.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Reads until there is enough, something is urgent, or time is up.
async fn wait(ctx: &Ctx, reader: Reader, patience: Patience, wanted: &[Wanted]) -> Pass {
    let begun = Instant::now();
    let deadline = begun + patience.max_wait;
    let ear = Arc::new(Ear::default());
    let mut stopping = ctx.node.stopping.subscribe();
    // Nobody waits who does not have to: a first look without a place in any list.
    let mut reading = Reading { ctx, reader, wanted };
    let mut found = Pass::first(wanted.len(), &mut reading).await;
    reading.reader.is_first_pass = false;
    let awaits = if reading.reader.follower.is_some() { Awaits::Written } else { Awaits::Committed };
    let mut guards: Vec<FetchGuard> = Vec::new();
    let mut look_after = NEWS_AFTER;
    loop {
        let now = Instant::now();
        let enough = found.bytes >= patience.min_bytes || found.is_urgent || wanted.is_empty();
        if enough || patience.max_wait.is_zero() || now >= deadline || *stopping.borrow() {
            return found;
        }
        let until = match found.news() {
            News::None => deadline,
            News::There if now >= begun + NEWS_AFTER => return found,
            News::There => begun + NEWS_AFTER,
            News::Expected => {
                look_after = if now >= begun + look_after { look_after * 2 } else { look_after };
                begun + look_after
            }
        };
        if guards.is_empty() {
            guards = found.listen(awaits, &ear);
        } else {
            tokio::select! {
                biased;
                () = ear.hears() => {}
                () = sleep_until(until.min(deadline)) => {}
                // A sender that is gone means the same as a stop.
                _ = stopping.changed() => {}
            }
        }
        found.again(ear.take(), &mut reading).await;
    }
}

/// An answer about the request as a whole.
fn refused(ctx: &Ctx, correlation_id: i32, error_code: i16) -> Answer {
    let response: FetchResponse<'_> = FetchResponse {
        throttle_time_ms: 0,
        error_code,
        session_id: 0,
        topics: Vec::new(),
        node_endpoints: Vec::new(),
    };
    frame(ctx, correlation_id, &response)
}

/// There is no such isolation level: Apache Kafka says so at the top, and to older clients in each row as well.
fn senseless(ctx: &Ctx, correlation_id: i32, session_id: i32, wanted: &[Wanted]) -> Answer {
    let mut topics: Vec<FetchedTopic<'_>> = Vec::new();
    for one in wanted.iter().filter(|_| ctx.version < IDS_FROM) {
        if topics.last().is_none_or(|topic| *topic.name != *one.topic) {
            topics.push(FetchedTopic { name: Cow::Borrowed(&one.topic), id: one.id, partitions: Vec::new() });
        }
        if let Some(topic) = topics.last_mut() {
            let row = FetchedPartition::failed(one.partition.index, code::UNKNOWN_SERVER_ERROR);
            topic.partitions.push(FetchedPartition { aborted_transactions: Some(Vec::new()), ..row });
        }
    }
    let error_code = code::UNKNOWN_SERVER_ERROR;
    frame(
        ctx,
        correlation_id,
        &FetchResponse { throttle_time_ms: 0, error_code, session_id, topics, node_endpoints: Vec::new() },
    )
}

fn frame(ctx: &Ctx, correlation_id: i32, response: &FetchResponse<'_>) -> Answer {
    let mut frame = Pieces::response_frame(ApiKey::FETCH, ctx.version, correlation_id);
    response.encode(ctx.version, &mut frame);
    Answer::Send(frame.finish_frame())
}

/// Replicas know from the metadata where nodes are, and are told only who leads.
fn answer(ctx: &Ctx, correlation_id: i32, plan: Plan, mut pass: Pass, is_replica: bool) -> Answer {
    let mut leaders = BTreeSet::new();
    if ctx.version >= HINTS_FROM {
        for Row { fetched, hint, .. } in &mut pass.rows {
            if let Some(hint) = hint {
                if !is_replica {
                    leaders.insert(hint.leader);
                }
                let (leader_id, leader_epoch) = (hint.leader, hint.leader_epoch);
                fetched.current_leader = Some(CurrentLeader { leader_id, leader_epoch });
            }
        }
    }
    let (session_id, rows) = match session::close(ctx, plan, pass.rows) {
        Ok(closed) => closed,
        Err(code) => return refused(ctx, correlation_id, code),
    };
    let mut topics: Vec<FetchedTopic<'_>> = Vec::new();
    for (wanted, row) in &rows {
        let by_id = ctx.version >= IDS_FROM;
        let is_same =
            |topic: &FetchedTopic<'_>| if by_id { topic.id == wanted.id } else { *topic.name == *wanted.topic };
        if !topics.last().is_some_and(is_same) {
            let name = if by_id { "" } else { &*wanted.topic };
            topics.push(FetchedTopic { name: Cow::Borrowed(name), id: wanted.id, partitions: Vec::new() });
        }
        if let Some(topic) = topics.last_mut() {
            topic.partitions.push(row.fetched.clone());
        }
    }
    let node_endpoints = endpoints(ctx, &leaders);
    let response = FetchResponse { throttle_time_ms: 0, error_code: code::NONE, session_id, topics, node_endpoints };
    frame(ctx, correlation_id, &response)
}
