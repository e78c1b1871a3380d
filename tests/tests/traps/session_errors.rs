//! Fetch sessions that are lost, skipped, mixed up, closed or refused for lack of room.

use ballast_tests::raw::rows::{FETCH, records_of, rows_of};
use ballast_tests::raw::{Connection, Fetch, batch, fetch_row};
use ballast_tests::target::{Topic, shared, with};
use kafka_protocol::messages::{FetchRequest, FetchResponse};

const FETCH_SESSION_ID_NOT_FOUND: i16 = 70;
const INVALID_FETCH_SESSION_EPOCH: i16 = 71;
const FETCH_SESSION_TOPIC_ID_ERROR: i16 = 106;

fn open(connection: &mut Connection, topic: &Topic) -> i32 {
    let fetch = Fetch::of(&topic.name, vec![fetch_row(0, 0)]).session(0, 0);
    connection.call::<FetchRequest>(FETCH, &fetch.0).session_id
}

fn incremental(connection: &mut Connection, id: i32, epoch: i32) -> FetchResponse {
    connection.call::<FetchRequest>(FETCH, &Fetch::default().session(id, epoch).0)
}

fn assert_refused(response: &FetchResponse, code: i16, what: &str) {
    assert_eq!((response.error_code, response.session_id), (code, 0), "{what}");
    assert!(response.responses.is_empty(), "{what}: {response:?}");
}

#[test]
fn a_skipped_or_repeated_epoch_is_refused_and_leaves_the_session_as_it_was() {
    let broker = shared();
    let topic = broker.topic("epochs", 1, &[]);
    let mut connection = broker.connect();
    let id = open(&mut connection, &topic);
    assert_eq!(incremental(&mut connection, id, 1).error_code, 0);
    for wrong in [1, 3, i32::MAX] {
        let response = incremental(&mut connection, id, wrong);
        assert_refused(&response, INVALID_FETCH_SESSION_EPOCH, &format!("epoch {wrong} where 2 is next"));
    }
    assert_eq!(incremental(&mut connection, id, 2).error_code, 0);
}

#[test]
fn a_session_that_nobody_opened_is_not_found() {
    let broker = shared();
    let topic = broker.topic("not-found", 1, &[]);
    let mut connection = broker.connect();
    let id = open(&mut connection, &topic);
    // Ids are random: the neighbours of one are not taken.
    for (id, epoch) in [(id ^ 1, 1), (0, 1), (0, -2), (-5, 1)] {
        let response = incremental(&mut connection, id, epoch);
        assert_refused(&response, FETCH_SESSION_ID_NOT_FOUND, &format!("session {id}, epoch {epoch}"));
    }
}

#[test]
fn a_session_that_was_closed_is_not_found() {
    let broker = shared();
    let topic = broker.topic("closed", 1, &[]);
    let mut connection = broker.connect();
    let full = Fetch::of(&topic.name, vec![fetch_row(0, 0)]);

    let id = open(&mut connection, &topic);
    let last = connection.call::<FetchRequest>(FETCH, &full.clone().session(id, -1).0);
    assert_eq!((last.error_code, last.session_id, rows_of(&last).len()), (0, 0, 1), "the last fetch has no session");
    assert_refused(&incremental(&mut connection, id, 1), FETCH_SESSION_ID_NOT_FOUND, "closed by epoch -1");

    let id = open(&mut connection, &topic);
    let anew = connection.call::<FetchRequest>(FETCH, &full.session(id, 0).0);
    assert!(anew.session_id > 0 && anew.session_id != id, "{} after {id}", anew.session_id);
    assert_refused(&incremental(&mut connection, id, 1), FETCH_SESSION_ID_NOT_FOUND, "closed by a new one");
    assert_eq!(incremental(&mut connection, anew.session_id, 1).error_code, 0);
}

#[test]
fn a_session_with_nothing_left_is_closed() {
    let broker = shared();
    let topic = broker.topic("nothing-left", 1, &[]);
    let mut connection = broker.connect();
    let id = open(&mut connection, &topic);
    let last = Fetch::default().forget(&topic.name, &[0]).session(id, 1);
    let last = connection.call::<FetchRequest>(FETCH, &last.0);
    assert_eq!((last.error_code, last.session_id, last.responses.len()), (0, 0, 0));
    assert_refused(&incremental(&mut connection, id, 2), FETCH_SESSION_ID_NOT_FOUND, "nothing was left in it");
}

#[test]
fn a_session_by_names_does_not_take_ids_nor_the_reverse() {
    let broker = shared();
    let topic = broker.topic("mixed", 1, &[]);
    let mut connection = broker.connect();
    let by_id = || Fetch::default().and_id(topic.id, vec![fetch_row(0, 0)]);
    let named = open(&mut connection, &topic);
    let response = connection.call::<FetchRequest>(16, &by_id().session(named, 1).0);
    assert_refused(&response, FETCH_SESSION_TOPIC_ID_ERROR, "ids in a session by names");
    assert_eq!(incremental(&mut connection, named, 1).error_code, 0, "the session is as it was");

    let numbered = connection.call::<FetchRequest>(16, &by_id().session(0, 0).0).session_id;
    let fetch = Fetch::of(&topic.name, vec![fetch_row(0, 0)]).session(numbered, 1);
    let response = connection.call::<FetchRequest>(FETCH, &fetch.0);
    assert_refused(&response, FETCH_SESSION_TOPIC_ID_ERROR, "names in a session by ids");
    let response = connection.call::<FetchRequest>(16, &Fetch::default().session(numbered, 1).0);
    assert_eq!(response.error_code, 0, "the session is as it was");
}

#[test]
fn an_empty_session_may_be_opened() {
    let broker = shared();
    let mut connection = broker.connect();
    let response = connection.call::<FetchRequest>(FETCH, &Fetch::default().session(0, 0).0);
    assert!(response.error_code == 0 && response.session_id > 0, "{response:?}");
}

#[test]
fn a_full_cache_still_serves_everybody() {
    let Some(broker) = with(&["max.incremental.fetch.session.cache.slots=8"]) else { return };
    let topic = broker.topic("full-cache", 1, &[]);
    let mut connection = broker.connect();
    connection.append(&topic.name, 0, batch(&["a"]));
    let mut opened = Vec::new();
    let refused = (0..40).find_map(|_| {
        let fetch = Fetch::of(&topic.name, vec![fetch_row(0, 0)]).session(0, 0);
        let response = connection.call::<FetchRequest>(FETCH, &fetch.0);
        assert_eq!(response.error_code, 0);
        assert_eq!(records_of(&rows_of(&response)[0].1).len(), 1, "with or without a session, the data is there");
        if response.session_id == 0 {
            return Some(response);
        }
        opened.push(response.session_id);
        None
    });
    assert!(refused.is_some(), "40 sessions fit into 8 slots");
    for id in opened {
        assert_eq!(incremental(&mut connection, id, 1).error_code, 0, "session {id} was driven out within its time");
    }
}
