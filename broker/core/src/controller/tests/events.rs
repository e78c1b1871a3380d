//! What operators are told, and when.

use super::rig::{Rig, by_hand, with_configs};
use crate::controller::{Event, FencedBecause, Input, Request, Standing};

fn elected(event: &Event) -> Option<(i32, i32, Standing)> {
    match event {
        Event::Elected { from, to, standing, .. } => Some((*from, *to, *standing)),
        _ => None,
    }
}

#[test]
fn a_silent_broker_is_told_of_with_the_length_of_its_silence_and_its_successor() {
    let mut rig = Rig::with_brokers(false, &[1, 2], &[]);
    rig.topic("t", &[&[1, 2]]);
    rig.events.clear();
    rig.pass(10_000, &[2]);
    let [Event::Fenced { broker: 1, why: FencedBecause::Silent(ms) }, won] = &rig.events[..] else {
        panic!("{:?}", rig.events);
    };
    assert!((9_000..=10_000).contains(ms), "{ms}");
    assert_eq!(elected(won), Some((1, 2, Standing::InSync)));
}

#[test]
fn nothing_is_told_before_it_is_committed_and_nothing_that_never_is() {
    let mut rig = Rig::with_brokers(false, &[1, 2], &[]);
    rig.topic("t", &[&[1, 2]]);
    rig.events.clear();
    let beat = crate::controller::BrokerHeartbeat { want_fence: true, ..rig.heartbeat(1) };
    rig.send(Request::BrokerHeartbeat(beat));
    assert_eq!(rig.events, []);
    rig.step(Input::StepDown);
    assert_eq!(rig.events, []);
}

#[test]
fn a_partition_without_a_leader_is_told_of_with_those_it_waits_for() {
    let mut rig = Rig::with_brokers(false, &[1, 2], &[]);
    rig.topic("t", &[&[1, 2]]);
    rig.fence(2);
    rig.events.clear();
    rig.fence(1);
    let lost = Event::Leaderless { topic: "t".into(), index: 0, from: 1, waits_for: vec![1] };
    assert_eq!(rig.events, [Event::Fenced { broker: 1, why: FencedBecause::Asked }, lost]);
    rig.events.clear();
    rig.beat(1);
    assert_eq!(rig.events[0], Event::Unfenced { broker: 1 });
    assert_eq!(elected(&rig.events[1]), Some((-1, 1, Standing::InSync)));
}

#[test]
fn it_is_told_how_a_leader_was_found() {
    let mut rig = Rig::with_brokers(true, &[1, 2], &[("min.insync.replicas", "2")]);
    rig.topic("t", &[&[1, 2]]);
    rig.fence(2);
    rig.fence(1);
    rig.events.clear();
    rig.beat(2);
    assert_eq!(rig.events.iter().find_map(elected), Some((-1, 2, Standing::Eligible)));

    let mut rig = Rig::with_brokers(false, &[1, 2], &[]);
    let unclean = ("unclean.leader.election.enable", Some("true"));
    rig.create(&[with_configs(by_hand("t", &[&[1, 2]]), &[unclean])]);
    rig.fence(2);
    rig.fence(1);
    rig.events.clear();
    rig.beat(2);
    assert_eq!(rig.events.iter().find_map(elected), Some((-1, 2, Standing::Unclean)));
    assert!(!Standing::Unclean.is_clean());
}
