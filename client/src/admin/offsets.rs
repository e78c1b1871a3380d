//! Looking up offsets, by time or by epoch, and moving the start of a log. Each partition's leader is asked.
//!
//! Rows of an answer need not keep the request's order: they are matched by name.

use std::collections::BTreeMap;

use ballast_wire::{BrokerId, LeaderEpoch, Offset, PartitionIndex};
use kafka_protocol::messages::delete_records_request::{DeleteRecordsPartition, DeleteRecordsTopic};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::offset_for_leader_epoch_request::{OffsetForLeaderPartition, OffsetForLeaderTopic};
use kafka_protocol::messages::{DeleteRecordsRequest, ListOffsetsRequest, OffsetForLeaderEpochRequest};
use kafka_protocol::protocol::Request;

use super::{Admin, topic_name};
use crate::{ClientError, ErrorCode, Lane};

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
        let cluster = &self.cluster;
        self.ask_leaders("looking up offsets", wanted, async |leader, part| {
            let build = |version| {
                let topics = by_topic(part).into_iter().map(|(topic, rows)| {
                    let rows = rows.into_iter().map(|(partition, spec)| {
                        let epoch = cluster.leader(topic, partition).map_or(-1, |(_, epoch)| epoch);
                        ListOffsetsPartition::default()
                            .with_partition_index(partition)
                            .with_current_leader_epoch(if version >= 4 { epoch } else { -1 })
                            .with_timestamp(spec.number())
                    });
                    ListOffsetsTopic::default().with_name(topic_name(topic)).with_partitions(rows.collect())
                });
                let request = ListOffsetsRequest::default().with_replica_id((-1).into());
                let request = request.with_topics(topics.collect());
                if version >= 10 { request.with_timeout_ms(self.timeout_ms()) } else { request }
            };
            let answer = self.ask_leader(leader, build).await?;
            let rows = answer.topics.iter().flat_map(|topic| {
                topic.partitions.iter().map(|row| {
                    let found =
                        ListedOffset { offset: row.offset, timestamp: row.timestamp, leader_epoch: row.leader_epoch };
                    ((topic.name.to_string(), row.partition_index), (ErrorCode(row.error_code), found))
                })
            });
            Ok(rows.collect())
        })
        .await
    }

    /// Moves the start of logs up to an offset (-1: to the high watermark). Gives the starts that hold now.
    ///
    /// # Errors
    /// `Refused` for the first partition that cannot.
    pub async fn delete_records(&self, before: &BTreeMap<Key, Offset>) -> Result<BTreeMap<Key, Offset>, ClientError> {
        self.ask_leaders("deleting records", before, async |leader, part| {
            let build = |_| {
                let topics = by_topic(part).into_iter().map(|(topic, rows)| {
                    let rows = rows.into_iter().map(|(partition, offset)| {
                        DeleteRecordsPartition::default().with_partition_index(partition).with_offset(*offset)
                    });
                    DeleteRecordsTopic::default().with_name(topic_name(topic)).with_partitions(rows.collect())
                });
                DeleteRecordsRequest::default().with_topics(topics.collect()).with_timeout_ms(self.timeout_ms())
            };
            let answer = self.ask_leader(leader, build).await?;
            let rows = answer.topics.iter().flat_map(|topic| {
                topic.partitions.iter().map(|row| {
                    ((topic.name.to_string(), row.partition_index), (ErrorCode(row.error_code), row.low_watermark))
                })
            });
            Ok(rows.collect())
        })
        .await
    }

    /// Asks where epochs end (KIP-320).
    ///
    /// # Errors
    /// `Refused` for the first partition that cannot say.
    pub async fn epoch_ends(
        &self,
        epochs: &BTreeMap<Key, LeaderEpoch>,
    ) -> Result<BTreeMap<Key, EpochEnd>, ClientError> {
        let cluster = &self.cluster;
        self.ask_leaders("looking up the ends of epochs", epochs, async |leader, part| {
            let build = |version| {
                let topics = by_topic(part).into_iter().map(|(topic, rows)| {
                    let rows = rows.into_iter().map(|(partition, epoch)| {
                        let current = cluster.leader(topic, partition).map_or(-1, |(_, epoch)| epoch);
                        OffsetForLeaderPartition::default()
                            .with_partition(partition)
                            .with_current_leader_epoch(current)
                            .with_leader_epoch(*epoch)
                    });
                    OffsetForLeaderTopic::default().with_topic(topic_name(topic)).with_partitions(rows.collect())
                });
                let request = OffsetForLeaderEpochRequest::default().with_topics(topics.collect());
                if version >= 3 { request.with_replica_id((-1).into()) } else { request }
            };
            let answer = self.ask_leader(leader, build).await?;
            let rows = answer.topics.iter().flat_map(|topic| {
                topic.partitions.iter().map(|row| {
                    let end = EpochEnd { leader_epoch: row.leader_epoch, end_offset: row.end_offset };
                    ((topic.topic.to_string(), row.partition), (ErrorCode(row.error_code), end))
                })
            });
            Ok(rows.collect())
        })
        .await
    }

    async fn ask_leader<R: Request>(
        &self,
        leader: BrokerId,
        build: impl FnOnce(i16) -> R,
    ) -> Result<R::Response, ClientError> {
        let connection = self.cluster.connection(leader, Lane::Control).await?;
        let (_, answer) = connection.call_versioned(build, self.cluster.config().request_timeout).await?;
        Ok(answer)
    }

    /// Splits `wanted` by leader and asks each, again for those partitions that failed for a while only.
    async fn ask_leaders<W: Clone, T>(
        &self,
        what: &str,
        wanted: &BTreeMap<Key, W>,
        ask: impl AsyncFn(BrokerId, &BTreeMap<Key, W>) -> Result<BTreeMap<Key, (ErrorCode, T)>, ClientError>,
    ) -> Result<BTreeMap<Key, T>, ClientError> {
        let mut retry = self.cluster.retry(what);
        let mut open = wanted.clone();
        let mut done = BTreeMap::new();
        let mut topics: Vec<&str> = wanted.keys().map(|(topic, _)| topic.as_str()).collect();
        topics.dedup();
        self.cluster.topics(&topics, false, std::time::Duration::ZERO).await?;
        loop {
            let mut failed = None;
            for (leader, part) in self.by_leader(&open, &mut failed) {
                match ask(leader, &part).await {
                    Ok(rows) => settle(what, &mut open, &mut done, rows, &mut failed)?,
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

/// Takes over the rows of one answer: what is answered leaves `open`, what failed for good ends the call.
fn settle<W, T>(
    what: &str,
    open: &mut BTreeMap<Key, W>,
    done: &mut BTreeMap<Key, T>,
    rows: BTreeMap<Key, (ErrorCode, T)>,
    failed: &mut Option<ClientError>,
) -> Result<(), ClientError> {
    for (key, (code, found)) in rows {
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

fn by_topic<W>(part: &BTreeMap<Key, W>) -> BTreeMap<&str, Vec<(PartitionIndex, &W)>> {
    let mut topics: BTreeMap<&str, Vec<(PartitionIndex, &W)>> = BTreeMap::new();
    for ((topic, partition), want) in part {
        topics.entry(topic).or_default().push((*partition, want));
    }
    topics
}
