//! A consumer that is a member of a group: it reads what the group gives it, and commits what has been read.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ballast_wire::{ErrorCode, Offset, PartitionIndex};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::config::GroupConfig;
use super::driver::{Driver, Event, Message};
use super::member::{Attempt, Identity, Input};
use super::protocol::Partitions;
use crate::admin::{CommittedOffset, Committer, GroupPartition, commit_request, committed, fetch_request, fetched};
use crate::consumer::{Consumer, ConsumerConfig, Fetched, OffsetReset, StartAt};
use crate::{ClientError, Cluster, Target};

/// How long a commit may hold up a rebalance. What it fails to commit is read again by whoever gets the partition.
const REVOKE_COMMIT_MAX: Duration = Duration::from_secs(5);

type Offsets = BTreeMap<GroupPartition, CommittedOffset>;

/// A member of a group, reading. Dropping it without [`GroupConsumer::close`] leaves the group waiting for it until
/// `session.timeout.ms` has passed.
pub struct GroupConsumer {
    cluster: Cluster,
    config: Arc<GroupConfig>,
    offset_reset: OffsetReset,
    consumer: Consumer,
    messages: mpsc::UnboundedSender<Message>,
    events: mpsc::UnboundedReceiver<Event>,
    /// Taken and not done with: a poll may be dropped in its midst.
    event: Option<Event>,
    driver: JoinHandle<()>,
    /// `None` while nothing is assigned.
    who: Option<Identity>,
    /// What the coordinator knows, as far as we know.
    committed: BTreeMap<GroupPartition, Offset>,
    commit_at: Instant,
    committing: Option<JoinHandle<Result<Offsets, ClientError>>>,
    /// The last membership ended with something handed out and not committed.
    lost: bool,
    failed: Option<ClientError>,
}

impl GroupConsumer {
    /// A member of the group that reads `topics`. It joins with the first poll. Must be called on a tokio runtime.
    ///
    /// # Errors
    /// `Config`, if the settings contradict each other.
    pub fn subscribe(
        cluster: Cluster,
        topics: &[&str],
        config: GroupConfig,
        consumer: ConsumerConfig,
    ) -> Result<GroupConsumer, ClientError> {
        config.check()?;
        let config = Arc::new(config);
        let topics: Arc<[String]> = topics.iter().map(|&topic| topic.to_owned()).collect();
        let (report, messages) = mpsc::unbounded_channel();
        let (event_sender, events) = mpsc::unbounded_channel();
        let driver = Driver::new(cluster.clone(), config.clone(), topics, (report.clone(), messages), event_sender);
        let commit_at = Instant::now() + config.auto_commit_interval;
        Ok(GroupConsumer {
            offset_reset: consumer.offset_reset,
            consumer: Consumer::new(cluster.clone(), consumer),
            cluster,
            config,
            messages: report,
            events,
            event: None,
            driver: tokio::spawn(driver.run()),
            who: None,
            committed: BTreeMap::new(),
            commit_at,
            committing: None,
            lost: false,
            failed: None,
        })
    }

    /// Records as they come; nothing if none come within `limit`. Takes part in rebalances, and commits what earlier polls
    /// have handed out where that is left to us. May be dropped at any time.
    ///
    /// # Errors
    /// That the membership has ended (fenced, refused), or what a consumer cannot help.
    pub async fn poll(&mut self, limit: Duration) -> Result<Vec<Fetched>, ClientError> {
        let deadline = Instant::now() + limit;
        loop {
            self.say(Input::Polled);
            if self.event.is_none() {
                self.event = self.events.try_recv().ok();
            }
            if self.event.is_some() {
                self.take_event().await?;
                continue;
            }
            self.commit_if_due().await;
            // Who waits for records is polling all the time.
            let pause = deadline.saturating_duration_since(Instant::now()).min(self.config.heartbeat_interval);
            tokio::select! {
                biased;
                event = self.events.recv() => match event {
                    Some(event) => self.event = Some(event),
                    None => return Err(self.failed.clone().unwrap_or(ClientError::Closed)),
                },
                fetched = self.consumer.poll(pause) => {
                    let fetched = fetched?;
                    if !fetched.is_empty() || Instant::now() >= deadline {
                        return Ok(fetched);
                    }
                }
            }
        }
    }

    /// What the group has given us.
    #[must_use]
    pub fn assignment(&self) -> Partitions {
        let mut partitions = Partitions::new();
        for (topic, partition) in self.consumer.partitions() {
            partitions.entry(topic.to_string()).or_default().push(partition);
        }
        partitions
    }

    /// The generation in which partitions were given to us; `None` while we have none.
    #[must_use]
    pub fn generation(&self) -> Option<i32> {
        self.who.as_ref().map(|who| who.generation)
    }

    /// Have we partitions, and has all been handed out that could be read when brokers last answered?
    #[must_use]
    pub fn is_at_end(&self) -> bool {
        self.who.is_some() && self.consumer.is_at_end()
    }

    /// Offset of the next record of a partition; `None` if it is not ours, or not known yet. It goes back to what was
    /// committed when the partition is given to us anew, which may be in the same generation.
    #[must_use]
    pub fn position(&self, topic: &str, partition: PartitionIndex) -> Option<Offset> {
        self.consumer.position(topic, partition)
    }

    /// Goes on at `offset`, also backwards: records from there on count as not read. False if the partition is not ours.
    pub fn seek(&mut self, topic: &str, partition: PartitionIndex, offset: Offset) -> bool {
        self.consumer.seek(topic, partition, offset)
    }

    /// Commits all that has been handed out.
    ///
    /// # Errors
    /// `Refused`: with `UNKNOWN_MEMBER_ID`, `ILLEGAL_GENERATION` or `REBALANCE_IN_PROGRESS` the group has gone on, and the
    /// next poll takes part; others may have read the same records.
    pub async fn commit(&mut self) -> Result<(), ClientError> {
        self.settle_commit().await;
        let Some(who) = self.who.clone() else {
            if self.lost {
                let what = format!("committing what was read of group {}", self.config.group_id);
                return Err(ClientError::refused(what, ErrorCode::UNKNOWN_MEMBER_ID));
            }
            return Ok(());
        };
        let offsets = self.uncommitted();
        if offsets.is_empty() {
            return Ok(());
        }
        let result = commit(self.cluster.clone(), self.config.clone(), who, offsets, self.messages.clone()).await;
        result.map(|offsets| self.note(&offsets))
    }

    /// Commits what has been handed out, where that is left to us, and leaves the group; a static member keeps its place.
    ///
    /// # Errors
    /// That the commit failed, or was not done within `limit`. The group is left all the same.
    pub async fn close(mut self, limit: Duration) -> Result<(), ClientError> {
        let deadline = Instant::now() + limit;
        while let Ok(event) = self.events.try_recv() {
            if matches!(event, Event::Lost) {
                self.give_up();
            }
        }
        let commits = self.config.auto_commit;
        let committed = match timeout(limit, async { if commits { self.commit().await } else { Ok(()) } }).await {
            Ok(result) => result,
            Err(_) => {
                let what = format!("committing what was read of group {}", self.config.group_id);
                Err(ClientError::TimedOut { what, after: limit, last: None })
            }
        };
        self.leave(deadline.saturating_duration_since(Instant::now())).await;
        committed
    }

    /// Leaves the group and commits nothing more; a static member keeps its place.
    pub async fn leave(mut self, limit: Duration) {
        self.say(Input::Leave);
        // A coordinator that cannot be told finds out when the session ends.
        let _ = timeout(limit, &mut self.driver).await;
    }

    fn say(&self, input: Input) {
        // A driver that has ended has said why.
        let _ = self.messages.send(Message::Step(input));
    }

    /// Does what the membership asks for. Dropped in its midst, it is done again from the start.
    async fn take_event(&mut self) -> Result<(), ClientError> {
        match &self.event {
            None => return Ok(()),
            Some(Event::Revoke(attempt)) => {
                let attempt = *attempt;
                self.revoke(attempt).await;
            }
            Some(Event::Lost) => self.give_up(),
            Some(Event::Assigned { who, partitions }) => {
                let (who, partitions) = (who.clone(), partitions.clone());
                self.assigned(who, &partitions).await?;
            }
            Some(Event::Failed(error)) => {
                let error = error.clone();
                self.failed = Some(error.clone());
                self.give_up();
                self.event = None;
                return Err(error);
            }
        }
        self.event = None;
        Ok(())
    }

    async fn revoke(&mut self, attempt: Attempt) {
        if self.config.auto_commit {
            let limit = REVOKE_COMMIT_MAX;
            let result = timeout(limit, self.commit()).await;
            if !matches!(result, Ok(Ok(()))) {
                tracing::warn!(
                    group = self.config.group_id,
                    ?result,
                    "what was read is not committed: it will be read again"
                );
            }
        }
        self.give_up();
        self.say(Input::Revoked(attempt));
    }

    fn give_up(&mut self) {
        self.lost |= self.who.is_some() && !self.uncommitted().is_empty();
        self.who = None;
        self.committing = None;
        self.committed.clear();
        self.consumer.resume(BTreeMap::new());
    }

    /// Begins where the group has come to.
    async fn assigned(&mut self, who: Identity, partitions: &Partitions) -> Result<(), ClientError> {
        let keys: Vec<GroupPartition> = partitions
            .iter()
            .flat_map(|(topic, list)| list.iter().map(|partition| (topic.clone(), *partition)))
            .collect();
        let found = if keys.is_empty() { Offsets::new() } else { self.fetch_offsets(&keys).await? };
        let mut positions = BTreeMap::new();
        for key in keys {
            let start = match (found.get(&key), self.offset_reset) {
                (Some(at), _) => (StartAt::Offset(at.offset), at.leader_epoch),
                (None, OffsetReset::Earliest) => (StartAt::Beginning, -1),
                (None, OffsetReset::Latest) => (StartAt::End, -1),
                (None, OffsetReset::None) => {
                    let (group, (topic, partition)) = (&self.config.group_id, key);
                    let complaint = format!("group {group} has committed nothing in {topic}-{partition}");
                    return Err(ClientError::BadRequest(format!("{complaint}, and auto.offset.reset is none")));
                }
            };
            positions.insert((Arc::from(key.0), key.1), start);
        }
        let topics: Vec<&str> = partitions.keys().map(String::as_str).collect();
        // The leader may know of partitions that we have not heard of; those that nobody leads are waited for.
        if !topics.is_empty() {
            self.cluster.topics_there_are(&topics).await?;
        }
        self.committed = found.iter().map(|(key, at)| (key.clone(), at.offset)).collect();
        self.commit_at = Instant::now() + self.config.auto_commit_interval;
        self.consumer.resume(positions);
        (self.who, self.lost) = (Some(who), false);
        Ok(())
    }

    async fn fetch_offsets(&self, keys: &[GroupPartition]) -> Result<Offsets, ClientError> {
        let group = &self.config.group_id;
        let what = format!("reading the offsets of group {group}");
        let build = |version| fetch_request(version, group, Some(keys));
        let check = |answer: &kafka_protocol::messages::OffsetFetchResponse| fetched(&what, answer.clone()).map(|_| ());
        let (_, answer) = self.cluster.call(Target::Coordinator(group), &what, build, check).await?;
        fetched(&what, answer)
    }

    /// Positions that the coordinator does not know yet.
    fn uncommitted(&self) -> Offsets {
        let moved = self.consumer.offsets().filter_map(|((topic, partition), offset, leader_epoch)| {
            let key = (topic.to_string(), partition);
            let news = self.committed.get(&key) != Some(&offset);
            news.then(|| (key, CommittedOffset { leader_epoch, ..CommittedOffset::at(offset) }))
        });
        moved.collect()
    }

    fn note(&mut self, offsets: &Offsets) {
        self.committed.extend(offsets.iter().map(|(key, at)| (key.clone(), at.offset)));
    }

    /// Starts a commit in the background, if it is time for one.
    async fn commit_if_due(&mut self) {
        if self.committing.as_ref().is_some_and(JoinHandle::is_finished) {
            self.settle_commit().await;
        }
        let Some(who) = self.who.clone() else { return };
        let due = self.config.auto_commit && self.committing.is_none() && Instant::now() >= self.commit_at;
        if !due {
            return;
        }
        self.commit_at = Instant::now() + self.config.auto_commit_interval;
        let offsets = self.uncommitted();
        if !offsets.is_empty() {
            let (cluster, config, messages) = (self.cluster.clone(), self.config.clone(), self.messages.clone());
            self.committing = Some(tokio::spawn(commit(cluster, config, who, offsets, messages)));
        }
    }

    /// Waits for the commit in the background: a later one must not be overtaken by it.
    async fn settle_commit(&mut self) {
        let Some(committing) = &mut self.committing else { return };
        let result = committing.await;
        self.committing = None;
        match result {
            Ok(Ok(offsets)) if self.who.is_some() => self.note(&offsets),
            Ok(Err(error)) => {
                tracing::warn!(group = self.config.group_id, %error, "a commit failed; the next one follows");
            }
            _ => {}
        }
    }
}

impl Drop for GroupConsumer {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// Commits as a member. A refusal that concerns the membership is told to it.
async fn commit(
    cluster: Cluster,
    config: Arc<GroupConfig>,
    who: Identity,
    offsets: Offsets,
    messages: mpsc::UnboundedSender<Message>,
) -> Result<Offsets, ClientError> {
    let Identity { generation, member_id } = who;
    let committer = Committer { generation, member_id, instance_id: config.instance_id.clone() };
    let what = format!("committing what was read of group {}", config.group_id);
    let build = |version| commit_request(version, &config.group_id, &committer, &offsets);
    let result =
        cluster.call(Target::Coordinator(&config.group_id), &what, build, |answer| committed(&what, answer)).await;
    match result {
        Ok(_) => Ok(offsets),
        Err(error) => {
            let concerns_us = error.code().is_some_and(|code| matches!(code.0, 22 | 25 | 27 | 82));
            if concerns_us {
                let failed = Input::CommitFailed { generation, error: error.clone() };
                let _ = messages.send(Message::Step(failed));
            }
            Err(error)
        }
    }
}
