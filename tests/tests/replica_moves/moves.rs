//! Moves under load, throttled, turned back, and of topics that go.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ballast_tests::raw::batches::{batch_of_bytes, idempotent};
use ballast_tests::raw::rows::{eventually, records_of};
use ballast_tests::raw::{Connection, name};
use ballast_tests::target::unique;
use kafka_protocol::messages::DeleteTopicsRequest;

use crate::rig::{Rig, alter, await_home, file_name, home, places, set_rate};

const PRODUCE: i16 = 9;
const MOVES: usize = 6;

/// Everything in the partition, as values, and that offsets have no gap.
fn read_all(connection: &mut Connection, topic: &str, end: i64) -> Vec<String> {
    let mut values = Vec::new();
    while (values.len() as i64) < end {
        let row = connection.fetch(topic, 0, values.len() as i64);
        assert_eq!(row.error_code, 0, "at {}", values.len());
        for (offset, value) in records_of(&row) {
            if offset >= values.len() as i64 {
                assert_eq!(offset, values.len() as i64, "a gap");
                values.push(value);
            }
        }
    }
    values
}

#[test]
fn a_replica_moves_back_and_forth_while_it_is_written_and_read_and_nothing_is_lost() {
    let rig = Rig::start();
    let mut connection = rig.connect();
    let topic = unique("busy");
    connection.create_topic(&topic, 1, &[("segment.bytes", "1048576"), ("file.delete.delay.ms", "100")]);
    let stop = AtomicBool::new(false);
    let written = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut connection = rig.connect();
            let producer = connection.producer();
            let mut count = 0;
            while !stop.load(Ordering::Relaxed) {
                let value = format!("{count:0>500}");
                let row = connection.produce(PRODUCE, &topic, 0, idempotent(producer, count, &[&value]));
                assert_eq!((row.error_code, row.base_offset), (0, i64::from(count)));
                count += 1;
            }
            count
        });
        let reader = scope.spawn(|| {
            let mut connection = rig.connect();
            let mut next = 0;
            while !stop.load(Ordering::Relaxed) {
                let row = connection.fetch(&topic, 0, next);
                assert_eq!(row.error_code, 0, "at {next}");
                for (offset, value) in records_of(&row) {
                    if offset < next {
                        continue;
                    }
                    assert_eq!((offset, value), (next, format!("{next:0>500}")));
                    next += 1;
                }
            }
        });
        for _ in 0..MOVES {
            let target = rig.other(&home(&mut connection, &topic, 0));
            let end = connection.bounds(&topic, 0).1;
            eventually("some more was written", || (connection.bounds(&topic, 0).1 > end + 20).then_some(()));
            assert_eq!(alter(&mut connection, 2, &topic, 0, &target), 0);
            await_home(&mut connection, &topic, 0, &target);
        }
        stop.store(true, Ordering::Relaxed);
        reader.join().expect("the reader found what it looked for");
        writer.join().expect("the writer was never refused")
    });
    let values = read_all(&mut connection, &topic, i64::from(written));
    assert!(values.iter().enumerate().all(|(n, value)| *value == format!("{n:0>500}")));
    assert_eq!(connection.bounds(&topic, 0), (0, i64::from(written)));
}

#[test]
fn a_throttled_move_shows_its_copy_and_ends_when_the_replica_is_asked_to_stay() {
    let rig = Rig::start();
    let mut connection = rig.connect();
    let topic = unique("turned");
    connection.create_topic(&topic, 1, &[]);
    for _ in 0..40 {
        connection.append(&topic, 0, batch_of_bytes(500_000));
    }
    set_rate(&mut connection, "1000000");
    let here = home(&mut connection, &topic, 0);
    let target = rig.other(&here);
    assert_eq!(alter(&mut connection, 2, &topic, 0, &target), 0);
    assert_eq!(alter(&mut connection, 2, &topic, 0, &target), 0, "asked twice is asked once");
    eventually("a part of it is copied", || {
        let found = places(&mut connection, &topic, 0);
        let [(at, false, 20_000_000, 0), (to, true, bytes, lag)] = &found[..] else { panic!("{found:?}") };
        assert_eq!((at, to), (&here, &target));
        (*bytes > 0 && *bytes < 20_000_000 && *lag > 0 && *lag < 40).then_some(())
    });
    assert_eq!(alter(&mut connection, 2, &topic, 0, &here), 0);
    await_home(&mut connection, &topic, 0, &here);
    set_rate(&mut connection, "9223372036854775807");
    assert_eq!(alter(&mut connection, 2, &topic, 0, &target), 0);
    await_home(&mut connection, &topic, 0, &target);
    assert_eq!(places(&mut connection, &topic, 0), [(target, false, 20_000_000, 0)]);
}

#[test]
fn a_topic_that_is_deleted_on_its_way_leaves_no_folder() {
    let rig = Rig::start();
    let mut connection = rig.connect();
    let topic = unique("gone");
    connection.create_topic(&topic, 1, &[("file.delete.delay.ms", "0")]);
    for _ in 0..4 {
        connection.append(&topic, 0, batch_of_bytes(500_000));
    }
    set_rate(&mut connection, "1000");
    let target = rig.other(&home(&mut connection, &topic, 0));
    assert_eq!(alter(&mut connection, 2, &topic, 0, &target), 0);
    let delete = DeleteTopicsRequest::default().with_topic_names(vec![name(&topic)]).with_timeout_ms(9000);
    assert_eq!(connection.call(5, &delete).responses[0].error_code, 0);
    if rig.serve.is_some() {
        let left = || rig.folders(&topic).iter().map(|path| file_name(path)).collect::<Vec<_>>();
        eventually("its folders are unlinked", || left().is_empty().then_some(()));
    }
    set_rate(&mut connection, "9223372036854775807");
}
