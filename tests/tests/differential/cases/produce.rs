//! Produce (key 0): what is appended, and every refusal.

use ballast_tests::raw::batches::{batch_of_bytes, idempotent};
use ballast_tests::raw::messages::produce_rows;
use ballast_tests::raw::{at, patched, timed};
use ballast_tests::target::Topic;
use ballast_wire::batch::{BatchBuilder, Compression};
use ballast_wire::frame::ApiKey;
use bytes::Bytes;
use kafka_protocol::messages::ProduceRequest;
use uuid::Uuid;

use crate::case::{Case, Meets, accepted, refused};
use crate::side::Side;

const KEY: ApiKey = ApiKey::PRODUCE;
/// From here on topics go by their ids.
const IDS: i16 = 13;

pub(crate) const CASES: &[Case] = &[
    accepted(KEY, "one batch", |side, v| good(side, v, -1, |side| side.batch_at(0, &["a", "b"]))),
    accepted(KEY, "the leader alone acknowledges", |side, v| good(side, v, 1, |side| side.batch_at(0, &["a"]))),
    accepted(KEY, "nobody acknowledges", |side, v| silent(side, v, 0)).meets(Meets::Anything),
    accepted(KEY, "gzip", |side, v| coded(side, v, Compression::Gzip)),
    accepted(KEY, "snappy", |side, v| coded(side, v, Compression::Snappy)),
    accepted(KEY, "lz4", |side, v| coded(side, v, Compression::Lz4)),
    accepted(KEY, "zstd", |side, v| coded(side, v, Compression::Zstd)).from(7),
    accepted(KEY, "two partitions", two_partitions),
    accepted(KEY, "a topic that keeps its own time", own_time),
    accepted(KEY, "an idempotent producer sends again", |side, v| {
        sequences(side, v, &[(0, 0, 2), (0, 2, 1), (0, 0, 2)]);
    }),
    accepted(KEY, "an unknown producer begins in the middle", |side, v| sequences(side, v, &[(0, 5, 1)])),
    refused(KEY, 3, "a partition that is not there", |side, v| {
        let topic = side.letters();
        let batch = side.batch_at(0, &["a"]);
        send(side, v, &topic, -1, vec![(7, Some(batch))]);
    }),
    refused(KEY, 3, "a topic that is not there", |side, v| absent(side, v, -1)).to(12),
    refused(KEY, 100, "an id that no topic has", |side, v| absent(side, v, -1)).from(IDS),
    refused(KEY, 3, "a topic that is not there, and nobody acknowledges", |side, v| silent(side, v, 9))
        .meets(Meets::Close),
    refused(KEY, 21, "two acknowledgements", |side, v| good(side, v, 2, |side| side.batch_at(0, &["a"]))),
    refused(KEY, 2, "a checksum that does not fit", |side, v| {
        falsified(side, v, |batch| {
            let mut bytes = batch.to_vec();
            bytes[at::CRC] ^= 1;
            bytes.into()
        });
    }),
    refused(KEY, 87, "an old magic", |side, v| falsified(side, v, |batch| patched(batch, at::MAGIC, &[1]))),
    refused(KEY, 2, "a magic to come", |side, v| falsified(side, v, |batch| patched(batch, at::MAGIC, &[3]))),
    refused(KEY, 87, "a base offset", |side, v| falsified(side, v, |batch| patched(batch, at::BASE_OFFSET + 7, &[5]))),
    refused(KEY, 87, "a control batch", |side, v| {
        falsified(side, v, |batch| patched(batch, at::ATTRIBUTES + 1, &[0x20]));
    }),
    refused(KEY, 87, "a count that does not fit", |side, v| {
        falsified(side, v, |batch| patched(batch, at::RECORDS_COUNT + 3, &[5]));
    }),
    refused(KEY, 87, "no record", |side, v| falsified(side, v, |batch| patched(batch, at::RECORDS_COUNT + 3, &[0]))),
    refused(KEY, 87, "a producer without a sequence", |side, v| {
        falsified(side, v, |batch| patched(batch, at::PRODUCER_ID, &7_i64.to_be_bytes()));
    }),
    refused(KEY, 87, "two batches", |side, v| falsified(side, v, |batch| [&batch[..], batch].concat().into())),
    refused(KEY, 87, "half a batch", |side, v| falsified(side, v, |batch| batch.slice(..batch.len() / 2))),
    refused(KEY, 87, "no bytes", |side, v| falsified(side, v, |_| Bytes::new())),
    refused(KEY, -1, "a codec that there is not", |side, v| {
        falsified(side, v, |batch| patched(batch, at::ATTRIBUTES + 1, &[7]));
    }),
    refused(KEY, 53, "a transactional batch without a transactional id", |side, v| {
        falsified(side, v, |_| {
            let mut builder = BatchBuilder::new(Compression::None).producer(7, 0, 0).transactional();
            builder.push(0, None, Some(b"a"), &[]);
            builder.finish()
        });
    }),
    refused(KEY, 10, "a batch over max.message.bytes", |side, v| {
        limited(side, v, &[("max.message.bytes", "1000")], |_| batch_of_bytes(1001));
    }),
    refused(KEY, 18, "a batch over segment.bytes", |side, v| {
        let configs = [("max.message.bytes", "2000000"), ("segment.bytes", "1048576")];
        limited(side, v, &configs, |_| batch_of_bytes(1_048_577));
    }),
    refused(KEY, 32, "a record from the future", |side, v| {
        limited(side, v, &[], |side| side.batch_at(7200, &["a", "b"]));
    }),
    refused(KEY, 32, "a record from before message.timestamp.before.max.ms", |side, v| {
        limited(side, v, &[("message.timestamp.before.max.ms", "1000000")], |side| side.batch_at(-7200, &["a"]));
    }),
    refused(KEY, 87, "a record without a key in a compacted topic", |side, v| {
        limited(side, v, &[("cleanup.policy", "compact")], |side| {
            let mut builder = BatchBuilder::new(Compression::None);
            builder.push(side.now_ms, Some(b"k"), Some(b"a"), &[]);
            builder.push(side.now_ms, None, Some(b"b"), &[]);
            builder.finish()
        });
    }),
    refused(KEY, 76, "zstd before clients knew it", |side, v| coded(side, v, Compression::Zstd)).to(6),
    refused(KEY, 45, "a gap in the sequence", |side, v| sequences(side, v, &[(0, 0, 1), (0, 2, 1)])),
    refused(KEY, 45, "a new epoch that does not begin at 0", |side, v| sequences(side, v, &[(0, 0, 1), (1, 3, 1)])),
    refused(KEY, 47, "an epoch that is over", |side, v| sequences(side, v, &[(1, 0, 1), (0, 1, 1)])),
];

fn request(v: i16, topic: &Topic, acks: i16, rows: Vec<(i32, Option<Bytes>)>) -> ProduceRequest {
    let mut request = produce_rows(acks, &topic.name, rows);
    if v >= IDS {
        let row = &mut request.topic_data[0];
        row.name = Default::default();
        row.topic_id = topic.id;
    }
    request
}

fn send(side: &mut Side, v: i16, topic: &Topic, acks: i16, rows: Vec<(i32, Option<Bytes>)>) {
    side.ask(v, &request(v, topic, acks, rows));
}

fn good(side: &mut Side, v: i16, acks: i16, batch: impl FnOnce(&Side) -> Bytes) {
    let topic = side.fresh(1, &[]);
    let batch = batch(side);
    send(side, v, &topic, acks, vec![(0, Some(batch))]);
}

fn limited(side: &mut Side, v: i16, configs: &[(&str, &str)], batch: impl FnOnce(&Side) -> Bytes) {
    let topic = side.fresh(1, configs);
    let batch = batch(side);
    send(side, v, &topic, -1, vec![(0, Some(batch))]);
}

fn falsified(side: &mut Side, v: i16, change: impl FnOnce(&Bytes) -> Bytes) {
    good(side, v, -1, |side| change(&side.batch_at(0, &["a", "b"])));
}

fn coded(side: &mut Side, v: i16, codec: Compression) {
    good(side, v, -1, |side| timed(codec, &[(side.now_ms, "a"), (side.now_ms, "a")]));
}

fn two_partitions(side: &mut Side, v: i16) {
    let topic = side.fresh(2, &[]);
    let (one, two) = (side.batch_at(0, &["a"]), side.batch_at(0, &["b", "c"]));
    send(side, v, &topic, -1, vec![(0, Some(one)), (1, Some(two))]);
}

fn own_time(side: &mut Side, v: i16) {
    let topic = side.fresh(1, &[("message.timestamp.type", "LogAppendTime")]);
    let batch = side.batch_at(0, &["a"]);
    send(side, v, &topic, -1, vec![(0, Some(batch))]);
}

fn nobody() -> Topic {
    Topic { name: "absent".to_owned(), id: Uuid::from_u128(7) }
}

fn absent(side: &mut Side, v: i16, acks: i16) {
    let batch = side.batch_at(0, &["a"]);
    send(side, v, &nobody(), acks, vec![(0, Some(batch))]);
}

/// Nobody acknowledges; partition 9 is not there.
fn silent(side: &mut Side, v: i16, partition: i32) {
    let topic = side.fresh(1, &[]);
    let batch = side.batch_at(0, &["a"]);
    side.tell(v, &request(v, &topic, 0, vec![(partition, Some(batch))]));
}

/// Batches of one producer: epoch, first sequence and number of records of each.
fn sequences(side: &mut Side, v: i16, batches: &[(i16, i32, usize)]) {
    let topic = side.fresh(1, &[]);
    for (epoch, first, records) in batches {
        let batch = idempotent((7, *epoch), *first, &vec!["a"; *records]);
        send(side, v, &topic, -1, vec![(0, Some(batch))]);
    }
}
