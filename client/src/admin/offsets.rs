//! Looking up offsets, by time or by epoch, and moving the start of a log. Each partition's leader is asked.
//!
//! Rows of an answer need not keep the request's order: they are matched by name.

use std::collections::BTreeMap;
use std::time::Duration;

use ballast_net::BoxFuture;
use ballast_wire::{BrokerId, LeaderEpoch, Offset, PartitionIndex};
use kafka_protocol::messages::delete_records_request::{DeleteRecordsPartition, DeleteRecordsTopic};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::list_offsets_response::ListOffsetsPartitionResponse;
use kafka_protocol::messages::offset_for_leader_epoch_request::{OffsetForLeaderPartition, OffsetForLeaderTopic};
use kafka_protocol::messages::{
    DeleteRecordsRequest, DeleteRecordsResponse, ListOffsetsRequest, ListOffsetsResponse, OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
};
use kafka_protocol::protocol::Request;
use tokio::time::{Instant, sleep, timeout_at};

use super::{Admin, topic_name};
use crate::cluster::next_done;
use crate::{ClientError, ErrorCode, Lane};

const LOOKING_UP: &str = "looking up offsets";

/// Which offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OffsetSpec {
    /// The first one that is kept.
    Earliest,
    /// The one that the next record gets, as far as consumers may read.
    Latest,
    /// That of the record with the largest timestamp (brokers from 3.0 on).
    MaxTimestamp,
    /// That of the first record at or after this time, in ms since 1970.
    Timestamp(i64),
}

impl OffsetSpec {
    fn number(self) -> i64 {
        match self {
            OffsetSpec::Latest => -1,
            OffsetSpec::Earliest => -2,
            OffsetSpec::MaxTimestamp => -3,
            OffsetSpec::Timestamp(ms) => ms.max(0),
        }
    }
}

/// An offset that was looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedOffset {
    /// The offset; -1 if no record is that late.
    pub offset: Offset,
    /// Its record's timestamp in ms since 1970; -1 for the ends of the log.
    pub timestamp: i64,
    /// Epoch of the leader that wrote it, -1 if unknown.
    pub leader_epoch: LeaderEpoch,
}

/// Where an epoch ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochEnd {
    /// The largest epoch at or below the one asked for that has records; -1 if there is none.
    pub leader_epoch: LeaderEpoch,
    /// The offset after its last record; -1 if there is none.
    pub end_offset: Offset,
}

type Key = (String, PartitionIndex);

impl Admin {
    /// Looks up one offset for each partition.
    ///
    /// # Errors
    /// `Refused` for the first partition that cannot say.
    pub async fn list_offsets(
        &self,
        wanted: &BTreeMap<Key, OffsetSpec>,
    ) -> Result<BTreeMap<Key, ListedOffset>, ClientError> {
        self.ask_leaders(LOOKING_UP, wanted, |version, part| self.list_request(version, part), listed).await
    }

    /// Looks up one offset for each partition, as far as leaders tell within `limit`; for the others, why not. The topics
    /// must be known by now.
    pub async fn list_offsets_within(
        &self,
        wanted: &BTreeMap<Key, OffsetSpec>,
        limit: Duration,
    ) -> BTreeMap<Key, Result<ListedOffset, ClientError>> {
        let deadline = Instant::now() + limit;
        let mut found = BTreeMap::new();
        let mut open = wanted.clone();
        loop {
            let mut failed = None;
            let parts = self.by_leader(&open, &mut failed);
            let ask = |(leader, part)| Box::pin(self.list_once(leader, part, deadline)) as BoxFuture<'_, _>;
            let mut asked: Vec<BoxFuture<'_, _>> = parts.into_iter().map(ask).collect();
            while !asked.is_empty() {
                found.extend(next_done(&mut asked).await);
            }
            // Nobody leads these.
            for key in open.keys().filter(|key| !found.contains_key(*key)).cloned().collect::<Vec<_>>() {
                let why = ClientError::refused(LOOKING_UP, ErrorCode::LEADER_NOT_AVAILABLE);
                found.insert(key, Err(why));
            }
            open.retain(|key, _| matches!(found.get(key), Some(Err(error)) if error.is_retriable()));
            if open.is_empty() || Instant::now() + self.cluster.config().retry_backoff >= deadline {
                return found;
            }
            sleep(self.cluster.config().retry_backoff).await;
            self.cluster.mark_stale();
            // Without newer metadata the same leaders are asked.
            let _ = timeout_at(deadline, self.cluster.refresh_if_needed()).await;
        }
    }

    async fn list_once(
        &self,
        leader: BrokerId,
        part: BTreeMap<Key, OffsetSpec>,
        deadline: Instant,
    ) -> BTreeMap<Key, Result<ListedOffset, ClientError>> {
        let limit = deadline.saturating_duration_since(Instant::now());
        let asked = async {
            let connection = self.cluster.connection(leader, Lane::Control).await?;
            connection.call_versioned(|version| self.list_request(version, &part), limit).await
        };
        let late = || ClientError::TimedOut { what: LOOKING_UP.to_owned(), after: limit, last: None };
        match timeout_at(deadline, asked).await.unwrap_or_else(|_| Err(late())) {
            Ok((_, answer)) => {
                let rows = listed(answer).into_iter().filter(|(key, ..)| part.contains_key(key));
                let result = |code: ErrorCode, listed| match code.ok() {
                    Ok(()) => Ok(listed),
                    Err(code) => Err(ClientError::refused(LOOKING_UP, code)),
                };
                rows.map(|(key, code, listed)| (key, result(code, listed))).collect()
            }
            Err(error) => part.into_keys().map(|key| (key, Err(error.clone()))).collect(),
        }
    }

    fn list_request(&self, version: i16, part: &BTreeMap<Key, OffsetSpec>) -> ListOffsetsRequest {
        let row = |topic: &str, partition, spec: &OffsetSpec| {
            let epoch = if version >= 4 { self.epoch(topic, partition) } else { -1 };
            ListOffsetsPartition::default()
                .with_partition_index(partition)
                .with_current_leader_epoch(epoch)
                .with_timestamp(spec.number())
        };
        let topics = by_topic(part, row)
            .map(|(topic, rows)| ListOffsetsTopic::default().with_name(topic_name(topic)).with_partitions(rows));
        let request = ListOffsetsRequest::default().with_replica_id((-1).into()).with_topics(topics.collect());
        if version >= 10 { request.with_timeout_ms(self.timeout_ms()) } else { request }
    }

    /// Moves the start of logs up to an offset (-1: to the high watermark). Gives the starts that hold now.
    ///
    /// # Errors
    /// `Refused` for the first partition that cannot.
    pub async fn delete_records(&self, before: &BTreeMap<Key, Offset>) -> Result<BTreeMap<Key, Offset>, ClientError> {
        let build = |_, part: &BTreeMap<Key, Offset>| {
            let row = |_: &str, partition, offset: &Offset| {
                DeleteRecordsPartition::default().with_partition_index(partition).with_offset(*offset)
            };
            let topics = by_topic(part, row)
                .map(|(topic, rows)| DeleteRecordsTopic::default().with_name(topic_name(topic)).with_partitions(rows));
            DeleteRecordsRequest::default().with_topics(topics.collect()).with_timeout_ms(self.timeout_ms())
        };
        let rows = |answer: DeleteRecordsResponse| {
            let mut found = Vec::new();
            for topic in answer.topics {
                for row in topic.partitions {
                    let key = (topic.name.to_string(), row.partition_index);
                    found.push((key, ErrorCode(row.error_code), row.low_watermark));
                }
            }
            found
        };
        self.ask_leaders("deleting records", before, build, rows).await
    }

    /// Asks where epochs end (KIP-320).
    ///
    /// # Errors
    /// `Refused` for the first partition that cannot say.
    pub async fn epoch_ends(
        &self,
        epochs: &BTreeMap<Key, LeaderEpoch>,
    ) -> Result<BTreeMap<Key, EpochEnd>, ClientError> {
        let build = |version, part: &BTreeMap<Key, LeaderEpoch>| {
            let row = |topic: &str, partition, epoch: &LeaderEpoch| {
                OffsetForLeaderPartition::default()
                    .with_partition(partition)
                    .with_current_leader_epoch(self.epoch(topic, partition))
                    .with_leader_epoch(*epoch)
            };
            let topics = by_topic(part, row).map(|(topic, rows)| {
                OffsetForLeaderTopic::default().with_topic(topic_name(topic)).with_partitions(rows)
            });
            let request = OffsetForLeaderEpochRequest::default().with_topics(topics.collect());
            if version >= 3 { request.with_replica_id((-1).into()) } else { request }
        };
        let rows = |answer: OffsetForLeaderEpochResponse| {
            let mut found = Vec::new();
            for topic in answer.topics {
                for row in topic.partitions {
                    let end = EpochEnd { leader_epoch: row.leader_epoch, end_offset: row.end_offset };
                    found.push(((topic.topic.to_string(), row.partition), ErrorCode(row.error_code), end));
                }
            }
            found
        };
        self.ask_leaders("looking up the ends of epochs", epochs, build, rows).await
    }

    fn epoch(&self, topic: &str, partition: PartitionIndex) -> LeaderEpoch {
        self.cluster.leader(topic, partition).map_or(-1, |(_, epoch)| epoch)
    }

    /// Splits `wanted` by leader and asks each, again for those partitions that failed for a while only.
    async fn ask_leaders<R: Request, W: Clone, T>(
        &self,
        what: &str,
        wanted: &BTreeMap<Key, W>,
        build: impl Fn(i16, &BTreeMap<Key, W>) -> R,
        rows: impl Fn(R::Response) -> Vec<(Key, ErrorCode, T)>,
    ) -> Result<BTreeMap<Key, T>, ClientError> {
        let mut retry = self.cluster.retry(what);
        let mut open = wanted.clone();
        let mut done = BTreeMap::new();
        let mut topics: Vec<&str> = wanted.keys().map(|(topic, _)| topic.as_str()).collect();
        topics.dedup();
        self.cluster.topics(&topics, false, Duration::ZERO).await?;
        let limit = self.cluster.config().request_timeout;
        loop {
            let mut failed = None;
            for (leader, part) in self.by_leader(&open, &mut failed) {
                let answer = match self.cluster.connection(leader, Lane::Control).await {
                    Ok(connection) => connection.call_versioned(|version| build(version, &part), limit).await,
                    Err(e) => Err(e),
                };
                match answer {
                    Ok((_, answer)) => settle(what, &mut open, &mut done, rows(answer), &mut failed)?,
                    Err(e) => failed = Some(e),
                }
            }
            if open.is_empty() {
                return Ok(done);
            }
            let failed = failed.unwrap_or_else(|| ClientError::refused(what, ErrorCode::LEADER_NOT_AVAILABLE));
            retry.pause(failed).await?;
            self.cluster.mark_stale();
            if let Err(e) = self.cluster.refresh_if_needed().await {
                retry.pause(e).await?;
            }
        }
    }

    fn by_leader<W: Clone>(
        &self,
        open: &BTreeMap<Key, W>,
        failed: &mut Option<ClientError>,
    ) -> BTreeMap<BrokerId, BTreeMap<Key, W>> {
        let mut parts: BTreeMap<BrokerId, BTreeMap<Key, W>> = BTreeMap::new();
        for (key, want) in open {
            match self.cluster.leader(&key.0, key.1) {
                Ok((leader, _)) => drop(parts.entry(leader).or_default().insert(key.clone(), want.clone())),
                Err(e) => *failed = Some(e),
            }
        }
        parts
    }
}

fn listed(answer: ListOffsetsResponse) -> Vec<(Key, ErrorCode, ListedOffset)> {
    let mut found = Vec::new();
    for topic in answer.topics {
        for row in topic.partitions {
            let ListOffsetsPartitionResponse { offset, timestamp, leader_epoch, .. } = row;
            let listed = ListedOffset { offset, timestamp, leader_epoch };
            found.push(((topic.name.to_string(), row.partition_index), ErrorCode(row.error_code), listed));
        }
    }
    found
}

/// Takes over the rows of one answer: what is answered leaves `open`, what failed for good ends the call.
fn settle<W, T>(
    what: &str,
    open: &mut BTreeMap<Key, W>,
    done: &mut BTreeMap<Key, T>,
    rows: Vec<(Key, ErrorCode, T)>,
    failed: &mut Option<ClientError>,
) -> Result<(), ClientError> {
    for (key, code, found) in rows {
        if code == ErrorCode::NONE {
            if open.remove(&key).is_some() {
                done.insert(key, found);
            }
            continue;
        }
        let error = ClientError::refused(format!("{what} in {}-{}", key.0, key.1), code);
        if !code.is_retriable() {
            return Err(error);
        }
        *failed = Some(error);
    }
    Ok(())
}

/// One row for each partition, by topic.
fn by_topic<W, R>(
    part: &BTreeMap<Key, W>,
    row: impl Fn(&str, PartitionIndex, &W) -> R,
) -> impl Iterator<Item = (&str, Vec<R>)> {
    let mut topics: BTreeMap<&str, Vec<R>> = BTreeMap::new();
    for ((topic, partition), want) in part {
        topics.entry(topic).or_default().push(row(topic, *partition, want));
    }
    topics.into_iter()
}
