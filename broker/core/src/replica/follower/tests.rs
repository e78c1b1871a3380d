//! The follower's machine, stepped.

use super::{Answer, BatchHead, Effect, FetchRequest, Follower, FollowerConfig, Input, LogState, Ticket};
use crate::machine::{Machine as _, Tick};
use crate::replica::EpochEnd;

const BACKOFF_MS: u64 = 1000;

struct Rig {
    follower: Follower,
    log: LogState,
    now: Tick,
}

impl Rig {
    /// Broker 7 leads in epoch 5; the log ends at `end` in epoch 4, its watermark is `high`.
    fn new(end: i64, high: i64, durable: bool) -> Rig {
        let log = LogState { start: 0, end, synced: end, last_epoch: if end > 0 { 4 } else { -1 } };
        let config = FollowerConfig { durable, backoff_ms: BACKOFF_MS };
        let mut rig = Rig { follower: Follower::new(config, log, high), log, now: 100 };
        assert_eq!(rig.step(Input::Follow { leader: 7, leader_epoch: 5 }), []);
        rig
    }

    fn step(&mut self, input: Input) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.follower.step(self.now, input, &mut effects);
        self.follower.check();
        effects
    }

    fn fetch(&mut self) -> FetchRequest {
        self.follower.begin_fetch().expect("it has something to ask")
    }

    fn answered(&mut self, ticket: Ticket, answer: Answer) -> Vec<Effect> {
        self.step(Input::Answered { ticket, answer })
    }

    fn fetched(&mut self, answer: Answer) -> Vec<Effect> {
        let ticket = self.fetch().ticket;
        self.answered(ticket, answer)
    }

    /// The log was changed as asked, and ends at `end` now.
    fn done(&mut self, end: i64, synced: i64, last_epoch: i32) -> Vec<Effect> {
        self.log = LogState { end, synced, last_epoch, ..self.log };
        self.step(Input::Done(self.log))
    }
}

fn records(batches: &[(i64, i64, i32)], high: i64) -> Answer {
    let batches = batches.iter().map(|(base, last, epoch)| BatchHead { base: *base, last: *last, epoch: *epoch });
    Answer::Records { batches: batches.collect(), high, log_start: 0 }
}

fn end(epoch: i32, end: i64) -> EpochEnd {
    EpochEnd { epoch, end }
}

#[test]
fn it_fetches_from_its_end_and_names_its_last_epoch() {
    let mut rig = Rig::new(10, 4, false);
    let asked = rig.fetch();
    let FetchRequest { leader, leader_epoch, offset, last_fetched_epoch, log_start, .. } = asked;
    assert_eq!((leader, leader_epoch, offset, last_fetched_epoch, log_start), (7, 5, 10, 4, 0));
    assert_eq!(rig.follower.begin_fetch(), None, "one question at a time");
}

#[test]
fn nobody_is_asked_while_nobody_leads() {
    let mut rig = Rig::new(10, 4, false);
    rig.step(Input::Follow { leader: -1, leader_epoch: 6 });
    assert_eq!(rig.follower.begin_fetch(), None);
    rig.step(Input::Follow { leader: 8, leader_epoch: 5 });
    assert_eq!(rig.follower.begin_fetch(), None, "older metadata changes nothing");
    rig.step(Input::Follow { leader: 8, leader_epoch: 7 });
    assert_eq!(rig.fetch().leader, 8);
}

#[test]
fn watermark_follows_the_leaders_as_far_as_the_log_goes() {
    let mut rig = Rig::new(10, 4, false);
    assert_eq!(rig.fetched(records(&[(10, 14, 5)], 12)), [Effect::Append { batches: 1 }]);
    assert_eq!(rig.follower.begin_fetch(), None, "the log is at work");
    assert_eq!(rig.done(15, 0, 5), [Effect::PublishHigh(12)]);
    assert_eq!(rig.fetched(records(&[], 99)), [Effect::PublishHigh(15)]);
    assert_eq!(rig.fetched(records(&[], 3)), [], "a new leader that knows less takes nothing back");
    assert_eq!(rig.follower.high(), 15);
}

#[test]
fn batches_of_a_later_epoch_and_what_follows_them_are_not_appended() {
    let mut rig = Rig::new(10, 4, false);
    let answer = records(&[(10, 10, 5), (11, 12, 6), (13, 13, 5)], 10);
    assert_eq!(rig.fetched(answer), [Effect::Append { batches: 1 }], "KAFKA-18723");
    rig.done(11, 0, 5);
    assert_eq!(rig.fetched(records(&[(4, 6, 5)], 10)), [], "below our end");
}

#[test]
fn it_is_cut_where_the_logs_parted_and_not_at_its_watermark() {
    let mut rig = Rig::new(10, 4, false);
    let parted = Answer::Diverging { leader: end(4, 8), ours: end(4, 10) };
    assert_eq!(rig.fetched(parted), [Effect::Truncate { to: 8, below_high: false }], "KIP-101: not to 4");
    rig.done(8, 8, 4);
    assert_eq!(rig.fetch().offset, 8);
}

#[test]
fn an_epoch_that_the_follower_never_saw_is_cut_step_by_step() {
    let mut rig = Rig::new(10, 4, false);
    let first = Answer::Diverging { leader: end(3, 9), ours: end(2, 6) };
    assert_eq!(rig.fetched(first), [Effect::Truncate { to: 6, below_high: false }], "KIP-279");
    rig.done(6, 6, 2);
    assert_eq!(rig.fetch().last_fetched_epoch, 2, "and asks about that one next");
}

#[test]
fn a_leader_that_knows_none_of_its_epochs_says_where_to_cut() {
    let mut rig = Rig::new(10, 4, false);
    let parted = Answer::Diverging { leader: end(1, 3), ours: end(-1, -1) };
    assert_eq!(rig.fetched(parted), [Effect::Truncate { to: 3, below_high: true }], "after an unclean election");
    assert_eq!(rig.done(3, 3, -1), [Effect::PublishHigh(3)]);
}

#[test]
fn an_empty_epoch_at_the_end_is_cut_too() {
    let mut rig = Rig::new(10, 4, false);
    let parted = Answer::Diverging { leader: end(3, 12), ours: end(3, 10) };
    assert_eq!(rig.fetched(parted), [Effect::Truncate { to: 10, below_high: false }]);
}

#[test]
fn out_of_range_asks_the_leader_for_its_ends() {
    let ends_are = |start, end| {
        let mut rig = Rig::new(10, 4, false);
        let effects = rig.fetched(Answer::OutOfRange);
        let [Effect::AskEnds { ticket, leader: 7, leader_epoch: 5 }] = effects[..] else { panic!("{effects:?}") };
        let effects = rig.step(Input::LeaderEnds { ticket, start, end });
        (effects, rig.follower.begin_fetch().is_some())
    };
    assert_eq!(ends_are(0, 8), (vec![Effect::Truncate { to: 8, below_high: false }], false));
    assert_eq!(ends_are(20, 30), (vec![Effect::StartOver { at: 20 }], false));
    assert_eq!(ends_are(5, 30), (vec![], true), "in range after all");
}

#[test]
fn a_batch_around_the_leaders_start_begins_an_empty_log() {
    let mut rig = Rig::new(0, 0, false);
    rig.log = LogState { start: 20, end: 20, synced: 20, last_epoch: -1 };
    rig.step(Input::LogMoved(rig.log));
    let answer = Answer::Records { batches: vec![BatchHead { base: 17, last: 22, epoch: 5 }], high: 23, log_start: 20 };
    assert_eq!(rig.fetched(answer), [Effect::StartOver { at: 17 }, Effect::Append { batches: 1 }]);
    rig.log.start = 17;
    assert_eq!(rig.done(23, 17, 5), [Effect::MoveStart { to: 20 }]);
    rig.log.start = 20;
    assert_eq!(rig.done(23, 20, 5), [Effect::PublishHigh(23)]);
}

#[test]
fn what_the_leader_has_deleted_goes_before_a_watermark_calls_it_committed() {
    let mut rig = Rig::new(10, 4, false);
    let batches = vec![BatchHead { base: 10, last: 11, epoch: 5 }];
    assert_eq!(
        rig.fetched(Answer::Records { batches, high: 12, log_start: 10 }),
        [Effect::Append { batches: 1 }],
        "its epochs below 10 are forgotten: they cannot tell whether 4 to 9 are the same here"
    );
    assert_eq!(rig.done(12, 0, 5), [Effect::MoveStart { to: 10 }]);
    rig.log.start = 10;
    assert_eq!(rig.done(12, 10, 5), [Effect::PublishHigh(12)]);
}

#[test]
fn a_fenced_follower_waits_for_metadata() {
    let mut rig = Rig::new(10, 4, false);
    rig.fetched(Answer::FencedLeaderEpoch);
    assert!(rig.follower.is_parked());
    rig.now += 10 * BACKOFF_MS;
    rig.step(Input::Timer);
    assert_eq!((rig.follower.begin_fetch(), rig.follower.wake_at()), (None, None));
}

#[test]
fn a_refused_follower_asks_again_at_once_and_then_ever_more_rarely_up_to_its_back_off() {
    let mut rig = Rig::new(10, 4, false);
    let refused = |rig: &mut Rig| {
        rig.fetched(Answer::Failed);
        let at = rig.follower.wake_at().unwrap();
        let waited = at - rig.now;
        rig.step(Input::Timer);
        assert_eq!(rig.follower.begin_fetch(), None, "it asked after 0 of {waited} ms");
        rig.now = at;
        rig.step(Input::Timer);
        waited
    };
    let waits: Vec<u64> = (0..8).map(|_| refused(&mut rig)).collect();
    assert_eq!(waits, [20, 40, 80, 160, 320, 640, BACKOFF_MS, BACKOFF_MS]);
    rig.step(Input::Follow { leader: 8, leader_epoch: 6 });
    assert_eq!(refused(&mut rig), 20, "a new leader owes nothing for the old one");
}

#[test]
fn every_error_but_two_is_waited_out() {
    assert_eq!(Answer::from_code(1), Answer::OutOfRange);
    assert_eq!(Answer::from_code(74), Answer::FencedLeaderEpoch);
    for code in [3, 6, 56, 75, 76, 100, 103, -1] {
        assert_eq!(Answer::from_code(code), Answer::Failed, "{code}");
    }
}

#[test]
fn answers_to_any_question_but_the_last_are_dropped() {
    let mut rig = Rig::new(10, 4, false);
    let old = rig.fetch().ticket;
    rig.answered(old, records(&[], 4));
    let now = rig.fetch().ticket;
    let parted = || Answer::Diverging { leader: end(4, 2), ours: end(4, 10) };
    assert_eq!(rig.answered(old, parted()), [], "it came twice");
    rig.step(Input::Follow { leader: 8, leader_epoch: 6 });
    assert_eq!(rig.answered(now, parted()), [], "it is the former leader's");
}

#[test]
fn a_change_of_leader_waits_for_the_log() {
    let mut rig = Rig::new(10, 4, false);
    rig.fetched(records(&[(10, 14, 5)], 12));
    rig.step(Input::Follow { leader: 8, leader_epoch: 6 });
    assert_eq!(rig.follower.begin_fetch(), None);
    assert_eq!(rig.done(15, 0, 5), [], "the former leader's watermark says nothing any more");
    assert_eq!(rig.fetch().offset, 15);
}

#[test]
fn at_d2_the_next_fetch_waits_for_the_sync() {
    let mut rig = Rig::new(10, 4, true);
    rig.fetched(records(&[(10, 14, 5)], 12));
    assert_eq!(rig.done(15, 10, 5), [Effect::PublishHigh(12), Effect::Sync]);
    assert_eq!(rig.follower.begin_fetch(), None, "a fetch from 15 would say that 14 survives");
    rig.done(15, 15, 5);
    assert_eq!(rig.fetch().offset, 15);
}
