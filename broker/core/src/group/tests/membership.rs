//! Who is a member: ids, checks of a Join, sessions, heartbeats, leaving.

use super::rig::{GROUP, Rig, prompt, protocol};
use crate::group::*;
use crate::machine::Machine;

fn refused(rig: &mut Rig, change: impl Fn(&mut JoinRequest)) -> Option<GroupError> {
    let mut request = rig.join_request();
    change(&mut request);
    let id = rig.ask(Request::Join(Box::new(request)));
    rig.join_answer(id).and_then(|response| response.error)
}

#[test]
fn a_new_member_first_gets_its_id_and_no_rebalance_comes_of_it() {
    let mut rig = Rig::new(prompt());
    let request = rig.join_request();
    let id = rig.ask(Request::Join(Box::new(request)));
    let response = rig.join_answer(id).unwrap();
    assert_eq!(response.error, Some(GroupError::MemberIdRequired));
    assert_eq!(&*response.member_id, "c-00000000-0000-4000-8000-000000000001");
    assert_eq!((response.generation, response.protocol_type, &*response.leader), (-1, None, ""));
    assert_eq!(rig.state(), Some(GroupState::Empty));
    let member = response.member_id;
    assert_eq!(rig.heartbeat(&member, 0), Err(GroupError::UnknownMemberId));
    let sync = rig.sync(&member, 0, &[]);
    assert_eq!(rig.sync_answer(sync), Some(Err(GroupError::UnknownMemberId)));
    let join = rig.rejoin(&member, |_| {});
    assert_eq!(rig.join_answer(join).unwrap().generation, 1);
}

#[test]
fn a_client_that_knows_no_member_ids_and_a_static_member_are_let_in_at_once() {
    let mut rig = Rig::new(prompt());
    let mut request = rig.join_request();
    request.requires_member_id = false;
    let id = rig.ask(Request::Join(Box::new(request)));
    assert_eq!(rig.join_answer(id).unwrap().error, None);

    let mut rig = Rig::new(prompt());
    let mut request = rig.join_request();
    request.instance_id = Some("i".into());
    let id = rig.ask(Request::Join(Box::new(request)));
    let response = rig.join_answer(id).unwrap();
    assert_eq!(response.error, None);
    assert_eq!(&*response.member_id, "i-00000000-0000-4000-8000-000000000001");
    assert_eq!(response.members.len(), 1);
}

#[test]
fn an_id_that_nobody_joins_with_is_forgotten_with_its_session() {
    let mut rig = Rig::new(prompt());
    let request = rig.join_request();
    let id = rig.ask(Request::Join(Box::new(request)));
    let member = rig.join_answer(id).unwrap().member_id;
    rig.pass(10_000);
    let join = rig.rejoin(&member, |_| {});
    assert_eq!(rig.join_answer(join).unwrap().error, Some(GroupError::UnknownMemberId));
}

#[test]
fn a_join_is_checked_in_kafkas_order() {
    let mut rig = Rig::new(GroupConfig { max_size: 1, ..prompt() });
    assert_eq!(refused(&mut rig, |r| r.group = "".into()), Some(GroupError::InvalidGroupId));
    let short = refused(&mut rig, |r| r.session_timeout_ms = 5_999);
    assert_eq!(short, Some(GroupError::InvalidSessionTimeout { given_ms: 5_999, min_ms: 6_000, max_ms: 1_800_000 }));
    assert!(refused(&mut rig, |r| r.session_timeout_ms = 1_800_001).is_some());
    assert_eq!(refused(&mut rig, |r| r.member_id = "who".into()), Some(GroupError::UnknownMemberId));
    assert_eq!(rig.state(), None, "no mistake makes a group");
    assert_eq!(refused(&mut rig, |r| r.protocols.clear()), Some(GroupError::InconsistentGroupProtocol));
    assert_eq!(rig.state(), Some(GroupState::Empty), "but a first Join without a protocol does, as in Kafka");
    rig.stable(1);
    assert_eq!(refused(&mut rig, |r| r.protocols.clear()), Some(GroupError::GroupMaxSizeReached));
    assert_eq!(refused(&mut rig, |r| r.client_id = "x".repeat(40_000).into()), Some(GroupError::NameTooLong));
}

#[test]
fn a_member_needs_the_groups_type_and_a_protocol_that_all_have() {
    let mut rig = Rig::new(prompt());
    rig.stable(1);
    let other_type = refused(&mut rig, |r| r.protocol_type = "connect".into());
    assert_eq!(other_type, Some(GroupError::InconsistentGroupProtocol));
    let other_protocol = refused(&mut rig, |r| r.protocols = vec![protocol("sticky", &["t"])]);
    assert_eq!(other_protocol, Some(GroupError::InconsistentGroupProtocol));
    let both = refused(&mut rig, |r| r.protocols = vec![protocol("sticky", &["t"]), protocol("range", &["t"])]);
    assert_eq!(both, Some(GroupError::MemberIdRequired));
}

#[test]
fn an_empty_group_takes_another_type_again() {
    let mut rig = Rig::new(prompt());
    let (members, _) = rig.stable(1);
    rig.leave(&[(&members[0], None)]);
    assert_eq!(rig.shard.group(GROUP).unwrap().protocol_type(), "consumer");
    let (_, join) = rig.join(|r| r.protocol_type = "connect".into());
    assert_eq!(rig.join_answer(join).unwrap().protocol_type.as_deref(), Some("connect"));
}

#[test]
fn a_heartbeat_tests_the_member_then_the_generation_then_the_state() {
    let mut rig = Rig::new(prompt());
    assert_eq!(rig.heartbeat(&"who".into(), 0), Err(GroupError::UnknownMemberId), "no group");
    let (members, generation) = rig.stable(2);
    assert_eq!(rig.heartbeat(&"who".into(), generation + 1), Err(GroupError::UnknownMemberId));
    assert_eq!(rig.heartbeat(&members[0], generation + 1), Err(GroupError::IllegalGeneration));
    assert_eq!(rig.heartbeat(&members[0], generation), Ok(()));
    rig.join(|_| {});
    assert_eq!(rig.heartbeat(&members[0], generation), Err(GroupError::RebalanceInProgress));
    assert_eq!(rig.heartbeat(&members[0], generation - 1), Err(GroupError::IllegalGeneration));
}

#[test]
fn a_silent_member_is_out_after_exactly_its_session() {
    let mut rig = Rig::new(prompt());
    let (members, generation) = rig.stable(2);
    rig.pass(9_999);
    assert_eq!(rig.heartbeat(&members[1], generation), Ok(()));
    assert_eq!(rig.shard.group(GROUP).unwrap().members_len(), 2);
    rig.pass(1);
    assert_eq!(rig.shard.group(GROUP).unwrap().members_len(), 1, "the leader was silent for 10 s");
    assert_eq!(rig.heartbeat(&members[0], generation), Err(GroupError::UnknownMemberId));
    assert_eq!(rig.heartbeat(&members[1], generation), Err(GroupError::RebalanceInProgress));
    let join = rig.rejoin(&members[1], |_| {});
    let response = rig.join_answer(join).unwrap();
    assert_eq!((response.generation, &response.leader), (generation + 1, &members[1]));
}

#[test]
fn commits_and_a_rebalance_keep_a_session_going() {
    let mut rig = Rig::new(prompt());
    let (members, generation) = rig.stable(1);
    for offset in 0..5 {
        rig.pass(9_000);
        let commit = rig.commit(&members[0], generation, offset);
        assert_eq!(rig.outcome(commit), Some(Ok(())));
    }
    rig.join(|_| {});
    for _ in 0..5 {
        rig.pass(9_000);
        assert_eq!(rig.heartbeat(&members[0], generation), Err(GroupError::RebalanceInProgress));
    }
}

#[test]
fn a_new_members_join_is_waited_for_five_minutes_at_most() {
    let mut rig = Rig::new(prompt());
    let (members, generation) = rig.stable(1);
    let (_, join) = rig.join(|r| r.rebalance_timeout_ms = 600_000);
    let mut waited = 0;
    while rig.join_answer(join).is_none() {
        rig.pass(5_000);
        waited += 5_000;
        assert_eq!(rig.heartbeat(&members[0], generation), Err(GroupError::RebalanceInProgress));
    }
    assert_eq!(waited, 300_000);
    assert_eq!(rig.join_answer(join).unwrap().error, Some(GroupError::UnknownMemberId));
}

#[test]
fn several_leave_at_once_and_each_gets_its_own_row() {
    let mut rig = Rig::new(prompt());
    let (members, generation) = rig.stable(3);
    let pending = {
        let request = rig.join_request();
        let id = rig.ask(Request::Join(Box::new(request)));
        rig.join_answer(id).unwrap().member_id
    };
    let gone = rig.leave(&[
        (&members[0], None),
        ("who", None),
        ("", Some("no such instance")),
        (&members[1], Some("not mine")),
        (&pending, None),
    ]);
    let unknown = Some(GroupError::UnknownMemberId);
    assert_eq!(rig.left(gone), [None, unknown, unknown, unknown, None]);
    assert_eq!(rig.state(), Some(GroupState::PreparingRebalance));
    let first = rig.rejoin(&members[1], |_| {});
    rig.rejoin(&members[2], |_| {});
    assert_eq!(rig.join_answer(first).unwrap().generation, generation + 1, "one rebalance for all");
    let nobody = rig.leave(&[("who", None)]);
    assert_eq!(rig.left(nobody), [unknown]);
    assert_eq!(rig.state(), Some(GroupState::CompletingRebalance), "who does not leave disturbs nobody");
}

#[test]
fn leaving_a_group_that_is_not_there_is_the_members_error() {
    let mut rig = Rig::new(prompt());
    let id = rig.leave(&[("who", None)]);
    assert_eq!(rig.left(id), [Some(GroupError::UnknownMemberId)]);
}

#[test]
fn the_last_to_leave_empties_the_group_and_that_is_written_before_it_is_told() {
    let mut rig = Rig::new(prompt());
    let (members, generation) = rig.stable(1);
    rig.commits = false;
    let id = rig.leave(&[(&members[0], None)]);
    assert_eq!(rig.answer(id), None);
    rig.commit_all();
    assert_eq!(rig.left(id), [None]);
    let (_, records) = rig.log.last().unwrap();
    let records::Record::Group { value: Some(metadata), .. } = &records[0] else { panic!("{records:?}") };
    assert_eq!((metadata.generation, &*metadata.protocol_type), (generation + 1, "consumer"));
    assert_eq!((&metadata.protocol, &metadata.leader, metadata.members.len()), (&None, &None, 0));
}

#[test]
fn a_retried_join_and_a_retried_sync_leave_the_first_without_its_hope() {
    let mut rig = Rig::new(prompt());
    let (members, _) = rig.stable(2);
    let first = rig.rejoin(&members[0], |_| {});
    let second = rig.rejoin(&members[0], |_| {});
    assert_eq!(rig.join_answer(first).unwrap().error, Some(GroupError::RebalanceInProgress));
    assert_eq!(rig.join_answer(second), None);
    rig.rejoin(&members[1], |_| {});
    let generation = rig.join_answer(second).unwrap().generation;
    let first = rig.sync(&members[1], generation, &[]);
    let second = rig.sync(&members[1], generation, &[]);
    assert_eq!(rig.sync_answer(first), Some(Err(GroupError::RebalanceInProgress)));
    assert_eq!(rig.sync_answer(second), None);
}

#[test]
fn a_lowered_size_lets_in_only_so_many_of_those_who_come_back() {
    let mut rig = Rig::new(prompt());
    let (members, _) = rig.stable(3);
    let config = GroupConfig { max_size: 2, ..prompt() };
    rig.config = config.clone();
    rig.step(Event::Configured(config));
    let joins: Vec<RequestId> = members.iter().map(|member| rig.rejoin(member, |_| {})).collect();
    assert_eq!(rig.join_answer(joins[2]).unwrap().error, Some(GroupError::GroupMaxSizeReached));
    assert_eq!(rig.join_answer(joins[0]).unwrap().members.len(), 2);
    rig.shard.check();
}
