//! Steps a member and carries out what it asks for, as a task of its own: heartbeats go on while the application works.
//!
//! Holds: join, sync and heartbeat have a connection to the coordinator that nobody else uses. A join waits for the other
//! members, and on a shared connection it would hold up their answers, for which it waits.
//!
//! Read next: `calls` (the requests).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

use super::assign::{Assignor, Candidate};
use super::calls;
use super::config::GroupConfig;
use super::member::{Attempt, Effect, Identity, Input, Member, Patience};
use super::protocol::{Partitions, encode_assignment};
use crate::{ClientError, Cluster, Connection, ErrorCode};

/// How long saying good-bye may take: whoever cannot be told finds out by himself.
const LEAVE_MAX: Duration = Duration::from_secs(5);

/// What the consumer has to know.
#[derive(Debug)]
pub(super) enum Event {
    /// Commit, stop reading, and say `Revoked` with this number.
    Revoke(Attempt),
    /// Stop reading.
    Lost,
    /// Read these.
    Assigned { who: Identity, partitions: Partitions },
    /// The membership has ended.
    Failed(ClientError),
}

/// What the driver hears.
pub(super) enum Message {
    Step(Input),
    /// The coordinator is connected.
    Connected(Attempt, Arc<Connection>),
    /// Partitions are divided, of topics with these counts.
    Divided {
        attempt: Attempt,
        assignments: Vec<(String, bytes::Bytes)>,
        counts: BTreeMap<String, i32>,
    },
    /// Metadata may have changed.
    Refreshed,
}

/// The task.
pub(super) struct Driver {
    cluster: Cluster,
    config: Arc<GroupConfig>,
    topics: Arc<[String]>,
    member: Member,
    link: Option<Arc<Connection>>,
    /// Partitions of every topic that the group reads, when we last divided them.
    counts: BTreeMap<String, i32>,
    messages: mpsc::UnboundedReceiver<Message>,
    report: mpsc::UnboundedSender<Message>,
    events: mpsc::UnboundedSender<Event>,
}

impl Driver {
    pub(super) fn new(
        cluster: Cluster,
        config: Arc<GroupConfig>,
        topics: Arc<[String]>,
        (report, messages): (mpsc::UnboundedSender<Message>, mpsc::UnboundedReceiver<Message>),
        events: mpsc::UnboundedSender<Event>,
    ) -> Driver {
        let client = cluster.config();
        let patience = Patience {
            pause: client.retry_backoff,
            pause_max: client.retry_backoff_max,
            first_join: client.api_timeout,
        };
        let member = Member::new(config.clone(), patience, Instant::now());
        Driver { cluster, config, topics, member, link: None, counts: BTreeMap::new(), messages, report, events }
    }

    /// Until the member has left or failed.
    pub(super) async fn run(mut self) {
        let mut effects = Vec::new();
        while !self.member.is_over() {
            let wake_at = self.member.wake_at();
            let timer = async {
                match wake_at {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            let message = tokio::select! {
                biased;
                message = self.messages.recv() => message,
                () = timer => Some(Message::Step(Input::Timer)),
            };
            // We hold a sender ourselves: there is always another message.
            let Some(input) = message.and_then(|message| self.heard(message)) else { continue };
            self.member.step(Instant::now(), input, &mut effects);
            for effect in effects.drain(..) {
                self.carry_out(effect).await;
            }
        }
    }

    fn heard(&mut self, message: Message) -> Option<Input> {
        match message {
            Message::Step(input) => Some(input),
            Message::Connected(attempt, link) => {
                self.link = Some(link);
                Some(Input::Found(attempt, Ok(())))
            }
            Message::Divided { attempt, assignments, counts } => {
                self.counts = counts;
                Some(Input::Computed(attempt, Ok(assignments)))
            }
            Message::Refreshed => {
                let metadata = self.cluster.metadata();
                let changed = self.counts.keys().chain(&*self.topics).any(|topic| {
                    let now = metadata.topics.get(topic).map(|topic| topic.partitions.len() as i32);
                    now != self.counts.get(topic).copied().filter(|count| *count > 0)
                });
                (self.member.leads() && changed).then_some(Input::TopicsChanged)
            }
        }
    }

    async fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Find(attempt) => self.find(attempt),
            Effect::Join { attempt, member_id, generation } => {
                let call =
                    calls::Join { config: self.config.clone(), topics: self.topics.clone(), member_id, generation };
                let limit = self.config.poll_interval_max.max(self.cluster.config().request_timeout) + LEAVE_MAX;
                self.ask(move |link| async move { calls::join(&link, attempt, call, limit).await });
            }
            Effect::Assign { attempt, assignor, members } => self.divide(attempt, assignor, members),
            Effect::Sync { attempt, who, protocol, assignments } => {
                let (config, limit) = (self.config.clone(), self.cluster.config().request_timeout);
                // The coordinator lets followers wait until the leader has divided.
                let limit = limit.max(self.config.poll_interval_max) + LEAVE_MAX;
                self.ask(move |link| async move {
                    let result = calls::sync(&link, &config, &who, &protocol, assignments, limit).await;
                    Input::Synced(attempt, result)
                });
            }
            Effect::Heartbeat { attempt, who } => {
                let config = self.config.clone();
                let limit = self.cluster.config().request_timeout.min(config.session_timeout);
                self.ask(move |link| async move {
                    Input::Beaten(attempt, calls::heartbeat(&link, &config, &who, limit).await)
                });
                self.look_around();
            }
            Effect::Leave { member_id } => {
                let left = timeout(LEAVE_MAX, calls::leave(&self.cluster, &self.config.group_id, &member_id)).await;
                if !matches!(left, Ok(Ok(()))) {
                    tracing::debug!(group = self.config.group_id, "left without saying good-bye");
                }
            }
            // Whoever does not listen any more has been dropped, and this task with it.
            Effect::Revoke(attempt) => drop(self.events.send(Event::Revoke(attempt))),
            Effect::Lost => drop(self.events.send(Event::Lost)),
            Effect::Assigned { who, partitions } => drop(self.events.send(Event::Assigned { who, partitions })),
            Effect::Fail(error) => drop(self.events.send(Event::Failed(error))),
        }
    }

    /// Asks the coordinator beside everything else; the answer comes back as a message.
    fn ask<F>(&self, call: impl FnOnce(Arc<Connection>) -> F)
    where
        F: Future<Output = Input> + Send + 'static,
    {
        // The member asks only after it has heard that the coordinator is connected.
        let link = self.link.clone().expect("a known coordinator is connected");
        let (answer, report) = (call(link), self.report.clone());
        tokio::spawn(async move {
            let _ = report.send(Message::Step(answer.await));
        });
    }

    fn find(&self, attempt: Attempt) {
        let (cluster, config, report) = (self.cluster.clone(), self.config.clone(), self.report.clone());
        tokio::spawn(async move {
            let found = async {
                let at = cluster.find_coordinator(&config.group_id).await?;
                let transport = &*cluster.world().transport;
                Connection::open(transport, &at.host, at.port, &cluster.config().connection).await
            };
            let _ = report.send(match found.await {
                Ok(link) => Message::Connected(attempt, Arc::new(link)),
                Err(error) => Message::Step(Input::Found(attempt, Err(error))),
            });
        });
    }

    /// Divides the partitions, of all topics that any member reads.
    fn divide(&self, attempt: Attempt, assignor: Assignor, members: Vec<Candidate>) {
        let (cluster, report) = (self.cluster.clone(), self.report.clone());
        tokio::spawn(async move {
            let mut topics: Vec<&str> =
                members.iter().flat_map(|member| &member.subscription.topics).map(String::as_str).collect();
            topics.sort_unstable();
            topics.dedup();
            let message = match cluster.topics_there_are(&topics).await {
                Ok(metadata) => {
                    // A topic that is not there has no partitions, and is looked for with every heartbeat.
                    let count =
                        |topic: &str| metadata.topics.get(topic).map_or(0, |topic| topic.partitions.len() as i32);
                    let counts: BTreeMap<String, i32> =
                        topics.iter().map(|&topic| (topic.to_owned(), count(topic))).collect();
                    let assigned = assignor.assign(&members, &counts);
                    let assignments =
                        assigned.into_iter().map(|(id, partitions)| (id, encode_assignment(&partitions))).collect();
                    Message::Divided { attempt, assignments, counts }
                }
                Err(error) => Message::Step(Input::Computed(attempt, Err(error))),
            };
            let _ = report.send(message);
        });
    }

    /// Has a topic come, gone, or grown? The leader asks with its heartbeats, as often as metadata may grow old.
    fn look_around(&self) {
        if !self.member.leads() {
            return;
        }
        let (cluster, report) = (self.cluster.clone(), self.report.clone());
        if self.counts.values().any(|count| *count == 0) {
            cluster.mark_stale();
        }
        tokio::spawn(async move {
            if cluster.refresh_if_needed().await.is_ok() {
                let _ = report.send(Message::Refreshed);
            }
        });
    }
}

/// A code as the refusal of `what`.
pub(super) fn check(what: impl Into<String>, code: i16) -> Result<(), ClientError> {
    ErrorCode(code).ok().map_err(|code| ClientError::refused(what, code))
}
