//! Who may join, and what a join is told.

use ballast_tests::raw::groups::{JOIN, Member, join, protocol};
use ballast_tests::raw::{name, text};
use kafka_protocol::messages::{GroupId, JoinGroupRequest};

use crate::{gather, group, member, settle};

fn code(member: &mut Member, version: i16, request: &JoinGroupRequest) -> i16 {
    member.connection.call(version, request).error_code
}

#[test]
fn a_join_that_makes_no_sense_is_refused_in_kafkas_order() {
    let Some((broker, group)) = group("refused") else { return };
    let mut member = member(&broker, &group);
    let good = join(&group, "");
    let cases: [(i16, &str, JoinGroupRequest); 6] = [
        (
            24,
            "no group, whatever else is wrong",
            good.clone().with_group_id(GroupId(text(""))).with_session_timeout_ms(1),
        ),
        (26, "a session below the minimum", good.clone().with_session_timeout_ms(999)),
        (26, "a session above the maximum", good.clone().with_session_timeout_ms(1_800_001)),
        (25, "an id that nobody gave", good.clone().with_member_id(text("stranger"))),
        (23, "no protocol type", good.clone().with_protocol_type(text(""))),
        (23, "no protocol", good.clone().with_protocols(Vec::new())),
    ];
    for (expected, what, request) in cases {
        assert_eq!(code(&mut member, JOIN, &request), expected, "{what}");
    }
}

#[test]
fn a_new_member_is_sent_away_with_an_id_from_version_4_on() {
    let Some((broker, group)) = group("id-first") else { return };
    let mut connection = broker.connect();
    for version in 4..=JOIN {
        let answer = connection.call(version, &join(&group, ""));
        assert_eq!((answer.error_code, answer.generation_id), (79, -1), "v{version}");
        assert!(answer.member_id.starts_with("ballast-tests-"), "v{version}: {answer:?}");
        assert_eq!(answer.member_id.len(), "ballast-tests-".len() + 36, "an uuid: {answer:?}");
        assert!(answer.leader.is_empty() && answer.members.is_empty());
        if version >= 7 {
            assert_eq!((answer.protocol_type, answer.protocol_name), (None, None), "v{version}");
        }
    }
    connection.client_id = None;
    let nameless = connection.call(JOIN, &join(&group, ""));
    assert!(nameless.member_id.starts_with('-'), "{nameless:?}");
}

#[test]
fn a_new_member_joins_at_once_before_version_4() {
    for version in 0..4 {
        let Some((broker, group)) = group("at-once") else { return };
        let mut connection = broker.connect();
        let answer = connection.call(version, &join(&group, ""));
        assert_eq!((answer.error_code, answer.generation_id), (0, 1), "v{version}");
        assert_eq!(answer.leader, answer.member_id, "v{version}");
        assert_eq!(answer.protocol_name.as_deref(), Some("range"), "v{version}");
        assert_eq!(answer.members.len(), 1);
    }
}

#[test]
fn a_pending_member_is_nobody_until_it_comes_back() {
    let Some((broker, group)) = group("pending") else { return };
    let mut member = member(&broker, &group);
    member.id = member.connection.call(JOIN, &join(&group, "")).member_id.to_string();
    member.generation = 0;
    assert_eq!(member.heartbeat(), 25);
    assert_eq!(member.sync(&[]).error_code, 25);
    let topic = broker.topic("pending", 1, &[]);
    assert_eq!(member.commit(&topic.name, 0, 1), 25);
    let joined = member.join();
    assert_eq!((joined.generation_id, joined.members.len()), (1, 1));
}

#[test]
fn only_the_leader_sees_the_members_and_what_they_subscribe_to() {
    let Some((broker, group)) = group("leader") else { return };
    let mut members: Vec<Member> = (0..3).map(|_| member(&broker, &group)).collect();
    for (at, member) in members.iter_mut().enumerate() {
        member.how = join(&group, "").with_protocols(vec![protocol("range", &format!("topics of {at}"))]);
    }
    settle(&mut members);
    // A member that joins a stable group with what it had is told what holds; the leader starts anew.
    let again = members[1].join();
    assert_eq!((again.members.len(), again.leader.as_str()), (0, &*members[0].id));
    let generation = members[0].generation;
    for joined in gather(&mut members) {
        assert_eq!(joined.generation_id, generation + 1);
        assert_eq!(joined.protocol_type.as_deref(), Some("consumer"));
        if joined.leader == joined.member_id {
            let mut told: Vec<_> = joined.members.iter().map(|row| String::from_utf8_lossy(&row.metadata)).collect();
            told.sort();
            assert_eq!(told, ["topics of 0", "topics of 1", "topics of 2"]);
        } else {
            assert!(joined.members.is_empty());
        }
    }
}

#[test]
fn the_protocol_is_the_first_choice_of_most_among_those_that_all_know() {
    let Some((broker, group)) = group("vote") else { return };
    let choices: [&[&str]; 3] = [&["only-mine", "b", "a"], &["a", "b"], &["b", "a", "c"]];
    let mut members: Vec<Member> = Vec::new();
    for choice in choices {
        let mut member = member(&broker, &group);
        member.how = join(&group, "").with_protocols(choice.iter().map(|name| protocol(name, name)).collect());
        members.push(member);
    }
    members[0].join();
    let joined = gather(&mut members).remove(0);
    assert_eq!(joined.protocol_name.as_deref(), Some("b"));
    assert!(joined.members.iter().all(|row| &row.metadata[..] == b"b"));
}

#[test]
fn members_must_have_a_protocol_in_common() {
    let Some((broker, group)) = group("common") else { return };
    let mut first = member(&broker, &group);
    first.settle_alone();
    let mut other = member(&broker, &group);
    let cases = [
        ("another type", join(&group, "").with_protocol_type(text("connect"))),
        ("another protocol", join(&group, "").with_protocols(vec![protocol("sticky", "")])),
    ];
    for (what, request) in cases {
        assert_eq!(code(&mut other, JOIN, &request), 23, "{what}");
    }
    assert_eq!(first.heartbeat(), 0, "the group is as it was");
}

#[test]
fn a_full_group_takes_nobody() {
    let Some((broker, group)) = group("full") else { return };
    let mut members: Vec<Member> = (0..4).map(|_| member(&broker, &group)).collect();
    settle(&mut members);
    let mut fifth = member(&broker, &group);
    assert_eq!(code(&mut fifth, JOIN, &join(&group, "")), 81);
    assert_eq!(members[3].heartbeat(), 0);
}

#[test]
fn a_join_waits_and_what_comes_behind_it_on_the_connection_waits_too() {
    let Some((broker, group)) = group("waits") else { return };
    let mut first = member(&broker, &group);
    first.settle_alone();
    let mut second = member(&broker, &group);
    let joining = second.start_join();
    let asked = second.connection.start(
        9,
        &kafka_protocol::messages::MetadataRequest::default().with_topics(Some(vec![
            kafka_protocol::messages::metadata_request::MetadataRequestTopic::default().with_name(Some(name("none"))),
        ])),
    );
    // It is the first's turn: it learns of the rebalance by its heartbeat and joins again.
    ballast_tests::raw::rows::eventually("a rebalance", || (first.heartbeat() == 27).then_some(()));
    assert_eq!(first.join().generation_id, 2);
    assert_eq!(second.finish_join(joining).generation_id, 2);
    second.connection.finish::<kafka_protocol::messages::MetadataRequest>(9, asked);
}

#[test]
fn a_member_that_does_not_come_back_is_left_behind_at_the_rebalance_timeout() {
    let Some((broker, group)) = group("left-behind") else { return };
    let mut silent = member(&broker, &group).timeouts(10_000, 1_000);
    silent.settle_alone();
    let mut second = member(&broker, &group).timeouts(10_000, 1_000);
    let joined = second.join();
    assert_eq!((joined.generation_id, joined.members.len()), (2, 1), "the silent one is gone");
    assert_eq!(silent.heartbeat(), 25);
}

#[test]
fn a_member_without_a_sign_of_life_loses_its_place() {
    let Some((broker, group)) = group("silent") else { return };
    let mut silent = member(&broker, &group).timeouts(1_000, 10_000);
    silent.settle_alone();
    let mut second = member(&broker, &group);
    // The first will never join again: its session ends, and the second is alone.
    let joined = second.join();
    assert_eq!((joined.generation_id, joined.members.len()), (2, 1));
    assert_eq!(silent.heartbeat(), 25);
}
