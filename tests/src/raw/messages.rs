//! Messages in the shapes that tests need again and again.

use bytes::Bytes;
use kafka_protocol::messages::fetch_request::{FetchPartition, FetchTopic, ForgottenTopic};
use kafka_protocol::messages::produce_request::{PartitionProduceData, TopicProduceData};
use kafka_protocol::messages::{FetchRequest, ProduceRequest, TopicName};
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid;

/// A string of a message.
#[must_use]
pub fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

/// A topic's name in a message.
#[must_use]
pub fn name(topic: &str) -> TopicName {
    text(topic).into()
}

/// Records for one partition.
#[must_use]
pub fn produce(acks: i16, topic: &str, partition: i32, records: Option<Bytes>) -> ProduceRequest {
    produce_rows(acks, topic, vec![(partition, records)])
}

/// Records for several partitions of a topic.
#[must_use]
pub fn produce_rows(acks: i16, topic: &str, rows: Vec<(i32, Option<Bytes>)>) -> ProduceRequest {
    let rows = rows
        .into_iter()
        .map(|(partition, records)| PartitionProduceData::default().with_index(partition).with_records(records));
    let topic = TopicProduceData::default().with_name(name(topic)).with_partition_data(rows.collect());
    ProduceRequest::default().with_acks(acks).with_timeout_ms(10_000).with_topic_data(vec![topic])
}

/// One partition of a fetch, without epochs, at most 1 MiB.
#[must_use]
pub fn fetch_row(partition: i32, offset: i64) -> FetchPartition {
    FetchPartition::default()
        .with_partition(partition)
        .with_fetch_offset(offset)
        .with_log_start_offset(-1)
        .with_partition_max_bytes(1 << 20)
}

/// A fetch under construction: answered at once, without a session, until told otherwise.
#[derive(Debug, Clone)]
pub struct Fetch(pub FetchRequest);

impl Default for Fetch {
    fn default() -> Fetch {
        let request = FetchRequest::default().with_max_bytes(50 << 20).with_session_epoch(-1);
        Fetch(request.with_replica_id((-1).into()))
    }
}

impl Fetch {
    /// A fetch of these partitions of a topic, by its name.
    #[must_use]
    pub fn of(topic: &str, rows: Vec<FetchPartition>) -> Fetch {
        Fetch::default().and(topic, rows)
    }

    /// These partitions of a topic as well.
    #[must_use]
    pub fn and(mut self, topic: &str, rows: Vec<FetchPartition>) -> Fetch {
        self.0.topics.push(FetchTopic::default().with_topic(name(topic)).with_partitions(rows));
        self
    }

    /// These partitions of a topic as well, by its id (from version 13 on).
    #[must_use]
    pub fn and_id(mut self, topic: Uuid, rows: Vec<FetchPartition>) -> Fetch {
        self.0.topics.push(FetchTopic::default().with_topic_id(topic).with_partitions(rows));
        self
    }

    /// In a session.
    #[must_use]
    pub fn session(mut self, id: i32, epoch: i32) -> Fetch {
        (self.0.session_id, self.0.session_epoch) = (id, epoch);
        self
    }

    /// Takes partitions of a topic out of the session.
    #[must_use]
    pub fn forget(mut self, topic: &str, partitions: &[i32]) -> Fetch {
        let forgotten = ForgottenTopic::default().with_topic(name(topic)).with_partitions(partitions.to_vec());
        self.0.forgotten_topics_data.push(forgotten);
        self
    }

    /// Waits for `min_bytes`, at most `max_wait_ms`.
    #[must_use]
    pub fn wait(mut self, min_bytes: i32, max_wait_ms: i32) -> Fetch {
        (self.0.min_bytes, self.0.max_wait_ms) = (min_bytes, max_wait_ms);
        self
    }

    /// At most this many bytes, after the first batch.
    #[must_use]
    pub fn max_bytes(mut self, max_bytes: i32) -> Fetch {
        self.0.max_bytes = max_bytes;
        self
    }
}
