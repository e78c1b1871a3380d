//! Syncs and heartbeats: who they are taken from, and in which state of the group.

use ballast_tests::raw::groups::{HEARTBEAT, Member, SYNC, heartbeat, sync};
use ballast_tests::raw::rows::eventually;
use ballast_tests::raw::text;

use crate::{gather, group, member, settle};

#[test]
fn member_then_generation_then_protocol_are_looked_at() {
    let Some((broker, group)) = group("order") else { return };
    let mut member = member(&broker, &group);
    member.settle_alone();
    let (id, generation) = (member.id.clone(), member.generation);
    let good = sync(&group, &id, generation, &[]);
    let cases = [
        (24, "no group", sync("", &id, generation, &[])),
        (25, "an unknown member, whatever its generation", sync(&group, "stranger", 99, &[])),
        (25, "an unknown group", sync("nobody's", &id, generation, &[])),
        (22, "a generation behind", sync(&group, &id, generation - 1, &[])),
        (22, "a generation ahead", sync(&group, &id, generation + 1, &[])),
        (23, "another type", good.clone().with_protocol_type(Some(text("connect")))),
        (23, "another protocol", good.clone().with_protocol_name(Some(text("sticky")))),
        (0, "itself", good),
    ];
    for (expected, what, request) in cases {
        assert_eq!(member.connection.call(SYNC, &request).error_code, expected, "{what}");
    }
    let cases = [
        (24, "no group", heartbeat("", &id, generation)),
        (25, "an unknown member", heartbeat(&group, "stranger", 99)),
        (25, "an unknown group", heartbeat("nobody's", &id, generation)),
        (22, "a generation behind", heartbeat(&group, &id, generation - 1)),
        (22, "a generation ahead", heartbeat(&group, &id, generation + 1)),
        (0, "itself", heartbeat(&group, &id, generation)),
    ];
    for (expected, what, request) in cases {
        assert_eq!(member.connection.call(HEARTBEAT, &request).error_code, expected, "{what}");
    }
}

#[test]
fn every_version_of_sync_and_heartbeat_works() {
    let Some((broker, group)) = group("versions") else { return };
    let mut member = member(&broker, &group);
    member.settle_alone();
    for version in 0..=SYNC {
        let mut request = sync(&group, &member.id, member.generation, &[]);
        if version < 5 {
            (request.protocol_type, request.protocol_name) = (None, None);
        }
        let synced = member.connection.call(version, &request);
        assert_eq!((synced.error_code, &synced.assignment[..]), (0, b"everything".as_slice()), "v{version}");
        if version >= 5 {
            let protocol = (synced.protocol_type.as_deref(), synced.protocol_name.as_deref());
            assert_eq!(protocol, (Some("consumer"), Some("range")));
        }
    }
    for version in 0..=HEARTBEAT {
        let request = heartbeat(&group, &member.id, member.generation);
        assert_eq!(member.connection.call(version, &request).error_code, 0, "v{version}");
    }
}

#[test]
fn who_the_leader_leaves_out_gets_nothing_and_who_is_no_member_is_passed_over() {
    let Some((broker, group)) = group("left-out") else { return };
    let mut members: Vec<Member> = (0..2).map(|_| member(&broker, &group)).collect();
    settle(&mut members);
    let generation = members[0].generation;
    assert_eq!(gather(&mut members)[1].generation_id, generation + 1);
    let follower = members[1].start_sync(&[]);
    let leader = members[0].id.clone();
    let synced = members[0].sync(&[(&leader, "all of it"), ("stranger", "a part")]);
    assert_eq!((synced.error_code, &synced.assignment[..]), (0, b"all of it".as_slice()));
    let synced = members[1].finish_sync(follower);
    assert_eq!((synced.error_code, synced.assignment.len()), (0, 0));
}

#[test]
fn a_rebalance_is_told_by_heartbeat_and_sync() {
    let Some((broker, group)) = group("rebalance") else { return };
    let mut first = member(&broker, &group);
    first.settle_alone();
    let mut second = member(&broker, &group);
    let joining = second.start_join();
    eventually("a rebalance", || (first.heartbeat() == 27).then_some(()));
    assert_eq!(first.sync(&[]).error_code, 27);
    assert_eq!(first.join().generation_id, 2);
    second.finish_join(joining);
    // Now the group waits for the leader's assignment; signs of life are taken.
    assert_eq!((first.heartbeat(), second.heartbeat()), (0, 0));
    let waiting = second.start_sync(&[]);
    let me = first.id.clone();
    assert_eq!(first.sync(&[(&me, "mine")]).error_code, 0);
    assert_eq!(second.finish_sync(waiting).error_code, 0);
}

#[test]
fn who_waits_for_an_assignment_is_told_of_the_next_rebalance() {
    let Some((broker, group)) = group("again") else { return };
    let mut members: Vec<Member> = (0..2).map(|_| member(&broker, &group)).collect();
    settle(&mut members);
    gather(&mut members);
    let waiting = members[1].start_sync(&[]);
    let mut third = member(&broker, &group);
    let joining = third.start_join();
    assert_eq!(members[1].finish_sync(waiting).error_code, 27);
    let started: Vec<i32> = members.iter_mut().map(Member::start_join).collect();
    third.finish_join(joining);
    for (member, id) in members.iter_mut().zip(started) {
        member.finish_join(id);
    }
}

#[test]
fn a_member_that_does_not_sync_is_removed_at_the_rebalance_timeout() {
    let Some((broker, group)) = group("no-sync") else { return };
    let mut member = member(&broker, &group).timeouts(10_000, 1_000);
    member.join();
    eventually("the member is removed", || (member.heartbeat() == 25).then_some(()));
}
