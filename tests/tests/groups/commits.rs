//! OffsetCommit: whose commits are taken, and what of them is.

use ballast_tests::raw::groups::{COMMIT, JOIN, Member, commit, join};
use ballast_tests::raw::rows::eventually;
use ballast_tests::raw::text;

use crate::{group, member, settle};

#[test]
fn members_commit_by_their_generation() {
    let Some((broker, group)) = group("generations") else { return };
    let topic = broker.topic("generations", 1, &[]).name;
    let mut owner = member(&broker, &group);
    owner.settle_alone();
    let (id, generation) = (owner.id.clone(), owner.generation);
    let cases = [
        (0, "itself", id.as_str(), generation),
        (22, "a generation behind", &id, generation - 1),
        (22, "a generation ahead", &id, generation + 1),
        (25, "a stranger", "stranger", generation),
        (25, "nobody, while there are members", "", -1),
        (22, "a member without a generation", &id, -1),
    ];
    for (expected, what, id, generation) in cases {
        let request = commit(&group, id, generation, &topic, &[(0, 7, None)]);
        assert_eq!(owner.connection.commit(COMMIT, &request), [expected], "{what}");
    }
}

#[test]
fn an_empty_group_takes_commits_of_nobody_alone() {
    let Some((broker, group)) = group("empty") else { return };
    let topic = broker.topic("empty", 1, &[]).name;
    let mut connection = broker.connect();
    let missing = |generation| commit(&group, "x", generation, &topic, &[(0, 7, None)]);
    assert_eq!(connection.commit(9, &missing(1)), [69], "there is no such group");
    assert_eq!(connection.commit(8, &missing(1)), [22], "told so since version 9");
    assert_eq!(connection.commit(COMMIT, &commit(&group, "", -1, &topic, &[(0, 7, None)])), [0]);
    assert_eq!(connection.commit(COMMIT, &missing(1)), [25]);
    assert_eq!(connection.commit(COMMIT, &commit(&group, "", -1, &topic, &[(0, 8, None)])), [0]);
    assert_eq!(connection.committed(&group, &topic, &[0])[0].committed_offset, 8);
    // A consumer group may come after.
    let mut owner = member(&broker, &group);
    owner.settle_alone();
    assert_eq!(owner.commit(&topic, 0, 9), 0);
}

#[test]
fn a_group_without_a_name_takes_commits_but_no_members() {
    let Some((broker, _)) = group("nameless") else { return };
    let topic = broker.topic("nameless", 1, &[]).name;
    let mut connection = broker.connect();
    assert_eq!(connection.commit(COMMIT, &commit("", "", -1, &topic, &[(0, 7, None)])), [0]);
    assert_eq!(connection.committed("", &topic, &[0])[0].committed_offset, 7);
}

#[test]
fn commits_are_taken_while_members_come_back_and_not_while_they_wait_for_the_leader() {
    let Some((broker, group)) = group("rebalancing") else { return };
    let topic = broker.topic("rebalancing", 1, &[]).name;
    let mut first = member(&broker, &group);
    first.settle_alone();
    let mut second = member(&broker, &group);
    let joining = second.start_join();
    eventually("a rebalance", || (first.heartbeat() == 27).then_some(()));
    assert_eq!(first.commit(&topic, 0, 5), 0, "members come back");
    first.join();
    second.finish_join(joining);
    assert_eq!(first.commit(&topic, 0, 6), 27, "the leader's turn");
    assert_eq!(first.connection.committed(&group, &topic, &[0])[0].committed_offset, 5);
}

#[test]
fn each_row_has_a_code_of_its_own() {
    let Some((broker, group)) = group("rows") else { return };
    let topic = broker.topic("rows", 1, &[]).name;
    let mut connection = broker.connect();
    let (longest, longer) = ("x".repeat(4096), "x".repeat(4097));
    let request = commit(&group, "", -1, &topic, &[(0, 7, Some(&longest)), (1, 7, None)]);
    let other = commit(&group, "", -1, "never-made", &[(0, 7, None)]).topics.remove(0);
    let mut both = request.clone();
    both.topics.push(other);
    let response = connection.call(COMMIT, &both);
    let mut told: Vec<_> = response
        .topics
        .iter()
        .flat_map(|topic| topic.partitions.iter().map(|row| (topic.name.as_str(), row.partition_index, row.error_code)))
        .collect();
    told.sort();
    let mut expected = [(topic.as_str(), 0, 0), (&topic, 1, 3), ("never-made", 0, 3)];
    expected.sort();
    assert_eq!(told, expected);
    assert_eq!(connection.commit(COMMIT, &commit(&group, "", -1, &topic, &[(0, 8, Some(&longer))])), [12]);
    let row = connection.committed(&group, &topic, &[0]).remove(0);
    assert_eq!((row.committed_offset, row.metadata.map(|text| text.len())), (7, Some(4096)));
}

#[test]
fn offset_epoch_and_text_come_back_as_committed() {
    let Some((broker, group)) = group("comes-back") else { return };
    let topic = broker.topic("comes-back", 4, &[]).name;
    let mut connection = broker.connect();
    let mut request =
        commit(&group, "", -1, &topic, &[(0, 5, Some("m-1")), (1, 6, Some("")), (2, 7, None), (3, -5, None)]);
    request.topics[0].partitions[0].committed_leader_epoch = 0;
    assert_eq!(connection.commit(COMMIT, &request), [0, 0, 0, 0]);
    let mut rows = connection.committed(&group, &topic, &[0, 1, 2, 3]);
    rows.sort_by_key(|row| row.partition_index);
    let told: Vec<_> =
        rows.iter().map(|row| (row.committed_offset, row.committed_leader_epoch, row.metadata.as_deref())).collect();
    assert_eq!(told, [(5, 0, Some("m-1")), (6, -1, Some("")), (7, -1, Some("")), (-5, -1, Some(""))]);
}

#[test]
fn every_version_commits() {
    let Some((broker, group)) = group("commit-versions") else { return };
    let topic = broker.topic("commit-versions", 1, &[]).name;
    let mut owner = member(&broker, &group);
    owner.settle_alone();
    for version in 2..=COMMIT {
        let offset = 100 + i64::from(version);
        let request = commit(&group, &owner.id, owner.generation, &topic, &[(0, offset, Some("text"))]);
        assert_eq!(owner.connection.commit(version, &request), [0], "v{version}");
        let row = owner.connection.committed(&group, &topic, &[0]).remove(0);
        assert_eq!((row.committed_offset, row.metadata.as_deref()), (offset, Some("text")), "v{version}");
    }
}

#[test]
fn an_empty_commit_is_answered_empty() {
    let Some((broker, group)) = group("empty-commit") else { return };
    let mut connection = broker.connect();
    let request = commit(&group, "", -1, "x", &[]).with_topics(Vec::new());
    assert!(connection.call(COMMIT, &request).topics.is_empty());
}

#[test]
fn a_commit_by_a_name_says_what_a_join_by_it_would() {
    let Some((broker, group)) = group("commit-name") else { return };
    let topic = broker.topic("commit-name", 1, &[]).name;
    let mut named: Vec<Member> = vec![member(&broker, &group).instance("a")];
    settle(&mut named);
    assert_eq!(named[0].commit(&topic, 0, 3), 0);
    let mut request = commit(&group, &named[0].id, named[0].generation, &topic, &[(0, 4, None)]);
    request.group_instance_id = Some(text("b"));
    assert_eq!(named[0].connection.commit(COMMIT, &request), [25]);
    let pending = named[0].connection.call(JOIN, &join(&group, ""));
    assert_eq!(pending.error_code, 79);
    request.group_instance_id = None;
    assert_eq!(named[0].connection.commit(COMMIT, &request), [0], "the name may be left out");
}
