//! A shard out of its log.

use super::rig::{GROUP, Rig, WALL_MS, prompt};
use crate::group::records::{GroupMetadata, MemberMetadata, Record, RecordError};
use crate::group::*;

/// Loads what a rig has committed.
fn reload(rig: &Rig) -> Rig {
    let mut loading = Loading::new(rig.config.clone());
    for record in rig.log[..rig.committed].iter().flat_map(|(_, records)| records) {
        loading.replay(&record.encode_key(), record.encode_value().as_deref()).unwrap();
    }
    Rig::over(loading.finish(0, WALL_MS), rig.config.clone())
}

#[test]
fn a_loaded_group_goes_on_where_it_was_committed() {
    let mut rig = Rig::new(prompt());
    let (members, generation) = rig.stable(2);
    rig.commit(&members[0], generation, 5);
    let mut loaded = reload(&rig);
    assert_eq!(loaded.shard.committed(), rig.shard.committed());
    assert_eq!((loaded.state(), loaded.offset()), (Some(GroupState::Stable), Some(5)));
    assert_eq!(loaded.shard.group(GROUP).unwrap().members(), rig.shard.group(GROUP).unwrap().members());
    assert_eq!(loaded.heartbeat(&members[1], generation), Ok(()));
    let sync = loaded.sync(&members[1], generation, &[]);
    assert_eq!(loaded.sync_answer(sync).unwrap().unwrap().assignment, "a");
    loaded.pass(10_000);
    assert_eq!(loaded.state(), Some(GroupState::Empty), "those who stay silent go with their session");
}

#[test]
fn what_was_not_committed_is_as_if_it_had_not_been() {
    let mut rig = Rig::new(prompt());
    let (members, generation) = rig.stable(1);
    rig.commits = false;
    rig.commit(&members[0], generation, 5);
    rig.leave(&[(&members[0], None)]);
    let mut loaded = reload(&rig);
    assert_eq!((loaded.state(), loaded.offset()), (Some(GroupState::Stable), None));
    assert_eq!(loaded.heartbeat(&members[0], generation), Ok(()));
}

#[test]
fn a_deleted_group_stays_deleted() {
    let mut rig = Rig::new(prompt());
    rig.commit("", -1, 5);
    rig.ask(Request::DeleteGroup { group: GROUP.into() });
    assert_eq!(reload(&rig).state(), None);
}

#[test]
fn a_group_that_has_outgrown_its_size_rebalances_when_it_is_loaded() {
    let mut rig = Rig::new(prompt());
    rig.stable(3);
    rig.config.max_size = 2;
    assert_eq!(reload(&rig).state(), Some(GroupState::PreparingRebalance));
}

#[test]
fn other_groups_records_are_skipped_and_bytes_that_are_none_change_nothing() {
    let mut loading = Loading::new(prompt());
    loading.replay(b"\x00\x03\x00\x01g", Some(b"\0\0\0\0\0\x02\0")).unwrap();
    assert_eq!(loading.skipped(), 1);
    assert!(matches!(loading.replay(b"", None), Err(RecordError::Short { .. })));
    assert!(matches!(loading.replay(b"\0\x02\0\x01g", Some(b"\0\x09")), Err(RecordError::UnknownVersion { .. })));
    assert_eq!(loading.finish(0, WALL_MS).groups().count(), 0);
}

#[test]
fn metadata_that_contradicts_itself_loads_as_a_legal_group() {
    let member = |id: &str, instance: Option<&str>| MemberMetadata {
        member_id: id.into(),
        instance_id: instance.map(Into::into),
        client_id: "c".into(),
        client_host: "/h".into(),
        rebalance_timeout_ms: -1,
        session_timeout_ms: -7,
        subscription: bytes::Bytes::new(),
        assignment: bytes::Bytes::new(),
    };
    let members = vec![member("a", Some("i")), member("b", Some("i")), member("a", None), member("", None)];
    let metadata = GroupMetadata {
        protocol_type: "consumer".into(),
        generation: -3,
        protocol: Some("range".into()),
        leader: Some("nobody".into()),
        state_since_ms: -1,
        members,
    };
    let without_protocol = GroupMetadata { protocol: None, ..metadata.clone() };
    for (metadata, state) in [(metadata, GroupState::Stable), (without_protocol, GroupState::Empty)] {
        let record = Record::Group { group: GROUP.into(), value: Some(Box::new(metadata)) };
        let mut loading = Loading::new(prompt());
        loading.replay(&record.encode_key(), record.encode_value().as_deref()).unwrap();
        let mut rig = Rig::over(loading.finish(0, WALL_MS), prompt());
        assert_eq!(rig.state(), Some(state));
        rig.step(Event::Timer);
        rig.join(|_| {});
    }
}
