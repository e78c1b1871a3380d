//! The limit of maps in one process (65,530 by default, reported to end brokers): topics that go give their maps back,
//! and more segments than that are read all the same.

use ballast_tests::process::Serve;
use ballast_tests::raw::rows::{FETCH, eventually, records_of};
use ballast_tests::raw::{Connection, Fetch, batch, fetch_row, name, timed as batch_at};
use ballast_wire::batch::Compression;
use kafka_protocol::messages::DeleteTopicsRequest;

use super::{maps, scaled, timed};

const TOPICS: usize = 400;
const PARTITIONS: i32 = 5;
const SEGMENTS: usize = 14_000;
/// What a broker maps of its logs, and as much again for everything else.
const MAPS_MAX: usize = 2 * 8_192;

#[test]
fn topics_made_and_deleted_in_a_loop_leave_no_map_behind() {
    let broker = Serve::start(&["log.segment.delete.delay.ms=0"]);
    let mut connection = Connection::open(&broker.bootstrap);
    let of_topics = || {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", broker.pid())).unwrap();
        maps.lines().filter(|line| line.contains("/loop-")).count()
    };
    timed(&format!("{} topics made, read and deleted", scaled(TOPICS)), || {
        for number in 0..scaled(TOPICS) {
            let topic = format!("loop-{number}");
            connection.create_topic(&topic, 2, &[]);
            for partition in 0..2 {
                connection.append(&topic, partition, batch(&["a"]));
                // The second look is what a map is made for.
                (0..2).for_each(|_| drop(connection.fetch(&topic, partition, 0)));
            }
            let request = DeleteTopicsRequest::default().with_topic_names(vec![name(&topic)]).with_timeout_ms(20_000);
            assert_eq!(connection.call(5, &request).responses[0].error_code, 0, "{topic}");
        }
    });
    eventually("maps of deleted topics are gone", || (of_topics() == 0).then_some(()));
}

#[test]
fn more_segments_than_a_process_may_map_are_read_from_end_to_end() {
    let mut broker = Serve::start(&[]);
    let mut connection = Connection::open(&broker.bootstrap);
    // Each batch is older than the segment before it may become, so each begins one.
    connection.create_topic("tiny", PARTITIONS, &[("segment.ms", "1"), ("retention.ms", "-1")]);
    let segments = scaled(SEGMENTS);
    timed(&format!("{PARTITIONS} partitions of {segments} segments written"), || {
        for partition in 0..PARTITIONS {
            for number in 0..segments {
                let records = batch_at(Compression::None, &[(1_700_000_000_000 + 10 * number as i64, "a")]);
                assert_eq!(connection.append("tiny", partition, records), number as i64);
            }
        }
    });
    timed("read from end to end", || read_all(&mut connection, segments));
    println!("{:<60} {}", "maps", maps(&broker));
    assert!(maps(&broker) < MAPS_MAX, "{} maps", maps(&broker));
    timed("clean stop", || assert!(broker.stop().success()));
    timed("start", || broker.restart());
    let mut connection = Connection::open(&broker.bootstrap);
    timed("read once more", || read_all(&mut connection, segments));
    assert!(maps(&broker) < MAPS_MAX, "{} maps", maps(&broker));
}

fn read_all(connection: &mut Connection, end: usize) {
    for partition in 0..PARTITIONS {
        let mut next = 0;
        while next < end as i64 {
            let row = connection.fetched(FETCH, &Fetch::of("tiny", vec![fetch_row(partition, next)]));
            let records = records_of(&row);
            assert_eq!((row.error_code, records.first().map(|(offset, _)| *offset)), (0, Some(next)));
            next += records.len() as i64;
        }
    }
}
