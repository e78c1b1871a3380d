//! What operators ask: ListGroups, DescribeGroups, DeleteGroups, OffsetDelete.

use ballast_tests::raw::groups::{commit, group_id};
use ballast_tests::raw::{Connection, name, text};
use ballast_tests::target::{Broker, unique};
use kafka_protocol::messages::describe_groups_response::DescribedGroup;
use kafka_protocol::messages::offset_delete_request::{OffsetDeleteRequestPartition, OffsetDeleteRequestTopic};
use kafka_protocol::messages::{
    DeleteGroupsRequest, DescribeGroupsRequest, ListGroupsRequest, OffsetDeleteRequest, OffsetDeleteResponse,
};

use crate::{group, member};

/// Groups whose id begins with a text: id, protocol type, state, type.
fn list(connection: &mut Connection, version: i16, stem: &str, states: &[&str], types: &[&str]) -> Vec<[String; 4]> {
    let request = ListGroupsRequest::default()
        .with_states_filter(states.iter().map(|state| text(state)).collect())
        .with_types_filter(types.iter().map(|kind| text(kind)).collect());
    let response = connection.call(version, &request);
    assert_eq!(response.error_code, 0);
    let mut rows: Vec<_> = response
        .groups
        .iter()
        .filter(|row| row.group_id.starts_with(stem))
        .map(|row| [&*row.group_id, &row.protocol_type, &row.group_state, &row.group_type].map(ToString::to_string))
        .collect();
    rows.sort();
    rows
}

fn describe(connection: &mut Connection, version: i16, group: &str) -> DescribedGroup {
    let request = DescribeGroupsRequest::default().with_groups(vec![group_id(group)]);
    connection.call(version, &request).groups.remove(0)
}

fn delete(connection: &mut Connection, version: i16, group: &str) -> i16 {
    let request = DeleteGroupsRequest::default().with_groups_names(vec![group_id(group)]);
    connection.call(version, &request).results.remove(0).error_code
}

fn delete_offset(connection: &mut Connection, group: &str, topic: &str, partition: i32) -> OffsetDeleteResponse {
    let row = OffsetDeleteRequestPartition::default().with_partition_index(partition);
    let topic = OffsetDeleteRequestTopic::default().with_name(name(topic)).with_partitions(vec![row]);
    connection.call(0, &OffsetDeleteRequest::default().with_group_id(group_id(group)).with_topics(vec![topic]))
}

/// A consumer's subscription to one topic, version 0.
fn subscription(topic: &str) -> bytes::Bytes {
    let mut bytes = vec![0, 0, 0, 0, 0, 1];
    bytes.extend((topic.len() as i16).to_be_bytes());
    bytes.extend(topic.as_bytes());
    bytes.extend([0xff; 4]);
    bytes.into()
}

fn topic(broker: &Broker, stem: &str) -> String {
    broker.topic(stem, 1, &[]).name
}

#[test]
fn groups_are_listed_with_their_state_and_type() {
    let Some((broker, _)) = group("listed") else { return };
    let stem = unique("listed");
    let (stable, simple, empty) = (format!("{stem}-a"), format!("{stem}-b"), format!("{stem}-c"));
    let member_of = |group: &str| {
        let mut member = member(&broker, group);
        member.settle_alone();
        member
    };
    let _stays = member_of(&stable);
    let mut leaves = member_of(&empty);
    let id = leaves.id.clone();
    assert_eq!(leaves.connection.leave(&empty, &[(&id, None)])[0].error_code, 0);
    let mut connection = broker.connect();
    let topic = topic(&broker, "listed");
    assert_eq!(connection.commit(9, &commit(&simple, "", -1, &topic, &[(0, 1, None)])), [0]);

    let row = |group: &str, protocol: &str, state: &str, kind: &str| [group, protocol, state, kind].map(str::to_owned);
    let all = [
        row(&stable, "consumer", "Stable", "classic"),
        row(&simple, "", "Empty", "classic"),
        row(&empty, "consumer", "Empty", "classic"),
    ];
    assert_eq!(list(&mut connection, 5, &stem, &[], &[]), all);
    assert_eq!(
        list(&mut connection, 5, &stem, &["stable"], &[]),
        all[..1],
        "states are told apart without regard to case"
    );
    assert_eq!(list(&mut connection, 5, &stem, &["Empty", "Dead"], &["CLASSIC"]), all[1..]);
    assert!(list(&mut connection, 5, &stem, &["NoSuchState"], &[]).is_empty());
    assert!(list(&mut connection, 5, &stem, &[], &["consumer"]).is_empty());
    assert!(list(&mut connection, 5, &stem, &[], &["nosuchtype"]).is_empty());
    for version in 0..=4 {
        let rows = list(&mut connection, version, &stem, &[], &[]);
        let state = if version == 4 { "Stable" } else { "" };
        assert_eq!(rows[0], row(&stable, "consumer", state, ""), "v{version}");
        assert_eq!(rows.len(), 3, "v{version}");
    }
}

#[test]
fn a_stable_group_is_described_with_its_members() {
    let Some((broker, group)) = group("described") else { return };
    let mut named = member(&broker, &group).instance("rack-7");
    named.settle_alone();
    let mut connection = broker.connect();
    for version in 0..=6 {
        let told = describe(&mut connection, version, &group);
        let head = (told.error_code, &*told.group_state, &*told.protocol_type, &*told.protocol_data);
        assert_eq!(head, (0, "Stable", "consumer", "range"), "v{version}");
        let [row] = &told.members[..] else { panic!("v{version}: {told:?}") };
        assert_eq!((&*row.member_id, &*row.client_id), (&*named.id, "ballast-tests"), "v{version}");
        assert!(row.client_host.starts_with("/127.0.0.1"), "v{version}: {row:?}");
        assert_eq!((&row.member_metadata[..], &row.member_assignment[..]), (&b"subscription"[..], &b"everything"[..]));
        assert_eq!(row.group_instance_id.as_deref(), (version >= 4).then_some("rack-7"), "v{version}");
        assert_eq!(told.authorized_operations, i32::MIN, "v{version}: nobody asked");
    }
    let asked =
        DescribeGroupsRequest::default().with_groups(vec![group_id(&group)]).with_include_authorized_operations(true);
    let operations = connection.call(6, &asked).groups[0].authorized_operations;
    // Read, Delete and Describe; DescribeConfigs and AlterConfigs since groups have configs.
    assert_eq!(operations, 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11, "{operations:b}");
}

#[test]
fn metadata_is_shown_of_a_stable_group_alone() {
    let Some((broker, group)) = group("unstable") else { return };
    let mut owner = member(&broker, &group);
    owner.join();
    let mut connection = broker.connect();
    let told = describe(&mut connection, 5, &group);
    assert_eq!(
        (&*told.group_state, &*told.protocol_type, &*told.protocol_data),
        ("CompletingRebalance", "consumer", "")
    );
    assert!(told.members[0].member_metadata.is_empty() && told.members[0].member_assignment.is_empty());
    let me = owner.id.clone();
    owner.sync(&[(&me, "x")]);
    assert_eq!(owner.connection.leave(&group, &[(&me, None)])[0].error_code, 0);
    let told = describe(&mut connection, 5, &group);
    assert_eq!((&*told.group_state, &*told.protocol_type, told.members.len()), ("Empty", "consumer", 0));
}

#[test]
fn a_group_that_is_not_there_is_dead() {
    let Some((broker, group)) = group("dead") else { return };
    let mut connection = broker.connect();
    for version in 0..=6 {
        let told = describe(&mut connection, version, &group);
        let code = if version == 6 { 69 } else { 0 };
        assert_eq!((told.error_code, &*told.group_state, told.members.len()), (code, "Dead", 0), "v{version}");
        assert_eq!(told.error_message.is_some(), version == 6, "v{version}");
    }
}

#[test]
fn only_a_group_without_members_is_deleted() {
    let Some((broker, group)) = group("deleted") else { return };
    let topic = topic(&broker, "deleted");
    let mut owner = member(&broker, &group);
    owner.settle_alone();
    assert_eq!(owner.commit(&topic, 0, 7), 0);
    let mut connection = broker.connect();
    for version in 0..=2 {
        assert_eq!(delete(&mut connection, version, &group), 68, "v{version}");
        assert_eq!(delete(&mut connection, version, "nobody's"), 69, "v{version}");
    }
    let id = owner.id.clone();
    owner.connection.leave(&group, &[(&id, None)]);
    assert_eq!(delete(&mut connection, 2, &group), 0);
    assert_eq!(delete(&mut connection, 2, &group), 69);
    assert_eq!(connection.committed(&group, &topic, &[0])[0].committed_offset, -1);
    let request = DeleteGroupsRequest::default().with_groups_names(vec![group_id(&group), group_id("")]);
    let told = connection.call(2, &request).results;
    assert_eq!(told.len(), 2, "{told:?}");
}

#[test]
fn offsets_of_topics_that_nobody_subscribes_to_are_deleted() {
    let Some((broker, group)) = group("offset-delete") else { return };
    let (mine, other) = (topic(&broker, "mine"), topic(&broker, "other"));
    let mut owner = member(&broker, &group);
    owner.how.protocols[0].metadata = subscription(&mine);
    owner.settle_alone();
    assert_eq!((owner.commit(&mine, 0, 1), owner.commit(&other, 0, 2)), (0, 0));
    let mut connection = broker.connect();
    let row = |response: &OffsetDeleteResponse| (response.error_code, response.topics[0].partitions[0].error_code);
    assert_eq!(row(&delete_offset(&mut connection, &group, &mine, 0)), (0, 86));
    assert_eq!(row(&delete_offset(&mut connection, &group, &other, 0)), (0, 0));
    assert_eq!(row(&delete_offset(&mut connection, &group, "never-made", 0)), (0, 3));
    let missing = delete_offset(&mut connection, "nobody's", &mine, 0);
    assert_eq!((missing.error_code, missing.topics.len()), (69, 0));
    assert_eq!(connection.committed(&group, &mine, &[0])[0].committed_offset, 1);
    assert_eq!(connection.committed(&group, &other, &[0])[0].committed_offset, -1);
    let id = owner.id.clone();
    owner.connection.leave(&group, &[(&id, None)]);
    assert_eq!(row(&delete_offset(&mut connection, &group, &mine, 0)), (0, 0), "nobody is there");
    assert_eq!(connection.committed(&group, &mine, &[0])[0].committed_offset, -1);
}
