//! Fetch (key 1) in sessions, version 7 and later: what comes again, and every way to be out of step.

use ballast_tests::raw::{Fetch, fetch_row};
use ballast_tests::target::Topic;
use ballast_wire::frame::ApiKey;
use kafka_protocol::messages::FetchRequest;

use super::fetch::{IDS, ask, named};
use crate::case::{Case, Meets, accepted, refused};
use crate::side::Side;

const KEY: ApiKey = ApiKey::FETCH;

pub(crate) const CASES: &[Case] = &[
    accepted(KEY, "a session and what changes in it", changes).from(7),
    accepted(KEY, "a session that forgets a partition", |side, v| {
        let (topic, id) = open(side, v);
        ask(side, v, Fetch::default().session(id, 1).forget(&topic.name, &[0]), &topic);
    })
    .from(7),
    accepted(KEY, "a session that is closed", |side, v| {
        let (topic, id) = open(side, v);
        ask(side, v, Fetch::of(&topic.name, vec![fetch_row(0, 0)]).session(id, -1), &topic);
        ask(side, v, Fetch::default().session(id, 1), &topic);
    })
    .from(7)
    .meets(Meets::Code(70)),
    refused(KEY, 70, "a session that there is not", |side, v| {
        side.ask::<FetchRequest>(v, &Fetch::default().session(123, 1).0);
    })
    .from(7),
    refused(KEY, 71, "an epoch of a session that was skipped", |side, v| {
        let (topic, id) = open(side, v);
        ask(side, v, Fetch::default().session(id, 2), &topic);
        ask(side, v, Fetch::default().session(id, 1), &topic);
    })
    .from(7),
    refused(KEY, 106, "a session of names that is asked by ids", |side, _| {
        let (topic, id) = open(side, IDS - 1);
        ask(side, IDS, Fetch::of(&topic.name, vec![fetch_row(0, 0)]).session(id, 1), &topic);
    })
    .from(IDS)
    .to(IDS),
];

/// A session over both partitions of a topic with one record. Its opening is not compared.
fn open(side: &mut Side, v: i16) -> (Topic, i32) {
    let topic = side.fresh(2, &[]);
    let batch = side.batch_at(0, &["a"]);
    side.connection.append(&topic.name, 0, batch);
    let fetch = Fetch::of(&topic.name, vec![fetch_row(0, 0), fetch_row(1, 0)]).session(0, 0);
    let id = side.call::<FetchRequest>(v, &named(v, fetch, &topic).0).session_id;
    assert!(id > 0, "a session has a positive id");
    (topic, id)
}

fn changes(side: &mut Side, v: i16) {
    let topic = side.fresh(2, &[]);
    let batch = side.batch_at(0, &["a"]);
    side.connection.append(&topic.name, 0, batch.clone());
    let fetch = Fetch::of(&topic.name, vec![fetch_row(0, 0), fetch_row(1, 0)]).session(0, 0);
    let Some(opened) = ask(side, v, fetch, &topic) else { return };
    let id = opened.session_id;
    // The record again: the position has not moved.
    ask(side, v, Fetch::default().session(id, 1), &topic);
    ask(side, v, Fetch::of(&topic.name, vec![fetch_row(0, 1)]).session(id, 2), &topic);
    side.connection.append(&topic.name, 1, batch);
    ask(side, v, Fetch::default().session(id, 3), &topic);
    side.connection.delete_records(&topic.name, 0, 1);
    ask(side, v, Fetch::of(&topic.name, vec![fetch_row(1, 1)]).session(id, 4), &topic);
    ask(side, v, Fetch::default().session(id, 5), &topic);
}
