//! A broker that is killed at any moment: what was acknowledged is there, once, and no offset is given out twice.

use ballast_tests::process::Serve;
use ballast_tests::raw::batches::idempotent;
use ballast_tests::raw::rows::{FETCH, PRODUCE, eventually, records_of};
use ballast_tests::raw::{Connection, Fetch, batch, fetch_row};
use ballast_tests::target::shared;

/// A broker of our own, where we may kill one.
fn own() -> Option<Serve> {
    shared().is_ballast().then(|| Serve::start(&[]))
}

/// Kills the broker, starts it again and connects when the partition has its leader.
fn crash(serve: &mut Serve, topic: &str) -> Connection {
    serve.kill();
    serve.restart();
    let mut connection = Connection::open(&serve.bootstrap);
    eventually("the partition is led", || (connection.offset_at(topic, 0, -1).error_code == 0).then_some(()));
    connection
}

#[test]
fn acknowledged_records_survive_and_their_offsets_are_not_given_out_again() {
    let Some(mut serve) = own() else { return };
    let mut connection = Connection::open(&serve.bootstrap);
    connection.create_topic("t", 1, &[]);
    let mut written = Vec::new();
    for life in 0..4 {
        for number in 0..20 {
            let value = format!("life {life}, number {number}");
            let offset = connection.append("t", 0, batch(&[&value]));
            assert_eq!(offset, written.len() as i64, "{value}");
            written.push((offset, value));
        }
        // Some more in flight, of which nobody knows.
        let more = ballast_tests::raw::messages::produce(-1, "t", 0, Some(batch(&["unknown"])));
        connection.start(PRODUCE, &more);
        connection = crash(&mut serve, "t");
        let found = records_of(&connection.fetch("t", 0, 0));
        assert_eq!(found[..written.len()], written[..], "life {life}");
        // What was in flight is there or not; either way the next offset comes after it.
        written = found;
        assert_eq!(connection.bounds("t", 0), (0, written.len() as i64), "life {life}");
    }
}

#[test]
fn a_batch_sent_again_to_the_next_life_is_known() {
    let Some(mut serve) = own() else { return };
    let mut connection = Connection::open(&serve.bootstrap);
    connection.create_topic("t", 1, &[]);
    let producer = connection.producer();
    let sent: Vec<_> = (0..6).map(|number| idempotent(producer, number * 2, &["a", "b"])).collect();
    for (number, batch) in sent.iter().enumerate() {
        assert_eq!(connection.append("t", 0, batch.clone()), number as i64 * 2);
    }
    for life in 0..2 {
        connection = crash(&mut serve, "t");
        for (number, batch) in sent.iter().enumerate().skip(1) {
            assert_eq!(connection.append("t", 0, batch.clone()), number as i64 * 2, "life {life}");
        }
        assert_eq!(connection.produce(PRODUCE, "t", 0, sent[0].clone()).error_code, 45, "life {life}");
    }
    assert_eq!(connection.append("t", 0, idempotent(producer, 12, &["c"])), 12);
    assert!(connection.producer().0 > producer.0, "an id of the last life is given out again");
}

#[test]
fn topics_configs_and_deletions_survive() {
    let Some(mut serve) = own() else { return };
    let mut connection = Connection::open(&serve.bootstrap);
    let id = connection.create_topic("kept", 2, &[("max.message.bytes", "1000")]);
    connection.create_topic("t", 1, &[]);
    connection.append("t", 0, batch(&["a", "b", "c"]));
    assert_eq!(connection.delete_records("t", 0, 2).low_watermark, 2);
    let mut connection = crash(&mut serve, "t");
    assert_eq!(connection.bounds("t", 0), (2, 3), "records that were deleted do not come back");
    eventually("both partitions are led", || (connection.offset_at("kept", 1, -1).error_code == 0).then_some(()));
    let row = connection.fetched(13, &Fetch::default().and_id(id, vec![fetch_row(1, 0)]));
    assert_eq!(row.error_code, 0, "the topic is the same one");
    let row = connection.produce(PRODUCE, "kept", 0, ballast_tests::raw::batches::batch_of_bytes(1001));
    assert_eq!(row.error_code, 10, "and so are its configs");
}

#[test]
fn a_reader_that_was_ahead_of_what_survived_is_told_where_to_go_on() {
    let Some(mut serve) = own() else { return };
    let mut connection = Connection::open(&serve.bootstrap);
    connection.create_topic("t", 1, &[]);
    for value in ["a", "b", "c"] {
        connection.append("t", 0, batch(&[value]));
    }
    serve.kill();
    // As after the loss of power: the last batch did not reach the disk whole.
    let log = serve.data().join("t-0/00000000000000000000.log");
    let file = std::fs::OpenOptions::new().write(true).open(&log).unwrap();
    let size = 3 * batch(&["a"]).len() as u64;
    file.set_len(size - 5).unwrap();
    serve.restart();
    let mut connection = Connection::open(&serve.bootstrap);
    eventually("the partition is led", || (connection.offset_at("t", 0, -1).error_code == 0).then_some(()));
    assert_eq!(connection.bounds("t", 0), (0, 2), "cut at the last whole batch");
    assert_eq!(connection.append("t", 0, batch(&["another"])), 2);
    let row = fetch_row(0, 3).with_last_fetched_epoch(0);
    let told = connection.fetched(FETCH, &Fetch::of("t", vec![row]));
    assert_eq!((told.diverging_epoch.epoch, told.diverging_epoch.end_offset), (0, 2), "{told:?}");
    let values: Vec<String> = records_of(&connection.fetch("t", 0, 0)).into_iter().map(|(_, value)| value).collect();
    assert_eq!(values, ["a", "b", "another"]);
}
