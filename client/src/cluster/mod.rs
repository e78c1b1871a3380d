//! A cluster: its brokers, who leads what, and calls that are tried again until they succeed or cannot.
//!
//! ```text
//! bootstrap list ──> any broker ──> Metadata ──> brokers, leaders, epochs   (kept until stale or old)
//!                                                   │
//!      call(Any | Controller | Broker) ─────────────┴──> pool of connections
//! ```
//! Holds: the bootstrap list is asked whenever no known broker answers (KIP-899), so a cluster that moved as a whole is
//! found again. Who accepts a connection and says nothing (a stopped process) is not waited for alone.
//!
//! Read next: `pool` (connections), `refresh` (metadata), then `admin`, `producer`, `consumer`.

mod coordinator;
mod pool;
mod refresh;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use ballast_net::{BoxFuture, random_below};
use ballast_wire::{BrokerId, LeaderEpoch, PartitionIndex};
use kafka_protocol::protocol::Request;
use parking_lot::Mutex;
use tokio::time::{sleep, timeout};

pub use coordinator::Coordinator;
pub use pool::Lane;

use crate::config::ClientConfig;
use crate::metadata::{Broker, Metadata};
use crate::retry::Retry;
use crate::{ClientError, Connection, ErrorCode, World};
use pool::{Node, Pool};
use refresh::View;

/// After so long the next broker is tried, while the one before may still answer.
const NEXT_AFTER: Duration = Duration::from_secs(2);

/// Whom to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target<'a> {
    /// Whoever answers first.
    Any,
    /// The broker that metadata names as controller; in a KRaft cluster it forwards.
    Controller,
    /// This broker and no other.
    Broker(BrokerId),
    /// Whoever coordinates this group.
    Coordinator(&'a str),
}

/// A handle on a cluster; clones share connections and metadata. Nothing is connected before it is needed.
#[derive(Clone)]
pub struct Cluster {
    inner: Arc<Inner>,
}

struct Inner {
    config: ClientConfig,
    world: World,
    pool: Pool,
    view: Mutex<View>,
    /// Of groups that somebody uses, as last found.
    coordinators: Mutex<BTreeMap<String, Coordinator>>,
    /// Held by whoever refreshes the metadata.
    refreshing: tokio::sync::Mutex<()>,
}

impl Cluster {
    /// The cluster of `config`, reached through `world`.
    #[must_use]
    pub fn new(config: ClientConfig, world: World) -> Cluster {
        let inner = Inner {
            config,
            world,
            pool: Pool::default(),
            view: Mutex::new(View::default()),
            coordinators: Mutex::new(BTreeMap::new()),
            refreshing: tokio::sync::Mutex::new(()),
        };
        Cluster { inner: Arc::new(inner) }
    }

    /// Its settings.
    #[must_use]
    pub fn config(&self) -> &ClientConfig {
        &self.inner.config
    }

    /// Its seams.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.inner.world
    }

    /// What is known now; empty before the first question.
    #[must_use]
    pub fn metadata(&self) -> Arc<Metadata> {
        self.inner.view.lock().metadata.clone()
    }

    /// The leader of a partition, as far as is known.
    ///
    /// # Errors
    /// `Refused` with `LEADER_NOT_AVAILABLE` or `UNKNOWN_TOPIC_OR_PARTITION`.
    pub fn leader(&self, topic: &str, partition: PartitionIndex) -> Result<(BrokerId, LeaderEpoch), ClientError> {
        let metadata = self.metadata();
        metadata.leader(topic, partition).ok_or_else(|| {
            let known = metadata.topics.get(topic).is_some_and(|t| t.partitions.contains_key(&partition));
            let code = if known { ErrorCode::LEADER_NOT_AVAILABLE } else { ErrorCode::UNKNOWN_TOPIC_OR_PARTITION };
            ClientError::refused(format!("partition {topic}-{partition}"), code)
        })
    }

    /// Takes a leader that a broker named while refusing (KIP-951). True if it was news.
    pub fn take_leader_hint(
        &self,
        topic: &str,
        partition: PartitionIndex,
        leader: (BrokerId, LeaderEpoch),
        endpoints: &[Broker],
    ) -> bool {
        let mut view = self.inner.view.lock();
        Arc::make_mut(&mut view.metadata).take_hint(topic, partition, leader.0, leader.1, endpoints)
    }

    /// A connection to broker `id` for `lane`.
    ///
    /// # Errors
    /// `Connect` or another failure of [`Connection::open`]; `BROKER_NOT_AVAILABLE`, if metadata has no such broker.
    pub async fn connection(&self, id: BrokerId, lane: Lane) -> Result<Arc<Connection>, ClientError> {
        let Some(broker) = self.metadata().brokers.get(&id).cloned() else {
            self.mark_stale();
            return Err(ClientError::Connect { address: format!("broker {id}"), reason: "it is not alive".to_owned() });
        };
        let Inner { pool, world, config, .. } = &*self.inner;
        let opened = pool.get((Node::Broker(id), lane), (&broker.host, broker.port), world, config).await;
        if opened.is_err() {
            self.mark_stale();
        }
        opened
    }

    /// A connection to whoever answers first: one that is open, else known brokers, else the bootstrap list, one after the
    /// other, the next no later than two seconds after the one before.
    ///
    /// # Errors
    /// `NoBroker` if none can be reached.
    pub async fn any_connection(&self) -> Result<Arc<Connection>, ClientError> {
        let Inner { pool, world, config, .. } = &*self.inner;
        if let Some(open) = pool.any_open() {
            return Ok(open);
        }
        let mut candidates: Vec<(Node, String, u16)> =
            self.metadata().brokers.values().map(|b| (Node::Broker(b.id), b.host.clone(), b.port)).collect();
        if !candidates.is_empty() {
            let first = random_below(&*world.entropy, candidates.len() as u64) as usize;
            candidates.rotate_left(first);
        }
        let bootstrap = config.bootstrap_servers.iter().enumerate();
        candidates.extend(bootstrap.map(|(at, (host, port))| (Node::Bootstrap(at), host.clone(), *port)));
        let mut last = String::new();
        let mut candidates = candidates.iter();
        let mut attempts: Vec<BoxFuture<'_, _>> = Vec::new();
        loop {
            match candidates.next() {
                Some((node, host, port)) => {
                    attempts.push(Box::pin(pool.get((*node, Lane::Control), (host, *port), world, config)));
                }
                None if attempts.is_empty() => {
                    return Err(ClientError::NoBroker { bootstrap: config.bootstrap(), last });
                }
                None => {}
            }
            let done = tokio::select! {
                biased;
                done = next_done(&mut attempts) => done,
                () = sleep(NEXT_AFTER), if candidates.len() > 0 => continue,
            };
            match done {
                Ok(open) => return Ok(open),
                Err(e @ (ClientError::Unsupported { .. } | ClientError::BadAnswer { .. })) => return Err(e),
                Err(ClientError::Connect { reason, .. } | ClientError::Disconnected { reason, .. }) => last = reason,
                Err(e) => last = e.to_string(),
            }
        }
    }

    /// Attempts at `what`, with the configured pauses, for at most `default.api.timeout.ms`.
    #[must_use]
    pub fn retry(&self, what: impl Into<String>) -> Retry {
        let config = &self.inner.config;
        let backoff = (config.retry_backoff, config.retry_backoff_max);
        Retry::new(what, config.api_timeout, backoff, self.inner.world.entropy.clone())
    }

    /// Asks `target` until `check` is content with the answer, a final error comes, or time is up. `build` makes the
    /// request for the version that the broker and we have in common; that version comes back with the answer.
    ///
    /// # Errors
    /// What `check` gave, or what stood in the way of an answer.
    pub async fn call<R: Request>(
        &self,
        target: Target<'_>,
        what: &str,
        build: impl Fn(i16) -> R,
        check: impl Fn(&R::Response) -> Result<(), ClientError>,
    ) -> Result<(i16, R::Response), ClientError> {
        let mut retry = self.retry(what);
        loop {
            // No question outlives the call.
            let limit = self.inner.config.request_timeout.min(retry.left());
            let failed = match self.call_once(target, &build, limit).await {
                Ok((version, answer)) => match check(&answer) {
                    Ok(()) => return Ok((version, answer)),
                    Err(e) => e,
                },
                Err(e) => e,
            };
            match target {
                Target::Coordinator(group) => self.forget_coordinator(group),
                _ if failed.means_stale_metadata() => self.mark_stale(),
                _ => {}
            }
            retry.pause(failed).await?;
        }
    }

    async fn call_once<R: Request>(
        &self,
        target: Target<'_>,
        build: &impl Fn(i16) -> R,
        limit: Duration,
    ) -> Result<(i16, R::Response), ClientError> {
        let connection = match target {
            Target::Any => self.any_connection().await?,
            Target::Broker(id) => {
                self.refresh_if_needed().await?;
                self.connection(id, Lane::Control).await?
            }
            Target::Coordinator(group) => {
                let id = self.coordinator(group).await?;
                self.refresh_if_needed().await?;
                self.connection(id, Lane::Control).await?
            }
            Target::Controller => {
                self.refresh_if_needed().await?;
                match self.metadata().controller {
                    -1 => self.any_connection().await?,
                    // Others pass it on as well.
                    id => match timeout(NEXT_AFTER, self.connection(id, Lane::Control)).await {
                        Ok(opened) => opened?,
                        Err(_) => self.any_connection().await?,
                    },
                }
            }
        };
        connection.call_versioned(build, limit).await
    }
}

/// The result of the first of `attempts` that is done; it is taken out. There must be one.
pub(crate) async fn next_done<T>(attempts: &mut Vec<BoxFuture<'_, T>>) -> T {
    poll_fn(|cx| {
        for at in 0..attempts.len() {
            if let Poll::Ready(done) = attempts[at].as_mut().poll(cx) {
                drop(attempts.swap_remove(at));
                return Poll::Ready(done);
            }
        }
        Poll::Pending
    })
    .await
}
