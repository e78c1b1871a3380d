//! Fetch (key 1) without sessions: what is read, how much of it, and every refusal.

use ballast_tests::raw::{Fetch, fetch_row};
use ballast_tests::target::Topic;
use ballast_wire::frame::ApiKey;
use kafka_protocol::messages::FetchRequest;
use kafka_protocol::messages::fetch_request::FetchPartition;
use uuid::Uuid;

use crate::case::{Case, Meets, accepted, refused};
use crate::side::Side;

const KEY: ApiKey = ApiKey::FETCH;
/// From here on topics go by their ids.
pub(crate) const IDS: i16 = 13;

pub(crate) const CASES: &[Case] = &[
    accepted(KEY, "from the beginning", |side, v| read(side, v, |_| fetch_row(0, 0))),
    accepted(KEY, "from within a batch", |side, v| read(side, v, |_| fetch_row(0, 4))),
    accepted(KEY, "from the end", |side, v| read(side, v, |_| fetch_row(0, 6))),
    accepted(KEY, "an empty partition", |side, v| read(side, v, |_| fetch_row(1, 0))),
    accepted(KEY, "less than a batch of a partition", |side, v| {
        read(side, v, |_| fetch_row(0, 0).with_partition_max_bytes(1));
    }),
    accepted(KEY, "the second batch does not fit", |side, v| {
        read(side, v, |_| fetch_row(0, 0).with_partition_max_bytes(100));
    }),
    accepted(KEY, "less than a batch of all", |side, v| all(side, v, |fetch| fetch.max_bytes(1))),
    accepted(KEY, "no more than comes within the time", |side, v| all(side, v, |fetch| fetch.wait(10_000, 50))),
    accepted(KEY, "committed records alone", |side, v| {
        all(side, v, |mut fetch| {
            fetch.0.isolation_level = 1;
            fetch
        });
    }),
    accepted(KEY, "an isolation level that there is not", |side, v| {
        all(side, v, |mut fetch| {
            fetch.0.isolation_level = 2;
            fetch
        });
    })
    .meets(Meets::Code(-1)),
    accepted(KEY, "one partition twice", |side, v| {
        let topic = side.letters();
        ask(side, v, Fetch::of(&topic.name, vec![fetch_row(0, 0), fetch_row(0, 3)]), &topic);
    }),
    accepted(KEY, "no partition", |side, v| {
        side.ask::<FetchRequest>(v, &Fetch::default().0);
    }),
    accepted(KEY, "in the leader's epoch", |side, v| read(side, v, |_| fetch_row(0, 0).with_current_leader_epoch(0)))
        .from(9),
    accepted(KEY, "after a record of the leader's epoch", |side, v| {
        read(side, v, |_| fetch_row(0, 2).with_last_fetched_epoch(0).with_current_leader_epoch(0));
    })
    .from(12),
    accepted(KEY, "from a rack", |side, v| {
        all(side, v, |mut fetch| {
            fetch.0.rack_id = ballast_tests::raw::text("rack");
            fetch
        });
    })
    .from(11),
    refused(KEY, 1, "after a record of an epoch that never was", |side, v| {
        read(side, v, |_| fetch_row(0, 2).with_last_fetched_epoch(3));
    })
    .from(12),
    refused(KEY, 1, "beyond the end", |side, v| read(side, v, |_| fetch_row(0, 7))),
    refused(KEY, 1, "before the beginning", |side, v| read(side, v, |_| fetch_row(0, -5))),
    refused(KEY, 1, "records that are deleted", |side, v| {
        let topic = side.fresh(1, &[]);
        let batch = side.batch_at(0, &["a", "b"]);
        side.connection.append(&topic.name, 0, batch);
        side.connection.delete_records(&topic.name, 0, 1);
        ask(side, v, Fetch::of(&topic.name, vec![fetch_row(0, 0)]), &topic);
    }),
    refused(KEY, 3, "a partition that is not there", |side, v| read(side, v, |_| fetch_row(7, 0))),
    refused(KEY, 3, "a topic that is not there", absent).to(IDS - 1),
    refused(KEY, 100, "an id that no topic has", absent).from(IDS),
    refused(KEY, 75, "an epoch that is not yet", |side, v| {
        read(side, v, |_| fetch_row(0, 0).with_current_leader_epoch(9));
    })
    .from(9),
    refused(KEY, 6, "a replica that is none", |side, v| replica(side, v, -1)).to(14),
    refused(KEY, 75, "a replica that is none, in an epoch", |side, v| replica(side, v, 0)).from(9).to(14),
    refused(KEY, -1, "less than nothing of a partition", |side, v| {
        read(side, v, |_| fetch_row(0, 0).with_partition_max_bytes(-1));
    }),
];

/// Names the topic as the version wants it, and asks.
pub(crate) fn ask(
    side: &mut Side,
    v: i16,
    fetch: Fetch,
    topic: &Topic,
) -> Option<kafka_protocol::messages::FetchResponse> {
    side.ask::<FetchRequest>(v, &named(v, fetch, topic).0)
}

/// The fetch with its topics named as the version wants it.
pub(crate) fn named(v: i16, mut fetch: Fetch, topic: &Topic) -> Fetch {
    if v >= IDS {
        for row in &mut fetch.0.topics {
            row.topic = Default::default();
            row.topic_id = topic.id;
        }
        for row in &mut fetch.0.forgotten_topics_data {
            row.topic = Default::default();
            row.topic_id = topic.id;
        }
    }
    fetch
}

fn read(side: &mut Side, v: i16, row: impl FnOnce(&Side) -> FetchPartition) {
    let topic = side.letters();
    let row = row(side);
    ask(side, v, Fetch::of(&topic.name, vec![row]), &topic);
}

/// Both partitions of the letters.
fn all(side: &mut Side, v: i16, change: impl FnOnce(Fetch) -> Fetch) {
    let topic = side.letters();
    ask(side, v, change(Fetch::of(&topic.name, vec![fetch_row(1, 0), fetch_row(0, 0)])), &topic);
}

fn absent(side: &mut Side, v: i16) {
    let topic = Topic { name: "absent".to_owned(), id: Uuid::from_u128(7) };
    ask(side, v, Fetch::of(&topic.name, vec![fetch_row(0, 0)]), &topic);
}

fn replica(side: &mut Side, v: i16, epoch: i32) {
    let topic = side.letters();
    let row = fetch_row(0, 0).with_current_leader_epoch(epoch);
    let mut fetch = Fetch::of(&topic.name, vec![row]);
    fetch.0.replica_id = 9.into();
    ask(side, v, fetch, &topic);
}
