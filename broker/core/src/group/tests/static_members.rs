//! KIP-345: members that restart without a rebalance.

use super::rig::{GROUP, Rig, prompt, protocol};
use crate::group::records::Record;
use crate::group::*;

/// Joins under an instance id, without a member id.
fn join(rig: &mut Rig, instance: &str, change: impl Fn(&mut JoinRequest)) -> RequestId {
    let mut request = rig.join_request();
    request.instance_id = Some(instance.into());
    change(&mut request);
    rig.ask(Request::Join(Box::new(request)))
}

/// A Stable group of the static members `a`, who leads, and `b`.
fn stable(rig: &mut Rig) -> (MemberId, MemberId, Generation) {
    let a = join(rig, "a", |_| {});
    let a = rig.join_answer(a).unwrap().member_id;
    let b = join(rig, "b", |_| {});
    let request = rig.rejoin(&a, |request| request.instance_id = Some("a".into()));
    let generation = rig.join_answer(request).unwrap().generation;
    let b = rig.join_answer(b).unwrap().member_id;
    rig.sync(&a, generation, &[(&a, "x"), (&b, "y")]);
    rig.sync(&b, generation, &[]);
    assert_eq!(rig.state(), Some(GroupState::Stable));
    (a, b, generation)
}

fn heartbeat(
    rig: &mut Rig,
    member: &MemberId,
    instance: Option<&str>,
    generation: Generation,
) -> Result<(), GroupError> {
    let id = rig.ask(Request::Heartbeat(HeartbeatRequest {
        group: GROUP.into(),
        member_id: member.clone(),
        instance_id: instance.map(Into::into),
        generation,
    }));
    match rig.answer(id) {
        Some(Response::Heartbeat(result)) => *result,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_static_member_that_restarts_gets_a_new_id_and_the_old_generation() {
    let mut rig = Rig::new(prompt());
    let (_, old, generation) = stable(&mut rig);
    rig.commits = false;
    let back = join(&mut rig, "b", |_| {});
    assert_eq!(rig.join_answer(back), None, "the new id must be written first");
    assert_eq!(heartbeat(&mut rig, &old, Some("b"), generation), Err(GroupError::FencedInstanceId));
    assert_eq!(heartbeat(&mut rig, &old, None, generation), Err(GroupError::UnknownMemberId));
    rig.commit_all();
    let response = rig.join_answer(back).unwrap();
    assert_eq!((response.error, response.generation, response.members.len()), (None, generation, 0));
    assert!(!response.skip_assignment);
    let new = response.member_id;
    assert_ne!(new, old);
    let (_, records) = rig.log.last().unwrap();
    let Record::Group { value: Some(metadata), .. } = &records[0] else { panic!("{records:?}") };
    assert!(metadata.members.iter().any(|member| member.member_id == new && member.assignment == "y"));
    let sync = rig.sync(&new, generation, &[]);
    assert_eq!(rig.sync_answer(sync).unwrap().unwrap().assignment, "y");
    assert_eq!(heartbeat(&mut rig, &new, Some("b"), generation), Ok(()));
    assert_eq!(heartbeat(&mut rig, &new, Some("none"), generation), Err(GroupError::UnknownMemberId));
}

#[test]
fn a_leader_that_restarts_sees_the_members_and_is_told_to_keep_the_assignment() {
    let mut rig = Rig::new(prompt());
    let (_, _, generation) = stable(&mut rig);
    let back = join(&mut rig, "a", |_| {});
    let response = rig.join_answer(back).unwrap();
    assert_eq!((response.generation, response.members.len()), (generation, 2));
    assert!(response.skip_assignment && response.leader == response.member_id);
    assert!(response.members.iter().any(|member| member.instance_id.as_deref() == Some("a")));
}

#[test]
fn an_older_client_that_leads_again_must_not_notice() {
    let mut rig = Rig::new(prompt());
    let (old, _, generation) = stable(&mut rig);
    let back = join(&mut rig, "a", |request| request.can_skip_assignment = false);
    let response = rig.join_answer(back).unwrap();
    assert_eq!((response.generation, &response.leader, response.members.len()), (generation, &old, 0));
    assert!(!response.skip_assignment);
}

#[test]
fn changed_metadata_under_the_same_protocol_keeps_the_generation_another_protocol_does_not() {
    let mut rig = Rig::new(prompt());
    let (_, _, generation) = stable(&mut rig);
    let more = |request: &mut JoinRequest| request.protocols = vec![protocol("range", &["t", "u"])];
    let back = join(&mut rig, "b", more);
    assert_eq!(rig.join_answer(back).unwrap().generation, generation);

    let mut rig = Rig::new(prompt());
    let both = |request: &mut JoinRequest| request.protocols = vec![protocol("x", &["t"]), protocol("range", &["t"])];
    join(&mut rig, "a", both);
    assert_eq!(rig.state(), Some(GroupState::CompletingRebalance));
    let back = join(&mut rig, "a", both);
    let response = rig.join_answer(back).unwrap();
    let me = response.member_id.clone();
    let sync = SyncRequest {
        group: GROUP.into(),
        member_id: me.clone(),
        instance_id: None,
        generation: response.generation,
        protocol_type: None,
        protocol_name: None,
        assignments: vec![(me, bytes::Bytes::from_static(b"x"))],
    };
    rig.ask(Request::Sync(sync));
    assert_eq!(rig.state(), Some(GroupState::Stable));
    let only = join(&mut rig, "a", |request| request.protocols = vec![protocol("range", &["t"])]);
    assert_eq!(rig.join_answer(only).unwrap().generation, response.generation + 1);
}

#[test]
fn a_static_member_that_is_back_while_the_leader_assigns_starts_another_rebalance() {
    let mut rig = Rig::new(prompt());
    let (a, b, generation) = stable(&mut rig);
    rig.rejoin(&a, |request| request.instance_id = Some("a".into()));
    rig.rejoin(&b, |request| request.instance_id = Some("b".into()));
    assert_eq!(rig.state(), Some(GroupState::CompletingRebalance));
    let waiting = rig.sync(&b, generation + 1, &[]);
    let back = join(&mut rig, "b", |_| {});
    assert_eq!(rig.sync_answer(waiting), Some(Err(GroupError::FencedInstanceId)));
    assert_eq!(rig.state(), Some(GroupState::PreparingRebalance));
    rig.rejoin(&a, |request| request.instance_id = Some("a".into()));
    assert_eq!(rig.join_answer(back).unwrap().generation, generation + 2);
}

#[test]
fn two_processes_under_one_instance_id_the_later_one_wins() {
    let mut rig = Rig::new(prompt());
    let (a, b, generation) = stable(&mut rig);
    let first = rig.rejoin(&a, |request| request.instance_id = Some("a".into()));
    let second = join(&mut rig, "a", |_| {});
    assert_eq!(rig.join_answer(first).unwrap().error, Some(GroupError::FencedInstanceId));
    rig.rejoin(&b, |request| request.instance_id = Some("b".into()));
    assert_eq!(rig.join_answer(second).unwrap().generation, generation + 1);
    let fenced = rig.rejoin(&a, |request| request.instance_id = Some("a".into()));
    assert_eq!(rig.join_answer(fenced).unwrap().error, Some(GroupError::FencedInstanceId));
    let mut commit = rig.commit_request(&a, generation, 1);
    commit.instance_id = Some("a".into());
    let id = rig.ask(Request::OffsetCommit(commit));
    assert_eq!(rig.outcome(id), Some(Err(GroupError::FencedInstanceId)));
    let left = rig.leave(&[(&a, Some("a"))]);
    assert_eq!(rig.left(left), [Some(GroupError::FencedInstanceId)]);
}

#[test]
fn a_rebalance_that_begins_before_the_new_id_is_written_answers_it_at_its_end() {
    let mut rig = Rig::new(prompt());
    let (a, _, generation) = stable(&mut rig);
    rig.commits = false;
    let back = join(&mut rig, "b", |_| {});
    let leader = rig.rejoin(&a, |request| request.instance_id = Some("a".into()));
    assert_eq!(rig.join_answer(leader).unwrap().generation, generation + 1);
    assert_eq!(rig.join_answer(back).unwrap().generation, generation + 1);
    rig.commit_all();
}

#[test]
fn a_silent_static_member_outlives_a_rebalance_but_not_its_session() {
    let mut rig = Rig::new(prompt());
    let long = |instance: &'static str| {
        move |request: &mut JoinRequest| {
            request.instance_id = Some(instance.into());
            request.session_timeout_ms = 100_000;
        }
    };
    let a = join(&mut rig, "a", long("a"));
    let a = rig.join_answer(a).unwrap().member_id;
    join(&mut rig, "b", long("b"));
    rig.rejoin(&a, long("a"));
    let leader = rig.rejoin(&a, |request| {
        long("a")(request);
        request.protocols = vec![protocol("range", &["u"])];
    });
    rig.pass(60_000);
    let response = rig.join_answer(leader).expect("the rebalance timeout is up");
    assert_eq!(response.members.len(), 2, "b said nothing, and is still there");
    rig.sync(&a, response.generation, &[]);
    for _ in 0..6 {
        rig.pass(10_000);
        heartbeat(&mut rig, &a, Some("a"), response.generation).ok();
    }
    assert_eq!(rig.shard.group(GROUP).unwrap().members_len(), 1, "it did not sync within the rebalance timeout");
}

#[test]
fn a_rebalance_without_anybody_back_waits_for_sessions() {
    let mut rig = Rig::new(prompt());
    let (a, _, generation) = stable(&mut rig);
    rig.leave(&[(&a, Some("a"))]);
    assert_eq!(rig.state(), Some(GroupState::PreparingRebalance));
    rig.pass(10_000);
    assert_eq!(rig.state(), Some(GroupState::Empty));
    let back = join(&mut rig, "b", |_| {});
    assert_eq!(rig.join_answer(back).unwrap().generation, generation + 2);
}

#[test]
fn an_administrator_removes_a_static_member_by_its_instance_id() {
    let mut rig = Rig::new(prompt());
    stable(&mut rig);
    let left = rig.leave(&[("", Some("b")), ("", Some("b"))]);
    assert_eq!(rig.left(left), [None, Some(GroupError::UnknownMemberId)]);
    assert_eq!(rig.shard.group(GROUP).unwrap().members_len(), 1);
}

#[test]
fn a_new_id_that_is_not_committed_in_time_is_given_up_and_the_next_try_gets_another() {
    let mut rig = Rig::new(prompt());
    let (_, _, generation) = stable(&mut rig);
    rig.commits = false;
    let first = join(&mut rig, "b", |_| {});
    rig.late();
    assert_eq!(rig.given_up, [first].into());
    assert_eq!(rig.state(), Some(GroupState::Stable));
    let again = join(&mut rig, "b", |_| {});
    rig.commit_all();
    let response = rig.join_answer(again).unwrap();
    assert_eq!((rig.join_answer(first), response.error, response.generation), (None, None, generation));
}
