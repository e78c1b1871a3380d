//! `__consumer_offsets`: which of its partitions a group lives in, and how it comes to be.
//!
//! The first question for a coordinator has it made, with `offsets.topic.num.partitions` partitions. It has
//! `offsets.topic.replication.factor` replicas, or as many as there are live brokers if those are fewer: a single node with
//! Kafka's defaults must serve groups.

use std::time::Duration;

use ballast_core::controller::NewTopic;
use ballast_core::image::Image;
use ballast_core::settings::GroupSettings;
use ballast_wire::{PartitionIndex, hash};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::drive::own_topic::{self, Ways};

/// Its name.
pub(crate) const OFFSETS_TOPIC: &str = "__consumer_offsets";

/// How long a question for a coordinator waits while the topic is made. Then it is answered that nobody is there yet (15),
/// and clients ask again.
const MAKING_WAIT: Duration = Duration::from_secs(2);
/// How long the controller may take.
const MAKING_MAX_MS: i32 = 30_000;

/// Makes the topic, once at a time.
#[derive(Default)]
pub(crate) struct OffsetsTopic {
    making: Mutex<()>,
}

impl OffsetsTopic {
    /// Is there the topic? If not it is made, which this waits for, within limits.
    pub(crate) async fn ensure(&self, ways: Ways<'_>, settings: &GroupSettings) -> bool {
        let is_there = || ways.metadata.image().topic(OFFSETS_TOPIC).is_some();
        let make = async {
            let _one_at_a_time = self.making.lock().await;
            if is_there() {
                return;
            }
            let topic = new_topic(&ways.metadata.image(), settings);
            if let Err(error) = own_topic::make(ways, topic, MAKING_MAX_MS).await {
                tracing::warn!(error, "{OFFSETS_TOPIC} was not made now");
            }
        };
        if !is_there() && timeout(MAKING_WAIT, make).await.is_err() {
            tracing::warn!("{OFFSETS_TOPIC} is not made yet");
        }
        is_there()
    }
}

fn new_topic(image: &Image, settings: &GroupSettings) -> NewTopic {
    let wanted = i32::from(settings.offsets_topic_replication_factor);
    let replication_factor = own_topic::replicas(image, OFFSETS_TOPIC, ("offsets.topic.replication.factor", wanted));
    let configs = [
        ("cleanup.policy", "compact".to_owned()),
        ("compression.type", "producer".to_owned()),
        ("segment.bytes", settings.offsets_topic_segment_bytes.to_string()),
    ];
    NewTopic {
        name: OFFSETS_TOPIC.to_owned(),
        partitions: settings.offsets_topic_num_partitions,
        replication_factor,
        configs: configs.map(|(key, value)| (key.to_owned(), Some(value))).into(),
        ..NewTopic::default()
    }
}

/// The partition that a group lives in, of `count`: Java's `Utils.abs(group.hashCode()) % count`.
///
/// # Panics
/// If the topic has no partition, which no topic has.
pub(crate) fn partition_of(group: &str, count: usize) -> PartitionIndex {
    let count = i32::try_from(count).expect("a topic has fewer than 2^31 partitions");
    assert!(count > 0, "{OFFSETS_TOPIC} has {count} partitions");
    hash::java_string(group).checked_abs().unwrap_or(0) % count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_lives_where_kafka_looks_for_it() {
        assert_eq!(partition_of("group", 50), 98_629_247 % 50);
        assert_eq!(partition_of("polygenelubricants", 50), 0, "the one hash without an absolute value");
        for group in ["", "a", "console-consumer-72314", "ü€😀"] {
            for count in [1, 3, 50] {
                assert!((0..count).contains(&(partition_of(group, count as usize))), "{group}, {count}");
            }
        }
    }
}
