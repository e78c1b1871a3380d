//! Memory with many partitions and topics (reported of several brokers): clients that ask for all metadata again and
//! again, and a topic that grows under load, leave it where it was.

use ballast_tests::process::Serve;
use ballast_tests::raw::{Connection, batch, name};
use kafka_protocol::messages::create_partitions_request::CreatePartitionsTopic;
use kafka_protocol::messages::{CreatePartitionsRequest, MetadataRequest};

use super::{partitions_of, resident_kib, scaled, timed};

/// Partitions of one topic, and topics of one partition, together as many as the report has of either.
const PARTITIONS: usize = 10_000;
const TOPICS: usize = 10_000;
const CLIENTS: usize = 50;
const ROUNDS: usize = 5;
/// Anonymous memory of a partition, in KiB: measured 6, and as much again.
const KIB_PER_PARTITION_MAX: u64 = 12;
/// What answering may leave behind, in KiB, whatever was asked.
const KIB_FOR_ANSWERS_MAX: u64 = 64 << 10;

#[test]
fn memory_follows_the_partitions_and_not_who_asks_for_them() {
    let half = partitions_of(PARTITIONS + TOPICS) / 2;
    let broker = Serve::start(&[]);
    let mut connection = Connection::open(&broker.bootstrap);
    connection.create_topic("grows", 1, &[]);
    let empty = resident_kib(&broker);
    timed(&format!("one topic raised to {half} partitions under load"), || raise(&mut connection, half));
    timed(&format!("{half} topics"), || {
        for number in 0..half {
            connection.create_topic(&format!("one-of-many-{number:05}"), 1, &[]);
        }
    });
    let made = resident_kib(&broker);
    let partitions = 2 * half as u64;
    println!("{:<60} {} KiB ({empty} KiB empty)", "anonymous memory", made);
    assert!(made < empty + KIB_FOR_ANSWERS_MAX + KIB_PER_PARTITION_MAX * partitions, "{made} KiB, {empty} before");

    let mut clients: Vec<_> = (0..scaled(CLIENTS).max(2)).map(|_| Connection::open(&broker.bootstrap)).collect();
    let everything = MetadataRequest::default().with_topics(None);
    timed(&format!("{} clients ask for everything {ROUNDS} times", clients.len()), || {
        for _ in 0..ROUNDS {
            // All have asked before the first takes its answer.
            let asked: Vec<i32> = clients.iter_mut().map(|client| client.start(9, &everything)).collect();
            assert!(connection.append("grows", 0, batch(&["a"])) >= 0, "others are served meanwhile");
            for (client, correlation_id) in clients.iter_mut().zip(asked) {
                let answer = client.finish::<MetadataRequest>(9, correlation_id);
                assert_eq!(answer.topics.len(), half + 1);
            }
        }
    });
    let asked = resident_kib(&broker);
    println!("{:<60} {asked} KiB", "anonymous memory");
    assert!(asked < made + KIB_FOR_ANSWERS_MAX, "{asked} KiB after {ROUNDS} rounds, {made} before");
}

/// In steps, as nobody may make too many at once, with records going in meanwhile.
fn raise(connection: &mut Connection, partitions: usize) {
    let mut count = 1;
    while count < partitions {
        count = (count + 500).min(partitions);
        let topic =
            CreatePartitionsTopic::default().with_name(name("grows")).with_count(count as i32).with_assignments(None);
        let request = CreatePartitionsRequest::default().with_topics(vec![topic]).with_timeout_ms(30_000);
        let row = connection.call(3, &request).results.remove(0);
        assert_eq!(row.error_code, 0, "{count}: {:?}", row.error_message);
        for partition in (0..count).step_by(100) {
            connection.append("grows", partition as i32, batch(&["a"]));
        }
    }
}
