//! Start-up with many partitions (reported of several brokers): a clean stop leaves nothing to read, a kill only what
//! lies past the recovery points.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;

use ballast_tests::process::Serve;
use ballast_tests::raw::{Connection, batch};

use super::{partitions_of, resident_kib, timed};

const WHOLE: usize = 20_000;
const PARTITIONS_PER_TOPIC: usize = 500;
/// Every so many partitions a byte in the middle of the log is damaged while the broker is down.
const DAMAGED_EVERY: usize = 50;

#[test]
fn a_clean_start_reads_no_log_and_a_start_after_a_kill_loses_none() {
    let topics = (partitions_of(WHOLE) / PARTITIONS_PER_TOPIC).max(1);
    let mut broker = Serve::start(&[]);
    let mut connection = Connection::open(&broker.bootstrap);
    let names: Vec<String> = (0..topics).map(|number| format!("many-{number}")).collect();
    timed(&format!("{} partitions made", topics * PARTITIONS_PER_TOPIC), || {
        for name in &names {
            connection.create_topic(name, PARTITIONS_PER_TOPIC as i32, &[]);
        }
    });
    timed("three batches to each", || (0..3).for_each(|round| append_to_all(&mut connection, &names, round)));
    println!("{:<60} {} KiB", "anonymous memory", resident_kib(&broker));
    timed("clean stop", || assert!(broker.stop().success()));

    // The first batch of some logs is spoilt: whoever reads it would have to cut the log there.
    let all = names.iter().flat_map(|name| (0..PARTITIONS_PER_TOPIC).map(move |index| (name, index)));
    let mut spoilt = Vec::new();
    for (name, index) in all.step_by(DAMAGED_EVERY) {
        let log = broker.data().join(format!("{name}-{index}")).join("00000000000000000000.log");
        let file = OpenOptions::new().write(true).read(true).open(log).unwrap();
        let mut before = [0; 1];
        file.read_exact_at(&mut before, 65).unwrap();
        file.write_all_at(&[!before[0]], 65).unwrap();
        spoilt.push((file, before));
    }
    timed("start after a clean stop", || broker.restart());
    assert!(!broker.log().contains("recovery cut off"), "a clean start read a log:\n{}", broker.log());
    for (file, before) in &spoilt {
        file.write_all_at(before, 65).unwrap();
    }
    let mut connection = Connection::open(&broker.bootstrap);
    timed("one batch more to each", || append_to_all(&mut connection, &names, 3));
    broker.kill();
    timed("start after a kill", || broker.restart());
    assert!(!broker.log().contains("recovery cut off"), "{}", broker.log());
    let mut connection = Connection::open(&broker.bootstrap);
    timed("the ends of all", || {
        for name in &names {
            for index in 0..PARTITIONS_PER_TOPIC {
                assert_eq!(connection.bounds(name, index as i32), (0, 4), "{name}-{index}");
            }
        }
    });
    timed("clean stop", || assert!(broker.stop().success()));
}

fn append_to_all(connection: &mut Connection, topics: &[String], base_offset: i64) {
    for topic in topics {
        for index in 0..PARTITIONS_PER_TOPIC {
            let appended = connection.append(topic, index as i32, batch(&["a value of some length"]));
            assert_eq!(appended, base_offset, "{topic}-{index}");
        }
    }
}
