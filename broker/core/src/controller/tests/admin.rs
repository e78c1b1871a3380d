//! CreateTopics, CreatePartitions, DeleteTopics.

use ballast_wire::{BrokerId, Uuid};

use super::rig::{Rig, Rows, by_hand, new_topic, with_configs};
use crate::controller::{MorePartitions, NewTopic, Request, Response, TopicError, TopicRef};
use crate::settings::Source;

fn codes(rows: &Rows) -> Vec<i16> {
    rows.iter().map(|(_, result)| result.as_ref().map_or_else(|(code, _)| *code, |_| 0)).collect()
}

#[test]
fn defaults_stand_in_for_minus_one() {
    let settings = [("num.partitions", "5"), ("default.replication.factor", "2")];
    let mut rig = Rig::with_brokers(false, &[1, 2, 3], &settings);
    assert_eq!(rig.create(&[new_topic("t", -1, -1)]), [("t".to_owned(), Ok((5, 2)))]);
    let topic = rig.image.topic("t").expect("created");
    assert_eq!(topic.partition_count(), 5);
    for (index, partition) in topic.partitions() {
        assert_eq!(partition.isr, partition.replicas, "partition {index}: all are alive");
        assert_eq!(partition.leader, partition.replicas[0]);
        assert_eq!((partition.leader_epoch, partition.partition_epoch), (0, 0));
        let dirs: Vec<Uuid> =
            partition.replicas.iter().map(|id| Uuid([100 + u8::try_from(*id).unwrap(); 16])).collect();
        assert_eq!(partition.directories, dirs, "each broker has one directory");
    }
}

#[test]
fn the_answer_shows_every_config_in_force() {
    let mut rig = Rig::with_brokers(false, &[1], &[("log.segment.bytes", "2097152")]);
    let topic = with_configs(new_topic("t", 1, 1), &[("retention.ms", Some("5")), ("retention.ms", Some("6"))]);
    let Response::CreateTopics(rows) =
        rig.ask(Request::CreateTopics { topics: vec![topic], validate_only: false, timeout_ms: 1 })
    else {
        panic!("no answer")
    };
    let created = rows[0].1.as_ref().expect("created");
    let shown = |name: &str| {
        let row = created.configs.iter().find(|row| row.name == name).expect("every setting is listed");
        (row.value.clone(), row.source)
    };
    assert_eq!(shown("retention.ms"), (Some("6".to_owned()), Source::Topic), "the last of two wins");
    assert_eq!(shown("segment.bytes"), (Some("2097152".to_owned()), Source::StaticBroker));
    assert_eq!(shown("cleanup.policy"), (Some("delete".to_owned()), Source::Default));
    assert_eq!(rig.image.topic("t").map(|topic| topic.id), Some(created.id));
}

#[test]
fn what_cannot_be_created_is_refused_as_in_kafka() {
    let mut rig = Rig::with_brokers(false, &[1, 2], &[]);
    rig.create(&[new_topic("c.d", 1, 1)]);
    let cases: Vec<(i16, NewTopic)> = vec![
        (17, new_topic("a/b", 1, 1)),
        (17, new_topic(".", 1, 1)),
        (17, new_topic("", 1, 1)),
        (17, new_topic(&"x".repeat(250), 1, 1)),
        (17, new_topic("c_d", 1, 1)),
        (36, new_topic("c.d", 1, 1)),
        (42, new_topic("__cluster_metadata", 1, 1)),
        (37, new_topic("t", 0, 1)),
        (37, new_topic("t", -2, 1)),
        (38, new_topic("t", 1, 0)),
        (38, new_topic("t", 1, -2)),
        (38, new_topic("t", 1, 3)),
        (40, with_configs(new_topic("t", 1, 1), &[("no.such", Some("1"))])),
        (40, with_configs(new_topic("t", 1, 1), &[("segment.bytes", Some("1024"))])),
        (40, with_configs(new_topic("t", 1, 1), &[("retention.ms", None)])),
        (42, NewTopic { partitions: 1, ..by_hand("t", &[&[1]]) }),
        (42, NewTopic { replication_factor: 1, ..by_hand("t", &[&[1]]) }),
        (39, by_hand("t", &[&[1], &[]])),
        (39, by_hand("t", &[&[1, 1]])),
        (39, by_hand("t", &[&[9]])),
        (39, by_hand("t", &[&[1], &[1, 2]])),
        (39, NewTopic { assignments: vec![(0, vec![1]), (0, vec![2])], ..by_hand("t", &[]) }),
        (39, NewTopic { assignments: vec![(0, vec![1]), (2, vec![2])], ..by_hand("t", &[]) }),
    ];
    for (code, topic) in cases {
        for validate_only in [true, false] {
            let rows = rig.create_as(std::slice::from_ref(&topic), validate_only);
            assert_eq!(codes(&rows), [code], "{topic:?} {rows:?}");
        }
    }
    assert_eq!(rig.image.topic_count(), 1);
}

#[test]
fn one_request_names_each_topic_once() {
    let mut rig = Rig::with_brokers(false, &[1], &[]);
    let rows = rig.create(&[new_topic("t", 1, 1), new_topic("u", 1, 1), new_topic("t", 2, 1)]);
    assert_eq!(rows.len(), 2);
    assert_eq!(codes(&rows), [42, 0]);
    assert!(rig.image.topic("t").is_none());
    let both = rig.create(&[new_topic("x.y", 1, 1), new_topic("x_y", 1, 1)]);
    assert_eq!(codes(&both), [0, 0], "a collision within one request goes unnoticed, as in Kafka");
}

#[test]
fn one_request_creates_ten_thousand_partitions_and_no_more() {
    let mut rig = Rig::with_brokers(false, &[1], &[]);
    let rows = rig.create(&[new_topic("t", 10_000, 1), new_topic("u", 1, 1)]);
    assert_eq!(codes(&rows), [44, 44]);
    assert_eq!(codes(&rig.create(&[new_topic("t", 10_000, 1)])), [0]);
    let more = vec![MorePartitions { name: "t".to_owned(), count: 20_001, assignments: None }];
    let Response::CreatePartitions(rows) =
        rig.ask(Request::CreatePartitions { topics: more, validate_only: false, timeout_ms: 1 })
    else {
        panic!("no answer")
    };
    assert_eq!(rows[0].1.as_ref().map_err(TopicError::code), Err(44));
}

#[test]
fn no_time_is_no_time() {
    let mut rig = Rig::with_brokers(false, &[1], &[]);
    let answer =
        rig.ask(Request::CreateTopics { topics: vec![new_topic("t", 1, 1)], validate_only: false, timeout_ms: 0 });
    let Response::CreateTopics(rows) = answer else { panic!("no answer") };
    assert_eq!(rows[0].1.as_ref().map_err(TopicError::code).err(), Some(7));
    assert!(rig.image.topic("t").is_none());
}

#[test]
fn fenced_brokers_hold_replicas_but_do_not_lead_them() {
    let mut rig = Rig::with_brokers(false, &[1, 2, 3], &[]);
    rig.fence(3);
    assert_eq!(codes(&rig.create(&[new_topic("t", 4, 3)])), [0]);
    for (_, partition) in rig.image.topic("t").expect("created").partitions() {
        assert_eq!((partition.isr.len(), partition.isr.contains(&3)), (2, false));
        assert_ne!(partition.leader, 3);
    }
    let fenced_only = rig.create(&[by_hand("u", &[&[3]])]);
    assert_eq!(codes(&fenced_only), [39]);
}

fn grow(rig: &mut Rig, name: &str, count: i32, assignments: Option<&[&[BrokerId]]>) -> i16 {
    let assignments = assignments.map(|lists| lists.iter().map(|list| list.to_vec()).collect());
    let topics = vec![MorePartitions { name: name.to_owned(), count, assignments }];
    match rig.ask(Request::CreatePartitions { topics, validate_only: false, timeout_ms: 1 }) {
        Response::CreatePartitions(rows) => rows[0].1.as_ref().map_or_else(TopicError::code, |()| 0),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_topic_grows_by_what_is_asked_and_never_shrinks() {
    let mut rig = Rig::with_brokers(false, &[1, 2], &[]);
    rig.topic("t", &[&[1, 2]]);
    assert_eq!(grow(&mut rig, "t", 1, None), 37);
    assert_eq!(grow(&mut rig, "t", 0, None), 37);
    assert_eq!(grow(&mut rig, "none", 2, None), 3);
    assert_eq!(grow(&mut rig, "a/b", 2, None), 3);
    for bad in [&[&[1, 2][..], &[2, 1]][..], &[], &[&[1]], &[&[1, 9]], &[&[1, 1]]] {
        assert_eq!(grow(&mut rig, "t", 2, Some(bad)), 39, "{bad:?}");
    }
    assert_eq!(grow(&mut rig, "t", 2, Some(&[&[2, 1]])), 0);
    assert_eq!(grow(&mut rig, "t", 5, None), 0);
    let topic = rig.image.topic("t").expect("it exists");
    assert_eq!(topic.partition_count(), 5);
    assert_eq!(topic.partition(1).map(|partition| partition.replicas.clone()), Some(vec![2, 1]));
    assert!(topic.partitions().all(|(_, partition)| partition.replicas.len() == 2));
}

fn delete(rig: &mut Rig, topics: Vec<TopicRef>) -> Vec<(Option<String>, i16)> {
    match rig.ask(Request::DeleteTopics { topics, timeout_ms: 1 }) {
        Response::DeleteTopics(rows) => {
            rows.into_iter().map(|row| (row.name, row.result.map_or_else(|error| error.code(), |()| 0))).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn name(name: &str) -> TopicRef {
    TopicRef { name: Some(name.to_owned()), id: Uuid::ZERO }
}

fn id(id: Uuid) -> TopicRef {
    TopicRef { name: None, id }
}

#[test]
fn topics_are_deleted_by_name_or_by_id_with_their_configs() {
    let mut rig = Rig::with_brokers(false, &[1], &[]);
    rig.create(&[with_configs(new_topic("a", 1, 1), &[("retention.ms", Some("5"))]), new_topic("b", 1, 1)]);
    let b = rig.image.topic("b").expect("created").id;
    assert_eq!(delete(&mut rig, vec![name("a"), id(b)]), [(Some("a".to_owned()), 0), (Some("b".to_owned()), 0)]);
    assert_eq!((rig.image.topic_count(), rig.image.all_configs().count()), (0, 0));
}

#[test]
fn deletions_that_make_no_sense_delete_nothing() {
    let mut rig = Rig::with_brokers(false, &[1], &[]);
    let a = rig.topic("a", &[&[1]]);
    assert_eq!(delete(&mut rig, vec![name("a"), name("a")]), [(Some("a".to_owned()), 42)]);
    assert_eq!(delete(&mut rig, vec![name("a"), id(a)]), [(Some("a".to_owned()), 42)]);
    assert_eq!(delete(&mut rig, vec![TopicRef { name: Some("a".to_owned()), id: a }])[0].1, 42);
    assert_eq!(delete(&mut rig, vec![TopicRef::default()])[0].1, 42);
    assert_eq!(
        delete(&mut rig, vec![name("none"), id(Uuid([9; 16])), name("a/b")])
            .iter()
            .map(|row| row.1)
            .collect::<Vec<_>>(),
        [3, 100, 3]
    );
    assert_eq!(rig.image.topic_count(), 1);
}

#[test]
fn a_cluster_may_forbid_deletion() {
    let mut rig = Rig::with_brokers(false, &[1], &[("delete.topic.enable", "false")]);
    rig.topic("a", &[&[1]]);
    let rows = delete(&mut rig, vec![name("a"), name("none")]);
    assert_eq!(rows.iter().map(|row| row.1).collect::<Vec<_>>(), [73, 73]);
}

#[test]
fn a_topic_that_an_earlier_copy_of_the_request_made_counts_as_made_and_no_other() {
    let mut rig = Rig::with_brokers(false, &[1, 2], &[]);
    let asked = NewTopic { id: Uuid([7; 16]), ..with_configs(new_topic("t", 3, 2), &[("retention.ms", Some("9"))]) };
    let create = |rig: &mut Rig, topic: &NewTopic| {
        let request = Request::CreateTopics { topics: vec![topic.clone()], validate_only: false, timeout_ms: 1_000 };
        let Response::CreateTopics(mut rows) = rig.ask(request) else { panic!("another answer") };
        rows.remove(0).1
    };
    let first = create(&mut rig, &asked).expect("it is new");
    assert_eq!((first.id, first.partitions, first.replication_factor), (asked.id, 3, 2));
    let index = rig.image.index();
    assert_eq!(create(&mut rig, &asked), Ok(first), "the answer may have been lost");
    assert_eq!(rig.image.index(), index, "nothing is made twice");
    for other in [Uuid::ZERO, Uuid([8; 16])] {
        let refused = create(&mut rig, &NewTopic { id: other, ..asked.clone() });
        assert_eq!(refused.map_err(|error| error.code()).err(), Some(36), "it is somebody else's");
    }
    // An id that is taken is no reason to refuse a topic of another name.
    let made = create(&mut rig, &NewTopic { id: asked.id, ..new_topic("u", 1, 1) }).expect("it is new");
    assert_ne!(made.id, asked.id);
}
