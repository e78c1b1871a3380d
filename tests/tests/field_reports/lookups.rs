//! Look-ups by time: to the record, in every codec, and with times that go backwards.

use ballast_tests::process::Serve;
use ballast_tests::raw::batches::{CODECS, incompressible};
use ballast_tests::raw::rows::{batches_of, eventually};
use ballast_tests::raw::{Connection, now_ms, timed};
use ballast_tests::target::shared;
use ballast_wire::batch::Compression;

/// Old times must not be deleted for their age.
const KEPT: (&str, &str) = ("retention.ms", "-1");

/// Offset and timestamp that are found for a time.
fn at(connection: &mut Connection, topic: &str, time: i64) -> (i64, i64) {
    let row = connection.offset_at(topic, 0, time);
    assert_eq!(row.error_code, 0, "{row:?}");
    (row.offset, row.timestamp)
}

#[test]
fn the_first_record_at_or_after_a_time_is_found_between_records() {
    let broker = shared();
    let topic = broker.topic("between", 1, &[KEPT]);
    let mut connection = broker.connect();
    for time in [2, 4, 6, 8] {
        connection.append(&topic.name, 0, timed(Compression::None, &[(time, "a")]));
    }
    for (time, expected) in
        [(2, (0, 2)), (3, (1, 4)), (4, (1, 4)), (5, (2, 6)), (6, (2, 6)), (7, (3, 8)), (8, (3, 8)), (9, (-1, -1))]
    {
        assert_eq!(at(&mut connection, &topic.name, time), expected, "time {time}");
    }
}

#[test]
fn a_time_inside_a_batch_finds_its_record_in_every_codec() {
    let broker = shared();
    let mut connection = broker.connect();
    for codec in CODECS {
        let topic = broker.topic("inside", 1, &[KEPT]);
        connection.append(&topic.name, 0, timed(codec, &[(10, "a"), (20, "b"), (30, "c"), (40, "d")]));
        connection.append(&topic.name, 0, timed(codec, &[(5, "e"), (50, "f")]));
        for (time, expected) in [(1, (0, 10)), (25, (2, 30)), (35, (3, 40)), (45, (5, 50)), (51, (-1, -1))] {
            assert_eq!(at(&mut connection, &topic.name, time), expected, "{codec:?}, time {time}");
        }
        assert_eq!(connection.list_offset(7, &topic.name, 0, -3).offset, 5, "{codec:?}: of the highest time");
    }
}

#[test]
fn an_append_time_finds_the_first_record_of_its_batch() {
    let broker = shared();
    let topic = broker.topic("append-time", 1, &[("message.timestamp.type", "LogAppendTime")]);
    let mut connection = broker.connect();
    let records: Vec<(i64, &str)> = (0..10).map(|number| (1000 * number, "long ago")).collect();
    connection.append(&topic.name, 0, timed(Compression::None, &records));
    let appended = batches_of(&connection.fetch(&topic.name, 0, 0))[0].max_timestamp();
    assert!((now_ms() - appended).abs() < 60_000, "appended at {appended}");
    assert_eq!(at(&mut connection, &topic.name, appended), (0, appended));
    assert_eq!(at(&mut connection, &topic.name, 5000), (0, appended), "the producer's times do not count");
    assert_eq!(at(&mut connection, &topic.name, appended + 1), (-1, -1));
}

#[test]
fn times_that_go_backwards_do_not_mislead_the_index() {
    let broker = shared();
    let configs = [KEPT, ("segment.bytes", "1048576"), ("max.message.bytes", "1048576")];
    let topic = broker.topic("backwards", 1, &configs);
    let mut connection = broker.connect();
    let newest = now_ms();
    let filler = incompressible(300_000);
    // Three batches fill a segment; the newest time stands in the first, and each later one is an hour older.
    for number in 0..10 {
        connection.append(&topic.name, 0, timed(Compression::None, &[(newest - 3_600_000 * number, &filler)]));
    }
    assert_eq!(at(&mut connection, &topic.name, newest), (0, newest));
    assert_eq!(at(&mut connection, &topic.name, newest - 3_600_000), (0, newest), "the first at or after it");
    assert_eq!(at(&mut connection, &topic.name, newest + 1), (-1, -1));
    let highest = connection.list_offset(7, &topic.name, 0, -3);
    assert_eq!((highest.offset, highest.timestamp), (0, newest));
}

#[test]
fn the_highest_time_is_known_after_a_restart() {
    if !shared().is_ballast() {
        return; // Somebody else's broker is not ours to restart.
    }
    let mut serve = Serve::start(&[]);
    let mut connection = Connection::open(&serve.bootstrap);
    connection.create_topic("t", 1, &[KEPT]);
    let newest = now_ms();
    for time in [newest, newest - 3_600_000, newest - 7_200_000] {
        connection.append("t", 0, timed(Compression::None, &[(time, "a")]));
    }
    for kill in [false, true] {
        if kill {
            serve.kill();
        } else {
            serve.stop();
        }
        serve.restart();
        let mut connection = Connection::open(&serve.bootstrap);
        eventually("the partition is led", || (connection.offset_at("t", 0, -1).error_code == 0).then_some(()));
        let highest = connection.list_offset(7, "t", 0, -3);
        assert_eq!((highest.offset, highest.timestamp), (0, newest), "after a kill: {kill}");
        assert_eq!(at(&mut connection, "t", newest - 3_600_000), (0, newest), "after a kill: {kill}");
    }
}
