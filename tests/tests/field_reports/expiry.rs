//! A reader whose position is gone: one error, and then a way on.

use ballast_tests::raw::rows::{FETCH, eventually, records_of};
use ballast_tests::raw::{Connection, Fetch, batch, fetch_row};
use ballast_tests::target::shared;

/// What a consumer with auto.offset.reset=earliest does whose position is gone. Gives the first offset that it reads.
fn resume(connection: &mut Connection, topic: &str, position: i64) -> i64 {
    let row = connection.fetched(FETCH, &Fetch::of(topic, vec![fetch_row(0, position)]).wait(1, 1000));
    assert_eq!(row.error_code, 1, "the position {position} is gone: {row:?}");
    assert_eq!((row.high_watermark, row.log_start_offset), (-1, -1), "{row:?}");
    let start = connection.offset_at(topic, 0, -2).offset;
    let row = connection.fetch(topic, 0, start);
    let first = records_of(&row).into_iter().find(|(offset, _)| *offset >= start);
    first.unwrap_or_else(|| panic!("nothing at the start of the log, {start}")).0
}

#[test]
fn a_reader_behind_deleted_records_goes_on_at_the_start_of_the_log() {
    let broker = shared();
    let topic = broker.topic("deleted-records", 1, &[]);
    let mut connection = broker.connect();
    for _ in 0..12 {
        let values: Vec<String> = (0..100).map(|number| format!("{number}")).collect();
        connection.append(&topic.name, 0, batch(&values.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    assert_eq!(connection.delete_records(&topic.name, 0, 1150).low_watermark, 1150);
    assert_eq!(resume(&mut connection, &topic.name, 1100), 1150);
}

#[test]
fn a_reader_of_a_log_that_expired_whole_goes_on_with_what_came_after() {
    let broker = shared();
    let topic = broker.topic("expired", 1, &[("retention.ms", "1000"), ("segment.ms", "1000")]);
    let mut connection = broker.connect();
    for _ in 0..15 {
        let values: Vec<String> = (0..100).map(|number| format!("{number}")).collect();
        connection.append(&topic.name, 0, batch(&values.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    eventually("the records expire", || (connection.bounds(&topic.name, 0) == (1500, 1500)).then_some(()));
    assert_eq!(connection.append(&topic.name, 0, batch(&["after"])), 1500);
    assert_eq!(resume(&mut connection, &topic.name, 700), 1500);
}
