//! Sessions, driven through both halves with rows that are nothing but facts.

use super::session::next_epoch;
use super::slots::UNUSED_MS_MAX;
use super::*;
use crate::machine::Tick;

struct Rig {
    sessions: FetchSessions,
    now: Tick,
    random: u32,
}

type Sent = (i32, Vec<PartitionIndex>);

impl Rig {
    fn new(slots: usize) -> Rig {
        Rig { sessions: FetchSessions::new(slots), now: 1000, random: 500 }
    }

    /// Serves a request with one row for each partition that is read; gives the session id and the partitions sent.
    fn serve(&mut self, request: Request, facts: impl Fn(PartitionIndex) -> Facts) -> Result<Sent, SessionError> {
        let fetch = self.sessions.begin(self.now, request)?;
        self.sessions.check();
        let rows = fetch.wanted().iter().map(|(key, _)| (key.clone(), facts(key.index))).collect();
        self.random += 1;
        let finished = self.sessions.finish(self.now, fetch, rows, |facts| *facts, self.random)?;
        self.sessions.check();
        Ok((finished.session_id, finished.rows.iter().map(|(key, _)| key.index).collect()))
    }

    fn open(&mut self, indexes: &[PartitionIndex]) -> i32 {
        self.serve(request(0, OPEN_EPOCH, indexes), |_| still()).unwrap().0
    }

    fn open_privileged(&mut self, indexes: &[PartitionIndex]) -> i32 {
        let request = Request { privileged: true, ..request(0, OPEN_EPOCH, indexes) };
        self.serve(request, |_| still()).unwrap().0
    }
}

fn key(index: PartitionIndex) -> PartitionKey {
    PartitionKey { topic: TopicKey::Name("t".into()), index }
}

fn wanted(fetch_offset: Offset) -> Wanted {
    Wanted {
        fetch_offset,
        max_bytes: 100,
        current_leader_epoch: -1,
        last_fetched_epoch: -1,
        log_start_offset: -1,
        high_watermark: Offset::MAX,
    }
}

fn request(session_id: i32, session_epoch: i32, indexes: &[PartitionIndex]) -> Request {
    Request {
        session_id,
        session_epoch,
        by_id: false,
        privileged: false,
        wanted: indexes.iter().map(|&index| (key(index), wanted(0))).collect(),
        forgotten: Vec::new(),
    }
}

/// Nothing has happened: high watermark 10, log start 0.
fn still() -> Facts {
    Facts { high_watermark: 10, log_start_offset: 0, has_records: false, is_error: false, must_be_sent: false }
}

fn high(high_watermark: Offset) -> Facts {
    Facts { high_watermark, ..still() }
}

fn records() -> Facts {
    Facts { has_records: true, ..still() }
}

fn error() -> Facts {
    Facts { is_error: true, high_watermark: -1, log_start_offset: -1, ..still() }
}

#[test]
fn a_full_fetch_sends_every_row_and_an_incremental_one_only_news() {
    let mut rig = Rig::new(10);
    let (id, sent) = rig.serve(request(0, OPEN_EPOCH, &[0, 1, 2]), |_| still()).unwrap();
    assert_eq!((id, sent), (501, vec![0, 1, 2]));
    assert_eq!(rig.serve(request(id, 1, &[]), |_| still()), Ok((id, vec![])), "nothing changed");
    let news = |index| match index {
        0 => high(11),
        1 => Facts { log_start_offset: 3, ..still() },
        _ => Facts { must_be_sent: true, ..still() },
    };
    assert_eq!(rig.serve(request(id, 2, &[]), news), Ok((id, vec![0, 1, 2])));
    let told = |index| if index == 2 { still() } else { news(index) };
    assert_eq!(rig.serve(request(id, 3, &[]), told), Ok((id, vec![])), "the watermark and the start were told");
}

#[test]
fn a_watermark_that_was_sent_counts_as_known_by_the_next_request() {
    let mut rig = Rig::new(10);
    let id = rig.open(&[0]);
    let mut lists_it = request(id, 1, &[0]);
    lists_it.wanted[0].1.high_watermark = 4;
    assert_eq!(rig.serve(lists_it, |_| high(9)), Ok((id, vec![0])));
    let fetch = rig.sessions.begin(rig.now, request(id, 2, &[])).unwrap();
    assert_eq!(fetch.wanted()[0].1.high_watermark, 9, "not 4, which would be news for ever");
}

#[test]
fn a_diverging_row_is_sent_again_each_time() {
    let mut rig = Rig::new(10);
    let id = rig.open(&[0]);
    let diverging = Facts { must_be_sent: true, ..still() };
    for epoch in 1..4 {
        assert_eq!(rig.serve(request(id, epoch, &[]), |_| diverging), Ok((id, vec![0])));
    }
}

#[test]
fn a_partition_is_sent_again_after_its_error_is_over() {
    let mut rig = Rig::new(10);
    let id = rig.open(&[0, 1]);
    let broken = |index| if index == 1 { error() } else { still() };
    assert_eq!(rig.serve(request(id, 1, &[]), broken), Ok((id, vec![1])));
    assert_eq!(rig.serve(request(id, 2, &[]), broken), Ok((id, vec![1])), "as long as it lasts");
    assert_eq!(rig.serve(request(id, 3, &[]), |_| still()), Ok((id, vec![1])), "the client learns that it is over");
    assert_eq!(rig.serve(request(id, 4, &[]), |_| still()), Ok((id, vec![])));
}

#[test]
fn a_partition_that_gave_records_goes_to_the_end_of_the_order() {
    let mut rig = Rig::new(10);
    let id = rig.open(&[0, 1, 2]);
    let one_gives = |index| if index == 0 { records() } else { still() };
    rig.serve(request(id, 1, &[]), one_gives).unwrap();
    let all = rig.serve(request(id, 2, &[]), |_| error()).unwrap();
    assert_eq!(all, (id, vec![1, 2, 0]));
    let changed = rig.sessions.begin(rig.now, request(id, 3, &[2])).unwrap();
    let order: Vec<_> = changed.wanted().iter().map(|(key, _)| key.index).collect();
    assert_eq!(order, [1, 2, 0], "a changed wish keeps its place");
}

#[test]
fn an_incremental_request_adds_changes_and_forgets() {
    let mut rig = Rig::new(10);
    let id = rig.open(&[0, 1]);
    let mut change = request(id, 1, &[2]);
    change.wanted.push((key(0), wanted(77)));
    change.forgotten.push(key(1));
    let fetch = rig.sessions.begin(rig.now, change).unwrap();
    assert_eq!(fetch.wanted(), [(key(0), wanted(77)), (key(2), wanted(0))]);
    rig.sessions.check();
    assert_eq!(rig.sessions.partitions(), 2);
}

#[test]
fn a_new_partition_of_a_session_is_sent_even_if_it_is_empty() {
    let mut rig = Rig::new(10);
    let id = rig.open(&[0]);
    assert_eq!(rig.serve(request(id, 1, &[5]), |_| still()), Ok((id, vec![5])));
}

#[test]
fn a_session_that_forgets_everything_is_closed() {
    let mut rig = Rig::new(10);
    let id = rig.open(&[0]);
    let forget = Request { forgotten: vec![key(0)], ..request(id, 1, &[]) };
    assert_eq!(rig.serve(forget, |_| still()), Ok((NO_SESSION, vec![])));
    assert_eq!(rig.serve(request(id, 2, &[]), |_| still()), Err(SessionError::UnknownId(id)));
}

#[test]
fn a_session_opened_without_partitions_exists() {
    let mut rig = Rig::new(10);
    let id = rig.open(&[]);
    assert_ne!(id, NO_SESSION);
    assert_eq!(rig.serve(request(id, 1, &[0]), |_| still()), Ok((id, vec![0])));
}

#[test]
fn a_skipped_or_repeated_epoch_is_refused_and_the_session_stays() {
    let mut rig = Rig::new(10);
    let id = rig.open(&[0]);
    for got in [2, i32::MAX, -2] {
        assert_eq!(rig.serve(request(id, got, &[]), |_| still()), Err(SessionError::BadEpoch { id, expected: 1, got }));
    }
    assert!(rig.serve(request(id, 1, &[]), |_| still()).is_ok());
    let repeated = rig.serve(request(id, 1, &[]), |_| still());
    assert_eq!(repeated, Err(SessionError::BadEpoch { id, expected: 2, got: 1 }));
}

#[test]
fn the_epoch_after_the_largest_is_one() {
    assert_eq!(next_epoch(i32::MAX), 1);
    assert_eq!(next_epoch(1), 2);
}

#[test]
fn unknown_ids_are_refused_and_so_is_no_id_with_an_epoch() {
    let mut rig = Rig::new(10);
    for (id, epoch) in [(9, 1), (NO_SESSION, 1), (NO_SESSION, -2)] {
        assert_eq!(rig.serve(request(id, epoch, &[0]), |_| still()), Err(SessionError::UnknownId(id)));
    }
}

#[test]
fn names_and_ids_do_not_mix_in_a_session() {
    let mut rig = Rig::new(10);
    let id = rig.open(&[0]);
    let by_id = Request { by_id: true, ..request(id, 1, &[]) };
    assert_eq!(rig.serve(by_id, |_| still()), Err(SessionError::OtherNames(id)));
    assert!(rig.serve(request(id, 1, &[]), |_| still()).is_ok(), "the session and its epoch are as they were");
}

#[test]
fn a_full_fetch_closes_the_session_that_it_names() {
    let mut rig = Rig::new(10);
    let first = rig.open(&[0]);
    let (second, _) = rig.serve(request(first, OPEN_EPOCH, &[0]), |_| still()).unwrap();
    assert_ne!(first, second);
    assert_eq!(rig.sessions.len(), 1);
    assert_eq!(rig.serve(request(second, CLOSE_EPOCH, &[0]), |_| still()), Ok((NO_SESSION, vec![0])));
    assert!(rig.sessions.is_empty());
}

#[test]
fn of_a_partition_named_twice_the_later_entry_counts() {
    let mut rig = Rig::new(10);
    let mut twice = request(0, CLOSE_EPOCH, &[0, 1]);
    twice.wanted.push((key(0), wanted(5)));
    let fetch = rig.sessions.begin(rig.now, twice).unwrap();
    assert_eq!(fetch.wanted(), [(key(0), wanted(5)), (key(1), wanted(0))]);
}

#[test]
fn without_a_free_slot_the_answer_is_full_and_without_a_session() {
    let mut rig = Rig::new(2);
    rig.open(&[0]);
    rig.open(&[0]);
    assert_eq!(rig.serve(request(0, OPEN_EPOCH, &[0, 1]), |_| still()), Ok((NO_SESSION, vec![0, 1])));
    assert_eq!(Rig::new(0).open(&[0]), NO_SESSION);
}

#[test]
fn replicas_drive_consumers_out_and_not_the_reverse() {
    let mut rig = Rig::new(8);
    for _ in 0..8 {
        assert_ne!(rig.open(&[0, 1, 2]), NO_SESSION);
    }
    for _ in 0..8 {
        assert_ne!(rig.open_privileged(&[0]), NO_SESSION);
    }
    assert_eq!((rig.sessions.len(), rig.sessions.evictions()), (8, 8));
    assert_eq!(rig.open(&[0, 1, 2, 3, 4]), NO_SESSION, "a consumer gets none back");
    assert_eq!(rig.open_privileged(&[0, 1]), NO_SESSION, "nor does a replica whose equals are fresh");
}

#[test]
fn a_session_unused_for_two_minutes_gives_up_its_slot() {
    let mut rig = Rig::new(2);
    let idle = rig.open_privileged(&[0, 1, 2]);
    let busy = rig.open(&[0]);
    rig.now += UNUSED_MS_MAX;
    rig.serve(request(busy, 1, &[]), |_| still()).unwrap();
    assert_eq!(rig.open(&[0]), NO_SESSION, "two minutes are not more than two minutes");
    rig.now += 1;
    assert_ne!(rig.open(&[0]), NO_SESSION);
    let gone = Request { privileged: true, ..request(idle, 1, &[]) };
    assert_eq!(rig.serve(gone, |_| still()), Err(SessionError::UnknownId(idle)));
}

#[test]
fn a_larger_newcomer_replaces_a_smaller_session_that_has_had_its_time() {
    let mut rig = Rig::new(2);
    let small = rig.open(&[0]);
    let large = rig.open(&[0, 1, 2, 3]);
    rig.now += UNUSED_MS_MAX + 1;
    for id in [small, large] {
        rig.serve(request(id, 1, &[]), |_| still()).unwrap();
    }
    assert_eq!(rig.open(&[7]), NO_SESSION, "equal worth does not evict");
    assert_ne!(rig.open(&[7, 8]), NO_SESSION);
    assert_eq!(rig.serve(request(small, 2, &[]), |_| still()), Err(SessionError::UnknownId(small)));
    assert!(rig.serve(request(large, 2, &[]), |_| still()).is_ok());
}

#[test]
fn a_fetch_whose_session_was_evicted_while_it_waited_is_answered_in_full() {
    let mut rig = Rig::new(1);
    let id = rig.open(&[0]);
    let fetch = rig.sessions.begin(rig.now, request(id, 1, &[])).unwrap();
    assert_ne!(rig.open_privileged(&[0]), NO_SESSION);
    let finished = rig.sessions.finish(rig.now, fetch, vec![(key(0), still())], |facts| *facts, 9).unwrap();
    assert_eq!((finished.session_id, finished.rows.len()), (id, 1));
    assert_eq!(rig.serve(request(id, 2, &[]), |_| still()), Err(SessionError::UnknownId(id)));
}

#[test]
fn a_fetch_that_was_overtaken_in_its_session_is_refused() {
    let mut rig = Rig::new(1);
    let id = rig.open(&[0]);
    let slow = rig.sessions.begin(rig.now, request(id, 1, &[])).unwrap();
    rig.serve(request(id, 2, &[]), |_| still()).unwrap();
    let refused = rig.sessions.finish(rig.now, slow, vec![(key(0), still())], |facts| *facts, 9);
    assert_eq!(refused, Err(SessionError::BadEpoch { id, expected: 3, got: 2 }));
}

#[test]
fn a_throttled_fetch_advances_its_session_and_opens_none() {
    let mut rig = Rig::new(4);
    let fetch = rig.sessions.begin(rig.now, request(0, OPEN_EPOCH, &[0])).unwrap();
    assert_eq!(rig.sessions.finish_throttled(&fetch), Ok(NO_SESSION));
    assert!(rig.sessions.is_empty());

    let id = rig.open(&[0]);
    let fetch = rig.sessions.begin(rig.now, request(id, 1, &[])).unwrap();
    assert_eq!(rig.sessions.finish_throttled(&fetch), Ok(id));
    assert!(rig.serve(request(id, 1, &[]), |_| still()).is_err());
    assert_eq!(rig.serve(request(id, 2, &[]), |_| high(12)), Ok((id, vec![0])), "what was dropped is still news");
}

#[test]
fn ids_are_positive_and_taken_ones_are_passed_over() {
    let mut rig = Rig::new(10);
    for (random, expected) in [(0, 1), (0x8000_0000, 2), (u32::MAX, i32::MAX), (u32::MAX, 3)] {
        let fetch = rig.sessions.begin(rig.now, request(0, OPEN_EPOCH, &[0])).unwrap();
        let finished = rig.sessions.finish(rig.now, fetch, vec![(key(0), still())], |facts| *facts, random).unwrap();
        assert_eq!(finished.session_id, expected, "random {random:#x}");
    }
}
