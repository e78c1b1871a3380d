//! Groups and elections against scripted coordinators, old and new, on paused time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ballast_wire::frame::ApiKey;
use kafka_protocol::messages::consumer_group_describe_response as newer;
use kafka_protocol::messages::describe_groups_response::DescribedGroup;
use kafka_protocol::messages::elect_leaders_response::{PartitionResult, ReplicaElectionResult};
use kafka_protocol::messages::find_coordinator_response::Coordinator;
use kafka_protocol::messages::list_groups_response::ListedGroup as ListedRow;
use kafka_protocol::messages::list_offsets_response::{ListOffsetsPartitionResponse, ListOffsetsTopicResponse};
use kafka_protocol::messages::{
    ConsumerGroupDescribeResponse, DescribeGroupsResponse, ElectLeadersRequest, ElectLeadersResponse,
    FindCoordinatorRequest, FindCoordinatorResponse, GroupId, ListGroupsResponse, ListOffsetsResponse,
};

use super::*;
use crate::fake::{Asked, Fake, Reply};

/// Brokers 1 and 2; a group's coordinator is broker 2.
fn brokers(script: impl Fn(&Asked) -> Option<Reply> + Send + Sync + 'static) -> (Arc<Fake>, Admin) {
    let fake = Fake::new(move |asked| {
        script(asked).or_else(|| (asked.key == ApiKey::FIND_COORDINATOR).then(|| found(asked, 0)))
    });
    fake.set_topology(&[1, 2], "t", &[(1, 5)]);
    fake.versions.lock().extend([(10, 0, 6), (15, 0, 6), (16, 0, 5), (43, 0, 2), (69, 0, 1)]);
    let admin = Admin::new(fake.cluster(&[1]));
    (fake, admin)
}

/// Broker 2, in the form of the version that was asked.
fn found(asked: &Asked, code: i16) -> Reply {
    let request: FindCoordinatorRequest = asked.decode();
    let fake = text("fake");
    let answer = if asked.version >= 4 {
        assert_eq!(request.coordinator_keys, [text("g")]);
        let row = Coordinator::default().with_key(text("g")).with_node_id(2.into()).with_host(fake).with_port(2);
        FindCoordinatorResponse::default().with_coordinators(vec![row.with_error_code(code)])
    } else {
        assert_eq!(request.key, text("g"));
        FindCoordinatorResponse::default().with_node_id(2.into()).with_host(fake).with_port(2).with_error_code(code)
    };
    Reply::of(&answer, asked.version)
}

fn described(asked: &Asked, state: &str, code: i16) -> Reply {
    let row = DescribedGroup::default().with_group_id(GroupId(text("g"))).with_group_state(text(state));
    Reply::of(&DescribeGroupsResponse::default().with_groups(vec![row.with_error_code(code)]), asked.version)
}

#[tokio::test(start_paused = true)]
async fn a_coordinator_is_found_in_every_version_and_asked_itself() {
    for newest in [0, 3, 4, 6] {
        let (fake, admin) = brokers(|asked| match asked.key {
            ApiKey::DESCRIBE_GROUPS => {
                assert_eq!(asked.port, 2, "broker 1 is asked for the coordinator alone");
                Some(described(asked, "Stable", 0))
            }
            _ => None,
        });
        fake.versions.lock().retain(|(key, ..)| *key != 10);
        fake.versions.lock().push((10, 0, newest));
        let group = admin.describe_group("g").await.unwrap();
        assert_eq!((group.state.as_str(), group.coordinator), ("Stable", 2), "version {newest}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_coordinator_that_is_not_there_yet_or_has_moved_is_looked_for_again() {
    let asked_before = AtomicUsize::new(0);
    let (fake, admin) = brokers(move |asked| match asked.key {
        ApiKey::FIND_COORDINATOR => (asked_before.fetch_add(1, Ordering::Relaxed) == 0).then(|| found(asked, 15)),
        ApiKey::DESCRIBE_GROUPS => match asked_before.fetch_add(100, Ordering::Relaxed) {
            before if before < 100 => Some(described(asked, "", 16)),
            _ => Some(described(asked, "Empty", 0)),
        },
        _ => None,
    });
    assert_eq!(admin.describe_group("g").await.unwrap().state, "Empty");
    assert!(fake.asked_for(ApiKey::FIND_COORDINATOR).len() >= 3, "not available, found, and found again");
}

#[tokio::test(start_paused = true)]
async fn a_group_that_is_not_there_is_so_for_old_brokers_and_new_ones() {
    for (state, code, newest) in [("Dead", 0, 5), ("Dead", 69, 6)] {
        let (fake, admin) = brokers(move |asked| match asked.key {
            ApiKey::DESCRIBE_GROUPS => Some(described(asked, state, code)),
            ApiKey::CONSUMER_GROUP_DESCRIBE => {
                let row = newer::DescribedGroup::default().with_error_code(69);
                Some(Reply::of(&ConsumerGroupDescribeResponse::default().with_groups(vec![row]), asked.version))
            }
            _ => None,
        });
        fake.versions.lock().retain(|(key, ..)| !(*key == 15 || (*key == 69 && newest == 5)));
        fake.versions.lock().push((15, 0, newest));
        let error = admin.describe_group("g").await.unwrap_err();
        assert_eq!(error.code(), Some(ErrorCode::GROUP_ID_NOT_FOUND), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_group_of_the_newer_protocol_is_described_in_the_same_form() {
    let (_, admin) = brokers(|asked| match asked.key {
        ApiKey::DESCRIBE_GROUPS => Some(described(asked, "Dead", 69)),
        ApiKey::CONSUMER_GROUP_DESCRIBE => {
            let topic = newer::TopicPartitions::default().with_topic_name(topic_name("t")).with_partitions(vec![0, 3]);
            let given = newer::Assignment::default().with_topic_partitions(vec![topic]);
            let member = newer::Member::default().with_member_id(text("m")).with_assignment(given);
            let row = newer::DescribedGroup::default()
                .with_group_id(GroupId(text("g")))
                .with_group_state(text("Stable"))
                .with_assignor_name(text("uniform"))
                .with_members(vec![member]);
            Some(Reply::of(&ConsumerGroupDescribeResponse::default().with_groups(vec![row]), asked.version))
        }
        _ => None,
    });
    let group = admin.describe_group("g").await.unwrap();
    assert_eq!((group.group_type.as_str(), group.assignor.as_str()), ("Consumer", "uniform"));
    assert_eq!(group.members[0].assignment, [("t".to_owned(), vec![0, 3])].into());
}

#[tokio::test(start_paused = true)]
async fn every_broker_lists_its_groups_and_what_old_ones_do_not_tell_is_empty() {
    for newest in [3, 5] {
        let (fake, admin) = brokers(|asked| match asked.key {
            ApiKey::LIST_GROUPS => {
                let mut row = ListedRow::default().with_group_id(GroupId(text(&format!("of-{}", asked.port))));
                if asked.version >= 5 {
                    row = row.with_group_state(text("Stable")).with_group_type(text("classic"));
                }
                Some(Reply::of(&ListGroupsResponse::default().with_groups(vec![row]), asked.version))
            }
            _ => None,
        });
        fake.versions.lock().retain(|(key, ..)| *key != 16);
        fake.versions.lock().push((16, 0, newest));
        let groups = admin.list_groups().await.unwrap();
        let rows: Vec<_> = groups.iter().map(|g| (g.id.as_str(), g.coordinator, g.state.as_str())).collect();
        let state = if newest >= 5 { "Stable" } else { "" };
        assert_eq!(rows, [("of-1", 1, state), ("of-2", 2, state)]);
        assert!(groups.iter().all(|group| group.group_type == "Classic"));
    }
}

#[tokio::test(start_paused = true)]
async fn an_election_tells_of_each_partition_whether_it_was_needed() {
    let (_, admin) = brokers(|asked| match asked.key {
        ApiKey::ELECT_LEADERS => {
            let request: ElectLeadersRequest = asked.decode();
            assert_eq!((request.election_type, request.topic_partitions.is_none()), (1, true));
            let row = |(at, code)| PartitionResult::default().with_partition_id(at).with_error_code(code);
            let rows = [(0, 0), (1, 84), (2, 83)].map(row).to_vec();
            let topic = ReplicaElectionResult::default().with_topic(topic_name("t")).with_partition_result(rows);
            Some(Reply::of(&ElectLeadersResponse::default().with_replica_election_results(vec![topic]), asked.version))
        }
        _ => None,
    });
    let elected = admin.elect_leaders(Election::Unclean, None).await.unwrap();
    let of = |partition| elected[&("t".to_owned(), partition)].clone();
    assert_eq!((of(0), of(1)), (Ok(true), Ok(false)));
    assert_eq!(of(2).unwrap_err().code(), Some(ErrorCode::ELIGIBLE_LEADERS_NOT_AVAILABLE));
}

#[tokio::test(start_paused = true)]
async fn offsets_that_leaders_do_not_tell_in_time_leave_the_others_alone() {
    let row = |index, code| ListOffsetsPartitionResponse::default().with_partition_index(index).with_error_code(code);
    // Broker 1 has lost the disk of partition 1; broker 2 says nothing at all; nobody leads partition 3.
    let (fake, admin) = brokers(move |asked| match (asked.key, asked.port) {
        (ApiKey::LIST_OFFSETS, 1) => {
            let rows = vec![row(0, 0).with_offset(7), row(1, 56).with_offset(-1)];
            let topic = ListOffsetsTopicResponse::default().with_name(topic_name("t")).with_partitions(rows);
            Some(Reply::of(&ListOffsetsResponse::default().with_topics(vec![topic]), asked.version))
        }
        (ApiKey::LIST_OFFSETS, _) => Some(Reply::Silence),
        _ => None,
    });
    fake.set_topology(&[1, 2], "t", &[(1, 5), (1, 5), (2, 5), (-1, 5)]);
    admin.cluster.topics_there_are(&["t"]).await.unwrap();
    let wanted = (0..4).map(|index| (("t".to_owned(), index), OffsetSpec::Latest)).collect();
    let (started, limit) = (tokio::time::Instant::now(), std::time::Duration::from_secs(2));
    let found = admin.list_offsets_within(&wanted, limit).await;
    assert!(started.elapsed() <= limit, "{:?}", started.elapsed());
    let of = |index| found[&("t".to_owned(), index)].as_ref();
    assert_eq!(of(0).unwrap().offset, 7);
    assert_eq!(of(1).unwrap_err().code(), Some(ErrorCode::KAFKA_STORAGE_ERROR));
    assert!(matches!(of(2), Err(ClientError::TimedOut { .. })), "{:?}", of(2));
    assert_eq!(of(3).unwrap_err().code(), Some(ErrorCode::LEADER_NOT_AVAILABLE));
}
