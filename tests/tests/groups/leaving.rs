//! Leaving: the others share anew, and a group without members is empty.

use ballast_tests::raw::groups::{LEAVE, Member, group_id};
use ballast_tests::raw::rows::eventually;
use ballast_tests::raw::text;
use kafka_protocol::messages::LeaveGroupRequest;
use kafka_protocol::messages::leave_group_request::MemberIdentity;

use crate::dead_members::state;
use crate::{group, member, settle};

#[test]
fn who_leaves_is_gone_and_the_rest_rebalances() {
    let Some((broker, group)) = group("leaves") else { return };
    let mut members: Vec<Member> = (0..2).map(|_| member(&broker, &group)).collect();
    settle(&mut members);
    let id = members[1].id.clone();
    assert_eq!(members[1].connection.leave(&group, &[(&id, None)])[0].error_code, 0);
    assert_eq!((members[1].heartbeat(), members[0].heartbeat()), (25, 27));
    assert_eq!(members[1].connection.leave(&group, &[(&id, None)])[0].error_code, 25, "it is gone already");
    let joined = members[0].join();
    assert_eq!(joined.members.len(), 1);
}

#[test]
fn a_pending_member_may_leave() {
    let Some((broker, group)) = group("pending-leaves") else { return };
    let mut pending = member(&broker, &group);
    let answer = pending.connection.call(9, &pending.how.clone());
    assert_eq!(answer.error_code, 79);
    assert_eq!(pending.connection.leave(&group, &[(answer.member_id.as_str(), None)])[0].error_code, 0);
    let rejoin = pending.how.clone().with_member_id(answer.member_id);
    assert_eq!(pending.connection.call(9, &rejoin).error_code, 25);
}

#[test]
fn every_version_lets_a_member_go() {
    for version in 0..=LEAVE {
        let Some((broker, group)) = group("leave-versions") else { return };
        let mut member = member(&broker, &group);
        member.settle_alone();
        let request = LeaveGroupRequest::default().with_group_id(group_id(&group));
        let request = match version {
            0..3 => request.with_member_id(text(&member.id)),
            _ => request.with_members(vec![MemberIdentity::default().with_member_id(text(&member.id))]),
        };
        assert_eq!(member.connection.call(version, &request).error_code, 0, "v{version}");
        assert_eq!(member.heartbeat(), 25, "v{version}");
        // Before version 3 there are no rows: the error is that of the answer.
        let again = member.connection.call(version, &request);
        let code = again.members.first().map_or(again.error_code, |row| row.error_code);
        assert_eq!(code, 25, "v{version}");
    }
}

#[test]
fn a_group_id_must_be_given() {
    let Some((broker, _)) = group("no-id") else { return };
    let mut connection = broker.connect();
    let request = LeaveGroupRequest::default().with_members(vec![MemberIdentity::default().with_member_id(text("x"))]);
    assert_eq!(connection.call(LEAVE, &request).error_code, 24);
    let unknown = connection.call(LEAVE, &request.with_group_id(group_id("nobody's")));
    let told = (unknown.error_code, unknown.members.first().map(|row| row.error_code));
    assert_eq!(told, (0, Some(25)), "the group is unknown, and so is its member");
}

#[test]
fn a_closed_connection_does_not_take_the_member_with_it_but_its_session_ends() {
    let Some((broker, group)) = group("closed") else { return };
    let mut gone = member(&broker, &group).timeouts(1_500, 10_000);
    gone.settle_alone();
    let (id, generation) = (gone.id.clone(), gone.generation);
    drop(gone);
    let mut heir = member(&broker, &group);
    (heir.id, heir.generation) = (id, generation);
    assert_eq!(heir.heartbeat(), 0, "the id is what counts");
    // Asked of an administrator: a heartbeat would be a sign of life.
    eventually("its session ends", || (state(&mut heir.connection, &group) == ("Empty".to_owned(), 0)).then_some(()));
    assert_eq!(heir.heartbeat(), 25);
}
