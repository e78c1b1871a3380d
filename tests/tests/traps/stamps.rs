//! What a broker changes in a batch that it stores: two fields outside the checksum, and the time where it must.

use ballast_tests::raw::rows::{PRODUCE, batches_of, records_of};
use ballast_tests::raw::{at, batch, now_ms, patched, timed};
use ballast_tests::target::shared;
use ballast_wire::batch::{Compression, TimestampType};

const LOG_APPEND_TIME_BIT: u8 = 8;

#[test]
fn stamping_offset_and_leader_epoch_leaves_every_other_byte_and_the_checksum() {
    let broker = shared();
    let topic = broker.topic("stamped", 1, &[]);
    let mut connection = broker.connect();
    let sent = [batch(&["a", "b"]), timed(Compression::Gzip, &[(now_ms(), "c")]), batch(&["d"])];
    for batch in &sent {
        connection.append(&topic.name, 0, batch.clone());
    }
    let row = connection.fetch(&topic.name, 0, 0);
    // batches_of verifies each checksum.
    let stored = batches_of(&row);
    assert_eq!(stored.len(), sent.len());
    for ((stored, sent), base_offset) in stored.iter().zip(&sent).zip([0, 2, 3]) {
        assert_eq!((stored.base_offset(), stored.leader_epoch()), (base_offset, 0));
        assert_eq!(stored.bytes()[at::BATCH_LENGTH..12], sent[at::BATCH_LENGTH..12]);
        assert_eq!(stored.bytes()[at::MAGIC..], sent[at::MAGIC..], "the batch at offset {base_offset}");
    }
}

#[test]
fn a_producers_time_is_kept_and_no_append_time_is_reported() {
    let broker = shared();
    let topic = broker.topic("create-time", 1, &[]);
    let mut connection = broker.connect();
    for version in 3..=PRODUCE {
        let row = connection.produce(version, &topic.name, 0, batch(&["a"]));
        assert_eq!((row.error_code, row.log_append_time_ms), (0, -1), "v{version}");
        assert_eq!(row.log_start_offset, if version >= 5 { 0 } else { -1 }, "v{version}");
    }
}

#[test]
fn an_append_time_is_stamped_into_the_header_with_a_checksum_that_fits() {
    let broker = shared();
    let topic = broker.topic("append-time", 1, &[("message.timestamp.type", "LogAppendTime")]);
    let mut connection = broker.connect();
    let before = now_ms();
    let sent = timed(Compression::None, &[(1000, "a"), (5000, "b")]);
    let answer = connection.produce(PRODUCE, &topic.name, 0, sent.clone());
    assert_eq!(answer.error_code, 0);
    assert!((before..=now_ms()).contains(&answer.log_append_time_ms), "{answer:?}");

    let row = connection.fetch(&topic.name, 0, 0);
    let stored = batches_of(&row);
    let [stored] = &stored[..] else { panic!("{stored:?}") };
    assert_eq!(stored.attributes().timestamp_type(), TimestampType::LogAppendTime);
    assert_eq!(stored.max_timestamp(), answer.log_append_time_ms);
    assert_eq!(stored.base_timestamp(), 1000, "the producer's times stay underneath");
    assert_eq!(stored.bytes()[at::RECORDS..], sent[at::RECORDS..]);
    assert_eq!(records_of(&row).len(), 2);
}

#[test]
fn a_wrong_max_timestamp_is_put_right() {
    let broker = shared();
    let topic = broker.topic("max-timestamp", 1, &[]);
    let mut connection = broker.connect();
    let now = now_ms();
    let sent = timed(Compression::None, &[(now - 5, "a"), (now, "b"), (now - 9, "c")]);
    for wrong in [now - 1000, now + 1000, -1] {
        let offset = connection.append(&topic.name, 0, patched(&sent, at::MAX_TIMESTAMP, &wrong.to_be_bytes()));
        let row = connection.fetch(&topic.name, 0, offset);
        assert_eq!(batches_of(&row)[0].max_timestamp(), now, "sent as {wrong}");
    }
}

#[test]
fn only_the_broker_may_say_that_a_time_is_the_brokers() {
    let broker = shared();
    let create = broker.topic("create-time", 1, &[]);
    let append = broker.topic("append-time", 1, &[("message.timestamp.type", "LogAppendTime")]);
    let mut connection = broker.connect();
    let claims = patched(&batch(&["a"]), at::ATTRIBUTES, &[0, LOG_APPEND_TIME_BIT]);
    assert_eq!(connection.produce(PRODUCE, &append.name, 0, claims.clone()).error_code, 32);

    assert_eq!(connection.produce(PRODUCE, &create.name, 0, claims).error_code, 0);
    let row = connection.fetch(&create.name, 0, 0);
    assert_eq!(batches_of(&row)[0].attributes().0, 0, "stored with the bit cleared");

    let timeless = patched(&timed(Compression::None, &[(-1, "a")]), at::ATTRIBUTES, &[0, LOG_APPEND_TIME_BIT]);
    assert_eq!(connection.produce(PRODUCE, &create.name, 0, timeless).error_code, 32);
}

#[test]
fn bits_without_a_meaning_to_the_broker_are_kept() {
    let broker = shared();
    let topic = broker.topic("odd-bits", 1, &[]);
    let mut connection = broker.connect();
    for bits in [0x40, 0x80] {
        let offset = connection.append(&topic.name, 0, patched(&batch(&["a"]), at::ATTRIBUTES, &[0, bits]));
        let row = connection.fetch(&topic.name, 0, offset);
        assert_eq!(batches_of(&row)[0].attributes().0, i16::from(bits));
    }
}
