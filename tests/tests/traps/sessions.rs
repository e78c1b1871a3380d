//! Fetch sessions: only what changed comes back, and nothing that changed is left out.

use std::sync::Arc;

use ballast_tests::raw::rows::{FETCH, eventually, records_of, rows_of};
use ballast_tests::raw::{Connection, Fetch, batch, fetch_row, name};
use ballast_tests::target::{Broker, Topic, shared};
use kafka_protocol::messages::create_partitions_request::CreatePartitionsTopic;
use kafka_protocol::messages::fetch_response::PartitionData;
use kafka_protocol::messages::{CreatePartitionsRequest, FetchRequest};

/// A session over the first partitions of a topic.
struct Session {
    // Runs as long as somebody holds it.
    _broker: Arc<Broker>,
    connection: Connection,
    topic: Topic,
    id: i32,
    epoch: i32,
}

impl Session {
    /// Opens one by a full fetch of `partitions`, from offset 0, and gives it with the rows of the answer.
    fn open(topic: Topic, partitions: i32) -> (Session, Vec<PartitionData>) {
        let broker = shared();
        let mut connection = broker.connect();
        let rows = (0..partitions).map(|partition| fetch_row(partition, 0)).collect();
        let response = connection.call::<FetchRequest>(FETCH, &Fetch::of(&topic.name, rows).session(0, 0).0);
        assert_eq!(response.error_code, 0);
        assert!(response.session_id > 0, "a session has a positive id: {}", response.session_id);
        let rows = rows_of(&response).into_iter().map(|(_, row)| row).collect();
        (Session { _broker: broker, connection, topic, id: response.session_id, epoch: 0 }, rows)
    }

    /// The rows of the next incremental fetch.
    fn next(&mut self, fetch: Fetch) -> Vec<PartitionData> {
        self.epoch += 1;
        let response = self.connection.call::<FetchRequest>(FETCH, &fetch.session(self.id, self.epoch).0);
        assert_eq!((response.error_code, response.session_id), (0, self.id), "epoch {}", self.epoch);
        rows_of(&response).into_iter().map(|(_, row)| row).collect()
    }

    /// As `next`, asking for nothing new.
    fn unchanged(&mut self) -> Vec<PartitionData> {
        self.next(Fetch::default())
    }

    /// A change of one partition's position.
    fn at(&self, partition: i32, offset: i64) -> Fetch {
        Fetch::of(&self.topic.name, vec![fetch_row(partition, offset)])
    }
}

fn indexes(rows: &[PartitionData]) -> Vec<i32> {
    rows.iter().map(|row| row.partition_index).collect()
}

#[test]
fn a_session_begins_with_every_partition_and_goes_on_with_those_that_changed() {
    let broker = shared();
    let (mut session, rows) = Session::open(broker.topic("session", 3, &[]), 3);
    assert_eq!(indexes(&rows), [0, 1, 2]);
    assert_eq!(indexes(&session.unchanged()), [0; 0], "nothing changed");

    let topic = session.topic.name.clone();
    broker.connect().append(&topic, 1, batch(&["a"]));
    let rows = session.unchanged();
    assert_eq!(indexes(&rows), [1]);
    assert_eq!(records_of(&rows[0]), [(0, "a".to_owned())]);
    let rows = session.unchanged();
    assert_eq!(indexes(&rows), [1], "a position that did not move is served again");
    assert_eq!(indexes(&session.next(session.at(1, 1))), [0; 0], "read to the end, and nothing new");
}

#[test]
fn a_new_start_of_the_log_is_news() {
    let broker = shared();
    let topic = broker.topic("start-moves", 2, &[]);
    broker.connect().append(&topic.name, 0, batch(&["a", "b"]));
    let (mut session, _) = Session::open(topic, 2);
    session.next(session.at(0, 2));
    assert_eq!(indexes(&session.unchanged()), [0; 0]);
    let topic = session.topic.name.clone();
    assert_eq!(broker.connect().delete_records(&topic, 0, 2).low_watermark, 2);
    let rows = session.unchanged();
    assert_eq!(indexes(&rows), [0]);
    assert_eq!((rows[0].log_start_offset, records_of(&rows[0]).len()), (2, 0));
    assert_eq!(indexes(&session.unchanged()), [0; 0], "told once");
}

#[test]
fn a_new_high_watermark_is_news_even_if_there_is_no_room_for_the_records() {
    let broker = shared();
    let (mut session, _) = Session::open(broker.topic("watermark-moves", 2, &[]), 2);
    let topic = session.topic.name.clone();
    for partition in [0, 1] {
        broker.connect().append(&topic, partition, batch(&["a"]));
    }
    let rows = session.next(Fetch::default().max_bytes(1));
    let seen: Vec<_> =
        rows.iter().map(|row| (row.partition_index, row.high_watermark, records_of(row).len())).collect();
    assert_eq!(seen, [(0, 1, 1), (1, 1, 0)]);
    let rows = session.next(Fetch::default().max_bytes(1));
    assert_eq!(indexes(&rows), [1], "who got records goes to the end of the line, and no watermark has moved since");
    assert_eq!(records_of(&rows[0]).len(), 1);
}

#[test]
fn an_error_is_told_each_time_and_so_is_its_end() {
    let broker = shared();
    let topic = broker.topic("mended", 1, &[]);
    let (mut session, rows) = Session::open(topic, 2);
    assert_eq!(rows.iter().map(|row| row.error_code).collect::<Vec<_>>(), [0, 3]);
    for _ in 0..2 {
        let rows = session.unchanged();
        assert_eq!((indexes(&rows), rows[0].error_code), (vec![1], 3), "an error is told each time");
    }
    let grown =
        CreatePartitionsTopic::default().with_name(name(&session.topic.name)).with_count(2).with_assignments(None);
    let request = CreatePartitionsRequest::default().with_topics(vec![grown]).with_timeout_ms(10_000);
    assert_eq!(broker.connect().call(3, &request).results[0].error_code, 0);
    let row = eventually("the partition is there", || {
        let mut rows = session.unchanged();
        assert_eq!(indexes(&rows), [1], "it is told until it is mended, and when it is");
        (rows[0].error_code == 0).then(|| rows.remove(0))
    });
    assert_eq!(row.high_watermark, 0);
    assert_eq!(indexes(&session.unchanged()), [0; 0], "mended is told once");
}

#[test]
fn an_offset_out_of_range_is_told_each_time_until_the_client_moves() {
    let broker = shared();
    let (mut session, _) = Session::open(broker.topic("out-of-range", 1, &[]), 1);
    assert_eq!(session.next(session.at(0, 5))[0].error_code, 1);
    assert_eq!(session.unchanged()[0].error_code, 1);
    let rows = session.next(session.at(0, 0));
    assert_eq!((indexes(&rows), rows[0].error_code), (vec![0], 0), "well again is news");
    assert_eq!(indexes(&session.unchanged()), [0; 0]);
}

#[test]
fn a_forgotten_partition_stays_away_until_it_is_asked_for_again() {
    let broker = shared();
    let (mut session, _) = Session::open(broker.topic("forgotten", 2, &[]), 2);
    let topic = session.topic.name.clone();
    assert_eq!(indexes(&session.next(Fetch::default().forget(&topic, &[1]))), [0; 0]);
    for partition in [0, 1] {
        broker.connect().append(&topic, partition, batch(&["a"]));
    }
    assert_eq!(indexes(&session.unchanged()), [0]);
    let mut rows = indexes(&session.next(session.at(1, 0)));
    rows.sort_unstable();
    assert_eq!(rows, [0, 1], "asked for again");
}

#[test]
fn a_session_waits_for_news() {
    let broker = shared();
    let (mut session, _) = Session::open(broker.topic("waits", 2, &[]), 2);
    session.epoch += 1;
    let poll = Fetch::default().session(session.id, session.epoch).wait(1, 15_000).0;
    let asked = session.connection.start::<FetchRequest>(FETCH, &poll);
    let started = ballast_tests::raw::now_ms();
    broker.connect().append(&session.topic.name, 1, batch(&["a"]));
    let response = session.connection.finish::<FetchRequest>(FETCH, asked);
    let rows: Vec<_> = rows_of(&response).into_iter().map(|(_, row)| row).collect();
    assert_eq!(indexes(&rows), [1]);
    assert!(ballast_tests::raw::now_ms() - started < 10_000, "it slept on");
}

#[test]
fn a_session_by_topic_ids_works_as_one_by_names() {
    let broker = shared();
    let topic = broker.topic("by-id", 2, &[]);
    let mut connection = broker.connect();
    let full = Fetch::default().and_id(topic.id, vec![fetch_row(0, 0), fetch_row(1, 0)]).session(0, 0);
    let opened = connection.call::<FetchRequest>(16, &full.0);
    assert!(opened.session_id > 0 && rows_of(&opened).len() == 2, "{opened:?}");
    let next = connection.call::<FetchRequest>(16, &Fetch::default().session(opened.session_id, 1).0);
    assert_eq!((next.error_code, next.responses.len()), (0, 0));
    connection.append(&topic.name, 1, batch(&["a"]));
    let next = connection.call::<FetchRequest>(16, &Fetch::default().session(opened.session_id, 2).0);
    assert_eq!(rows_of(&next).iter().map(|(_, row)| row.partition_index).collect::<Vec<_>>(), [1]);
    assert_eq!(next.responses[0].topic_id, topic.id);
}

#[test]
fn a_session_outlives_its_connection() {
    let broker = shared();
    let (mut session, _) = Session::open(broker.topic("outlives", 1, &[]), 1);
    session.connection = broker.connect();
    assert_eq!(indexes(&session.unchanged()), [0; 0]);
}
