//! Retention: an idle log empties, offsets go on, and one record from the future keeps the rest.

use ballast_tests::raw::batches::batch_of_bytes;
use ballast_tests::raw::rows::FETCH;
use ballast_tests::raw::rows::{eventually, records_of};
use ballast_tests::raw::{Connection, Fetch, batch, fetch_row, now_ms, timed};
use ballast_tests::target::shared;
use ballast_wire::batch::Compression;

const HOUR_MS: i64 = 3_600_000;

/// A batch whose records were created an hour ago.
fn old(values: &[&str]) -> bytes::Bytes {
    let created = now_ms() - HOUR_MS;
    timed(Compression::None, &values.iter().map(|value| (created, *value)).collect::<Vec<_>>())
}

/// Waits until a partition begins at this offset.
fn await_start(connection: &mut Connection, topic: &str, start: i64) {
    eventually("retention has acted", || (connection.bounds(topic, 0).0 == start).then_some(()));
}

#[test]
fn an_idle_log_becomes_empty_and_goes_on_at_the_same_offset() {
    let broker = shared();
    let topic = broker.topic("idle", 1, &[("retention.ms", "60000")]);
    let mut connection = broker.connect();
    connection.append(&topic.name, 0, old(&["a", "b", "c"]));
    await_start(&mut connection, &topic.name, 3);
    assert_eq!(connection.bounds(&topic.name, 0), (3, 3), "the active segment went too");
    let gone = connection.fetched(FETCH, &Fetch::of(&topic.name, vec![fetch_row(0, 0)]));
    assert_eq!(gone.error_code, 1);
    assert_eq!(connection.append(&topic.name, 0, batch(&["d"])), 3);
    let row = connection.fetch(&topic.name, 0, 3);
    assert_eq!(records_of(&row), [(3, "d".to_owned())]);
    assert_eq!((row.log_start_offset, row.high_watermark), (3, 4));
}

#[test]
fn a_record_from_the_future_keeps_its_segment() {
    let broker = shared();
    let configs = [("retention.ms", "60000")];
    let (kept, emptied) = (broker.topic("future", 1, &configs), broker.topic("past", 1, &configs));
    let mut connection = broker.connect();
    connection.append(&kept.name, 0, old(&["a"]));
    connection.append(&kept.name, 0, timed(Compression::None, &[(now_ms() + HOUR_MS / 2, "ahead")]));
    connection.append(&kept.name, 0, old(&["b"]));
    // Once retention has emptied its neighbour, which was written later, it has looked at this one too.
    for _ in 0..2 {
        let end = connection.append(&emptied.name, 0, old(&["a"])) + 1;
        await_start(&mut connection, &emptied.name, end);
    }
    assert_eq!(connection.bounds(&kept.name, 0), (0, 3));
}

#[test]
fn a_log_keeps_its_last_segments_within_its_size() {
    let broker = shared();
    let configs = [("segment.bytes", "1048576"), ("retention.bytes", "2000000"), ("max.message.bytes", "2000000")];
    let topic = broker.topic("by-size", 1, &configs);
    let mut connection = broker.connect();
    for _ in 0..5 {
        connection.append(&topic.name, 0, batch_of_bytes(700_000));
    }
    // 5 segments of 700,000 bytes; without the oldest two, 2,100,000 are left: without a third it would be too little.
    await_start(&mut connection, &topic.name, 2);
    assert_eq!(connection.bounds(&topic.name, 0), (2, 5));
    assert_eq!(records_of(&connection.fetch(&topic.name, 0, 2))[0].0, 2);
}

#[test]
fn a_topic_without_limits_keeps_what_is_old() {
    let broker = shared();
    let (kept, emptied) =
        (broker.topic("kept", 1, &[("retention.ms", "-1")]), broker.topic("past", 1, &[("retention.ms", "60000")]));
    let mut connection = broker.connect();
    connection.append(&kept.name, 0, timed(Compression::None, &[(0, "1970")]));
    for _ in 0..2 {
        let end = connection.append(&emptied.name, 0, old(&["a"])) + 1;
        await_start(&mut connection, &emptied.name, end);
    }
    assert_eq!(connection.bounds(&kept.name, 0), (0, 1));
}

#[test]
fn a_compacted_topic_forgets_nothing_for_its_age() {
    let broker = shared();
    let configs = [("retention.ms", "60000"), ("cleanup.policy", "compact")];
    let (kept, emptied) = (broker.topic("kept", 1, &configs), broker.topic("past", 1, &configs[..1]));
    let mut connection = broker.connect();
    let mut builder = ballast_wire::batch::BatchBuilder::new(Compression::None);
    builder.push(now_ms() - HOUR_MS, Some(b"key"), Some(b"value"), &[]);
    connection.append(&kept.name, 0, builder.finish());
    for _ in 0..2 {
        let end = connection.append(&emptied.name, 0, old(&["a"])) + 1;
        await_start(&mut connection, &emptied.name, end);
    }
    assert_eq!(connection.bounds(&kept.name, 0), (0, 1));
}
