//! Idempotent producers: what a resent batch, a gap, a new epoch and the end of the numbers get.

use std::sync::Arc;

use ballast_tests::raw::batches::idempotent;
use ballast_tests::raw::rows::{PRODUCE, records_of};
use ballast_tests::raw::{Connection, batch, text};
use ballast_tests::target::{Broker, Topic, shared};
use kafka_protocol::ResponseError;
use kafka_protocol::messages::{ApiVersionsRequest, EndTxnRequest, InitProducerIdRequest, ProduceRequest};
use kafka_protocol::protocol::Request as _;

const OUT_OF_ORDER_SEQUENCE_NUMBER: i16 = 45;
const INVALID_PRODUCER_EPOCH: i16 = 47;

/// One idempotent producer and its partition.
struct Rig {
    // Runs as long as somebody holds it.
    _broker: Arc<Broker>,
    connection: Connection,
    topic: Topic,
    producer: i64,
}

fn rig() -> Rig {
    let broker = shared();
    let mut connection = broker.connect();
    let producer = connection.producer().0;
    let topic = broker.topic("idempotent", 1, &[]);
    Rig { _broker: broker, connection, topic, producer }
}

impl Rig {
    /// Sends records with the sequence numbers from `first` on: the code and the base offset of the answer.
    fn send(&mut self, epoch: i16, first: i32, records: usize) -> (i16, i64) {
        let values: Vec<String> = (0..records).map(|at| format!("{epoch}:{first}+{at}")).collect();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        let batch = idempotent((self.producer, epoch), first, &values);
        let row = self.connection.produce(PRODUCE, &self.topic.name, 0, batch);
        (row.error_code, row.base_offset)
    }

    fn end(&mut self) -> i64 {
        self.connection.bounds(&self.topic.name, 0).1
    }
}

#[test]
fn each_of_the_last_five_batches_may_be_sent_again_and_the_sixth_may_not() {
    let mut rig = rig();
    for number in 0..6 {
        assert_eq!(rig.send(0, number * 2, 2), (0, i64::from(number) * 2));
    }
    for number in 1..6 {
        assert_eq!(rig.send(0, number * 2, 2), (0, i64::from(number) * 2), "batch {number} again");
    }
    assert_eq!(rig.send(0, 0, 2), (OUT_OF_ORDER_SEQUENCE_NUMBER, -1), "the sixth-last again");
    assert_eq!(rig.end(), 12, "nothing was appended twice");
}

#[test]
fn a_batch_that_overlaps_an_old_one_is_no_duplicate() {
    let mut rig = rig();
    assert_eq!(rig.send(0, 0, 3), (0, 0));
    for (first, records) in [(0, 2), (1, 2), (2, 2), (0, 4)] {
        let answer = rig.send(0, first, records);
        assert_eq!(answer, (OUT_OF_ORDER_SEQUENCE_NUMBER, -1), "{records} records from {first}");
    }
    assert_eq!(rig.send(0, 3, 1), (0, 3));
}

#[test]
fn a_gap_is_out_of_order_and_the_missing_batch_mends_it() {
    let mut rig = rig();
    assert_eq!(rig.send(0, 0, 1), (0, 0));
    assert_eq!(rig.send(0, 2, 1), (OUT_OF_ORDER_SEQUENCE_NUMBER, -1));
    assert_eq!(rig.send(0, 1, 1), (0, 1));
    assert_eq!(rig.send(0, 2, 1), (0, 2));
}

#[test]
fn the_number_after_the_last_is_zero() {
    let mut rig = rig();
    assert_eq!(rig.send(0, i32::MAX, 1), (0, 0), "a producer that the broker does not know may begin anywhere");
    assert_eq!(rig.send(0, 0, 1), (0, 1));
    assert_eq!(rig.send(0, 1, 1), (0, 2));
}

#[test]
fn a_batch_may_straddle_the_end_of_the_numbers() {
    let mut rig = rig();
    assert_eq!(rig.send(0, i32::MAX - 1, 4), (0, 0));
    assert_eq!(rig.send(0, i32::MAX - 1, 4), (0, 0), "the same again");
    assert_eq!(rig.send(0, 2, 1), (0, 4));
}

#[test]
fn a_producer_that_the_broker_does_not_know_may_begin_anywhere() {
    let mut rig = rig();
    assert_eq!(rig.send(0, 5, 1), (0, 0));
    assert_eq!(rig.send(0, 6, 1), (0, 1));
}

#[test]
fn a_new_epoch_begins_at_zero_and_ends_the_old_one() {
    let mut rig = rig();
    assert_eq!(rig.send(0, 0, 2), (0, 0));
    assert_eq!(rig.send(1, 3, 1), (OUT_OF_ORDER_SEQUENCE_NUMBER, -1));
    assert_eq!(rig.send(1, 2, 1), (OUT_OF_ORDER_SEQUENCE_NUMBER, -1), "where the old epoch would go on");
    assert_eq!(rig.send(1, 0, 1), (0, 2));
    assert_eq!(rig.send(0, 2, 1), (INVALID_PRODUCER_EPOCH, -1));
    assert_eq!(rig.send(0, 0, 2), (INVALID_PRODUCER_EPOCH, -1), "not even a duplicate");
    assert_eq!(rig.send(1, 0, 1), (0, 2));
}

#[test]
fn an_answer_that_was_lost_is_given_again() {
    let mut rig = rig();
    let records = idempotent((rig.producer, 0), 0, &["a", "b", "c", "d", "e"]);
    let request = ballast_tests::raw::messages::produce(-1, &rig.topic.name, 0, Some(records));
    let mut lost = shared().connect();
    lost.start(PRODUCE, &request);
    drop(lost);
    // On another connection, as a client does; the first may be appended before, after or not at all.
    let row = rig.connection.produced(PRODUCE, &request);
    assert_eq!((row.error_code, row.base_offset), (0, 0));
    for version in [3, 8, 9] {
        let row = rig.connection.produced(version, &request);
        assert_eq!((row.error_code, row.base_offset), (0, 0), "v{version}");
    }
    let stored = rig.connection.fetch(&rig.topic.name, 0, 0);
    assert_eq!(records_of(&stored).len(), 5, "each record is there once");
}

#[test]
fn pipelined_batches_take_effect_in_the_order_in_which_they_were_sent() {
    let mut rig = rig();
    let requests: Vec<ProduceRequest> = (0..5)
        .map(|sequence| {
            let records = idempotent((rig.producer, 0), sequence, &[&format!("{sequence}")]);
            ballast_tests::raw::messages::produce(-1, &rig.topic.name, 0, Some(records))
        })
        .collect();
    let sent: Vec<i32> = requests.iter().map(|request| rig.connection.start(PRODUCE, request)).collect();
    for (expected, correlation_id) in sent.into_iter().enumerate() {
        let response = rig.connection.finish::<ProduceRequest>(PRODUCE, correlation_id);
        let row = &response.responses[0].partition_responses[0];
        assert_eq!((row.error_code, row.base_offset), (0, expected as i64));
    }
}

#[test]
fn producers_do_not_disturb_each_other_nor_those_without_an_id() {
    let mut rig = rig();
    let other = rig.connection.producer().0;
    assert_ne!(rig.producer, other, "ids are given out once");
    assert_eq!(rig.send(0, 0, 1), (0, 0));
    assert_eq!(rig.connection.append(&rig.topic.name, 0, idempotent((other, 0), 0, &["other"])), 1);
    assert_eq!(rig.connection.append(&rig.topic.name, 0, batch(&["plain"])), 2);
    assert_eq!(rig.send(0, 1, 1), (0, 3));
    assert_eq!(rig.send(0, 0, 1), (0, 0));
}

#[test]
fn an_idempotent_producer_may_ask_for_one_acknowledgement_only() {
    let mut rig = rig();
    let records = idempotent((rig.producer, 0), 0, &["a"]);
    let request = ballast_tests::raw::messages::produce(1, &rig.topic.name, 0, Some(records));
    for _ in 0..2 {
        let row = rig.connection.produced(PRODUCE, &request);
        assert_eq!((row.error_code, row.base_offset), (0, 0));
    }
    assert_eq!(rig.end(), 1);
}

#[test]
fn producer_ids_are_new_each_time_and_in_every_version() {
    let broker = shared();
    let mut connection = broker.connect();
    connection.producer();
    let mut seen = Vec::new();
    for version in 0..=5 {
        let request = InitProducerIdRequest::default().with_transactional_id(None).with_transaction_timeout_ms(60_000);
        let fresh = request.with_producer_id((-1).into()).with_producer_epoch(-1);
        let answer = connection.call(version, &fresh);
        assert_eq!((answer.error_code, answer.producer_epoch), (0, 0), "v{version}");
        assert!(answer.producer_id.0 >= 0 && !seen.contains(&answer.producer_id.0), "v{version}: {answer:?}");
        seen.push(answer.producer_id.0);
    }
}

#[test]
fn a_transactional_id_is_refused_for_good_until_there_are_transactions() {
    let broker = shared();
    let mut connection = broker.connect();
    let ask = |connection: &mut Connection, id: &str, timeout_ms| {
        let request = InitProducerIdRequest::default()
            .with_transactional_id(Some(text(id).into()))
            .with_transaction_timeout_ms(timeout_ms)
            .with_producer_id((-1).into())
            .with_producer_epoch(-1);
        connection.call(4, &request).error_code
    };
    assert_eq!(ask(&mut connection, "", 60_000), 42, "an empty one");
    let listed = connection.call(0, &ApiVersionsRequest::default()).api_keys;
    if listed.iter().any(|entry| entry.api_key == EndTxnRequest::KEY) {
        assert_eq!(ask(&mut connection, "tests", i32::MAX), 50, "a timeout above transaction.max.timeout.ms");
        assert_eq!(ask(&mut connection, "tests", 0), 50, "no timeout");
    } else {
        let code = ask(&mut connection, "tests", 60_000);
        assert!(ResponseError::try_from_code(code).is_some_and(|error| !error.is_retriable()), "{code}");
    }
}
