//! SyncGroup: from the leader's assignment to everybody's.

use super::rig::{GROUP, Rig, prompt, protocol};
use crate::group::records::Record;
use crate::group::*;

/// A group of so many that waits for its leader's assignment.
fn completing(rig: &mut Rig, members: usize) -> (Vec<MemberId>, Generation) {
    let (ids, _) = rig.stable(members);
    let joins: Vec<RequestId> = ids.iter().map(|id| rig.rejoin(id, |_| {})).collect();
    let generation = rig.join_answer(joins[0]).expect("all are back").generation;
    assert_eq!(rig.state(), Some(GroupState::CompletingRebalance));
    (ids, generation)
}

#[test]
fn everybody_gets_the_leaders_assignment_when_it_is_committed_not_before() {
    let mut rig = Rig::new(prompt());
    let (members, generation) = completing(&mut rig, 3);
    rig.commits = false;
    let follower = rig.sync(&members[1], generation, &[]);
    let leader = rig.sync(&members[0], generation, &[(&members[0], "x"), (&members[1], "y"), (&"who".into(), "z")]);
    assert_eq!((rig.sync_answer(follower), rig.sync_answer(leader)), (None, None));
    assert_eq!(rig.state(), Some(GroupState::CompletingRebalance));
    rig.commit_all();
    assert_eq!(rig.state(), Some(GroupState::Stable));
    let response = rig.sync_answer(follower).unwrap().unwrap();
    assert_eq!((&response.assignment[..], response.protocol_name.as_deref()), (&b"y"[..], Some("range")));
    assert_eq!(rig.sync_answer(leader).unwrap().unwrap().assignment, "x");
    let late = rig.sync(&members[2], generation, &[]);
    assert_eq!(rig.sync_answer(late).unwrap().unwrap().assignment, "", "the leader left it out");
    let (_, records) = rig.log.last().unwrap();
    let Record::Group { value: Some(metadata), .. } = &records[0] else { panic!("{records:?}") };
    assert_eq!((metadata.members.len(), metadata.leader.as_ref()), (3, Some(&members[0])));
    let described = rig.shard.group(GROUP).unwrap();
    assert_eq!(described.protocol_data(), "range");
    assert_eq!(described.members()[0].metadata, protocol("range", &["t"]).metadata);
}

#[test]
fn a_sync_tests_the_member_then_generation_and_protocol_then_the_state() {
    let mut rig = Rig::new(prompt());
    let (members, generation) = rig.stable(2);
    let told = |rig: &mut Rig, change: &dyn Fn(&mut SyncRequest)| {
        let mut request = SyncRequest {
            group: GROUP.into(),
            member_id: members[1].clone(),
            instance_id: None,
            generation,
            protocol_type: None,
            protocol_name: None,
            assignments: Vec::new(),
        };
        change(&mut request);
        let id = rig.ask(Request::Sync(request));
        rig.sync_answer(id).unwrap().err()
    };
    assert_eq!(told(&mut rig, &|r| r.group = "".into()), Some(GroupError::InvalidGroupId));
    assert_eq!(told(&mut rig, &|r| r.group = "none".into()), Some(GroupError::UnknownMemberId));
    assert_eq!(told(&mut rig, &|r| r.member_id = "who".into()), Some(GroupError::UnknownMemberId));
    assert_eq!(told(&mut rig, &|r| r.generation -= 1), Some(GroupError::IllegalGeneration));
    let inconsistent = Some(GroupError::InconsistentGroupProtocol);
    assert_eq!(told(&mut rig, &|r| r.protocol_type = Some("connect".into())), inconsistent);
    assert_eq!(told(&mut rig, &|r| r.protocol_name = Some("sticky".into())), inconsistent);
    assert_eq!(told(&mut rig, &|r| r.protocol_name = Some("range".into())), None);
    rig.rejoin(&members[0], |_| {});
    assert_eq!(told(&mut rig, &|_| {}), Some(GroupError::RebalanceInProgress));
}

#[test]
fn a_join_while_the_assignment_is_on_its_way_sends_everybody_back() {
    let mut rig = Rig::new(prompt());
    let (members, generation) = completing(&mut rig, 2);
    rig.commits = false;
    let leader = rig.sync(&members[0], generation, &[(&members[0], "x"), (&members[1], "y")]);
    rig.join(|_| {});
    assert_eq!(rig.sync_answer(leader), Some(Err(GroupError::RebalanceInProgress)));
    rig.commit_all();
    assert_eq!(rig.state(), Some(GroupState::PreparingRebalance), "what comes back from the log is late");
    assert_eq!(rig.heartbeat(&members[1], generation), Err(GroupError::RebalanceInProgress));
}

#[test]
fn a_leader_that_asks_twice_writes_once() {
    let mut rig = Rig::new(prompt());
    let (members, generation) = completing(&mut rig, 1);
    rig.commits = false;
    let before = rig.log.len();
    let first = rig.sync(&members[0], generation, &[(&members[0], "x")]);
    let second = rig.sync(&members[0], generation, &[(&members[0], "y")]);
    assert_eq!(rig.log.len(), before + 1);
    rig.commit_all();
    assert_eq!(rig.sync_answer(first), Some(Err(GroupError::RebalanceInProgress)));
    assert_eq!(rig.sync_answer(second).unwrap().unwrap().assignment, "x");
}

#[test]
fn who_does_not_sync_in_time_is_out_although_it_sends_heartbeats() {
    let mut rig = Rig::new(prompt());
    let (members, generation) = completing(&mut rig, 3);
    rig.sync(&members[0], generation, &[(&members[0], "x")]);
    rig.sync(&members[1], generation, &[]);
    for _ in 0..11 {
        rig.pass(5_000);
        for member in &members {
            assert_eq!(rig.heartbeat(member, generation), Ok(()));
        }
    }
    rig.pass(5_000);
    assert_eq!(rig.heartbeat(&members[2], generation), Err(GroupError::UnknownMemberId));
    assert_eq!(rig.heartbeat(&members[0], generation), Err(GroupError::RebalanceInProgress));
}

#[test]
fn a_group_whose_leader_dies_before_it_assigns_is_led_by_another() {
    let mut rig = Rig::new(prompt());
    let (members, generation) = completing(&mut rig, 2);
    let follower = rig.sync(&members[1], generation, &[]);
    rig.pass(10_000);
    assert_eq!(rig.sync_answer(follower), Some(Err(GroupError::RebalanceInProgress)));
    let join = rig.rejoin(&members[1], |_| {});
    let response = rig.join_answer(join).unwrap();
    assert_eq!((response.leader, response.members.len()), (members[1].clone(), 1));
}

#[test]
fn a_group_all_of_whose_members_vanish_while_it_syncs_is_empty_after_their_sessions() {
    let mut rig = Rig::new(prompt());
    completing(&mut rig, 3);
    rig.pass(10_000);
    assert_eq!(rig.state(), Some(GroupState::Empty));
}

#[test]
fn an_assignment_that_no_batch_can_hold_is_an_error_and_another_rebalance() {
    let mut rig = Rig::new(GroupConfig { batch_bytes_max: 1_000, ..prompt() });
    let (members, generation) = completing(&mut rig, 1);
    let large = bytes::Bytes::from(vec![0; 2_000]);
    let before = rig.log.len();
    let id = rig.ask(Request::Sync(SyncRequest {
        group: GROUP.into(),
        member_id: members[0].clone(),
        instance_id: None,
        generation,
        protocol_type: None,
        protocol_name: None,
        assignments: vec![(members[0].clone(), large)],
    }));
    assert_eq!(rig.sync_answer(id), Some(Err(GroupError::AssignmentTooLarge)));
    assert_eq!((rig.log.len(), rig.state()), (before, Some(GroupState::PreparingRebalance)));
}

#[test]
fn an_assignment_that_is_not_committed_in_time_is_given_up_and_the_group_comes_together_again() {
    let mut rig = Rig::new(prompt());
    let (members, generation) = completing(&mut rig, 2);
    rig.commits = false;
    let follower = rig.sync(&members[1], generation, &[]);
    let leader = rig.sync(&members[0], generation, &[(&members[0], "x"), (&members[1], "y")]);
    rig.late();
    assert_eq!(rig.given_up, [follower, leader].into());
    assert_eq!(rig.state(), Some(GroupState::PreparingRebalance));
    rig.commit_all();
    assert_eq!(rig.state(), Some(GroupState::PreparingRebalance), "nobody acts on what comes back from the log now");
    assert_eq!(rig.heartbeat(&members[0], generation), Err(GroupError::RebalanceInProgress), "both are members still");
    assert_eq!(rig.heartbeat(&members[1], generation), Err(GroupError::RebalanceInProgress));
}

#[test]
fn a_commit_that_is_late_is_given_up_and_counts_once_it_is_committed() {
    let mut rig = Rig::new(prompt());
    let (members, generation) = rig.stable(1);
    rig.commits = false;
    let early = rig.commit(&members[0], generation, 5);
    rig.late();
    let later = rig.commit(&members[0], generation, 6);
    assert_eq!((rig.given_up.clone(), rig.offset()), ([early].into(), None));
    rig.commit_all();
    assert_eq!((rig.outcome(early), rig.outcome(later), rig.offset()), (None, Some(Ok(())), Some(6)));
}
