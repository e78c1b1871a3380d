//! Fetch: how much comes back, from where, and when.

use ballast_tests::raw::batches::batch_of_bytes;
use ballast_tests::raw::messages::produce;
use ballast_tests::raw::rows::{FETCH, PRODUCE, batches_of, records_of, rows_of};
use ballast_tests::raw::{Fetch, batch, fetch_row, name, now_ms};
use ballast_tests::target::{shared, unique};
use kafka_protocol::messages::fetch_response::PartitionData;
use kafka_protocol::messages::{DeleteTopicsRequest, FetchRequest, ProduceRequest};

const OFFSET_OUT_OF_RANGE: i16 = 1;
const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;

fn len(row: &PartitionData) -> usize {
    row.records.as_ref().map_or(0, bytes::Bytes::len)
}

#[test]
fn one_byte_fetches_one_whole_batch_from_the_first_partition_that_has_one() {
    let broker = shared();
    let topic = broker.topic("one-byte", 3, &[]);
    let mut connection = broker.connect();
    let large = batch_of_bytes(100_000);
    for partition in [1, 2] {
        connection.append(&topic.name, partition, large.clone());
        connection.append(&topic.name, partition, batch(&["next"]));
    }
    let rows = vec![fetch_row(0, 0), fetch_row(1, 0), fetch_row(2, 0)];
    for limit in [0, 1] {
        let fetch = Fetch::of(&topic.name, rows.clone()).max_bytes(limit);
        let response = connection.call::<FetchRequest>(FETCH, &fetch.0);
        let sizes: Vec<_> = rows_of(&response).iter().map(|(_, row)| (row.partition_index, len(row))).collect();
        assert_eq!(sizes, [(0, 0), (1, large.len()), (2, 0)], "max_bytes {limit}");
    }
    for limit in [0, 1] {
        let row = fetch_row(1, 0).with_partition_max_bytes(limit);
        assert_eq!(
            len(&connection.fetched(FETCH, &Fetch::of(&topic.name, vec![row]))),
            large.len(),
            "of the partition: {limit}"
        );
    }
}

#[test]
fn later_partitions_get_what_is_left_and_never_a_piece_of_a_first_batch() {
    let broker = shared();
    let topic = broker.topic("what-is-left", 2, &[]);
    let mut connection = broker.connect();
    let batch = batch_of_bytes(10_000);
    for partition in [0, 1] {
        for _ in 0..3 {
            connection.append(&topic.name, partition, batch.clone());
        }
    }
    let sizes = |connection: &mut ballast_tests::raw::Connection, limit: i32| {
        let rows = vec![fetch_row(0, 0).with_partition_max_bytes(20_000), fetch_row(1, 0)];
        let response = connection.call::<FetchRequest>(FETCH, &Fetch::of(&topic.name, rows).max_bytes(limit).0);
        rows_of(&response).iter().map(|(_, row)| (len(row), batches_of(row).len())).collect::<Vec<_>>()
    };
    assert_eq!(sizes(&mut connection, 25_000), [(20_000, 2), (0, 0)], "5,000 bytes hold no batch");
    let cut = sizes(&mut connection, 35_000);
    assert_eq!(cut[0], (20_000, 2));
    // The second batch may come in part; clients drop the tail.
    assert!(cut[1].1 == 1 && (10_000..=15_000).contains(&cut[1].0), "{cut:?}");
}

#[test]
fn an_offset_inside_a_batch_fetches_the_batch_from_its_beginning() {
    let broker = shared();
    let topic = broker.topic("inside", 1, &[]);
    let mut connection = broker.connect();
    connection.append(&topic.name, 0, batch(&["a0", "a1"]));
    connection.append(&topic.name, 0, batch(&["b2", "b3"]));
    let values = |row: &PartitionData| records_of(row).into_iter().map(|(_, value)| value).collect::<Vec<_>>();
    for (offset, expected) in [
        (0, &["a0", "a1", "b2", "b3"][..]),
        (1, &["a0", "a1", "b2", "b3"]),
        (2, &["b2", "b3"]),
        (3, &["b2", "b3"]),
        (4, &[]),
    ] {
        let row = connection.fetch(&topic.name, 0, offset);
        assert_eq!(values(&row), expected, "from {offset}");
        assert_eq!((row.high_watermark, row.last_stable_offset, row.log_start_offset), (4, 4, 0), "from {offset}");
    }
}

#[test]
fn every_version_of_produce_and_fetch_carries_a_record() {
    let broker = shared();
    let topic = broker.topic("versions", 1, &[]);
    let mut connection = broker.connect();
    for version in 3..=13 {
        let mut request = produce(-1, &topic.name, 0, Some(batch(&[&format!("v{version}")])));
        if version >= 13 {
            request.topic_data[0].name = name("");
            request.topic_data[0].topic_id = topic.id;
        }
        let row = connection.produced(version, &request);
        assert_eq!((row.error_code, row.base_offset), (0, i64::from(version) - 3), "Produce v{version}");
    }
    for version in 4..=18 {
        let fetch = if version >= 13 {
            Fetch::default().and_id(topic.id, vec![fetch_row(0, 5)])
        } else {
            Fetch::of(&topic.name, vec![fetch_row(0, 5)])
        };
        let row = connection.fetched(version, &fetch);
        assert_eq!(row.error_code, 0, "Fetch v{version}");
        assert_eq!(records_of(&row)[0], (5, "v8".to_owned()), "Fetch v{version}");
        assert_eq!(records_of(&row).len(), 6, "Fetch v{version}");
        assert_eq!(row.high_watermark, 11, "Fetch v{version}");
        assert_eq!(row.log_start_offset, if version >= 5 { 0 } else { -1 }, "Fetch v{version}");
    }
}

#[test]
fn offsets_outside_of_the_log_are_refused_and_its_end_is_empty() {
    let broker = shared();
    let topic = broker.topic("outside", 1, &[]);
    let mut connection = broker.connect();
    connection.append(&topic.name, 0, batch(&["a", "b", "c"]));
    assert_eq!(connection.delete_records(&topic.name, 0, 1).error_code, 0);
    for (offset, expected) in
        [(-1, 1), (0, OFFSET_OUT_OF_RANGE), (1, 0), (3, 0), (4, OFFSET_OUT_OF_RANGE), (i64::MAX, 1)]
    {
        let row = connection.fetched(FETCH, &Fetch::of(&topic.name, vec![fetch_row(0, offset)]));
        assert_eq!(row.error_code, expected, "offset {offset}");
        if expected != 0 {
            let marks = (row.high_watermark, row.last_stable_offset, row.log_start_offset, len(&row));
            assert_eq!(marks, (-1, -1, -1, 0), "offset {offset}");
        }
    }
}

#[test]
fn what_is_not_there_is_said_at_once() {
    let broker = shared();
    let topic = broker.topic("not-there", 1, &[]);
    let mut connection = broker.connect();
    let started = now_ms();
    let fetch = Fetch::of(&topic.name, vec![fetch_row(7, 0)]).and(&unique("absent"), vec![fetch_row(0, 0)]);
    let response = connection.call::<FetchRequest>(FETCH, &fetch.wait(1, 15_000).0);
    let codes: Vec<_> = rows_of(&response).iter().map(|(_, row)| row.error_code).collect();
    assert_eq!(codes, [UNKNOWN_TOPIC_OR_PARTITION; 2]);
    let fetch = Fetch::of(&topic.name, vec![fetch_row(0, 9)]).wait(1, 15_000);
    assert_eq!(connection.fetched(FETCH, &fetch).error_code, OFFSET_OUT_OF_RANGE);
    assert!(now_ms() - started < 10_000, "an error does not wait for data");
}

#[test]
fn an_unknown_topic_id_has_a_row_with_a_code() {
    let broker = shared();
    let mut connection = broker.connect();
    let unknown = uuid::Uuid::from_u128(0x1234_5678_9abc_4def_8123_4567_89ab_cdef);
    for version in [13, 16, 18] {
        let row = connection.fetched(version, &Fetch::default().and_id(unknown, vec![fetch_row(0, 0)]));
        assert_eq!((row.error_code, len(&row)), (100, 0), "v{version}");
    }
}

#[test]
fn a_waiting_fetch_is_woken_by_the_bytes_that_it_waits_for() {
    let broker = shared();
    let topic = broker.topic("woken", 1, &[]);
    let (mut consumer, mut producer) = (broker.connect(), broker.connect());
    let started = now_ms();
    let size = batch(&["a"]).len() as i32;
    let poll = Fetch::of(&topic.name, vec![fetch_row(0, 0)]).wait(2 * size, 15_000).0;
    let asked = consumer.start::<FetchRequest>(FETCH, &poll);
    producer.append(&topic.name, 0, batch(&["a"]));
    producer.append(&topic.name, 0, batch(&["b"]));
    let response = consumer.finish::<FetchRequest>(FETCH, asked);
    assert_eq!(len(&rows_of(&response)[0].1), 2 * size as usize, "both batches, or it was woken too early");
    assert!(now_ms() - started < 10_000, "it slept on");
}

#[test]
fn a_fetch_that_gets_too_little_comes_back_with_it_at_its_time() {
    let broker = shared();
    let topic = broker.topic("too-little", 1, &[]);
    let mut connection = broker.connect();
    connection.append(&topic.name, 0, batch(&["a"]));
    let started = now_ms();
    let row = connection.fetched(FETCH, &Fetch::of(&topic.name, vec![fetch_row(0, 0)]).wait(1 << 20, 200));
    assert_eq!(records_of(&row).len(), 1);
    assert!((190..10_000).contains(&(now_ms() - started)), "{} ms", now_ms() - started);
}

#[test]
fn a_fetch_that_waits_hears_that_its_topic_is_deleted() {
    let broker = shared();
    let topic = broker.topic("deleted", 1, &[]);
    let (mut consumer, mut other) = (broker.connect(), broker.connect());
    let poll = Fetch::of(&topic.name, vec![fetch_row(0, 0)]).wait(1, 15_000).0;
    let started = now_ms();
    let asked = consumer.start::<FetchRequest>(FETCH, &poll);
    let request = DeleteTopicsRequest::default().with_topic_names(vec![name(&topic.name)]).with_timeout_ms(10_000);
    assert_eq!(other.call(5, &request).responses[0].error_code, 0);
    let response = consumer.finish::<FetchRequest>(FETCH, asked);
    assert_eq!(rows_of(&response)[0].1.error_code, UNKNOWN_TOPIC_OR_PARTITION);
    assert!(now_ms() - started < 10_000, "it slept on");
}

#[test]
fn a_partition_named_twice_has_one_row_and_the_later_entry_counts() {
    let broker = shared();
    let topic = broker.topic("named-twice", 1, &[]);
    let mut connection = broker.connect();
    connection.append(&topic.name, 0, batch(&["a"]));
    connection.append(&topic.name, 0, batch(&["b"]));
    let row = connection.fetched(FETCH, &Fetch::of(&topic.name, vec![fetch_row(0, 0), fetch_row(0, 1)]));
    assert_eq!(records_of(&row), [(1, "b".to_owned())]);
}

#[test]
fn aborted_transactions_are_listed_for_those_who_skip_them() {
    let broker = shared();
    let topic = broker.topic("aborted", 1, &[]);
    let mut connection = broker.connect();
    connection.append(&topic.name, 0, batch(&["a"]));
    let mut fetch = Fetch::of(&topic.name, vec![fetch_row(0, 0)]);
    assert_eq!(connection.fetched(FETCH, &fetch).aborted_transactions, None, "read_uncommitted: null");
    fetch.0.isolation_level = 1;
    let row = connection.fetched(FETCH, &fetch);
    assert_eq!(row.aborted_transactions.as_deref(), Some(&[][..]), "read_committed: empty");
    assert_eq!((records_of(&row).len(), row.last_stable_offset), (1, 1));
}

#[test]
fn limits_and_levels_that_make_no_sense_are_an_error_of_the_partition() {
    let broker = shared();
    let topic = broker.topic("no-sense", 1, &[]);
    let mut connection = broker.connect();
    connection.append(&topic.name, 0, batch(&["a"]));
    let plain = Fetch::of(&topic.name, vec![fetch_row(0, 0)]);
    let of_partition = Fetch::of(&topic.name, vec![fetch_row(0, 0).with_partition_max_bytes(-1)]);
    let mut level = plain.clone();
    level.0.isolation_level = 2;
    for (what, fetch, at_the_top) in [
        ("of the partition", of_partition, 0),
        ("of the answer", plain.clone().max_bytes(-1), 0),
        ("level 2", level, -1),
    ] {
        let response = connection.call::<FetchRequest>(FETCH, &fetch.0);
        let codes: Vec<_> = rows_of(&response).iter().map(|(_, row)| row.error_code).collect();
        assert_eq!((response.error_code, codes), (at_the_top, vec![-1]), "{what}");
    }
    // From v13 on the top level is all there is.
    let mut level = Fetch::default().and_id(topic.id, vec![fetch_row(0, 0)]);
    level.0.isolation_level = 2;
    let response = connection.call::<FetchRequest>(13, &level.0);
    assert_eq!((response.error_code, response.responses.len()), (-1, 0));
}

#[test]
fn a_fetch_without_partitions_does_not_wait() {
    let broker = shared();
    let started = now_ms();
    let response = broker.connect().call::<FetchRequest>(FETCH, &Fetch::default().wait(1, 15_000).0);
    assert_eq!((response.error_code, response.responses.len()), (0, 0));
    assert!(now_ms() - started < 10_000, "there is nothing to wait for");
}

#[test]
fn large_fetches_and_produces_share_a_connection() {
    let broker = shared();
    let topic = broker.topic("pipelined", 1, &[]);
    let mut connection = broker.connect();
    let records = batch_of_bytes(1_000_000);
    for _ in 0..4 {
        connection.append(&topic.name, 0, records.clone());
    }
    let fetch = Fetch::of(&topic.name, vec![fetch_row(0, 0).with_partition_max_bytes(8 << 20)]).0;
    let started: Vec<(i32, i32)> = (0..3)
        .map(|_| {
            let fetched = connection.start::<FetchRequest>(FETCH, &fetch);
            (fetched, connection.start(PRODUCE, &produce(-1, &topic.name, 0, Some(batch(&["small"])))))
        })
        .collect();
    for (number, (fetched, produced)) in started.into_iter().enumerate() {
        let response = connection.finish::<FetchRequest>(FETCH, fetched);
        assert!(batches_of(&rows_of(&response)[0].1).len() >= 4, "fetch {number}");
        let response = connection.finish::<ProduceRequest>(PRODUCE, produced);
        assert_eq!(response.responses[0].partition_responses[0].base_offset, 4 + number as i64);
    }
}
