//! OffsetFetch: what is committed, and what is not.

use ballast_tests::raw::groups::{OFFSETS, commit, group_id};
use ballast_tests::raw::name;
use kafka_protocol::messages::OffsetFetchRequest;
use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};

use crate::group;

#[test]
fn what_was_never_committed_is_no_error() {
    let Some((broker, group)) = group("never") else { return };
    let topic = broker.topic("never", 1, &[]).name;
    let mut connection = broker.connect();
    for what in ["of an unknown group", "of a group that has committed another partition"] {
        for (name, partition) in [(topic.as_str(), 0), ("never-made", 5)] {
            let row = connection.committed(&group, name, &[partition]).remove(0);
            let told = (row.error_code, row.committed_offset, row.committed_leader_epoch, row.metadata.as_deref());
            assert_eq!(told, (0, -1, -1, Some("")), "{name}-{partition} {what}");
        }
        let other = broker.topic("never-other", 1, &[]).name;
        assert_eq!(connection.commit(9, &commit(&group, "", -1, &other, &[(0, 1, None)])), [0]);
    }
}

#[test]
fn every_version_tells_what_is_committed() {
    let Some((broker, group)) = group("fetch-versions") else { return };
    let topic = broker.topic("fetch-versions", 2, &[]).name;
    let mut connection = broker.connect();
    assert_eq!(connection.commit(9, &commit(&group, "", -1, &topic, &[(0, 3, Some("text"))])), [0]);
    for version in 1..=7 {
        let row = OffsetFetchRequestTopic::default().with_name(name(&topic)).with_partition_indexes(vec![0, 1]);
        let request = OffsetFetchRequest::default().with_group_id(group_id(&group)).with_topics(Some(vec![row]));
        let response = connection.call(version, &request);
        assert_eq!(response.error_code, 0);
        let mut rows: Vec<_> = response.topics[0]
            .partitions
            .iter()
            .map(|row| (row.partition_index, row.committed_offset, row.metadata.as_deref()))
            .collect();
        rows.sort_unstable();
        assert_eq!(rows, [(0, 3, Some("text")), (1, -1, Some(""))], "v{version}");
        if version >= 2 {
            let all = connection.call(version, &request.with_topics(None));
            let rows: Vec<_> =
                all.topics.iter().flat_map(|topic| &topic.partitions).map(|row| row.committed_offset).collect();
            assert_eq!((all.topics[0].name.as_str(), rows), (&*topic, vec![3]), "v{version}, all");
        }
    }
}

#[test]
fn many_groups_are_asked_at_once_from_version_8_on() {
    let Some((broker, group)) = group("many") else { return };
    let topic = broker.topic("many", 1, &[]).name;
    let second = format!("{group}-2");
    let mut connection = broker.connect();
    assert_eq!(connection.commit(9, &commit(&group, "", -1, &topic, &[(0, 1, None)])), [0]);
    assert_eq!(connection.commit(9, &commit(&second, "", -1, &topic, &[(0, 2, None)])), [0]);
    for version in 8..=OFFSETS {
        let wanted = |group: &str| {
            let row = OffsetFetchRequestTopics::default().with_name(name(&topic)).with_partition_indexes(vec![0]);
            OffsetFetchRequestGroup::default().with_group_id(group_id(group)).with_topics(Some(vec![row]))
        };
        let unknown = OffsetFetchRequestGroup::default().with_group_id(group_id("nobody's")).with_topics(None);
        let all = wanted(&second).with_topics(None);
        let request = OffsetFetchRequest::default().with_groups(vec![wanted(&group), all, unknown]);
        let mut response = connection.call(version, &request.with_require_stable(true));
        response.groups.sort_by(|a, b| a.group_id.0.cmp(&b.group_id.0));
        let told: Vec<_> = response
            .groups
            .iter()
            .map(|group| {
                let rows = group.topics.iter().flat_map(|topic| &topic.partitions).map(|row| row.committed_offset);
                (group.group_id.as_str(), group.error_code, rows.collect::<Vec<_>>())
            })
            .collect();
        assert_eq!(told, [(&*group, 0, vec![1]), (&*second, 0, vec![2]), ("nobody's", 0, vec![])], "v{version}");
    }
}
