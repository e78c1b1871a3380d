//! InitProducerId (key 22) and DescribeProducers (key 61).

use ballast_tests::raw::batches::idempotent;
use ballast_tests::raw::{name, text};
use ballast_wire::frame::ApiKey;
use kafka_protocol::messages::describe_producers_request::TopicRequest;
use kafka_protocol::messages::{DescribeProducersRequest, InitProducerIdRequest};

use crate::case::{Case, Meets, accepted, refused};
use crate::side::Side;

const INIT: ApiKey = ApiKey::INIT_PRODUCER_ID;
const DESCRIBE: ApiKey = ApiKey::DESCRIBE_PRODUCERS;

pub(crate) const CASES: &[Case] = &[
    accepted(INIT, "a new producer", |side, v| init(side, v, None, -1, -1)),
    accepted(INIT, "a producer that has an id", |side, v| init(side, v, None, 7, 3)).from(3),
    refused(INIT, 42, "an empty transactional id", |side, v| init(side, v, Some(""), -1, -1)),
    refused(INIT, 42, "an epoch without an id", |side, v| init(side, v, None, -1, 3)).from(3).meets(Meets::Anything),
    accepted(DESCRIBE, "a producer", |side, v| {
        let topic = side.fresh(1, &[]);
        side.connection.append(&topic.name, 0, idempotent((77, 3), 0, &["a", "b"]));
        side.connection.append(&topic.name, 0, idempotent((77, 3), 2, &["c"]));
        describe(side, v, &topic.name, 0);
    })
    .aside(&[("*.last_timestamp", "the broker's clock")]),
    accepted(DESCRIBE, "nobody", |side, v| describe(side, v, "letters", 1)),
    refused(DESCRIBE, 3, "a partition that is not there", |side, v| describe(side, v, "letters", 7)),
    refused(DESCRIBE, 3, "a topic that is not there", |side, v| describe(side, v, "absent", 0)),
    refused(DESCRIBE, 17, "a name that no topic can have", |side, v| describe(side, v, "a b", 0))
        .meets(Meets::Anything),
];

fn init(side: &mut Side, v: i16, transactional_id: Option<&str>, id: i64, epoch: i16) {
    let request = InitProducerIdRequest::default()
        .with_transactional_id(transactional_id.map(|id| text(id).into()))
        .with_transaction_timeout_ms(60_000);
    let named = request.clone().with_producer_id(id.into()).with_producer_epoch(epoch);
    side.ask(v, &if v >= 3 { named } else { request });
}

fn describe(side: &mut Side, v: i16, topic: &str, partition: i32) {
    side.letters();
    let topic = TopicRequest::default().with_name(name(topic)).with_partition_indexes(vec![partition]);
    side.ask(v, &DescribeProducersRequest::default().with_topics(vec![topic]));
}
