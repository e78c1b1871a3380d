//! Drives this broker's membership: registers with the controller, sends signs of life, leaves in order.
//!
//! The controller of this process is asked first; when it does not lead, the node that does (`elsewhere`).
//!
//! Holds: why a registration is refused is told once, in words (`refused`), and again when another cause takes its place.

mod refused;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ballast_core::controller::{BrokerHeartbeat, Refusal, RegisterBroker, Request, Response};
use ballast_core::image::Registration;
use ballast_core::machine::Machine as _;
use ballast_core::registration::{Effect, Input, Registration as Membership};
use ballast_net::BoxFuture;
use ballast_wire::Uuid;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::controller::Answered;
use super::elsewhere;
use crate::node::Node;
pub(crate) use refused::RefusedBrokers;
use refused::in_words;

/// Kafka's code for a cluster id that is not ours to join, used when the controller's answer has no code of its own.
const UNKNOWN: i16 = -1;

/// How a membership ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ended {
    /// In order. Its epoch belongs in the mark of a clean stop.
    Stopped {
        /// Broker epoch, or -1.
        epoch: i64,
    },
    /// The broker was never let in.
    GaveUp(String),
}

/// Everything that a registration says, but for its epoch.
pub(crate) struct Identity {
    pub(crate) registration: Registration,
    pub(crate) cluster_id: String,
}

/// What an answer of the controller means, and the index of the metadata that it rests on.
type Told = (Input, u64);

struct Driver {
    machine: Membership,
    node: Arc<Node>,
    identity: Identity,
    asked: Option<BoxFuture<'static, Told>>,
    /// Index of the metadata that the last answer rests on.
    index: u64,
    ended: Option<Ended>,
    /// The code that the last registration was refused with, until one is accepted: that was told.
    refused_with: Option<i16>,
}

/// Takes part until `stop` becomes true and the controller lets the broker go.
pub(crate) async fn run(
    machine: Membership,
    node: Arc<Node>,
    identity: Identity,
    mut stop: watch::Receiver<bool>,
) -> Ended {
    let mut driver = Driver { machine, node, identity, asked: None, index: 0, ended: None, refused_with: None };
    let mut applied = driver.node.metadata.watch();
    applied.mark_changed();
    let mut failed = driver.node.store.failed_dirs();
    driver.step(Input::Start);
    let mut stopping = false;
    loop {
        if let Some(ended) = driver.ended.take() {
            return ended;
        }
        let wake_at = driver.machine.wake_at().map(|tick| driver.node.ticks.instant(tick));
        let timer = async {
            match wake_at {
                Some(at) => sleep_until(at.max(Instant::now())).await,
                None => std::future::pending().await,
            }
        };
        let asked = async {
            match &mut driver.asked {
                Some(asked) => asked.await,
                None => std::future::pending().await,
            }
        };
        let input = tokio::select! {
            biased;
            (answered, index) = asked => {
                driver.asked = None;
                driver.index = index;
                driver.tell_if_refused(&answered);
                if matches!(answered, Input::Registered { .. } | Input::HeartbeatAnswered { .. }) {
                    driver.node.hears_the_controller();
                }
                answered
            }
            _ = stop.wait_for(|stop| *stop), if !stopping => { stopping = true; Input::Shutdown }
            Ok(()) = applied.changed() => Input::MetadataApplied { index: *applied.borrow_and_update() },
            Ok(()) = failed.changed() => {
                driver.dirs_failed(&failed.borrow_and_update().clone());
                continue;
            }
            () = timer => Input::Timer,
        };
        driver.step(input);
    }
}

/// How long the controller's answer may take.
fn patience(node: &Node) -> Duration {
    Duration::from_millis(node.settings.now().membership.heartbeat_interval_ms.max(100))
}

impl Driver {
    fn step(&mut self, input: Input) {
        let mut effects = Vec::new();
        self.machine.step(self.node.ticks.now(), input, &mut effects);
        for effect in effects {
            self.carry_out(effect);
        }
    }

    /// A registration comes again with every pause; its line does not.
    fn tell_if_refused(&mut self, answered: &Input) {
        match answered {
            Input::Registered { .. } => self.refused_with = None,
            // What a member is refused is a sign of life.
            Input::Refused { code } if self.machine.epoch().is_none() => self.refused(*code),
            _ => {}
        }
    }

    fn refused(&mut self, code: i16) {
        if self.refused_with.replace(code) == Some(code) {
            return;
        }
        let session_timeout_ms = self.node.settings.now().membership.session_timeout_ms;
        let why = in_words(code, self.node.id, session_timeout_ms);
        tracing::warn!(broker = self.node.id, code, "the registration is refused: {why}");
    }

    fn dirs_failed(&mut self, failed: &BTreeSet<Uuid>) {
        for dir in failed {
            self.step(Input::DirFailed { dir: *dir });
        }
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Register { previous_epoch } => self.register(previous_epoch),
            Effect::Heartbeat { epoch, metadata_index, want_fence, want_shutdown, offline_dirs } => {
                self.node.epoch.store(epoch, Ordering::Release);
                let id = self.node.id;
                self.heartbeat(BrokerHeartbeat { id, epoch, metadata_index, want_fence, want_shutdown, offline_dirs });
            }
            Effect::Unfenced => {
                tracing::info!(broker = self.node.id, epoch = self.node.broker_epoch(), "unfenced");
                let (node, index) = (Arc::clone(&self.node), self.index);
                // Ready means that it leads what it was given. Signs of life do not wait for that.
                tokio::spawn(async move {
                    node.metadata.wait_for(index).await;
                    node.ready.send_replace(true);
                });
            }
            Effect::Fenced => {
                self.node.ready.send_replace(false);
                tracing::warn!(broker = self.node.id, "fenced: the controller no longer counts on this broker");
            }
            Effect::Stopped { released, epoch } => {
                if !released {
                    tracing::warn!(broker = self.node.id, "stopping without the controller's consent");
                }
                self.ended = Some(Ended::Stopped { epoch });
            }
            Effect::GiveUp { reason } => self.ended = Some(Ended::GaveUp(reason.to_string())),
        }
    }

    fn register(&mut self, previous_epoch: i64) {
        let mut broker = self.identity.registration.clone();
        let failed = self.node.store.failed_dirs();
        broker.log_dirs.retain(|dir| !failed.borrow().contains(dir));
        let asked =
            RegisterBroker { cluster_id: self.identity.cluster_id.clone(), broker, previous_epoch, in_process: true };
        let node = Arc::clone(&self.node);
        self.asked = Some(Box::pin(async move {
            let request = Request::RegisterBroker(asked.clone());
            let Answered { response, index } = node.controller.ask_here(request).await;
            let input = match response {
                Response::Refused(Refusal::NotController) => {
                    let told = elsewhere::register(&node.quorum, &asked, patience(&node)).await;
                    told.unwrap_or(Input::Unreachable)
                }
                Response::RegisterBroker(Ok(epoch)) => Input::Registered { epoch },
                Response::RegisterBroker(Err(error)) => {
                    node.controller.stats().refused_brokers.tell(&asked.broker, &error);
                    Input::Refused { code: error.code() }
                }
                // It stepped down while the registration was on its way to the log.
                Response::Refused(refusal) => Input::Refused { code: refusal.code() },
                other => {
                    tracing::error!(?other, "a registration got another request's answer");
                    Input::Refused { code: UNKNOWN }
                }
            };
            (input, index)
        }));
    }

    fn heartbeat(&mut self, heartbeat: BrokerHeartbeat) {
        let node = Arc::clone(&self.node);
        self.asked = Some(Box::pin(async move {
            let request = Request::BrokerHeartbeat(heartbeat.clone());
            let Answered { response, mut index } = node.controller.ask_here(request).await;
            let input = match response {
                Response::Refused(Refusal::NotController) => {
                    let told = elsewhere::heartbeat(&node.quorum, &heartbeat, patience(&node)).await;
                    if let Some(Input::HeartbeatAnswered { is_fenced: false, .. }) = told
                        && !node.is_ready()
                    {
                        // Kafka's answer does not say which entry it rests on: that one is committed by now.
                        node.quorum.catch_up().await;
                        index = node.quorum.image().index();
                    }
                    told.unwrap_or(Input::Unreachable)
                }
                Response::BrokerHeartbeat(Ok(reply)) => Input::HeartbeatAnswered {
                    is_caught_up: reply.is_caught_up,
                    is_fenced: reply.is_fenced,
                    should_shut_down: reply.should_shut_down,
                },
                Response::BrokerHeartbeat(Err(error)) => Input::Refused { code: error.code() },
                _ => Input::Unreachable,
            };
            (input, index)
        }));
    }
}
