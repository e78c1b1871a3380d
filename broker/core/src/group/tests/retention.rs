//! What expires, and when (KIP-211).

use super::rig::{GROUP, Rig, prompt};
use crate::group::*;
use crate::machine::Machine;

const MINUTE_MS: u64 = 60_000;

/// Offsets are kept for two minutes; every 10 s somebody looks.
fn rig() -> Rig {
    Rig::new(GroupConfig { retention_ms: 120_000, retention_check_interval_ms: 10_000, ..prompt() })
}

/// Lets minutes pass with heartbeats.
fn pass_alive(rig: &mut Rig, member: &MemberId, generation: Generation, ms: u64) {
    for _ in 0..ms / 5_000 {
        rig.pass(5_000);
        assert_eq!(rig.heartbeat(member, generation), Ok(()));
    }
}

#[test]
fn a_group_that_is_joined_keeps_the_offsets_of_what_it_reads() {
    let mut rig = rig();
    let (members, generation) = rig.stable(1);
    rig.commit(&members[0], generation, 5);
    let mut other = rig.commit_request(&members[0], generation, 9);
    other.topics[0].name = "u".into();
    rig.ask(Request::OffsetCommit(other));
    pass_alive(&mut rig, &members[0], generation, 3 * MINUTE_MS);
    let group = rig.shard.group(GROUP).unwrap();
    let topics: Vec<&str> = group.offsets().map(|(topic, _, _)| &**topic).collect();
    assert_eq!(topics, ["t"], "nobody subscribes to u, and its commit is old");
}

#[test]
fn retention_runs_from_when_the_group_became_empty() {
    let mut rig = rig();
    let (members, generation) = rig.stable(1);
    rig.commit(&members[0], generation, 5);
    pass_alive(&mut rig, &members[0], generation, 3 * MINUTE_MS);
    rig.leave(&[(&members[0], None)]);
    rig.pass(MINUTE_MS + 50_000);
    assert_eq!(rig.offset(), Some(5));
    rig.pass(10_000);
    assert_eq!(rig.state(), None, "the group goes with its last offset");
    assert_eq!(rig.shard.groups().count(), 0);
}

#[test]
fn offsets_of_nobodys_group_expire_by_their_commit() {
    let mut rig = rig();
    rig.commit("", -1, 5);
    rig.pass(MINUTE_MS);
    let mut later = rig.commit_request("", -1, 6);
    later.topics[0].partitions[0].index = 1;
    rig.ask(Request::OffsetCommit(later));
    rig.pass(MINUTE_MS);
    let group = rig.shard.group(GROUP).unwrap();
    assert_eq!(group.offsets().map(|(_, index, _)| index).collect::<Vec<_>>(), [1]);
    rig.pass(MINUTE_MS);
    assert_eq!(rig.state(), None);
}

#[test]
fn a_retention_of_the_commits_own_overrides_the_brokers() {
    let mut rig = rig();
    let mut request = rig.commit_request("", -1, 5);
    request.retention_ms = Some(30_000);
    rig.ask(Request::OffsetCommit(request));
    rig.pass(20_000);
    assert_eq!(rig.offset(), Some(5));
    rig.pass(10_000);
    assert_eq!(rig.offset(), None);
}

#[test]
fn a_commit_on_its_way_does_not_expire_with_the_one_before_it() {
    let mut rig = rig();
    rig.commit("", -1, 5);
    rig.commits = false;
    rig.pass(119_000);
    rig.commit("", -1, 6);
    rig.pass(1_000);
    rig.commit_all();
    assert_eq!(rig.offset(), Some(6));
}

#[test]
fn a_group_without_anything_goes_with_the_next_sweep_but_not_while_somebody_is_on_its_way() {
    let mut rig = rig();
    let (members, _) = rig.stable(1);
    rig.leave(&[(&members[0], None)]);
    let request = rig.join_request();
    rig.pass(5_000);
    rig.ask(Request::Join(Box::new(request)));
    rig.pass(5_000);
    assert_eq!(rig.state(), Some(GroupState::Empty));
    rig.pass(10_000);
    assert_eq!(rig.state(), None);
}

#[test]
fn ten_thousand_groups_that_commit_once_leave_nothing_behind_and_no_step_looks_at_all_of_them() {
    let mut rig = rig();
    for number in 0..10_000 {
        let mut request = rig.commit_request("", -1, 5);
        request.group = format!("g{number}").into();
        rig.ask_without_check(Request::OffsetCommit(request));
    }
    assert_eq!(rig.shard.groups().count(), 10_000);
    rig.now = 120_000;
    let mut steps = 0;
    while rig.shard.wake_at() == Some(120_000) || steps == 0 {
        let before = rig.log.len();
        rig.step_without_check(Event::Timer);
        let records: usize = rig.log[before..].iter().map(|(_, records)| records.len()).sum();
        assert!(records <= 2_000, "{records} records in one step");
        steps += 1;
    }
    assert_eq!((steps, rig.shard.groups().count()), (11, 0));
    rig.shard.check();
}
