//! How a generation comes about: waiting, voting, leading.

use super::rig::{Rig, prompt, protocol};
use crate::group::*;
use crate::machine::Machine;

fn delayed(delay_ms: u64) -> Rig {
    Rig::new(GroupConfig { initial_rebalance_delay_ms: delay_ms, ..prompt() })
}

/// The tick at which a Join was answered.
fn answered_at(rig: &mut Rig, join: RequestId) -> u64 {
    for _ in 0..100_000 {
        if rig.join_answer(join).is_some() {
            return rig.now;
        }
        let wait = rig.shard.wake_at().map_or(1, |at| at.saturating_sub(rig.now));
        rig.pass(wait);
    }
    panic!("request {join} was never answered");
}

#[test]
fn an_empty_group_waits_for_others_once_and_again_while_they_come() {
    let mut rig = delayed(1_500);
    let (_, alone) = rig.join(|_| {});
    assert_eq!(answered_at(&mut rig, alone), 1_500);

    let mut rig = delayed(1_500);
    let (_, first) = rig.join(|_| {});
    rig.pass(1_000);
    let (_, second) = rig.join(|_| {});
    assert_eq!(answered_at(&mut rig, first), 3_000);
    assert_eq!(rig.join_answer(first).unwrap().members.len(), 2);
    assert_eq!(rig.join_answer(second).unwrap().members.len(), 0, "only the leader sees the members");
}

#[test]
fn the_initial_wait_ends_with_the_rebalance_timeout() {
    let mut rig = delayed(1_500);
    let (_, first) = rig.join(|request| request.rebalance_timeout_ms = 2_000);
    rig.pass(1_000);
    rig.join(|request| request.rebalance_timeout_ms = 2_000);
    rig.pass(700);
    rig.join(|request| request.rebalance_timeout_ms = 2_000);
    assert_eq!(answered_at(&mut rig, first), 2_000);
}

#[test]
fn those_who_leave_while_the_group_waits_do_not_end_the_wait() {
    let mut rig = delayed(3_000);
    let (member, join) = rig.join(|_| {});
    rig.pass(1_000);
    let left = rig.leave(&[(&member, None)]);
    assert_eq!(rig.left(left), [None]);
    assert_eq!(rig.join_answer(join).unwrap().error, Some(GroupError::UnknownMemberId));
    assert_eq!(rig.state(), Some(GroupState::PreparingRebalance));
    let (_, next) = rig.join(|_| {});
    assert_eq!(answered_at(&mut rig, next), 6_000, "it came while the group waited, which prolongs the wait");
}

#[test]
fn a_join_phase_waits_for_all_members_and_for_those_on_their_way() {
    let mut rig = Rig::new(prompt());
    let (members, generation) = rig.stable(2);
    let request = rig.join_request();
    let pending = rig.ask(Request::Join(Box::new(request)));
    let pending = rig.join_answer(pending).unwrap().member_id;
    let first = rig.rejoin(&members[0], |_| {});
    rig.rejoin(&members[1], |_| {});
    assert_eq!(rig.join_answer(first), None, "somebody has an id and will come");
    rig.rejoin(&pending, |_| {});
    let response = rig.join_answer(first).unwrap();
    assert_eq!((response.generation, response.members.len()), (generation + 1, 3));
}

#[test]
fn who_is_not_back_when_the_time_is_up_is_out() {
    let mut rig = Rig::new(prompt());
    let (members, generation) = rig.stable(3);
    let first = rig.rejoin(&members[1], |_| {});
    rig.pass(5_000);
    for member in [&members[0], &members[2]] {
        assert_eq!(rig.heartbeat(member, generation), Ok(()), "a follower that is unchanged disturbs nobody");
    }
    assert_eq!(rig.join_answer(first).unwrap().generation, generation);

    let first = rig.rejoin(&members[1], |request| request.protocols = vec![protocol("range", &["t", "u"])]);
    for _ in 0..11 {
        rig.pass(5_000);
        for member in [&members[0], &members[2]] {
            assert_eq!(rig.heartbeat(member, generation), Err(GroupError::RebalanceInProgress));
        }
    }
    assert_eq!(rig.join_answer(first), None);
    rig.pass(5_000);
    let response = rig.join_answer(first).expect("the rebalance timeout of 60 s is up");
    assert_eq!((response.generation, &response.leader, response.members.len()), (generation + 1, &members[1], 1));
    assert_eq!(rig.heartbeat(&members[0], generation), Err(GroupError::UnknownMemberId));
}

#[test]
fn the_rebalance_timeout_is_the_longest_that_a_member_asks_for() {
    let mut rig = Rig::new(prompt());
    let (members, _) = rig.stable(2);
    let session = |request: &mut JoinRequest| request.session_timeout_ms = 200_000;
    for member in &members {
        rig.rejoin(member, session);
    }
    let long = rig.rejoin(&members[0], |request| {
        session(request);
        request.rebalance_timeout_ms = 90_000;
        request.protocols = vec![protocol("range", &["u"])];
    });
    let from = rig.now;
    assert_eq!(answered_at(&mut rig, long) - from, 90_000);
}

#[test]
fn a_leader_leads_as_long_as_it_comes_back_then_the_one_who_joined_first() {
    let mut rig = Rig::new(prompt());
    let (members, _) = rig.stable(3);
    rig.rejoin(&members[0], |_| {});
    rig.rejoin(&members[2], |_| {});
    let join = rig.rejoin(&members[1], |_| {});
    assert_eq!(rig.join_answer(join).unwrap().leader, members[0]);
    rig.leave(&[(&members[0], None)]);
    rig.rejoin(&members[2], |_| {});
    let join = rig.rejoin(&members[1], |_| {});
    let response = rig.join_answer(join).unwrap();
    assert_eq!((response.leader, response.members.len()), (members[1].clone(), 2));
}

#[test]
fn most_votes_choose_among_the_protocols_that_all_have() {
    let mut rig = Rig::new(GroupConfig { initial_rebalance_delay_ms: 1_000, ..prompt() });
    let offers = |names: &'static [&'static str]| {
        move |request: &mut JoinRequest| request.protocols = names.iter().map(|name| protocol(name, &["t"])).collect()
    };
    let (_, first) = rig.join(offers(&["a", "b", "c"]));
    rig.join(offers(&["b", "a"]));
    rig.join(offers(&["d", "b", "a"]));
    rig.pass(2_000);
    let response = rig.join_answer(first).unwrap();
    assert_eq!(response.protocol_name.as_deref(), Some("b"), "c and d are not common, b has two votes of three");
    assert_eq!(response.members[0].metadata, protocol("b", &["t"]).metadata);
}

#[test]
fn a_follower_that_is_unchanged_gets_the_present_generation_and_a_leader_gets_a_new_one() {
    let mut rig = Rig::new(prompt());
    let (members, generation) = rig.stable(2);
    let follower = rig.rejoin(&members[1], |_| {});
    let response = rig.join_answer(follower).unwrap();
    assert_eq!((response.generation, response.members.len()), (generation, 0));
    assert_eq!(rig.state(), Some(GroupState::Stable));
    rig.rejoin(&members[0], |_| {});
    assert_eq!(rig.state(), Some(GroupState::PreparingRebalance));
}

#[test]
fn an_unchanged_member_may_ask_again_while_the_leader_assigns() {
    let mut rig = Rig::new(prompt());
    let (members, generation) = rig.stable(2);
    rig.rejoin(&members[0], |_| {});
    rig.rejoin(&members[1], |_| {});
    let again = rig.rejoin(&members[0], |_| {});
    let response = rig.join_answer(again).unwrap();
    assert_eq!((response.generation, response.members.len()), (generation + 1, 2));
    rig.rejoin(&members[1], |request| request.protocols = vec![protocol("range", &["u"])]);
    assert_eq!(rig.state(), Some(GroupState::PreparingRebalance));
}

#[test]
fn members_that_die_in_a_rebalance_do_not_hold_the_others() {
    let mut rig = Rig::new(prompt());
    let (members, generation) = rig.stable(3);
    let (_, fourth) = rig.join(|_| {});
    rig.rejoin(&members[2], |_| {});
    rig.pass(10_000);
    let response = rig.join_answer(fourth).expect("two have not been heard of for their session");
    assert_eq!(response.generation, generation + 1);
    assert_eq!(response.leader, members[2]);
}
