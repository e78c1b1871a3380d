//! Leaders' wishes for another ISR, taken to the controller, and the clock of all leaders on this broker.
//!
//! ```text
//! Partition::propose ─► Proposals ─► one AlterPartition at a time ─► controller
//!        ▲                                                              │
//!        └────────── isr_committed / isr_refused, row by row ◄──────────┘
//! ```
//! Holds: at most one request is on its way for the whole broker, and whatever gathers meanwhile goes with the next. A leader
//! has at most one proposal open, so the queue is bounded by the partitions. Every proposal is answered: by the controller, or
//! as lost. What becomes of many ISRs at once is one line of the log, not later than the next tick.
//!
//! Read next: `ballast_core::replica` (what answers mean), `drive::partition::replicas`.

mod answer;
mod told;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ballast_core::controller::{AlterPartition, IsrChange, Request, Response};
use ballast_core::machine::Tick;
use ballast_net::BoxFuture;
use ballast_wire::{PartitionIndex, Uuid};
use tokio::time::{Instant, sleep_until, timeout};

use super::named::Named;
use super::proposals::{Proposal, Wishes};
use crate::node::Node;
use told::Told;

/// Proposals in one request.
const PROPOSALS_MAX: usize = 1_000;
/// Kafka's number of a leader that has recovered: whoever asks has.
const RECOVERED: i8 = 0;
/// After a request that nobody decided the next one waits, twice as long each time.
const BACKOFF_MS_MIN: Tick = 50;
const BACKOFF_MS_MAX: Tick = 1_000;
/// Leaders are told the time so many times within `replica.lag.time.max.ms`, and with every heartbeat at least.
const TICKS_A_LAG: Tick = 8;
const TICK_MS_MIN: Tick = 10;

/// Runs as long as the broker.
pub(crate) async fn run(mut wishes: Wishes, node: Arc<Node>) {
    let next_tick = node.ticks.now() + tick_ms(&node);
    let (again, told) = (BTreeSet::new(), Told::default());
    let mut driver = Driver { node, asked: None, again, next_tick, not_before: 0, backoff_ms: 0, told };
    loop {
        match driver.next_event(&mut wishes).await {
            Event::Wished(proposals) => driver.ask(proposals),
            Event::Answered(asked, answer) => driver.answered(&asked, answer),
            Event::Time => driver.tick(),
            Event::Closed => return driver.told.tell(),
        }
    }
}

fn tick_ms(node: &Node) -> Tick {
    let settings = node.settings.now();
    let lag = settings.replication.lag_time_max_ms / TICKS_A_LAG;
    lag.min(settings.membership.heartbeat_interval_ms).max(TICK_MS_MIN)
}

enum Event {
    Wished(Vec<Proposal>),
    Answered(Open, Option<Response>),
    Time,
    Closed,
}

/// Proposals on their way, by partition: of two the later counts, because it comes from a later leader epoch.
type Open = BTreeMap<(Uuid, PartitionIndex), Proposal>;
/// What is on its way, and the answer to come; `None` if none came in time.
type Asked = (Open, BoxFuture<'static, Option<Response>>);

struct Driver {
    node: Arc<Node>,
    asked: Option<Asked>,
    /// Leaders that will ask again, and when.
    again: BTreeSet<(Tick, Uuid, PartitionIndex)>,
    /// When all leaders are told the time.
    next_tick: Tick,
    /// No request before.
    not_before: Tick,
    backoff_ms: Tick,
    /// ISRs that were put in place since the last tick.
    told: Told,
}

impl Driver {
    async fn next_event(&mut self, wishes: &mut Wishes) -> Event {
        let again = self.again.first().map(|(at, _, _)| *at);
        let wake_at =
            self.node.ticks.instant(again.into_iter().chain([self.next_tick]).min().unwrap_or(self.next_tick));
        let may_ask = self.asked.is_none();
        let from = self.node.ticks.instant(self.not_before);
        let answered = async {
            match &mut self.asked {
                Some((_, answer)) => answer.await,
                None => std::future::pending().await,
            }
        };
        let wished = async {
            if !may_ask {
                std::future::pending::<()>().await;
            }
            sleep_until(from).await;
            let mut proposals = Vec::new();
            wishes.recv_many(&mut proposals, PROPOSALS_MAX).await;
            proposals
        };
        let answer = tokio::select! {
            biased;
            answer = answered => answer,
            () = sleep_until(wake_at.max(Instant::now())) => return Event::Time,
            proposals = wished => {
                return if proposals.is_empty() { Event::Closed } else { Event::Wished(proposals) };
            }
        };
        let (open, _) = self.asked.take().expect("an answer belongs to what was asked");
        Event::Answered(open, answer)
    }

    fn ask(&mut self, proposals: Vec<Proposal>) {
        let open: Open = proposals.into_iter().map(|proposal| ((proposal.topic, proposal.index), proposal)).collect();
        // What nobody decided comes again with every pause: it was told.
        if self.backoff_ms == 0 {
            self.tell_of_shrinking(&open);
        }
        let partitions = open.values().map(|proposal| IsrChange {
            topic: proposal.topic,
            index: proposal.index,
            leader_epoch: proposal.leader_epoch,
            partition_epoch: proposal.partition_epoch,
            isr: proposal.isr.clone(),
            recovery: RECOVERED,
        });
        let request = Request::AlterPartition(AlterPartition {
            broker: self.node.id,
            broker_epoch: self.node.broker_epoch(),
            partitions: partitions.collect(),
        });
        let node = Arc::clone(&self.node);
        let patience = Duration::from_millis(node.settings.now().quorum.request_timeout_ms.max(1));
        let answer = Box::pin(async move {
            let answered = timeout(patience, node.controller.ask(request)).await;
            answered.ok().map(|answered| answered.response)
        });
        self.asked = Some((open, answer));
    }

    fn tell_of_shrinking(&self, open: &Open) {
        let mut named = Named::default();
        for proposal in open.values() {
            let Some(why) = &proposal.why_shrunk else { continue };
            if let Some(partition) = self.node.store.hosted.by_id(proposal.topic, proposal.index) {
                named.push(|| format!("{}-{} ({})", partition.topic, partition.index, why.trim_matches([' ', ';'])));
            }
        }
        if !named.is_empty() {
            tracing::info!(partitions = named.count(), %named, "shrinking ISRs: replicas are out of sync");
        }
    }

    /// The time: for those that ask again, and for all when it is their turn.
    fn tick(&mut self) {
        let now = self.node.ticks.now();
        while let Some((at, topic, index)) = self.again.first().copied().filter(|(at, _, _)| *at <= now) {
            self.again.remove(&(at, topic, index));
            if let Some(partition) = self.node.store.hosted.by_id(topic, index) {
                partition.tick(now);
            }
        }
        if now >= self.next_tick {
            self.next_tick = now + tick_ms(&self.node);
            let silence_ms = self.node.settings.now().membership.session_timeout_ms;
            let is_silent = self.node.controller_is_silent(now, silence_ms);
            self.told.tell();
            let (mut is_cut_off, mut stranded) = (false, Named::default());
            for partition in self.node.store.hosted.all() {
                partition.tick(now);
                if is_silent {
                    if partition.controller_is_silent(now, silence_ms) {
                        stranded.push(|| format!("{}-{}", partition.topic, partition.index));
                    }
                    is_cut_off |= partition.is_stranded();
                } else {
                    partition.controller_is_heard();
                }
            }
            if !stranded.is_empty() {
                tracing::warn!(partitions = stranded.count(), named = %stranded, "neither the controller nor the ISR is heard of: clients are sent away");
            }
            self.node.cut_off.store(is_cut_off, Ordering::Release);
        }
    }
}
