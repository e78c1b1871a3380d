//! One life of an embedded broker: a thread that owns a runtime that runs the broker, from its start to its end.
//!
//! ```text
//! test's thread   start ──────────────► up          stop/kill/drop ────────► joined
//! life's thread     runtime, broker ──► await end ─► broker stops or is cut off ─► runtime gone ─► disk's jobs over
//! ```
//! A kill is that of a process: from the instant it is asked for nothing is written, answered or flushed.
//!
//! Holds: when a life has ended its runtime's workers and the disk's threads are joined, and its files are closed.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use ballast_core::controller::{NewTopic, Request, Response, TopicError};
use ballast_core::settings::Statics;
use ballast_log::disk::{Disk, DiskOptions, RealDisk};
use ballast_net::{OsEntropy, SystemClock, TcpTransport};
use parking_lot::Mutex;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::oneshot;

use super::Error;
use super::gate::Gate;
use super::harness::Harness;
use crate::loggers::Loggers;
use crate::session::Authorizer;
use crate::{Broker, BrokerConfig, World};

/// How long making a topic may take.
const TOPIC_MAX_MS: i32 = 30_000;
/// Kafka's code of a topic that is there already.
const TOPIC_ALREADY_EXISTS: i16 = 36;

/// What every life of a broker is started with.
pub(super) struct Plan {
    pub(super) statics: Statics,
    pub(super) log_dirs: Vec<PathBuf>,
    pub(super) http: Option<std::net::SocketAddr>,
    /// Do syncs mean something?
    pub(super) durable: bool,
    /// Instead of a real one of its own.
    pub(super) disk: Option<Arc<dyn Disk>>,
    pub(super) workers: usize,
    pub(super) authorizer: Arc<dyn Authorizer>,
    /// Made at the first start, and left alone where they are there.
    pub(super) topics: Vec<NewTopic>,
}

/// How a life ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// In order.
    Stop,
    /// At once.
    Kill,
}

/// See the module. Dropping it kills.
pub(super) struct Life {
    thread: Option<JoinHandle<()>>,
    end: Option<oneshot::Sender<End>>,
    over: Option<oneshot::Receiver<()>>,
    harness: Arc<Harness>,
    gate: Arc<Gate>,
    runtime: Option<Handle>,
    workers: usize,
    /// Why the broker ended by itself, if it did.
    failure: Arc<Mutex<Option<String>>>,
}

/// The life's side of its channels.
struct Ropes {
    up: oneshot::Sender<Result<Handle, Error>>,
    end: oneshot::Receiver<End>,
    over: oneshot::Sender<()>,
    failure: Arc<Mutex<Option<String>>>,
    gate: Arc<Gate>,
}

impl Life {
    /// Starts one, and waits until the broker serves. Dropping the future ends what it has begun.
    pub(super) async fn start(plan: Arc<Plan>, harness: Arc<Harness>) -> Result<Life, Error> {
        let (up, is_up) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let (over, is_over) = oneshot::channel();
        let failure = Arc::new(Mutex::new(None));
        let gate = Arc::<Gate>::default();
        let ropes = Ropes { up, end: ended, over, failure: Arc::clone(&failure), gate: Arc::clone(&gate) };
        let (workers, of_thread) = (plan.workers, Arc::clone(&harness));
        let thread = std::thread::Builder::new().name("ballast-embed".to_owned());
        #[expect(clippy::disallowed_methods, reason = "an embedded broker lives on a thread of its own")]
        let thread = thread.spawn(move || run(&plan, &of_thread, ropes)).map_err(Error::Threads)?;
        let mut life = Life {
            thread: Some(thread),
            end: Some(end),
            over: Some(is_over),
            harness,
            gate,
            runtime: None,
            workers,
            failure,
        };
        life.runtime = Some(is_up.await.map_err(|_| Error::Ended)??);
        Ok(life)
    }

    /// Ends it, and waits until nothing of it is left.
    pub(super) async fn end(mut self, how: End) {
        self.ask_to_end(how);
        if let Some(over) = self.over.take() {
            // A life that panicked is over as well.
            let _ = over.await;
        }
    }

    /// As [`Life::end`], on this thread.
    pub(super) fn end_blocking(mut self, how: End) {
        self.ask_to_end(how);
    }

    /// The first word counts: what has been asked to stop is not killed any more.
    fn ask_to_end(&mut self, how: End) {
        let Some(end) = self.end.take() else { return };
        if how == End::Kill {
            self.harness.die();
        }
        self.gate.open();
        // It may have ended by itself.
        let _ = end.send(how);
    }

    /// Why the broker ended by itself, if it did.
    pub(super) fn failure(&self) -> Option<String> {
        self.failure.lock().clone()
    }

    /// Runs `task` beside the broker, for as long as it lives.
    pub(super) fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> Option<tokio::task::JoinHandle<T>> {
        self.runtime.as_ref().map(|runtime| runtime.spawn(task))
    }

    /// Holds every worker still.
    pub(super) fn pause(&self) {
        let has_failed = self.failure().is_some();
        if let Some(runtime) = self.runtime.as_ref().filter(|_| !has_failed) {
            self.gate.close(runtime, self.workers);
        }
    }

    /// Lets them go on.
    pub(super) fn resume(&self) {
        self.gate.open();
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.ask_to_end(End::Kill);
        if let Some(thread) = self.thread.take() {
            // A panic has been reported where it happened.
            let _ = thread.join();
        }
    }
}

/// The thread.
fn run(plan: &Plan, harness: &Arc<Harness>, ropes: Ropes) {
    let Ropes { up, end, over, failure, gate } = ropes;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(plan.workers)
        .thread_name("ballast-worker")
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            // Whoever waits may have gone.
            let _ = up.send(Err(Error::Threads(error)));
            return;
        }
    };
    let real = plan.disk.clone().unwrap_or_else(|| own_disk(plan.durable));
    live(&runtime, plan, harness, Arc::clone(&real), up, end, &failure);
    gate.finish();
    // Tasks are dropped here, and with them every file but those that the disk's jobs still hold.
    drop(runtime);
    harness.await_jobs();
    drop(real);
    // Whoever waits may have gone.
    let _ = over.send(());
}

fn own_disk(durable: bool) -> Arc<dyn Disk> {
    if durable { RealDisk::new(DiskOptions::default()) } else { RealDisk::ephemeral() }
}

/// Runs the broker until its end.
fn live(
    runtime: &Runtime,
    plan: &Plan,
    harness: &Arc<Harness>,
    real: Arc<dyn Disk>,
    up: oneshot::Sender<Result<Handle, Error>>,
    mut end: oneshot::Receiver<End>,
    failure: &Mutex<Option<String>>,
) {
    runtime.block_on(async {
        let started = tokio::select! {
            biased;
            _ = &mut end => Err(Error::Ended),
            started = start(plan, harness, real) => started,
        };
        let broker = match started {
            Ok(broker) => broker,
            Err(error) => {
                // Whoever waits may have gone.
                let _ = up.send(Err(error));
                return;
            }
        };
        if up.send(Ok(runtime.handle().clone())).is_err() {
            return broker.kill();
        }
        tokio::select! {
            biased;
            // A handle that is gone means the same as a kill.
            how = &mut end => match how.unwrap_or(End::Kill) {
                End::Stop => broker.stop().await,
                End::Kill => broker.kill(),
            },
            cause = broker.failed() => {
                harness.die();
                *failure.lock() = Some(cause);
                broker.kill();
            }
        }
    });
}

async fn start(plan: &Plan, harness: &Arc<Harness>, real: Arc<dyn Disk>) -> Result<Broker, Error> {
    let world = World {
        disk: harness.disk(real),
        transport: Arc::new(TcpTransport),
        clock: Arc::new(SystemClock),
        entropy: Arc::new(OsEntropy),
        authorizer: Arc::clone(&plan.authorizer),
        loggers: Loggers::none(),
    };
    let config = BrokerConfig {
        statics: plan.statics.clone(),
        log_dirs: plan.log_dirs.clone(),
        http: plan.http,
        interceptor: Some(harness.into()),
    };
    let broker = Broker::start(config, world).await?;
    make_topics(&broker, &plan.topics).await?;
    Ok(broker)
}

async fn make_topics(broker: &Broker, topics: &[NewTopic]) -> Result<(), Error> {
    if topics.is_empty() {
        return Ok(());
    }
    let request = Request::CreateTopics { topics: topics.to_vec(), validate_only: false, timeout_ms: TOPIC_MAX_MS };
    match broker.ask_controller(request).await {
        Response::CreateTopics(rows) => {
            let failed = |(name, result): (String, Result<_, TopicError>)| match result {
                // An earlier life made it.
                Ok(_) => None,
                Err(error) if error.code() == TOPIC_ALREADY_EXISTS => None,
                Err(error) => Some(Error::Topic { name, why: error.to_string() }),
            };
            rows.into_iter().find_map(failed).map_or(Ok(()), Err)
        }
        Response::Refused(refusal) => Err(Error::Topic { name: topics[0].name.clone(), why: refusal.to_string() }),
        other => unreachable!("CreateTopics was answered with {other:?}"),
    }
}
