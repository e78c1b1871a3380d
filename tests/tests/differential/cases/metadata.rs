//! Metadata (key 3) and DescribeTopicPartitions (key 75).

use ballast_tests::raw::name;
use ballast_tests::raw::rows::eventually;
use ballast_wire::frame::ApiKey;
use kafka_protocol::messages::describe_topic_partitions_request::{Cursor, TopicRequest};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{DescribeTopicPartitionsRequest, MetadataRequest};
use uuid::Uuid;

use crate::case::{Case, Meets, accepted, refused};
use crate::side::Side;

const META: ApiKey = ApiKey::METADATA;
const PAGES: ApiKey = ApiKey::DESCRIBE_TOPIC_PARTITIONS;

pub(crate) const CASES: &[Case] = &[
    accepted(META, "every topic", |side, v| {
        side.ask(v, &MetadataRequest::default().with_topics(if v == 0 { Some(vec![]) } else { None }));
    }),
    accepted(META, "no topic", |side, v| {
        side.ask(v, &MetadataRequest::default().with_topics(Some(vec![])));
    })
    .from(1),
    accepted(META, "a topic by name", |side, v| ask(side, v, vec![named("letters")])),
    accepted(META, "a topic twice", |side, v| ask(side, v, vec![named("letters"), named("letters")])),
    accepted(META, "a topic by id", |side, v| {
        let id = side.letters().id;
        ask(side, v, vec![with_id(id)]);
    })
    .from(12),
    accepted(META, "what one may do", |side, v| {
        let request = MetadataRequest::default()
            .with_topics(Some(vec![named("letters")]))
            .with_include_topic_authorized_operations(true)
            .with_include_cluster_authorized_operations(v <= 10);
        side.ask(v, &request);
    })
    .from(8),
    refused(META, 3, "a topic that is not there", |side, v| ask(side, v, vec![named("absent"), named("letters")]))
        .from(4),
    refused(META, 17, "a name that no topic can have", |side, v| ask(side, v, vec![named("a b")])),
    refused(META, 17, "an empty name", |side, v| ask(side, v, vec![named("")])),
    refused(META, 17, "a name that is too long", |side, v| ask(side, v, vec![named(&"a".repeat(250))])),
    refused(META, 3, "a topic that comes into being", created).meets(Meets::Code(3)),
    refused(META, 100, "an id that no topic has", |side, v| ask(side, v, vec![with_id(Uuid::from_u128(7))])).from(12),
    refused(META, 42, "an id before it could be asked for", |side, v| {
        let id = side.letters().id;
        ask(side, v, vec![with_id(id)]);
    })
    .from(10)
    .to(11),
    refused(META, -1, "neither a name nor an id", |side, v| {
        ask(side, v, vec![MetadataRequestTopic::default().with_name(None)]);
    })
    .from(12),
    accepted(META, "an id and a name in one request", |side, v| {
        let id = side.letters().id;
        ask(side, v, vec![named("absent"), with_id(id)]);
    })
    .from(12),
    accepted(META, "null before it meant every topic", |side, v| {
        side.ask_raw(META, v, &[0xff; 4]);
    })
    .to(0)
    .meets(Meets::Close),
    accepted(PAGES, "a topic", |side, v| pages(side, v, &["letters"], 2000, None)),
    accepted(PAGES, "every topic, no more than one partition", |side, v| pages(side, v, &["letters"], 1, None)),
    accepted(PAGES, "from a partition on", |side, v| pages(side, v, &["letters"], 2000, Some(("letters", 1)))),
    accepted(PAGES, "no limit", |side, v| pages(side, v, &["letters"], 0, None)).meets(Meets::Anything),
    refused(PAGES, 3, "a topic that is not there", |side, v| pages(side, v, &["absent"], 2000, None)),
    refused(PAGES, 17, "a name that no topic can have", |side, v| pages(side, v, &["a b"], 2000, None)),
    refused(PAGES, 42, "from a partition below 0", |side, v| {
        pages(side, v, &["letters"], 2000, Some(("letters", -1)));
    })
    .meets(Meets::Anything),
];

fn named(topic: &str) -> MetadataRequestTopic {
    MetadataRequestTopic::default().with_name(Some(name(topic)))
}

fn with_id(id: Uuid) -> MetadataRequestTopic {
    MetadataRequestTopic::default().with_name(None).with_topic_id(id)
}

fn ask(side: &mut Side, v: i16, rows: Vec<MetadataRequestTopic>) {
    side.letters();
    side.ask(v, &MetadataRequest::default().with_topics(Some(rows)).with_allow_auto_topic_creation(v < 4));
}

fn created(side: &mut Side, v: i16) {
    let topic = side.unique("made");
    side.ask(
        v,
        &MetadataRequest::default().with_topics(Some(vec![named(&topic)])).with_allow_auto_topic_creation(true),
    );
    // Cases that list every topic must find it, on both sides.
    let quiet = MetadataRequest::default().with_topics(Some(vec![named(&topic)])).with_allow_auto_topic_creation(false);
    eventually("the topic is there", || (side.call(12, &quiet).topics[0].error_code == 0).then_some(()));
    let created = side.call(12, &quiet).topics.remove(0);
    side.learn(created.topic_id, format!("<id of {topic}>"));
    side.ask(
        v,
        &MetadataRequest::default().with_topics(Some(vec![named(&topic)])).with_allow_auto_topic_creation(v < 4),
    );
}

fn pages(side: &mut Side, v: i16, topics: &[&str], limit: i32, cursor: Option<(&str, i32)>) {
    side.letters();
    let rows = topics.iter().map(|topic| TopicRequest::default().with_name(name(topic)));
    let cursor =
        cursor.map(|(topic, partition)| Cursor::default().with_topic_name(name(topic)).with_partition_index(partition));
    let request = DescribeTopicPartitionsRequest::default()
        .with_topics(rows.collect())
        .with_response_partition_limit(limit)
        .with_cursor(cursor);
    side.ask(v, &request);
}
