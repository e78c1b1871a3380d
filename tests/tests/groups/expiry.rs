//! When committed offsets are forgotten (`offsets.retention.minutes`): never under a member, else once nobody has used the
//! group for that long.
//!
//! The shortest retention is a minute, which is too long to wait for; retention_time of OffsetCommit v2 to v4 is in
//! milliseconds, and what hangs on the minute is tested on the machine itself (`ballast_core::group`).

use ballast_tests::raw::groups::{commit, group_id};
use ballast_tests::raw::rows::eventually;
use ballast_tests::target::{unique, with};
use kafka_protocol::messages::ListGroupsRequest;

const SETTINGS: [&str; 3] = [
    "group.initial.rebalance.delay.ms=0",
    "group.min.session.timeout.ms=1000",
    "offsets.retention.check.interval.ms=100",
];

#[test]
fn a_commit_with_a_time_of_its_own_expires_and_its_group_with_it() {
    let Some(broker) = with(&SETTINGS) else { return };
    let (group, topic) = (unique("short"), broker.topic("short", 2, &[]).name);
    let mut connection = broker.connect();
    connection.coordinator(&group);
    let request = commit(&group, "", -1, &topic, &[(0, 7, None)]).with_retention_time_ms(1_000);
    assert_eq!(connection.commit(2, &request), [0]);
    assert_eq!(connection.committed(&group, &topic, &[0])[0].committed_offset, 7);
    eventually("the commit expires", || {
        (connection.committed(&group, &topic, &[0])[0].committed_offset == -1).then_some(())
    });
    eventually("the group goes with it", || {
        let listed = connection.call(5, &ListGroupsRequest::default()).groups;
        listed.iter().all(|row| row.group_id != group_id(&group)).then_some(())
    });
}

#[test]
fn thousands_of_groups_of_one_commit_leave_nothing_behind() {
    const GROUPS: usize = 3_000;
    const GROWTH_KIB_MAX: u64 = 48 << 10;
    let Some(broker) = with(&SETTINGS) else { return };
    let topic = broker.topic("one-shot", 1, &[]).name;
    let (mut connection, stem) = (broker.connect(), unique("one-shot"));
    connection.coordinator(&stem);
    let round = |connection: &mut ballast_tests::raw::Connection, round: usize| {
        for number in 0..GROUPS {
            let group = format!("{stem}-{round}-{number}");
            let request = commit(&group, "", -1, &topic, &[(0, 7, None)]).with_retention_time_ms(500);
            assert_eq!(connection.commit(2, &request), [0]);
        }
        eventually("all of them expire", || {
            let listed = connection.call(5, &ListGroupsRequest::default()).groups;
            listed.iter().all(|row| !row.group_id.starts_with(&*stem)).then_some(())
        });
    };
    round(&mut connection, 0);
    let before = broker.resident_kib();
    round(&mut connection, 1);
    round(&mut connection, 2);
    if let (Some(before), Some(after)) = (before, broker.resident_kib()) {
        assert!(after <= before + GROWTH_KIB_MAX, "{after} KiB after {before} KiB");
    }
}
