//! Commits, and deletions of offsets and groups.

use std::sync::Arc;

use ballast_wire::Uuid;

use super::rig::{GROUP, Rig, TOPIC_ID, prompt};
use crate::group::*;

fn delete(rig: &mut Rig, topic: &str) -> RequestId {
    let topics = vec![(Arc::from(topic), vec![0])];
    rig.ask(Request::OffsetDelete(OffsetDeleteRequest { group: GROUP.into(), topics }))
}

fn delete_group(rig: &mut Rig) -> RequestId {
    rig.ask(Request::DeleteGroup { group: GROUP.into() })
}

#[test]
fn a_commit_is_answered_and_read_when_it_is_committed_not_before() {
    let mut rig = Rig::new(prompt());
    rig.commits = false;
    let first = rig.commit("", -1, 5);
    let second = rig.commit("", -1, 6);
    assert_eq!((rig.outcome(first), rig.offset()), (None, None));
    rig.commit_next();
    assert_eq!((rig.outcome(first), rig.offset()), (Some(Ok(())), Some(5)));
    assert_eq!(rig.outcome(second), None);
    rig.commit_next();
    assert_eq!((rig.outcome(second), rig.offset()), (Some(Ok(())), Some(6)));
    let group = rig.shard.group(GROUP).unwrap();
    let value = group.offset("t", 0).unwrap();
    assert_eq!((value.leader_epoch, &*value.metadata, value.topic_id), (3, "m", TOPIC_ID));
    assert_eq!((group.state(), group.protocol_type()), (GroupState::Empty, ""), "a group of nobody");
    assert_eq!(group.offset("t", 1), None);
    assert_eq!(group.offsets().count(), 1);
}

#[test]
fn one_word_commits_all_appends_before_it() {
    let mut rig = Rig::new(prompt());
    rig.commits = false;
    let ids: Vec<RequestId> = (0..3).map(|offset| rig.commit("", -1, offset)).collect();
    rig.committed = 3;
    rig.step(Event::Committed { ticket: 2 });
    for id in ids {
        assert_eq!(rig.outcome(id), Some(Ok(())));
    }
    assert_eq!(rig.offset(), Some(2));
}

#[test]
fn who_may_commit_depends_on_generation_and_state_as_in_kafka() {
    let mut rig = Rig::new(prompt());
    let missing = rig.commit("who", 3, 1);
    assert_eq!(rig.outcome(missing), Some(Err(GroupError::GroupIdNotFound)));
    let mut request = rig.commit_request("who", 3, 1);
    request.knows_group_id_not_found = false;
    let old = rig.ask(Request::OffsetCommit(request));
    assert_eq!(rig.outcome(old), Some(Err(GroupError::IllegalGeneration)));
    assert_eq!(rig.state(), None);

    let (members, generation) = rig.stable(2);
    let member = members[0].clone();
    let told = |rig: &mut Rig, member: &str, generation| {
        let id = rig.commit(member, generation, 1);
        rig.outcome(id).unwrap()
    };
    assert_eq!(told(&mut rig, "", -1), Err(GroupError::UnknownMemberId));
    assert_eq!(told(&mut rig, &member, -1), Err(GroupError::IllegalGeneration));
    assert_eq!(told(&mut rig, "who", generation), Err(GroupError::UnknownMemberId));
    assert_eq!(told(&mut rig, &member, generation - 1), Err(GroupError::IllegalGeneration));
    assert_eq!(told(&mut rig, &member, generation), Ok(()));
    rig.rejoin(&members[0], |_| {});
    assert_eq!(told(&mut rig, &member, generation), Ok(()), "PreparingRebalance: the last chance");
    rig.rejoin(&members[1], |_| {});
    assert_eq!(told(&mut rig, &member, generation + 1), Err(GroupError::RebalanceInProgress));
    rig.leave(&[(&members[0], None), (&members[1], None)]);
    assert_eq!(told(&mut rig, &member, generation + 1), Err(GroupError::UnknownMemberId));
    assert_eq!(told(&mut rig, &member, -1), Ok(()));
}

#[test]
fn metadata_that_is_too_long_is_its_partitions_error_alone() {
    let mut rig = Rig::new(prompt());
    let mut request = rig.commit_request("", -1, 1);
    let partition = |index, metadata: Option<String>| CommitPartition { index, offset: 9, leader_epoch: -1, metadata };
    let texts = [None, Some("é".repeat(4_096)), Some("x".repeat(4_097)), Some("🦀".repeat(2_049))];
    request.topics[0].partitions = (0..).zip(texts).map(|(index, text)| partition(index, text)).collect();
    let id = rig.ask(Request::OffsetCommit(request));
    let Some(Response::OffsetCommit(Ok(rows))) = rig.answer(id) else { panic!("{:?}", rig.answer(id)) };
    let errors: Vec<Option<GroupError>> = rows[0].partitions.iter().map(|row| row.error).collect();
    let too_long = Some(GroupError::OffsetMetadataTooLarge);
    assert_eq!(errors, [None, None, too_long, too_long]);
    let group = rig.shard.group(GROUP).unwrap();
    assert_eq!(group.offset("t", 0).map(|value| &*value.metadata), Some(""), "null reads back as empty");
    assert_eq!(group.offset("t", 2), None);
}

#[test]
fn a_commit_that_no_batch_can_hold_changes_nothing() {
    let mut rig = Rig::new(GroupConfig { batch_bytes_max: 2_000, ..prompt() });
    let mut request = rig.commit_request("", -1, 1);
    let partition = request.topics[0].partitions[0].clone();
    request.topics[0].partitions = (0..100).map(|index| CommitPartition { index, ..partition.clone() }).collect();
    let id = rig.ask(Request::OffsetCommit(request));
    assert_eq!(rig.outcome(id), Some(Err(GroupError::InvalidCommitOffsetSize)));
    assert_eq!((rig.log.len(), rig.state()), (0, None));
}

#[test]
fn deleting_an_offset_covers_what_is_on_its_way() {
    let mut rig = Rig::new(prompt());
    rig.commits = false;
    rig.commit("", -1, 5);
    let id = delete(&mut rig, "t");
    let again = delete(&mut rig, "t");
    assert_eq!(rig.log.len(), 2, "the second finds nothing left to delete");
    assert_eq!((rig.outcome(id), rig.outcome(again)), (None, None), "and yet waits for the first");
    rig.commit_all();
    assert_eq!((rig.outcome(id), rig.outcome(again), rig.offset()), (Some(Ok(())), Some(Ok(())), None));
}

#[test]
fn offsets_of_topics_that_members_read_cannot_be_deleted() {
    let mut rig = Rig::new(prompt());
    let missing = delete(&mut rig, "t");
    assert_eq!(rig.outcome(missing), Some(Err(GroupError::GroupIdNotFound)));
    let (members, _) = rig.stable(1);
    let id = delete(&mut rig, "t");
    assert_eq!(rig.outcome(id), Some(Err(GroupError::GroupSubscribedToTopic)));
    let id = delete(&mut rig, "u");
    assert_eq!(rig.outcome(id), Some(Ok(())));
    rig.leave(&[(&members[0], None)]);
    let id = delete(&mut rig, "t");
    assert_eq!(rig.outcome(id), Some(Ok(())));
    rig.join(|request| request.protocol_type = "connect".into());
    let id = delete(&mut rig, "t");
    assert_eq!(rig.outcome(id), Some(Err(GroupError::NonEmptyGroup)), "what others read is not known");
}

#[test]
fn deleting_a_group_takes_all_its_offsets_and_its_tombstone_comes_last() {
    let mut rig = Rig::new(GroupConfig { batch_bytes_max: 200, ..prompt() });
    let (members, generation) = rig.stable(1);
    let id = delete_group(&mut rig);
    assert_eq!(rig.outcome(id), Some(Err(GroupError::NonEmptyGroup)));
    rig.commit(&members[0], generation, 5);
    rig.leave(&[(&members[0], None)]);
    for topic in ["a", "b", "c", "d", "e"] {
        let mut request = rig.commit_request("", -1, 9);
        request.topics[0].name = topic.into();
        rig.ask(Request::OffsetCommit(request));
    }
    rig.commits = false;
    let before = rig.log.len();
    let id = delete_group(&mut rig);
    let records: Vec<&records::Record> = rig.log[before..].iter().flat_map(|(_, records)| records).collect();
    assert!(rig.log.len() > before + 1, "more than one batch");
    assert_eq!(records.len(), 7);
    assert!(matches!(records[6], records::Record::Group { value: None, .. }));
    let again = delete_group(&mut rig);
    let (member, join) = rig.join(|_| {});
    assert_eq!(rig.state(), Some(GroupState::CompletingRebalance), "a new group under the old name");
    rig.commit_all();
    assert_eq!(rig.outcome(id), Some(Ok(())));
    assert_eq!(rig.outcome(again), Some(Err(GroupError::GroupIdNotFound)));
    let response = rig.join_answer(join).unwrap();
    assert_eq!((response.generation, response.leader), (1, member));
    assert_eq!(rig.shard.group(GROUP).unwrap().offsets().count(), 0);
}

#[test]
fn offsets_go_with_their_topic_but_not_with_an_older_one_of_its_name() {
    let mut rig = Rig::new(prompt());
    rig.commit("", -1, 5);
    rig.step(Event::TopicDeleted { name: "t".into(), id: Uuid([1; 16]) });
    assert_eq!(rig.offset(), Some(5));
    rig.commits = false;
    rig.commit("", -1, 6);
    rig.step(Event::TopicDeleted { name: "t".into(), id: TOPIC_ID });
    rig.commit_all();
    assert_eq!(rig.offset(), None);
}

#[test]
fn what_has_no_answer_when_a_shard_ends_is_known() {
    let mut rig = Rig::new(prompt());
    let (members, generation) = rig.stable(2);
    rig.commits = false;
    let commit = rig.commit(&members[0], generation, 5);
    let join = rig.rejoin(&members[0], |_| {});
    let mut waiting = rig.shard.into_waiting();
    waiting.sort_unstable();
    assert_eq!(waiting, [commit, join]);
}
