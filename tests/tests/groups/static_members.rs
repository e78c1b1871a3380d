//! Members with a name of their own (KIP-345): they come back without a rebalance, and fence who had their name before.

use ballast_tests::raw::groups::{Member, protocol};
use ballast_tests::raw::text;

use crate::{group, member, settle};

#[test]
fn a_named_member_is_admitted_at_once_and_its_id_begins_with_its_name() {
    let Some((broker, group)) = group("named") else { return };
    let mut named = member(&broker, &group).instance("rack-7");
    let joined = named.join();
    assert_eq!(joined.generation_id, 1);
    assert!(joined.member_id.starts_with("rack-7-"), "{joined:?}");
    assert_eq!(joined.members[0].group_instance_id.as_deref(), Some("rack-7"));
}

#[test]
fn a_name_that_comes_back_keeps_the_generation_and_fences_the_old_id() {
    let Some((broker, group)) = group("back") else { return };
    let mut members = vec![member(&broker, &group).instance("a"), member(&broker, &group).instance("b")];
    settle(&mut members);
    let (generation, leader, old) = (members[0].generation, members[0].id.clone(), members[1].id.clone());
    let mut back = member(&broker, &group).instance("b");
    back.how.protocols = vec![protocol("range", "other metadata")];
    let joined = back.join();
    assert_eq!((joined.generation_id, joined.leader.as_str()), (generation, leader.as_str()));
    assert_ne!(back.id, old, "a new id");
    assert!(joined.members.is_empty() && !joined.skip_assignment);
    assert_eq!(&back.sync(&[]).assignment[..], old.as_bytes(), "what it had");
    assert_eq!((members[0].heartbeat(), back.heartbeat()), (0, 0), "no rebalance");

    let topic = broker.topic("fenced", 1, &[]);
    let mut fenced = members.remove(1);
    assert_eq!((fenced.heartbeat(), fenced.sync(&[]).error_code, fenced.commit(&topic.name, 0, 1)), (82, 82, 82));
    let rejoined = {
        let started = fenced.start_join();
        fenced.connection.finish::<kafka_protocol::messages::JoinGroupRequest>(9, started).error_code
    };
    assert_eq!(rejoined, 82);
    assert_eq!(fenced.connection.leave(&group, &[(&old, Some("b"))])[0].error_code, 82);
    fenced.instance = None;
    assert_eq!(fenced.heartbeat(), 25, "without its name it is merely unknown");
}

#[test]
fn a_leader_that_comes_back_is_told_to_keep_the_assignment() {
    let Some((broker, group)) = group("leader-back") else { return };
    let mut members = vec![member(&broker, &group).instance("a"), member(&broker, &group).instance("b")];
    settle(&mut members);
    let generation = members[0].generation;
    let mut back = member(&broker, &group).instance("a");
    let joined = back.join();
    assert_eq!((joined.generation_id, joined.leader == joined.member_id), (generation, true));
    assert!(joined.skip_assignment && joined.members.len() == 2, "{joined:?}");
    assert_eq!(back.sync(&[]).error_code, 0);

    // Before version 9 there was no way to say so: the old id is named as leader, and nobody assigns.
    let mut older = member(&broker, &group).instance("a");
    let request = older.how.clone().with_group_instance_id(Some(text("a")));
    let joined = older.connection.call(5, &request);
    assert_eq!((joined.error_code, joined.generation_id, joined.members.len()), (0, generation, 0));
    assert_eq!(joined.leader.as_str(), back.id);
    older.id = joined.member_id.to_string();
}

#[test]
fn a_name_that_nobody_has_is_unknown() {
    let Some((broker, group)) = group("no-name") else { return };
    let mut named = member(&broker, &group).instance("a");
    named.settle_alone();
    named.instance = Some("b".to_owned());
    assert_eq!((named.heartbeat(), named.sync(&[]).error_code), (25, 25));
    let topic = broker.topic("no-name", 1, &[]);
    assert_eq!(named.commit(&topic.name, 0, 1), 25);
    assert_eq!(named.connection.leave(&group, &[("", Some("b"))])[0].error_code, 25);
}

#[test]
fn a_named_member_can_be_removed_by_its_name() {
    let Some((broker, group)) = group("by-name") else { return };
    let mut named: Vec<Member> = vec![member(&broker, &group).instance("a"), member(&broker, &group).instance("b")];
    settle(&mut named);
    let mut admin = broker.connect();
    let rows = admin.leave(&group, &[("", Some("b")), ("", Some("c")), ("stranger", None)]);
    let told: Vec<_> =
        rows.iter().map(|row| (row.member_id.as_str(), row.group_instance_id.as_deref(), row.error_code)).collect();
    assert_eq!(told, [("", Some("b"), 0), ("", Some("c"), 25), ("stranger", None, 25)]);
    assert_eq!(named[1].heartbeat(), 25);
    assert_eq!(named[0].heartbeat(), 27, "the others share anew");
}
