//! Sessions, stepped against a list as a leader keeps it.

use super::*;

fn key(topic: u8, index: i32) -> Key {
    (Uuid([topic; 16]), index)
}

fn row(index: i32, offset: i64) -> FetchPartition {
    FetchPartition::new(index, offset, 1000)
}

/// Topic, partition, offset.
type Row = (u8, i32, i64);

/// What a request asks for and forgets.
fn said(asking: &Asking) -> (Vec<Row>, Vec<(u8, i32)>) {
    let rows = |topic: &FetchTopic<'_>| {
        let id = topic.id.0[0];
        topic.partitions.iter().map(|row| (id, row.index, row.fetch_offset)).collect::<Vec<_>>()
    };
    let gone = asking.forgotten.iter().flat_map(|topic| topic.partitions.iter().map(|index| (topic.id.0[0], *index)));
    (asking.topics.iter().flat_map(rows).collect(), gone.collect())
}

fn in_session() -> Session {
    let mut session = Session::default();
    session.ask(key(1, 0), row(0, 5));
    session.ask(key(1, 1), row(1, 6));
    session.ask(key(2, 0), row(0, 7));
    let first = session.request();
    assert_eq!((first.session_id, first.session_epoch), (0, 0));
    assert_eq!(said(&first), (vec![(1, 0, 5), (1, 1, 6), (2, 0, 7)], vec![]));
    assert_eq!(first.topics.len(), 2, "partitions of a topic share its entry");
    session.taken(44);
    session
}

#[test]
fn a_session_names_what_changed_and_forgets_what_is_not_asked_any_more() {
    let mut session = in_session();
    session.ask(key(1, 1), row(1, 9));
    session.ask(key(2, 0), row(0, 7));
    session.drop_question(key(1, 0));
    let second = session.request();
    assert_eq!((second.session_id, second.session_epoch), (44, 1));
    assert_eq!(said(&second), (vec![(1, 1, 9)], vec![(1, 0)]), "2-0 stands as it was");
    session.taken(44);
    let third = session.request();
    assert_eq!((third.session_epoch, said(&third)), (2, (vec![], vec![])));
}

#[test]
fn what_was_dropped_and_is_asked_again_alike_needs_no_word() {
    let mut session = in_session();
    session.drop_question(key(1, 0));
    session.ask(key(1, 0), row(0, 5));
    assert_eq!(said(&session.request()), (vec![], vec![]));
}

#[test]
fn a_question_that_changed_before_it_was_sent_is_forgotten_if_the_leader_has_an_older_one() {
    let mut session = in_session();
    session.ask(key(1, 0), row(0, 8));
    session.drop_question(key(1, 0));
    session.ask(key(3, 0), row(0, 1));
    session.drop_question(key(3, 0));
    assert_eq!(said(&session.request()), (vec![], vec![(1, 0)]), "the leader never heard of 3-0");
}

#[test]
fn after_a_loss_everything_is_asked_again() {
    let mut session = in_session();
    session.drop_question(key(1, 0));
    session.lost();
    let again = session.request();
    assert_eq!((again.session_id, again.session_epoch), (44, 0), "the old one is closed with it");
    assert_eq!(said(&again), (vec![(1, 1, 6), (2, 0, 7)], vec![]));
}

#[test]
fn an_unknown_session_is_not_named_again_and_a_wrong_epoch_closes_it() {
    for (code, id, stands) in [(70, 0, true), (71, 44, true), (106, 44, true), (31, 44, false)] {
        let mut session = in_session();
        assert_eq!(session.refused(code), stands, "{code}");
        let again = session.request();
        assert_eq!((again.session_id, again.session_epoch, said(&again).0.len()), (id, 0, 3), "{code}");
    }
}

#[test]
fn without_sessions_every_request_is_full_and_begins_behind_who_gave_last() {
    let mut session = Session::default();
    for index in 0..4 {
        session.ask(key(1, index), row(index, 0));
    }
    session.request();
    session.taken(0);
    session.gave(key(1, 1));
    let second = session.request();
    assert_eq!((second.session_id, second.session_epoch), (0, 0));
    let order: Vec<i32> = said(&second).0.iter().map(|(_, index, _)| *index).collect();
    assert_eq!(order, [2, 3, 0, 1]);
}

#[test]
fn epochs_go_around_zero() {
    let mut session = in_session();
    session.epoch = i32::MAX;
    session.taken(44);
    assert_eq!(session.request().session_epoch, 1);
}

#[test]
fn the_leaders_list_is_what_is_asked_after_any_order_of_events() {
    // A small generator: the events matter, not their quality.
    let mut state = 7u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let (mut session, mut list) = (Session::default(), BTreeMap::<Key, i64>::new());
    let mut asked = BTreeMap::<Key, i64>::new();
    for _ in 0..5_000 {
        let one = key(random(3) as u8, random(4) as i32);
        match random(8) {
            0..4 => {
                let offset = random(3) as i64;
                session.ask(one, row(one.1, offset));
                asked.insert(one, offset);
            }
            4 | 5 => {
                session.drop_question(one);
                asked.remove(&one);
            }
            6 => session.lost(),
            _ => {
                let asking = session.request();
                if asking.session_epoch == FIRST {
                    list.clear();
                }
                for topic in &asking.forgotten {
                    list.retain(|(id, index), _| *id != topic.id || !topic.partitions.contains(index));
                }
                for topic in &asking.topics {
                    list.extend(topic.partitions.iter().map(|row| ((topic.id, row.index), row.fetch_offset)));
                }
                assert_eq!(list, asked);
                session.taken(if random(4) == 0 { 0 } else { 9 });
            }
        }
    }
}
