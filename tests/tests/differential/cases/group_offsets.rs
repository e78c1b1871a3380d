//! OffsetCommit (key 8), OffsetFetch (9) and OffsetDelete (47).
//!
//! From version 10 on topics go by their ids, and the library cannot write the requests: `ask_commit` and `ask_fetch` do.

use ballast_tests::raw::{name, text};
use ballast_tests::target::Topic;
use ballast_wire::frame::{ApiKey, Form, Writer};
use kafka_protocol::messages::offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use kafka_protocol::messages::offset_delete_request::{OffsetDeleteRequestPartition, OffsetDeleteRequestTopic};
use kafka_protocol::messages::offset_fetch_request::{
    OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
};
use kafka_protocol::messages::{OffsetCommitRequest, OffsetDeleteRequest, OffsetFetchRequest};
use uuid::Uuid;

use super::groups::Member;
use crate::case::{Case, Meets, accepted, refused};
use crate::side::Side;

const COMMIT: ApiKey = ApiKey::OFFSET_COMMIT;
const FETCH: ApiKey = ApiKey::OFFSET_FETCH;
const DELETE: ApiKey = ApiKey::OFFSET_DELETE;
/// From here on topics go by their ids.
const IDS: i16 = 10;
/// Version that prepares.
const PREPARE: i16 = 7;

pub(crate) const CASES: &[Case] = &[
    accepted(COMMIT, "without members", |side, v| {
        let group = side.unique("group");
        let topic = side.letters();
        ask_commit(side, v, &commit(v, &group, &topic, 0, 3, "here"));
        ask_fetch(side, PREPARE, &fetch(PREPARE, &group, Some(&[("letters", 0)])));
    }),
    accepted(COMMIT, "a member", |side, v| {
        let member = Member::stable(side);
        let topic = side.letters();
        ask_commit(side, v, &by_member(commit(v, &member.group, &topic, 0, 3, ""), &member.id, member.generation));
    }),
    accepted(COMMIT, "no metadata", |side, v| {
        let group = side.unique("group");
        let topic = side.letters();
        let mut request = commit(v, &group, &topic, 0, 3, "");
        request.topics[0].partitions[0].committed_metadata = None;
        ask_commit(side, v, &request);
        ask_fetch(side, PREPARE, &fetch(PREPARE, &group, Some(&[("letters", 0)])));
    }),
    accepted(COMMIT, "below 0", |side, v| {
        let group = side.unique("group");
        let topic = side.letters();
        ask_commit(side, v, &commit(v, &group, &topic, 0, -1, ""));
        ask_fetch(side, PREPARE, &fetch(PREPARE, &group, Some(&[("letters", 0)])));
    })
    .meets(Meets::Anything),
    refused(COMMIT, 22, "another generation", |side, v| {
        let member = Member::stable(side);
        let topic = side.letters();
        ask_commit(side, v, &by_member(commit(v, &member.group, &topic, 0, 3, ""), &member.id, 99));
    }),
    refused(COMMIT, 25, "a member that the group has not", |side, v| {
        let member = Member::stable(side);
        let topic = side.letters();
        ask_commit(side, v, &by_member(commit(v, &member.group, &topic, 0, 3, ""), "nobody", member.generation));
    }),
    refused(COMMIT, 25, "without members, in a group that has one", |side, v| {
        let member = Member::stable(side);
        let topic = side.letters();
        ask_commit(side, v, &commit(v, &member.group, &topic, 0, 3, ""));
    }),
    refused(COMMIT, 22, "a generation of a group that is not there", |side, v| {
        let group = side.unique("group");
        let topic = side.letters();
        ask_commit(side, v, &by_member(commit(v, &group, &topic, 0, 3, ""), "nobody", 1));
    })
    .to(8),
    refused(COMMIT, 69, "a generation of a group that is not there, since there are two protocols", |side, v| {
        let group = side.unique("group");
        let topic = side.letters();
        ask_commit(side, v, &by_member(commit(v, &group, &topic, 0, 3, ""), "nobody", 1));
    })
    .from(9),
    refused(COMMIT, 82, "another member of an instance", |side, v| {
        let member = Member::with_instance(side, Some("i1"));
        let topic = side.letters();
        let request = by_member(commit(v, &member.group, &topic, 0, 3, ""), "nobody", member.generation);
        ask_commit(side, v, &request.with_group_instance_id(Some(text("i1"))));
    })
    .from(7),
    refused(COMMIT, 12, "too much metadata", |side, v| {
        let group = side.unique("group");
        let topic = side.letters();
        ask_commit(side, v, &commit(v, &group, &topic, 0, 3, &"m".repeat(4097)));
    }),
    refused(COMMIT, 3, "a partition that is not there", |side, v| {
        let group = side.unique("group");
        let topic = side.letters();
        ask_commit(side, v, &commit(v, &group, &topic, 7, 3, ""));
    })
    .meets(Meets::Anything),
    refused(COMMIT, 3, "a topic that is not there", |side, v| {
        let group = side.unique("group");
        let topic = Topic { name: "absent".to_owned(), ..side.letters() };
        ask_commit(side, v, &commit(v, &group, &topic, 0, 3, ""));
    })
    .to(9),
    refused(COMMIT, 100, "an id that no topic has", |side, v| {
        let group = side.unique("group");
        let topic = Topic { name: "absent".to_owned(), ..side.letters() };
        ask_commit(side, v, &commit(v, &group, &topic, 0, 3, ""));
    })
    .from(IDS),
    refused(COMMIT, 24, "no name", |side, v| {
        let topic = side.letters();
        ask_commit(side, v, &commit(v, "", &topic, 0, 3, ""));
    })
    .meets(Meets::Anything),
    accepted(FETCH, "what was committed and what was not", |side, v| {
        let group = committed(side);
        ask_fetch(side, v, &fetch(v, &group, Some(&[("letters", 0), ("letters", 1), ("letters", 7), ("absent", 0)])));
    })
    .to(IDS - 1),
    refused(FETCH, 100, "an id that no topic has", |side, v| {
        let group = committed(side);
        ask_fetch(side, v, &fetch(v, &group, Some(&[("letters", 0), ("letters", 1), ("letters", 7), ("absent", 0)])));
    })
    .from(IDS),
    accepted(FETCH, "all that was committed", |side, v| {
        let group = committed(side);
        ask_fetch(side, v, &fetch(v, &group, None));
    })
    .from(2),
    accepted(FETCH, "a group that is not there", |side, v| {
        let group = side.unique("group");
        ask_fetch(side, v, &fetch(v, &group, Some(&[("letters", 0)])));
    }),
    accepted(FETCH, "all of a group that is not there", |side, v| {
        let group = side.unique("group");
        ask_fetch(side, v, &fetch(v, &group, None));
    })
    .from(2),
    accepted(FETCH, "what is stable alone", |side, v| {
        let group = committed(side);
        ask_fetch(side, v, &fetch(v, &group, Some(&[("letters", 0)])).with_require_stable(true));
    })
    .from(7),
    accepted(FETCH, "two groups", |side, v| {
        let (one, other) = (committed(side), side.unique("group"));
        let mut request = fetch(v, &one, None);
        request.groups.extend(fetch(v, &other, Some(&[("letters", 0)])).groups);
        ask_fetch(side, v, &request);
    })
    .from(8),
    accepted(FETCH, "no name", |side, v| {
        ask_fetch(side, v, &fetch(v, "", Some(&[("letters", 0)])));
    })
    .meets(Meets::Anything),
    accepted(FETCH, "as a member of a classic group", |side, v| {
        let member = Member::stable(side);
        let mut request = fetch(v, &member.group, Some(&[("letters", 0)]));
        request.groups[0].member_id = Some(text("nobody"));
        request.groups[0].member_epoch = 3;
        ask_fetch(side, v, &request);
    })
    .from(9)
    .meets(Meets::Anything),
    accepted(DELETE, "an offset", |side, v| {
        let group = committed(side);
        side.ask(v, &delete(&group, &[("letters", 0), ("letters", 1)]));
        ask_fetch(side, PREPARE, &fetch(PREPARE, &group, None));
    }),
    refused(DELETE, 3, "a topic that is not there", |side, v| {
        let group = committed(side);
        side.ask(v, &delete(&group, &[("absent", 0), ("letters", 7)]));
    }),
    refused(DELETE, 69, "a group that is not there", |side, v| {
        let group = side.unique("group");
        side.ask(v, &delete(&group, &[("letters", 0)]));
    }),
    refused(DELETE, 24, "no name", |side, v| {
        side.ask(v, &delete("", &[("letters", 0)]));
    })
    .meets(Meets::Anything),
    accepted(DELETE, "of a group with a member", |side, v| {
        let member = Member::stable(side);
        side.ask(v, &delete(&member.group, &[("letters", 0)]));
    })
    .meets(Meets::Anything),
];

fn commit(v: i16, group: &str, topic: &Topic, partition: i32, offset: i64, metadata: &str) -> OffsetCommitRequest {
    let row = OffsetCommitRequestPartition::default()
        .with_partition_index(partition)
        .with_committed_offset(offset)
        .with_committed_metadata(Some(text(metadata)));
    let row = if v >= 6 { row.with_committed_leader_epoch(0) } else { row };
    let topic = OffsetCommitRequestTopic::default().with_name(name(&topic.name)).with_partitions(vec![row]);
    OffsetCommitRequest::default().with_group_id(text(group).into()).with_topics(vec![topic])
}

fn ask_commit(side: &mut Side, v: i16, request: &OffsetCommitRequest) {
    if v < IDS {
        side.ask(v, request);
        return;
    }
    let mut body = Writer::new(Form::Flexible);
    body.string(request.group_id.as_str());
    body.i32(request.generation_id_or_member_epoch);
    body.string(&request.member_id);
    body.nullable_string(request.group_instance_id.as_deref());
    body.array(&request.topics, |body, topic| {
        body.raw(id_of(side, topic.name.as_str()).as_bytes());
        body.array(&topic.partitions, |body, row| {
            body.i32(row.partition_index);
            body.i64(row.committed_offset);
            body.i32(row.committed_leader_epoch);
            body.nullable_string(row.committed_metadata.as_deref());
            body.no_tags();
        });
        body.no_tags();
    });
    body.no_tags();
    side.ask_body::<OffsetCommitRequest>(v, &body.finish());
}

fn ask_fetch(side: &mut Side, v: i16, request: &OffsetFetchRequest) {
    if v < IDS {
        side.ask(v, request);
        return;
    }
    let mut body = Writer::new(Form::Flexible);
    body.array(&request.groups, |body, group| {
        body.string(group.group_id.as_str());
        body.nullable_string(group.member_id.as_deref());
        body.i32(group.member_epoch);
        body.count(group.topics.as_ref().map(Vec::len));
        for topic in group.topics.iter().flatten() {
            body.raw(id_of(side, topic.name.as_str()).as_bytes());
            body.array(&topic.partition_indexes, |body, index| body.i32(*index));
            body.no_tags();
        }
        body.no_tags();
    });
    body.bool(request.require_stable);
    body.no_tags();
    side.ask_body::<OffsetFetchRequest>(v, &body.finish());
}

/// The id of the letters, or one that no topic has.
fn id_of(side: &mut Side, topic: &str) -> Uuid {
    let letters = side.letters();
    if topic == letters.name { letters.id } else { Uuid::from_u128(7) }
}

fn by_member(request: OffsetCommitRequest, member: &str, generation: i32) -> OffsetCommitRequest {
    request.with_member_id(text(member)).with_generation_id_or_member_epoch(generation)
}

/// A group without members that has committed offset 3 of the first partition of the letters.
fn committed(side: &mut Side) -> String {
    let group = side.unique("group");
    let topic = side.letters();
    let answer = side.call(PREPARE, &commit(PREPARE, &group, &topic, 0, 3, "here"));
    assert_eq!(answer.topics[0].partitions[0].error_code, 0, "an offset is committed");
    group
}

/// Partitions by topic, those of one topic in one row.
fn by_topic<'a>(partitions: &[(&'a str, i32)]) -> Vec<(&'a str, Vec<i32>)> {
    let mut topics: Vec<(&str, Vec<i32>)> = Vec::new();
    for (topic, partition) in partitions {
        match topics.last_mut().filter(|(last, _)| last == topic) {
            Some((_, indexes)) => indexes.push(*partition),
            None => topics.push((topic, vec![*partition])),
        }
    }
    topics
}

/// Partitions with their topics; `None` for all.
fn fetch(v: i16, group: &str, partitions: Option<&[(&str, i32)]>) -> OffsetFetchRequest {
    let topics = by_topic(partitions.unwrap_or_default());
    if v >= 8 {
        let rows = topics.into_iter().map(|(topic, indexes)| {
            OffsetFetchRequestTopics::default().with_name(name(topic)).with_partition_indexes(indexes)
        });
        let rows = partitions.map(|_| rows.collect());
        let row = OffsetFetchRequestGroup::default().with_group_id(text(group).into()).with_topics(rows);
        return OffsetFetchRequest::default().with_groups(vec![row]);
    }
    let rows = topics.into_iter().map(|(topic, indexes)| {
        OffsetFetchRequestTopic::default().with_name(name(topic)).with_partition_indexes(indexes)
    });
    OffsetFetchRequest::default().with_group_id(text(group).into()).with_topics(partitions.map(|_| rows.collect()))
}

fn delete(group: &str, partitions: &[(&str, i32)]) -> OffsetDeleteRequest {
    let rows = by_topic(partitions).into_iter().map(|(topic, indexes)| {
        let rows = indexes.into_iter().map(|index| OffsetDeleteRequestPartition::default().with_partition_index(index));
        OffsetDeleteRequestTopic::default().with_name(name(topic)).with_partitions(rows.collect())
    });
    OffsetDeleteRequest::default().with_group_id(text(group).into()).with_topics(rows.collect())
}
