//! A broker's membership, stepped.

use ballast_wire::Uuid;

use super::*;
use crate::machine::Machine as _;

struct Rig {
    machine: Registration,
    now: Tick,
}

impl Rig {
    fn new() -> Rig {
        let config = Config {
            heartbeat_interval_ms: 2_000,
            initial_timeout_ms: 60_000,
            shutdown_timeout_ms: 30_000,
            previous_epoch: 7,
        };
        Rig { machine: Registration::new(config), now: 0 }
    }

    /// A member of epoch 20 that is caught up and unfenced.
    fn running() -> Rig {
        let mut rig = Rig::new();
        rig.step(Input::Start);
        rig.step(Input::MetadataApplied { index: 20 });
        assert_eq!(rig.step(Input::Registered { epoch: 20 }), [heartbeat(20, false, false)]);
        assert_eq!(rig.step(answered(false)), [Effect::Unfenced]);
        rig
    }

    fn step(&mut self, input: Input) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.machine.step(self.now, input, &mut effects);
        self.machine.check();
        effects
    }

    /// Lets time pass up to the next deadline, and steps the timer there.
    fn next_timer(&mut self) -> Vec<Effect> {
        self.now = self.machine.wake_at().expect("a deadline is due");
        self.step(Input::Timer)
    }
}

fn heartbeat(metadata_index: u64, want_fence: bool, want_shutdown: bool) -> Effect {
    Effect::Heartbeat { epoch: 20, metadata_index, want_fence, want_shutdown, offline_dirs: vec![] }
}

fn answered(is_fenced: bool) -> Input {
    Input::HeartbeatAnswered { is_caught_up: !is_fenced, is_fenced, should_shut_down: false }
}

#[test]
fn a_broker_registers_catches_up_and_is_unfenced() {
    let mut rig = Rig::new();
    assert_eq!(rig.step(Input::Start), [Effect::Register { previous_epoch: 7 }]);
    assert_eq!(rig.step(Input::MetadataApplied { index: 19 }), []);
    assert_eq!(rig.step(Input::Registered { epoch: 20 }), [heartbeat(19, true, false)], "it has not caught up");
    assert_eq!(rig.step(answered(true)), []);
    assert_eq!(
        rig.step(Input::MetadataApplied { index: 20 }),
        [heartbeat(20, false, false)],
        "it has, and says so at once"
    );
    assert_eq!(rig.step(answered(false)), [Effect::Unfenced]);
    assert_eq!(rig.machine.wake_at(), Some(2_000));
    assert_eq!(rig.next_timer(), [heartbeat(20, false, false)]);
}

#[test]
fn one_request_is_in_flight_at_a_time() {
    let mut rig = Rig::running();
    rig.next_timer();
    rig.now += 10_000;
    assert_eq!(rig.step(Input::Timer), []);
    assert_eq!(rig.step(Input::DirFailed { dir: Uuid([1; 16]) }), []);
    let told = Effect::Heartbeat {
        epoch: 20,
        metadata_index: 20,
        want_fence: false,
        want_shutdown: false,
        offline_dirs: vec![Uuid([1; 16])],
    };
    assert_eq!(rig.step(answered(false)), [told], "the failed directory is told as soon as that is possible");
}

#[test]
fn a_stale_epoch_makes_a_broker_register_again() {
    for code in [77, 102] {
        let mut rig = Rig::running();
        rig.next_timer();
        assert_eq!(rig.step(Input::Refused { code }), [Effect::Fenced, Effect::Register { previous_epoch: 7 }]);
        assert_eq!(rig.machine.epoch(), None);
        rig.step(Input::Registered { epoch: 30 });
        assert_eq!(rig.machine.epoch(), Some(30));
    }
}

#[test]
fn failures_are_retried_after_pauses_that_grow_up_to_the_interval() {
    let mut rig = Rig::new();
    rig.step(Input::Start);
    let mut pauses = Vec::new();
    for _ in 0..8 {
        let before = rig.now;
        assert_eq!(rig.step(Input::Unreachable), []);
        assert_eq!(rig.next_timer(), [Effect::Register { previous_epoch: 7 }]);
        pauses.push(rig.now - before);
    }
    assert_eq!(pauses, [50, 100, 200, 400, 800, 1_600, 2_000, 2_000]);
}

#[test]
fn the_first_registration_gives_up_in_time_and_says_what_was_answered_last() {
    let mut rig = Rig::new();
    rig.step(Input::Start);
    rig.step(Input::Refused { code: 101 });
    let gave_up = loop {
        let effects = rig.next_timer();
        match effects.as_slice() {
            [Effect::Register { .. }] => rig.step(Input::Unreachable),
            _ => break effects,
        };
    };
    let reason = GiveUp::TimedOut { waited_ms: 60_000, last_code: Some(101) };
    assert_eq!(gave_up, [Effect::GiveUp { reason }]);
    assert_eq!(rig.machine.wake_at(), None);
}

#[test]
fn a_refusal_that_no_retry_can_change_is_final() {
    for code in [35, 104, 119] {
        let mut rig = Rig::new();
        rig.step(Input::Start);
        assert_eq!(rig.step(Input::Refused { code }), [Effect::GiveUp { reason: GiveUp::Rejected { code } }]);
        assert_eq!(rig.step(Input::Timer), []);
    }
}

#[test]
fn a_stopping_broker_asks_until_it_is_released() {
    let mut rig = Rig::running();
    assert_eq!(rig.step(Input::Shutdown), [heartbeat(20, false, true)]);
    let mut asked_at = Vec::new();
    for _ in 0..7 {
        assert_eq!(rig.step(answered(false)), []);
        assert_eq!(rig.next_timer(), [heartbeat(20, false, true)]);
        asked_at.push(rig.now);
    }
    assert_eq!(asked_at, [5, 15, 35, 75, 155, 255, 355], "soon at first, every 100 ms later");
    let released = Input::HeartbeatAnswered { is_caught_up: true, is_fenced: true, should_shut_down: true };
    assert_eq!(rig.step(released), [Effect::Stopped { released: true, epoch: 20 }]);
    assert_eq!(rig.step(Input::Shutdown), [], "it stops once");
}

#[test]
fn a_stopping_broker_does_not_wait_for_ever() {
    let mut rig = Rig::running();
    rig.step(Input::Shutdown);
    rig.now = 30_000;
    assert_eq!(rig.step(Input::Timer), [Effect::Stopped { released: false, epoch: 20 }]);
    let mut forgotten = Rig::running();
    forgotten.step(Input::Shutdown);
    assert_eq!(forgotten.step(Input::Refused { code: 77 }), [Effect::Stopped { released: false, epoch: 20 }]);
    let mut never_in = Rig::new();
    never_in.step(Input::Start);
    assert_eq!(never_in.step(Input::Shutdown), [Effect::Stopped { released: false, epoch: -1 }]);
}

#[test]
fn being_shut_out_and_let_in_again_is_told() {
    let mut rig = Rig::running();
    rig.next_timer();
    assert_eq!(rig.step(answered(true)), [Effect::Fenced]);
    rig.next_timer();
    assert_eq!(rig.step(answered(false)), [Effect::Unfenced]);
}
