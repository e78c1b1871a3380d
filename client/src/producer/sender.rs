//! Moves batches from the accumulator to their leaders and answers back into it.
//!
//! ```text
//! send ──> accumulator ──> driver ──> lane (one for each leader, in order) ──> connection
//!              ▲             ▲  events                                            │
//!              └── settle ───┴────────────────────────────────────────────────────┘
//! ```
//! Holds: a leader has at most `in_flight_max` requests; its lane starts them in the order in which they were taken, and
//! a slow or unreachable leader holds up nobody else. The driver never waits for a broker.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ballast_wire::frame::ApiKey;
use ballast_wire::{BrokerId, ProducerEpoch, ProducerId};
use kafka_protocol::messages::InitProducerIdRequest;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::accumulator::Taken;
use super::answer::{self, Answered};
use super::queue::{Outcome, Terms};
use super::{Acks, Shared};
use crate::retry::jittered;
use crate::{ClientError, ErrorCode, Lane, Pending, RawRequest, Target};

/// How often batches are looked at for their delivery timeout.
const EXPIRY_CHECK: Duration = Duration::from_millis(500);

/// What happened while the driver did something else.
enum Event {
    /// An answer, or its absence.
    Answered { leader: BrokerId, batches: Vec<Taken>, answered: Answered },
    /// Metadata was asked for.
    Refreshed(Result<(), ClientError>),
    /// A producer id was asked for.
    Identified(Result<(ProducerId, ProducerEpoch), ClientError>),
}

/// One leader's lane, as the driver sees it.
struct LaneState {
    requests: mpsc::Sender<Vec<Taken>>,
    in_flight: usize,
    /// Failures since the last success.
    failures: u32,
    /// The broker asked us to wait.
    not_before: Instant,
}

/// The driver's own state.
pub(super) struct Driver {
    shared: Arc<Shared>,
    lanes: BTreeMap<BrokerId, LaneState>,
    events: mpsc::UnboundedReceiver<Event>,
    /// Never more than requests in flight, and two.
    report: mpsc::UnboundedSender<Event>,
    identity: Option<(ProducerId, ProducerEpoch)>,
    identifying: bool,
    refreshing: bool,
    last_error: Option<ClientError>,
    expiry_check_at: Instant,
}

impl Driver {
    pub(super) fn new(shared: Arc<Shared>) -> Driver {
        let (report, events) = mpsc::unbounded_channel();
        Driver {
            shared,
            lanes: BTreeMap::new(),
            events,
            report,
            identity: None,
            identifying: false,
            refreshing: false,
            last_error: None,
            expiry_check_at: Instant::now() + EXPIRY_CHECK,
        }
    }

    /// Runs until it is aborted.
    pub(super) async fn run(mut self) {
        loop {
            let wake_at = self.dispatch();
            let wake = self.shared.wake.notified();
            tokio::select! {
                biased;
                Some(event) = self.events.recv() => {
                    self.handle(event);
                    while let Ok(event) = self.events.try_recv() {
                        self.handle(event);
                    }
                }
                () = wake => {}
                () = sleep_until(wake_at) => {}
            }
        }
    }

    /// Hands out what is ready. Gives the time to look again.
    fn dispatch(&mut self) -> Instant {
        let now = Instant::now();
        let shared = self.shared.clone();
        if self.expiry_check_at <= now {
            self.expiry_check_at = now + EXPIRY_CHECK;
            if shared.with(|accumulator, terms| accumulator.expire(terms, self.last_error.as_ref())) {
                shared.room.notify_waiters();
            }
        }
        let mut wake_at = self.expiry_check_at;
        let outlook = shared.with(|accumulator, terms| accumulator.outlook(terms));
        if outlook.leaderless {
            self.refresh();
        }
        if outlook.ready.is_empty() {
            return outlook.wake_at.map_or(wake_at, |at| at.min(wake_at));
        }
        if shared.config.idempotence && !self.has_identity() {
            self.identify();
            return wake_at;
        }
        for leader in outlook.ready {
            let lane = self.lane(leader);
            if lane.not_before > now {
                wake_at = wake_at.min(lane.not_before);
                continue;
            }
            self.fill(leader);
        }
        outlook.wake_at.map_or(wake_at, |at| at.min(wake_at))
    }

    fn has_identity(&self) -> bool {
        self.identity.is_some_and(|(id, _)| !self.shared.with(|accumulator, _| accumulator.needs_new_producer(id)))
    }

    /// Takes requests for a leader until it has enough in flight.
    fn fill(&mut self, leader: BrokerId) {
        let (shared, identity) = (self.shared.clone(), self.identity.filter(|_| self.shared.config.idempotence));
        let lane = self.lane(leader);
        while lane.in_flight < shared.config.in_flight_max {
            let batches = shared.with(|accumulator, terms| accumulator.take_request(terms, leader, identity));
            if batches.is_empty() {
                return;
            }
            lane.in_flight += 1;
            let sent = lane.requests.try_send(batches);
            assert!(sent.is_ok(), "the lane of broker {leader} holds {} requests and is full", lane.in_flight);
        }
    }

    fn lane(&mut self, leader: BrokerId) -> &mut LaneState {
        let (shared, report) = (&self.shared, &self.report);
        self.lanes.entry(leader).or_insert_with(|| {
            let (requests, queue) = mpsc::channel(shared.config.in_flight_max);
            tokio::spawn(run_lane(shared.clone(), leader, queue, report.clone()));
            LaneState { requests, in_flight: 0, failures: 0, not_before: Instant::now() }
        })
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Answered { leader, batches, answered } => self.settle(leader, batches, answered),
            Event::Refreshed(result) => {
                self.refreshing = false;
                self.last_error = result.err().or(self.last_error.take());
                let metadata = self.shared.cluster.metadata();
                self.shared.with(|accumulator, _| accumulator.update(&metadata, &[]));
            }
            Event::Identified(result) => {
                self.identifying = false;
                match result {
                    Ok(identity) => self.identity = Some(identity),
                    // It was tried for as long as a call may take: nothing can be sent.
                    Err(error) => {
                        self.shared.with(|accumulator, _| accumulator.abandon(&error));
                        self.shared.room.notify_waiters();
                    }
                }
            }
        }
    }

    fn settle(&mut self, leader: BrokerId, batches: Vec<Taken>, answered: Answered) {
        let Answered { outcomes, hints, endpoints, stale, throttle } = answered;
        let failed = outcomes.iter().find_map(|outcome| match outcome {
            Outcome::Again { error, .. } => Some(error.clone()),
            _ => None,
        });
        let lane = self.lane(leader);
        lane.in_flight -= 1;
        lane.failures = if failed.is_some() { lane.failures.saturating_add(1) } else { 0 };
        lane.not_before = lane.not_before.max(Instant::now() + throttle);
        let failures = lane.failures;
        let shared = &self.shared;
        let (mut news, mut stale) = (false, stale);
        for (topic, partition, hint) in hints {
            news |= shared.cluster.take_leader_hint(&topic, partition, (hint.leader_id, hint.leader_epoch), &endpoints);
            // A broker that is cut off sends its clients away, and names the last leader that it heard of: itself.
            stale |= shared.cluster.leader(&topic, partition).is_ok_and(|(known, _)| known == leader);
        }
        let client = shared.cluster.config();
        // With a new leader at hand there is nothing to wait for.
        let pause = if news {
            Duration::ZERO
        } else {
            let doubled = client.retry_backoff * 2u32.saturating_pow(failures.saturating_sub(1).min(10));
            jittered(doubled.min(client.retry_backoff_max), &*shared.cluster.world().entropy)
        };
        shared.with(|accumulator, terms| {
            for (taken, outcome) in batches.into_iter().zip(outcomes) {
                accumulator.settle(terms, taken, outcome, pause);
            }
            if news {
                accumulator.update(&shared.cluster.metadata(), &[]);
            }
        });
        shared.room.notify_waiters();
        if stale {
            shared.cluster.mark_stale();
            self.refresh();
        }
        self.last_error = failed.or(self.last_error.take());
    }

    fn refresh(&mut self) {
        if std::mem::replace(&mut self.refreshing, true) {
            return;
        }
        let (cluster, report) = (self.shared.cluster.clone(), self.report.clone());
        tokio::spawn(async move {
            cluster.mark_stale();
            // Soon enough for a new leader, and no more often than that.
            tokio::time::sleep(cluster.config().retry_backoff).await;
            let _ = report.send(Event::Refreshed(cluster.refresh_if_needed().await));
        });
    }

    fn identify(&mut self) {
        if std::mem::replace(&mut self.identifying, true) {
            return;
        }
        let (shared, report) = (self.shared.clone(), self.report.clone());
        tokio::spawn(async move {
            let _ = report.send(Event::Identified(init_producer_id(&shared).await));
        });
    }
}

/// Asks for a producer id. Only transactions need one from a particular broker.
async fn init_producer_id(shared: &Shared) -> Result<(ProducerId, ProducerEpoch), ClientError> {
    let what = "asking for a producer id";
    let build = |_| {
        InitProducerIdRequest::default()
            .with_transactional_id(None)
            .with_transaction_timeout_ms(i32::MAX)
            .with_producer_id((-1).into())
            .with_producer_epoch(-1)
    };
    let check = |answer: &kafka_protocol::messages::InitProducerIdResponse| {
        ErrorCode(answer.error_code).ok().map_err(|code| ClientError::refused(what, code))
    };
    let (_, answer) = shared.cluster.call(Target::Any, what, build, check).await?;
    Ok((*answer.producer_id, answer.producer_epoch))
}

/// Starts one leader's requests, one after the other; answers are awaited beside it.
async fn run_lane(
    shared: Arc<Shared>,
    leader: BrokerId,
    mut requests: mpsc::Receiver<Vec<Taken>>,
    report: mpsc::UnboundedSender<Event>,
) {
    while let Some(mut batches) = requests.recv().await {
        match start(&shared, leader, &mut batches).await {
            Ok((version, address, pending)) => {
                let (shared, report) = (shared.clone(), report.clone());
                tokio::spawn(async move {
                    let answered = finish(&shared, version, &address, pending, &batches).await;
                    let _ = report.send(Event::Answered { leader, batches, answered });
                });
            }
            Err(error) => {
                let outcome = if error.is_retriable() {
                    Outcome::Again { error, unknown: false }
                } else {
                    Outcome::Refused { error }
                };
                let answered = Answered::all(&batches, &outcome);
                let _ = report.send(Event::Answered { leader, batches, answered });
            }
        }
    }
}

async fn start(
    shared: &Shared,
    leader: BrokerId,
    batches: &mut [Taken],
) -> Result<(i16, String, Pending), ClientError> {
    let connection = shared.cluster.connection(leader, Lane::Produce).await?;
    let version = answer::version(&connection, batches, &shared.config)?;
    let limit = shared.cluster.config().request_timeout;
    let body = answer::encode(version, batches, shared.config.acks.number(), limit);
    let answered = shared.config.acks != Acks::None;
    let request = RawRequest { key: ApiKey::PRODUCE, version, body, answered };
    let pending = connection.start(request, limit).await?;
    Ok((version, connection.address().to_owned(), pending))
}

async fn finish(shared: &Shared, version: i16, address: &str, pending: Pending, batches: &[Taken]) -> Answered {
    match pending.wait().await {
        Ok(_) if shared.config.acks == Acks::None => {
            Answered::all(batches, &Outcome::Written { base_offset: -1, log_append_time_ms: -1 })
        }
        Ok(body) => answer::decode(version, &body, batches, address),
        Err(error) if error.is_retriable() => Answered::all(batches, &Outcome::Again { error, unknown: true }),
        Err(error) => Answered::all(batches, &Outcome::Refused { error }),
    }
}

impl Shared {
    /// Works on the accumulator, now.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut super::accumulator::Accumulator, Terms<'_>) -> T) -> T {
        let now = Instant::now();
        let mut accumulator = self.accumulator.lock();
        let hurry = self.hurry.load(std::sync::atomic::Ordering::Relaxed) > 0;
        work(&mut accumulator, Terms { config: &self.config, now, hurry })
    }
}
