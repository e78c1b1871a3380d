//! A consumer by assignment: it is told which partitions to read and where to begin, and remembers where it stands.
//!
//! ```text
//! poll: look up offsets ──> one fetch for each broker (a task, within a session) ──> records, positions move
//!                                ▲                                                       │
//!                                └──────── the next one is under way before they are handed out
//! ```
//! Holds: records of a partition come in order, each once, unless the log was truncated below what was read; a broker has
//! at most one fetch of ours, so no more than one answer of each waits in memory.
//!
//! Read next: `position` (one partition), `session` (what a broker remembers), `records` (bytes to records).

mod config;
mod fetch;
mod position;
mod records;
mod session;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ballast_wire::{BrokerId, LeaderEpoch, Offset, PartitionIndex};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

pub use config::{ConsumerConfig, OffsetReset};
pub use position::StartAt;
pub use records::{Fetched, Record};

use crate::admin::OffsetSpec;
use crate::retry::jittered;
use crate::{Admin, ClientError, Cluster, ErrorCode};
use fetch::{Answer, Row, fetch};
use position::{Position, Step};
use session::{FetchSession, Key, Wish};

/// Reads partitions of a cluster.
pub struct Consumer {
    cluster: Cluster,
    config: Arc<ConsumerConfig>,
    positions: BTreeMap<Key, Position>,
    lanes: BTreeMap<BrokerId, FetchLane>,
    events: mpsc::UnboundedReceiver<Event>,
    /// At most one event of each broker, and one of the metadata.
    report: mpsc::UnboundedSender<Event>,
    refreshing: bool,
}

/// One broker we fetch from.
#[derive(Default)]
struct FetchLane {
    session: FetchSession,
    /// Positions are new: what the broker has told of these partitions must be told again.
    renew: bool,
    busy: bool,
    not_before: Option<Instant>,
}

enum Event {
    Fetched { broker: BrokerId, wanted: BTreeMap<Key, Wish>, result: Result<Answer, ClientError> },
    Refreshed,
}

impl Consumer {
    /// A consumer that reads nothing yet.
    #[must_use]
    pub fn new(cluster: Cluster, config: ConsumerConfig) -> Consumer {
        let (report, events) = mpsc::unbounded_channel();
        Consumer {
            cluster,
            config: Arc::new(config),
            positions: BTreeMap::new(),
            lanes: BTreeMap::new(),
            events,
            report,
            refreshing: false,
        }
    }

    /// Reads these partitions from now on, and no others. Ends looked up by time or as `End` are those of now.
    ///
    /// # Errors
    /// What is wrong with a topic, or with looking up an offset.
    pub async fn assign(&mut self, partitions: &[(&str, PartitionIndex, StartAt)]) -> Result<(), ClientError> {
        let mut topics: Vec<&str> = partitions.iter().map(|(topic, ..)| *topic).collect();
        topics.sort_unstable();
        topics.dedup();
        let metadata = self.cluster.topics(&topics, false, Duration::ZERO).await?;
        for (topic, partition, _) in partitions {
            let known = &metadata.topics[*topic].partitions;
            if !known.contains_key(partition) {
                let count = known.len();
                let complaint = format!("topic {topic} has {count} partitions, numbered from 0");
                return Err(ClientError::BadRequest(format!("{complaint}: there is no partition {partition}")));
            }
        }
        let position = |(topic, partition, start): &(&str, PartitionIndex, StartAt)| {
            ((Arc::from(*topic), *partition), Position::new(*start))
        };
        self.replace(partitions.iter().map(position).collect());
        self.look_up().await
    }

    /// Records as they come, in pieces as brokers answer; nothing if none come within `limit`.
    ///
    /// # Errors
    /// What cannot be helped by trying again, or was in vain for `default.api.timeout.ms`. The positions stay.
    pub async fn poll(&mut self, limit: Duration) -> Result<Vec<Fetched>, ClientError> {
        let deadline = Instant::now() + limit;
        loop {
            self.look_up().await?;
            let wake_at = self.start_fetches()?.map_or(deadline, |at| at.min(deadline));
            let event = tokio::select! {
                biased;
                event = self.events.recv() => event,
                () = sleep_until(wake_at) => None,
            };
            match event {
                Some(Event::Refreshed) => self.refreshing = false,
                Some(Event::Fetched { broker, wanted, result }) => {
                    let fetched = self.absorb(broker, &wanted, result)?;
                    if !fetched.is_empty() {
                        // The next fetch is under way while these are used.
                        self.start_fetches()?;
                        return Ok(fetched);
                    }
                }
                None if Instant::now() >= deadline => return Ok(Vec::new()),
                None => {}
            }
        }
    }

    /// The offset of the next record to be handed out, once it is known.
    #[must_use]
    pub fn position(&self, topic: &str, partition: PartitionIndex) -> Option<Offset> {
        let position = self.positions.get(&(Arc::from(topic), partition))?;
        position.start.is_none().then_some(position.offset)
    }

    /// Goes on at `offset`, also backwards. False if the partition is not being read.
    pub fn seek(&mut self, topic: &str, partition: PartitionIndex, offset: Offset) -> bool {
        let position = self.positions.get_mut(&(Arc::from(topic), partition));
        position.map(|position| position.found(offset)).is_some()
    }

    /// Reads these partitions from now on, and no others; each with the epoch of the record before, -1 if unknown. Nothing
    /// is looked up before the next poll.
    pub(crate) fn resume(&mut self, partitions: BTreeMap<(Arc<str>, PartitionIndex), (StartAt, LeaderEpoch)>) {
        let position = |(key, (start, epoch))| {
            let mut position = Position::new(start);
            position.epoch = epoch;
            (key, position)
        };
        self.replace(partitions.into_iter().map(position).collect());
    }

    /// Within a session a broker is silent about partitions where nothing is new, also about their ends.
    fn replace(&mut self, positions: BTreeMap<Key, Position>) {
        self.positions = positions;
        self.lanes.values_mut().for_each(|lane| lane.renew = true);
    }

    /// What is being read.
    pub(crate) fn partitions(&self) -> impl Iterator<Item = (&str, PartitionIndex)> {
        self.positions.keys().map(|(topic, partition)| (&**topic, *partition))
    }

    /// How far each partition has been handed out, and the epoch of its last record; those that are known.
    pub(crate) fn offsets(&self) -> impl Iterator<Item = ((&str, PartitionIndex), Offset, LeaderEpoch)> {
        let known = self.positions.iter().filter(|(_, position)| position.start.is_none());
        known.map(|((topic, partition), position)| ((&**topic, *partition), position.offset, position.epoch))
    }

    /// Has everything been handed out that could be read when brokers last answered?
    #[must_use]
    pub fn is_at_end(&self) -> bool {
        self.positions.values().all(Position::is_at_end)
    }

    /// Finds the offsets of positions that are given as a place or a time.
    async fn look_up(&mut self) -> Result<(), ClientError> {
        let open = self.positions.iter().filter_map(|(key, position)| Some((key, position.start?)));
        let mut wanted: BTreeMap<(String, PartitionIndex), OffsetSpec> = BTreeMap::new();
        for ((topic, partition), start) in open {
            let spec = match start {
                StartAt::Beginning => OffsetSpec::Earliest,
                StartAt::End | StartAt::Offset(_) => OffsetSpec::Latest,
                StartAt::Time(ms) => OffsetSpec::Timestamp(ms),
            };
            wanted.insert((topic.to_string(), *partition), spec);
        }
        let admin = Admin::new(self.cluster.clone());
        while !wanted.is_empty() {
            let found = admin.list_offsets(&wanted).await?;
            wanted.clear();
            for ((topic, partition), listed) in found {
                if listed.offset < 0 {
                    // Nothing is that late: the end, then.
                    wanted.insert((topic, partition), OffsetSpec::Latest);
                } else if let Some(position) = self.positions.get_mut(&(Arc::from(topic), partition)) {
                    position.found(listed.offset);
                }
            }
        }
        Ok(())
    }

    /// Starts a fetch from every broker that has none. Gives the time to look again.
    fn start_fetches(&mut self) -> Result<Option<Instant>, ClientError> {
        let now = Instant::now();
        let (mut wishes, mut wake_at) = (BTreeMap::<BrokerId, BTreeMap<Key, Wish>>::new(), None::<Instant>);
        let mut is_stale = false;
        let metadata = self.cluster.metadata();
        for (key, position) in &mut self.positions {
            // What has just been moved by a reset is looked up first.
            if position.start.is_some() {
                continue;
            }
            if let Some(at) = position.not_before.filter(|at| *at > now) {
                wake_at = Some(wake_at.map_or(at, |wake| wake.min(at)));
                continue;
            }
            let Some((leader, epoch)) = metadata.leader(&key.0, key.1) else {
                is_stale = true;
                if position.has_failed_for(now, self.cluster.config().api_timeout) {
                    return self.cluster.leader(&key.0, key.1).map(|_| None);
                }
                continue;
            };
            let replica = position.read_from.filter(|(_, until)| *until > now);
            if replica.is_some_and(|(id, _)| !metadata.brokers.contains_key(&id)) {
                // A leader that sends us to a replica does so again, at once, until we go there.
                let at = now + jittered(self.cluster.config().retry_backoff, &*self.cluster.world().entropy);
                (position.read_from, position.not_before) = (None, Some(at));
                wake_at = Some(wake_at.map_or(at, |wake| wake.min(at)));
                is_stale = true;
                continue;
            }
            let wish = Wish {
                topic_id: metadata.topics.get(&*key.0).map_or(ballast_wire::Uuid::ZERO, |topic| topic.id),
                offset: position.offset,
                current_leader_epoch: epoch,
                last_fetched_epoch: position.epoch,
                bytes_max: self.config.partition_bytes_max,
            };
            wishes.entry(replica.map_or(leader, |(id, _)| id)).or_default().insert(key.clone(), wish);
        }
        if is_stale {
            self.refresh();
        }
        for (broker, wanted) in wishes {
            let lane = self.lanes.entry(broker).or_default();
            match lane.not_before.filter(|at| *at > now) {
                Some(at) => wake_at = Some(wake_at.map_or(at, |wake| wake.min(at))),
                None if lane.busy => {}
                None => {
                    lane.busy = true;
                    if std::mem::take(&mut lane.renew) {
                        lane.session.begin_anew();
                    }
                    let request = lane.session.request(wanted.clone());
                    let (cluster, config, report) = (self.cluster.clone(), self.config.clone(), self.report.clone());
                    tokio::spawn(async move {
                        let result = fetch(cluster, config, broker, request, wanted.clone()).await;
                        let _ = report.send(Event::Fetched { broker, wanted, result });
                    });
                }
            }
        }
        Ok(wake_at)
    }

    /// Takes an answer, or its absence.
    fn absorb(
        &mut self,
        broker: BrokerId,
        wanted: &BTreeMap<Key, Wish>,
        result: Result<Answer, ClientError>,
    ) -> Result<Vec<Fetched>, ClientError> {
        let lane = self.lanes.entry(broker).or_default();
        lane.busy = false;
        let answer = match result {
            Ok(answer) => answer,
            Err(error) => return self.failed(broker, wanted, error).map(|()| Vec::new()),
        };
        match answer.code {
            ErrorCode::NONE => lane.session.answered(answer.session_id),
            ErrorCode::FETCH_SESSION_ID_NOT_FOUND
            | ErrorCode::INVALID_FETCH_SESSION_EPOCH
            | ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR => {
                lane.session.begin_anew();
                return Ok(Vec::new());
            }
            code => {
                let error = ClientError::refused(format!("reading from broker {broker}"), code);
                return self.failed(broker, wanted, error).map(|()| Vec::new());
            }
        }
        let bad: Vec<&Key> =
            answer.rows.iter().filter(|(_, row)| row.code != ErrorCode::NONE).map(|(key, _)| key).collect();
        for (key, position) in &mut self.positions {
            if wanted.contains_key(key) && !bad.contains(&key) {
                position.failing_since = None;
            }
        }
        let mut out = Vec::new();
        for (key, row) in answer.rows {
            // An answer to where we stood before a reset is of no use now.
            let current = self.positions.get(&key).is_some_and(|position| {
                position.start.is_none() && wanted.get(&key).is_some_and(|wish| wish.offset == position.offset)
            });
            if current {
                self.take_row(&key, row, &answer.endpoints, &mut out)?;
            }
        }
        Ok(out)
    }

    fn take_row(
        &mut self,
        key: &Key,
        row: Row,
        endpoints: &[crate::Broker],
        out: &mut Vec<Fetched>,
    ) -> Result<(), ClientError> {
        let Some(position) = self.positions.get_mut(key) else { return Ok(()) };
        let (now, client) = (Instant::now(), self.cluster.config());
        let what = format!("reading {}-{}", key.0, key.1);
        let (hint, readable_end) = (row.leader, row.readable_end);
        match position.take(&what, row, &self.config, now + client.metadata_max_age) {
            Step::Read(records) if records.is_empty() => Ok(()),
            Step::Read(records) => {
                out.push(Fetched { topic: key.0.clone(), partition: key.1, records, readable_end });
                Ok(())
            }
            Step::Reset => Ok(()),
            Step::Failed(error) => Err(error),
            Step::Again(error) => {
                let news = hint.is_some_and(|hint| {
                    let leader = (hint.leader_id, hint.leader_epoch);
                    self.cluster.take_leader_hint(&key.0, key.1, leader, endpoints)
                });
                if !news {
                    let pause = jittered(client.retry_backoff, &*self.cluster.world().entropy);
                    position.not_before = Some(now + pause);
                }
                if position.has_failed_for(now, client.api_timeout) {
                    return Err(error);
                }
                if !news && error.means_stale_metadata() {
                    self.refresh();
                }
                Ok(())
            }
        }
    }

    /// A whole fetch failed.
    fn failed(
        &mut self,
        broker: BrokerId,
        wanted: &BTreeMap<Key, Wish>,
        error: ClientError,
    ) -> Result<(), ClientError> {
        let (now, client) = (Instant::now(), self.cluster.config().clone());
        let lane = self.lanes.entry(broker).or_default();
        lane.session.begin_anew();
        lane.not_before = Some(now + jittered(client.retry_backoff, &*self.cluster.world().entropy));
        if !error.is_retriable() {
            return Err(error);
        }
        tracing::debug!(broker, %error, "a fetch failed");
        for (key, position) in &mut self.positions {
            if wanted.contains_key(key) && position.has_failed_for(now, client.api_timeout) {
                return Err(error);
            }
        }
        self.refresh();
        Ok(())
    }

    /// Asks for metadata beside everything else.
    fn refresh(&mut self) {
        if std::mem::replace(&mut self.refreshing, true) {
            return;
        }
        let (cluster, report) = (self.cluster.clone(), self.report.clone());
        tokio::spawn(async move {
            cluster.mark_stale();
            tokio::time::sleep(cluster.config().retry_backoff).await;
            // A failure shows as a leader that stays unknown: it is asked again.
            if let Err(error) = cluster.refresh_if_needed().await {
                tracing::debug!(%error, "metadata could not be had");
            }
            let _ = report.send(Event::Refreshed);
        });
    }
}
