//! One question about one partition, and the row that answers it.

use std::time::Duration;

use ballast_wire::batch::{BatchView, batches};
use bytes::Bytes;
use kafka_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use kafka_protocol::messages::delete_records_request::{DeleteRecordsPartition, DeleteRecordsTopic};
use kafka_protocol::messages::delete_records_response::DeleteRecordsPartitionResult;
use kafka_protocol::messages::fetch_response::PartitionData;
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::list_offsets_response::ListOffsetsPartitionResponse;
use kafka_protocol::messages::produce_response::PartitionProduceResponse;
use kafka_protocol::messages::{
    CreateTopicsRequest, DeleteRecordsRequest, FetchRequest, FetchResponse, InitProducerIdRequest, ListOffsetsRequest,
    ProduceRequest,
};

use super::messages::{Fetch, fetch_row, name, produce, text};
use super::{Connection, now_ms};

/// Highest version of Produce whose topics are named.
pub const PRODUCE: i16 = 12;
/// Highest version of Fetch whose topics are named.
pub const FETCH: i16 = 12;

/// Repeats a question until it has an answer.
///
/// # Panics
/// If there is none after 20 seconds.
pub fn eventually<T>(what: &str, question: impl FnMut() -> Option<T>) -> T {
    eventually_within(20_000, what, question)
}

/// Repeats a question until it has an answer, for so many ms.
///
/// # Panics
/// If there is none after that.
pub fn eventually_within<T>(wait_ms: i64, what: &str, mut question: impl FnMut() -> Option<T>) -> T {
    eventually_or_told(wait_ms, what, || question().ok_or_else(String::new))
}

/// The same; whoever has no answer says how things stand instead.
///
/// # Panics
/// If there is none after that, with what was said last.
pub fn eventually_or_told<T>(wait_ms: i64, what: &str, mut question: impl FnMut() -> Result<T, String>) -> T {
    let deadline = now_ms() + wait_ms;
    loop {
        match question() {
            Ok(answer) => return answer,
            Err(state) => assert!(now_ms() < deadline, "not within {wait_ms} ms: {what}{state}"),
        }
        std::thread::sleep(Duration::from_millis(3));
    }
}

impl Connection {
    /// Creates a topic, and returns when its partitions can be used.
    ///
    /// # Panics
    /// If it cannot be created.
    pub fn create_topic(&mut self, topic: &str, partitions: i32, configs: &[(&str, &str)]) -> uuid::Uuid {
        let configs = configs
            .iter()
            .map(|(key, value)| CreatableTopicConfig::default().with_name(text(key)).with_value(Some(text(value))));
        let row = CreatableTopic::default()
            .with_name(name(topic))
            .with_num_partitions(partitions)
            .with_replication_factor(1)
            .with_configs(configs.collect());
        let request = CreateTopicsRequest::default().with_timeout_ms(10_000).with_topics(vec![row]);
        let created = self.call(7, &request).topics.remove(0);
        assert_eq!(created.error_code, 0, "{topic}: {:?}", created.error_message);
        for partition in 0..partitions {
            eventually("a new partition has a leader", || {
                (self.offset_at(topic, partition, -2).error_code == 0).then_some(())
            });
        }
        created.topic_id
    }

    /// Produces to one partition and gives its row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn produce(&mut self, version: i16, topic: &str, partition: i32, records: Bytes) -> PartitionProduceResponse {
        self.produced(version, &produce(-1, topic, partition, Some(records)))
    }

    /// Sends a Produce that names one partition and gives its row.
    ///
    /// # Panics
    /// If the answer has not exactly one row.
    pub fn produced(&mut self, version: i16, request: &ProduceRequest) -> PartitionProduceResponse {
        let mut response = self.call(version, request);
        assert_eq!(response.responses.len(), 1, "one topic was sent: {response:?}");
        let mut rows = response.responses.remove(0).partition_responses;
        assert_eq!(rows.len(), 1, "one partition was sent: {rows:?}");
        rows.remove(0)
    }

    /// Produces what must be accepted, and gives its base offset.
    ///
    /// # Panics
    /// If it is refused.
    pub fn append(&mut self, topic: &str, partition: i32, records: Bytes) -> i64 {
        let row = self.produce(PRODUCE, topic, partition, records);
        assert_eq!(row.error_code, 0, "{topic}-{partition}: {row:?}");
        row.base_offset
    }

    /// Fetches with one row in the answer, and gives it.
    ///
    /// # Panics
    /// If the fetch as a whole fails, or the answer has not exactly one row.
    pub fn fetched(&mut self, version: i16, fetch: &Fetch) -> PartitionData {
        let response = self.call::<FetchRequest>(version, &fetch.0);
        assert_eq!(response.error_code, 0, "the fetch as a whole");
        let mut rows = rows_of(&response);
        assert_eq!(rows.len(), 1, "one partition was asked for: {rows:?}");
        rows.remove(0).1
    }

    /// What a partition holds from `offset` on.
    ///
    /// # Panics
    /// If it cannot be fetched.
    pub fn fetch(&mut self, topic: &str, partition: i32, offset: i64) -> PartitionData {
        let row = self.fetched(FETCH, &Fetch::of(topic, vec![fetch_row(partition, offset)]));
        assert_eq!(row.error_code, 0, "{topic}-{partition} from {offset}: {row:?}");
        row
    }

    /// Asks for an offset by time or special number, with version 5.
    ///
    /// # Panics
    /// If the answer has not exactly one row.
    pub fn offset_at(&mut self, topic: &str, partition: i32, timestamp: i64) -> ListOffsetsPartitionResponse {
        self.list_offset(5, topic, partition, timestamp)
    }

    /// Asks for an offset by time or special number.
    ///
    /// # Panics
    /// If the answer has not exactly one row.
    pub fn list_offset(
        &mut self,
        version: i16,
        topic: &str,
        partition: i32,
        timestamp: i64,
    ) -> ListOffsetsPartitionResponse {
        let row = ListOffsetsPartition::default().with_partition_index(partition).with_timestamp(timestamp);
        let topic = ListOffsetsTopic::default().with_name(name(topic)).with_partitions(vec![row]);
        let request = ListOffsetsRequest::default().with_replica_id((-1).into()).with_topics(vec![topic]);
        let mut response = self.call(version, &request);
        assert_eq!(response.topics.len(), 1, "one topic was asked for: {response:?}");
        let mut rows = response.topics.remove(0).partitions;
        assert_eq!(rows.len(), 1, "one partition was asked for: {rows:?}");
        rows.remove(0)
    }

    /// Start and end of a partition, in offsets.
    ///
    /// # Panics
    /// If it cannot be asked.
    pub fn bounds(&mut self, topic: &str, partition: i32) -> (i64, i64) {
        let start = self.offset_at(topic, partition, -2);
        let end = self.offset_at(topic, partition, -1);
        assert_eq!((start.error_code, end.error_code), (0, 0), "{topic}-{partition}: {start:?}, {end:?}");
        (start.offset, end.offset)
    }

    /// Deletes the records below an offset, and gives the row.
    pub fn delete_records(&mut self, topic: &str, partition: i32, offset: i64) -> DeleteRecordsPartitionResult {
        let row = DeleteRecordsPartition::default().with_partition_index(partition).with_offset(offset);
        let topic = DeleteRecordsTopic::default().with_name(name(topic)).with_partitions(vec![row]);
        let request = DeleteRecordsRequest::default().with_timeout_ms(10_000).with_topics(vec![topic]);
        self.call(2, &request).topics.remove(0).partitions.remove(0)
    }

    /// A new producer: its id and epoch. Asks again while the broker has no block of ids yet (14).
    ///
    /// # Panics
    /// If it is refused.
    pub fn producer(&mut self) -> (i64, i16) {
        let request = InitProducerIdRequest::default()
            .with_transactional_id(None)
            .with_transaction_timeout_ms(60_000)
            .with_producer_id((-1).into())
            .with_producer_epoch(-1);
        eventually("a producer id", || {
            let answer = self.call(4, &request);
            assert!([0, 14].contains(&answer.error_code), "{answer:?}");
            (answer.error_code == 0).then_some((answer.producer_id.0, answer.producer_epoch))
        })
    }
}

/// Every row of a fetch, with the name of its topic, in the order of the answer.
#[must_use]
pub fn rows_of(response: &FetchResponse) -> Vec<(String, PartitionData)> {
    let rows = response
        .responses
        .iter()
        .flat_map(|topic| topic.partitions.iter().map(|row| (topic.topic.as_str().to_owned(), row.clone())));
    rows.collect()
}

/// The whole batches of a row, each checked.
///
/// # Panics
/// If one of them is broken.
#[must_use]
pub fn batches_of(row: &PartitionData) -> Vec<BatchView<'_>> {
    let bytes = row.records.as_deref().unwrap_or_default();
    let all = batches(bytes).map(|batch| {
        let batch = batch.expect("a broker sends batches");
        batch.verify_checksum().unwrap_or_else(|error| panic!("{batch:?}: {error}"));
        batch
    });
    all.collect()
}

/// Offset and value of every record of a row, from every whole batch.
///
/// # Panics
/// If a batch is broken.
#[must_use]
pub fn records_of(row: &PartitionData) -> Vec<(i64, String)> {
    let mut all = Vec::new();
    for batch in batches_of(row) {
        let body = batch.open(64 << 20).expect("a batch can be opened");
        for record in batch.records_in(&body) {
            let record = record.expect("a record can be read");
            let value = String::from_utf8_lossy(record.value.unwrap_or_default()).into_owned();
            all.push((record.offset(&batch), value));
        }
    }
    all
}
