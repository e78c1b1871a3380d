//! CreateTopics (key 19), DeleteTopics (20), DeleteRecords (21) and CreatePartitions (37).

use ballast_tests::raw::{name, text};
use ballast_wire::frame::ApiKey;
use kafka_protocol::messages::create_partitions_request::{CreatePartitionsAssignment, CreatePartitionsTopic};
use kafka_protocol::messages::create_topics_request::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig,
};
use kafka_protocol::messages::delete_records_request::{DeleteRecordsPartition, DeleteRecordsTopic};
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::{
    CreatePartitionsRequest, CreateTopicsRequest, DeleteRecordsRequest, DeleteTopicsRequest,
};
use uuid::Uuid;

use crate::case::{Case, accepted, refused};
use crate::side::Side;

const CREATE: ApiKey = ApiKey::CREATE_TOPICS;
const DELETE: ApiKey = ApiKey::DELETE_TOPICS;
const RECORDS: ApiKey = ApiKey::DELETE_RECORDS;
const GROW: ApiKey = ApiKey::CREATE_PARTITIONS;
const WAIT_MS: i32 = 10_000;

pub(crate) const CASES: &[Case] = &[
    accepted(CREATE, "three partitions", |side, v| one(side, v, |row| counted(row, 3, 1))),
    accepted(CREATE, "partitions as the broker likes", |side, v| one(side, v, |row| counted(row, -1, -1))).from(4),
    accepted(CREATE, "partitions placed by hand", |side, v| one(side, v, |row| placed(row, &[(0, &[1]), (1, &[1])]))),
    accepted(CREATE, "with configs", |side, v| {
        one(side, v, |row| {
            configured(
                counted(row, 1, 1),
                &[("retention.ms", Some("1000")), ("cleanup.policy", Some("compact,delete"))],
            )
        });
    }),
    accepted(CREATE, "a rehearsal", |side, v| {
        let row = counted(fresh(side), 2, 1);
        side.ask(v, &create(vec![row]).with_validate_only(true));
    }),
    refused(CREATE, 36, "a topic that is there", |side, v| {
        side.letters();
        create_row(side, v, counted(row("letters"), 1, 1));
    }),
    refused(CREATE, 36, "a topic whose name differs by a dot", |side, v| {
        let name = side.unique("dotted_one");
        side.connection.create_topic(&name, 1, &[]);
        create_row(side, v, counted(row(&name.replace("dotted_one", "dotted.one")), 1, 1));
    })
    .meets(crate::case::Meets::Anything),
    refused(CREATE, 17, "a name with a blank", |side, v| create_row(side, v, counted(row("a b"), 1, 1))),
    refused(CREATE, 17, "an empty name", |side, v| create_row(side, v, counted(row(""), 1, 1))),
    refused(CREATE, 17, "a dot as a name", |side, v| create_row(side, v, counted(row("."), 1, 1))),
    refused(CREATE, 17, "250 letters", |side, v| create_row(side, v, counted(row(&"a".repeat(250)), 1, 1))),
    refused(CREATE, 37, "no partitions", |side, v| one(side, v, |row| counted(row, 0, 1))),
    refused(CREATE, 37, "less than no partitions", |side, v| one(side, v, |row| counted(row, -2, 1))),
    refused(CREATE, 38, "more replicas than brokers", |side, v| one(side, v, |row| counted(row, 1, 3))),
    refused(CREATE, 38, "no replicas", |side, v| one(side, v, |row| counted(row, 1, 0))),
    refused(CREATE, 39, "placed on a broker that there is not", |side, v| {
        one(side, v, |row| placed(row, &[(0, &[9])]));
    }),
    refused(CREATE, 39, "placed twice on one broker", |side, v| one(side, v, |row| placed(row, &[(0, &[1, 1])]))),
    refused(CREATE, 39, "placed with a hole", |side, v| one(side, v, |row| placed(row, &[(0, &[1]), (2, &[1])]))),
    refused(CREATE, 39, "placed nowhere", |side, v| one(side, v, |row| placed(row, &[(0, &[])]))),
    refused(CREATE, 42, "counted and placed", |side, v| one(side, v, |row| placed(counted(row, 2, 1), &[(0, &[1])])))
        .meets(crate::case::Meets::Anything),
    refused(CREATE, 42, "one name twice", |side, v| {
        let row = counted(fresh(side), 1, 1);
        side.ask(v, &create(vec![row.clone(), row]));
    }),
    refused(CREATE, 40, "a config that there is not", |side, v| {
        one(side, v, |row| configured(counted(row, 1, 1), &[("no.such.config", Some("1"))]));
    }),
    refused(CREATE, 40, "a config that is no number", |side, v| {
        one(side, v, |row| configured(counted(row, 1, 1), &[("retention.ms", Some("soon"))]));
    }),
    refused(CREATE, 40, "a config out of its range", |side, v| {
        one(side, v, |row| configured(counted(row, 1, 1), &[("segment.bytes", Some("1"))]));
    }),
    refused(CREATE, 40, "a config without a value", |side, v| {
        one(side, v, |row| configured(counted(row, 1, 1), &[("retention.ms", None)]));
    }),
    accepted(DELETE, "a topic by name", |side, v| {
        let topic = side.fresh(1, &[]);
        delete(side, v, &topic.name);
    }),
    accepted(DELETE, "a topic by id", |side, v| {
        let topic = side.fresh(1, &[]);
        delete_row(side, v, DeleteTopicState::default().with_name(None).with_topic_id(topic.id));
    })
    .from(6),
    refused(DELETE, 3, "a topic that is not there", |side, v| delete(side, v, "absent")),
    refused(DELETE, 100, "an id that no topic has", |side, v| {
        delete_row(side, v, DeleteTopicState::default().with_name(None).with_topic_id(Uuid::from_u128(7)));
    })
    .from(6),
    refused(DELETE, 42, "a name and an id", |side, v| {
        let topic = side.fresh(1, &[]);
        let row = DeleteTopicState::default().with_name(Some(name(&topic.name))).with_topic_id(topic.id);
        delete_row(side, v, row);
    })
    .from(6),
    refused(DELETE, 42, "neither a name nor an id", |side, v| {
        delete_row(side, v, DeleteTopicState::default().with_name(None));
    })
    .from(6),
    refused(DELETE, 42, "one topic twice", |side, v| {
        let topic = side.fresh(1, &[]);
        let request = DeleteTopicsRequest::default().with_timeout_ms(WAIT_MS);
        let row = DeleteTopicState::default().with_name(Some(name(&topic.name)));
        let request = if v >= 6 {
            request.with_topics(vec![row.clone(), row])
        } else {
            request.with_topic_names(vec![name(&topic.name), name(&topic.name)])
        };
        side.ask(v, &request);
    })
    .meets(crate::case::Meets::Anything),
    refused(DELETE, 42, "one id twice", |side, v| {
        let topic = side.fresh(1, &[]);
        let row = DeleteTopicState::default().with_name(None).with_topic_id(topic.id);
        let request = DeleteTopicsRequest::default().with_timeout_ms(WAIT_MS);
        side.ask(v, &request.with_topics(vec![row.clone(), row]));
    })
    .from(6),
    accepted(RECORDS, "up to an offset", |side, v| cut(side, v, &[], 0, 2)),
    accepted(RECORDS, "all of them", |side, v| cut(side, v, &[], 0, -1)),
    accepted(RECORDS, "none of them", |side, v| cut(side, v, &[], 0, 0)),
    refused(RECORDS, 1, "beyond the end", |side, v| cut(side, v, &[], 0, 4)),
    refused(RECORDS, 1, "up to an offset below -1", |side, v| cut(side, v, &[], 0, -2)),
    refused(RECORDS, 44, "of a compacted topic", |side, v| cut(side, v, &[("cleanup.policy", "compact")], 0, 1)),
    refused(RECORDS, 3, "of a partition that is not there", |side, v| cut(side, v, &[], 7, 1)),
    refused(RECORDS, 3, "of a topic that is not there", |side, v| cut_rows(side, v, "absent", vec![(0, 1)])),
    refused(RECORDS, 17, "of a name that no topic can have", |side, v| cut_rows(side, v, "a b", vec![(0, 1)]))
        .meets(crate::case::Meets::Anything),
    accepted(GROW, "two more", |side, v| grow_fresh(side, v, |row| row.with_count(3))),
    accepted(GROW, "one more, placed by hand", |side, v| grow_fresh(side, v, |row| grown(row, 2, &[&[1]]))),
    accepted(GROW, "a rehearsal", |side, v| {
        let topic = side.fresh(1, &[]);
        let row = CreatePartitionsTopic::default().with_name(name(&topic.name)).with_count(2).with_assignments(None);
        side.ask(v, &grow(vec![row]).with_validate_only(true));
    }),
    refused(GROW, 37, "fewer", |side, v| grow_fresh(side, v, |row| row.with_count(0))),
    refused(GROW, 37, "as many", |side, v| grow_fresh(side, v, |row| row.with_count(1))),
    refused(GROW, 39, "placed on a broker that there is not", |side, v| {
        grow_fresh(side, v, |row| grown(row, 2, &[&[9]]));
    }),
    refused(GROW, 39, "more than are placed", |side, v| grow_fresh(side, v, |row| grown(row, 3, &[&[1]]))),
    refused(GROW, 3, "of a topic that is not there", |side, v| {
        let row = CreatePartitionsTopic::default().with_name(name("absent")).with_count(2).with_assignments(None);
        side.ask(v, &grow(vec![row]));
    }),
    refused(GROW, 42, "one topic twice", |side, v| {
        let topic = side.fresh(1, &[]);
        let row = CreatePartitionsTopic::default().with_name(name(&topic.name)).with_count(2).with_assignments(None);
        side.ask(v, &grow(vec![row.clone(), row]));
    }),
];

fn row(topic: &str) -> CreatableTopic {
    CreatableTopic::default().with_name(name(topic)).with_num_partitions(-1).with_replication_factor(-1)
}

fn fresh(side: &mut Side) -> CreatableTopic {
    row(&side.unique("made"))
}

fn counted(row: CreatableTopic, partitions: i32, replicas: i16) -> CreatableTopic {
    row.with_num_partitions(partitions).with_replication_factor(replicas)
}

fn placed(row: CreatableTopic, partitions: &[(i32, &[i32])]) -> CreatableTopic {
    let assignments = partitions.iter().map(|(partition, brokers)| {
        CreatableReplicaAssignment::default()
            .with_partition_index(*partition)
            .with_broker_ids(brokers.iter().map(|&broker| broker.into()).collect())
    });
    row.with_assignments(assignments.collect())
}

fn configured(row: CreatableTopic, configs: &[(&str, Option<&str>)]) -> CreatableTopic {
    let configs = configs
        .iter()
        .map(|(key, value)| CreatableTopicConfig::default().with_name(text(key)).with_value(value.map(text)));
    row.with_configs(configs.collect())
}

fn create(rows: Vec<CreatableTopic>) -> CreateTopicsRequest {
    CreateTopicsRequest::default().with_timeout_ms(WAIT_MS).with_topics(rows)
}

fn create_row(side: &mut Side, v: i16, row: CreatableTopic) {
    let answer = side.ask(v, &create(vec![row]));
    for topic in answer.iter().flat_map(|answer| &answer.topics).filter(|topic| !topic.topic_id.is_nil()) {
        side.learn(topic.topic_id, format!("<id of {}>", topic.name.as_str()));
    }
}

fn one(side: &mut Side, v: i16, change: impl FnOnce(CreatableTopic) -> CreatableTopic) {
    let row = change(fresh(side));
    create_row(side, v, row);
}

fn delete(side: &mut Side, v: i16, topic: &str) {
    if v >= 6 {
        return delete_row(side, v, DeleteTopicState::default().with_name(Some(name(topic))));
    }
    side.ask(v, &DeleteTopicsRequest::default().with_timeout_ms(WAIT_MS).with_topic_names(vec![name(topic)]));
}

fn delete_row(side: &mut Side, v: i16, row: DeleteTopicState) {
    side.ask(v, &DeleteTopicsRequest::default().with_timeout_ms(WAIT_MS).with_topics(vec![row]));
}

/// Deletes records of a topic that holds three.
fn cut(side: &mut Side, v: i16, configs: &[(&str, &str)], partition: i32, offset: i64) {
    let topic = side.fresh(1, configs);
    if configs.is_empty() {
        let batch = side.batch_at(0, &["a", "b", "c"]);
        side.connection.append(&topic.name, 0, batch);
    }
    cut_rows(side, v, &topic.name, vec![(partition, offset)]);
}

fn cut_rows(side: &mut Side, v: i16, topic: &str, rows: Vec<(i32, i64)>) {
    let rows = rows.into_iter().map(|(partition, offset)| {
        DeleteRecordsPartition::default().with_partition_index(partition).with_offset(offset)
    });
    let topic = DeleteRecordsTopic::default().with_name(name(topic)).with_partitions(rows.collect());
    side.ask(v, &DeleteRecordsRequest::default().with_timeout_ms(WAIT_MS).with_topics(vec![topic]));
}

fn grow(rows: Vec<CreatePartitionsTopic>) -> CreatePartitionsRequest {
    CreatePartitionsRequest::default().with_timeout_ms(WAIT_MS).with_topics(rows)
}

fn grown(row: CreatePartitionsTopic, count: i32, brokers: &[&[i32]]) -> CreatePartitionsTopic {
    let assignments = brokers.iter().map(|brokers| {
        CreatePartitionsAssignment::default().with_broker_ids(brokers.iter().map(|&broker| broker.into()).collect())
    });
    row.with_count(count).with_assignments(Some(assignments.collect()))
}

fn grow_fresh(side: &mut Side, v: i16, change: impl FnOnce(CreatePartitionsTopic) -> CreatePartitionsTopic) {
    let topic = side.fresh(1, &[]);
    let row = CreatePartitionsTopic::default().with_name(name(&topic.name)).with_assignments(None);
    side.ask(v, &grow(vec![change(row)]));
}
