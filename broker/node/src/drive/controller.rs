//! Drives the controller's machine: requests in, proposals to the quorum, answers out once they are committed.
//!
//! One task owns the machine. A request is a message to it with a channel for the answer; at most one proposal is on its
//! way, and what is asked meanwhile waits in the machine. An answer carries the index that it rests on, so that whoever
//! asked can wait until this broker has taken it in.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ballast_core::controller::{Controller, Deposed, Effect, Input, ProposalId, Refusal, Request, RequestId, Response};
use ballast_core::image::{Image, encode_records};
use ballast_core::machine::Machine as _;
use ballast_net::BoxFuture;
use ballast_wire::BrokerId;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep, sleep_until};

use super::elsewhere::{self, Decided};
use super::happened::ControllerStats;
use super::ticks::Ticks;
use crate::quorum::Quorum;

/// Requests that may wait for the controller before senders have to.
const QUEUE_MAX: usize = 1024;

/// How long a request looks for a controller that decides.
const ASK_MAX: Duration = Duration::from_secs(15);
/// Between two looks; doubled after each.
const PAUSE_MIN: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// What the controller needs of the metadata quorum.
pub(crate) trait MetadataLog: Send + Sync {
    /// Appends an entry; done once it is committed and applied here. Gives its index.
    ///
    /// An error leaves open whether it will be committed.
    fn propose(&self, entry: Vec<u8>) -> BoxFuture<'static, Result<u64, String>>;

    /// Does this node lead, with everything applied that was committed before? Tells of changes.
    fn leads(&self) -> watch::Receiver<bool>;

    /// The node that led before this one, and when it was last heard of. Told once.
    fn deposed(&self) -> Option<(BrokerId, Instant)>;

    /// The image with everything applied so far.
    fn image(&self) -> Image;
}

/// An answer, and the index of the metadata that it rests on.
pub(crate) struct Answered {
    pub(crate) response: Response,
    pub(crate) index: u64,
}

struct Ask {
    request: Request,
    answer: oneshot::Sender<Answered>,
}

/// Where requests to the controller go: to that of this process if it is active, else to the node that leads.
#[derive(Clone)]
pub(crate) struct ControllerHandle {
    asks: mpsc::Sender<Ask>,
    stats: Arc<ControllerStats>,
    quorum: Arc<Quorum>,
}

impl ControllerHandle {
    /// Asks whoever is the active controller, for up to [`ASK_MAX`]. Without one the answer is `NotController`.
    ///
    /// What is not carried out twice without harm is sent to another node once: no answer is then `Lost`. What clients ask
    /// is passed on before it comes here (`api::forward`).
    pub(crate) async fn ask(&self, request: Request) -> Answered {
        let (until, mut pause) = (Instant::now() + ASK_MAX, PAUSE_MIN);
        loop {
            let Some(here) = self.try_here(request.clone()).await else { return nobody() };
            if !matches!(here.response, Response::Refused(Refusal::NotController)) {
                return here;
            }
            match elsewhere::decide(&self.quorum, &request, ASK_MAX).await {
                Some(Decided::Answered(response)) => return self.told(&request, response).await,
                Some(Decided::Silent) if matches!(request, Request::AlterPartition(_)) => {
                    return Answered { response: Response::Refused(Refusal::Lost), index: 0 };
                }
                Some(Decided::Silent | Decided::NotController) => {}
                None => return here,
            }
            if Instant::now() + pause > until {
                return here;
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// What the controller of this node has done.
    pub(crate) fn stats(&self) -> &ControllerStats {
        &self.stats
    }

    /// Asks the controller of this process. If it is not active, or gone, the answer is `NotController`.
    pub(crate) async fn ask_here(&self, request: Request) -> Answered {
        self.try_here(request).await.unwrap_or_else(nobody)
    }

    /// `None` when it is gone.
    async fn try_here(&self, request: Request) -> Option<Answered> {
        let (answer, answered) = oneshot::channel();
        self.asks.send(Ask { request, answer }).await.ok()?;
        answered.await.ok()
    }

    /// Kafka's answers do not say which entry they rest on. That one is committed by now.
    async fn told(&self, request: &Request, response: Response) -> Answered {
        let mut index = 0;
        if matches!(request, Request::CreateTopics { .. }) {
            self.quorum.catch_up().await;
            index = self.quorum.image().index();
        }
        Answered { response, index }
    }
}

fn nobody() -> Answered {
    Answered { response: Response::Refused(Refusal::NotController), index: 0 }
}

struct Driver {
    machine: Controller,
    log: Arc<dyn MetadataLog>,
    ticks: Ticks,
    waiting: BTreeMap<RequestId, oneshot::Sender<Answered>>,
    next_id: RequestId,
    /// Index of the last entry that the machine has seen committed.
    committed: u64,
    proposal: Option<(ProposalId, BoxFuture<'static, Result<u64, String>>)>,
    stats: Arc<ControllerStats>,
}

/// Makes a handle and the task behind it, which runs until every handle is gone.
pub(crate) fn controller(
    machine: Controller,
    log: Arc<dyn MetadataLog>,
    ticks: Ticks,
    quorum: Arc<Quorum>,
) -> (ControllerHandle, impl Future<Output = ()> + Send) {
    let (asks, queue) = mpsc::channel(QUEUE_MAX);
    let stats = Arc::new(ControllerStats::default());
    let driver = Driver {
        machine,
        log,
        ticks,
        waiting: BTreeMap::new(),
        next_id: 0,
        committed: 0,
        proposal: None,
        stats: Arc::clone(&stats),
    };
    (ControllerHandle { asks, stats, quorum }, driver.run(queue))
}

/// What may wake the driver.
enum Event {
    Asked(Ask),
    Leads(bool),
    Proposed(Result<u64, String>),
    Timer,
    Closed,
}

impl Driver {
    async fn run(mut self, mut queue: mpsc::Receiver<Ask>) {
        let mut leads = self.log.leads();
        leads.mark_changed();
        loop {
            match self.next_event(&mut queue, &mut leads).await {
                Event::Asked(ask) => self.asked(ask),
                Event::Leads(true) => {
                    self.lead();
                }
                Event::Leads(false) => self.step(Input::StepDown),
                Event::Proposed(outcome) => self.proposed(outcome),
                Event::Timer => self.step(Input::Timer),
                Event::Closed => return,
            }
        }
    }

    async fn next_event(&mut self, queue: &mut mpsc::Receiver<Ask>, leads: &mut watch::Receiver<bool>) -> Event {
        let wake_at = self.machine.wake_at().map(|tick| self.ticks.instant(tick));
        let timer = async {
            match wake_at {
                Some(at) => sleep_until(at.max(Instant::now())).await,
                None => std::future::pending().await,
            }
        };
        let proposed = async {
            match &mut self.proposal {
                Some((_, outcome)) => outcome.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            outcome = proposed => Event::Proposed(outcome),
            changed = leads.changed() => match changed {
                Ok(()) => Event::Leads(*leads.borrow_and_update()),
                Err(_) => Event::Closed,
            },
            () = timer => Event::Timer,
            ask = queue.recv() => ask.map_or(Event::Closed, Event::Asked),
        }
    }

    fn asked(&mut self, Ask { request, answer }: Ask) {
        let id = self.next_id;
        self.next_id += 1;
        self.waiting.insert(id, answer);
        self.step(Input::Request { id, request });
    }

    fn lead(&mut self) {
        let image = self.log.image();
        self.committed = self.committed.max(image.index());
        let deposed = self.log.deposed().map(|(broker, at)| Deposed { broker, heard_at: self.ticks.at(at) });
        self.step(Input::Lead { image, deposed });
    }

    fn proposed(&mut self, outcome: Result<u64, String>) {
        let Some((proposal, _)) = self.proposal.take() else { return };
        match outcome {
            Ok(index) => {
                self.committed = self.committed.max(index);
                self.step(Input::Committed { proposal, index, image: self.log.image() });
            }
            Err(error) => {
                tracing::warn!(%error, "a change of the metadata was not committed; stepping down");
                self.step(Input::StepDown);
                if *self.log.leads().borrow() {
                    self.lead();
                }
            }
        }
    }

    fn step(&mut self, input: Input) {
        let mut effects = Vec::new();
        self.machine.step(self.ticks.now(), input, &mut effects);
        self.stats.is_active.store(self.machine.epoch().is_some(), Ordering::Relaxed);
        let mut events = Vec::new();
        for effect in effects {
            match effect {
                Effect::Propose { proposal, records } => {
                    self.proposal = Some((proposal, self.log.propose(encode_records(&records))));
                }
                Effect::Happened(event) => events.push(event),
                Effect::Respond { to, response } => {
                    if let Some(answer) = self.waiting.remove(&to) {
                        // Whoever asked may have gone.
                        let _ = answer.send(Answered { response, index: self.committed });
                    }
                }
            }
        }
        self.stats.tell(&events);
    }
}
