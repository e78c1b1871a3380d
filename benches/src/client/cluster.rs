//! What is asked of the nodes of a cluster: who leads what, who is in sync, where the active controller is.

use std::collections::BTreeMap;

use ballast_wire::frame::{ApiKey, Reader, WireError};

use super::{Client, NO_LEADER, Topic, read};
use crate::Failure;

/// The topic that a quorum is asked about.
const METADATA_TOPIC: &str = "__cluster_metadata";

/// The cluster as one node tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// Brokers that are not fenced: node id and `HOST:PORT`.
    pub brokers: BTreeMap<i32, String>,
    /// Topics that it knows, with their partitions in order.
    pub topics: BTreeMap<String, Vec<PartitionView>>,
}

/// A partition as one node tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionView {
    /// Its number.
    pub index: i32,
    /// The node that leads it, if one does.
    pub leader: Option<i32>,
    /// Nodes of its ISR.
    pub in_sync: Vec<i32>,
}

impl View {
    /// Partitions of all topics.
    pub fn partitions(&self) -> impl Iterator<Item = &PartitionView> {
        self.topics.values().flatten()
    }

    /// Partitions of a topic by the node that leads them.
    #[must_use]
    pub fn by_leader(&self, topic: &str) -> BTreeMap<i32, Vec<i32>> {
        let mut led: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
        for partition in self.topics.get(topic).into_iter().flatten() {
            if let Some(leader) = partition.leader {
                led.entry(leader).or_default().push(partition.index);
            }
        }
        led
    }
}

impl Client {
    /// The cluster as this node tells it, with these topics; those that it does not know are not there.
    ///
    /// # Errors
    /// The broker does not answer.
    pub fn view(&mut self, topics: &[Topic]) -> Result<View, Failure> {
        let frame = self.call(ApiKey::METADATA, 4, |out| {
            out.array(topics, |out, topic| out.string(&topic.name));
            out.bool(false);
        })?;
        read(&frame, ApiKey::METADATA, 4, |body| {
            body.i32()?;
            let brokers = body.array(12, |body| {
                let (id, host, port, _rack) = (body.i32()?, body.string()?, body.i32()?, body.nullable_string()?);
                Ok((id, format!("{host}:{port}")))
            })?;
            let (_cluster_id, _controller) = (body.nullable_string()?, body.i32()?);
            let topics = body.array(9, |body| {
                let (code, name, _internal) = (body.i16()?, body.string()?.into_owned(), body.bool()?);
                let mut partitions = body.array(18, partition)?;
                partitions.sort_by_key(|partition| partition.index);
                Ok((code == 0).then_some((name, partitions)))
            })?;
            Ok(View { brokers: brokers.into_iter().collect(), topics: topics.into_iter().flatten().collect() })
        })
    }

    /// The node where the active controller is, as the quorum says (a broker's metadata name any node, as Kafka's do).
    /// `None` while there is none.
    ///
    /// # Errors
    /// The broker does not answer.
    pub fn active_controller(&mut self) -> Result<Option<i32>, Failure> {
        let frame = self.call(ApiKey::DESCRIBE_QUORUM, 0, |out| {
            out.array(&[METADATA_TOPIC], |out, name| {
                out.string(name);
                out.array(&[0], |out, partition| {
                    out.i32(*partition);
                    out.no_tags();
                });
                out.no_tags();
            });
            out.no_tags();
        })?;
        let leaders = read(&frame, ApiKey::DESCRIBE_QUORUM, 0, |body| {
            body.i16()?;
            body.array(2, |body| {
                body.string()?;
                let leaders = body.array(20, |body| {
                    let (_index, code, leader, _epoch, _high) =
                        (body.i32()?, body.i16()?, body.i32()?, body.i32()?, body.i64()?);
                    for _voters_then_observers in 0..2 {
                        body.array(13, |body| {
                            let _replica = (body.i32()?, body.i64()?);
                            body.skip_tags()
                        })?;
                    }
                    body.skip_tags()?;
                    Ok((code == 0 && leader >= 0).then_some(leader))
                })?;
                body.skip_tags()?;
                Ok(leaders)
            })
        })?;
        Ok(leaders.into_iter().flatten().flatten().next())
    }
}

fn partition(body: &mut Reader<'_>) -> Result<PartitionView, WireError> {
    let (code, index, leader) = (body.i16()?, body.i32()?, body.i32()?);
    let (_replicas, in_sync) = (body.array(4, Reader::i32)?, body.array(4, Reader::i32)?);
    // Replicas that are down are told by a code of their own beside a leader that is there.
    let _ = code;
    Ok(PartitionView { index, leader: (leader != NO_LEADER).then_some(leader), in_sync })
}
