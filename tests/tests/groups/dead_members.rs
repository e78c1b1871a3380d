//! Members that die in the worst moment never hold up the rest for longer than the timeouts that they asked for.

use ballast_tests::raw::groups::Member;
use ballast_tests::raw::rows::eventually;
use ballast_tests::raw::text;
use kafka_protocol::messages::{DescribeGroupsRequest, GroupId};

use crate::{gather, group, member, settle};

pub(crate) fn state(connection: &mut ballast_tests::raw::Connection, group: &str) -> (String, usize) {
    let request = DescribeGroupsRequest::default().with_groups(vec![GroupId(text(group))]);
    let told = connection.call(5, &request).groups.remove(0);
    (told.group_state.to_string(), told.members.len())
}

#[test]
fn members_that_die_before_they_rejoin_are_left_behind() {
    let Some((broker, group)) = group("die-joining") else { return };
    let mut members: Vec<Member> = (0..3).map(|_| member(&broker, &group).timeouts(5_000, 1_500)).collect();
    settle(&mut members);
    let mut fourth = member(&broker, &group).timeouts(5_000, 1_500);
    let joining = fourth.start_join();
    eventually("a rebalance", || (members[0].heartbeat() == 27).then_some(()));
    members.truncate(1);
    let rejoined = members[0].join();
    let joined = fourth.finish_join(joining);
    assert_eq!((rejoined.generation_id, joined.generation_id), (2 + 1, 3));
    assert_eq!(rejoined.members.len().max(joined.members.len()), 2, "the two that died are gone");
    let ids = [members[0].id.clone(), fourth.id.clone()];
    let all: Vec<(&str, &str)> = ids.iter().map(|id| (id.as_str(), id.as_str())).collect();
    let waiting = fourth.start_sync(&all);
    members[0].sync(&all);
    assert_eq!(fourth.finish_sync(waiting).error_code, 0);
    assert_eq!(state(&mut broker.connect(), &group), ("Stable".to_owned(), 2));
}

#[test]
fn a_group_whose_members_all_die_while_they_wait_for_the_leader_becomes_empty() {
    let Some((broker, group)) = group("die-syncing") else { return };
    let mut members: Vec<Member> = (0..3).map(|_| member(&broker, &group).timeouts(1_500, 1_500)).collect();
    settle(&mut members);
    gather(&mut members);
    for member in &mut members[1..] {
        member.start_sync(&[]);
    }
    drop(members);
    let mut connection = broker.connect();
    eventually("the group is empty", || (state(&mut connection, &group) == ("Empty".to_owned(), 0)).then_some(()));
    let mut next = member(&broker, &group);
    next.settle_alone();
}
