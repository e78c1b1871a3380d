//! Topics that are loaded: replicated, and in sync before anything counts.

use std::collections::BTreeMap;

use crate::broker::Cluster;
use crate::client::Topic;
use crate::{Failure, records};

/// On how many nodes a replicated partition is.
pub(super) const REPLICAS: i16 = 3;

/// Two of three replicas must have a record before it is acknowledged. Kafka keeps deleted files for a minute; the windows
/// that follow would pay for them.
pub(super) const REPLICATED: [(&str, &str); 2] = [("min.insync.replicas", "2"), ("file.delete.delay.ms", "1000")];

/// A new topic with so many replicas, and the partitions that each node leads. Every replica has a record of each partition:
/// a follower that came before its leader knew the topic asks again after a second, which is no part of a window.
pub(super) fn ready_topic(
    cluster: &Cluster,
    replicas: i16,
    partitions: i32,
) -> Result<(Topic, BTreeMap<i32, Vec<i32>>), Failure> {
    let topic = Topic::unique("ready", partitions);
    let configs = if replicas > 1 { &REPLICATED[..] } else { &REPLICATED[1..] };
    cluster.admin()?.create_replicated(std::slice::from_ref(&topic), replicas, configs)?;
    let led = cluster.await_in_sync(std::slice::from_ref(&topic), replicas as usize)?.by_leader(&topic.name);
    let record = records::single(16, records::wall_ms()).bytes;
    for (leader, partitions) in &led {
        let refused = cluster.client(*leader)?.produce_to(&[(topic.name.clone(), partitions.clone())], &record)?;
        if let Some(code) = refused.first() {
            return Err(Failure::new(format!("{} refused its first record with error {code}", topic.name)));
        }
    }
    Ok((topic, led))
}
